//! The rooms of the house, each made from the same furniture.

use std::{collections::BTreeSet, future::pending, pin::pin, sync::Arc, time::Duration};

use catalogue::Catalogue;
use futures::future::BoxFuture;
use geoip::AddressPlaces;
use house_facts::edition::EDITION_WAIT_MS;
use model::{Tenant, civil_time::ZoneRules, partition::PartitionCount};
use render::MessageRenderer;
use runtime::{Clock, ShutdownSignal, WorkTracker, metrics::Metrics, work_tracker::WorkGuard};
use topic::metrics::TurnMetrics;
use traces::Tracer;

use super::{
    HouseEngines,
    book::TakeUpPolicy,
    book_watch::BookWatch,
    keeper,
    metrics::{ClusterNames, KeeperMetrics, PresenceMetrics},
    presence::{PresenceTopics, RoomPresence},
};
use wire::token::{LinkSecret, SECRET_BYTES};

use crate::{erasure::work, house_watch::HouseWatch};

/// A part of the house that can run without the others, by the name that the command line has for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum RoomName {
    /// Takes what comes in: HTTP under /v1, the topic `changes`; serves the web page
    Ingest,
    /// Finds the people who care, and writes their entries
    Fanout,
    /// Opens, fills and closes the windows of people
    Digest,
    /// Checks each message once more, and sends it
    Sender,
    /// Shows people their entries, by HTTP below /v1/people
    Feed,
    /// Decides what the slots of a mail show when it is opened, by HTTP below /s
    Slots,
    /// Drops expired days and erases people; one process is enough
    Keeper,
}

impl RoomName {
    /// In the order of the way.
    pub const ALL: [Self; 7] =
        [Self::Ingest, Self::Fanout, Self::Digest, Self::Sender, Self::Feed, Self::Slots, Self::Keeper];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Fanout => "fanout",
            Self::Digest => "digest",
            Self::Sender => "sender",
            Self::Feed => "feed",
            Self::Slots => "slots",
            Self::Keeper => "keeper",
        }
    }
}

/// What may be set about a house.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which rooms it has.
    pub rooms: BTreeSet<RoomName>,
    /// How often a house that settles looks again although nobody here did anything: engines elsewhere tell
    /// nobody what they did. `None` where all engines are in this process.
    pub look_again: Option<Duration>,
    /// How often the lag is measured; `None` is never.
    pub measure_lag: Option<Duration>,
    /// How many partitions the installation was made with.
    pub partitions: PartitionCount,
    /// What is counted and measured.
    pub metrics: Metrics,
    /// What records traces, if anything does.
    pub tracer: Tracer,
    /// How the cluster calls our groups and topics.
    pub names: ClusterNames,
    /// Who else looks after it.
    pub watches: Vec<HouseWatch>,
    /// When the catalogue counts as taken up.
    pub takes_up: TakeUpPolicy,
    /// How long what a newer catalogue wrote is waited for.
    pub catalogue_wait: Duration,
    /// With what people without an account are told apart: each process of a house has the same.
    pub secret: LinkSecret,
    /// Where IP addresses are.
    pub places: AddressPlaces,
    pub ingest: ingest::Config,
    pub fanout: fanout::Config,
    pub digest: digest::Config,
    pub sender: sender::Config,
    pub feed: feed::Config,
}

impl Config {
    /// The settings of a house as it ships; `lag_max` is the lag at which intake asks to come later.
    pub fn with_defaults(tenant: Tenant, lag_max: u64) -> Self {
        Self {
            rooms: RoomName::ALL.into(),
            look_again: None,
            measure_lag: None,
            partitions: PartitionCount::USUAL,
            metrics: Metrics::default(),
            tracer: Tracer::default(),
            names: ClusterNames::default(),
            watches: Vec::new(),
            takes_up: TakeUpPolicy::Anew,
            catalogue_wait: Duration::from_millis(EDITION_WAIT_MS.unsigned_abs()),
            secret: LinkSecret::new([0; SECRET_BYTES]),
            places: AddressPlaces::default(),
            ingest: ingest::Config {
                records_max: ingest::config::RECORDS_MAX,
                tenant,
                lag_records_max: lag_max,
                listed_rows_a_minute: ingest::config::LISTED_ROWS_A_MINUTE,
                requests_max: ingest::config::REQUESTS_MAX,
                returns: None,
            },
            fanout: fanout::Config::default(),
            digest: digest::Config { records_max: DIGEST_RECORDS_MAX, shares: Arc::default() },
            sender: sender::Config::default(),
            feed: feed::Config::default(),
        }
    }
}

/// Records of one turn of the digest: about what its 5 seconds hold.
const DIGEST_RECORDS_MAX: usize = 500;

/// What all rooms are made from.
#[derive(Clone)]
pub struct HouseDeps {
    pub engines: HouseEngines,
    /// What each room is given, with the log as rooms get it.
    pub room: room::Deps,
    pub renderer: Arc<MessageRenderer>,
    pub metrics: Metrics,
    pub presence: RoomPresence,
}

/// What comes in by HTTP works with.
#[derive(Clone)]
pub struct HouseDoors {
    pub intake: ingest::Deps,
    pub feed: feed::Deps,
    pub slots: slots::Deps,
}

/// A room that has not been opened yet.
pub struct UnopenedRoom {
    pub name: &'static str,
    pub run: BoxFuture<'static, anyhow::Result<()>>,
}

