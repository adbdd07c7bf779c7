//! Where a house lives: its engines opened, the house on them watched, and all of it closed again.
//!
//! Two troubles go away by themselves. A disk without room: the house is stopped in good order when its disk
//! is down to half of the reserve, or when an engine has found it full (after which that engine takes nothing
//! until it is opened anew), and opened again on the same directory when there is room. And a cluster that
//! was away for longer than a room waits: the house is opened again when it is back. Any other trouble ends
//! the process: nobody here could mend it.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use adapters::{
    engine_setup::{
        self, HouseEngineError, OpenedEngines,
        format_gate::{RaisingCommand, WayBack},
    },
    trace_setup::TraceSetup,
};
use anyhow::{Context as _, anyhow};
use axum::Router;
use catalogue::Catalogue;
use console::standby::StandbyReason;
use courier::{Courier, outbox::OutboxCourier};
use futures::future::BoxFuture;
use house::{self, RoomName, RunningHouse};
use model::UtcMillis;
use runtime::{ShutdownSignal, metrics::Metrics, retry};
use settings::config::{Config, EngineConfig};
use shell::{
    datadir::{DataDir, DemoClock, disk_free, has_room},
    disks::WatchedDisks,
    terminal,
};
use store::StoreError;
use tokio::{
    task::spawn_blocking,
    time::{interval, timeout},
};
use topic::TopicError;
use web::RequestGuard;
use wire::token::LinkSecret;

use crate::{addresses::AddressSetup, api_keys::ApiKeySetup, person_keys::PersonKeySetup};

/// How often disk and engines are looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How long the rooms may take for what they have in hand, before they are left where they stand.
const ORDERLY_TIME_MAX: Duration = Duration::from_secs(15);
/// How long requests that are under way may hold on to a house that has stopped. Longer than any may take.
const REQUESTS_TIME_MAX: Duration = Duration::from_secs(30);
const REQUESTS_LOOK: Duration = Duration::from_millis(20);
/// Engines that were just closed may need a moment to let go of their locks.
const OPEN_TRIES: u32 = 8;
/// How long a process waits at its start for engines that are away.
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// All that stays, whether or not there is a house.
pub struct ProcessContext {
    pub config: Config,
    pub data: Arc<DataDir>,
    pub catalogue: Arc<Catalogue>,
    pub clock: Arc<DemoClock>,
    /// Stays open: it is a folder of files, and one that could not be written is written again.
    /// Nothing where messages only leave by ways.
    pub outbox: Option<Arc<OutboxCourier>>,
    /// By which messages leave the house.
    pub courier: Arc<dyn Courier>,
    /// By what browsers know the house.
    pub web_key: views::devices::WebKey,
    pub guard: RequestGuard,
    /// By which this machine reaches us.
    pub address: String,
    /// What the links of mails are signed with.
    pub secret: LinkSecret,
    /// Which rooms live here.
    pub rooms: BTreeSet<RoomName>,
    /// Whether the format of the house may be raised to one that the release before cannot read.
    pub way_back: WayBack,
    /// What this process counts, whether or not there is a house.
    pub metrics: Metrics,
    /// Where IP addresses are.
    pub addresses: AddressSetup,
    /// Which services may ask.
    pub api_keys: ApiKeySetup,
    /// And which logins say who a person is.
    pub person_keys: PersonKeySetup,
    /// What records traces, if anything does.
    pub traces: TraceSetup,
    /// Starts a house on engines that were opened, and what answers for it.
    pub compose: ComposeHouse,
}

/// How a house is put together, each time anew.
pub type ComposeHouse =
    for<'a> fn(&'a ProcessContext, OpenedEngines) -> BoxFuture<'a, anyhow::Result<(ProcessHouse, Router)>>;

/// A house on its engines.
pub struct ProcessHouse {
    pub house: Arc<RunningHouse>,
    pub engines: OpenedEngines,
    pub disks: WatchedDisks,
}

/// How a house came to its end.
#[derive(Debug)]
pub enum HouseEnd {
    Asked,
    /// There is no room on the disk, or there are too many files open, as these words say.
    NoRoom(String),
    /// An engine elsewhere does not answer.
    Away(String),
    Failed(anyhow::Error),
}

