//! Keys and values as bytes. Numbers are big-endian, so that the order of keys is the order of offsets.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | log | topic, partition, offset | appended, key length and flags, key, headers if any, value if any |
//! | state | topic, partition, record key | offset, appended, value |
//! | meta | `v` | version of this layout |
//! | meta | `t`, topic name | topic, partitions, retention |
//! | meta | `b`, topic, partition | first, end, appended, swept |
//! | meta | `o`, topic, partition, group | committed offset |
//! | meta | `g`, topic, partition, group | generation |

use crate::port::{RecordHeaders, TopicName, TopicRecord, TopicRetention};

pub(super) const VERSION: u64 = 1;
pub(super) const VERSION_KEY: &[u8] = b"v";

/// The first byte of a key in `meta`.
pub(super) const TOPIC: u8 = b't';
pub(super) const BOUNDS: u8 = b'b';
pub(super) const COMMITTED: u8 = b'o';
pub(super) const GENERATION: u8 = b'g';

/// In place of milliseconds: the topic is compacted.
const COMPACTED: i64 = -1;

/// What is remembered of a partition, whatever is left of its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PartitionExtent {
    /// The first offset that may be read.
    pub first: u64,
    /// The offset that comes next.
    pub end: u64,
    /// When the last record was appended.
    pub appended: i64,
    /// Records below this offset are removed from the disk as well.
    pub swept: u64,
}

pub(super) fn log_key(topic: u32, partition: u32, offset: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&topic.to_be_bytes());
    key[4..8].copy_from_slice(&partition.to_be_bytes());
    key[8..].copy_from_slice(&offset.to_be_bytes());
    key
}

/// Flags beside a key's length, which never reaches so far.
const HAS_HEADERS: u32 = 1 << 31;
const NO_VALUE: u32 = 1 << 30;
const LENGTH: u32 = NO_VALUE - 1;

