//! Where a house lives: its engines opened, the house on them watched, and all of it closed again.
//!
//! A disk without room is the one trouble that goes away by itself. So the house is stopped in good order
//! when its disk is down to half of the reserve, or when an engine has found it full (after which that
//! engine takes nothing until it is opened anew), and opened again on the same directory when there is
//! room. Any other trouble ends the process: nobody here could mend it.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use axum::Router;
use catalogue::Catalogue;
use courier::outbox::Outbox;
use model::{Millis, civil::Zones};
use runtime::{Shutdown, retry};
use sender::Links;
use store::{Answers as _, StoreError};
use tokio::{
    task::spawn_blocking,
    time::{interval, timeout},
};
use topic::{TopicError, Topics as _};
use wire::{token::Secret, topics};

use crate::{
    config::Config,
    datadir::{DataDir, DemoClock, disk_free, has_room},
    house::{self, House},
    http::{self, App, guard::Guard, page::Pages},
};

/// How often disk and engines are looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How long the rooms may take for what they have in hand, before they are left where they stand.
const ORDERLY_TIME_MAX: Duration = Duration::from_secs(15);
/// How long requests that are under way may hold on to a house that has stopped. Longer than any may take.
const REQUESTS_TIME_MAX: Duration = Duration::from_secs(30);
const REQUESTS_LOOK: Duration = Duration::from_millis(20);
/// Engines that were just closed may need a moment to let go of their locks.
const OPEN_TRIES: u32 = 8;
/// The key of an answer that stands for a day, so that asking for it writes next to nothing.
const WELL: &str = "well:up";

/// All that stays, whether or not there is a house.
pub struct Site {
    pub config: Config,
    pub data: DataDir,
    pub catalogue: Arc<Catalogue>,
    pub clock: Arc<DemoClock>,
    /// Stays open: it is a folder of files, and one that could not be written is written again.
    pub outbox: Arc<Outbox>,
    pub guard: Guard,
    /// By which this machine reaches us.
    pub address: String,
    /// What the links of mails are signed with.
    pub secret: Secret,
}

/// The engines of a directory.
pub struct Engines {
    topics: topic::embedded::Embedded,
    store: Arc<store::embedded::Embedded>,
}

/// A house on its engines.
pub struct Home {
    house: Arc<House>,
    engines: Engines,
}

/// How a house came to its end.
#[derive(Debug)]
pub enum End {
    Asked,
    /// There is no room on the disk, as these words say.
    NoRoom(String),
    Failed(anyhow::Error),
}

/// Opens the engines of a directory, side by side.
pub async fn engines(data: &DataDir, clock: &DemoClock) -> anyhow::Result<Engines> {
    let (topics, store, time) = (data.topics(), data.store(), clock.clock().clone());
    let topics = spawn_blocking(move || topic::embedded::Embedded::open(&topics, time));
    let store = spawn_blocking(move || store::embedded::Embedded::open(&store));
    // Both to their end: what is still being opened could not be closed.
    let (topics, store) = (topics.await, store.await);
    let topics = topics.context("open the topics")?.context("open the topics")?;
    let store = store.context("open the store")?.context("open the store")?;
    Ok(Engines { topics, store: Arc::new(store) })
}

