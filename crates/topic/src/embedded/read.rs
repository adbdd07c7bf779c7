//! Reading. Short reads are done where they are asked for: a point in memory or in a cached block costs
//! microseconds. Long ones go to a thread that may block, so that the runtime never waits for a disk.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use super::{
    book::{Book, Topic},
    layout,
    tables::{Tables, fault, garbled},
};
use crate::port::{Record, TopicError};

/// Up to so many records are read in place.
const IN_PLACE_MOST: usize = 256;

/// A stretch of a partition: the records from an offset on, and the offset to go on with.
pub(super) struct Stretch {
    pub records: Vec<Record>,
    pub next: u64,
}

/// Reads from an offset on, at most so many.
pub(super) async fn stretch(
    book: &Book,
    topic: &Arc<Topic>,
    partition: u32,
    from: u64,
    most: usize,
) -> Result<Stretch, TopicError> {
    let tables = book.tables()?;
    let (_, end) = topic.reach(partition)?.get();
    let available = usize::try_from(end.saturating_sub(from)).unwrap_or(usize::MAX);
    // All of a compacted partition has to be looked at, whatever is asked for.
    if !topic.compacted && available.min(most) <= IN_PLACE_MOST {
        return read(&tables, topic, partition, from, end, most);
    }
    let topic = topic.clone();
    aside(move || read(&tables, &topic, partition, from, end, most)).await
}

/// The latest record of every key of a compacted partition, in the order in which they were appended.
pub(super) async fn state(
    book: &Book,
    topic: &Arc<Topic>,
    partition: u32,
) -> Result<Vec<Record>, TopicError> {
    let tables = book.tables()?;
    let topic = topic.clone();
    aside(move || {
        let mut records = Vec::new();
        for item in tables.state.prefix(layout::state_prefix(topic.id, partition)) {
            let (key, value) = item.into_inner().map_err(|error| fault("reading a state", &error))?;
            let record = layout::state_record(&topic.name, partition, &key, &value);
            records.push(record.ok_or_else(|| garbled(&topic.name))?);
        }
        records.sort_unstable_by_key(|record| record.offset);
        Ok(records)
    })
    .await
}

async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TopicError> + Send + 'static,
) -> Result<T, TopicError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(TopicError::Broken(format!("a reader ended: {error}"))))
}

fn read(
    tables: &Tables,
    topic: &Topic,
    partition: u32,
    from: u64,
    end: u64,
    most: usize,
) -> Result<Stretch, TopicError> {
    if topic.compacted {
        by_offset(tables, topic, partition, from, end, most)
    } else {
        in_order(tables, topic, partition, from, end, most)
    }
}

fn in_order(
    tables: &Tables,
    topic: &Topic,
    partition: u32,
    from: u64,
    end: u64,
    most: usize,
) -> Result<Stretch, TopicError> {
    let to = end.min(from.saturating_add(u64::try_from(most).unwrap_or(u64::MAX)));
    let mut records = Vec::with_capacity(usize::try_from(to.saturating_sub(from)).unwrap_or(0));
    if from < to {
        let range = layout::log_key(topic.id, partition, from)..layout::log_key(topic.id, partition, to);
        for item in tables.log.range(range) {
            let (key, value) = item.into_inner().map_err(|error| fault("reading the log", &error))?;
            let record = layout::log_record(&topic.name, partition, &key, &value);
            records.push(record.ok_or_else(|| garbled(&topic.name))?);
        }
    }
    Ok(Stretch { records, next: to.max(from) })
}

/// A compacted partition lies by key; those with the lowest offsets are picked out.
fn by_offset(
    tables: &Tables,
    topic: &Topic,
    partition: u32,
    from: u64,
    end: u64,
    most: usize,
) -> Result<Stretch, TopicError> {
    let mut lowest = BinaryHeap::new();
    if most > 0 {
        for item in tables.state.prefix(layout::state_prefix(topic.id, partition)) {
            let (key, value) = item.into_inner().map_err(|error| fault("reading a state", &error))?;
            let offset = layout::state_offset(&value).ok_or_else(|| garbled(&topic.name))?;
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
        records.push(record.ok_or_else(|| garbled(&topic.name))?);
    }
    let next = if full { records.last().map_or(from, |r| r.offset + 1) } else { end.max(from) };
    Ok(Stretch { records, next })
}
