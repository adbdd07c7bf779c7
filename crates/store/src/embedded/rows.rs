//! Rows of a day: what is in the key makes the row that one and no other, the rest is its value.

use model::{
    Because, Channel, Entry, EntryKey, Kind, Mark, Millis, ReadyId, Reason, Row, SubjectRef, What, Why,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    codec::{Bytes, KEY_BYTES, bad, decode, encode, joined, split},
    keys::push_name,
    writer::Pair,
};
use crate::port::StoreError;

const ENTRY: u8 = 1;
const MARK: u8 = 2;
const FOLLOWS: u8 = 1;

#[derive(Serialize, Deserialize)]
struct StoredEntry<'a> {
    subject: &'a str,
}

#[derive(Serialize, Deserialize)]
struct StoredMark<'a> {
    #[serde(borrow)]
    channel: Option<&'a str>,
    #[serde(borrow)]
    what: StoredWhat<'a>,
    #[serde(borrow)]
    covers: Bytes<'a>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
enum StoredWhat<'a> {
    Taken([u8; 16]),
    Returned([u8; 16], bool),
    Left([u8; 16], &'a str),
    Ended(&'a str),
    Carried([u8; 16]),
    Read,
    Cleared,
}

/// A row's key behind its day's prefix, and its value.
pub(super) fn row(prefix: &[u8], row: &Row) -> Result<Pair, StoreError> {
    let mut key = Vec::with_capacity(prefix.len() + 96);
    key.extend_from_slice(prefix);
    match row {
        Row::Entry(entry) => {
            key.push(ENTRY);
            key.extend_from_slice(&entry.key.bytes());
            push_name(&mut key, entry.reason.kind.as_str());
            match &entry.reason.because {
                Because::Follows(target) => {
                    key.push(FOLLOWS);
                    key.extend_from_slice(target.as_str().as_bytes());
                }
            }
            Ok((key, encode("an entry", &StoredEntry { subject: entry.subject.as_str() })?))
        }
        Row::Mark(mark) => {
            let covers = joined(&mark.covers);
            let stored = StoredMark {
                channel: mark.channel.map(Channel::name),
                what: stored_what(mark.what),
                covers: Bytes(&covers),
                at: mark.at.0,
            };
            let value = encode("a mark", &stored)?;
            key.push(MARK);
            key.extend_from_slice(&Sha256::digest(&value)[..16]);
            Ok((key, value))
        }
    }
}

/// Reads a row back; `key` is what stands behind the day's prefix.
pub(super) fn row_back(key: &[u8], value: &[u8]) -> Result<Row, StoreError> {
    match key.split_first() {
        Some((&ENTRY, rest)) => entry_back(rest, value).map(Row::Entry),
        Some((&MARK, _)) => mark_back(value).map(Row::Mark),
        _ => Err(bad("a row of a day")),
    }
}

fn entry_back(key: &[u8], value: &[u8]) -> Result<Entry, StoreError> {
    let stored: StoredEntry<'_> = decode("an entry", value)?;
    let parsed = || {
        let (at, rest) = key.split_at_checked(KEY_BYTES)?;
        let (&length, rest) = rest.split_first()?;
        let (kind, rest) = rest.split_at_checked(usize::from(length))?;
        let (&FOLLOWS, target) = rest.split_first()? else { return None };
        let because = Because::Follows(SubjectRef::new(std::str::from_utf8(target).ok()?).ok()?);
        let reason = Reason { kind: Kind::new(std::str::from_utf8(kind).ok()?).ok()?, because };
        Some(Entry { key: EntryKey::from_bytes(at)?, reason, subject: SubjectRef::new(stored.subject).ok()? })
    };
    parsed().ok_or_else(|| bad("an entry"))
}

fn mark_back(value: &[u8]) -> Result<Mark, StoreError> {
    let what = "a mark";
    let stored: StoredMark<'_> = decode(what, value)?;
    let channel = match stored.channel {
        Some(name) => Some(Channel::parse(name).ok_or_else(|| bad(what))?),
        None => None,
    };
    let said = what_back(stored.what).ok_or_else(|| bad(what))?;
    Ok(Mark { channel, what: said, covers: split(what, stored.covers.0)?, at: Millis(stored.at) })
}

fn stored_what(what: What) -> StoredWhat<'static> {
    match what {
        What::Taken(ready) => StoredWhat::Taken(ready.0),
        What::Returned { ready, maybe } => StoredWhat::Returned(ready.0, maybe),
        What::Left { ready, why } => StoredWhat::Left(ready.0, why.text()),
        What::Ended(why) => StoredWhat::Ended(why.text()),
        What::Carried(ready) => StoredWhat::Carried(ready.0),
        What::Read => StoredWhat::Read,
        What::Cleared => StoredWhat::Cleared,
    }
}

fn what_back(stored: StoredWhat<'_>) -> Option<What> {
    Some(match stored {
        StoredWhat::Taken(ready) => What::Taken(ReadyId(ready)),
        StoredWhat::Returned(ready, maybe) => What::Returned { ready: ReadyId(ready), maybe },
        StoredWhat::Left(ready, why) => What::Left { ready: ReadyId(ready), why: Why::parse(why)? },
        StoredWhat::Ended(why) => What::Ended(Why::parse(why)?),
        StoredWhat::Carried(ready) => What::Carried(ReadyId(ready)),
        StoredWhat::Read => What::Read,
        StoredWhat::Cleared => What::Cleared,
    })
}