impl ProcessContext {
    /// Opens engines and house at the start: engines that are away are waited for a while, with a word.
    pub async fn open(&self, migrates: bool) -> anyhow::Result<(ProcessHouse, Router)> {
        let say = |why: &str| terminal::print_talk(format!("waiting: {why}"));
        if let EngineConfig::Production(engines) = &self.config.engine
            && migrates
        {
            let (clock, partitions) = (self.clock.clock(), self.config.partitions);
            let what = (Some(&*self.catalogue), clock);
            engine_setup::retry_while_away(Some(START_TIME_MAX), say, async || {
                engine_setup::migrate::check_reachable(engines, clock).await
            })
            .await?;
            let (dir, raise) = (self.data.path(), (self.way_back, RaisingCommand::Up));
            let done = engine_setup::migrate::migrate_engines(engines, partitions, dir, what, raise).await?;
            done.into_iter().for_each(terminal::print_talk);
        }
        engine_setup::retry_while_away(Some(START_TIME_MAX), say, async || self.try_start().await).await
    }

    async fn try_start(&self) -> anyhow::Result<(ProcessHouse, Router)> {
        let engines =
            engine_setup::open_engines(&self.config, self.clock.clock(), self.foreign_topics()).await?;
        let started = (self.compose)(self, engines.clone()).await;
        if started.is_err()
            && let Err(error) = engines.close().await
        {
            tracing::warn!(error = format!("{error:#}"), "engines on which no house started were not closed");
        }
        started
    }

    /// The topics of others that are read here.
    pub fn foreign_topics(&self) -> BTreeSet<String> {
        self.catalogue.foreign_topics()
    }

    /// What answers while there is no house.
    pub fn waiting_router(&self, why: StandbyReason) -> Router {
        console::standby::router(console::StandbyHouse { guard: self.guard.clone(), why })
    }

    /// What answers while there is no room.
    pub fn full_disk_router(&self) -> Router {
        self.waiting_router(StandbyReason::Full {
            dir: self.data.path().to_owned(),
            needs: self.config.disk_reserve,
        })
    }

    /// Waits until engines that were away are back, and opens everything anew.
    pub async fn reopen_when_back(&self) -> anyhow::Result<(ProcessHouse, Router)> {
        let say = |why: &str| tracing::warn!(why, "an engine is still unreachable");
        engine_setup::retry_while_away(None, say, async || self.try_start().await).await
    }

    /// Waits until there is room again, and opens everything anew.
    pub async fn reopen_when_room(&self) -> anyhow::Result<(ProcessHouse, Router)> {
        let (dir, mut looks) = (self.data.path(), interval(LOOK));
        let mut opened = None;
        while opened.is_none() {
            looks.tick().await;
            if has_room_for_house(dir, self.config.disk_reserve).await {
                opened = self.try_open().await?;
            }
        }
        opened.context("nothing was opened")
    }

    /// `None` if the disk was full again before everything was open.
    async fn try_open(&self) -> anyhow::Result<Option<(ProcessHouse, Router)>> {
        let mut tries = 0;
        loop {
            let opened = self.try_start().await;
            match opened {
                Ok(opened) => return Ok(Some(opened)),
                Err(error) if is_full_error(&error) => return Ok(None),
                Err(error) if tries == OPEN_TRIES => return Err(error),
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "the engines are not open yet");
                }
            }
            retry::pause_before_retry(tries, 0).await;
            tries += 1;
        }
    }
}

/// Whether there is room for a house.
async fn has_room_for_house(dir: &Path, reserve: u64) -> bool {
    let dir = dir.to_owned();
    match spawn_blocking(move || has_room(&dir, reserve)).await.context("check the disk space").flatten() {
        Ok(is_there) => is_there,
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the disk usage cannot be read");
            false
        }
    }
}

fn is_full_error(error: &anyhow::Error) -> bool {
    let topics = matches!(error.downcast_ref(), Some(TopicError::Full(_)));
    topics || matches!(error.downcast_ref(), Some(StoreError::Full(_)))
}

impl ProcessHouse {
    /// Returns when the house has come to its end, or must.
    pub async fn wait_for_end(&self, site: &ProcessContext, stop: &ShutdownSignal) -> HouseEnd {
        let (dir, reserve) = (site.data.path(), site.config.disk_reserve);
        let mut looks = interval(LOOK);
        loop {
            let failed = tokio::select! {
                () = stop.wait() => return HouseEnd::Asked,
                error = self.house.failure() => Some(error),
                _ = looks.tick() => None,
            };
            let disks = self.disks.clone();
            if spawn_blocking(move || disks.low_disks()).await.is_err() {
                tracing::warn!("the disk usage could not be checked");
            }
            if let EngineConfig::Production(_) = site.config.engine {
                match failed {
                    Some(error) if house::is_transient_error(&error) => {
                        return HouseEnd::Away(format!("{error:#}"));
                    }
                    Some(error) => return HouseEnd::Failed(error),
                    None => continue,
                }
            }
            let now = UtcMillis(site.clock.clock().now());
            let mut troubles = self.engines.find_errors(&site.config.tenant, now).await;
            troubles.extend(failed.map(|error| {
                let why = format!("{error:#}");
                if is_full_error(&error) {
                    HouseEngineError::Full(why)
                } else {
                    HouseEngineError::Broken(why)
                }
            }));
            let free = disk_free(dir).inspect_err(|error| {
                tracing::warn!(error = format!("{error:#}"), "the disk usage cannot be read");
            });
            if let Some(end) = judge_end(free.ok(), reserve, troubles) {
                return end;
            }
        }
    }

