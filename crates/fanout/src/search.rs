//! A search through the crowds of a slice: which to ask next and for how many, and what is left.
//!
//! Many crowds have nobody (cells of the sea), some have a million. So crowds are asked several at once as
//! long as they turn out to be small, and one by one when they do not: what is asked together never comes
//! to more than was wanted, and hardly anything is read twice.

use model::{Crowd, Person, Slice};
use store::{CrowdCut, CrowdMembers};

use crate::config::CROWDS_AT_ONCE;

/// A slice that is being told.
#[derive(Debug)]
pub struct CrowdSearch {
    slice: Slice,
    /// The first crowd that is not done.
    next: usize,
    at_once: usize,
    /// Persons that were found, and those of them who are in the crowd that was begun last.
    found: usize,
    found_within: usize,
}

/// How much a search leaves.
#[derive(Clone, Copy, Debug)]
pub struct PartSizes {
    /// A part of it is worth while if it is likely to have so many persons.
    pub share: usize,
    /// Parts at most.
    pub most: usize,
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
        Self { slice, next: 0, at_once: 1, found: 0, found_within: 0 }
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
            self.found += persons.len();
            self.found_within = persons.len() + if self.slice.from.is_some() { self.found_within } else { 0 };
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

    /// The crowd that was begun and is not done, and how to cut what is left of it.
    pub fn begun(&self, sizes: PartSizes) -> Option<(&Crowd, CrowdCut<'_>)> {
        let (crowd, from) = (self.slice.crowds.get(self.next)?, self.slice.from.as_deref()?);
        let PartSizes { share, most } = sizes;
        Some((crowd, CrowdCut { from, found: self.found_within, share, most }))
    }

    /// What is left, as slices of which each may be told at any time. The crowd that was begun goes on at these places.
    pub fn rest(mut self, places: Vec<Vec<u8>>, sizes: PartSizes) -> Vec<Slice> {
        let done = self.next;
        self.slice.crowds.drain(..done);
        if let [place] = &*places {
            self.slice.from = Some(place.clone());
            return vec![self.slice];
        }
        let mut parts = Vec::new();
        if !places.is_empty() {
            let begun: Vec<Crowd> = self.slice.crowds.drain(..1).collect();
            let part = |from| Slice { crowds: begun.clone(), from: Some(from), ..self.slice.clone() };
            parts.extend(places.into_iter().map(part));
            self.slice.from = None;
        }
        let left = self.slice.crowds.len();
        let likely = self.found / done.max(1) * left;
        let many = (likely / sizes.share.max(1)).clamp(1, sizes.most.max(1));
        let crowds = std::mem::take(&mut self.slice.crowds);
        let some = crowds.chunks(left.div_ceil(many).max(1));
        parts.extend(some.map(|crowds| Slice { crowds: crowds.to_vec(), ..self.slice.clone() }));
        parts
    }

    /// Whether every crowd is done.
    pub fn is_done(&self) -> bool {
        self.next >= self.slice.crowds.len()
    }
}
