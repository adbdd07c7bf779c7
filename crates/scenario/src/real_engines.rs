//! Clusters that scenarios share: each gets topics by a prefix of its own, and a keyspace that it has alone.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use adapters::engine_setup::OpenedEngines;
use anyhow::Context as _;
use model::partition::PartitionCount;
use runtime::{Clock, ShutdownSignal};
use shell::datadir::random_hex;
use topic::{TopicRetention, TopicSpec, Topics as _, port::TopicName};
use topic_kafka::{
    KafkaTopics,
    settings::{ReplicationSettings, StampSource},
};

use super::patient_topics::retry_while_busy;

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
pub(super) struct ScenarioLot {
    pub partitions: PartitionCount,
    kafka: topic_kafka::Settings,
    cql: store_cql::Settings,
}

impl RealEngines {
    pub fn at_addresses(brokers: &str, contact_point: &str) -> anyhow::Result<Self> {
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
    pub(super) async fn take(&self, clock: &Clock) -> anyhow::Result<ScenarioLot> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let is_new = free.is_none();
        let keyspace = free.unwrap_or_else(|| format!("scenarios_{}_{number}", self.word));
        let kafka = topic_kafka::Settings {
            prefix: format!("s-{}-{number}-", self.word),
            replication: ReplicationSettings { factor: 1, min_insync: 1 },
            stamps: StampSource::Clock,
            session: SESSION,
            ..topic_kafka::Settings::for_brokers(&self.brokers)
        };
        let cql = store_cql::Settings {
            alone: true,
            timeout: Duration::from_secs(20),
            ..store_cql::Settings::from_contact_points(&self.contact_point, &keyspace)
        };
        if is_new {
            store_cql::migrate_keyspaces(&cql).await.context("lay out a keyspace")?;
        } else {
            store_cql::CqlStore::empty_tables(&cql).await.context("empty a keyspace")?;
        }
        let lot =
            ScenarioLot { partitions: PartitionCount::new(PARTITIONS).context("partitions")?, kafka, cql };
        // The scenario's year is not the broker's, which would find that all of it has been kept for long enough.
        let kept = |spec: TopicSpec| match spec.retention {
            TopicRetention::Milliseconds(_) => {
                TopicSpec { retention: TopicRetention::Milliseconds(i64::MAX), ..spec }
            }
            TopicRetention::Compacted => spec,
        };
        let specs: Vec<TopicSpec> = house::topic_specs(lot.partitions).into_iter().map(kept).collect();
        let log = KafkaTopics::open(lot.kafka.clone(), clock.clone())?;
        retry_while_busy(|| log.declare(&specs)).await.context("make the topics")?;
        Ok(lot)
    }

    /// The keyspace is free for another, and the topics go.
    pub(super) async fn give_back(&self, lot: ScenarioLot, clock: &Clock) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(lot.cql.keyspace.clone());
        let names: Vec<TopicName> =
            house::topic_specs(lot.partitions).into_iter().map(|spec| spec.name).collect();
        let gone = async { KafkaTopics::open(lot.kafka, clock.clone())?.remove(&names).await };
        if let Err(error) = gone.await {
            // They only cost the cluster some memory.
            tracing::warn!(%error, "a scenario's topics are still there");
        }
    }
}

impl ScenarioLot {
    /// Opens the engines, and gives the log as itself too: it can be cut off as by a crash.
    pub async fn open(&self, clock: &Clock) -> anyhow::Result<(OpenedEngines, KafkaTopics)> {
        let kafka = KafkaTopics::open(self.kafka.clone(), clock.clone()).context("open the log")?;
        let store = store_cql::CqlStore::open(self.cql.clone()).await.context("open the store")?;
        let opened = OpenedEngines::Production {
            topics: Arc::new(kafka.clone()),
            store: Arc::new(store),
            registry: None,
            framing: ShutdownSignal::default(),
            names: (self.kafka.prefix.clone(), self.cql.keyspace.clone()),
        };
        Ok((opened, kafka))
    }
}
