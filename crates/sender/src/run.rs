//! The sender in the loop: reads the journal and the facts of a batch at once, then [`deliver`]s each Ready, several at a
//! time. Its reports are the turn's records; who takes longer than a turn waits reports by itself.

mod deliver;
mod gate;
mod places;
mod slow;

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
    Millis, Row, State, Tenant,
    civil::Zones,
    delivery::{Delivery, Outcome},
    entry::DayKey,
    partition::Partitions,
    ready::Ready,
};
use render::Renderer;
use runtime::{Clock, Quiet, Shutdown, clock::Stopwatch};
use store::{Store, world};
use tokio::{task::JoinError, time::timeout};
use topic::{
    Batch, Membership, Mode, NewRecord, Topics,
    drive::{Drive, Work, drive},
};
use wire::topics;

use self::{
    places::Places,
    slow::{Committed, Slow, UnderWay},
};
use crate::{
    appetite::Appetite,
    config::{Config, GOODBYE, GROUP, TRIES},
    loaded::{Loaded, days_of, facts_of, keys_of, wanted},
    metrics::SenderMetrics,
    readys, report,
    sightings::Sightings,
    tally::Tally,
    tokens::Tokens,
};

/// What the sender is given.
#[derive(Clone)]
pub struct Ports {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub courier: Arc<dyn Courier>,
    pub catalogue: Arc<Catalogue>,
    pub renderer: Arc<Renderer>,
    pub zones: Zones,
    pub partitions: Partitions,
    pub clock: Clock,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    pub metrics: SenderMetrics,
}

/// The topic the sender reads.
pub fn membership() -> Membership {
    Membership {
        group: GROUP.into(),
        lead: topics::READY.into(),
        companions: Vec::new(),
        state: None,
        mode: Mode::Plain,
    }
}

/// Runs the sender until the shutdown.
pub async fn run(ports: Ports, config: Config) -> anyhow::Result<()> {
    let drive_with = Drive {
        topics: ports.topics.clone(),
        membership: membership(),
        clock: ports.clock.clone(),
        quiet: ports.quiet.clone(),
        shutdown: ports.shutdown.clone(),
        records_max: config.records_max,
    };
    let (tokens, sightings, slow) = (Tokens::default(), Sightings::default(), Slow::default());
    let (places, tally) = (Places::new(config.at_once_max), Tally::default());
    let desk = Arc::new(Desk { ports, config, tokens, sightings, places, slow, tally });
    let mut sender = Sender { desk: desk.clone(), appetite: Appetite::default() };
    drive(drive_with, &mut sender).await?;
    desk.close().await;
    Ok(())
}

struct Sender {
    desk: Arc<Desk>,
    /// How many Readys are read, so that those that are find a place.
    appetite: Appetite,
}

/// What deliveries have in common. One that takes long goes on after its turn.
struct Desk {
    ports: Ports,
    config: Config,
    tokens: Tokens,
    sightings: Sightings,
    places: Places,
    slow: Slow,
    tally: Tally,
}

#[async_trait]
impl Work for Sender {
    fn most(&self, usual: usize) -> usize {
        self.appetite.most(usual)
    }

    async fn turn(&mut self, batch: &Batch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        self.desk.turn(batch).await
    }

    async fn turns(&mut self, round: &[(Batch, Option<i64>)]) -> Vec<anyhow::Result<Vec<NewRecord>>> {
        let turns = join_all(round.iter().map(|(batch, _)| self.desk.turn(batch))).await;
        self.appetite.after(&self.desk.places.round_ended(), self.desk.config.records_max);
        turns
    }

    async fn committed(&mut self, partition: u32) -> anyhow::Result<()> {
        self.desk.slow.turn_ended(partition);
        Ok(())
    }

    fn aborted(&mut self, partition: u32) {
        self.desk.slow.turn_ended(partition);
    }

    fn forget(&mut self, partition: u32) {
        self.desk.slow.turn_ended(partition);
    }
}

impl Desk {
    async fn turn(self: &Arc<Self>, batch: &Batch) -> anyhow::Result<Vec<NewRecord>> {
        self.slow.forget_ended();
        self.tally.tell();
        let now = self.now();
        let (readys, mut records) = readys::read(&batch.records, now)?;
        self.ports.metrics.quarantined_total.with_label_values::<&str>(&[]).inc_by(records.len() as u64);
        let (loaded, watch) = (Arc::new(self.load(&readys).await?), Stopwatch::start());
        let turn = Round { loaded, watch, committed: self.slow.turn_begins(batch.partition) };
        let told = readys.into_iter().map(|ready| self.told(Arc::new(ready), &turn));
        // All of them end, also where one fails: nobody is cut off with a message in hand.
        for delivery in join_all(told).await.into_iter().collect::<anyhow::Result<Vec<_>>>()? {
            records.push(report::inbox_record(delivery, self.ports.partitions)?);
        }
        Ok(records)
    }

