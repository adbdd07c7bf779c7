//! What a person's record remembers of messages, for the plans that look back on them.

use std::{collections::BTreeSet, sync::Arc};

use xxhash_rust::xxh3::xxh3_64;

use crate::{closing_dates::ClosingNumber, id::PlanName, limits::WINDOWS_PER_PERSON_MAX, time::UtcMillis};

/// The last messages of a plan under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageHistory {
    pub plan: PlanName,
    pub key: Arc<str>,
    /// When they were decided, the last one last; no more of them than the plan looks back on.
    pub at: Vec<UtcMillis>,
    /// When the last entry came that they told.
    pub heard: UtcMillis,
    /// How many there were in a row.
    pub row: u8,
    /// From here on none of this matters.
    pub until: UtcMillis,
}

/// The last closing of its calendar that a plan told, and the keys under which it did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldClosing {
    pub number: ClosingNumber,
    /// Hashes of the keys that were told then; none of a plan without a key, whose closings are told for all.
    pub keys: BTreeSet<i64>,
}

impl ToldClosing {
    pub fn new(number: ClosingNumber, key: &str) -> Self {
        Self { number, keys: key_hash(key).into_iter().collect() }
    }

    /// The last closing that is told under a key: this one, or for a key that was not among them the one before.
    pub fn last_number(&self, key: &str) -> ClosingNumber {
        let is_told = self.keys.is_empty() || key_hash(key).is_none_or(|hash| self.keys.contains(&hash));
        if is_told { self.number } else { self.number.before() }
    }

    /// Notes that a closing was told under a key; what is older than the last one changes nothing but the keys.
    pub fn note_number(&mut self, number: ClosingNumber, key: &str) {
        if number > self.number {
            *self = Self::new(number, key);
        } else if !self.keys.is_empty() {
            self.keys.extend(key_hash(key));
            if self.keys.len() > WINDOWS_PER_PERSON_MAX {
                // Which is forgotten counts as not told: a message more, never one less.
                self.keys.pop_first();
            }
        }
    }
}

/// None of a window without a key.
fn key_hash(key: &str) -> Option<i64> {
    (!key.is_empty()).then(|| xxh3_64(key.as_bytes()).cast_signed())
}
