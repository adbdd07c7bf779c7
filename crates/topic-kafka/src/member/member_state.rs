//! What a member and its thread share: what the group says is ours, what of it is in hand, and what was
//! read of it.
//!
//! The thread says what the group says and what was read; the member takes it from here. Nobody waits with
//! the lock held.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Bound,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rdkafka::consumer::ConsumerGroupMetadata;
use runtime::clock::SteadyStopwatch;
use tokio::sync::Notify;
use topic::port::{RecordBatch, TopicError, TopicName, TopicOffsets, TopicRecord};

use super::transaction::{TransactionProducer, TurnWaiter};

/// What is read ahead of the member; above it the thread reads nothing more.
const RECORDS_MOST: usize = 10_000;
const BYTES_MOST: usize = 32 << 20;
/// Between tries of what is to be ended while everything ends.
const CLOSING: Duration = Duration::from_millis(10);

/// Shared by a member, its thread and the calls that it has under way.
pub struct KafkaMemberShared {
    state: Mutex<KafkaMemberState>,
    /// Wakes the member: there is something to be told.
    pub told: Notify,
    /// Wakes whoever waits in a thread: the member has taken something, or everything ends.
    heard: Condvar,
}

pub struct KafkaMemberState {
    /// The end, and whether it is one without good order.
    pub closing: bool,
    pub severed: bool,
    /// Ends every later call; somebody has to decide something.
    pub broken: Option<TopicError>,
    /// Whether the member waits for what happens, and since when it does not.
    inside: bool,
    left: SteadyStopwatch,
    /// Calls of the member that are under way.
    calls: usize,
    /// What the group says is ours, each time with another claim.
    pub given: BTreeMap<u32, u64>,
    /// Of this, what is to be taken over.
    pub fresh: BTreeSet<u32>,
    /// What is being taken over now.
    pub taking: BTreeSet<u32>,
    /// What was lost though the group says it is ours, until it has had time to say otherwise.
    again: BTreeMap<u32, SteadyStopwatch>,
    /// What the member is to let go of, and what it was told to.
    pub gone: BTreeSet<u32>,
    letting_go: BTreeSet<u32>,
    /// What is in hand.
    slots: BTreeMap<u32, PartitionSlot>,
    /// The group has said for the first time what is ours, and it was nothing.
    empty: bool,
    /// A position went past the marks of transactions, which nobody is handed.
    moved: bool,
    /// Rises whenever something else is to be read.
    pub reads: u64,
    claims: u64,
    records: usize,
    bytes: usize,
    /// The partition that was handed out last.
    last: u32,
}

/// A partition in hand.
pub struct PartitionSlot {
    pub claim: u64,
    pub generation: u64,
    /// The number of the reading that fills it; another one after each rewinding.
    pub reading: u64,
    pub metadata: Option<Arc<ConsumerGroupMetadata>>,
    pub transactor: Option<Arc<TransactionProducer>>,
    /// The lead, then its companions.
    sides: Vec<SlotTopic>,
    waiting: VecDeque<(usize, TopicRecord)>,
    /// Nothing of it is read until it is rewound.
    held: bool,
}

/// One topic of a partition number.
#[derive(Clone, Copy, Debug)]
struct SlotTopic {
    /// Up to where records were handed out.
    position: u64,
    /// Up to where it was read, marks included.
    read: u64,
    /// Records that wait.
    waiting: usize,
}

impl SlotTopic {
    fn starting_at(offset: u64) -> Self {
        Self { position: offset, read: offset, waiting: 0 }
    }
}

impl PartitionSlot {
    pub fn new(claim: u64, generation: u64, starts: &[u64]) -> Self {
        let sides = starts.iter().copied().map(SlotTopic::starting_at).collect();
        let (metadata, transactor, waiting) = (None, None, VecDeque::new());
        Self { claim, generation, reading: 0, metadata, transactor, sides, waiting, held: false }
    }

    /// Where the reading of each topic goes on.
    pub fn starts(&self) -> Vec<u64> {
        self.sides.iter().map(|side| side.read).collect()
    }
}