    /// What became of a Ready. Where the other side takes its time nobody else waits for it: its owner keeps the Ready
    /// until the report comes by itself, or, should we die, until the journal is asked again.
    async fn told(self: &Arc<Self>, ready: Arc<Ready>, turn: &Round) -> anyhow::Result<Delivery> {
        if !ready.is_recalled() && self.slow.has(ready.id) {
            return Ok(self.goes_on(&ready));
        }
        let Some(place) = self.places.take(ready.channel, &turn.watch).await else {
            self.waits(&ready, "no place", "as many are under way as there may be");
            return Ok(report::comes_again(&ready, self.now()));
        };
        // Whoever is first, the one that ends or the one that waits for it no longer.
        let is_left = Arc::new(AtomicBool::new(false));
        let mut under_way = UnderWay::new();
        under_way.spawn({
            let (desk, own, is_left) = (self.clone(), ready.clone(), is_left.clone());
            let (loaded, committed) = (turn.loaded.clone(), turn.committed.clone());
            async move {
                let delivery = desk.deliver(&own, loaded).await?;
                drop(place);
                if is_left.swap(true, Ordering::SeqCst) {
                    desk.report(&delivery, committed).await?;
                }
                Ok(delivery)
            }
        });
        let ended = match timeout(self.config.patience, under_way.join_next()).await {
            Ok(ended) => ended,
            Err(_) if is_left.swap(true, Ordering::SeqCst) => under_way.join_next().await,
            Err(_) => {
                self.slow.add(ready.id, under_way);
                return Ok(self.goes_on(&ready));
            }
        };
        match ended.context("a delivery")? {
            Ok(delivery) => delivery,
            Err(broken) => Ok(self.breaks(&ready, &broken)),
        }
    }

    /// Its delivery broke by a fault of ours. Nobody else waits for it: the journal finds out what became of it.
    fn breaks(&self, ready: &Ready, broken: &JoinError) -> Delivery {
        // What it says itself may name the person; the hook of panics says where it was.
        tracing::error!(ready = %ready.id, is_panic = broken.is_panic(), "a delivery broke, and is tried again");
        let now = self.now();
        self.count_wait(ready, "broken");
        report::deferred(ready, now.plus(self.config.claim_ms).min(ready.expires.max(now)), now)
    }

    /// It is under way here. Should nothing be heard of it, its Ready comes again when a claim made by now is over.
    fn goes_on(&self, ready: &Ready) -> Delivery {
        let now = self.now();
        self.count_wait(ready, "slow");
        report::deferred(ready, now.plus(self.config.claim_ms), now)
    }

    /// Reports what became of a delivery that its turn did not wait for, once that turn has said so. What is deferred was
    /// deferred by the turn.
    async fn report(&self, delivery: &Delivery, committed: Committed) -> anyhow::Result<()> {
        if matches!(delivery.outcome, Outcome::Deferred { .. }) {
            return Ok(());
        }
        committed.wait().await;
        let record = report::inbox_record(delivery.clone(), self.ports.partitions)?;
        asked(|| self.ports.topics.append(vec![record.clone()])).await.context("the inbox")
    }

    /// A Ready that waits, with no fault of its own.
    fn waits(&self, ready: &Ready, what: &'static str, why: &str) {
        tracing::debug!(ready = %ready.id, what, why, "not handed over, tried again later");
        self.tally.note(ready.channel, what, why);
        self.count_wait(ready, what);
    }

    fn count_wait(&self, ready: &Ready, what: &'static str) {
        self.ports.metrics.waits_total.with_label_values(&[ready.channel.name(), what]).inc();
    }

    fn now(&self) -> Millis {
        Millis(self.ports.clock.now())
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
    async fn load(&self, readys: &[Ready]) -> anyhow::Result<Loaded> {
        // Whatever is said from here on may be missing.
        let at = self.ports.clock.steady();
        let mut journal = BTreeMap::new();
        let tenants: BTreeSet<&Tenant> = readys.iter().map(|ready| &ready.tenant).collect();
        for tenant in tenants {
            let ids: Vec<_> =
                readys.iter().filter(|ready| ready.tenant == *tenant).map(|ready| ready.id).collect();
            let found = self.ports.store.journalled(tenant, &ids).await.context("journal")?;
            journal.extend(ids.into_iter().zip(found));
        }
        let days: BTreeSet<DayKey> = readys.iter().flat_map(days_of).collect();
        let days: Vec<DayKey> = days.into_iter().collect();
        let rows = self.ports.store.read(&days, self.now()).await.context("days")?;
        let rows: BTreeMap<DayKey, Vec<Row>> = days.into_iter().zip(rows).collect();
        let states = self.ports.store.states(&keys_of(readys)).await.context("profiles")?;
        let facts = facts_of(readys, states, &rows);
        let refers_to = |state: &State| self.ports.catalogue.related_refs(state);
        let world = world::load(&*self.ports.store, wanted(readys), &refers_to)
            .await
            .context("the world of readys")?;
        Ok(Loaded { at, journal, facts, world })
    }
}

/// What the deliveries of a turn share.
struct Round {
    loaded: Arc<Loaded>,
    watch: Stopwatch,
    committed: Committed,
}

/// What an engine answers, which may be busy for a moment: whoever stops here comes again only after the claim's deadline.
async fn asked<T, E, A>(ask: impl Fn() -> A) -> Result<T, E>
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
