//! Schemas: those that our topics carry; those that others wrote with are in `schema_source`.

pub use crate::schema_source::{
    NoSchemaSource, SCHEMA_BYTES_MAX, SchemaLookupError, SchemaSource, WriterSchema,
};
use crate::{
    change,
    codec::{HEADER_BYTES, RecordCodec, WireError},
    erasure, event, house_note, inbox, pending, quarantine, ready, replay, returns, slice, topics, window,
};

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
pub fn bundled_schemas() -> [BundledSchema; 13] {
    let bundled = |topic, text, codec| BundledSchema { topic, text, codec };
    [
        bundled(topics::CHANGES, include_str!("../../../schemas/change.avsc"), &change::CODEC),
        bundled(topics::EVENTS, include_str!("../../../schemas/event.avsc"), &event::CODEC),
        bundled(topics::SLICES, include_str!("../../../schemas/slice.avsc"), &slice::CODEC),
        bundled(topics::INBOX, include_str!("../../../schemas/inbox.avsc"), &inbox::CODEC),
        bundled(topics::PENDING, include_str!("../../../schemas/pending.avsc"), &pending::CODEC),
        bundled(topics::WINDOWS, include_str!("../../../schemas/window.avsc"), &window::CODEC),
        bundled(topics::READY_URGENT, include_str!("../../../schemas/ready.avsc"), &ready::CODEC),
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
