//! One tenant has very many messages due while another's urgent pushes arrive one by one: how late these leave. The real
//! room of the sender runs on the engines; the courier takes a message as soon as it may go, so that nothing but the room
//! and the engines is in the way.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use async_trait::async_trait;
use courier::{Courier, CourierError, HandoverGate, HandoverOutcome, Message};
use model::{Channel, Person, ReadyId, Tenant, delivery::DeliveryOutcome};
use render::MessageRenderer;
use runtime::{Clock, ShutdownSignal, clock::SteadyStopwatch, metrics::Metrics, retry};
use sender::{Config, config::GROUP, metrics::SenderMetrics};
use store::Store;
use tokio::task::JoinSet;
use topic::Topics;
use wire::{InboxItem, topics};

use crate::{
    clusters::{BenchClusters, run_on_both},
    embedded_engines::open_embedded,
    ready_load::{self, ReadyLoad, URGENT_PLAN},
    report::{BenchFigure, BenchReport, quantile_millis},
    sender_room,
};

/// The bar: an urgent push has left within so long, whatever another tenant has queued.
const LATE_MS_MAX: f64 = 1_000.0;
/// It holds where so many are queued. With fewer, in a test on a busy machine, this does.
const BAR_SIZE: usize = 50_000;
const LATE_MS_OF_TEST: f64 = 20_000.0;
/// An urgent push arrives so often, and so many of them; fewer where fewer are queued.
const EVERY: Duration = Duration::from_millis(20);
const PUSHES_MAX: usize = 1_500;
const PUSHES_MIN: usize = 50;
/// Persons of the tenant that has so many due: each of them several messages.
const LOUD_PERSONS_MAX: usize = 10_000;
const QUIET_PERSONS: usize = 200;
const LOUD: &str = "loud";
const QUIET: &str = "quiet";
/// Between two looks whether something is there, and how long anything may take.
const LOOK: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(120);
/// Records read at once.
const PAGE: usize = 1_000;

/// What is queued, and what comes.
#[derive(Clone, Debug)]
pub(crate) struct FairnessLoad {
    /// Messages of the loud tenant that lie there at the beginning.
    pub queued: usize,
    /// Pushes of the quiet one, and by which plan.
    pub pushes: usize,
    pub plan: &'static str,
    /// How long the courier takes for a message of the loud one.
    pub courier_takes: Duration,
    pub config: Config,
}

/// How it went.
#[derive(Debug)]
pub(crate) struct FairnessFindings {
    /// From when each push of the quiet tenant was to be appended until it was accepted, sorted.
    pub late: Vec<Duration>,
    /// Messages of the loud one that were accepted meanwhile, and how long that was.
    pub meanwhile: (usize, Duration),
    /// What is wrong with the books; nothing if each push of the quiet tenant left once, and of the loud one's messages none
    /// was lost or sent twice.
    pub wrong: Option<String>,
}

impl FairnessLoad {
    fn of_size(size: usize) -> Self {
        let pushes = (size / 100).clamp(PUSHES_MIN, PUSHES_MAX);
        let courier_takes = Duration::ZERO;
        Self { queued: size, pushes, plan: URGENT_PLAN, courier_takes, config: Config::default() }
    }
}

pub async fn run_embedded(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    let dir = tempfile::tempdir()?;
    let (topics, store) = open_embedded(dir.path())?;
    let findings = measure(&FairnessLoad::of_size(size), topics, store, progress).await?;
    Ok(report(size, "embedded, synced to disk before each answer".to_owned(), &findings))
}

pub async fn run_on_clusters(
    size: usize,
    clusters: &BenchClusters,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    run_on_both(clusters, async |log, tables| {
        let topics: Arc<dyn Topics> = Arc::new(log.engine()?);
        let store: Arc<dyn Store> = Arc::new(tables.engine().await?);
        let findings = measure(&FairnessLoad::of_size(size), topics, store, progress).await?;
        Ok(report(size, format!("{}; {}", log.says, tables.says), &findings))
    })
    .await
}

fn report(size: usize, engine: String, findings: &FairnessFindings) -> BenchReport {
    let most = if size < BAR_SIZE { LATE_MS_OF_TEST } else { LATE_MS_MAX };
    let late = |name, part| {
        let value = quantile_millis(&findings.late, part);
        BenchFigure::compared_with(&format!("an urgent push leaves, {name}"), value, "ms", most)
    };
    let p99 = quantile_millis(&findings.late, 0.99);
    let (told, took) = findings.meanwhile;
    let a_millisecond = [Duration::from_millis(told as u64)];
    let but = findings.wrong.as_ref().map(|wrong| format!("; but {wrong}")).unwrap_or_default();
    let figures = vec![
        late("the median", 0.5),
        late("99 of 100", 0.99).at_most(most),
        late("the latest", 1.0),
        BenchFigure::rate("messages of the other tenant, against 1,000", told, &[took], &a_millisecond),
    ];
    let checked = format!(
        "each urgent push left once, 99 of 100 within {most} ms; of the other tenant's messages none left twice, and \
         each that was read left or was given back{but}"
    );
    BenchReport::new("fairness", engine, figures, (checked, findings.wrong.is_none() && p99 <= most))
}

