//! How many windows are due and still open. It is counted so seldom, and so far, that no turn feels it: the queue gives those
//! whose time has come without a look at anybody else.

use model::UtcMillis;

use super::{PartitionMemory, record_codec};

/// The maximum of persons with due windows that are counted.
const PERSONS_MAX: usize = 10_000;
/// Between two counts, unless there is nothing to count.
const EVERY_MS: i64 = 5_000;

impl PartitionMemory {
    /// How many windows are due, if it is time to say so again.
    pub fn count_due(&mut self, now: UtcMillis) -> Option<usize> {
        if self.queue.first().is_none_or(|first| first > now.0) {
            self.due_counted = None;
            return Some(0);
        }
        if self.due_counted.is_some_and(|at| (0..EVERY_MS).contains(&now.since(at))) {
            return None;
        }
        self.due_counted = Some(now);
        Some(self.due_windows(now, PERSONS_MAX))
    }

    /// How many windows are due, of so many persons at most.
    pub(super) fn due_windows(&mut self, at: UtcMillis, persons: usize) -> usize {
        let due = self.queue.any_due_at(at.0, persons, &self.slots);
        due.into_iter().map(|(_, place)| self.due_windows_of(place, at)).sum()
    }

    fn due_windows_of(&self, place: u32, at: UtcMillis) -> usize {
        // What cannot be read stops the turn that needs it; a count goes on.
        let bytes = self.names.behind_key(self.bytes(place)).unwrap_or_default();
        match record_codec::count_windows(bytes).open {
            0 => 0,
            // Nearly everybody has one and waits for nothing else: then it is the one that is due.
            1 if !record_codec::has_more(bytes) => 1,
            _ => {
                let record = record_codec::read_packed(bytes, &self.names);
                record.map_or(0, |record| record.windows.iter().filter(|window| window.due <= at).count())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{
        Person, PlanName, Tenant,
        person::{PersonRecord, Window},
    };

    use super::*;
    use crate::memory::PersonKey;

    fn key(person: usize) -> PersonKey {
        (Tenant::new("main").unwrap(), Person::new(&format!("p{person}")).unwrap())
    }

    fn put_record(memory: &mut PartitionMemory, person: usize, dues: &[i64]) {
        let window = |due: &i64| {
            let opened = Window::new(PlanName::new("daily").unwrap(), 1, "".into(), UtcMillis(1));
            Window { due: UtcMillis(*due), ..opened }
        };
        let record = PersonRecord { windows: dues.iter().map(window).collect(), ..PersonRecord::default() };
        memory.put(&key(person), Some(&record)).unwrap();
    }

    #[test]
    fn it_is_counted_now_and_then_and_at_once_where_nothing_is_due() {
        let mut memory = PartitionMemory::default();
        let check = |memory: &mut PartitionMemory, at: i64, expect: Option<usize>| {
            assert_eq!(memory.count_due(UtcMillis(at)), expect, "at {at}");
        };
        check(&mut memory, 0, Some(0));
        put_record(&mut memory, 1, &[10, 20, 5_000_000]);
        check(&mut memory, 9, Some(0));
        check(&mut memory, 10, Some(1));
        check(&mut memory, 20, None);
        check(&mut memory, 5_009, None);
        check(&mut memory, 5_010, Some(2));
        put_record(&mut memory, 2, &[5_011]);
        check(&mut memory, 5_011, None);
        // All is done: that is said at once, and so is what is due next.
        memory.put(&key(2), None).unwrap();
        put_record(&mut memory, 1, &[6_000]);
        check(&mut memory, 5_012, Some(0));
        check(&mut memory, 6_000, Some(1));
        // A clock that was set back.
        check(&mut memory, 5_999, Some(0));
    }

    #[test]
    fn many_are_counted_up_to_a_bound_and_stay_due() {
        let mut memory = PartitionMemory::default();
        (0..PERSONS_MAX + 7).for_each(|person| put_record(&mut memory, person, &[1]));
        assert_eq!(memory.count_due(UtcMillis(1)), Some(PERSONS_MAX));
        assert_eq!(memory.due_at(UtcMillis(1), usize::MAX).unwrap().len(), PERSONS_MAX + 7);
    }
}
