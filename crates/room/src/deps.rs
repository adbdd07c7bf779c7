//! The dependencies that every room has.

use std::sync::Arc;

use catalogue::Catalogue;
use house_facts::edition::EditionTracker;
use model::{UtcMillis, civil_time::ZoneRules, partition::PartitionCount};
use runtime::{Clock, ShutdownSignal, WorkTracker};
use store::Store;
use topic::{GroupMembership, Topics, drive::DriveDeps, metrics::TurnMetrics};
use traces::Tracer;

use crate::pause_board::PauseBoard;

/// What every room works with. Cheap to clone.
#[derive(Clone)]
pub struct Deps {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub catalogue: Arc<Catalogue>,
    /// Which edition that is, and which newer ones were seen.
    pub editions: EditionTracker,
    pub zones: ZoneRules,
    pub partitions: PartitionCount,
    pub clock: Clock,
    pub quiet: WorkTracker,
    pub shutdown: ShutdownSignal,
    /// What an operator has paused.
    pub pauses: PauseBoard,
    /// What loops count; nothing where nobody looks.
    pub turns: Option<TurnMetrics>,
    /// What records traces, if anything does.
    pub tracer: Tracer,
}

impl Deps {
    /// For a room that runs alone, as in a test or a measurement: nobody else is at work, and nobody takes up editions.
    pub fn for_one_room(
        topics: Arc<dyn Topics>,
        store: Arc<dyn Store>,
        catalogue: Arc<Catalogue>,
        clock: Clock,
    ) -> Self {
        Self {
            topics,
            store,
            catalogue,
            editions: EditionTracker::default(),
            zones: ZoneRules::load_bundled(),
            partitions: PartitionCount::USUAL,
            clock,
            quiet: WorkTracker::default(),
            shutdown: ShutdownSignal::default(),
            pauses: PauseBoard::default(),
            turns: None,
            tracer: Tracer::default(),
        }
    }

    pub fn now(&self) -> UtcMillis {
        UtcMillis(self.clock.now())
    }

    /// What a loop needs that reads as this member, so many records a round at most.
    pub fn build_drive(&self, membership: GroupMembership, records_max: usize) -> DriveDeps {
        let metrics = self.turns.as_ref().map(|turns| turns.of_group(&membership.group)).unwrap_or_default();
        DriveDeps {
            topics: self.topics.clone(),
            membership,
            clock: self.clock.clone(),
            quiet: self.quiet.clone(),
            shutdown: self.shutdown.clone(),
            records_max,
            metrics,
        }
    }
}
