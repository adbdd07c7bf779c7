//! What a person's record remembers of messages, for the plans that look back on them.

use std::{collections::BTreeSet, sync::Arc};

use xxhash_rust::xxh3::xxh3_64;

use crate::{id::PlanName, limits::WINDOWS_PER_PERSON_MAX, local_time::LocalDate, time::UtcMillis};

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

/// The last local date that a plan told, and the keys under which it did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldDate {
    pub date: LocalDate,
    /// Hashes of the keys that were told on that date; none of a plan without a key, whose date is told for all.
    pub keys: BTreeSet<i64>,
}

impl ToldDate {
    pub fn new(date: LocalDate, key: &str) -> Self {
        Self { date, keys: key_hash(key).into_iter().collect() }
    }

    /// The last date that is told under a key: this one, or for a key that was not among them the one before.
    pub fn last_date(&self, key: &str) -> LocalDate {
        let is_told = self.keys.is_empty() || key_hash(key).is_none_or(|hash| self.keys.contains(&hash));
        if is_told { self.date } else { self.date.saturating_sub(1) }
    }

    /// Notes that a date was told under a key; what is older than the last one changes nothing but the keys.
    pub fn note_date(&mut self, date: LocalDate, key: &str) {
        if date > self.date {
            *self = Self::new(date, key);
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