impl KafkaMemberShared {
    pub fn new() -> Self {
        let state = KafkaMemberState {
            closing: false,
            severed: false,
            broken: None,
            inside: false,
            left: SteadyStopwatch::start(),
            calls: 0,
            given: BTreeMap::new(),
            fresh: BTreeSet::new(),
            taking: BTreeSet::new(),
            again: BTreeMap::new(),
            gone: BTreeSet::new(),
            letting_go: BTreeSet::new(),
            slots: BTreeMap::new(),
            empty: false,
            moved: false,
            reads: 0,
            claims: 0,
            records: 0,
            bytes: 0,
            last: u32::MAX,
        };
        Self { state: Mutex::new(state), told: Notify::new(), heard: Condvar::new() }
    }

    pub fn lock_state(&self) -> MutexGuard<'_, KafkaMemberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes the member.
    pub fn update_for_member<T>(&self, change: impl FnOnce(&mut KafkaMemberState) -> T) -> T {
        let out = change(&mut self.lock_state());
        self.told.notify_one();
        out
    }

    /// Changes the state and wakes whoever waits in a thread.
    pub fn update_for_thread<T>(&self, change: impl FnOnce(&mut KafkaMemberState) -> T) -> T {
        let out = change(&mut self.lock_state());
        self.heard.notify_all();
        out
    }

    /// Waits in a thread until something was heard, or for so long. Whether everything ends.
    pub fn wait(&self, most: Duration) -> bool {
        let state = self.lock_state();
        if state.closing {
            drop(state);
            std::thread::park_timeout(most.min(CLOSING));
            return true;
        }
        let (state, _) = self.heard.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner);
        state.closing
    }

    /// Waits in a thread until a condition holds, or for so long, or until everything ends.
    pub fn wait_until(&self, most: Duration, mut done: impl FnMut(&KafkaMemberState) -> bool) {
        let state = self.lock_state();
        drop(self.heard.wait_timeout_while(state, most, |state| !state.closing && !done(state)));
    }

    pub fn close(&self) {
        self.update_for_thread(|state| state.closing = true);
    }

    /// Ends without good order.
    pub fn sever(&self) {
        self.update_for_thread(|state| {
            state.closing = true;
            state.severed = true;
            state.broken = Some(TopicError::Broken("the log was closed".to_owned()));
        });
        self.told.notify_one();
    }

    /// Says that the member waits for what happens, until the answer is dropped.
    pub fn enter(&self) -> KafkaCallGuard<'_> {
        let dropped = self.update_for_thread(|state| {
            state.inside = true;
            state.take_let_go()
        });
        retire_slots(dropped);
        KafkaCallGuard(self)
    }
}

impl TurnWaiter for KafkaMemberShared {
    fn is_severed(&self) -> bool {
        self.lock_state().severed
    }

    fn wait(&self, most: Duration) -> bool {
        Self::wait(self, most)
    }
}

/// A member that waits for what happens.
pub struct KafkaCallGuard<'a>(&'a KafkaMemberShared);

impl Drop for KafkaCallGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock_state();
        state.inside = false;
        state.left = SteadyStopwatch::start();
    }
}

/// Ends what slots had open, where that harms nobody: closing a producer takes a moment.
pub fn retire_slots(slots: Vec<PartitionSlot>) {
    let open: Vec<_> = slots.into_iter().filter_map(|slot| slot.transactor).collect();
    if open.is_empty() {
        return;
    }
    let ended = std::thread::Builder::new().name("kafka closing".to_owned()).spawn(move || drop(open));
    if let Err(error) = ended {
        tracing::warn!(%error, "a producer was closed late");
    }
}

impl KafkaMemberState {
    /// Whether the member has been at work for longer than a hanging one is believed to be.
    pub fn is_silent(&self, most: Duration) -> bool {
        !self.inside && self.calls == 0 && self.left.elapsed() > most
    }

    /// The member has a call under way, so it is alive.
    pub fn begin(&mut self) {
        self.calls += 1;
    }

    pub fn end(&mut self) {
        self.calls = self.calls.saturating_sub(1);
        self.left = SteadyStopwatch::start();
    }

    pub fn has_room(&self) -> bool {
        self.records < RECORDS_MOST && self.bytes < BYTES_MOST
    }

