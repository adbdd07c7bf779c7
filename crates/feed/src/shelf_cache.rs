//! Keeps what was read of persons, as long as the log is read that says what changes: whatever is written is announced there
//! afterwards, so what was read after a partition was taken over is true until its log says otherwise.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{Day, partition::PartitionCount};
use runtime::clock::SteadyStopwatch;
use wire::Feedback;

use crate::{config::SHELVES_BYTES_MAX, facts::TenantPerson, read::ChangedDays, shelf::PersonShelf};

/// What is remembered of persons, up to a number of bytes.
#[derive(Debug, Default)]
pub struct ShelfCache(Mutex<CacheState>);

#[derive(Debug, Default)]
struct CacheState {
    /// Partitions whose log is read.
    covered: BTreeSet<u32>,
    slots: HashMap<TenantPerson, ShelfSlot>,
    bytes: usize,
    /// Counts uses, so that the oldest is known.
    uses: u64,
}

#[derive(Debug)]
struct ShelfSlot {
    shelf: Option<Arc<PersonShelf>>,
    bytes: usize,
    /// What changed since it was read, or while it is being read.
    changed: ChangedDays,
    /// Since when the log did not say that something else is known of the person.
    silent: SteadyStopwatch,
    used: u64,
    reading: ReadingRight,
    marking: MarkingTurn,
}

/// The right to read a person anew: one has it at a time, so many who ask at once read once.
pub type ReadingRight = Arc<tokio::sync::Mutex<()>>;

/// The turn to write a mark of a person's: one after the other goes on from what the one before has kept.
pub type MarkingTurn = Arc<tokio::sync::Mutex<()>>;

/// What was kept of a person, and which days of it have to be read anew; all if there is nothing.
#[derive(Debug)]
pub struct StaleShelf {
    pub shelf: Option<Arc<PersonShelf>>,
    pub days: BTreeSet<Day>,
}

impl ShelfCache {
    /// From here on the log of this partition is read.
    pub fn cover(&self, partition: u32) {
        self.lock().covered.insert(partition);
    }

    /// It is not read any more: what is kept of its persons is worth nothing.
    pub fn uncover(&self, partition: u32, partitions: PartitionCount) {
        let mut state = self.lock();
        state.covered.remove(&partition);
        state.slots.retain(|(tenant, person), _| partitions.of_person(tenant, person) != partition);
        state.bytes = state.slots.values().map(|slot| slot.bytes).sum();
    }

    /// Notes what changed. Of whom nothing is kept or read, nothing has to be noted.
    pub fn note_change(&self, whose: &TenantPerson, days: &ChangedDays) {
        if let Some(slot) = self.lock().slots.get_mut(whose) {
            slot.changed.merge(days.clone());
        }
    }

    /// Notes that something else is known of a person.
    pub fn note_facts(&self, whose: &TenantPerson) {
        if let Some(slot) = self.lock().slots.get_mut(whose) {
            slot.silent = SteadyStopwatch::start();
        }
    }

    /// For how long the log has said nothing new of what is known of a person; nothing if nobody listens.
    pub fn find_silence(&self, whose: &TenantPerson) -> Option<Duration> {
        Some(self.lock().slots.get(whose)?.silent.elapsed())
    }

    /// Notes what a person did with entries, unless it is in what is kept.
    pub fn note_marks(&self, feedback: &Feedback) {
        let whose = (feedback.tenant.clone(), feedback.person.clone());
        let mut state = self.lock();
        let Some(slot) = state.slots.get_mut(&whose) else { return };
        if slot.shelf.as_ref().is_none_or(|shelf| !shelf.knows(feedback)) {
            slot.changed.merge(ChangedDays::Some(feedback.keys.iter().map(|key| key.day()).collect()));
        }
    }

