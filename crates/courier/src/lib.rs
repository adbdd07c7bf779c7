//! The port of mail, and what stands on it.
//!
//! [`port`] is the contract: hand a message over, ask once before the point of no return, and be able to
//! say afterwards what became of it. [`mime`] is what a message looks like on the wire. [`outbox`] is the
//! engine that needs nothing: a folder of mails that one can look at. [`conformance`] is the list of
//! promises, [`lying`] a courier that breaks each of them.

pub mod port;

pub mod mime;

pub mod conformance;
pub mod lying;
pub mod outbox;

#[cfg(test)]
mod tests;

pub use port::{Courier, CourierError, Gate, Handed, Message, Outcome};
