//! What the owner of a partition remembers: the records of its persons and when each wants a turn. A cache
//! of the compacted topic `count_windows`; it changes only when a turn has been committed.
//!
//! Millions of windows are open at once, so a record is one allocation, its key and itself in few bytes ([`record_codec`]);
//! names that come again and again are kept once ([`names`]). [`index`] finds a record, [`queue`] says who is due,
//! [`tenant_queues`] of which tenant, [`priority`] who goes first all the same. A turn
//! gets copies, decoded.

mod bytes;
mod due_count;
mod index;
mod names;
mod priority;
mod queue;
mod record_codec;
mod tenant_queues;
mod waiting_messages;
mod window_counts;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, hash_map::RandomState},
    hash::BuildHasher as _,
    sync::Arc,
};

use anyhow::Context as _;
use catalogue::Catalogue;
use house_facts::{pause::PausedPlans, tenant_shares::TenantShares};
use model::{
    Person, PlanName, Tenant, UtcMillis,
    person::{OwedMark, PersonRecord, Window},
};

use index::SlotIndex;
use names::RecordNames;
use priority::TurnPriority;
use tenant_queues::TenantQueues;
use waiting_messages::{WaitingMessages, due_of_waiting};

pub use window_counts::WindowCounts;

/// Whose record.
pub type PersonKey = (Tenant, Person);

/// Records of some persons, decoded.
pub type PersonRecords = BTreeMap<PersonKey, PersonRecord>;

/// One partition.
#[derive(Default, Debug)]
pub struct PartitionMemory {
    slots: Vec<RecordSlot>,
    /// Slots that nobody has.
    free: Vec<u32>,
    index: SlotIndex,
    queue: TenantQueues,
    names: RecordNames,
    hasher: RandomState,
    windows: WindowCounts,
    waiting: WaitingMessages,
    /// What an operator has stopped: its windows are not due.
    paused: Arc<PausedPlans>,
    /// How tenants share turns.
    shares: Arc<TenantShares>,
    /// Who goes first, and who waits.
    pub ahead: TurnPriority,
    /// When it was last counted how many windows are due.
    due_counted: Option<UtcMillis>,
    /// Marks named by a committed turn that the store may not have.
    pub unwritten: Vec<(PersonKey, OwedMark)>,
    /// Marks that the store has, which the next turn takes off the records.
    pub acknowledged: Vec<(PersonKey, OwedMark)>,
}

/// A person's place.
#[derive(Debug)]
struct RecordSlot {
    /// When the record wants a turn, in milliseconds. What else the queue says of this slot is out of date.
    due: i64,
    /// Key and record; empty where the slot is free.
    bytes: Box<[u8]>,
}

/// When a record wants a turn that wants none.
const NEVER: i64 = i64::MAX;

impl Default for RecordSlot {
    fn default() -> Self {
        Self { due: NEVER, bytes: Box::default() }
    }
}

impl PartitionMemory {
    /// With room for so many persons, so that nothing grows while they are put.
    pub fn with_room(persons: usize) -> Self {
        let (slots, index, queue) =
            (Vec::with_capacity(persons), SlotIndex::with_room(persons), TenantQueues::with_room(persons));
        Self { slots, index, queue, ..Self::default() }
    }

    /// Tenants have turns by these weights.
    #[must_use]
    pub fn with_shares(self, shares: Arc<TenantShares>) -> Self {
        Self { shares, ..self }
    }

    /// A person's record.
    pub fn get(&self, key: &PersonKey) -> anyhow::Result<Option<PersonRecord>> {
        let wanted = self.names.encode_key(key);
        let Some(place) = self.find_slot(&wanted) else { return Ok(None) };
        let bytes = self.bytes(place).get(wanted.len()..).unwrap_or_default();
        let record = record_codec::read_packed(bytes, &self.names);
        record.map(Some).with_context(|| format!("the record of {}/{} in memory", key.0, key.1))
    }

