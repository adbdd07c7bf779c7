//! The port of a partitioned log, and what stands on it.
//!
//! [`port`] is the contract: records in partitions, a group whose members own partitions, turns that
//! commit at once. [`drive`] is the one loop that every room runs in. [`embedded`] is the engine that
//! needs nothing; [`conformance`] is the list of promises that every engine must keep, [`lying`] an engine
//! that breaks each of them, to prove that the list notices, and [`rough`] one that is allowed to be as
//! unpleasant as a real network.

pub mod port;

pub mod drive;

pub mod conformance;
pub mod embedded;
pub mod lying;
pub mod rough;

pub use port::{
    Batch, CommitError, Happening, Headers, Member, Membership, Mode, NewRecord, Offsets, Record, Retention,
    TopicError, TopicName, TopicSpec, Topics, Turn,
};
