//! What lies in topics: the nouns of the model as bytes, and back.
//!
//! [`topics`] names the topics and [`key`] makes their records' keys. Then one file a record: [`change`]
//! (and [`cloud_event`], the same as JSON) is what comes in, [`event`] what was admitted, [`mod@slice`] a part of a
//! large audience, [`pending`] the announcements, [`inbox`] all that concerns one person, [`window`] what is
//! remembered of them, [`ready`] what is due, [`quarantine`] what could not be used, [`erasure`] how far it is to
//! forget somebody. Each has `encode` and
//! `decode`. [`archive`] is no record of a topic but a file of rows, [`token`] what the link of a mail carries, [`mark_right`] that of a push,
//! [`mail_slots`] the addresses of its slots, and [`return_path`] what its return path does. [`returns`] is what came back, for readers outside.
//!
//! A record is Avro in single-object encoding: two fixed bytes, the fingerprint of the schema it was
//! written with, the datum. The schemas lie in `schemas/` and are built in. With a registry records travel in
//! its frame instead ([`framing`]), which is no business of the rooms; [`mod@schemas`] lists ours and is the port by
//! which others' are asked for. [`mod@trace`] is what headers say of
//! traces. [`upstream`] reads what others send in formats of their own.
//! To change one: copy it to `schemas/old/<name>.<version>.avsc`, add that file to the list in the record's
//! own module, and only then edit; new fields need a default. What was written before stays readable, and
//! readers go out before writers. The version is also in the names of the goldens and in the tests' table;
//! the old goldens stay.
//!
//! What can be encoded can be decoded. Bytes that cannot be decoded are a value, [`DecodeError`], and never
//! a panic. The private structs that serde sees are converted by hand: the model knows nothing of them.

mod actor;
mod attributes;
mod bytes;
mod cell;
mod cloud_change;
mod codec;
mod datum;
mod debezium;
mod delivery;
mod fingerprint;
mod finite;
mod json;
mod kept_fields;
mod list;
mod mark;
mod record_parts;
mod schema_source;
mod upstream_row;

pub mod framing;
pub mod key;
pub mod schemas;
pub mod topics;

pub mod change;
pub mod cloud_event;
pub mod event;
pub mod slice;
pub mod upstream;

pub mod inbox;
pub mod pending;
pub mod window;

pub mod archive;
pub mod erasure;
pub mod house_note;
pub mod quarantine;
pub mod ready;
pub mod replay;
pub mod returns;

pub mod mail_slots;
pub mod mark_right;
pub mod return_path;
pub mod token;
pub mod trace;
pub mod visit;

#[cfg(test)]
mod tests;

pub use cloud_event::{CloudChange, CloudError, CloudPerson};
pub use codec::{DecodeError, LIST_MAX, RECORD_BYTES_MAX, WireError};
pub use house_note::{AdoptedCatalogue, HouseNote, HouseNoteBody};
pub use inbox::{Feedback, FeedbackAction, InboxItem};
pub use pending::{AnnouncementBatch, DayAnnouncement};
pub use quarantine::{QuarantineCause, QuarantinedRecord, UnusableRecord};
pub use returns::ReturnNotice;
pub use schemas::{NoSchemaSource, SchemaLookupError, SchemaSource};
