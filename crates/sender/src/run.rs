//! The sender in the loop: reads the journal and the facts of a batch at once, then does the [`delivery`] of each Ready, several at a
//! time. Its reports are the turn's records; who takes longer than a turn waits reports by itself.

mod delivery;
mod gate;
mod places;
mod slow_deliveries;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context as _;
use async_trait::async_trait;
use catalogue::Catalogue;
use courier::Courier;
use futures::future::join_all;
use model::{
    DayRow, Tenant, UtcMillis, VersionedState,
    civil_time::ZoneRules,
    delivery::{Delivery, DeliveryOutcome},
    entry::DayKey,
    partition::PartitionCount,
    ready::Ready,
};
use render::MessageRenderer;
use runtime::{Clock, ShutdownSignal, WorkTracker, clock::SteadyStopwatch};
use store::{Store, world};
use tokio::{task::JoinError, time::timeout};
use topic::{
    GroupMembership, NewRecord, RecordBatch, Topics, TurnGuarantee,
    drive::{DriveDeps, RoomWork, run_room},
};
use wire::topics;

use self::{
    places::DeliveryPlaces,
    slow_deliveries::{DeliveryTask, SlowDeliveries, TurnEnd},
};
use crate::{
    batch_limit::AdaptiveBatchLimit,
    config::{Config, GOODBYE, GROUP, TRIES},
    facts::{LoadedBatch, collect_wanted, days_of, facts_by_ready, state_keys},
    metrics::SenderMetrics,
    read, report,
    sightings::ClaimSightings,
    tally::WaitTally,
    tokens::ClaimTokens,
};

/// What the sender is given.
#[derive(Clone)]
pub struct Deps {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub courier: Arc<dyn Courier>,
    pub catalogue: Arc<Catalogue>,
    pub renderer: Arc<MessageRenderer>,
    pub zones: ZoneRules,
    pub partitions: PartitionCount,
    pub clock: Clock,
    pub quiet: WorkTracker,
    pub shutdown: ShutdownSignal,
    pub metrics: SenderMetrics,
}

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
    let drive_with = DriveDeps {
        topics: deps.topics.clone(),
        membership: membership(),
        clock: deps.clock.clone(),
        quiet: deps.quiet.clone(),
        shutdown: deps.shutdown.clone(),
        records_max: config.records_max,
    };
    let (tokens, sightings, slow) =
        (ClaimTokens::default(), ClaimSightings::default(), SlowDeliveries::default());
    let (places, tally) = (DeliveryPlaces::new(config.at_once_max), WaitTally::default());
    let desk = Arc::new(DeliveryService { deps, config, tokens, sightings, places, slow, tally });
    let mut sender = SenderWork { desk: desk.clone(), appetite: AdaptiveBatchLimit::default() };
    run_room(drive_with, &mut sender).await?;
    desk.close().await;
    Ok(())
}

struct SenderWork {
    desk: Arc<DeliveryService>,
    /// How many Readys are read, so that those that are find a place.
    appetite: AdaptiveBatchLimit,
}

/// What deliveries have in common. One that takes long goes on after its turn.
struct DeliveryService {
    deps: Deps,
    config: Config,
    tokens: ClaimTokens,
    sightings: ClaimSightings,
    places: DeliveryPlaces,
    slow: SlowDeliveries,
    tally: WaitTally,
}

#[async_trait]
impl RoomWork for SenderWork {
    fn record_limit(&self, usual: usize) -> usize {
        self.appetite.most(usual)
    }

    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        self.desk.deliver_batch(batch).await
    }

    async fn turns(&mut self, round: &[(RecordBatch, Option<i64>)]) -> Vec<anyhow::Result<Vec<NewRecord>>> {
        let turns = join_all(round.iter().map(|(batch, _)| self.desk.deliver_batch(batch))).await;
        self.appetite.adjust_after(&self.desk.places.take_seating(), self.desk.config.records_max);
        turns
    }

    async fn after_commit(&mut self, partition: u32) -> anyhow::Result<()> {
        self.desk.slow.end_turn(partition);
        Ok(())
    }

    fn after_abort(&mut self, partition: u32) {
        self.desk.slow.end_turn(partition);
    }

    fn forget(&mut self, partition: u32) {
        self.desk.slow.end_turn(partition);
    }
}

impl DeliveryService {
    async fn deliver_batch(self: &Arc<Self>, batch: &RecordBatch) -> anyhow::Result<Vec<NewRecord>> {
        self.slow.forget_ended();
        self.tally.log_due();
        let now = self.now();
        let (readys, mut records) = read::read_readys(&batch.records, now)?;
        self.deps.metrics.quarantined_total.with_label_values::<&str>(&[]).inc_by(records.len() as u64);
        let (loaded, watch) = (Arc::new(self.load_batch(&readys).await?), SteadyStopwatch::start());
        let turn = DeliveryRound { loaded, watch, committed: self.slow.begin_turn(batch.partition) };
        let told = readys.into_iter().map(|ready| self.deliver_or_defer(Arc::new(ready), &turn));
        // All of them end, also where one fails: nobody is cut off with a message in hand.
        for delivery in join_all(told).await.into_iter().collect::<anyhow::Result<Vec<_>>>()? {
            records.push(report::inbox_record(delivery, self.deps.partitions)?);
        }
        Ok(records)
    }

