//! Avro's single-object encoding: `C3 01`, the schema's CRC-64-AVRO fingerprint in little endian, the datum.

use std::{fmt::Display, io};

use apache_avro::{
    Schema, reader::datum::GenericDatumReader, types::Value, util::max_allocation_bytes,
    writer::datum::GenericDatumWriter,
};
use model::id::BadName;
use serde::{Serialize, de::DeserializeOwned};

use crate::fingerprint;

/// Bytes of one record, of any topic.
pub const RECORD_BYTES_MAX: usize = 1024 * 1024;
/// Items of any list in a record. It bounds memory and says nothing of what is sensible: that is asked
/// where lists are made, since a limit that a release lowers must not make an older record unreadable.
pub const LIST_MAX: usize = 10_000;

/// Bytes that one length in a record may claim before anything is read: Avro's own bound, for the process.
const ALLOCATION_MAX: usize = 4 * RECORD_BYTES_MAX;
const MARKER: [u8; 2] = [0xC3, 0x01];
pub(crate) const HEADER_BYTES: usize = 10;
const REASON_CHARS_MAX: usize = 300;

/// Why something cannot be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    #[error("the {record} record has {bytes} bytes, more than {RECORD_BYTES_MAX}")]
    Large { record: &'static str, bytes: usize },
    #[error("the {record} record cannot be written: {reason}")]
    Unfit { record: &'static str, reason: String },
}

/// Why bytes are no record. For a person to read; nothing branches on it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct DecodeError {
    pub reason: String,
}

impl DecodeError {
    pub(crate) fn new(reason: impl Display) -> Self {
        Self { reason: shorten_text(&reason.to_string()) }
    }
}

impl From<BadName> for DecodeError {
    fn from(bad: BadName) -> Self {
        Self::new(bad)
    }
}

/// Avro's errors quote whole schemas; what matters stands at both ends.
pub(crate) fn shorten_text(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= REASON_CHARS_MAX {
        return text.to_owned();
    }
    let half = REASON_CHARS_MAX / 2;
    let head = text.chars().take(half);
    head.chain(" ... ".chars()).chain(text.chars().skip(chars - half)).collect()
}

/// Writes and reads one record under its schemas.
pub(crate) struct RecordCodec {
    record: &'static str,
    /// An unparsable schema is an error at every use: it is built in, and a test uses each.
    versions: Result<SchemaVersions, String>,
}

struct SchemaVersions {
    ours: &'static Schema,
    headers: SchemaHeaders,
    writer: GenericDatumWriter<'static>,
    reader: GenericDatumReader<'static>,
    older: Vec<OlderSchema>,
}

/// A schema that was ours once; its reader resolves to ours.
struct OlderSchema {
    headers: SchemaHeaders,
    reader: GenericDatumReader<'static>,
}

/// By what a record of one schema begins.
struct SchemaHeaders {
    written: [u8; HEADER_BYTES],
    /// The prefix that other writers with the same library use.
    also: [u8; HEADER_BYTES],
}

impl SchemaHeaders {
    fn new(schema: &Schema) -> Result<Self, String> {
        Ok(Self {
            written: schema_header(schema)?,
            also: build_header(fingerprint::library_fingerprint(schema)?),
        })
    }

    fn accepts(&self, header: &[u8]) -> bool {
        header == self.written || header == self.also
    }
}

impl RecordCodec {
    /// From schema texts: ours first, then all that were ours before.
    pub(crate) fn new(record: &'static str, texts: &[&str]) -> Self {
        max_allocation_bytes(ALLOCATION_MAX);
        Self { record, versions: SchemaVersions::new(texts) }
    }

    pub(crate) fn encode<T: Serialize>(&self, record: &T) -> Result<Vec<u8>, WireError> {
        let unfit = |reason: &dyn Display| self.unfit_error(reason);
        let versions = self.versions.as_ref().map_err(|reason| unfit(reason))?;
        let mut bytes = versions.headers.written.to_vec();
        versions.writer.write_ser(&mut bytes, record).map_err(|error| unfit(&error))?;
        match bytes.len() {
            fits if fits <= RECORD_BYTES_MAX => Ok(bytes),
            bytes => Err(WireError::Large { record: self.record, bytes }),
        }
    }

    pub(crate) fn decode<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, DecodeError> {
        let versions = self.versions.as_ref().map_err(DecodeError::new)?;
        if bytes.len() > RECORD_BYTES_MAX {
            let reason = format!("{} bytes, more than {RECORD_BYTES_MAX}", bytes.len());
            return Err(DecodeError::new(reason));
        }
        if !is_single_object(bytes) {
            return Err(DecodeError::new("not an Avro record: it does not begin with c3 01"));
        }
        let Some((header, mut rest)) = bytes.split_at_checked(HEADER_BYTES) else {
            return Err(DecodeError::new("not an Avro record: it ends within its header"));
        };
        if versions.headers.accepts(header) {
            let record = versions.reader.read_deser(&mut rest).map_err(DecodeError::new)?;
            return require_whole(record, rest);
        }
        match versions.older.iter().find(|older| older.headers.accepts(header)) {
            Some(older) => require_whole(versions.read_older(older, &mut rest)?, rest),
            None => {
                let print: String = header[2..].iter().map(|byte| format!("{byte:02x}")).collect();
                Err(DecodeError::new(format!("no {} schema has the fingerprint {print}", self.record)))
            }
        }
    }