impl Site {
    /// Starts a house, and what answers for it.
    pub async fn start(&self, engines: Engines) -> anyhow::Result<(Home, Router)> {
        let Config { tenant, limits, api_keys, demo, disk_reserve, public_url, .. } = &self.config;
        let mut settings = house::Config::usual(tenant.clone(), limits.lag);
        let public_url = public_url.as_deref().unwrap_or(&self.address);
        settings.sender.links = Some(Links::new(public_url, self.secret.clone()));
        let intake = settings.ingest.clone();
        let stands_on = house::Engines {
            topics: Arc::new(engines.topics.clone()),
            store: engines.store.clone(),
            courier: self.outbox.clone(),
        };
        let (catalogue, clock) = (self.catalogue.clone(), self.clock.clock().clone());
        let house = House::start(stands_on, catalogue, clock, Zones::system(), settings).await?;
        let house = Arc::new(house);
        let (dir, reserve) = (self.data.path().to_owned(), *disk_reserve);
        let app = App {
            house: house.clone(),
            catalogue: self.catalogue.clone(),
            outbox: self.outbox.clone(),
            clock: self.clock.clone(),
            tenant: tenant.clone(),
            is_demo: *demo,
            guard: self.guard.clone(),
            // A disk that cannot be asked is not full; whoever writes will be told.
            disk_low: Arc::new(move || disk_free(&dir).is_ok_and(|free| free < reserve)),
            intake,
            pages: Pages::new()?,
            archive: http::Desk::default(),
            unsubscribe: http::Unsubscribe::new(self.secret.clone()),
        };
        Ok((Home { house, engines }, http::router(Arc::new(app), api_keys)))
    }

    /// What answers while there is no house.
    pub fn waiting(&self) -> Router {
        let (guard, dir) = (self.guard.clone(), self.data.path().to_owned());
        http::waiting::router(http::Waiting { guard, dir, needs: self.config.disk_reserve })
    }

    /// Waits until there is room again, and opens everything anew.
    pub async fn reopen(&self) -> anyhow::Result<(Home, Router)> {
        let (dir, mut looks) = (self.data.path(), interval(LOOK));
        let mut opened = None;
        while opened.is_none() {
            looks.tick().await;
            if room(dir, self.config.disk_reserve).await {
                opened = self.try_open().await?;
            }
        }
        opened.context("nothing was opened")
    }

    /// `None` if the disk was full again before everything was open.
    async fn try_open(&self) -> anyhow::Result<Option<(Home, Router)>> {
        let mut tries = 0;
        loop {
            let opened = match engines(&self.data, &self.clock).await {
                Ok(engines) => self.start(engines).await,
                Err(error) => Err(error),
            };
            match opened {
                Ok(opened) => return Ok(Some(opened)),
                Err(error) if is_full(&error) => return Ok(None),
                Err(error) if tries == OPEN_TRIES => return Err(error),
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "the engines are not open yet");
                }
            }
            retry::pause(tries, 0).await;
            tries += 1;
        }
    }
}

/// Whether there is room for a house.
async fn room(dir: &Path, reserve: u64) -> bool {
    let dir = dir.to_owned();
    match spawn_blocking(move || has_room(&dir, reserve)).await.context("look for room").flatten() {
        Ok(is_there) => is_there,
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the disk cannot be asked how full it is");
            false
        }
    }
}

fn is_full(error: &anyhow::Error) -> bool {
    let topics = matches!(error.downcast_ref(), Some(TopicError::Full(_)));
    topics || matches!(error.downcast_ref(), Some(StoreError::Full(_)))
}

impl Home {
    /// Returns when the house has come to its end, or must.
    pub async fn end(&self, site: &Site, stop: &Shutdown) -> End {
        let (dir, reserve) = (site.data.path(), site.config.disk_reserve);
        let mut looks = interval(LOOK);
        loop {
            let failed = tokio::select! {
                () = stop.wait() => return End::Asked,
                error = self.house.failure() => Some(Trouble::Broken(format!("{error:#}"))),
                _ = looks.tick() => None,
            };
            let mut troubles = self.engines.troubles(site).await;
            troubles.extend(failed);
            let free = disk_free(dir).inspect_err(|error| {
                tracing::warn!(error = format!("{error:#}"), "the disk cannot be asked how full it is");
            });
            if let Some(end) = judge(free.ok(), reserve, troubles) {
                return end;
            }
        }
    }

    /// Asks the rooms to stop, and waits for them.
    pub async fn stop(&self) -> anyhow::Result<()> {
        self.house.stop().await
    }

