//! What a member and its thread share: the life of each partition, and what was read ahead.
//!
//! The thread says what the group says and what was read; the member takes it from here. Nobody waits with
//! the lock held. Who has a partition is decided by [`PartitionLife::step`]; here its effects are done.

use std::{
    collections::BTreeMap,
    mem::discriminant,
    ops::Bound,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rdkafka::consumer::ConsumerGroupMetadata;
use runtime::clock::SteadyStopwatch;
use tokio::sync::Notify;
use topic::port::{RecordBatch, TopicError, TopicName, TopicOffsets, TopicRecord};

use super::{
    partition_life::{LifeEffects, LifeInput, PartitionLife},
    partition_slot::{PartitionSlot, ReadAhead, retire_slots},
    transaction::TurnWaiter,
};

/// What is read ahead of the member; above it the thread reads nothing more.
const READ_AHEAD_MAX: ReadAhead = ReadAhead { records: 10_000, bytes: 32 << 20 };
/// Between tries of what is to be ended while everything ends.
const CLOSING: Duration = Duration::from_millis(10);

/// Shared by a member, its thread and the calls that it has under way.
pub struct KafkaMemberShared {
    /// The group's name here.
    pub group: Arc<str>,
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
    /// Calls of the member that are under way, and how many there were before.
    calls: Vec<MemberCall>,
    called: u64,
    /// When the thread began its last round.
    round: SteadyStopwatch,
    /// Every partition that is something to us.
    lives: BTreeMap<u32, PartitionLife>,
    /// Since when each has been where it is.
    since: BTreeMap<u32, Duration>,
    /// The time that lives go by.
    age: SteadyStopwatch,
    /// The group has said for the first time what is ours, and it was nothing.
    empty: bool,
    /// A position went past the marks of transactions, which nobody is handed.
    moved: bool,
    /// Rises whenever something else is to be read.
    pub reads: u64,
    /// Of that, what the thread has begun to read.
    pub followed: u64,
    claims: u64,
    read_ahead: ReadAhead,
    /// The partition that was handed out last, and when.
    last: u32,
    handed: Option<Duration>,
}

/// A call that blocks.
struct MemberCall {
    number: u64,
    what: &'static str,
    begun: SteadyStopwatch,
}

impl KafkaMemberShared {
    pub fn new(group: Arc<str>) -> Self {
        let state = KafkaMemberState {
            closing: false,
            severed: false,
            broken: None,
            inside: false,
            left: SteadyStopwatch::start(),
            calls: Vec::new(),
            called: 0,
            round: SteadyStopwatch::start(),
            lives: BTreeMap::new(),
            since: BTreeMap::new(),
            age: SteadyStopwatch::start(),
            empty: false,
            moved: false,
            reads: 0,
            followed: 0,
            claims: 0,
            read_ahead: ReadAhead::default(),
            last: u32::MAX,
            handed: None,
        };
        Self { group, state: Mutex::new(state), told: Notify::new(), heard: Condvar::new() }
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

impl KafkaMemberState {
    /// Whether the member has been at work for longer than a hanging one is believed to be.
    pub fn is_silent(&self, most: Duration) -> bool {
        !self.inside && self.calls.is_empty() && self.left.elapsed() > most
    }

    /// The member has a call under way, so it is alive. The number of the call.
    pub fn begin_call(&mut self, what: &'static str) -> u64 {
        self.called += 1;
        self.calls.push(MemberCall { number: self.called, what, begun: SteadyStopwatch::start() });
        self.called
    }

    pub fn end_call(&mut self, number: u64) {
        self.calls.retain(|call| call.number != number);
        self.left = SteadyStopwatch::start();
    }

    /// The thread begins another round, unless everything ends.
    pub fn begin_round(&mut self) -> bool {
        self.round = SteadyStopwatch::start();
        !self.closing
    }

    pub fn has_room(&self) -> bool {
        self.read_ahead.records < READ_AHEAD_MAX.records && self.read_ahead.bytes < READ_AHEAD_MAX.bytes
    }

    /// Takes one step of a partition's life and does of its effects what concerns all partitions.
    fn step(&mut self, partition: u32, input: LifeInput) -> LifeEffects {
        let life = self.lives.remove(&partition).unwrap_or_default();
        let before = discriminant(&life);
        let (life, effects) = life.step(input);
        if discriminant(&life) != before {
            self.since.insert(partition, self.age.elapsed());
        }
        if life.is_elsewhere() {
            self.since.remove(&partition);
        } else {
            self.lives.insert(partition, life);
        }
        self.read_ahead.subtract(effects.forgotten);
        self.reads += u64::from(effects.is_reread);
        effects
    }

    /// The same with all partitions.
    fn step_all(&mut self, input: impl Fn() -> LifeInput) -> Vec<(u32, LifeEffects)> {
        let partitions: Vec<u32> = self.lives.keys().copied().collect();
        partitions.into_iter().map(|partition| (partition, self.step(partition, input()))).collect()
    }

    /// The group says that these are ours.
    pub fn give(&mut self, partitions: &[u32]) -> Vec<PartitionSlot> {
        // Each partition takes a claim, so without any this is the first word.
        self.empty = partitions.is_empty() && self.claims == 0;
        let mut dropped = Vec::new();
        for partition in partitions {
            self.claims += 1;
            dropped.extend(self.step(*partition, LifeInput::Assigned { claim: self.claims }).dropped);
        }
        dropped
    }

    /// The group says that these are not ours any more. What is in hand stays there until the member has
    /// been told, unless it is too late for that.
    pub fn take_back(&mut self, partitions: &[u32], too_late: bool) -> Vec<PartitionSlot> {
        let revoke = |partition: &u32| self.step(*partition, LifeInput::Revoked { too_late }).dropped;
        partitions.iter().filter_map(revoke).collect()
    }

    /// Whether the member still has one of these, or is about to.
    pub fn holds_any(&self, partitions: &[u32]) -> bool {
        partitions.iter().any(|partition| self.lives.get(partition).is_some_and(PartitionLife::is_held))
    }

    /// What the member was told to let go of. It asks for the next, so it has.
    fn take_let_go(&mut self) -> Vec<PartitionSlot> {
        let stepped = self.step_all(|| LifeInput::NextAsked);
        stepped.into_iter().filter_map(|(_, effects)| effects.dropped).collect()
    }

    /// What is to be let go of now.
    pub fn take_revoked(&mut self) -> Option<Vec<u32>> {
        let stepped = self.step_all(|| LifeInput::RevocationTold);
        let revoked: Vec<u32> =
            stepped.into_iter().filter(|(_, effects)| effects.is_revoked).map(|(p, _)| p).collect();
        (!revoked.is_empty()).then_some(revoked)
    }

    /// What is to be taken over now, each for a claim.
    pub fn begin_takeover(&mut self) -> BTreeMap<u32, u64> {
        let stepped = self.step_all(|| LifeInput::TakeoverBegun);
        stepped.into_iter().filter_map(|(partition, effects)| Some((partition, effects.takeover?))).collect()
    }

    /// The call that takes over has ended.
    pub fn end_takeover(&mut self, well: bool) {
        self.step_all(|| LifeInput::TakeoverEnded { well });
    }

    /// Takes a partition out of the member's hands at once. If the group still says it is ours, it is taken
    /// over anew when the group has had the time to say otherwise.
    pub fn lose(&mut self, partition: u32, generation: u64) -> Option<PartitionSlot> {
        let now = self.age.elapsed();
        self.step(partition, LifeInput::Lost { generation, now }).dropped
    }

    /// Has what was lost so long ago taken over anew; how long the next of the others takes.
    pub fn end_waits(&mut self, wait: Duration) -> Option<Duration> {
        let now = self.age.elapsed();
        self.step_all(|| LifeInput::Waited { now, wait });
        self.lives.values().filter_map(|life| life.wait_left(now, wait)).min()
    }

    /// What is in hand of a partition under this generation.
    pub fn slot(&self, partition: u32, generation: u64) -> Option<&PartitionSlot> {
        self.lives.get(&partition)?.slot_of(generation)
    }

    /// Remembers as what the group knows us, where a partition is in hand under this generation.
    pub fn set_metadata(
        &mut self,
        partition: u32,
        generation: u64,
        metadata: Option<Arc<ConsumerGroupMetadata>>,
    ) {
        let slot = self.lives.get_mut(&partition).and_then(PartitionLife::slot_mut);
        if let Some(slot) = slot.filter(|slot| slot.generation == generation) {
            slot.metadata = metadata;
        }
    }

    /// The generation of a partition in hand.
    pub fn generation(&self, partition: u32) -> Option<u64> {
        self.lives.get(&partition)?.slot().map(|slot| slot.generation)
    }

    /// Takes a partition into hand, unless it was taken back meanwhile.
    pub fn install(&mut self, partition: u32, slot: PartitionSlot) -> Result<(), PartitionSlot> {
        if self.closing {
            return Err(slot);
        }
        let reading = self.reads + 1;
        self.step(partition, LifeInput::Installed { slot, reading }).dropped.map_or(Ok(()), Err)
    }

    /// Reading goes on elsewhere; what was read is forgotten.
    pub fn restart(
        &mut self,
        partition: u32,
        generation: u64,
        starts: Vec<u64>,
        metadata: Option<Arc<ConsumerGroupMetadata>>,
    ) {
        let reading = self.reads + 1;
        self.step(partition, LifeInput::Rewound { generation, reading, starts, metadata });
    }

    /// Reading ends until it is begun elsewhere.
    pub fn hold(&mut self, partition: u32) {
        let reading = self.reads + 1;
        self.step(partition, LifeInput::Held { reading });
    }

    /// What is to be read: partition, the reading's number, where each topic goes on.
    pub fn readings(&self) -> BTreeMap<u32, (u64, Vec<u64>)> {
        let slots = self.lives.iter().filter_map(|(partition, life)| Some((*partition, life.slot()?)));
        slots.filter_map(|(partition, slot)| Some((partition, (slot.reading, slot.starts()?)))).collect()
    }

    /// The slot that a reading fills, unless that reading is over.
    fn reading_slot(&mut self, partition: u32, reading: u64) -> Option<&mut PartitionSlot> {
        self.lives.get_mut(&partition)?.slot_mut().filter(|slot| slot.reading == reading)
    }

    /// A record was read. Of no use if it belongs to a reading that is over.
    pub fn push(&mut self, reading: u64, side: usize, record: TopicRecord) {
        let weight = ReadAhead::of_record(&record);
        let slot = self.reading_slot(record.partition, reading);
        if slot.is_some_and(|slot| slot.push(side, record)) {
            self.read_ahead.add(weight);
        }
    }

    /// A topic was read up to here, though the last of it may have been marks only. Whether the member can
    /// go on with something because of it.
    pub fn reach(&mut self, partition: u32, reading: u64, side: usize, offset: u64) -> bool {
        let moved = self.reading_slot(partition, reading).is_some_and(|slot| slot.reach(side, offset));
        self.moved |= moved;
        moved
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
        let has = |(partition, life): (&u32, &PartitionLife)| {
            let has_records = life.slot().is_some_and(PartitionSlot::has_records);
            (has_records && !but.contains(partition)).then_some(*partition)
        };
        let after = self.lives.range((Bound::Excluded(self.last), Bound::Unbounded));
        let partition = after.chain(self.lives.range(..=self.last)).find_map(has)?;
        let slot = self.lives.get_mut(&partition)?.slot_mut()?;
        (self.last, self.handed) = (partition, Some(self.age.elapsed()));
        let (generation, records) = (slot.generation, slot.take_records(most));
        records.iter().for_each(|record| self.read_ahead.subtract(ReadAhead::of_record(record)));
        (!records.is_empty()).then_some(RecordBatch { partition, generation, records })
    }

    /// Up to where each topic was handed out.
    pub fn positions(&self, partition: u32, topics: &[TopicName]) -> TopicOffsets {
        let slot = self.lives.get(&partition).and_then(PartitionLife::slot);
        slot.map_or_else(TopicOffsets::new, |slot| slot.positions(topics))
    }

    /// Where the member and its partitions stand, in words, for whoever wonders why nothing goes on.
    pub fn describe(&self) -> String {
        let now = self.age.elapsed();
        let secs = |since: Duration| now.saturating_sub(since).as_secs();
        let mut said = Vec::new();
        said.extend(self.broken.as_ref().map(|why| format!("broken: {why}")));
        said.push(if self.inside {
            "it waits for what happens".to_owned()
        } else {
            format!("its room is at work for {} s", self.left.elapsed().as_secs())
        });
        let call = |call: &MemberCall| format!("{} for {} s", call.what, call.begun.elapsed().as_secs());
        said.extend(self.calls.iter().map(call));
        let handed = self.handed.map(|at| format!("it was handed records {} s ago", secs(at)));
        said.push(handed.unwrap_or_else(|| "it was handed no records".to_owned()));
        said.push(format!("its thread came round {} s ago", self.round.elapsed().as_secs()));
        if self.followed != self.reads {
            said.push("what is to be read has not begun".to_owned());
        }
        if self.lives.is_empty() {
            said.push("no partition is its own".to_owned());
        }
        said.extend(self.lives.iter().map(|(partition, life)| {
            let since = self.since.get(partition).copied().unwrap_or_default();
            format!("partition {partition} {} for {} s", life.describe(), secs(since))
        }));
        said.join(", ")
    }

    /// Everything that is in hand, at the end.
    pub fn drain(&mut self) -> Vec<PartitionSlot> {
        let stepped = self.step_all(|| LifeInput::Closed);
        stepped.into_iter().filter_map(|(_, effects)| effects.dropped).collect()
    }
}
