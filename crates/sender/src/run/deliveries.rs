//! One delivery of a round: it takes a place, and a round waits for it for so long.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Context as _;
use futures::future::join_all;
use model::{delivery::Delivery, ready::Ready};
use runtime::{clock::SteadyStopwatch, urgency::inherit_urgency};
use tokio::{task::JoinError, time::timeout};
use traces::Span;

use super::{
    places::DeliveryPlaces,
    slow_deliveries::{DeliveryTask, SlowDeliveries, TurnEnd},
};
use crate::{
    apply::DeliveryService,
    config::{Config, GOODBYE},
    facts::LoadedBatch,
    report,
};

/// The deliveries of one lane.
pub(super) struct LaneDeliveries {
    pub desk: Arc<DeliveryService>,
    pub places: DeliveryPlaces,
    pub slow: SlowDeliveries,
}

/// What the deliveries of a turn share.
pub(super) struct DeliveryRound {
    pub loaded: Arc<LoadedBatch>,
    pub watch: SteadyStopwatch,
    pub committed: TurnEnd,
}

impl LaneDeliveries {
    pub fn new(desk: Arc<DeliveryService>) -> Self {
        let Config { at_once_max, shares, .. } = &desk.config;
        let places = DeliveryPlaces::new(*at_once_max, shares, &desk.deps.metrics.in_flight);
        Self { desk, places, slow: SlowDeliveries::default() }
    }

    /// Waits for the deliveries that are under way, but not forever: what becomes of the others the journal finds out.
    pub async fn close(&self) {
        let ended =
            join_all(self.slow.take().into_iter().map(|mut one| async move { one.join_next().await }));
        if timeout(GOODBYE, ended).await.is_err() {
            tracing::warn!("deliveries are left to the journal: the other side does not answer");
        }
    }

    /// Delivers a Ready. A slow server holds up no other delivery: the owner keeps the Ready until its report arrives,
    /// or, after a crash, until the journal is read again.
    pub async fn deliver_or_defer(
        &self,
        ready: Arc<Ready>,
        span: Span,
        turn: &DeliveryRound,
    ) -> anyhow::Result<Delivery> {
        if !ready.is_recalled() && self.slow.has(ready.id) {
            return Ok(self.defer_slow(&ready));
        }
        let Some(place) = self.places.take(&ready, &turn.watch, &self.desk.deps.room.shutdown).await else {
            return Ok(self.desk.give_back(&ready));
        };
        // Whoever is first, the one that ends or the one that waits for it no longer.
        let is_left = Arc::new(AtomicBool::new(false));
        let mut under_way = DeliveryTask::new();
        under_way.spawn(inherit_urgency({
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
        }));
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
}