    /// The group says that these are ours.
    pub fn give(&mut self, partitions: &[u32]) {
        // Each partition takes a claim, so without any this is the first word.
        self.empty = partitions.is_empty() && self.claims == 0;
        for partition in partitions {
            self.claims += 1;
            self.given.insert(*partition, self.claims);
            self.again.remove(partition);
            self.fresh.insert(*partition);
        }
    }

    /// The group says that these are not ours any more. What is in hand stays there until the member has
    /// been told, unless it is too late for that.
    pub fn take_back(&mut self, partitions: &[u32], too_late: bool) -> Vec<PartitionSlot> {
        let mut dropped = Vec::new();
        for partition in partitions {
            self.given.remove(partition);
            self.fresh.remove(partition);
            self.again.remove(partition);
            if self.slots.contains_key(partition) {
                self.gone.insert(*partition);
            }
            if too_late {
                dropped.extend(self.remove(*partition));
            }
        }
        dropped
    }

    /// Whether the member still has one of these, or is about to.
    pub fn holds_any(&self, partitions: &[u32]) -> bool {
        partitions.iter().any(|p| self.slots.contains_key(p) || self.taking.contains(p))
    }

    /// What the member was told to let go of. It asks for the next, so it has.
    fn take_let_go(&mut self) -> Vec<PartitionSlot> {
        let partitions = std::mem::take(&mut self.letting_go);
        partitions.into_iter().filter_map(|partition| self.remove(partition)).collect()
    }

    /// What is to be let go of now.
    pub fn take_revoked(&mut self) -> Option<Vec<u32>> {
        if self.gone.is_empty() {
            return None;
        }
        self.letting_go = std::mem::take(&mut self.gone);
        Some(self.letting_go.iter().copied().collect())
    }

    /// Takes a partition out of the member's hands at once. If the group still says it is ours, it is taken
    /// over anew when the group has had the time to say otherwise.
    pub fn lose(&mut self, partition: u32, generation: u64) -> Option<PartitionSlot> {
        self.slot(partition, generation)?;
        if self.given.contains_key(&partition) {
            self.again.insert(partition, SteadyStopwatch::start());
        }
        self.remove(partition)
    }

    /// What was lost so long ago that it may be taken over anew; else how long that takes.
    pub fn due_again(&mut self, wait: Duration) -> Option<Duration> {
        let due: Vec<u32> =
            self.again.iter().filter(|(_, lost)| lost.elapsed() >= wait).map(|(p, _)| *p).collect();
        for partition in due {
            self.again.remove(&partition);
            self.fresh.insert(partition);
        }
        self.again.values().map(|lost| wait.saturating_sub(lost.elapsed())).min()
    }

    pub fn slot(&mut self, partition: u32, generation: u64) -> Option<&mut PartitionSlot> {
        self.slots.get_mut(&partition).filter(|slot| slot.generation == generation)
    }

    /// The generation of a partition in hand.
    pub fn generation(&self, partition: u32) -> Option<u64> {
        self.slots.get(&partition).map(|slot| slot.generation)
    }

    /// Takes a partition into hand, unless it was taken back meanwhile.
    pub fn install(&mut self, partition: u32, mut slot: PartitionSlot) -> Result<(), PartitionSlot> {
        if self.given.get(&partition) != Some(&slot.claim) || self.closing {
            return Err(slot);
        }
        self.reads += 1;
        slot.reading = self.reads;
        self.slots.insert(partition, slot);
        Ok(())
    }

    fn remove(&mut self, partition: u32) -> Option<PartitionSlot> {
        let slot = self.slots.remove(&partition)?;
        self.reads += 1;
        self.forget_waiting(&slot.waiting);
        Some(slot)
    }

    fn forget_waiting(&mut self, waiting: &VecDeque<(usize, TopicRecord)>) {
        self.records -= waiting.len();
        self.bytes -= waiting.iter().map(|(_, record)| record_weight(record)).sum::<usize>();
    }

    /// Reading goes on elsewhere; what was read is forgotten.
    pub fn restart(&mut self, partition: u32, starts: &[u64], metadata: Option<Arc<ConsumerGroupMetadata>>) {
        let Some(slot) = self.slots.get_mut(&partition) else { return };
        self.reads += 1;
        slot.reading = self.reads;
        (slot.metadata, slot.held) = (metadata, false);
        slot.sides = starts.iter().copied().map(SlotTopic::starting_at).collect();
        let waiting = std::mem::take(&mut slot.waiting);
        self.forget_waiting(&waiting);
    }

