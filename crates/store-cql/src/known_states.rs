//! What was read of states a moment ago, for whoever only shows them: a page of a feed speaks of the same few subjects and persons
//! as the page before it, and each would be a request to the cluster.
//!
//! What this process writes is forgotten when the write has come to its end, however it ended. A read that was under way meanwhile
//! keeps nothing, since nobody knows whether it saw the write.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use model::VersionedState;
use runtime::clock::SteadyStopwatch;
use store::{LATELY, StateKey};

/// States that are kept at once, at most.
const KNOWN_MAX: usize = 10_000;

#[derive(Default)]
pub(crate) struct KnownStates(Mutex<KnownTable>);

#[derive(Default)]
struct KnownTable {
    slots: HashMap<StateKey, KnownSlot>,
    /// Slots there were: each has a number of its own, also after a write.
    count: u64,
}

struct KnownSlot {
    /// What was read, and since when it may be out of date.
    read: Option<(SteadyStopwatch, VersionedState)>,
    number: u64,
}

/// A read that is under way: what it finds is kept, unless the state was written meanwhile.
pub(crate) struct StateReading {
    since: SteadyStopwatch,
    number: u64,
}

impl KnownStates {
    /// What is known of a state, or the right to keep what is read of it.
    pub(crate) fn find(&self, key: &StateKey) -> Result<VersionedState, StateReading> {
        let mut table = self.lock();
        let number = table.slots.get(key).map(|slot| slot.number);
        if let Some(KnownSlot { read: Some((since, state)), .. }) = table.slots.get(key)
            && since.elapsed() < LATELY
        {
            return Ok(state.clone());
        }
        let number = number.unwrap_or_else(|| table.add(key));
        Err(StateReading { since: SteadyStopwatch::start(), number })
    }

    pub(crate) fn keep(
        &self,
        key: &StateKey,
        StateReading { since, number }: StateReading,
        state: &VersionedState,
    ) {
        let mut table = self.lock();
        if let Some(slot) = table.slots.get_mut(key).filter(|slot| slot.number == number) {
            slot.read = Some((since, state.clone()));
        }
    }

    /// These were written, or may have been.
    pub(crate) fn forget<'a>(&self, keys: impl Iterator<Item = &'a StateKey>) {
        let mut table = self.lock();
        for key in keys {
            table.slots.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownTable {
    fn add(&mut self, key: &StateKey) -> u64 {
        if self.slots.len() >= KNOWN_MAX {
            self.slots
                .retain(|_, slot| slot.read.as_ref().is_some_and(|(since, _)| since.elapsed() < LATELY));
            if self.slots.len() > KNOWN_MAX / 2 {
                self.slots.clear();
            }
        }
        self.count += 1;
        self.slots.insert(key.clone(), KnownSlot { read: None, number: self.count });
        self.count
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use model::{SubjectRef, Tenant, Value};

    use super::*;

    fn key(id: usize) -> StateKey {
        StateKey::Subject(Tenant::new("main").unwrap(), SubjectRef::new(&format!("work:{id}")).unwrap())
    }

    fn state(version: i64) -> VersionedState {
        VersionedState::from_values(version, [("title", Some(Value::Flag(true)))])
    }

    #[test]
    fn what_was_read_is_known_until_it_is_written() {
        let known = KnownStates::default();
        let reading = known.find(&key(1)).err().unwrap();
        known.keep(&key(1), reading, &state(1));
        assert_eq!(known.find(&key(1)).ok(), Some(state(1)));
        known.forget([&key(1)].into_iter());
        assert!(known.find(&key(1)).is_err());
    }

    #[test]
    fn a_read_that_was_under_way_at_a_write_keeps_nothing() {
        let known = KnownStates::default();
        let before = known.find(&key(1)).err().unwrap();
        known.forget([&key(1)].into_iter());
        let after = known.find(&key(1)).err().unwrap();
        known.keep(&key(1), before, &state(1));
        assert!(known.find(&key(1)).is_err());
        known.keep(&key(1), after, &state(2));
        assert_eq!(known.find(&key(1)).ok(), Some(state(2)));
    }

    #[test]
    fn only_so_many_are_known() {
        let known = KnownStates::default();
        for id in 0..3 * KNOWN_MAX {
            let reading = known.find(&key(id)).err().unwrap();
            known.keep(&key(id), reading, &state(1));
            assert!(known.lock().slots.len() <= KNOWN_MAX);
        }
        assert!(known.find(&key(3 * KNOWN_MAX - 1)).is_ok());
    }
}
