//! Schemas: those that our topics carry, and those that others wrote with.

use std::{fmt, sync::Arc};

use apache_avro::{Schema, schema::ResolvedSchema};
use async_trait::async_trait;

use crate::{
    change,
    codec::{HEADER_BYTES, RecordCodec, WireError, schema_header, shorten_text},
    erasure, event, house_note, inbox, pending, quarantine, ready, replay, returns, slice, topics, window,
};

/// Bytes of a schema of others.
pub const SCHEMA_BYTES_MAX: usize = 512 * 1024;

/// Who knows the schemas of others by their ids.
#[async_trait]
pub trait SchemaSource: Send + Sync + fmt::Debug {
    async fn schema(&self, id: u32) -> Result<Arc<WriterSchema>, SchemaLookupError>;
}

/// Why there is no schema of an id.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemaLookupError {
    /// There will be none: what was written with it cannot be read.
    #[error("{0}")]
    Unknown(String),
    /// Nobody can say now: try again.
    #[error("{0}")]
    Unreachable(String),
}

/// For a house without a registry.
#[derive(Clone, Copy, Debug)]
pub struct NoSchemaSource;

#[async_trait]
impl SchemaSource for NoSchemaSource {
    async fn schema(&self, id: u32) -> Result<Arc<WriterSchema>, SchemaLookupError> {
        let reason = format!("it was written with schema {id} of a registry, and none is configured");
        Err(SchemaLookupError::Unknown(reason))
    }
}

/// A schema that somebody wrote with.
pub struct WriterSchema {
    pub(crate) schema: Schema,
    header: [u8; HEADER_BYTES],
}

impl WriterSchema {
    /// Reads a schema's text, which comes from outside.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > SCHEMA_BYTES_MAX {
            return Err(format!("the schema has {} bytes, more than {SCHEMA_BYTES_MAX}", text.len()));
        }
        let error = |error: apache_avro::Error| shorten_text(&error.to_string());
        let schema = Schema::parse_str(text).map_err(error)?;
        ResolvedSchema::new(&schema).map_err(error)?;
        Ok(Self { header: schema_header(&schema)?, schema })
    }

    /// By what a record of this schema begins in single-object encoding.
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        self.header
    }
}

impl fmt::Debug for WriterSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriterSchema({:02x?})", &self.header[2..])
    }
}

/// The schema of a topic of ours.
pub struct BundledSchema {
    pub topic: &'static str,
    /// The schema as it is written.
    pub text: &'static str,
    codec: &'static RecordCodec,
}

impl BundledSchema {
    /// By what our records begin.
    pub fn header(&self) -> Result<[u8; HEADER_BYTES], WireError> {
        self.codec.header()
    }

    /// Whether records that begin so are read: those of this schema, and those of its older versions.
    pub fn reads_header(&self, header: &[u8; HEADER_BYTES]) -> bool {
        self.codec.reads_header(header)
    }
}

/// The schema of each topic.
pub fn bundled_schemas() -> [BundledSchema; 12] {
    let bundled = |topic, text, codec| BundledSchema { topic, text, codec };
    [
        bundled(topics::CHANGES, include_str!("../../../schemas/change.avsc"), &change::CODEC),
        bundled(topics::EVENTS, include_str!("../../../schemas/event.avsc"), &event::CODEC),
        bundled(topics::SLICES, include_str!("../../../schemas/slice.avsc"), &slice::CODEC),
        bundled(topics::INBOX, include_str!("../../../schemas/inbox.avsc"), &inbox::CODEC),
        bundled(topics::PENDING, include_str!("../../../schemas/pending.avsc"), &pending::CODEC),
        bundled(topics::WINDOWS, include_str!("../../../schemas/window.avsc"), &window::CODEC),
        bundled(topics::READY, include_str!("../../../schemas/ready.avsc"), &ready::CODEC),
        bundled(topics::RETURNS, include_str!("../../../schemas/returned.avsc"), &returns::CODEC),
        bundled(topics::QUARANTINE, include_str!("../../../schemas/quarantined.avsc"), &quarantine::CODEC),
        bundled(topics::REPLAYS, include_str!("../../../schemas/replay.avsc"), &replay::CODEC),
        bundled(topics::HOUSE, include_str!("../../../schemas/note.avsc"), &house_note::CODEC),
        bundled(topics::ERASURES, include_str!("../../../schemas/erasure.avsc"), &erasure::CODEC),
    ]
}

/// Takes a single-object record apart: its header and the datum.
pub fn split_single_object(bytes: &[u8]) -> Option<([u8; HEADER_BYTES], &[u8])> {
    let (header, datum) = bytes.split_first_chunk::<HEADER_BYTES>()?;
    crate::codec::is_single_object(header).then_some((*header, datum))
}
