//! Everything that goes to the disk in one write, and what must be told to the readers once it is there.
//!
//! Several requests share a draft. What they write twice (the end of a partition, a key of a compacted
//! topic) is held back here and written once: two values of one key in one write have no order.

use std::{collections::HashMap, sync::Arc};

use fjall::{OwnedWriteBatch, PersistMode, Slice};

use super::{
    book::{EmbeddedTopic, TopicBook},
    layout::{self, PartitionExtent},
    tables::TopicTables,
};
use crate::port::NewRecord;

/// A record whose topic, partition and sizes were checked.
#[derive(Debug)]
pub(super) struct PlacedRecord {
    pub topic: Arc<EmbeddedTopic>,
    pub record: NewRecord,
}

/// What a group has in a partition of a topic.
pub(super) type GroupSeat = (Arc<str>, u32, u32);

pub(super) struct TopicWriteDraft {
    tables: TopicTables,
    batch: OwnedWriteBatch,
    now: i64,
    scratch: Vec<u8>,
    state: HashMap<Vec<u8>, Option<Slice>>,
    pub extents: HashMap<(u32, u32), PartitionExtent>,
    committed: HashMap<GroupSeat, u64>,
    pub generations: HashMap<GroupSeat, u64>,
    touched: Vec<Arc<EmbeddedTopic>>,
}

impl TopicWriteDraft {
    pub fn new(tables: &TopicTables, now: i64) -> Self {
        Self {
            batch: tables.db.batch().durability(Some(PersistMode::SyncData)),
            tables: tables.clone(),
            now,
            scratch: Vec::new(),
            state: HashMap::new(),
            extents: HashMap::new(),
            committed: HashMap::new(),
            generations: HashMap::new(),
            touched: Vec::new(),
        }
    }

    /// Appends one record. `known` is the partition's extent before this draft.
    pub fn append(&mut self, placed: PlacedRecord, known: PartitionExtent) {
        let PlacedRecord { topic, record } = placed;
        let extent = self.extents.entry((topic.id, record.partition)).or_insert(known);
        let offset = extent.end;
        extent.end += 1;
        // A machine's clock can go back; the log's time does not.
        extent.appended = extent.appended.max(self.now);
        let appended = extent.appended;
        if topic.compacted {
            layout::state_key(&mut self.scratch, topic.id, record.partition, &record.key);
            let key = self.scratch.clone();
            let value = record.value.map(|value| {
                layout::state_value(&mut self.scratch, offset, appended, &value);
                Slice::from(&self.scratch)
            });
            self.state.insert(key, value);
        } else {
            let NewRecord { key, value, headers, .. } = &record;
            layout::log_value(&mut self.scratch, appended, key, headers, value.as_deref());
            let key = layout::log_key(topic.id, record.partition, offset);
            self.batch.insert(&self.tables.log, key, Slice::from(&self.scratch));
        }
        self.touch(topic);
    }

    pub fn commit_offset(&mut self, group: &Arc<str>, topic: &EmbeddedTopic, partition: u32, offset: u64) {
        self.committed.insert((group.clone(), topic.id, partition), offset);
    }

    pub fn fence(&mut self, seat: GroupSeat, generation: u64) {
        self.generations.insert(seat, generation);
    }

    fn touch(&mut self, topic: Arc<EmbeddedTopic>) {
        if !self.touched.iter().rev().any(|t| t.id == topic.id) {
            self.touched.push(topic);
        }
    }

    /// Writes it all; durable when it returns.
    pub fn write(mut self) -> Result<WrittenDraft, fjall::Error> {
        for (key, value) in self.state {
            match value {
                Some(value) => self.batch.insert(&self.tables.state, key, value),
                None => self.batch.remove(&self.tables.state, key),
            }
        }
        let meta = &self.tables.meta;
        for ((topic, partition), extent) in &self.extents {
            let key = layout::extent_key(*topic, *partition);
            self.batch.insert(meta, key, layout::extent_value(extent));
        }
        for ((group, topic, partition), offset) in &self.committed {
            let key = layout::seat_key(layout::COMMITTED, *topic, *partition, group);
            self.batch.insert(meta, key, offset.to_be_bytes());
        }
        for ((group, topic, partition), generation) in &self.generations {
            let key = layout::seat_key(layout::GENERATION, *topic, *partition, group);
            self.batch.insert(meta, key, generation.to_be_bytes());
        }
        // The journal is synchronised before the records can be seen: nobody reads what a power cut
        // could take back.
        self.batch.commit()?;
        Ok(WrittenDraft {
            extents: self.extents,
            committed: self.committed,
            generations: self.generations,
            touched: self.touched,
        })
    }
}

/// What is on the disk and not yet told to anybody.
pub(super) struct WrittenDraft {
    pub extents: HashMap<(u32, u32), PartitionExtent>,
    committed: HashMap<GroupSeat, u64>,
    pub generations: HashMap<GroupSeat, u64>,
    touched: Vec<Arc<EmbeddedTopic>>,
}

impl WrittenDraft {
    /// Lets the readers see it. Whoever waits is woken by `wake`, after those who wrote have their answer.
    pub fn publish(&self, book: &TopicBook) {
        for ((id, partition), extent) in &self.extents {
            let topic = self.touched.iter().find(|topic| topic.id == *id);
            if let Some(Ok(reach)) = topic.map(|topic| topic.reach(*partition)) {
                reach.set(extent);
            }
        }
        for ((group, topic, partition), offset) in &self.committed {
            book.set_committed(group, *topic, *partition, *offset);
        }
    }

    pub fn wake(&self) {
        for topic in &self.touched {
            topic.wake();
        }
    }
}