    /// Reading ends until it is begun elsewhere. What was read and not handed out is forgotten, for it would take the
    /// room of the others.
    pub fn hold(&mut self, partition: u32) {
        let Some(slot) = self.slots.get_mut(&partition) else { return };
        self.reads += 1;
        (slot.reading, slot.held) = (self.reads, true);
        slot.sides.iter_mut().for_each(|side| side.waiting = 0);
        let waiting = std::mem::take(&mut slot.waiting);
        self.forget_waiting(&waiting);
    }

    /// What is to be read: partition, the reading's number, where each topic goes on.
    pub fn readings(&self) -> BTreeMap<u32, (u64, Vec<u64>)> {
        let read = self.slots.iter().filter(|(_, slot)| !slot.held);
        read.map(|(partition, slot)| (*partition, (slot.reading, slot.starts()))).collect()
    }

    /// A record was read. Of no use if it belongs to a reading that is over.
    pub fn push(&mut self, reading: u64, side: usize, record: TopicRecord) {
        let Some(slot) = self.slots.get_mut(&record.partition).filter(|s| s.reading == reading) else {
            return;
        };
        let Some(of) = slot.sides.get_mut(side) else { return };
        of.read = of.read.max(record.offset + 1);
        of.waiting += 1;
        self.records += 1;
        self.bytes += record_weight(&record);
        slot.waiting.push_back((side, record));
    }

    /// A topic was read up to here, though the last of it may have been marks only. Whether the member can
    /// go on with something because of it.
    pub fn reach(&mut self, partition: u32, reading: u64, side: usize, offset: u64) -> bool {
        let Some(slot) = self.slots.get_mut(&partition).filter(|s| s.reading == reading) else {
            return false;
        };
        let Some(side) = slot.sides.get_mut(side).filter(|side| side.read < offset) else { return false };
        side.read = offset;
        if side.waiting > 0 {
            return false;
        }
        side.position = offset;
        self.moved = true;
        true
    }

    /// Whether the group has said that nothing is ours, which is told like everything else.
    pub fn is_given_nothing(&mut self) -> bool {
        std::mem::take(&mut self.empty)
    }

    /// Whether a position moved without a record since this was asked last.
    pub fn has_moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    /// The next partition but these that has records, each in its turn.
    pub fn batch(&mut self, but: &[u32], most: usize) -> Option<RecordBatch> {
        let has = |(partition, slot): (&u32, &PartitionSlot)| {
            (!slot.waiting.is_empty() && !but.contains(partition)).then_some(*partition)
        };
        let after = self.slots.range((Bound::Excluded(self.last), Bound::Unbounded));
        let partition = after.chain(self.slots.range(..=self.last)).find_map(has)?;
        let slot = self.slots.get_mut(&partition)?;
        self.last = partition;
        let mut records = Vec::with_capacity(slot.waiting.len().min(most));
        while records.len() < most {
            let Some((side, record)) = slot.waiting.pop_front() else { break };
            if let Some(side) = slot.sides.get_mut(side) {
                side.waiting -= 1;
                side.position = if side.waiting == 0 { side.read } else { record.offset + 1 };
            }
            self.records -= 1;
            self.bytes -= record_weight(&record);
            records.push(record);
        }
        let generation = slot.generation;
        (!records.is_empty()).then_some(RecordBatch { partition, generation, records })
    }

    /// Up to where each topic was handed out.
    pub fn positions(&self, partition: u32, topics: &[TopicName]) -> TopicOffsets {
        let Some(slot) = self.slots.get(&partition) else { return TopicOffsets::new() };
        topics.iter().cloned().zip(slot.sides.iter().map(|side| side.position)).collect()
    }

    /// Everything that is in hand, at the end.
    pub fn drain(&mut self) -> Vec<PartitionSlot> {
        let partitions: Vec<u32> = self.slots.keys().copied().collect();
        partitions.into_iter().filter_map(|partition| self.remove(partition)).collect()
    }
}

/// What a record weighs in memory, roughly.
fn record_weight(record: &TopicRecord) -> usize {
    let headers: usize = record.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    64 + record.key.len() + record.value.as_ref().map_or(0, Vec::len) + headers
}
