//! Reading. Short reads are done where they are asked for: a point in memory or in a cached block costs
//! microseconds. Long ones go to a thread that may block, so that the runtime never waits for a disk.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use super::{
    book::{EmbeddedTopic, TopicBook},
    layout,
    tables::{TopicTables, garbled_bytes, tables_fault},
};
use crate::port::{TopicError, TopicRecord};

/// Up to so many records are read in place.
const IN_PLACE_MOST: usize = 256;

/// A stretch of a partition: the records from an offset on, and the offset to go on with.
pub(super) struct RecordStretch {
    pub records: Vec<TopicRecord>,
    pub next: u64,
}

/// Reads from an offset on, at most so many.
pub(super) async fn read_stretch(
    book: &TopicBook,
    topic: &Arc<EmbeddedTopic>,
    partition: u32,
    from: u64,
    most: usize,
) -> Result<RecordStretch, TopicError> {
    let tables = book.tables()?;
    let (_, end) = topic.reach(partition)?.get();
    let available = usize::try_from(end.saturating_sub(from)).unwrap_or(usize::MAX);
    // All of a compacted partition has to be looked at, whatever is asked for.
    if !topic.compacted && available.min(most) <= IN_PLACE_MOST {
        return read_records(&tables, topic, partition, from, end, most);
    }
    let topic = topic.clone();
    run_aside(move || read_records(&tables, &topic, partition, from, end, most)).await
}

/// The latest record of every key of a compacted partition, in the order in which they were appended.
pub(super) async fn read_state(
    book: &TopicBook,
    topic: &Arc<EmbeddedTopic>,
    partition: u32,
) -> Result<Vec<TopicRecord>, TopicError> {
    let tables = book.tables()?;
    let topic = topic.clone();
    run_aside(move || {
        let mut records = Vec::new();
        for item in tables.state.prefix(layout::state_prefix(topic.id, partition)) {
            let (key, value) = item.into_inner().map_err(|error| tables_fault("reading a state", &error))?;
            let record = layout::state_record(&topic.name, partition, &key, &value);
            records.push(record.ok_or_else(|| garbled_bytes(&topic.name))?);
        }
        records.sort_unstable_by_key(|record| record.offset);
        Ok(records)
    })
    .await
}

/// For each partition the first offset appended at an instant or later, or the end.
pub(super) async fn offsets_since(
    book: &TopicBook,
    topic: &Arc<EmbeddedTopic>,
    at: i64,
) -> Result<Vec<u64>, TopicError> {
    let (tables, topic) = (book.tables()?, topic.clone());
    run_aside(move || {
        (0..topic.partition_count())
            .map(|partition| {
                let (first, end) = topic.reach(partition)?.get();
                if topic.compacted {
                    return latest_since(&tables, &topic, partition, end, at);
                }
                first_since(&tables, &topic, partition, (first, end), at)
            })
            .collect()
    })
    .await
}

/// The time never goes back within a partition, so it is found by halving.
pub(super) fn first_since(
    tables: &TopicTables,
    topic: &EmbeddedTopic,
    partition: u32,
    (mut low, mut high): (u64, u64),
    at: i64,
) -> Result<u64, TopicError> {
    // Most often nothing is too old, so the first record is looked at first.
    let mut probe = low;
    while low < high {
        let key = layout::log_key(topic.id, partition, probe);
        let value = tables.log.get(key).map_err(|error| tables_fault("looking for a time", &error))?;
        let appended = value.and_then(|value| layout::log_appended(&value));
        let Some(appended) = appended else {
            return Err(garbled_bytes(&format!("{}/{partition} at {probe}", topic.name)));
        };
        if appended >= at {
            high = probe;
        } else {
            low = probe + 1;
        }
        probe = low + (high - low) / 2;
    }
    Ok(low)
}

/// The same in a compacted partition, which lies by key.
fn latest_since(
    tables: &TopicTables,
    topic: &EmbeddedTopic,
    partition: u32,
    end: u64,
    at: i64,
) -> Result<u64, TopicError> {
    let mut first = end;
    for item in tables.state.prefix(layout::state_prefix(topic.id, partition)) {
        let (key, value) = item.into_inner().map_err(|error| tables_fault("reading a state", &error))?;
        let record = layout::state_record(&topic.name, partition, &key, &value);
        let record = record.ok_or_else(|| garbled_bytes(&topic.name))?;
        if record.appended >= at {
            first = first.min(record.offset);
        }
    }
    Ok(first)
}

async fn run_aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TopicError> + Send + 'static,
) -> Result<T, TopicError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(TopicError::Broken(format!("a reader ended: {error}"))))
}

fn read_records(
    tables: &TopicTables,
    topic: &EmbeddedTopic,
    partition: u32,
    from: u64,
    end: u64,
    most: usize,
) -> Result<RecordStretch, TopicError> {
    if topic.compacted {
        read_by_offset(tables, topic, partition, from, end, most)
    } else {
        read_in_order(tables, topic, partition, from, end, most)
    }
}

fn read_in_order(
    tables: &TopicTables,
    topic: &EmbeddedTopic,
    partition: u32,
    from: u64,
    end: u64,
    most: usize,
) -> Result<RecordStretch, TopicError> {
    let to = end.min(from.saturating_add(u64::try_from(most).unwrap_or(u64::MAX)));
    let mut records = Vec::with_capacity(usize::try_from(to.saturating_sub(from)).unwrap_or(0));
    if from < to {
        let range = layout::log_key(topic.id, partition, from)..layout::log_key(topic.id, partition, to);
        for item in tables.log.range(range) {
            let (key, value) = item.into_inner().map_err(|error| tables_fault("reading the log", &error))?;
            let record = layout::log_record(&topic.name, partition, &key, &value);
            records.push(record.ok_or_else(|| garbled_bytes(&topic.name))?);
        }
    }
    records.retain(|record| !layout::is_blank(record));
    Ok(RecordStretch { records, next: to.max(from) })
}

/// A compacted partition lies by key; those with the lowest offsets are picked out.
fn read_by_offset(
    tables: &TopicTables,
    topic: &EmbeddedTopic,
    partition: u32,
    from: u64,
    end: u64,
    most: usize,
) -> Result<RecordStretch, TopicError> {
    let mut lowest = BinaryHeap::new();
    if most > 0 {
        for item in tables.state.prefix(layout::state_prefix(topic.id, partition)) {
            let (key, value) = item.into_inner().map_err(|error| tables_fault("reading a state", &error))?;
            let offset = layout::state_offset(&value).ok_or_else(|| garbled_bytes(&topic.name))?;
            if (from..end).contains(&offset) {
                lowest.push((offset, Reverse((key, value))));
                if lowest.len() > most {
                    lowest.pop();
                }
            }
        }
    }
    let full = lowest.len() == most;
    let mut records = Vec::with_capacity(lowest.len());
    for (_, Reverse((key, value))) in lowest.into_sorted_vec() {
        let record = layout::state_record(&topic.name, partition, &key, &value);
        records.push(record.ok_or_else(|| garbled_bytes(&topic.name))?);
    }
    let next = if full { records.last().map_or(from, |r| r.offset + 1) } else { end.max(from) };
    Ok(RecordStretch { records, next })
}
