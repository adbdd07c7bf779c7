//! One delivery of a round: it takes a place, and a round waits for it for so long.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Context as _;
use model::{delivery::Delivery, ready::Ready};
use runtime::clock::SteadyStopwatch;
use tokio::{task::JoinError, time::timeout};
use traces::Span;

use super::{
    SenderWork,
    slow_deliveries::{DeliveryTask, TurnEnd},
};
use crate::{facts::LoadedBatch, report};

/// What the deliveries of a turn share.
pub(super) struct DeliveryRound {
    pub loaded: Arc<LoadedBatch>,
    pub watch: SteadyStopwatch,
    pub committed: TurnEnd,
}

impl SenderWork {
    /// Delivers a Ready. A slow server holds up no other delivery: the owner keeps the Ready until its report arrives,
    /// or, after a crash, until the journal is read again.
    pub(super) async fn deliver_or_defer(
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
}
