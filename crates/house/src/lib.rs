//! The house: every room, running on whatever engines it was given.
//!
//! `up`, the scenario runner and the tests all start this one, so what they show is what runs. A house ends
//! in one of three ways: [`RunningHouse::stop`] lets every room finish what it has in hand, [`RunningHouse::abandon`]
//! takes the floor away as a crash would, and a room that fails stops the others and keeps its error.

use std::{
    collections::BTreeSet,
    future::pending,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::bail;
use catalogue::Catalogue;
use courier::Courier;
use house_facts::edition::EditionTracker;
use live::LiveConnections;
use model::{Tenant, UtcMillis, civil_time::ZoneRules};
use runtime::{Clock, ShutdownSignal, WorkTracker, metrics::Metrics, standstill::PartitionStandstill};
use store::{Store, StoreError};
use tokio::{
    sync::{oneshot, watch},
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};
use topic::{TopicError, Topics};
use wire::{SchemaSource, topics};

pub mod book;
pub mod book_watch;
pub mod editions;
pub mod erasure;
pub mod history;
pub mod house_format;
pub mod house_watch;
mod keeper;
mod lag;
mod measured_engines;
pub mod metrics;
pub mod pauses;
pub mod person_windows;
mod presence;
pub mod presence_service;
pub mod return_intake;
mod rooms;
mod stages;
mod standstills;
pub mod stream_connections;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, clippy::panic, reason = "only tests are built with it")]
pub mod testing;
#[cfg(test)]
mod tests;

use book::TakeUpPolicy;
use book_watch::BookWatch;
use history::MetricHistory;
use house_watch::{HouseWatch, WatchDeps};
use lag::LagGauges;
use metrics::{EngineMetrics, LagMetrics, PresenceMetrics};
use presence::RoomPresence;
use rooms::{HouseDeps, HouseDoors};
use standstills::StandstillGauges;

pub use rooms::{Config, RoomName};
pub use stages::{
    RoomStage, STAGES, StageReading, StageView, declare_topics, foreign_topic_specs, list_readings,
    topic_specs,
};

/// How long an engine may take to say that it is there.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(2);
/// The key of an answer that nobody gave; asking for it shows whether the store answers.
const WELL: &str = "well:ready";

/// What a house stands on.
#[derive(Clone, Debug)]
pub struct HouseEngines {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub courier: Arc<dyn Courier>,
    /// The service that knows whether apps are connected.
    pub live: Arc<dyn LiveConnections>,
    /// The source of the schemas of upstream records.
    pub schemas: Arc<dyn SchemaSource>,
}

/// A running house.
pub struct RunningHouse {
    engines: HouseEngines,
    doors: HouseDoors,
    clock: Clock,
    quiet: WorkTracker,
    shutdown: ShutdownSignal,
    metrics: Metrics,
    history: MetricHistory,
    presence: RoomPresence,
    still: StandstillGauges,
    book: BookWatch,
    rooms: BTreeSet<RoomName>,
    readings: Vec<StageReading>,
    /// What this process reads for itself alone: nobody else's work waits for it.
    own_readings: Vec<StageReading>,
    tenant: Tenant,
    look_again: Option<Duration>,
    /// What ended the house before it was asked to; `None` while all is well. Closed when all rooms ended.
    failed: watch::Receiver<Option<HouseFailure>>,
    crash: Mutex<Option<oneshot::Sender<()>>>,
    supervisor: JoinHandle<()>,
}

/// Why a house ended before it was asked to.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub struct HouseFailure {
    why: Arc<str>,
    /// An engine was busy or away for longer than a room waits: the same may work a little later.
    pub is_passing: bool,
}

