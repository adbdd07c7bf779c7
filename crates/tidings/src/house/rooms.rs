//! The rooms of the house, each made from the same furniture.

use std::{future::pending, pin::pin, sync::Arc};

use catalogue::{Catalogue, Problems};
use futures::future::BoxFuture;
use model::{Tenant, civil::Zones, partition::Partitions};
use render::Renderer;
use runtime::{Clock, Quiet, Shutdown, metrics::Metrics, quiet::Worker};

use super::{Engines, keeper};

/// What may be set about a house.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many partitions the installation was made with.
    pub partitions: Partitions,
    pub ingest: ingest::Config,
    pub fanout: fanout::Config,
    pub digest: digest::Config,
    pub sender: sender::Config,
}

impl Config {
    /// The settings of a house as it ships; `lag_max` is the lag at which intake asks to come later.
    pub fn usual(tenant: Tenant, lag_max: u64) -> Self {
        Self {
            partitions: Partitions::USUAL,
            ingest: ingest::Config {
                records_max: ingest::config::RECORDS_MAX,
                tenant,
                lag_records_max: lag_max,
                requests_max: ingest::config::REQUESTS_MAX,
            },
            fanout: fanout::Config { records_max: fanout::config::RECORDS_MAX },
            digest: digest::Config { records_max: DIGEST_RECORDS_MAX },
            sender: sender::Config {
                records_max: SENDER_RECORDS_MAX,
                at_once_max: SENDER_AT_ONCE_MAX,
                claim_ms: SENDER_CLAIM_MS,
                links: None,
            },
        }
    }
}

/// Records of one turn of the digest: about what its 5 seconds hold.
const DIGEST_RECORDS_MAX: usize = 500;
/// Readys of one turn of the sender: what is lost by a crash is asked of the journal again.
const SENDER_RECORDS_MAX: usize = 64;
const SENDER_AT_ONCE_MAX: usize = 16;
/// How long a hand-over may take before it is unknown: longer than a slow mail server needs to answer.
const SENDER_CLAIM_MS: i64 = 120_000;

/// What all rooms are made from.
#[derive(Clone)]
pub struct Furniture {
    pub engines: Engines,
    pub catalogue: Arc<Catalogue>,
    pub renderer: Arc<Renderer>,
    pub clock: Clock,
    pub zones: Zones,
    pub partitions: Partitions,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    pub metrics: Metrics,
}

/// A room that has not been opened yet.
pub struct Room {
    pub name: &'static str,
    pub run: BoxFuture<'static, anyhow::Result<()>>,
}

impl Furniture {
    pub fn new(
        engines: Engines,
        catalogue: Arc<Catalogue>,
        clock: Clock,
        zones: Zones,
        partitions: Partitions,
    ) -> Result<Self, Problems> {
        let renderer = Arc::new(Renderer::new(&catalogue)?);
        let (quiet, shutdown, metrics) = (Quiet::default(), Shutdown::default(), Metrics::default());
        Ok(Self { engines, catalogue, renderer, clock, zones, partitions, quiet, shutdown, metrics })
    }

    /// Every room, in the order of the way.
    pub fn rooms(&self, config: Config) -> anyhow::Result<(ingest::Ports, Vec<Room>)> {
        let intake = self.ingest()?;
        let rooms = vec![
            Room { name: "ingest", run: Box::pin(ingest::run(intake.clone(), config.ingest)) },
            Room { name: "fanout", run: Box::pin(fanout::run(self.fanout()?, config.fanout)) },
            Room { name: "digest", run: Box::pin(digest::run(self.digest()?, config.digest)) },
            Room { name: "sender", run: Box::pin(sender::run(self.sender()?, config.sender)) },
            Room { name: "keeper", run: Box::pin(keeper::run(self.keeper())) },
        ];
        Ok((intake, rooms))
    }

    fn ingest(&self) -> anyhow::Result<ingest::Ports> {
        let Self { engines, catalogue, clock, zones, partitions, quiet, shutdown, .. } = self.clone();
        let metrics = ingest::IngestMetrics::declare(&self.metrics)?;
        let Engines { topics, store, .. } = engines;
        Ok(ingest::Ports { topics, store, catalogue, zones, partitions, clock, quiet, shutdown, metrics })
    }

    fn fanout(&self) -> anyhow::Result<fanout::Ports> {
        let Self { engines, catalogue, clock, partitions, quiet, shutdown, .. } = self.clone();
        let metrics = fanout::FanoutMetrics::declare(&self.metrics)?;
        let Engines { topics, store, .. } = engines;
        Ok(fanout::Ports { topics, store, catalogue, partitions, clock, quiet, shutdown, metrics })
    }

    fn digest(&self) -> anyhow::Result<digest::Ports> {
        let Self { engines, catalogue, clock, zones, partitions, quiet, shutdown, .. } = self.clone();
        let metrics = digest::metrics::DigestMetrics::declare(&self.metrics)?;
        let Engines { topics, store, .. } = engines;
        Ok(digest::Ports { topics, store, catalogue, zones, partitions, clock, quiet, shutdown, metrics })
    }

    fn sender(&self) -> anyhow::Result<sender::Ports> {
        let Self { engines, catalogue, renderer, clock, zones, partitions, quiet, shutdown, .. } =
            self.clone();
        let metrics = sender::metrics::SenderMetrics::declare(&self.metrics)?;
        let Engines { topics, store, courier } = engines;
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

    fn keeper(&self) -> keeper::Ports {
        let Self { engines, clock, quiet, shutdown, .. } = self.clone();
        keeper::Ports { store: engines.store, clock, quiet, shutdown }
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
