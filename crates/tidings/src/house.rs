//! The house: every room, running on whatever engines it was given.
//!
//! `up`, the scenario runner and the tests all start this one, so what they show is what runs. A house ends
//! in one of three ways: [`House::stop`] lets every room finish what it has in hand, [`House::abandon`]
//! takes the floor away as a crash would, and a room that fails stops the others and keeps its error.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, anyhow, bail};
use catalogue::Catalogue;
use courier::Courier;
use model::civil::Zones;
use runtime::{Clock, Quiet, Shutdown, metrics::Metrics};
use store::Store;
use tokio::{
    sync::{oneshot, watch},
    task::{JoinHandle, JoinSet},
};
use topic::Topics;

mod keeper;
mod rooms;
mod stages;
#[cfg(test)]
mod tests;

use rooms::Furniture;

pub use rooms::Config;
pub use stages::{STAGES, Stage, StageView, declare, oldest_unread};

/// What a house stands on.
#[derive(Clone, Debug)]
pub struct Engines {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub courier: Arc<dyn Courier>,
}

/// A running house.
pub struct House {
    engines: Engines,
    intake: ingest::Ports,
    clock: Clock,
    quiet: Quiet,
    shutdown: Shutdown,
    metrics: Metrics,
    /// What ended the house before it was asked to; `None` while all is well. Closed when all rooms ended.
    failed: watch::Receiver<Option<Arc<str>>>,
    crash: Mutex<Option<oneshot::Sender<()>>>,
    supervisor: JoinHandle<()>,
}

impl House {
    /// Declares the topics and starts every room. The rooms take what they were in the middle of from the
    /// engines; [`House::settle`] says when they have.
    pub async fn start(
        engines: Engines,
        catalogue: Arc<Catalogue>,
        clock: Clock,
        zones: Zones,
        config: Config,
    ) -> anyhow::Result<Self> {
        declare(&*engines.topics, config.partitions).await.context("declare the topics")?;
        let furniture = Furniture::new(engines, catalogue, clock, zones, config.partitions)?;
        let (intake, rooms) = furniture.rooms(config)?;
        let Furniture { engines, clock, quiet, shutdown, metrics, .. } = furniture;
        let mut tasks = JoinSet::new();
        for room in rooms {
            // Counted as busy until its own loop is, so that nobody finds a quiet house before it is open.
            let opening = quiet.worker();
            tasks.spawn(async move { (room.name, rooms::open(room.run, opening).await) });
        }
        let (fail, failed) = watch::channel(None);
        let (crash, crashed) = oneshot::channel();
        let supervisor = tokio::spawn(supervise(tasks, shutdown.clone(), fail, crashed));
        let crash = Mutex::new(Some(crash));
        Ok(Self { engines, intake, clock, quiet, shutdown, metrics, failed, crash, supervisor })
    }

    /// Lets every room finish what it has in hand. The error is that of the room that failed, if one did.
    pub async fn stop(&self) -> anyhow::Result<()> {
        self.shutdown.start();
        self.ended().await;
        match self.failed.borrow().as_deref() {
            None => Ok(()),
            Some(why) => bail!("{why}"),
        }
    }

    /// Ends every room where it stands, as a crash would: nothing is finished, nothing is handed back. When
    /// this returns no room holds on to the engines any more.
    pub async fn abandon(&self) {
        let crash = self.crash.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(crash) = crash {
            // A house that is over already has nobody to hear this.
            let _unheard = crash.send(());
        }
        self.ended().await;
    }

    /// Returns when a room has failed, with its error. A house that is asked to stop never fails.
    pub async fn failure(&self) -> anyhow::Error {
        let mut failed = self.failed.clone();
        let why = failed.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        match why {
            Some(why) => anyhow!("{why}"),
            // The supervisor has ended without a failure, so none will come.
            None => std::future::pending().await,
        }
    }

    /// Returns when nothing is left to do before the clock moves: every group has committed all there is,
    /// nobody is at work and no sleeper is overdue; found so twice with nothing happening in between.
    /// Sleeps nowhere: it looks again whenever somebody's work begins or ends.
    pub async fn settle(&self) -> anyhow::Result<()> {
        let mut found = None;
        loop {
            let (idle, changes) = self.quiet.now();
            let calm = idle && self.awaits_the_clock() && self.is_caught_up().await?;
            if let Some(why) = self.failed.borrow().as_deref() {
                bail!("{why}");
            }
            if calm && self.quiet.now() == (true, changes) {
                if found == Some(changes) {
                    return Ok(());
                }
                found = Some(changes);
                tokio::task::yield_now().await;
                continue;
            }
            found = None;
            tokio::select! {
                () = self.quiet.changed(changes) => {}
                error = self.failure() => return Err(error),
            }
        }
    }

    /// Whether the rooms were asked to stop, or one of them has failed.
    pub fn is_over(&self) -> bool {
        self.shutdown.started()
    }

    /// How far each stage is. The same right after a restart: it is asked of the log, not remembered.
    pub async fn stages(&self) -> anyhow::Result<Vec<StageView>> {
        stages::views(&*self.engines.topics).await
    }

    pub fn engines(&self) -> &Engines {
        &self.engines
    }

    /// What the HTTP way in works with.
    pub fn intake(&self) -> &ingest::Ports {
        &self.intake
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    async fn ended(&self) {
        let mut failed = self.failed.clone();
        while failed.changed().await.is_ok() {}
    }

    fn awaits_the_clock(&self) -> bool {
        self.clock.next_wake().is_none_or(|at| at > self.clock.now())
    }

    async fn is_caught_up(&self) -> anyhow::Result<bool> {
        Ok(self.stages().await?.iter().all(|stage| stage.lag == 0))
    }
}

/// A house that is dropped is abandoned: its rooms must not outlive it.
impl Drop for House {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

/// Waits for the rooms. The first that ends before it was asked to takes the others along.
async fn supervise(
    mut tasks: JoinSet<(&'static str, anyhow::Result<()>)>,
    shutdown: Shutdown,
    fail: watch::Sender<Option<Arc<str>>>,
    crashed: oneshot::Receiver<()>,
) {
    let mut crashed = pin!(async {
        if crashed.await.is_err() {
            std::future::pending::<()>().await;
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
        let why = match ended {
            None => return,
            Some(Ok((_, Ok(())))) if shutdown.started() => continue,
            Some(Ok((name, Ok(())))) => format!("{name} ended by itself"),
            Some(Ok((name, Err(error)))) => format!("{name}: {error:#}"),
            Some(Err(error)) => format!("a room was cut off: {error}"),
        };
        tracing::error!(why, "a room failed; the house stops");
        fail.send_if_modified(|failed| {
            // The first is the cause, the others mostly follow from it.
            let first = failed.is_none();
            failed.get_or_insert_with(|| why.into());
            first
        });
        shutdown.start();
    }
}
