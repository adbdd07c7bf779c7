//! `quarantined`: a record that a room could not use, with the reason, on the topic `quarantine`.

use std::{borrow::Cow, sync::LazyLock};

use model::UtcMillis;
use serde::{Deserialize, Serialize};

use crate::{
    bytes::ByteBlob,
    codec::{DecodeError, RecordCodec, WireError},
    list,
    record_parts::WireText,
    replay::WireHeaders,
    upstream_row::UpstreamHeaders,
};

/// Bytes of a value that are kept. What is too large to be read must still fit in here.
pub const VALUE_BYTES_KEPT: usize = 512 * 1024;
/// Bytes of a key that are kept.
pub const KEY_BYTES_KEPT: usize = 1024;
/// Headers that are kept, and bytes of all of them.
pub const HEADERS_KEPT: usize = 64;
pub const HEADER_BYTES_KEPT: usize = 16 * 1024;
/// Bytes of a reason that are kept.
pub const REASON_BYTES_KEPT: usize = 4 * 1024;

/// A record put aside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuarantinedRecord {
    pub topic: String,
    pub partition: u32,
    pub offset: u64,
    pub appended: UtcMillis,
    pub key: Vec<u8>,
    /// `None` for a tombstone.
    pub value: Option<Vec<u8>>,
    /// What stood beside the value.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Key, value, headers or reason were longer than is kept: `encode` says so. The whole record lies where topic,
    /// partition and offset say.
    pub cut: bool,
    pub reason: String,
    pub cause: QuarantineCause,
    pub at: UtcMillis,
    pub room: String,
}

/// What sort of reason it is. It stands beside the record, in a header that older releases pass over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum QuarantineCause {
    /// The bytes are not what the topic has.
    Unreadable,
    /// It can be read, and what it says is not admitted.
    Refused,
    /// A newer catalogue wrote it, and nobody came with that one in time.
    NewerCatalogue,
    /// It is too large to be written.
    TooLarge,
    /// An operator set it aside, or an older release did.
    #[default]
    Other,
}

impl QuarantineCause {
    pub const ALL: [Self; 5] =
        [Self::Unreadable, Self::Refused, Self::NewerCatalogue, Self::TooLarge, Self::Other];

    pub fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Refused => "refused",
            Self::NewerCatalogue => "newer catalogue",
            Self::TooLarge => "too large",
            Self::Other => "other",
        }
    }

    /// The headers of a record on the topic.
    pub fn headers(self) -> WireHeaders {
        vec![(CAUSE.to_owned(), self.name().as_bytes().to_vec())]
    }

    pub fn read(headers: &[(String, Vec<u8>)]) -> Self {
        let named = headers.iter().find(|(name, _)| name == CAUSE).map(|(_, cause)| cause.as_slice());
        let is_it = |cause: &Self| Some(cause.name().as_bytes()) == named;
        Self::ALL.into_iter().find(is_it).unwrap_or_default()
    }
}

/// The header of the cause.
const CAUSE: &str = "cause";

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("quarantined", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 2] = [
    include_str!("../../../schemas/quarantined.avsc"),
    include_str!("../../../schemas/old/quarantined.1.avsc"),
];

#[derive(Serialize, Deserialize)]
#[serde(rename = "quarantined")]
pub(crate) struct QuarantinedRecordDto<'a> {
    topic: WireText<'a>,
    /// Unsigned 32 bits are a long.
    partition: u32,
    offset: i64,
    appended: i64,
    key: ByteBlob<'a>,
    value: Option<ByteBlob<'a>>,
    #[serde(with = "list")]
    headers: Vec<RecordHeaderDto<'a>>,
    cut: bool,
    reason: WireText<'a>,
    at: i64,
    room: WireText<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "header")]
struct RecordHeaderDto<'a> {
    name: WireText<'a>,
    value: ByteBlob<'a>,
}

/// A record that could not be used, where it lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnusableRecord<'a> {
    pub topic: &'a str,
    pub partition: u32,
    pub offset: u64,
    pub appended: UtcMillis,
    pub key: &'a [u8],
    /// `None` for a tombstone.
    pub value: Option<&'a [u8]>,
}

