//! The port of a partitioned log, and what stands on it.
//!
//! [`port`] is the contract: records in partitions, a group whose members own partitions, turns that
//! commit at once. [`drive`] is the one loop that every room runs in. [`embedded`] is the engine that
//! needs nothing; [`conformance`] is the list of promises that every engine must keep, [`lying_topics`] an engine
//! that breaks each of them, to prove that the list notices, and [`rough_topics`] one that is allowed to be as
//! unpleasant as a real network: those three are built with the feature `testing` alone. [`decorator`] is for logs that
//! stand around another, and [`metrics`] what the loop counts.

pub mod decorator;
pub mod port;

pub mod drive;
pub mod metrics;

#[cfg(any(test, doc, feature = "testing"))]
pub mod conformance;
pub mod embedded;
#[cfg(any(test, doc, feature = "testing"))]
pub mod lying_topics;
#[cfg(any(test, doc, feature = "testing"))]
pub mod rough_topics;

pub use port::{
    CommitError, GroupMembership, Member, MemberEvent, NewRecord, RecordBatch, RecordHeaders, TopicError,
    TopicName, TopicOffsets, TopicRecord, TopicRetention, TopicSpec, Topics, Turn, TurnGuarantee,
};