    /// Puts something newer in the place of what was handed out, unless anything was heard of the person since; whether it did.
    pub fn replace(&self, whose: &TenantPerson, before: &Arc<PersonShelf>, shelf: &Arc<PersonShelf>) -> bool {
        let mut state = self.lock();
        let Some(slot) = state.slots.get_mut(whose) else { return false };
        let is_same = slot.shelf.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, before));
        if !is_same || slot.changed != ChangedDays::None {
            return false;
        }
        let (new, old) = (shelf.bytes(), slot.bytes);
        (slot.bytes, slot.shelf) = (new, Some(shelf.clone()));
        state.bytes = state.bytes - old + new;
        true
    }

    /// What is kept of a person, if it is as it would be read now; `oldest` is when it must have been read at least.
    pub fn find(&self, whose: &TenantPerson, oldest: i64) -> Option<Arc<PersonShelf>> {
        let mut state = self.lock();
        let used = state.uses + 1;
        let slot = state.slots.get_mut(whose)?;
        let is_fresh = slot.changed == ChangedDays::None;
        let shelf = slot.shelf.clone().filter(|shelf| is_fresh && shelf.read_at >= oldest)?;
        slot.used = used;
        state.uses = used;
        Some(shelf)
    }

    /// The right to read a person. Nothing if it could not be kept: the log of their partition is not read here.
    pub fn find_right(&self, whose: &TenantPerson, partition: u32) -> Option<ReadingRight> {
        let mut state = self.lock();
        state.covered.contains(&partition).then(|| state.use_slot(whose).reading.clone())
    }

    /// The turn to write a mark. Nothing if nothing is kept of the person here.
    pub fn find_turn(&self, whose: &TenantPerson, partition: u32) -> Option<MarkingTurn> {
        let mut state = self.lock();
        state.covered.contains(&partition).then(|| state.use_slot(whose).marking.clone())
    }

    /// Hands out what is stale. What changes from here on is not in what is read; what was kept is gone, should whoever reads
    /// give up. Nothing if the right is worth nothing any more.
    pub fn begin_reading(
        &self,
        whose: &TenantPerson,
        right: &ReadingRight,
        oldest: i64,
    ) -> Option<StaleShelf> {
        let mut state = self.lock();
        let slot = state.slots.get_mut(whose).filter(|slot| Arc::ptr_eq(&slot.reading, right))?;
        let changed = std::mem::replace(&mut slot.changed, ChangedDays::None);
        let bytes = std::mem::take(&mut slot.bytes);
        let shelf = slot.shelf.take().filter(|shelf| shelf.read_at >= oldest);
        state.bytes -= bytes;
        Some(match (shelf, changed) {
            (None, _) | (_, ChangedDays::All) => StaleShelf { shelf: None, days: BTreeSet::new() },
            (shelf, ChangedDays::None) => StaleShelf { shelf, days: BTreeSet::new() },
            (shelf, ChangedDays::Some(days)) => StaleShelf { shelf, days },
        })
    }

    /// Keeps what was read, unless the right is worth nothing any more.
    pub fn keep(&self, whose: &TenantPerson, right: &ReadingRight, shelf: &Arc<PersonShelf>) {
        let mut state = self.lock();
        let slot = state.slots.get_mut(whose).filter(|slot| Arc::ptr_eq(&slot.reading, right));
        let Some(slot) = slot else { return };
        slot.bytes = shelf.bytes();
        slot.shelf = Some(shelf.clone());
        state.bytes += shelf.bytes();
        if state.bytes > SHELVES_BYTES_MAX {
            state.drop_oldest();
        }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn use_slot(&mut self, whose: &TenantPerson) -> &mut ShelfSlot {
        self.uses += 1;
        let used = self.uses;
        let slot = self.slots.entry(whose.clone()).or_insert_with(|| ShelfSlot {
            shelf: None,
            bytes: 0,
            changed: ChangedDays::None,
            silent: SteadyStopwatch::start(),
            used,
            reading: Arc::default(),
            marking: Arc::default(),
        });
        slot.used = used;
        slot
    }

    /// Forgets whom nobody has asked for the longest, a quarter of all at once: so a full cache is seldom looked through.
    fn drop_oldest(&mut self) {
        let mut used: Vec<(u64, usize)> = self.slots.values().map(|slot| (slot.used, slot.bytes)).collect();
        used.sort_unstable();
        let mut bytes = self.bytes;
        let is_enough = |(_, of): &&(u64, usize)| {
            let is_over = bytes > SHELVES_BYTES_MAX / 4 * 3;
            bytes = bytes.saturating_sub(*of);
            is_over
        };
        let last = used.iter().take_while(is_enough).last().map_or(0, |(used, _)| *used);
        self.slots.retain(|_, slot| slot.used > last);
        self.bytes = self.slots.values().map(|slot| slot.bytes).sum();
    }
}
