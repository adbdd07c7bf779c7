//! The rooms of the house, each made from the same furniture.

use std::{collections::BTreeSet, future::pending, pin::pin, sync::Arc, time::Duration};

use catalogue::Catalogue;
use futures::future::BoxFuture;
use model::{
    Tenant,
    civil::Zones,
    edition::{EDITION_WAIT_MS, Editions},
    partition::Partitions,
};
use render::Renderer;
use runtime::{Clock, Quiet, Shutdown, metrics::Metrics, quiet::Worker};
use topic::Topics;

use crate::erase::work;

use super::{
    Engines,
    book::TakeUp,
    keeper,
    presence::{Presence, Watched},
};

/// A part of the house that can run without the others, by the name that the command line has for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum Room {
    /// What comes in: HTTP under /v1, the topic `changes`, the page
    Ingest,
    /// Who cares: entries, and the walk through large audiences
    Fanout,
    /// The windows of persons: open, grow, close
    Digest,
    /// The last check, and the mail
    Sender,
    /// Drops expired days, erases persons; one is enough
    Keeper,
}

impl Room {
    /// In the order of the way.
    pub const ALL: [Self; 5] = [Self::Ingest, Self::Fanout, Self::Digest, Self::Sender, Self::Keeper];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Fanout => "fanout",
            Self::Digest => "digest",
            Self::Sender => "sender",
            Self::Keeper => "keeper",
        }
    }
}

/// What may be set about a house.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which rooms it has.
    pub rooms: BTreeSet<Room>,
    /// How often a house that settles looks again although nobody here did anything: engines elsewhere tell
    /// nobody what they did. `None` where all engines are in this process.
    pub look_again: Option<Duration>,
    /// How often the lag is measured; `None` is never.
    pub measure_lag: Option<Duration>,
    /// How many partitions the installation was made with.
    pub partitions: Partitions,
    /// When the catalogue counts as taken up.
    pub takes_up: TakeUp,
    /// How long what a newer catalogue wrote is waited for.
    pub catalogue_wait: Duration,
    pub ingest: ingest::Config,
    pub fanout: fanout::Config,
    pub digest: digest::Config,
    pub sender: sender::Config,
}

impl Config {
    /// The settings of a house as it ships; `lag_max` is the lag at which intake asks to come later.
    pub fn usual(tenant: Tenant, lag_max: u64) -> Self {
        Self {
            rooms: Room::ALL.into(),
            look_again: None,
            measure_lag: None,
            partitions: Partitions::USUAL,
            takes_up: TakeUp::Anew,
            catalogue_wait: Duration::from_millis(EDITION_WAIT_MS.unsigned_abs()),
            ingest: ingest::Config {
                records_max: ingest::config::RECORDS_MAX,
                tenant,
                lag_records_max: lag_max,
                listed_rows_a_minute: ingest::config::LISTED_ROWS_A_MINUTE,
                requests_max: ingest::config::REQUESTS_MAX,
                returns: None,
            },
            fanout: fanout::Config { records_max: fanout::config::RECORDS_MAX },
            digest: digest::Config { records_max: DIGEST_RECORDS_MAX },
            sender: sender::Config::default(),
        }
    }
}

/// Records of one turn of the digest: about what its 5 seconds hold.
const DIGEST_RECORDS_MAX: usize = 500;

/// What all rooms are made from.
#[derive(Clone)]
pub struct Furniture {
    pub engines: Engines,
    pub catalogue: Arc<Catalogue>,
    pub renderer: Arc<Renderer>,
    pub clock: Clock,
    pub zones: Zones,
    pub partitions: Partitions,
    pub editions: Editions,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    pub metrics: Metrics,
    pub presence: Presence,
}

/// A room that has not been opened yet.
pub struct Closed {
    pub name: &'static str,
    pub run: BoxFuture<'static, anyhow::Result<()>>,
}

impl Furniture {
    pub fn new(
        engines: Engines,
        catalogue: Arc<Catalogue>,
        clock: Clock,
        zones: Zones,
        (partitions, (editions, metrics)): (Partitions, (Editions, Metrics)),
    ) -> anyhow::Result<Self> {
        let renderer = Arc::new(Renderer::new(&catalogue)?);
        let (quiet, shutdown) = (Quiet::default(), Shutdown::default());
        let presence = Presence::declare(&metrics)?;
        Ok(Self {
            engines,
            catalogue,
            renderer,
            clock,
            zones,
            partitions,
            editions,
            quiet,
            shutdown,
            metrics,
            presence,
        })
    }

