//! The ports of the store, and what stands on them.
//!
//! [`port`] is the contract in our nouns: days, states, crowds, the journal, answers, first words, slips, erasure; [`rows`] and [`codec`]
//! are their bytes, the same on every engine. Each engine is a crate of its own: `store-embedded` needs nothing, `store-cql` a cluster.
//! [`conformance`] the promises every engine keeps, [`lying_store`] an engine that breaks each, and [`rough_store`] one
//! that is as unpleasant as a real cluster may be: those three are built with the feature `testing` alone. [`decorator`] is
//! for stores that stand around another.

pub mod codec;
pub mod decorator;
pub mod port;
pub mod rows;

#[cfg(any(test, doc, feature = "testing"))]
pub mod conformance;
#[cfg(any(test, doc, feature = "testing"))]
pub mod lying_store;
#[cfg(any(test, doc, feature = "testing"))]
pub mod rough_store;

#[cfg(test)]
mod goldens;

pub use port::{
    AnswerStore, CrowdCut, CrowdMembers, CrowdStore, DayPart, DayRows, DayStore, ErasureStore,
    FirstWordStore, FollowedSubjects, JournalClaim, JournalClaimOutcome, JournalOutcome, JournalRecord,
    JournalRows, JournalStore, LATELY, RemovedCell, SlipStore, StandingAnswer, StateKey, StateStore, Store,
    StoreError, StoreSetup,
};