    /// By what our records begin.
    pub(crate) fn header(&self) -> Result<[u8; HEADER_BYTES], WireError> {
        self.versions
            .as_ref()
            .map(|versions| versions.headers.written)
            .map_err(|reason| self.unfit_error(reason))
    }

    /// Whether records that begin so are ours, or were once.
    pub(crate) fn reads_header(&self, header: &[u8; HEADER_BYTES]) -> bool {
        let known = |versions: &SchemaVersions| {
            versions.headers.accepts(header)
                || versions.older.iter().any(|older| older.headers.accepts(header))
        };
        self.versions.as_ref().is_ok_and(known)
    }

    /// Our schema, for files that name theirs.
    pub(crate) fn schema(&self) -> Result<&'static Schema, WireError> {
        self.versions.as_ref().map(|versions| versions.ours).map_err(|reason| self.unfit_error(reason))
    }

    /// Whether a file's schema is ours, or was once.
    pub(crate) fn knows_schema(&self, schema: &Schema) -> Result<bool, DecodeError> {
        self.versions.as_ref().map_err(DecodeError::new)?;
        Ok(self.reads_header(&schema_header(schema).map_err(DecodeError::new)?))
    }

    /// Reads a value of a schema that is known.
    pub(crate) fn resolve<T: DeserializeOwned>(&self, value: Value) -> Result<T, DecodeError> {
        let versions = self.versions.as_ref().map_err(DecodeError::new)?;
        versions.read_value(&value.resolve(versions.ours).map_err(DecodeError::new)?)
    }

    /// An error of this record.
    pub(crate) fn unfit_error(&self, reason: &dyn Display) -> WireError {
        WireError::Unfit { record: self.record, reason: shorten_text(&reason.to_string()) }
    }
}

impl SchemaVersions {
    fn new(texts: &[&str]) -> Result<Self, String> {
        let Some((ours, older)) = texts.split_first() else {
            return Err("there is no schema".to_owned());
        };
        let ours = parse_schema(ours)?;
        let writer = GenericDatumWriter::builder(ours).human_readable(false).build();
        let reader = GenericDatumReader::builder(ours).human_readable(false).build();
        Ok(Self {
            ours,
            headers: SchemaHeaders::new(ours)?,
            writer: writer.map_err(|error| error.to_string())?,
            reader: reader.map_err(|error| error.to_string())?,
            older: older.iter().map(|text| OlderSchema::new(text, ours)).collect::<Result<_, _>>()?,
        })
    }

    /// Resolves to our schema. (`read_deser` would panic if its reader had a second schema.)
    fn read_older<T: DeserializeOwned>(
        &self,
        older: &OlderSchema,
        rest: &mut &[u8],
    ) -> Result<T, DecodeError> {
        let mut watched = OverrunReader { rest, short: false };
        let value = older.reader.read_value(&mut watched).map_err(DecodeError::new)?;
        if watched.short {
            return Err(DecodeError::new("the record ends too early"));
        }
        self.read_value(&value)
    }

    /// Goes through our bytes, so that serde has one mapping to keep right.
    fn read_value<T: DeserializeOwned>(&self, value: &Value) -> Result<T, DecodeError> {
        let mut bytes = Vec::new();
        self.writer.write_value_ref(&mut bytes, value).map_err(DecodeError::new)?;
        self.reader.read_deser(&mut bytes.as_slice()).map_err(DecodeError::new)
    }
}

impl OlderSchema {
    fn new(text: &str, ours: &'static Schema) -> Result<Self, String> {
        let schema = parse_schema(text)?;
        let reader = GenericDatumReader::builder(schema).reader_schema(ours).human_readable(false).build();
        Ok(Self { headers: SchemaHeaders::new(schema)?, reader: reader.map_err(|error| error.to_string())? })
    }
}

/// Sees whether somebody reads past the end: where a record is cut, Avro's values take what is missing
/// for null (avro-rs 664).
struct OverrunReader<'r, 'b> {
    rest: &'r mut &'b [u8],
    short: bool,
}

impl io::Read for OverrunReader<'_, '_> {
    fn read(&mut self, wanted: &mut [u8]) -> io::Result<usize> {
        self.short |= self.rest.len() < wanted.len();
        self.rest.read(wanted)
    }
}

/// By what a record of a schema begins.
pub(crate) fn schema_header(schema: &Schema) -> Result<[u8; HEADER_BYTES], String> {
    fingerprint::standard_fingerprint(schema).map(build_header)
}

fn build_header(print: [u8; 8]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..2].copy_from_slice(&MARKER);
    header[2..].copy_from_slice(&print);
    header
}

/// Whether bytes begin as a single-object record does.
pub(crate) fn is_single_object(bytes: &[u8]) -> bool {
    bytes.starts_with(&MARKER)
}

/// Readers and writers borrow their schema; it is leaked, once for each schema and process.
fn parse_schema(text: &str) -> Result<&'static Schema, String> {
    let schema = Schema::parse_str(text).map_err(|error| error.to_string())?;
    Ok(Box::leak(Box::new(schema)))
}

fn require_whole<T>(record: T, rest: &[u8]) -> Result<T, DecodeError> {
    match rest.len() {
        0 => Ok(record),
        more => Err(DecodeError::new(format!("{more} bytes follow the record"))),
    }
}
