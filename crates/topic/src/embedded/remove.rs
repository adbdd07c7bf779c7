//! Taking topics away. All of a call's are gone with one write: what is declared by the same name later is
//! another topic, with a number of its own. What they held goes from the disk piece by piece, like what is
//! too old.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use fjall::PersistMode;

use super::{
    book::{EmbeddedTopic, TopicBook, read_seats},
    layout::{self, PartitionExtent},
    tables::TopicTables,
};
use crate::port::{TopicError, TopicName};

/// Topics on their way out.
pub(super) struct TopicRemoval {
    topics: Vec<Arc<EmbeddedTopic>>,
    pub numbers: HashSet<u32>,
    /// What of them is still to go from the disk.
    pub extents: HashMap<(u32, u32), PartitionExtent>,
}

pub(super) fn plan_removal(
    book: &TopicBook,
    names: &[TopicName],
    extents: &HashMap<(u32, u32), PartitionExtent>,
) -> Result<TopicRemoval, TopicError> {
    book.check()?;
    let topics: Vec<Arc<EmbeddedTopic>> = names.iter().filter_map(|name| book.topic(name).ok()).collect();
    let numbers: HashSet<u32> = topics.iter().map(|topic| topic.id).collect();
    let compacted: HashSet<u32> = topics.iter().filter(|t| t.compacted).map(|t| t.id).collect();
    let of_them = extents.iter().filter(|((topic, _), _)| numbers.contains(topic));
    let closed = of_them.map(|(at, extent)| {
        // What a compacted topic holds does not lie by offset.
        let swept = if compacted.contains(&at.0) { extent.end } else { extent.swept };
        (*at, PartitionExtent { first: extent.end, swept, ..*extent })
    });
    let extents = closed.collect();
    Ok(TopicRemoval { topics, numbers, extents })
}

pub(super) fn write_removal(tables: &TopicTables, gone: &TopicRemoval) -> Result<(), TopicError> {
    let mut batch = tables.db.batch().durability(Some(PersistMode::SyncData));
    for topic in &gone.topics {
        batch.remove(&tables.meta, layout::topic_key(&topic.name));
    }
    // The extents stay until all is swept: they keep the numbers from being given to others.
    for ((topic, partition), extent) in &gone.extents {
        let key = layout::extent_key(*topic, *partition);
        batch.insert(&tables.meta, key, layout::extent_value(extent));
    }
    for tag in [layout::COMMITTED, layout::GENERATION] {
        for seat in read_seats(tables, tag)?.iter().filter(|seat| gone.numbers.contains(&seat.topic)) {
            batch.remove(&tables.meta, layout::seat_key(tag, seat.topic, seat.partition, &seat.group));
        }
    }
    batch.commit().map_err(|error| tables.write_fault("removing topics", &error))
}
