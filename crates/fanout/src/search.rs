//! A search through the crowds of a slice: which to ask next and for how many, and what is left.
//!
//! Many crowds have nobody (cells of the sea), some have a million. So crowds are asked several at once as
//! long as they turn out to be small, and one by one when they do not: what is asked together never comes
//! to more than was wanted, and hardly anything is read twice.

use model::{Crowd, Person, Slice};
use store::CrowdMembers;

use crate::config::CROWDS_AT_ONCE;

/// A slice that is being told.
#[derive(Debug)]
pub struct CrowdSearch {
    slice: Slice,
    /// The first crowd that is not done.
    next: usize,
    at_once: usize,
}

/// What to ask the store.
#[derive(Debug)]
pub struct CrowdQuery<'a> {
    pub crowds: &'a [Crowd],
    /// Where to go on; only ever with one crowd.
    pub from: Option<&'a [u8]>,
    /// Of each crowd at most so many.
    pub share: usize,
}

impl CrowdSearch {
    pub fn new(slice: Slice) -> Self {
        Self { slice, next: 0, at_once: 1 }
    }

    /// The event and the kinds that are told.
    pub fn slice(&self) -> &Slice {
        &self.slice
    }

    /// Whether a crowd was begun and is not done.
    pub fn is_within(&self) -> bool {
        self.slice.from.is_some()
    }

    /// Rows that come of one person at most.
    pub fn rows_each(&self) -> usize {
        self.slice.kinds.len().max(1)
    }

    /// What to ask for at most so many rows; nothing if all crowds are done.
    pub fn next_query(&self, rows: usize) -> Option<CrowdQuery<'_>> {
        let most = (rows / self.rows_each()).max(1);
        let from = self.slice.from.as_deref();
        let left = self.slice.crowds.get(self.next..).unwrap_or_default();
        let many = if from.is_some() { 1 } else { self.at_once }.min(left.len()).min(most);
        (many > 0).then(|| CrowdQuery { crowds: &left[..many], from, share: most / many })
    }

    /// Takes the answers, each of at most `share` persons, and moves on behind them. What comes after a
    /// crowd that has more is left for later, since a slice goes on in one place.
    pub fn take_members(&mut self, answers: Vec<CrowdMembers>, share: usize) -> Vec<(Crowd, Vec<Person>)> {
        let asked = answers.len();
        let largest = answers.iter().map(|members| members.persons.len()).max().unwrap_or(0);
        // Neighbours are alike: twice as many are asked if each would still fit into half the room.
        self.at_once = if largest * 2 <= share { (asked * 2).min(CROWDS_AT_ONCE) } else { asked };
        let mut taken = Vec::with_capacity(asked);
        for CrowdMembers { persons, next } in answers {
            let Some(crowd) = self.slice.crowds.get(self.next) else { break };
            taken.push((crowd.clone(), persons));
            self.slice.from = next;
            if self.slice.from.is_some() {
                self.at_once = 1;
                break;
            }
            self.next += 1;
        }
        taken
    }

    /// What is left, if anything.
    pub fn rest(mut self) -> Option<Slice> {
        self.slice.crowds.drain(..self.next);
        (!self.slice.crowds.is_empty()).then_some(self.slice)
    }
}