    /// Stops the house and lets go of everything in the directory. Nobody may be sent to it any more; those
    /// who are with it already are waited for.
    pub async fn close(self) -> anyhow::Result<()> {
        let Self { house, engines: Engines { topics, store } } = self;
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
            while Arc::strong_count(&store) > 1 {
                looks.tick().await;
            }
        };
        let held = "a request that does not end holds on to the engines, so they cannot be opened anew";
        timeout(REQUESTS_TIME_MAX, alone).await.map_err(|_| anyhow!(held))?;
        let close = move || {
            topics.close();
            drop(store);
        };
        spawn_blocking(close).await.context("close the engines")
    }
}

/// What is wrong with a part of a house.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trouble {
    Full(String),
    Broken(String),
}

impl Engines {
    /// What is wrong with the engines for good. Who writes to an engine whose write failed behind its back
    /// is told; the rooms try again for as long as it takes, so somebody has to ask.
    async fn troubles(&self, site: &Site) -> Vec<Trouble> {
        let now = Millis(site.clock.clock().now());
        let answer = self.store.answer(&site.config.tenant, WELL, Vec::new(), now);
        let store = match timeout(LOOK, answer).await {
            Ok(Err(StoreError::Full(why))) => Some(Trouble::Full(why)),
            Ok(Err(StoreError::Broken(why))) => Some(Trouble::Broken(why)),
            // Who is busy, and be it for long, is not broken.
            Ok(Err(StoreError::Busy(_)) | Ok(_)) | Err(_) => None,
        };
        let topics = match self.topics.bounds(topics::EVENTS).await {
            Err(TopicError::Full(why)) => Some(Trouble::Full(why)),
            Err(TopicError::Refused(why) | TopicError::Broken(why)) => Some(Trouble::Broken(why)),
            Err(TopicError::Busy(_)) | Ok(_) => None,
        };
        store.into_iter().chain(topics).collect()
    }
}

/// Whether a house must end, and how. On a disk that is down to its reserve any trouble is taken to come
/// from that: when there is room it either comes again, and ends the process, or it does not.
fn judge(free: Option<u64>, reserve: u64, mut troubles: Vec<Trouble>) -> Option<End> {
    let full = troubles.iter().position(|trouble| matches!(trouble, Trouble::Full(_)));
    let first = match full {
        Some(full) => Some(troubles.swap_remove(full)),
        None if troubles.is_empty() => None,
        None => Some(troubles.swap_remove(0)),
    };
    match (first, free) {
        (Some(Trouble::Full(why)), _) => Some(End::NoRoom(why)),
        (Some(Trouble::Broken(why)), Some(free)) if free < reserve => Some(End::NoRoom(why)),
        (Some(Trouble::Broken(why)), _) => Some(End::Failed(anyhow!(why))),
        (None, Some(free)) if free < reserve / 2 => {
            Some(End::NoRoom(format!("the disk has only {} MiB left", free >> 20)))
        }
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_disk_is_waited_for() {
        let full = || Trouble::Full("full".to_owned());
        let broken = || Trouble::Broken("broken".to_owned());
        let check = |free: Option<u64>, troubles: Vec<Trouble>, expect: &str| {
            let end = judge(free, 100, troubles);
            let found = match &end {
                None => "goes on".to_owned(),
                Some(End::Asked) => "asked".to_owned(),
                Some(End::NoRoom(why)) => format!("waits: {why}"),
                Some(End::Failed(error)) => format!("ends: {error}"),
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
        let full = |error: anyhow::Error| is_full(&error.context("open the store").context("more"));
        assert!(full(StoreError::Full("no room".to_owned()).into()));
        assert!(full(TopicError::Full("no room".to_owned()).into()));
        assert!(!full(StoreError::Broken("a hole".to_owned()).into()));
        assert!(!full(anyhow!("full")));
    }
}
