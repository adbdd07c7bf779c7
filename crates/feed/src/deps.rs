//! What the feed is given.

use std::{fmt, sync::Arc};

use model::partition::PartitionCount;
use render::MessageRenderer;
use runtime::ShutdownSignal;

use crate::{
    facts::TenantPerson, live_board::LiveBoard, metrics::FeedMetrics, read::ChangedDays,
    shelf_cache::ShelfCache,
};

/// What the feed works with.
#[derive(Clone)]
pub struct Deps {
    pub room: room::Deps,
    pub renderer: Arc<MessageRenderer>,
    pub board: Arc<FeedBoard>,
    pub metrics: FeedMetrics,
}

/// What this process remembers of persons, and who waits for news of them.
#[derive(Default)]
pub struct FeedBoard {
    pub(crate) shelves: ShelfCache,
    pub(crate) live: Arc<LiveBoard>,
    /// Streams end, and none begins: the process stops.
    pub(crate) closing: ShutdownSignal,
}

impl fmt::Debug for FeedBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedBoard").field("live", &self.live).finish_non_exhaustive()
    }
}

impl FeedBoard {
    /// Ends all streams, so that nobody waits for them: their clients come back to another process.
    pub fn end_streams(&self) {
        self.closing.start();
    }

    /// Something of a person changed.
    pub(crate) fn note_change(&self, whose: &TenantPerson, changed: &ChangedDays) {
        self.shelves.note_change(whose, changed);
        self.live.notify(whose);
    }

    /// The log of a partition is read from here on. What was said while it was not, nobody here has heard.
    pub(crate) fn cover(&self, partition: u32, partitions: PartitionCount) {
        self.shelves.cover(partition);
        self.live.notify_many(|(tenant, person)| partitions.of_person(tenant, person) == partition);
    }

    pub(crate) fn uncover(&self, partition: u32, partitions: PartitionCount) {
        self.shelves.uncover(partition, partitions);
    }
}
