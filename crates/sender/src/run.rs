//! The sender at work: two loops side by side over one service, one for what is urgent, one for the rest. Each has a group,
//! places and rounds of its own, and the store answers the urgent one first, so neither waits for the other. A loop reads
//! the journal and the facts of a batch at once, then delivers each Ready, several at a time. Its reports are the records of
//! the turn; a delivery that takes longer than a turn reports by itself later.

mod deliveries;
mod places;
mod slow_deliveries;

use std::sync::Arc;

use async_trait::async_trait;
use futures::{
    TryFutureExt as _,
    future::{join, join_all},
};
use room::records::stamp_trace;
use runtime::{clock::SteadyStopwatch, urgency::run_urgently};
use topic::{
    GroupMembership, NewRecord, RecordBatch, TurnGuarantee,
    drive::{RoomWork, run_room},
};
use wire::topics;

use self::deliveries::{DeliveryRound, LaneDeliveries};
use crate::{
    apply::DeliveryService,
    batch_limit::AdaptiveBatchLimit,
    config::{Config, GROUP, URGENT_GROUP},
    deps::Deps,
    load, read, report,
};

/// Runs the sender until the shutdown.
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    let desk = Arc::new(DeliveryService::new(deps, config));
    let urgent = run_lane(desk.clone(), URGENT_GROUP, topics::READY_URGENT);
    let (urgent, rest) = join(urgent, run_lane(desk, GROUP, topics::READY)).await;
    urgent.and(rest)
}

/// Runs the loop of one lane. One that fails has the other end too, with what it has in hand.
async fn run_lane(desk: Arc<DeliveryService>, group: &str, lane: &str) -> anyhow::Result<()> {
    let membership = GroupMembership {
        group: group.into(),
        lead: lane.into(),
        companions: Vec::new(),
        state: None,
        mode: TurnGuarantee::Plain,
    };
    let drive_with = desk.deps.room.build_drive(membership, desk.config.records_max);
    let shutdown = desk.deps.room.shutdown.clone();
    let mut sender = SenderWork { lane: LaneDeliveries::new(desk), appetite: AdaptiveBatchLimit::default() };
    let running = run_room(drive_with, &mut sender);
    let ran = if lane == topics::READY_URGENT { run_urgently(running).await } else { running.await };
    if ran.is_ok() {
        sender.lane.close().await;
    }
    shutdown.start();
    ran
}

struct SenderWork {
    lane: LaneDeliveries,
    /// How many Readys are read, so that those that are find a place.
    appetite: AdaptiveBatchLimit,
}

#[async_trait]
impl RoomWork for SenderWork {
    fn record_limit(&self, usual: usize) -> usize {
        self.appetite.most(usual)
    }

    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        self.deliver_batch(batch).await
    }

    async fn turns(&mut self, round: &[(RecordBatch, Option<i64>)]) -> Vec<anyhow::Result<Vec<NewRecord>>> {
        let turns = join_all(round.iter().map(|(batch, _)| self.deliver_batch(batch))).await;
        self.appetite.adjust_after(&self.lane.places.take_seating(), self.lane.desk.config.records_max);
        turns
    }

    async fn after_commit(&mut self, partition: u32) -> anyhow::Result<()> {
        self.lane.slow.end_turn(partition);
        Ok(())
    }

    fn after_abort(&mut self, partition: u32) {
        self.lane.slow.end_turn(partition);
    }

    fn forget(&mut self, partition: u32) {
        self.lane.slow.end_turn(partition);
    }
}

impl SenderWork {
    async fn deliver_batch(&self, batch: &RecordBatch) -> anyhow::Result<Vec<NewRecord>> {
        let LaneDeliveries { desk, slow, .. } = &self.lane;
        slow.forget_ended();
        desk.tally.log_due();
        let read::ReadyBatch { readys, parents, rejects: mut records } =
            read::read_readys(&batch.records, desk.now())?;
        desk.deps.metrics.quarantined_total.with_label_values::<&str>(&[]).inc_by(records.len() as u64);
        let (readys, loaded) = load::load_batch(&desk.deps, readys).await?;
        let (loaded, watch) = (Arc::new(loaded), SteadyStopwatch::start());
        let turn = DeliveryRound { loaded, watch, committed: slow.begin_turn(batch.partition) };
        let in_turns = desk.config.shares.order_in_turns(readys, |ready| &ready.tenant);
        let told = in_turns.into_iter().map(|ready| {
            let span = desk.begin_span(&ready, parents.get(&ready.id));
            let parent = span.as_parent();
            self.lane.deliver_or_defer(Arc::new(ready), span, &turn).map_ok(|delivery| (delivery, parent))
        });
        // All of them end, also where one fails: nobody is cut off with a message in hand.
        for (delivery, parent) in join_all(told).await.into_iter().collect::<anyhow::Result<Vec<_>>>()? {
            let record = report::delivery_record(delivery, desk.deps.room.partitions)?;
            records.push(stamp_trace(record, parent.as_ref()));
        }
        Ok(records)
    }
}
