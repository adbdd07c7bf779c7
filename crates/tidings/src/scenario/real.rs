//! Clusters that scenarios share: each gets topics by a prefix of its own, and a keyspace that it has alone.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use model::partition::Partitions;
use runtime::{Clock, Shutdown};
use topic::{Retention, TopicSpec, Topics as _, port::TopicName};
use topic_kafka::{
    Kafka,
    settings::{Replication, Stamps},
};
use wire::NoSchemas;

use super::patient::patiently;
use crate::{datadir::random_hex, engines::Opened, house};

/// Few, so that a scenario's transactions and groups are soon made.
const PARTITIONS: u32 = 4;
/// A house that crashed has left its groups after so long.
const SESSION: Duration = Duration::from_secs(6);

/// The addresses of clusters, and the keyspaces that are made in them.
#[derive(Debug)]
pub struct RealEngines {
    brokers: String,
    contact_point: String,
    /// Unlike that of every other run on the same clusters.
    word: String,
    count: AtomicU64,
    free: Mutex<Vec<String>>,
}

/// What a scenario has for itself.
#[derive(Debug)]
pub(super) struct Lot {
    pub partitions: Partitions,
    kafka: topic_kafka::Settings,
    cql: store_cql::Settings,
}

impl RealEngines {
    pub fn at(brokers: &str, contact_point: &str) -> anyhow::Result<Self> {
        Ok(Self {
            brokers: brokers.to_owned(),
            contact_point: contact_point.to_owned(),
            word: random_hex(4)?,
            count: AtomicU64::default(),
            free: Mutex::default(),
        })
    }

    /// Topics that nobody had, and a keyspace that nobody has any more. Tables cost seconds, so keyspaces
    /// are used again.
    pub(super) async fn take(&self, clock: &Clock) -> anyhow::Result<Lot> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let is_new = free.is_none();
        let keyspace = free.unwrap_or_else(|| format!("scenarios_{}_{number}", self.word));
        let kafka = topic_kafka::Settings {
            prefix: format!("s-{}-{number}-", self.word),
            replication: Replication { factor: 1, min_insync: 1 },
            stamps: Stamps::Clock,
            session: SESSION,
            ..topic_kafka::Settings::at(&self.brokers)
        };
        let cql = store_cql::Settings {
            alone: true,
            timeout: Duration::from_secs(20),
            ..store_cql::Settings::at(&self.contact_point, &keyspace)
        };
        if is_new {
            store_cql::migrate(&cql).await.context("lay out a keyspace")?;
        } else {
            store_cql::Cql::empty(&cql).await.context("empty a keyspace")?;
        }
        let lot = Lot { partitions: Partitions::new(PARTITIONS).context("partitions")?, kafka, cql };
        // The scenario's year is not the broker's, which would find that all of it has been kept for long enough.
        let kept = |spec: TopicSpec| match spec.retention {
            Retention::Milliseconds(_) => TopicSpec { retention: Retention::Milliseconds(i64::MAX), ..spec },
            Retention::Compacted => spec,
        };
        let specs: Vec<TopicSpec> = house::specs(lot.partitions).into_iter().map(kept).collect();
        let log = Kafka::open(lot.kafka.clone(), clock.clone())?;
        patiently(|| log.declare(&specs)).await.context("make the topics")?;
        Ok(lot)
    }

    /// The keyspace is free for another, and the topics go.
    pub(super) async fn give_back(&self, lot: Lot, clock: &Clock) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(lot.cql.keyspace.clone());
        let names: Vec<TopicName> = house::specs(lot.partitions).into_iter().map(|spec| spec.name).collect();
        let gone = async { Kafka::open(lot.kafka, clock.clone())?.remove(&names).await };
        if let Err(error) = gone.await {
            // They only cost the cluster some memory.
            tracing::warn!(%error, "a scenario's topics are still there");
        }
    }
}

impl Lot {
    /// Opens the engines, and gives the log as itself too: it can be cut off as by a crash.
    pub async fn open(&self, clock: &Clock) -> anyhow::Result<(Opened, Kafka)> {
        let kafka = Kafka::open(self.kafka.clone(), clock.clone()).context("open the log")?;
        let store = store_cql::Cql::open(self.cql.clone()).await.context("open the store")?;
        let opened = Opened::Production {
            topics: Arc::new(kafka.clone()),
            store: Arc::new(store),
            schemas: Arc::new(NoSchemas),
            framing: Shutdown::default(),
            names: (self.kafka.prefix.clone(), self.cql.keyspace.clone()),
        };
        Ok((opened, kafka))
    }
}