/// The record, put aside by a room.
pub fn put_aside(
    record: UnusableRecord<'_>,
    (cause, reason): (QuarantineCause, impl Into<String>),
    room: &str,
    now: UtcMillis,
) -> QuarantinedRecord {
    QuarantinedRecord {
        topic: record.topic.to_owned(),
        partition: record.partition,
        offset: record.offset,
        appended: record.appended,
        key: record.key.to_vec(),
        value: record.value.map(<[u8]>::to_vec),
        headers: Vec::new(),
        cut: false,
        reason: reason.into(),
        cause,
        at: now,
        room: room.to_owned(),
    }
}

impl QuarantinedRecord {
    /// With what stood beside the value.
    #[must_use]
    pub fn with_headers(self, headers: &UpstreamHeaders) -> Self {
        Self { headers: headers.to_vec(), ..self }
    }
}

/// Cuts what is too long, so that anything can be put aside.
pub fn encode(record: &QuarantinedRecord) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&QuarantinedRecordDto::from_record(record))
}

/// Key and value of a record put aside, as they go on the topic, beside the headers of its cause. The key is cut as it is within the value: one that
/// somebody else wrote may be longer than any log of ours takes.
pub fn encode_with_key(record: &QuarantinedRecord) -> Result<(Vec<u8>, Vec<u8>), WireError> {
    let key = record.key.get(..KEY_BYTES_KEPT).unwrap_or(&record.key).to_vec();
    Ok((key, encode(record)?))
}

/// What the value says; the cause is in the headers ([`QuarantineCause::read`]).
pub fn decode(bytes: &[u8]) -> Result<QuarantinedRecord, DecodeError> {
    CODEC.decode::<QuarantinedRecordDto<'_>>(bytes)?.model()
}

impl<'a> QuarantinedRecordDto<'a> {
    pub(crate) fn from_record(record: &'a QuarantinedRecord) -> Self {
        let mut cut = record.cut;
        let mut kept = |bytes: &'a [u8], most: usize| {
            cut |= bytes.len() > most;
            ByteBlob(Cow::Borrowed(&bytes[..bytes.len().min(most)]))
        };
        let key = kept(&record.key, KEY_BYTES_KEPT);
        let value = record.value.as_ref().map(|value| kept(value, VALUE_BYTES_KEPT));
        let headers = RecordHeaderDto::keep_first(&record.headers);
        cut |= headers.len() < record.headers.len();
        let reason = &record.reason[..record.reason.floor_char_boundary(REASON_BYTES_KEPT)];
        cut |= reason.len() < record.reason.len();
        Self {
            topic: record.topic.as_str().into(),
            partition: record.partition,
            offset: record.offset.cast_signed(),
            appended: record.appended.0,
            key,
            value,
            headers,
            cut,
            reason: reason.into(),
            at: record.at.0,
            room: record.room.as_str().into(),
        }
    }

    fn model(self) -> Result<QuarantinedRecord, DecodeError> {
        Ok(QuarantinedRecord {
            topic: self.topic.into_owned(),
            partition: self.partition,
            offset: self.offset.cast_unsigned(),
            appended: UtcMillis(self.appended),
            key: self.key.0.into_owned(),
            value: self.value.map(|value| value.0.into_owned()),
            headers: self.headers.into_iter().map(RecordHeaderDto::model).collect(),
            cut: self.cut,
            reason: self.reason.into_owned(),
            cause: QuarantineCause::Other,
            at: UtcMillis(self.at),
            room: self.room.into_owned(),
        })
    }
}

impl<'a> RecordHeaderDto<'a> {
    /// The first ones that fit, each whole: half a header would say something else.
    fn keep_first(headers: &'a UpstreamHeaders) -> Vec<Self> {
        let mut room = HEADER_BYTES_KEPT;
        let fits = |(name, value): &&(String, Vec<u8>)| {
            let left = room.checked_sub(name.len() + value.len());
            room = left.unwrap_or_default();
            left.is_some()
        };
        let of = |(name, value): &'a (String, Vec<u8>)| Self {
            name: name.as_str().into(),
            value: ByteBlob(Cow::Borrowed(value)),
        };
        headers.iter().take(HEADERS_KEPT).take_while(fits).map(of).collect()
    }

    fn model(self) -> (String, Vec<u8>) {
        (self.name.into_owned(), self.value.0.into_owned())
    }
}
