//! The queues of due persons, one of each tenant: so that at closing tenants have turns, and whoever has a million persons due
//! is not in the way of whoever has one.

use std::collections::{BTreeMap, BTreeSet};

use model::Tenant;

use super::{RecordSlot, queue::DueQueue};

/// Of so many tenants all that a turn has room for is looked at; of more, less of each.
const LOOKED_AT_WHOLE: usize = 8;

#[derive(Default, Debug)]
pub struct TenantQueues {
    of: BTreeMap<Tenant, DueQueue>,
    /// When the first of each is due.
    firsts: BTreeSet<(i64, Tenant)>,
    /// For how many persons the first queue is made: mostly there is one tenant.
    room: usize,
}

/// A slot that is due, and when.
pub type DueSlot = (i64, u32);

impl TenantQueues {
    pub fn with_room(persons: usize) -> Self {
        Self { room: persons, ..Self::default() }
    }

    pub fn push(&mut self, tenant: &Tenant, at: i64, place: u32) {
        if !self.of.contains_key(tenant) {
            let room = std::mem::take(&mut self.room);
            self.of.insert(tenant.clone(), DueQueue::with_room(room));
        }
        self.change(tenant, |queue| queue.push(at, place));
    }

    /// When the first of all is due; so tidy that it is.
    pub fn first(&self) -> Option<i64> {
        self.firsts.first().map(|(at, _)| *at)
    }

    /// Takes away what is out of date of a tenant.
    pub fn tidy(&mut self, tenant: &Tenant, slots: &[RecordSlot]) {
        self.change(tenant, |queue| queue.tidy(slots));
    }

    pub fn tidy_all(&mut self, slots: &[RecordSlot]) {
        for tenant in self.of.keys().cloned().collect::<Vec<_>>() {
            self.tidy(&tenant, slots);
        }
    }

    /// Slots that are due at an instant, of each tenant the longest overdue first, and of each so many that a turn finds its
    /// share of so many. They stay in the queues.
    pub fn due_at(&mut self, at: i64, most: usize, slots: &[RecordSlot]) -> Vec<(Tenant, Vec<DueSlot>)> {
        let tenants = self.due_tenants(at);
        let of_each = (most / tenants.len().max(1)).saturating_mul(LOOKED_AT_WHOLE).clamp(1, most.max(1));
        let due = |tenant: Tenant| {
            let due = self.change(&tenant, |queue| queue.due_at(at, of_each, slots));
            (tenant, due.unwrap_or_default())
        };
        tenants.into_iter().map(due).collect()
    }

    /// So many slots that are due, whosever they are.
    pub fn any_due_at(&mut self, at: i64, most: usize, slots: &[RecordSlot]) -> Vec<DueSlot> {
        let mut all = Vec::new();
        for tenant in self.due_tenants(at) {
            let left = most.saturating_sub(all.len());
            all.extend(self.change(&tenant, |queue| queue.due_at(at, left, slots)).unwrap_or_default());
        }
        all
    }

    fn due_tenants(&self, at: i64) -> Vec<Tenant> {
        self.firsts.iter().take_while(|(first, _)| *first <= at).map(|(_, tenant)| tenant.clone()).collect()
    }

    /// Changes a queue, and notes when its first is due from then on.
    fn change<T>(&mut self, tenant: &Tenant, change: impl FnOnce(&mut DueQueue) -> T) -> Option<T> {
        let queue = self.of.get_mut(tenant)?;
        let before = queue.first();
        let changed = change(queue);
        let after = queue.first();
        if before != after {
            if let Some(before) = before {
                self.firsts.remove(&(before, tenant.clone()));
            }
            self.firsts.extend(after.map(|after| (after, tenant.clone())));
        }
        if after.is_none() {
            self.of.remove(tenant);
        }
        Some(changed)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use house_facts::tenant_shares::TenantShares;
    use model::{
        Person, PlanName, UtcMillis,
        person::{PersonRecord, Window},
    };

    use super::*;
    use crate::memory::{PartitionMemory, PersonKey};

    /// `a1` is the person `1` of the tenant `a`.
    fn key(name: &str) -> PersonKey {
        (Tenant::new(&name[..1]).unwrap(), Person::new(&name[1..]).unwrap())
    }

    fn put(memory: &mut PartitionMemory, name: &str, due: i64) {
        let opened = Window::new(PlanName::new("daily").unwrap(), 1, "".into(), UtcMillis(1));
        let windows = vec![Window { due: UtcMillis(due), ..opened }];
        memory.put(&key(name), Some(&PersonRecord { windows, ..PersonRecord::default() })).unwrap();
    }

    fn due(memory: &mut PartitionMemory, at: i64, most: usize) -> String {
        let due = memory.due_at(UtcMillis(at), most).unwrap();
        due.iter().map(|(tenant, person)| format!("{tenant}{person}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tenants_have_turns_at_closing() {
        let weights = BTreeMap::from([(key("a0").0, 2)]);
        let shares = Arc::new(TenantShares::new(weights, BTreeMap::new()));
        for (shares, expected) in [(Arc::default(), "a0 b0 a1 b1 a2"), (shares, "a0 a1 b0 a2 a3")] {
            let mut memory = PartitionMemory::default().with_shares(shares);
            for person in 0..9 {
                put(&mut memory, &format!("a{person}"), 10 + person);
            }
            put(&mut memory, "b0", 50);
            put(&mut memory, "b1", 51);
            assert_eq!(memory.next_due(), Some(UtcMillis(10)));
            assert_eq!(due(&mut memory, 49, 3), "a0 a1 a2");
            assert_eq!(due(&mut memory, 51, 5), expected);
            assert_eq!(due(&mut memory, 51, 99).split(' ').count(), 11, "each once");
            // What is urgent goes first, and has turns as well.
            for name in ["a5", "a6", "a7", "b1"] {
                memory.ahead.set_urgent(&key(name), Some(UtcMillis(51)));
            }
            assert!(["a5 b1 a6 a7", "a5 a6 b1 a7"].contains(&due(&mut memory, 51, 4).as_str()));
        }
    }

    #[test]
    fn a_slot_that_another_tenant_had_is_theirs_no_more() {
        let mut memory = PartitionMemory::default();
        put(&mut memory, "a0", 5);
        put(&mut memory, "a1", 9);
        memory.put(&key("a0"), None).unwrap();
        put(&mut memory, "b0", 5);
        assert_eq!((memory.next_due(), due(&mut memory, 5, 9).as_str()), (Some(UtcMillis(5)), "b0"));
        memory.put(&key("b0"), None).unwrap();
        assert_eq!((memory.next_due(), due(&mut memory, 9, 9).as_str()), (Some(UtcMillis(9)), "a1"));
    }

    #[test]
    fn many_changes_leave_a_queue_that_is_not_long() {
        let mut memory = PartitionMemory::default();
        for at in 0..10_000 {
            put(&mut memory, &format!("a{}", at % 3), at);
        }
        assert_eq!(due(&mut memory, 10_000, 9), "a1 a2 a0");
        assert!(memory.queue.of.values().all(|queue| queue.len() < 1_000));
    }
}