    /// The records of those who have one.
    pub fn records<'a>(
        &self,
        keys: impl IntoIterator<Item = &'a PersonKey>,
    ) -> anyhow::Result<PersonRecords> {
        let mut records = PersonRecords::new();
        for key in keys {
            // Whoever is due may be in the news too.
            if !records.contains_key(key)
                && let Some(record) = self.get(key)?
            {
                records.insert(key.clone(), record);
            }
        }
        Ok(records)
    }

    /// Puts a record in its place; `None` forgets the person.
    pub fn put(&mut self, key: &PersonKey, record: Option<&PersonRecord>) -> anyhow::Result<()> {
        match record {
            Some(record) => self.remember(key, record)?,
            None => {
                self.ahead.forget(key);
                self.forget(key);
            }
        }
        // The first of the queue has to hold: it is when this partition wants a turn.
        self.queue.tidy(&key.0, &self.slots);
        Ok(())
    }

    /// The same, and knows when something urgent is due for the person.
    pub fn put_of_plans(
        &mut self,
        key: &PersonKey,
        record: Option<&PersonRecord>,
        catalogue: &Catalogue,
    ) -> anyhow::Result<()> {
        self.set_urgent(key, record, catalogue);
        self.put(key, record)
    }

    /// Windows of these plans are not due from here on, and those of others are. Everybody's next turn is found anew.
    pub fn pause_plans(&mut self, paused: &Arc<PausedPlans>, catalogue: &Catalogue) -> anyhow::Result<()> {
        if self.paused == *paused {
            return Ok(());
        }
        self.paused = paused.clone();
        for place in 0..u32::try_from(self.slots.len()).unwrap_or(u32::MAX) {
            if self.bytes(place).is_empty() {
                continue;
            }
            let key = self.names.read_key(self.bytes(place)).context("a key in memory")?;
            let Some(record) = self.get(&key)? else { continue };
            self.set_urgent(&key, Some(&record), catalogue);
            let due = self.next_turn(&key, &record);
            if let Some(slot) = self.slots.get_mut(place as usize).filter(|slot| slot.due != due) {
                slot.due = due;
                if due != NEVER {
                    self.queue.push(&key.0, due, place);
                }
            }
        }
        self.queue.tidy_all(&self.slots);
        Ok(())
    }

    fn set_urgent(&mut self, key: &PersonKey, record: Option<&PersonRecord>, catalogue: &Catalogue) {
        let plans = &catalogue.for_person(&key.1).plans;
        let is_urgent = |plan: &PlanName| plans.by_name.get(plan).is_some_and(|plan| plan.urgent);
        let is_open = |window: &&Window| is_urgent(&window.plan) && !self.paused.has(&key.0, &window.plan);
        let due = record.and_then(|record| {
            let windows = record.windows.iter().filter(is_open).map(|window| window.due);
            // What waits for another try goes first as well.
            let waiting = record.waiting.iter().filter(|one| is_urgent(&one.ready.plan)).map(|one| one.at);
            windows.chain(waiting).min()
        });
        self.ahead.set_urgent(key, due);
    }

    /// When a record wants a turn.
    fn next_turn(&self, key: &PersonKey, record: &PersonRecord) -> i64 {
        let due = record.next_due_of(|window| !self.paused.has(&key.0, &window.plan));
        due.map_or(NEVER, |at| self.ahead.delayed_due(key, at.0))
    }

    fn remember(&mut self, key: &PersonKey, record: &PersonRecord) -> anyhow::Result<()> {
        self.names.learn(key, record);
        let mut bytes = self.names.encode_key(key);
        let length = bytes.len();
        record_codec::write_packed(&mut bytes, key, record, &self.names)?;
        let place = match self.find_slot(&bytes[..length]) {
            Some(place) => place,
            None => self.allot_slot(&bytes[..length])?,
        };
        self.count_no_more(place, length);
        self.windows += WindowCounts::of_windows(&record.windows);
        self.waiting.add(due_of_waiting(record));
        let due = self.next_turn(key, record);
        let Some(slot) = self.slots.get_mut(place as usize) else { return Ok(()) };
        let moved = due != slot.due;
        *slot = RecordSlot { due, bytes: bytes.into_boxed_slice() };
        if moved && due != NEVER {
            self.queue.push(&key.0, due, place);
        }
        Ok(())
    }

    /// Gives somebody new a slot.
    fn allot_slot(&mut self, key: &[u8]) -> anyhow::Result<u32> {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                let place = u32::try_from(self.slots.len()).ok().filter(|place| *place < index::NOBODY);
                let place = place.context("a partition has no place for another person")?;
                self.slots.push(RecordSlot::default());
                place
            }
        };
        self.index.insert(self.hash(key), place);
        Ok(place)
    }

    fn forget(&mut self, key: &PersonKey) {
        let key = self.names.encode_key(key);
        let Some(place) = self.find_slot(&key) else { return };
        self.count_no_more(place, key.len());
        self.index.remove(self.hash(&key), place);
        if let Some(slot) = self.slots.get_mut(place as usize) {
            *slot = RecordSlot::default();
            self.free.push(place);
        }
    }

    fn bytes(&self, place: u32) -> &[u8] {
        self.slots.get(place as usize).map_or(&[], |slot| &slot.bytes)
    }

    fn hash(&self, key: &[u8]) -> u32 {
        u32::try_from(self.hasher.hash_one(key) >> 32).unwrap_or_default()
    }

    /// The slot whose bytes begin with this key. No key is a prefix of another.
    fn find_slot(&self, key: &[u8]) -> Option<u32> {
        self.index.find(self.hash(key), |place| self.bytes(place).starts_with(key))
    }

    /// Forgets what was counted of somebody whose key has so many bytes.
    fn count_no_more(&mut self, place: u32, key: usize) {
        let bytes = self.bytes(place).get(key..).unwrap_or_default();
        let (windows, waiting) = (record_codec::count_windows(bytes), record_codec::due_of_waiting(bytes));
        self.windows -= windows;
        self.waiting.remove(waiting);
    }

    /// The next instant at which this partition wants a turn: at once while marks are on their way.
    pub fn next_due(&self) -> Option<UtcMillis> {
        if !self.unwritten.is_empty() || !self.acknowledged.is_empty() {
            return Some(UtcMillis(0));
        }
        self.queue.first().map(UtcMillis)
    }

    /// The persons due at an instant: urgent ones first, and of each sort tenants in turns, of each the longest overdue first.
    /// They stay due until another record is put.
    pub fn due_at(&mut self, at: UtcMillis, most: usize) -> anyhow::Result<Vec<PersonKey>> {
        let urgent = self.shares.order_in_turns(self.ahead.due_at(at, most), |key| &key.0);
        let mut due = Vec::new();
        for (tenant, slots) in self.queue.due_at(at.0, most, &self.slots) {
            for (at, place) in slots {
                let key = self.names.read_key(self.bytes(place)).context("a key in memory")?;
                // A slot may have been another tenant's before, and due then as well.
                due.extend((key.0 == tenant).then_some((at, key)));
            }
        }
        // By name where the instant is the same: a slot says nothing, and after a restart it is another one.
        due.sort_unstable();
        let mut first = urgent;
        let urgent: BTreeSet<PersonKey> = first.iter().cloned().collect();
        first.extend(
            self.shares
                .order_in_turns(due, |(_, key)| &key.0)
                .into_iter()
                .map(|(_, key)| key)
                .filter(|key| !urgent.contains(key)),
        );
        first.truncate(most);
        Ok(first)
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages wait for another try, and since when the oldest is due.
    pub fn waiting(&self) -> (usize, Option<UtcMillis>) {
        (self.waiting.count(), self.waiting.oldest())
    }

    /// How many windows are open, and how many are held.
    pub fn windows(&self) -> WindowCounts {
        self.windows
    }
}