impl RunningHouse {
    /// Starts the rooms on topics that are there ([`declare_topics`]). The rooms take what they were in the middle
    /// of from the engines; [`RunningHouse::settle`] says when they have.
    pub async fn start(
        engines: HouseEngines,
        catalogue: Arc<Catalogue>,
        clock: Clock,
        zones: ZoneRules,
        config: Config,
    ) -> anyhow::Result<Self> {
        let (own, look_again, tenant) =
            (config.rooms.clone(), config.look_again, config.ingest.tenant.clone());
        let (measure_lag, watches) = (config.measure_lag, config.watches.clone());
        let readings = stages::list_readings(&catalogue);
        let own_readings = stages::list_own_readings(&own, &config.feed.group);
        // Where one process is the house of a test nobody else pauses anything, or takes anything up.
        let watches_house = measure_lag.is_some();
        let (metrics, names) = (config.metrics.clone(), config.names.clone());
        metrics::declare_infos(&metrics, zones.origin())?;
        let engines = engines.measured(&EngineMetrics::declare(&metrics)?);
        let (how, log) = (config.takes_up, engines.topics.clone());
        // Before any room decides anything.
        let (read, waits) = ((log.clone(), catalogue.clone()), (how, config.catalogue_wait));
        let book = BookWatch::open(read, waits, clock.clone(), &metrics).await?;
        let (numbers, counts) = ((config.partitions, &book), (metrics, config.tracer.clone(), &names));
        let furniture = HouseDeps::new(engines, catalogue, clock, zones, numbers, counts)?;
        let (doors, rooms) = furniture.build_rooms(config)?;
        let HouseDeps { engines, room, metrics, presence, .. } = furniture;
        let room::Deps { clock, quiet, shutdown, .. } = room;
        let mut tasks = JoinSet::new();
        let of_own = readings.iter().filter(|reading| own.contains(&reading.room));
        let groups = of_own.map(|reading| reading.group.clone()).collect();
        let gauges = PresenceMetrics::declare(&metrics)?;
        let still = StandstillGauges::new(&gauges, names.clone(), groups, quiet.clone());
        let history = MetricHistory::new(metrics.clone());
        if let Some(every) = measure_lag {
            let run = history.clone().run(shutdown.clone());
            tasks.spawn(async move { ("the history of the page", run.await) });
            // A room whose processes are all dead tells nobody anything: whoever has the door or keeps house does.
            let tells_all = own.contains(&RoomName::Ingest) || own.contains(&RoomName::Keeper);
            let told = readings.iter().filter(|reading| tells_all || own.contains(&reading.room));
            let gauges = (LagMetrics::declare(&metrics)?, names);
            let lag = LagGauges::new(gauges, told.cloned().collect(), engines.topics.clone(), clock.clone());
            let run = lag.run(every, shutdown.clone());
            tasks.spawn(async move { ("the measuring of lag", run.await) });
        }
        spawn_watches(&mut tasks, watches, &log, &shutdown);
        if how == TakeUpPolicy::IfNew || watches_house {
            let run = book.clone().run(shutdown.clone());
            tasks.spawn(async move { ("the watch on the topic `house`", run.await) });
        }
        for room in rooms {
            // Counted as busy until its own loop is, so that nobody finds a quiet house before it is open.
            let opening = quiet.begin_work();
            tasks.spawn(async move { (room.name, rooms::open_room(room.run, opening).await) });
        }
        let ((fail, failed), (crash, crashed)) = (watch::channel(None), oneshot::channel());
        let supervisor = tokio::spawn(supervise_rooms(tasks, shutdown.clone(), fail, crashed));
        let crash = Mutex::new(Some(crash));
        Ok(Self {
            engines,
            doors,
            clock,
            quiet,
            shutdown,
            metrics,
            history,
            presence,
            still,
            book,
            rooms: own,
            readings,
            own_readings,
            tenant,
            look_again,
            failed,
            crash,
            supervisor,
        })
    }

    /// Lets every room finish what it has in hand. The error is that of the room that failed, if one did.
    pub async fn stop(&self) -> anyhow::Result<()> {
        self.shutdown.start();
        self.wait_until_ended().await;
        self.failed.borrow().clone().map_or(Ok(()), |failed| Err(failed.into()))
    }

    /// Ends every room where it stands, as a crash would: nothing is finished, nothing is handed back. When
    /// this returns no room holds on to the engines any more.
    pub async fn abandon(&self) {
        let crash = self.crash.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(crash) = crash {
            // A house that is over already has nobody to hear this.
            let _unheard = crash.send(());
        }
        self.wait_until_ended().await;
    }

