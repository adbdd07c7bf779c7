//! What the owner of a partition remembers: the records of its persons and when each wants a turn. A cache
//! of the compacted topic `windows`; it changes only when a turn has been committed.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Millis, Person, Tenant,
    person::{Owed, PersonRecord},
};

/// Whose record.
pub type PersonKey = (Tenant, Person);

/// One partition.
#[derive(Default, Debug)]
pub struct Memory {
    records: BTreeMap<PersonKey, PersonRecord>,
    due: BTreeSet<(Millis, PersonKey)>,
    /// Marks named by a committed turn that the store may not have.
    pub unwritten: Vec<(PersonKey, Owed)>,
    /// Marks that the store has, which the next turn takes off the records.
    pub acknowledged: Vec<(PersonKey, Owed)>,
}

impl Memory {
    pub fn get(&self, key: &PersonKey) -> Option<&PersonRecord> {
        self.records.get(key)
    }

    /// Puts a record in its place; `None` forgets the person.
    pub fn put(&mut self, key: &PersonKey, record: Option<PersonRecord>) {
        if let Some(due) = self.records.get(key).and_then(PersonRecord::next_due) {
            self.due.remove(&(due, key.clone()));
        }
        match record {
            Some(record) => {
                if let Some(due) = record.next_due() {
                    self.due.insert((due, key.clone()));
                }
                self.records.insert(key.clone(), record);
            }
            None => {
                self.records.remove(key);
            }
        }
    }

    /// The next instant at which this partition wants a turn: at once while marks are on their way.
    pub fn next_due(&self) -> Option<Millis> {
        if !self.unwritten.is_empty() || !self.acknowledged.is_empty() {
            return Some(Millis(0));
        }
        self.due.first().map(|(at, _)| *at)
    }

    /// Who is due at an instant, the longest overdue first.
    pub fn due_at(&self, at: Millis, most: usize) -> Vec<PersonKey> {
        self.due.iter().take_while(|(due, _)| *due <= at).take(most).map(|(_, key)| key.clone()).collect()
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many windows are open.
    pub fn windows(&self) -> usize {
        self.records.values().map(|record| record.windows.len()).sum()
    }
}