    /// Whether nothing was ever said to this house.
    pub async fn is_new(&self) -> anyhow::Result<bool> {
        Ok(self.engines.is_new().await?)
    }

    /// Returns when nothing is left to do before the clock moves.
    pub async fn settle(&self) -> anyhow::Result<()> {
        self.house.settle().await
    }

    /// Asks the rooms to stop, and waits for them.
    pub async fn stop(&self) -> anyhow::Result<()> {
        self.house.stop().await
    }

    /// Stops the house and lets go of everything in the directory. Nobody may be sent to it any more; those
    /// who are with it already are waited for.
    pub async fn close(self) -> anyhow::Result<()> {
        let Self { house, engines, .. } = self;
        match timeout(ORDERLY_TIME_MAX, house.stop()).await {
            // Why a room failed is known by now, and what it had in hand it takes up again.
            Ok(_) => {}
            Err(_) => house.abandon().await,
        }
        let mut looks = interval(REQUESTS_LOOK);
        let alone = async {
            while Arc::strong_count(&house) > 1 {
                looks.tick().await;
            }
            drop(house);
            while engines.is_held() {
                looks.tick().await;
            }
        };
        let held = "a request that does not end still holds the engines, so they cannot be opened again";
        timeout(REQUESTS_TIME_MAX, alone).await.map_err(|_| anyhow!(held))?;
        engines.close().await
    }
}

/// Whether a house must end, and how. On a disk that is down to its reserve any trouble is taken to come
/// from that: when there is room it either comes again, and ends the process, or it does not.
fn judge_end(free: Option<u64>, reserve: u64, mut troubles: Vec<HouseEngineError>) -> Option<HouseEnd> {
    let full = troubles.iter().position(|trouble| matches!(trouble, HouseEngineError::Full(_)));
    let first = match full {
        Some(full) => Some(troubles.swap_remove(full)),
        None if troubles.is_empty() => None,
        None => Some(troubles.swap_remove(0)),
    };
    match (first, free) {
        (Some(HouseEngineError::Full(why)), _) => Some(HouseEnd::NoRoom(why)),
        (Some(HouseEngineError::Broken(why)), Some(free)) if free < reserve => Some(HouseEnd::NoRoom(why)),
        (Some(HouseEngineError::Broken(why)), _) => Some(HouseEnd::Failed(anyhow!(why))),
        (None, Some(free)) if free < reserve / 2 => {
            Some(HouseEnd::NoRoom(format!("the disk has only {} MiB left", free >> 20)))
        }
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_disk_is_waited_for() {
        let full = || HouseEngineError::Full("full".to_owned());
        let broken = || HouseEngineError::Broken("broken".to_owned());
        let check = |free: Option<u64>, troubles: Vec<HouseEngineError>, expect: &str| {
            let end = judge_end(free, 100, troubles);
            let found = match &end {
                None => "goes on".to_owned(),
                Some(HouseEnd::Asked) => "asked".to_owned(),
                Some(HouseEnd::NoRoom(why)) => format!("waits: {why}"),
                Some(HouseEnd::Away(why)) => format!("is away: {why}"),
                Some(HouseEnd::Failed(error)) => format!("ends: {error}"),
            };
            assert_eq!(found, expect, "{free:?}");
        };
        check(Some(1_000), vec![], "goes on");
        check(Some(50), vec![], "goes on");
        check(None, vec![], "goes on");
        check(Some(49), vec![], "waits: the disk has only 0 MiB left");
        check(Some(1_000), vec![full()], "waits: full");
        check(None, vec![full()], "waits: full");
        check(Some(1_000), vec![broken(), full()], "waits: full");
        check(Some(99), vec![broken()], "waits: broken");
        check(Some(100), vec![broken()], "ends: broken");
        check(None, vec![broken()], "ends: broken");
    }

    #[test]
    fn a_full_engine_is_known_through_its_context() {
        let full = |error: anyhow::Error| is_full_error(&error.context("open the store").context("more"));
        assert!(full(StoreError::Full("no room".to_owned()).into()));
        assert!(full(TopicError::Full("no room".to_owned()).into()));
        assert!(!full(StoreError::Broken("a hole".to_owned()).into()));
        assert!(!full(anyhow!("full")));
    }
}