/// Queues, starts the sender, has pushes arrive, and looks into the books.
pub(crate) async fn measure(
    load: &FairnessLoad,
    topics: Arc<dyn Topics>,
    store: Arc<dyn Store>,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<FairnessFindings> {
    let device = ready_load::iphone_device;
    let persons = load.queued.clamp(1, LOUD_PERSONS_MAX);
    let loud = ReadyLoad::new((Channel::Push, "at_once"), device, persons, 1)?.of_tenant(Tenant::new(LOUD)?);
    let quiet = ReadyLoad::new((Channel::Push, load.plan), device, QUIET_PERSONS, 1)?;
    let quiet = quiet.of_tenant(Tenant::new(QUIET)?);
    progress(&format!("fairness: {} messages are queued", load.queued));
    topics.declare(&sender_room::topic_specs()).await?;
    loud.fill(&*store).await?;
    quiet.fill(&*store).await?;
    let mut left = load.queued;
    for opening in 1.. {
        let some: Vec<Person> = loud.persons().iter().take(left).cloned().collect();
        loud.announce(&*topics, &some, opening).await?;
        left -= some.len();
        if left == 0 {
            break;
        }
    }
    progress(&format!("fairness: {} pushes arrive, one in {EVERY:?}", load.pushes));
    let courier = Arc::new(StopwatchCourier::new(load.courier_takes));
    let shutdown = ShutdownSignal::default();
    let sender = start_sender(load, &topics, store, (courier.clone(), shutdown.clone()))?;
    let arrived = send_pushes(load, &quiet, &topics, &courier).await;
    shutdown.start();
    sender.await.context("the sender")?.context("the sender")?;
    let (arrived, took) = arrived?;
    check_books(&arrived, took, &courier, &*topics).await
}

fn start_sender(
    load: &FairnessLoad,
    topics: &Arc<dyn Topics>,
    store: Arc<dyn Store>,
    (courier, shutdown): (Arc<StopwatchCourier>, ShutdownSignal),
) -> anyhow::Result<tokio::task::JoinHandle<anyhow::Result<()>>> {
    let catalogue = Arc::new(ready_load::mail_catalogue()?);
    let renderer = MessageRenderer::new(&catalogue).map_err(|wrong| anyhow::anyhow!("{wrong}"))?;
    let room = room::Deps::for_one_room(topics.clone(), store, catalogue, Clock::real(0));
    let ports = sender::Deps {
        room: room::Deps { shutdown, ..room },
        courier,
        renderer: Arc::new(renderer),
        metrics: SenderMetrics::declare(&Metrics::default())?,
    };
    Ok(tokio::spawn(sender::run(ports, load.config.clone())))
}

/// When each push was to be appended.
type PushArrivals = BTreeMap<ReadyId, Duration>;

/// Has pushes arrive at their pace, however long an append takes, until all of them have left. Begins when the other tenant's
/// messages are being sent.
async fn send_pushes(
    load: &FairnessLoad,
    quiet: &ReadyLoad,
    topics: &Arc<dyn Topics>,
    courier: &StopwatchCourier,
) -> anyhow::Result<(PushArrivals, Duration)> {
    await_count(|| courier.count_begun(LOUD), 1).await.context("the other tenant's messages")?;
    let (begun, mut arrived, mut appends) = (courier.watch.elapsed(), PushArrivals::new(), JoinSet::new());
    for (number, person) in (0..load.pushes).zip(quiet.persons().iter().cycle()) {
        let at = begun + EVERY * u32::try_from(number)?;
        retry::wait_real_time(at.saturating_sub(courier.watch.elapsed())).await;
        let ready = quiet.build_ready(person, i64::try_from(number)?)?;
        arrived.insert(ready.id, at);
        let (record, topics) = (quiet.record(&ready)?, topics.clone());
        appends.spawn(async move { topics.append(vec![record]).await });
    }
    while let Some(appended) = appends.join_next().await {
        appended.context("an append")??;
    }
    // One that never leaves is told in the books.
    drop(await_count(|| courier.count_accepted(QUIET), load.pushes).await);
    Ok((arrived, courier.watch.elapsed()))
}

async fn await_count(count: impl Fn() -> usize, many: usize) -> anyhow::Result<()> {
    let waited = SteadyStopwatch::start();
    while count() < many {
        ensure!(waited.elapsed() < PATIENCE, "{} of {many} after {PATIENCE:?}", count());
        retry::wait_real_time(LOOK).await;
    }
    Ok(())
}

async fn check_books(
    arrived: &PushArrivals,
    took: Duration,
    courier: &StopwatchCourier,
    topics: &dyn Topics,
) -> anyhow::Result<FairnessFindings> {
    let (mut wrong, late, meanwhile, left) = read_taken(arrived, took, &courier.lock_taken());
    let given_back = read_given_back(topics).await?;
    let lost = read_committed(topics).await?;
    let lost = lost.into_iter().filter(|ready| !left.contains(ready) && !given_back.contains(ready)).count();
    if lost > 0 {
        wrong = Some(format!("{lost} messages of the other tenant were read and not sent"));
    }
    Ok(FairnessFindings { late, meanwhile: (meanwhile, took), wrong })
}

/// What is wrong with what the courier was given, how late the quiet tenant's pushes were, and of the loud one's messages how
/// many left meanwhile and which left at all.
fn read_taken(
    arrived: &PushArrivals,
    took: Duration,
    taken: &TakenMessages,
) -> (Option<String>, Vec<Duration>, usize, BTreeSet<ReadyId>) {
    let (mut late, mut wrong) = (Vec::new(), None);
    for (ready, at) in arrived {
        match taken.accepted_of(QUIET, *ready) {
            [accepted] => late.push(accepted.saturating_sub(*at)),
            times => wrong = Some(format!("the push {ready} left {} times", times.len())),
        }
    }
    late.sort_unstable();
    let loud = taken.accepted.get(LOUD).into_iter().flatten();
    let meanwhile = loud.clone().flat_map(|(_, times)| times).filter(|at| **at <= took).count();
    let twice = loud.clone().filter(|(_, times)| times.len() > 1).count();
    if twice > 0 {
        wrong = Some(format!("{twice} messages of the other tenant left twice"));
    }
    let left = loud.map(|(ready, _)| *ready).collect();
    (wrong, late, meanwhile, left)
}

/// The Readys of the loud tenant whose turns are committed.
async fn read_committed(topics: &dyn Topics) -> anyhow::Result<Vec<ReadyId>> {
    let mut committed = Vec::new();
    for standing in topics.standing(GROUP, topics::READY).await? {
        let mut from = 0;
        while from < standing.committed {
            let records = topics.read(topics::READY, standing.partition, from, PAGE).await?;
            let Some(last) = records.last() else { bail!("records of a partition are gone") };
            from = last.offset + 1;
            for record in records.iter().filter(|record| record.offset < standing.committed) {
                let ready = wire::ready::decode(record.value.as_deref().unwrap_or_default())?;
                committed.extend((ready.tenant.as_str() == LOUD).then_some(ready.id));
            }
        }
    }
    Ok(committed)
}

/// What the sender has said of Readys that it did not send: their owner would issue them again.
async fn read_given_back(topics: &dyn Topics) -> anyhow::Result<BTreeSet<ReadyId>> {
    let mut given_back = BTreeSet::new();
    for (partition, (mut from, end)) in (0..).zip(topics.bounds(topics::INBOX).await?) {
        while from < end {
            let records = topics.read(topics::INBOX, partition, from, PAGE).await?;
            let Some(last) = records.last() else { break };
            from = last.offset + 1;
            for record in &records {
                let said = wire::inbox::decode(record.value.as_deref().unwrap_or_default())?;
                if let InboxItem::Delivery(delivery) = said
                    && matches!(delivery.outcome, DeliveryOutcome::Deferred { .. })
                {
                    given_back.insert(delivery.ready);
                }
            }
        }
    }
    Ok(given_back)
}

/// Notes when it takes what, and sends nothing.
struct StopwatchCourier {
    watch: SteadyStopwatch,
    /// How long a message of the loud tenant takes.
    takes: Duration,
    taken: Mutex<TakenMessages>,
}

/// When messages were accepted, and how many were begun, by tenant.
#[derive(Default)]
struct TakenMessages {
    begun: BTreeMap<String, usize>,
    accepted: BTreeMap<String, BTreeMap<ReadyId, Vec<Duration>>>,
}

impl TakenMessages {
    fn accepted_of(&self, tenant: &str, ready: ReadyId) -> &[Duration] {
        self.accepted.get(tenant).and_then(|of| of.get(&ready)).map_or(&[], Vec::as_slice)
    }
}

impl StopwatchCourier {
    fn new(takes: Duration) -> Self {
        Self { watch: SteadyStopwatch::start(), takes, taken: Mutex::default() }
    }

    fn count_begun(&self, tenant: &str) -> usize {
        self.lock_taken().begun.get(tenant).copied().unwrap_or_default()
    }

    fn count_accepted(&self, tenant: &str) -> usize {
        self.lock_taken().accepted.get(tenant).map_or(0, BTreeMap::len)
    }

    fn lock_taken(&self) -> MutexGuard<'_, TakenMessages> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StopwatchCourier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopwatchCourier").field("takes", &self.takes).finish_non_exhaustive()
    }
}

#[async_trait]
impl Courier for StopwatchCourier {
    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        let tenant = message.tenant.as_str();
        *self.lock_taken().begun.entry(tenant.to_owned()).or_default() += 1;
        if tenant == LOUD && !self.takes.is_zero() {
            retry::wait_real_time(self.takes).await;
        }
        if !gate.may_go().await {
            return Ok(HandoverOutcome::Stopped);
        }
        let at = self.watch.elapsed();
        let mut taken = self.lock_taken();
        let of = taken.accepted.entry(tenant.to_owned()).or_default();
        of.entry(message.ready).or_default().push(at);
        Ok(HandoverOutcome::Accepted)
    }

    async fn was_sent(&self, _: Channel, _: &str) -> Result<Option<bool>, CourierError> {
        Ok(None)
    }
}