pub(super) fn log_value(
    out: &mut Vec<u8>,
    appended: i64,
    key: &[u8],
    headers: &RecordHeaders,
    value: Option<&[u8]>,
) {
    let mut length = u32::try_from(key.len()).unwrap_or(LENGTH);
    if !headers.is_empty() {
        length |= HAS_HEADERS;
    }
    if value.is_none() {
        length |= NO_VALUE;
    }
    out.clear();
    out.extend_from_slice(&appended.to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(key);
    if !headers.is_empty() {
        put_headers(out, headers);
    }
    out.extend_from_slice(value.unwrap_or_default());
}

/// How many, then name and value of each behind their lengths.
fn put_headers(out: &mut Vec<u8>, headers: &RecordHeaders) {
    out.extend_from_slice(&u32::try_from(headers.len()).unwrap_or(u32::MAX).to_be_bytes());
    let mut put = |bytes: &[u8]| {
        out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(bytes);
    };
    for (name, value) in headers {
        put(name.as_bytes());
        put(value);
    }
}

fn take_headers(from: &mut &[u8]) -> Option<RecordHeaders> {
    let (count, rest) = take_u32(from)?;
    *from = rest;
    let mut headers = RecordHeaders::new();
    for _ in 0..count {
        let mut take = || {
            let (length, rest) = take_u32(from)?;
            let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            *from = rest;
            Some(bytes.to_vec())
        };
        headers.push((String::from_utf8(take()?).ok()?, take()?));
    }
    Some(headers)
}

pub(super) fn log_record(topic: &TopicName, partition: u32, key: &[u8], value: &[u8]) -> Option<TopicRecord> {
    let (_, offset) = key.split_at_checked(8)?;
    let (offset, _) = take_u64(offset)?;
    let (appended, rest) = take_i64(value)?;
    let (length, rest) = take_u32(rest)?;
    let (key, mut rest) = rest.split_at_checked(usize::try_from(length & LENGTH).ok()?)?;
    let headers = if length & HAS_HEADERS == 0 { RecordHeaders::new() } else { take_headers(&mut rest)? };
    let value = (length & NO_VALUE == 0).then(|| rest.to_vec());
    Some(TopicRecord { topic: topic.clone(), partition, offset, appended, key: key.to_vec(), value, headers })
}

/// The header of a record that was emptied. It keeps its time, for whoever looks for an instant.
const BLANK: &str = "tidings-blank";

/// What a record becomes that is emptied.
pub(super) fn blank_value(out: &mut Vec<u8>, appended: i64) {
    log_value(out, appended, &[], &vec![(BLANK.to_owned(), Vec::new())], None);
}

/// Whether a record was emptied: nobody is handed it.
pub(super) fn is_blank(record: &TopicRecord) -> bool {
    record.value.is_none() && record.headers.first().is_some_and(|(name, _)| name == BLANK)
}

/// The time alone, for a search by time.
pub(super) fn log_appended(value: &[u8]) -> Option<i64> {
    take_i64(value).map(|(appended, _)| appended)
}

pub(super) fn state_prefix(topic: u32, partition: u32) -> [u8; 8] {
    let mut key = [0; 8];
    key[..4].copy_from_slice(&topic.to_be_bytes());
    key[4..].copy_from_slice(&partition.to_be_bytes());
    key
}

pub(super) fn state_key(out: &mut Vec<u8>, topic: u32, partition: u32, key: &[u8]) {
    out.clear();
    out.extend_from_slice(&state_prefix(topic, partition));
    out.extend_from_slice(key);
}

pub(super) fn state_value(out: &mut Vec<u8>, offset: u64, appended: i64, value: &[u8]) {
    out.clear();
    out.extend_from_slice(&offset.to_be_bytes());
    out.extend_from_slice(&appended.to_be_bytes());
    out.extend_from_slice(value);
}

/// The offset alone, to skip what is not asked for.
pub(super) fn state_offset(value: &[u8]) -> Option<u64> {
    take_u64(value).map(|(offset, _)| offset)
}

pub(super) fn state_record(
    topic: &TopicName,
    partition: u32,
    key: &[u8],
    value: &[u8],
) -> Option<TopicRecord> {
    let (_, key) = key.split_at_checked(8)?;
    let (offset, rest) = take_u64(value)?;
    let (appended, value) = take_i64(rest)?;
    let (topic, key, value) = (topic.clone(), key.to_vec(), Some(value.to_vec()));
    Some(TopicRecord { topic, partition, offset, appended, key, value, headers: RecordHeaders::new() })
}

pub(super) fn topic_key(name: &str) -> Vec<u8> {
    [&[TOPIC], name.as_bytes()].concat()
}

pub(super) fn topic_value(id: u32, partitions: u32, retention: TopicRetention) -> Vec<u8> {
    let retention = match retention {
        TopicRetention::Milliseconds(ms) => ms.max(0),
        TopicRetention::Compacted => COMPACTED,
    };
    [&id.to_be_bytes()[..], &partitions.to_be_bytes(), &retention.to_be_bytes()].concat()
}

pub(super) fn parse_topic(value: &[u8]) -> Option<(u32, u32, TopicRetention)> {
    let (id, rest) = take_u32(value)?;
    let (partitions, rest) = take_u32(rest)?;
    let (retention, _) = take_i64(rest)?;
    let retention = if retention == COMPACTED {
        TopicRetention::Compacted
    } else {
        TopicRetention::Milliseconds(retention)
    };
    Some((id, partitions, retention))
}

pub(super) fn extent_key(topic: u32, partition: u32) -> Vec<u8> {
    seat_key(BOUNDS, topic, partition, "")
}

pub(super) fn extent_value(extent: &PartitionExtent) -> Vec<u8> {
    let PartitionExtent { first, end, appended, swept } = extent;
    [first.to_be_bytes(), end.to_be_bytes(), appended.to_be_bytes(), swept.to_be_bytes()].concat()
}

pub(super) fn parse_extent(value: &[u8]) -> Option<PartitionExtent> {
    let (first, rest) = take_u64(value)?;
    let (end, rest) = take_u64(rest)?;
    let (appended, rest) = take_i64(rest)?;
    let (swept, _) = take_u64(rest)?;
    Some(PartitionExtent { first, end, appended, swept })
}

/// A key of something that a group has in a partition.
pub(super) fn seat_key(tag: u8, topic: u32, partition: u32, group: &str) -> Vec<u8> {
    [&[tag][..], &topic.to_be_bytes(), &partition.to_be_bytes(), group.as_bytes()].concat()
}

/// Topic, partition and group of a key, its first byte left out.
pub(super) fn parse_seat(key: &[u8]) -> Option<(u32, u32, &str)> {
    let (topic, rest) = take_u32(key)?;
    let (partition, group) = take_u32(rest)?;
    Some((topic, partition, std::str::from_utf8(group).ok()?))
}

pub(super) fn parse_number(value: &[u8]) -> Option<u64> {
    take_u64(value).map(|(number, _)| number)
}

fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*head), rest))
}

fn take_u64(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*head), rest))
}

fn take_i64(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<8>()?;
    Some((i64::from_be_bytes(*head), rest))
}