    /// Returns when a room has failed, with its error, a [`HouseFailure`]. A house that is asked to stop never fails.
    pub async fn failure(&self) -> anyhow::Error {
        let mut failed = self.failed.clone();
        let failed = failed.wait_for(Option::is_some).await.ok().and_then(|failed| failed.clone());
        match failed {
            Some(failed) => failed.into(),
            // The supervisor has ended without a failure, so none will come.
            None => pending().await,
        }
    }

    /// Returns when nothing is left to do before the clock moves: every group has committed all there is,
    /// nobody is at work and no sleeper is overdue; found so twice with nothing happening in between.
    /// It looks again whenever somebody's work begins or ends, and now and then where engines are elsewhere.
    pub async fn settle(&self) -> anyhow::Result<()> {
        let mut found = None;
        loop {
            let (idle, changes) = self.quiet.idle_state();
            let calm = idle && self.awaits_the_clock() && self.book.is_taken() && self.is_caught_up().await?;
            if let Some(failed) = self.failed.borrow().clone() {
                return Err(failed.into());
            }
            // It would be waited for in vain. Where engines are elsewhere somebody may mend it there.
            if let Some(still) = self.permanent_standstill().filter(|_| self.look_again.is_none()) {
                bail!("{}: partition {} stands still: {}", still.group, still.partition, still.why);
            }
            if calm && self.quiet.idle_state() == (true, changes) {
                if found == Some(changes) {
                    return Ok(());
                }
                found = Some(changes);
                tokio::task::yield_now().await;
                continue;
            }
            found = None;
            tokio::select! {
                () = self.quiet.wait_for_change(changes) => {}
                () = pause_between_looks(self.look_again) => {}
                error = self.failure() => return Err(error),
            }
        }
    }

    /// What keeps this house from working, if anything does; for everybody to read.
    pub async fn health_problem(&self) -> Option<String> {
        if self.is_over() {
            return Some("the house is stopping".to_owned());
        }
        let (HouseEngines { topics, store, .. }, now) = (&self.engines, UtcMillis(self.clock.now()));
        let log = timeout(ANSWER_TIME_MAX, topics.bounds(topics::EVENTS));
        let store = timeout(ANSWER_TIME_MAX, store.find_answer(&self.tenant, WELL, now));
        let (log, store) = tokio::join!(log, store);
        let awaited = self.presence.awaited_groups();
        let newer = self
            .editions()
            .awaited_edition(now)
            .map(|awaited| awaited.describe_wait(self.editions().own_edition()));
        match (log, store) {
            (Ok(Ok(_)), Ok(Ok(_))) if awaited.is_empty() => newer,
            (Ok(Ok(_)), Ok(Ok(_))) => Some(format!("{} has not joined its group yet", awaited.join(", "))),
            (Ok(Ok(_)), _) => Some("the store does not answer".to_owned()),
            _ => Some("the log does not answer".to_owned()),
        }
    }

    /// Whether the rooms were asked to stop, or one of them has failed.
    pub fn is_over(&self) -> bool {
        self.shutdown.is_started()
    }

    /// How far each stage is. The same right after a restart: it is asked of the log, not remembered.
    pub async fn stages(&self) -> anyhow::Result<Vec<StageView>> {
        stages::read_stage_views(&*self.engines.topics, &self.readings).await
    }

    /// When the oldest record was appended that its room has not read; `None` if all is read.
    pub async fn oldest_unread(&self) -> anyhow::Result<Option<UtcMillis>> {
        stages::oldest_unread(&*self.engines.topics, &self.readings).await
    }

    pub fn engines(&self) -> &HouseEngines {
        &self.engines
    }

    /// What the HTTP way in works with.
    pub fn intake(&self) -> &ingest::Deps {
        &self.doors.intake
    }

    /// What the HTTP way of feeds works with.
    pub fn feed(&self) -> &feed::Deps {
        &self.doors.feed
    }

    /// What the HTTP way of slots works with.
    pub fn slots(&self) -> &slots::Deps {
        &self.doors.slots
    }

