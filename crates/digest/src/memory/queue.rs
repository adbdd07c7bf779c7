//! The queue of a tenant's due persons: a heap of instants and slots. Outdated items stay in it and are skipped, because a slot
//! itself knows when it is due.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::RecordSlot;

/// The number of outdated items that is tolerated beyond twice the number of those that were current last.
const SPARE: usize = 64;

#[derive(Default, Debug)]
pub struct DueQueue {
    heap: BinaryHeap<Reverse<(i64, u32)>>,
    /// How many items were current when that was looked at last.
    current: usize,
}

impl DueQueue {
    pub fn with_room(slots: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(slots), current: 0 }
    }

    pub fn push(&mut self, at: i64, place: u32) {
        self.heap.push(Reverse((at, place)));
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// When the first one is due; so tidy that it is.
    pub fn first(&self) -> Option<i64> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Slots that are due at an instant, the longest overdue first. They stay in the queue.
    pub fn due_at(&mut self, at: i64, most: usize, slots: &[RecordSlot]) -> Vec<(i64, u32)> {
        let mut due: Vec<(i64, u32)> = Vec::new();
        while due.len() < most
            && let Some(Reverse(first)) = self.heap.peek().copied().filter(|Reverse((when, _))| *when <= at)
        {
            self.heap.pop();
            // Whoever was due then, and later, and then again is twice in the heap, one after the other.
            if is_current(first, slots) && due.last() != Some(&first) {
                due.push(first);
            }
        }
        self.heap.extend(due.iter().copied().map(Reverse));
        self.tidy(slots);
        due
    }

    /// Takes away what is out of date: all of it where it is too much, else what stands first.
    pub fn tidy(&mut self, slots: &[RecordSlot]) {
        if self.heap.len() > 2 * self.current + SPARE {
            let mut items = std::mem::take(&mut self.heap).into_vec();
            items.retain(|Reverse(item)| is_current(*item, slots));
            items.sort_unstable();
            items.dedup();
            self.current = items.len();
            self.heap = items.into();
        }
        while self.heap.peek().is_some_and(|Reverse(first)| !is_current(*first, slots)) {
            self.heap.pop();
        }
    }
}

fn is_current((at, place): (i64, u32), slots: &[RecordSlot]) -> bool {
    slots.get(place as usize).is_some_and(|slot| slot.due == at)
}
