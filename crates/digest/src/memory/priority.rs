//! Exceptions to the order of the queue: persons who go first, because something urgent is due for them, and persons
//! who wait, because their windows close again and again without telling anything. Both are few and kept in memory
//! only, because a later closing is still a closing.

use std::collections::{BTreeMap, BTreeSet};

use model::{Person, Tenant, UtcMillis};

use super::PersonKey;

/// Closings in a row that come to nothing and leave something due at once, before anybody waits for it.
const IDLE_MAX: u32 = 3;
/// Windows that are due within this time count as due at once.
const AT_ONCE_MS: i64 = 1_000;
/// How long one waits at first, doubling, and at most.
const BRAKE_MS: i64 = 1_000;
const BRAKE_MS_MAX: i64 = 60_000;

/// Who goes first and who waits.
#[derive(Default, Debug)]
pub struct TurnPriority {
    urgent: BTreeMap<Tenant, BTreeSet<(i64, Person)>>,
    urgent_of: BTreeMap<PersonKey, i64>,
    brakes: BTreeMap<PersonKey, IdleBackoff>,
}

#[derive(Default, Clone, Copy, Debug)]
struct IdleBackoff {
    idle: u32,
    until: i64,
}

impl TurnPriority {
    /// When something urgent is due for a person, if anything is.
    pub fn set_urgent(&mut self, key: &PersonKey, due: Option<UtcMillis>) {
        if let Some(before) = self.urgent_of.remove(key)
            && let Some(of_tenant) = self.urgent.get_mut(&key.0)
        {
            of_tenant.remove(&(before, key.1.clone()));
            if of_tenant.is_empty() {
                self.urgent.remove(&key.0);
            }
        }
        if let Some(due) = due.map(|due| self.delayed_due(key, due.0)) {
            self.urgent_of.insert(key.clone(), due);
            self.urgent.entry(key.0.clone()).or_default().insert((due, key.1.clone()));
        }
    }

    /// When the first of what is urgent is due.
    pub fn first(&self) -> Option<UtcMillis> {
        let firsts = self.urgent.values().filter_map(BTreeSet::first);
        firsts.map(|(at, _)| UtcMillis(*at)).min()
    }

    /// For whom something urgent is due at an instant: of each tenant so many at most, the longest overdue first.
    pub fn due_at(&self, at: UtcMillis, most: usize) -> Vec<PersonKey> {
        let mut due = Vec::new();
        for (tenant, persons) in &self.urgent {
            let own = persons.iter().take_while(|(due, _)| *due <= at.0).take(most);
            due.extend(own.map(|(due, person)| (*due, (tenant.clone(), person.clone()))));
        }
        due.sort_unstable();
        due.into_iter().map(|(_, key)| key).collect()
    }

    /// A closing of a person came to nothing, and this is when the next one is due. Says whether that goes on for too
    /// long, so that they wait.
    pub fn note_idle_closing(&mut self, key: &PersonKey, next: Option<UtcMillis>, now: UtcMillis) -> bool {
        if next.is_none_or(|next| next > now.plus(AT_ONCE_MS)) {
            self.brakes.remove(key);
            return false;
        }
        let brake = self.brakes.entry(key.clone()).or_default();
        brake.idle = brake.idle.saturating_add(1);
        let Some(over) = brake.idle.checked_sub(IDLE_MAX + 1) else { return false };
        brake.until = now.0 + BRAKE_MS.saturating_mul(1 << over.min(16)).min(BRAKE_MS_MAX);
        true
    }

    /// Something came of a person's turn.
    pub fn release(&mut self, key: &PersonKey) {
        self.brakes.remove(key);
    }

    /// When a person who is due then has a turn.
    pub fn delayed_due(&self, key: &PersonKey, due: i64) -> i64 {
        self.brakes.get(key).map_or(due, |brake| due.max(brake.until))
    }

    pub fn forget(&mut self, key: &PersonKey) {
        self.set_urgent(key, None);
        self.release(key);
    }
}

#[cfg(test)]
mod tests {
    use model::{
        PlanName,
        person::{PersonRecord, Window},
    };

    use super::*;
    use crate::memory::PartitionMemory;

    fn key(person: &str) -> PersonKey {
        (Tenant::new("main").unwrap(), Person::new(person).unwrap())
    }

    fn record(due: i64) -> PersonRecord {
        let opened = Window::new(PlanName::new("daily").unwrap(), 1, "".into(), UtcMillis(1));
        PersonRecord { windows: vec![Window { due: UtcMillis(due), ..opened }], ..PersonRecord::default() }
    }

    #[test]
    fn what_is_urgent_is_due_before_what_is_longer_overdue() {
        let mut memory = PartitionMemory::default();
        for person in 0..10 {
            memory.put(&key(&format!("p{person}")), Some(&record(person))).unwrap();
        }
        memory.put(&key("eve"), Some(&record(50))).unwrap();
        memory.ahead.set_urgent(&key("eve"), Some(UtcMillis(50)));
        let due = |memory: &mut PartitionMemory, at: i64| memory.due_at(UtcMillis(at), 3).unwrap();
        assert_eq!(due(&mut memory, 49), [key("p0"), key("p1"), key("p2")]);
        assert_eq!(due(&mut memory, 50), [key("eve"), key("p0"), key("p1")]);
        assert_eq!(memory.ahead.first(), Some(UtcMillis(50)));
        memory.put(&key("eve"), None).unwrap();
        assert_eq!((memory.ahead.first(), due(&mut memory, 50).len()), (None, 3));
        assert_eq!(memory.due_at(UtcMillis(50), 99).unwrap().len(), 10, "each once");
    }

    #[test]
    fn who_closes_again_and_again_for_nothing_waits_longer_and_longer() {
        let (mut memory, ann) = (PartitionMemory::default(), key("ann"));
        let mut turns = Vec::new();
        let mut now = 0;
        for _ in 0..12 {
            // What a rule would do that opens the next window a moment later.
            memory.ahead.note_idle_closing(&ann, Some(UtcMillis(now + 1)), UtcMillis(now));
            memory.put(&ann, Some(&record(now + 1))).unwrap();
            now = memory.next_due().unwrap().0;
            turns.push(now);
        }
        let waits: Vec<i64> = turns.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(waits, [1, 1, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
        memory.ahead.release(&ann);
        memory.put(&ann, Some(&record(now + 1))).unwrap();
        assert_eq!(memory.next_due(), Some(UtcMillis(now + 1)), "news of the person end it");
        assert!(
            !memory.ahead.note_idle_closing(&ann, Some(UtcMillis(now + 2_000)), UtcMillis(now)),
            "it waits by itself"
        );
    }
}
