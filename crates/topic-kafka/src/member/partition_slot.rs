//! A partition in hand: what is read of it, how far, and what writes its turns.

use std::{collections::VecDeque, sync::Arc};

use rdkafka::consumer::ConsumerGroupMetadata;
use topic::port::{TopicName, TopicOffsets, TopicRecord};

use super::transaction::TransactionProducer;

/// A partition in hand.
pub struct PartitionSlot {
    /// The assignment for which it was taken over.
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

/// Records that were read and not handed out, and what they weigh in memory, roughly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAhead {
    pub records: usize,
    pub bytes: usize,
}

impl ReadAhead {
    pub fn of_record(record: &TopicRecord) -> Self {
        let headers: usize = record.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        let bytes = 64 + record.key.len() + record.value.as_ref().map_or(0, Vec::len) + headers;
        Self { records: 1, bytes }
    }

    pub fn add(&mut self, more: Self) {
        self.records += more.records;
        self.bytes += more.bytes;
    }

    pub fn subtract(&mut self, less: Self) {
        self.records -= less.records;
        self.bytes -= less.bytes;
    }
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

    /// Where the reading of each topic goes on; nothing of a partition that is held.
    pub fn starts(&self) -> Option<Vec<u64>> {
        (!self.held).then(|| self.sides.iter().map(|side| side.read).collect())
    }

    pub fn has_records(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What waits to be handed out.
    pub fn read_ahead(&self) -> ReadAhead {
        let mut all = ReadAhead::default();
        self.waiting.iter().for_each(|(_, record)| all.add(ReadAhead::of_record(record)));
        all
    }

    /// Reading goes on elsewhere; what was read is forgotten.
    pub fn restart(&mut self, reading: u64, starts: &[u64], metadata: Option<Arc<ConsumerGroupMetadata>>) {
        (self.reading, self.metadata, self.held) = (reading, metadata, false);
        self.sides = starts.iter().copied().map(SlotTopic::starting_at).collect();
        self.waiting.clear();
    }

    /// Reading ends until it is begun elsewhere. What was read and not handed out is forgotten, for it would take the
    /// room of the others.
    pub fn hold(&mut self, reading: u64) {
        (self.reading, self.held) = (reading, true);
        self.sides.iter_mut().for_each(|side| side.waiting = 0);
        self.waiting.clear();
    }

    /// A record was read. Whether it is of a topic that belongs here.
    pub fn push(&mut self, side: usize, record: TopicRecord) -> bool {
        let Some(of) = self.sides.get_mut(side) else { return false };
        of.read = of.read.max(record.offset + 1);
        of.waiting += 1;
        self.waiting.push_back((side, record));
        true
    }

    /// A topic was read up to here, though the last of it may have been marks only. Whether its position moved.
    pub fn reach(&mut self, side: usize, offset: u64) -> bool {
        let Some(side) = self.sides.get_mut(side).filter(|side| side.read < offset) else { return false };
        side.read = offset;
        if side.waiting > 0 {
            return false;
        }
        side.position = offset;
        true
    }

    /// At most so many records, in the order in which they were read.
    pub fn take_records(&mut self, most: usize) -> Vec<TopicRecord> {
        let mut records = Vec::with_capacity(self.waiting.len().min(most));
        while records.len() < most {
            let Some((side, record)) = self.waiting.pop_front() else { break };
            if let Some(side) = self.sides.get_mut(side) {
                side.waiting -= 1;
                side.position = if side.waiting == 0 { side.read } else { record.offset + 1 };
            }
            records.push(record);
        }
        records
    }

    /// How far it is, in words: the lead, then its companions.
    pub fn describe(&self) -> String {
        let offsets = |of: fn(&SlotTopic) -> u64| -> String {
            self.sides.iter().map(|side| of(side).to_string()).collect::<Vec<_>>().join("/")
        };
        let (handed, read) = (offsets(|side| side.position), offsets(|side| side.read));
        let held = if self.held { ", held" } else { "" };
        format!("handed out to {handed}, read to {read}, {} waiting{held}", self.waiting.len())
    }

    /// Up to where each topic was handed out.
    pub fn positions(&self, topics: &[TopicName]) -> TopicOffsets {
        topics.iter().cloned().zip(self.sides.iter().map(|side| side.position)).collect()
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
