//! What is older than its topic keeps it goes: first out of sight, all at once, then from the disk, in
//! small pieces between the requests.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    book::{EmbeddedTopic, TopicBook},
    layout::{self, PartitionExtent},
    read,
    tables::{TopicTables, tables_fault},
};
use crate::port::TopicError;

/// How often the log is looked through, by the clock it was given.
pub(super) const EVERY_MS: i64 = 60_000;
/// Records removed in one piece: a request that comes in meanwhile waits for about a millisecond.
const PIECE: usize = 2_000;

pub(super) struct LogTrim {
    next: i64,
    unswept: BTreeSet<(u32, u32)>,
    /// Of topics that were removed.
    abandoned: BTreeSet<(u32, u32)>,
}

impl LogTrim {
    pub fn new(extents: &HashMap<(u32, u32), PartitionExtent>, topics: &HashSet<u32>) -> Self {
        let abandoned = extents.keys().filter(|(topic, _)| !topics.contains(topic)).copied().collect();
        Self { next: i64::MIN, unswept: list_unswept(extents).collect(), abandoned }
    }

    /// These partitions are of no topic any more: all of them goes from the disk.
    pub fn abandon(&mut self, extents: &HashMap<(u32, u32), PartitionExtent>) {
        self.unswept.extend(list_unswept(extents));
        self.abandoned.extend(extents.keys());
    }

    /// Moves the first offset of every partition past what is too old, if it is time to look.
    pub fn run(
        &mut self,
        now: i64,
        book: &TopicBook,
        tables: &TopicTables,
        extents: &mut HashMap<(u32, u32), PartitionExtent>,
    ) -> Result<(), TopicError> {
        if now < self.next || book.check().is_err() {
            return Ok(());
        }
        self.next = now.saturating_add(EVERY_MS);
        let mut batch = tables.db.batch();
        let mut moved = Vec::new();
        for topic in book.topics().into_iter().filter(|t| !t.compacted) {
            let kept = topic.retention.load(std::sync::atomic::Ordering::Relaxed);
            let horizon = now.saturating_sub(kept);
            for partition in 0..topic.partition_count() {
                let Some(extent) = extents.get(&(topic.id, partition)) else { continue };
                let first = find_first_kept(tables, &topic, partition, extent, horizon)?;
                if first == extent.first {
                    continue;
                }
                let extent = PartitionExtent { first, ..*extent };
                let key = layout::extent_key(topic.id, partition);
                batch.insert(&tables.meta, key, layout::extent_value(&extent));
                moved.push((topic.clone(), partition, extent));
            }
        }
        // Not synchronised: should a power cut take it back, it is done once more.
        batch.commit().map_err(|error| tables.write_fault("trimming the log", &error))?;
        for (topic, partition, extent) in moved {
            topic.reach(partition)?.set(&extent);
            extents.insert((topic.id, partition), extent);
            self.unswept.insert((topic.id, partition));
        }
        Ok(())
    }

    /// Removes one piece of what is out of sight. Whether there was any.
    pub fn sweep(
        &mut self,
        tables: &TopicTables,
        extents: &mut HashMap<(u32, u32), PartitionExtent>,
    ) -> Result<bool, TopicError> {
        let Some(at) = self.unswept.first().copied() else { return self.sweep_abandoned(tables, extents) };
        let Some(extent) = extents.get_mut(&at) else {
            self.unswept.remove(&at);
            return Ok(true);
        };
        let end = extent.first.min(extent.swept.saturating_add(PIECE as u64));
        let swept = PartitionExtent { swept: end, ..*extent };
        let mut batch = tables.db.batch();
        for offset in extent.swept..end {
            batch.remove(&tables.log, layout::log_key(at.0, at.1, offset));
        }
        batch.insert(&tables.meta, layout::extent_key(at.0, at.1), layout::extent_value(&swept));
        batch.commit().map_err(|error| tables.write_fault("sweeping the log", &error))?;
        *extent = swept;
        if swept.swept == swept.first {
            self.unswept.remove(&at);
        }
        Ok(true)
    }

    /// The same of what compacted topics that were removed have left; then their partitions are forgotten.
    fn sweep_abandoned(
        &mut self,
        tables: &TopicTables,
        extents: &mut HashMap<(u32, u32), PartitionExtent>,
    ) -> Result<bool, TopicError> {
        let Some(at) = self.abandoned.first().copied() else { return Ok(false) };
        let mut batch = tables.db.batch();
        let mut removed = 0;
        for item in tables.state.prefix(layout::state_prefix(at.0, at.1)).take(PIECE) {
            let key = item.key().map_err(|error| tables_fault("sweeping a state", &error))?;
            batch.remove(&tables.state, key);
            removed += 1;
        }
        if removed < PIECE {
            batch.remove(&tables.meta, layout::extent_key(at.0, at.1));
        }
        batch.commit().map_err(|error| tables.write_fault("sweeping the log", &error))?;
        if removed < PIECE {
            extents.remove(&at);
            self.abandoned.remove(&at);
        }
        Ok(true)
    }
}

fn list_unswept(extents: &HashMap<(u32, u32), PartitionExtent>) -> impl Iterator<Item = (u32, u32)> {
    extents.iter().filter(|(_, extent)| extent.swept < extent.first).map(|(at, _)| *at)
}

/// The first offset appended at the horizon or later.
fn find_first_kept(
    tables: &TopicTables,
    topic: &EmbeddedTopic,
    partition: u32,
    extent: &PartitionExtent,
    horizon: i64,
) -> Result<u64, TopicError> {
    if extent.appended < horizon {
        return Ok(extent.end);
    }
    read::first_since(tables, topic, partition, (extent.first, extent.end), horizon)
}