    /// The rooms that are asked for, in the order of the way.
    pub fn rooms(&self, config: Config) -> anyhow::Result<(ingest::Ports, Vec<Closed>)> {
        let intake = self.ingest()?;
        let mut rooms = Vec::new();
        for room in config.rooms {
            let run: BoxFuture<'static, anyhow::Result<()>> = match room {
                Room::Ingest => {
                    let ports = ingest::Ports { topics: self.watched(), ..intake.clone() };
                    Box::pin(ingest::run(ports, config.ingest.clone()))
                }
                Room::Fanout => Box::pin(fanout::run(self.fanout()?, config.fanout.clone())),
                Room::Digest => Box::pin(digest::run(self.digest()?, config.digest.clone())),
                Room::Sender => Box::pin(sender::run(self.sender()?, config.sender.clone())),
                Room::Keeper => {
                    let (keeper, eraser) = (keeper::run(self.keeper()?), work::run(self.eraser()));
                    Box::pin(async { tokio::try_join!(keeper, eraser).map(|_| ()) })
                }
            };
            rooms.push(Closed { name: room.name(), run });
        }
        Ok((intake, rooms))
    }

    /// The log as rooms get it.
    fn watched(&self) -> Arc<dyn Topics> {
        Arc::new(Watched { log: self.engines.topics.clone(), presence: self.presence.clone() })
    }

    fn ingest(&self) -> anyhow::Result<ingest::Ports> {
        let Self { engines, catalogue, clock, zones, partitions, editions, quiet, shutdown, .. } =
            self.clone();
        let metrics = ingest::IngestMetrics::declare(&self.metrics)?;
        let Engines { topics, store, schemas, .. } = engines;
        Ok(ingest::Ports {
            topics,
            store,
            schemas,
            catalogue,
            zones,
            partitions,
            editions,
            clock,
            quiet,
            shutdown,
            metrics,
        })
    }

    fn fanout(&self) -> anyhow::Result<fanout::Ports> {
        let Self { engines, catalogue, clock, partitions, editions, quiet, shutdown, .. } = self.clone();
        let metrics = fanout::FanoutMetrics::declare(&self.metrics)?;
        let (topics, store) = (self.watched(), engines.store);
        Ok(fanout::Ports { topics, store, catalogue, partitions, editions, clock, quiet, shutdown, metrics })
    }

    fn digest(&self) -> anyhow::Result<digest::Ports> {
        let Self { engines, catalogue, clock, zones, partitions, editions, quiet, shutdown, .. } =
            self.clone();
        let metrics = digest::metrics::DigestMetrics::declare(&self.metrics)?;
        let (topics, store, live) = (self.watched(), engines.store, engines.live);
        Ok(digest::Ports {
            topics,
            store,
            live,
            catalogue,
            zones,
            partitions,
            editions,
            clock,
            quiet,
            shutdown,
            metrics,
        })
    }

    fn sender(&self) -> anyhow::Result<sender::Ports> {
        let Self { engines, catalogue, renderer, clock, zones, partitions, quiet, shutdown, .. } =
            self.clone();
        let metrics = sender::metrics::SenderMetrics::declare(&self.metrics)?;
        let (topics, store, courier) = (self.watched(), engines.store, engines.courier);
        Ok(sender::Ports {
            topics,
            store,
            courier,
            catalogue,
            renderer,
            zones,
            partitions,
            clock,
            quiet,
            shutdown,
            metrics,
        })
    }

    fn eraser(&self) -> work::Ports {
        let Self { engines, clock, partitions, quiet, shutdown, .. } = self.clone();
        work::Ports { topics: self.watched(), engines, partitions, clock, quiet, shutdown }
    }

    fn keeper(&self) -> anyhow::Result<keeper::Ports> {
        let Self { engines, clock, quiet, shutdown, .. } = self.clone();
        let metrics = keeper::KeeperMetrics::declare(&self.metrics)?;
        Ok(keeper::Ports { store: engines.store, clock, quiet, shutdown, metrics })
    }
}

/// Runs a room. `opening` says that somebody is at work until the room can say so itself: until it waits
/// for something for the first time.
pub async fn open(run: BoxFuture<'static, anyhow::Result<()>>, opening: Worker) -> anyhow::Result<()> {
    let mut run = pin!(run);
    let opened = async move {
        drop(opening);
        pending::<()>().await;
    };
    tokio::select! {
        biased;
        ended = &mut run => ended,
        // Polled last: by now the room has got as far as it could by itself.
        () = opened => Ok(()),
    }
}
