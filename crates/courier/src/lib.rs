//! The port of messages, and what stands on it.
//!
//! [`port`] is the contract: hand a message over, ask once before the point of no return, and be able to
//! say afterwards what became of it. [`mime`] is what a mail looks like on the wire, [`push`] what a
//! device of each platform is given, [`call`] what a hook is; [`mail_returns`] reads what comes back of mails,
//! [`parse`] takes them apart, whoever wrote them. [`outbox`] is the
//! engine that needs nothing: a folder of mails that one can look at. [`conformance`] is the list of
//! promises, [`lying_courier`] a courier that breaks each of them: those two are built with the feature `testing` alone.

pub mod decorator;
pub mod port;

pub mod call;
pub mod mime;
pub mod push;

pub mod mail_returns;
pub mod parse;

#[cfg(any(test, doc, feature = "testing"))]
pub mod conformance;
#[cfg(any(test, doc, feature = "testing"))]
pub mod lying_courier;
pub mod outbox;

#[cfg(test)]
mod tests;

pub use port::{
    CallItem, CallPayload, Courier, CourierEraseRequest, CourierError, HandoverGate, HandoverOutcome,
    MailPayload, Message, MessageLink, MessageLinks, MessagePayload, PushPayload,
};
