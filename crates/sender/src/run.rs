//! The sender in the loop: reads the journal and the facts of a batch at once, then delivers each Ready, several at a
//! time. Its reports are the records of the turn; a delivery that takes longer than a turn reports by itself later.

mod places;
mod slow_deliveries;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Context as _;
use async_trait::async_trait;
use futures::{TryFutureExt as _, future::join_all};
use model::{delivery::Delivery, ready::Ready};
use room::records::stamp_trace;
use runtime::clock::SteadyStopwatch;
use tokio::{task::JoinError, time::timeout};
use topic::{
    GroupMembership, NewRecord, RecordBatch, TurnGuarantee,
    drive::{RoomWork, run_room},
};
use traces::Span;
use wire::topics;

use self::{
    places::DeliveryPlaces,
    slow_deliveries::{DeliveryTask, SlowDeliveries, TurnEnd},
};
use crate::{
    apply::DeliveryService,
    batch_limit::AdaptiveBatchLimit,
    config::{Config, GOODBYE, GROUP},
    deps::Deps,
    facts::LoadedBatch,
    load, read, report,
};

/// The topic the sender reads.
pub fn membership() -> GroupMembership {
    GroupMembership {
        group: GROUP.into(),
        lead: topics::READY.into(),
        companions: Vec::new(),
        state: None,
        mode: TurnGuarantee::Plain,
    }
}

/// Runs the sender until the shutdown.
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    let drive_with = deps.room.build_drive(membership(), config.records_max);
    let places = DeliveryPlaces::new(config.at_once_max, deps.metrics.in_flight.clone());
    let slow = SlowDeliveries::default();
    let desk = Arc::new(DeliveryService::new(deps, config));
    let mut sender = SenderWork { desk, places, slow, appetite: AdaptiveBatchLimit::default() };
    run_room(drive_with, &mut sender).await?;
    sender.close().await;
    Ok(())
}

struct SenderWork {
    desk: Arc<DeliveryService>,
    places: DeliveryPlaces,
    slow: SlowDeliveries,
    /// How many Readys are read, so that those that are find a place.
    appetite: AdaptiveBatchLimit,
}

/// What the deliveries of a turn share.
struct DeliveryRound {
    loaded: Arc<LoadedBatch>,
    watch: SteadyStopwatch,
    committed: TurnEnd,
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
        self.appetite.adjust_after(&self.places.take_seating(), self.desk.config.records_max);
        turns
    }

    async fn after_commit(&mut self, partition: u32) -> anyhow::Result<()> {
        self.slow.end_turn(partition);
        Ok(())
    }

    fn after_abort(&mut self, partition: u32) {
        self.slow.end_turn(partition);
    }

    fn forget(&mut self, partition: u32) {
        self.slow.end_turn(partition);
    }
}

impl SenderWork {
    async fn deliver_batch(&self, batch: &RecordBatch) -> anyhow::Result<Vec<NewRecord>> {
        self.slow.forget_ended();
        self.desk.tally.log_due();
        let read::ReadyBatch { readys, parents, rejects: mut records } =
            read::read_readys(&batch.records, self.desk.now())?;
        self.desk.deps.metrics.quarantined_total.with_label_values::<&str>(&[]).inc_by(records.len() as u64);
        let (readys, loaded) = load::load_batch(&self.desk.deps, readys).await?;
        let (loaded, watch) = (Arc::new(loaded), SteadyStopwatch::start());
        let turn = DeliveryRound { loaded, watch, committed: self.slow.begin_turn(batch.partition) };
        let told = readys.into_iter().map(|ready| {
            let span = self.desk.begin_span(&ready, parents.get(&ready.id));
            let parent = span.as_parent();
            self.deliver_or_defer(Arc::new(ready), span, &turn).map_ok(|delivery| (delivery, parent))
        });
        // All of them end, also where one fails: nobody is cut off with a message in hand.
        for (delivery, parent) in join_all(told).await.into_iter().collect::<anyhow::Result<Vec<_>>>()? {
            let record = report::delivery_record(delivery, self.desk.deps.room.partitions)?;
            records.push(stamp_trace(record, parent.as_ref()));
        }
        Ok(records)
    }

    /// Delivers a Ready. A slow server holds up no other delivery: the owner keeps the Ready until its report arrives,
    /// or, after a crash, until the journal is read again.
    async fn deliver_or_defer(
        &self,
        ready: Arc<Ready>,
        span: Span,
        turn: &DeliveryRound,
    ) -> anyhow::Result<Delivery> {
        if !ready.is_recalled() && self.slow.has(ready.id) {
            return Ok(self.defer_slow(&ready));
        }
        let Some(place) = self.places.take(ready.channel, &turn.watch, &self.desk.deps.room.shutdown).await
        else {
            return Ok(self.desk.give_back(&ready));
        };
        // Whoever is first, the one that ends or the one that waits for it no longer.
        let is_left = Arc::new(AtomicBool::new(false));
        let mut under_way = DeliveryTask::new();
        under_way.spawn({
            let (desk, own, is_left) = (self.desk.clone(), ready.clone(), is_left.clone());
            let (loaded, committed) = (turn.loaded.clone(), turn.committed.clone());
            async move {
                let delivery = span.within(desk.deliver_ready(&own, loaded)).await?;
                drop(place);
                let parent = report::end_span(span, &delivery);
                if is_left.swap(true, Ordering::SeqCst) {
                    desk.report_late(&delivery, parent.as_ref(), committed.wait()).await?;
                }
                Ok(delivery)
            }
        });
        let ended = match timeout(self.desk.config.patience, under_way.join_next()).await {
            Ok(ended) => ended,
            Err(_) if is_left.swap(true, Ordering::SeqCst) => under_way.join_next().await,
            Err(_) => {
                self.slow.add(ready.id, under_way);
                return Ok(self.defer_slow(&ready));
            }
        };
        match ended.context("a delivery")? {
            Ok(delivery) => delivery,
            Err(broken) => Ok(self.defer_broken(&ready, &broken)),
        }
    }

    /// Its delivery broke by a fault of ours. Nobody else waits for it: the journal finds out what became of it.
    fn defer_broken(&self, ready: &Ready, broken: &JoinError) -> Delivery {
        // What it says itself may name the person; the hook of panics says where it was.
        tracing::error!(ready = %ready.id, is_panic = broken.is_panic(), "a delivery broke, and is tried again");
        let now = self.desk.now();
        self.desk.count_wait(ready, "broken");
        report::report_deferred(ready, now.plus(self.desk.config.claim_ms).min(ready.expires.max(now)), now)
    }

    /// It is under way here. Should nothing be heard of it, its Ready comes again when a claim made by now is over.
    fn defer_slow(&self, ready: &Ready) -> Delivery {
        let now = self.desk.now();
        self.desk.count_wait(ready, "slow");
        report::report_deferred(ready, now.plus(self.desk.config.claim_ms), now)
    }

    /// Waits for the deliveries that are under way, but not forever: what becomes of the others the journal finds out.
    async fn close(&self) {
        let ended =
            join_all(self.slow.take().into_iter().map(|mut one| async move { one.join_next().await }));
        if timeout(GOODBYE, ended).await.is_err() {
            tracing::warn!("deliveries are left to the journal: the other side does not answer");
        }
    }
}
