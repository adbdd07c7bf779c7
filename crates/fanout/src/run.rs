//! The room at work: two loops side by side, one for events, one for the slices of large audiences.

mod events;
mod slices;

use async_trait::async_trait;
use futures::future;
use model::{
    UtcMillis,
    fault::{self, PlantedFault},
};
use runtime::crash_point;
use topic::{
    GroupMembership, NewRecord, RecordBatch, TurnGuarantee,
    drive::{DriveDeps, RoomWork, run_room},
};
use wire::topics;

use crate::{
    apply,
    config::{Config, FanoutSizes, GROUP, SLICES_AT_ONCE, SLICES_GROUP},
    deps::Deps,
    load, newer_edition, read,
    recipient_sheet::{RecipientSheet, ResolvedSheet},
    records::pending_records,
};

/// Runs the room until the shutdown, or until an engine cannot go on.
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    run_with(deps, config, FanoutSizes::default()).await
}

/// Runs the room with other sizes than usual.
pub async fn run_with(deps: Deps, config: Config, sizes: FanoutSizes) -> anyhow::Result<()> {
    let events = drive_loop(&deps, GROUP, topics::EVENTS, TurnGuarantee::Plain, config.records_max);
    // Few slices a round, and atomic: a crash can tell a slice again, but never makes two walks of one.
    let slices = drive_loop(&deps, SLICES_GROUP, topics::SLICES, TurnGuarantee::Atomic, SLICES_AT_ONCE);
    let fanout = FanoutWork { deps, sizes, config };
    let (mut of_events, mut of_slices) = (EventWork(fanout.clone()), SliceWork(fanout));
    future::try_join(run_room(events, &mut of_events), run_room(slices, &mut of_slices)).await?;
    Ok(())
}

fn drive_loop(deps: &Deps, group: &str, lead: &str, mode: TurnGuarantee, records_max: usize) -> DriveDeps {
    let (companions, state) = (Vec::new(), None);
    let membership = GroupMembership { group: group.into(), lead: lead.into(), companions, state, mode };
    deps.room.build_drive(membership, records_max)
}

/// The loop of events.
struct EventWork(FanoutWork);

#[async_trait]
impl RoomWork for EventWork {
    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let now = load::load_trusted_time(&self.0.deps, batch).await?;
        let (mut records, mut of_turn) = (batch.records.iter(), self.0.quarantine_newer(batch)?);
        while !records.as_slice().is_empty() {
            let read = read::read_events(&mut records, self.0.deps.room.store.day_life(), now)?;
            self.0.deps.metrics.count_events(&read);
            of_turn.extend(self.0.tell_events(&read.told, now).await?);
            of_turn.extend(read.rejects);
        }
        Ok(of_turn)
    }
}

/// The loop of slices.
struct SliceWork(FanoutWork);

#[async_trait]
impl RoomWork for SliceWork {
    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        self.0.tell_slices(batch, batch.records.len()).await
    }

    async fn turns(&mut self, round: &[(RecordBatch, Option<i64>)]) -> Vec<anyhow::Result<Vec<NewRecord>>> {
        let at_once = round.iter().map(|(batch, _)| batch.records.len()).sum();
        future::join_all(round.iter().map(|(batch, _)| self.0.tell_slices(batch, at_once))).await
    }
}

/// What both loops do.
#[derive(Clone)]
struct FanoutWork {
    deps: Deps,
    sizes: FanoutSizes,
    config: Config,
}

impl FanoutWork {
    /// Tells the slices of a turn at the same time, together with those of other turns so many.
    async fn tell_slices(&self, batch: &RecordBatch, at_once: usize) -> anyhow::Result<Vec<NewRecord>> {
        let now = load::load_trusted_time(&self.deps, batch).await?;
        let mut of_turn = self.quarantine_newer(batch)?;
        let read = read::read_slices(&batch.records, self.deps.room.store.day_life(), now)?;
        self.deps.metrics.count_slices(&read);
        of_turn.extend(read.rejects);
        let telling =
            read.told.into_iter().map(|slice| self.tell_slice(slice, (batch.partition, now), at_once));
        for told in future::join_all(telling).await {
            of_turn.extend(told?);
        }
        Ok(of_turn)
    }

    /// What is put aside of a batch because a newer edition wrote it; fails while that one is waited for.
    fn quarantine_newer(&self, batch: &RecordBatch) -> anyhow::Result<Vec<NewRecord>> {
        let now = self.deps.room.now();
        let aside = newer_edition::quarantine_newer(&batch.records, &self.deps.room.editions, now)?;
        self.deps.metrics.count_older(aside.len());
        Ok(aside)
    }

    /// Law 4: stored, then announced; acknowledged when the turn is committed. Returns the announcements.
    async fn tell_sheet(&self, sheet: RecipientSheet, now: UtcMillis) -> anyhow::Result<Vec<NewRecord>> {
        if sheet.is_empty() {
            return Ok(Vec::new());
        }
        let ResolvedSheet { rows, announced, counts } = load::resolve_sheet(&self.deps, sheet).await?;
        let mut announcements = pending_records(announced, self.deps.room.editions.own_edition())?;
        if fault::is_planted(PlantedFault::AnnouncedFirst) {
            apply::announce(&self.deps, std::mem::take(&mut announcements)).await?;
        }
        apply::write_rows(&self.deps, rows, now).await?;
        crash_point::point(crash_point::STORED);
        self.deps.metrics.count_rows(counts);
        Ok(announcements)
    }
}