    /// Ends what would else go on for as long as its clients like: the streams of feeds.
    pub fn end_streams(&self) {
        self.doors.feed.board.end_streams();
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// As of now.
    pub fn metrics(&self) -> &Metrics {
        self.still.refresh();
        &self.metrics
    }

    /// What this process did in the last hours.
    pub fn history(&self) -> &MetricHistory {
        &self.history
    }

    /// Partitions of this house that cannot go on; all others do.
    pub fn standstills(&self) -> Vec<PartitionStandstill> {
        self.still.list()
    }

    /// Which editions of the catalogue there are.
    pub fn editions(&self) -> &EditionTracker {
        &self.book.editions
    }

    /// What keeps this process informed of what the house notes of itself.
    pub fn book(&self) -> &BookWatch {
        &self.book
    }

    pub fn runs_room(&self, room: RoomName) -> bool {
        self.rooms.contains(&room)
    }

    async fn wait_until_ended(&self) {
        let mut failed = self.failed.clone();
        while failed.changed().await.is_ok() {}
    }

    fn permanent_standstill(&self) -> Option<PartitionStandstill> {
        self.standstills().into_iter().find(|standstill| standstill.for_good)
    }

    fn awaits_the_clock(&self) -> bool {
        self.clock.next_wake().is_none_or(|at| at > self.clock.now())
    }

    async fn is_caught_up(&self) -> anyhow::Result<bool> {
        let readings = [&self.readings[..], &self.own_readings].concat();
        match stages::read_stage_views(&*self.engines.topics, &readings).await {
            Ok(stages) => Ok(stages.iter().all(|stage| stage.lag == 0)),
            // It is looked at again.
            Err(error) if self.look_again.is_some() && is_transient_error(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What runs beside the rooms, and the rooms, each with its name.
type HouseTasks = JoinSet<(&'static str, anyhow::Result<()>)>;

/// Starts who else looks after the house.
fn spawn_watches(
    tasks: &mut HouseTasks,
    watches: Vec<HouseWatch>,
    log: &Arc<dyn Topics>,
    shutdown: &ShutdownSignal,
) {
    for watch in watches {
        let run = watch.start(WatchDeps { topics: log.clone(), shutdown: shutdown.clone() });
        tasks.spawn(async move { (watch.name, run.await) });
    }
}

async fn pause_between_looks(every: Option<Duration>) {
    match every {
        Some(every) => sleep(every).await,
        None => pending().await,
    }
}

/// Whether an engine says that the same may work a little later.
pub fn is_transient_error(error: &anyhow::Error) -> bool {
    let log = matches!(error.downcast_ref(), Some(TopicError::Busy(_)));
    log || matches!(error.downcast_ref(), Some(StoreError::Busy(_)))
        || error.downcast_ref::<HouseFailure>().is_some_and(|failed| failed.is_passing)
}

/// A house that is dropped is abandoned: its rooms must not outlive it.
impl Drop for RunningHouse {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

/// Waits for the rooms. The first that ends before it was asked to takes the others along.
async fn supervise_rooms(
    mut tasks: HouseTasks,
    shutdown: ShutdownSignal,
    fail: watch::Sender<Option<HouseFailure>>,
    crashed: oneshot::Receiver<()>,
) {
    let mut crashed = pin!(async {
        if crashed.await.is_err() {
            pending::<()>().await;
        }
    });
    loop {
        let ended = tokio::select! {
            biased;
            () = &mut crashed => {
                tasks.shutdown().await;
                return;
            }
            ended = tasks.join_next() => ended,
        };
        let (why, is_passing) = match ended {
            None => return,
            Some(Ok((_, Ok(())))) if shutdown.is_started() => continue,
            Some(Ok((name, Ok(())))) => (format!("{name} ended by itself"), false),
            Some(Ok((name, Err(error)))) => (format!("{name}: {error:#}"), is_transient_error(&error)),
            Some(Err(error)) => (format!("a room was cut off: {error}"), false),
        };
        tracing::error!(why, "a room failed; the house stops");
        fail.send_if_modified(|failed| {
            // The first is the cause, the others mostly follow from it.
            let first = failed.is_none();
            failed.get_or_insert_with(|| HouseFailure { why: why.into(), is_passing });
            first
        });
        shutdown.start();
    }
}
