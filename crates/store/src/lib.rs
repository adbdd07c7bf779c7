//! The ports of the store, and what stands on them.
//!
//! [`port`] is the contract in our nouns: days, states, crowds, the journal, answers, first words, slips, erasure; [`rows`] and [`codec`]
//! are their bytes, the same on every engine. [`embedded`] is the engine that needs nothing;
//! [`conformance`] the promises every engine keeps, [`lying`] an engine that breaks each, and [`rough`] one
//! that is as unpleasant as a real cluster may be. [`forward!`] is for stores that stand around another.

pub mod codec;
pub mod erasing;
mod forward;
pub mod port;
pub mod rows;
pub mod world;

pub mod conformance;
pub mod embedded;
pub mod lying;
pub mod rough;

#[cfg(test)]
mod tests;

pub use port::{
    Answers, Claim, Claimed, Crowds, DayPart, DayRows, Days, Erasure, FirstWords, Followed, Journal,
    Journalled, Members, Record, Recorded, Slips, StateKey, States, Store, StoreError,
};