    /// What became of a Ready. Where the other side takes its time nobody else waits for it: its owner keeps the Ready
    /// until the report comes by itself, or, should we die, until the journal is asked again.
    async fn deliver_or_defer(
        self: &Arc<Self>,
        ready: Arc<Ready>,
        turn: &DeliveryRound,
    ) -> anyhow::Result<Delivery> {
        if !ready.is_recalled() && self.slow.has(ready.id) {
            return Ok(self.defer_slow(&ready));
        }
        let Some(place) = self.places.take(ready.channel, &turn.watch).await else {
            self.note_wait(&ready, "no place", "as many are under way as there may be");
            return Ok(report::report_comes_again(&ready, self.now()));
        };
        // Whoever is first, the one that ends or the one that waits for it no longer.
        let is_left = Arc::new(AtomicBool::new(false));
        let mut under_way = DeliveryTask::new();
        under_way.spawn({
            let (desk, own, is_left) = (self.clone(), ready.clone(), is_left.clone());
            let (loaded, committed) = (turn.loaded.clone(), turn.committed.clone());
            async move {
                let delivery = desk.deliver_ready(&own, loaded).await?;
                drop(place);
                if is_left.swap(true, Ordering::SeqCst) {
                    desk.report_late(&delivery, committed).await?;
                }
                Ok(delivery)
            }
        });
        let ended = match timeout(self.config.patience, under_way.join_next()).await {
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
        let now = self.now();
        self.count_wait(ready, "broken");
        report::report_deferred(ready, now.plus(self.config.claim_ms).min(ready.expires.max(now)), now)
    }

    /// It is under way here. Should nothing be heard of it, its Ready comes again when a claim made by now is over.
    fn defer_slow(&self, ready: &Ready) -> Delivery {
        let now = self.now();
        self.count_wait(ready, "slow");
        report::report_deferred(ready, now.plus(self.config.claim_ms), now)
    }

    /// Reports what became of a delivery that its turn did not wait for, once that turn has said so. What is deferred was
    /// deferred by the turn.
    async fn report_late(&self, delivery: &Delivery, committed: TurnEnd) -> anyhow::Result<()> {
        if matches!(delivery.outcome, DeliveryOutcome::Deferred { .. }) {
            return Ok(());
        }
        committed.wait().await;
        let record = report::inbox_record(delivery.clone(), self.deps.partitions)?;
        ask_again(|| self.deps.topics.append(vec![record.clone()])).await.context("the inbox")
    }

    /// A Ready that waits, with no fault of its own.
    fn note_wait(&self, ready: &Ready, what: &'static str, why: &str) {
        tracing::debug!(ready = %ready.id, what, why, "not handed over, tried again later");
        self.tally.note_message(ready.channel, what, why);
        self.count_wait(ready, what);
    }

    fn count_wait(&self, ready: &Ready, what: &'static str) {
        self.deps.metrics.waits_total.with_label_values(&[ready.channel.name(), what]).inc();
    }

    fn now(&self) -> UtcMillis {
        UtcMillis(self.deps.clock.now())
    }

    /// Waits for the deliveries that are under way, but not for ever: what becomes of the others the journal finds out.
    async fn close(&self) {
        let ended =
            join_all(self.slow.take().into_iter().map(|mut one| async move { one.join_next().await }));
        if timeout(GOODBYE, ended).await.is_err() {
            tracing::warn!("deliveries are left to the journal: the other side does not answer");
        }
    }

    /// The journal, profiles, days, subjects and follows of all Readys of a batch, each read once.
    async fn load_batch(&self, readys: &[Ready]) -> anyhow::Result<LoadedBatch> {
        // Whatever is said from here on may be missing.
        let at = self.deps.clock.steady();
        let mut journal = BTreeMap::new();
        let tenants: BTreeSet<&Tenant> = readys.iter().map(|ready| &ready.tenant).collect();
        for tenant in tenants {
            let ids: Vec<_> =
                readys.iter().filter(|ready| ready.tenant == *tenant).map(|ready| ready.id).collect();
            let found = self.deps.store.read_journal(tenant, &ids).await.context("journal")?;
            journal.extend(ids.into_iter().zip(found));
        }
        let days: BTreeSet<DayKey> = readys.iter().flat_map(days_of).collect();
        let days: Vec<DayKey> = days.into_iter().collect();
        let rows = self.deps.store.read(&days, self.now()).await.context("days")?;
        let rows: BTreeMap<DayKey, Vec<DayRow>> = days.into_iter().zip(rows).collect();
        let states = self.deps.store.states(&state_keys(readys)).await.context("profiles")?;
        let facts = facts_by_ready(readys, states, &rows);
        let refers_to = |state: &VersionedState| self.deps.catalogue.related_refs(state);
        let world = world::load_world(&*self.deps.store, collect_wanted(readys), &refers_to)
            .await
            .context("the world of readys")?;
        Ok(LoadedBatch { at, journal, facts, world })
    }
}

/// What the deliveries of a turn share.
struct DeliveryRound {
    loaded: Arc<LoadedBatch>,
    watch: SteadyStopwatch,
    committed: TurnEnd,
}

/// What an engine answers, which may be busy for a moment: whoever stops here comes again only after the claim's deadline.
async fn ask_again<T, E, A>(ask: impl Fn() -> A) -> Result<T, E>
where
    A: Future<Output = Result<T, E>>,
{
    for _ in 1..TRIES {
        if let Ok(answer) = ask().await {
            return Ok(answer);
        }
    }
    ask().await
}