impl HouseDeps {
    pub fn new(
        engines: HouseEngines,
        catalogue: Arc<Catalogue>,
        clock: Clock,
        zones: ZoneRules,
        (partitions, watch): (PartitionCount, &BookWatch),
        (metrics, tracer, names): (Metrics, Tracer, &ClusterNames),
    ) -> anyhow::Result<Self> {
        let renderer = Arc::new(MessageRenderer::new(&catalogue)?);
        let (quiet, shutdown) = (WorkTracker::default(), ShutdownSignal::default());
        let presence = RoomPresence::new(PresenceMetrics::declare(&metrics)?, names.clone());
        let turns = Some(TurnMetrics::declare(&metrics, &names.prefix)?);
        let topics = Arc::new(PresenceTopics { log: engines.topics.clone(), presence: presence.clone() });
        let store = engines.store.clone();
        let room = room::Deps {
            topics,
            store,
            catalogue,
            editions: watch.editions.clone(),
            zones,
            partitions,
            clock,
            quiet,
            shutdown,
            pauses: watch.board.clone(),
            turns,
            tracer,
        };
        Ok(Self { engines, room, renderer, metrics, presence })
    }

    /// The rooms that are asked for, in the order of the way.
    pub fn build_rooms(&self, config: Config) -> anyhow::Result<(HouseDoors, Vec<UnopenedRoom>)> {
        let intake = self.ingest_deps(config.secret.clone(), config.places.clone())?;
        let feed = self.feed_deps()?;
        let slots = self.slots_deps(config.secret.clone())?;
        let mut rooms = Vec::new();
        for room in config.rooms {
            let run: BoxFuture<'static, anyhow::Result<()>> = match room {
                RoomName::Ingest => {
                    let ports = ingest::Deps { room: self.room.clone(), ..intake.clone() };
                    Box::pin(ingest::run(ports, config.ingest.clone()))
                }
                RoomName::Fanout => Box::pin(fanout::run(self.fanout_deps()?, config.fanout.clone())),
                RoomName::Digest => Box::pin(digest::run(self.digest_deps()?, config.digest.clone())),
                RoomName::Sender => Box::pin(sender::run(self.sender_deps()?, config.sender.clone())),
                RoomName::Feed => {
                    let ports = feed::Deps { room: self.room.clone(), ..feed.clone() };
                    Box::pin(feed::run(ports, config.feed.clone()))
                }
                RoomName::Slots => Box::pin(slots::run(slots.clone())),
                RoomName::Keeper => {
                    let (keeper, eraser) = (keeper::run(self.keeper_deps()?), work::run(self.eraser_deps()));
                    Box::pin(async { tokio::try_join!(keeper, eraser).map(|_| ()) })
                }
            };
            rooms.push(UnopenedRoom { name: room.name(), run });
        }
        Ok((HouseDoors { intake, feed, slots }, rooms))
    }

    /// With the log itself: what comes in over HTTP joins no group of which somebody could watch whether it has.
    fn ingest_deps(&self, secret: LinkSecret, places: AddressPlaces) -> anyhow::Result<ingest::Deps> {
        let metrics = ingest::IngestMetrics::declare(&self.metrics)?;
        let room = room::Deps { topics: self.engines.topics.clone(), ..self.room.clone() };
        Ok(ingest::Deps { room, secret, schemas: self.engines.schemas.clone(), places, metrics })
    }

    /// The same.
    fn feed_deps(&self) -> anyhow::Result<feed::Deps> {
        let metrics = feed::metrics::FeedMetrics::declare(&self.metrics)?;
        let room = room::Deps { topics: self.engines.topics.clone(), ..self.room.clone() };
        Ok(feed::Deps { room, renderer: self.renderer.clone(), board: Arc::default(), metrics })
    }

    fn slots_deps(&self, secret: LinkSecret) -> anyhow::Result<slots::Deps> {
        let metrics = slots::metrics::SlotMetrics::declare(&self.metrics)?;
        Ok(slots::Deps { room: self.room.clone(), secret, board: Arc::default(), metrics })
    }

    fn fanout_deps(&self) -> anyhow::Result<fanout::Deps> {
        let metrics = fanout::FanoutMetrics::declare(&self.metrics)?;
        Ok(fanout::Deps { room: self.room.clone(), metrics })
    }

    fn digest_deps(&self) -> anyhow::Result<digest::Deps> {
        let metrics = digest::metrics::DigestMetrics::declare(&self.metrics)?;
        Ok(digest::Deps { room: self.room.clone(), live: self.engines.live.clone(), metrics })
    }

    fn sender_deps(&self) -> anyhow::Result<sender::Deps> {
        let Self { engines, room, renderer, .. } = self.clone();
        let metrics = sender::metrics::SenderMetrics::declare(&self.metrics)?;
        Ok(sender::Deps { room, courier: engines.courier, renderer, metrics })
    }

    fn eraser_deps(&self) -> work::Deps {
        work::Deps { room: self.room.clone(), engines: self.engines.clone() }
    }

    fn keeper_deps(&self) -> anyhow::Result<keeper::Deps> {
        let metrics = KeeperMetrics::declare(&self.metrics)?;
        Ok(keeper::Deps { room: self.room.clone(), metrics })
    }
}

/// Runs a room. `opening` says that somebody is at work until the room can say so itself: until it waits
/// for something for the first time.
pub async fn open_room(
    run: BoxFuture<'static, anyhow::Result<()>>,
    opening: WorkGuard,
) -> anyhow::Result<()> {
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
