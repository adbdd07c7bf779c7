//! Messages that wait for another try, and since when the oldest is due.

use std::collections::BTreeMap;

use model::{UtcMillis, person::PersonRecord};

/// Of a partition: how many were due at each instant.
#[derive(Default, Debug)]
pub struct WaitingMessages {
    due: BTreeMap<UtcMillis, usize>,
    count: usize,
}

impl WaitingMessages {
    pub fn add(&mut self, due: impl IntoIterator<Item = UtcMillis>) {
        for at in due {
            *self.due.entry(at).or_default() += 1;
            self.count += 1;
        }
    }

    pub fn remove(&mut self, due: impl IntoIterator<Item = UtcMillis>) {
        for at in due {
            let Some(many) = self.due.get_mut(&at) else { continue };
            *many -= 1;
            self.count -= 1;
            if *many == 0 {
                self.due.remove(&at);
            }
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// When the one was due that waits longest.
    pub fn oldest(&self) -> Option<UtcMillis> {
        self.due.first_key_value().map(|(at, _)| *at)
    }
}

/// When the messages of a record were due that wait.
pub fn due_of_waiting(record: &PersonRecord) -> impl ExactSizeIterator<Item = UtcMillis> {
    record.waiting.iter().map(|waiting| waiting.ready.due)
}
