//! What was read of a person: their days as the rows say, what is known of the subjects on which bundles depend, and the feed
//! that was made of both last.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use model::{Day, DayView, EntryKey, EntryView, UtcMillis, WorldSnapshot};

use crate::facts::FeedSheet;

/// Bytes of an entry in memory and of a day, about.
const ENTRY_BYTES: usize = 1_500;
const DAY_BYTES: usize = 400;

/// Everything that is remembered of one person.
#[derive(Debug, Default)]
pub struct PersonShelf {
    /// When the oldest part was read, by a clock that nobody sets.
    pub read_at: i64,
    /// As their rows say, without the house's notes; days without rows are left out.
    pub days: BTreeMap<Day, Arc<DayView>>,
    /// The subjects that bundles ask, of all entries.
    pub world: Arc<WorldSnapshot>,
    sheet: Mutex<Option<Arc<FeedSheet>>>,
}

impl PersonShelf {
    pub fn new(read_at: i64, days: BTreeMap<Day, Arc<DayView>>, world: Arc<WorldSnapshot>) -> Self {
        Self { read_at, days, world, sheet: Mutex::default() }
    }

    /// An entry.
    pub fn get(&self, key: EntryKey) -> Option<&EntryView> {
        self.days.get(&key.day())?.get(key)
    }

    /// What it takes of memory, about: the days, and as much again for the feed.
    pub fn bytes(&self) -> usize {
        let entries: usize = self.days.values().map(|day| day.len()).sum();
        entries * ENTRY_BYTES + self.days.len() * DAY_BYTES + DAY_BYTES
    }

    /// The feed that was made last, if it was made of the same and is still as it was.
    pub fn find_sheet(&self, made_of: u64, now: UtcMillis) -> Option<Arc<FeedSheet>> {
        let sheet = self.sheet.lock().unwrap_or_else(PoisonError::into_inner);
        sheet.clone().filter(|sheet| sheet.made_of == made_of && sheet.made_at <= now && now < sheet.until)
    }

    pub fn keep_sheet(&self, sheet: Arc<FeedSheet>) {
        *self.sheet.lock().unwrap_or_else(PoisonError::into_inner) = Some(sheet);
    }

    /// The same person with some days read anew.
    pub fn with_days(&self, read: BTreeMap<Day, DayView>, world: Arc<WorldSnapshot>) -> Self {
        let mut days = self.days.clone();
        for (day, view) in read {
            if view.is_empty() {
                days.remove(&day);
            } else {
                days.insert(day, Arc::new(view));
            }
        }
        Self::new(self.read_at, days, world)
    }
}
