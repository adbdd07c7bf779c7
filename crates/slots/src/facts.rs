//! What the store says that a list is made of.

use model::{SubjectRef, WorldSnapshot};
use slot_lists::SlotList;
use store::StandingAnswer;

/// Things that may be chosen, and what is known of them.
#[derive(Debug, Default)]
pub struct ListFacts {
    /// Of each table of the list, in its order: what it names, the best first.
    pub tables: Vec<Vec<SubjectRef>>,
    pub world: WorldSnapshot,
}

/// A list as the store has it.
#[derive(Clone, Debug)]
pub struct StandingList {
    pub list: SlotList,
    /// What is to give way to another one.
    pub answer: StandingAnswer,
}

/// A list of a newer version of the house: it is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the list that stands cannot be read; a newer version of the house has written it")]
pub struct StrangeListError;
