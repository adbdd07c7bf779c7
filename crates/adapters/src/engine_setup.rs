//! The engines that a configuration names, whichever they are: opened, looked at, closed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use house;
use model::{DayLife, Tenant, UtcMillis, partition::PartitionCount};
use runtime::{Clock, ShutdownSignal, clock::SteadyStopwatch, retry};
use settings::config::{Config, EngineConfig, ProductionConfig, RegistryConfig};
use store::{AnswerStore as _, Store, StoreError};
use store_cql::CqlStore;
use tokio::{task::spawn_blocking, time::timeout};
use topic::{TopicError, TopicSpec, Topics};
use topic_kafka::KafkaTopics;
use upkeep::repartition;
use wire::{NoSchemaSource, SchemaSource, topics};

pub mod backup_mark;
pub mod format_gate;
mod identity;
pub mod migrate;

/// How long an embedded engine may take to say how it is, before it counts as busy.
const LOOK: Duration = Duration::from_secs(2);
/// Pauses between tries grow no more after so many.
const PAUSES_MAX: u32 = 6;
/// How often a topic is asked for that is busy.
const BUSY_TRIES: u32 = 6;
/// The key of an answer that stands for a day, so that asking for it writes next to nothing.
const WELL: &str = "well:up";

/// Engines that are open.
#[derive(Clone)]
pub enum OpenedEngines {
    Embedded {
        topics: topic::embedded::EmbeddedTopics,
        store: Arc<store_embedded::EmbeddedStore>,
    },
    Production {
        topics: Arc<dyn Topics>,
        store: Arc<dyn Store>,
        registry: Option<registry::SchemaRegistry>,
        framing: ShutdownSignal,
        /// The prefix of the topics, and the keyspace.
        names: (String, String),
    },
}

/// What is wrong with an engine for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HouseEngineError {
    Full(String),
    Broken(String),
}

/// Opens the engines. Nothing is made or looked at in them; `foreign` are topics that others own.
pub async fn open_engines(
    config: &Config,
    clock: &Clock,
    foreign: BTreeSet<String>,
) -> anyhow::Result<OpenedEngines> {
    match &config.engine {
        EngineConfig::Embedded => open_embedded(&config.data_dir, config.day_life, clock).await,
        EngineConfig::Production(engines) => open_production(engines, &config.data_dir, clock, foreign).await,
    }
}

/// Opens both engines of a directory concurrently and waits for both, because an engine that is still opening could not
/// be closed.
pub async fn open_embedded(dir: &Path, life: DayLife, clock: &Clock) -> anyhow::Result<OpenedEngines> {
    let (topics, store, time) = (dir.join("topics"), dir.join("store"), clock.clone());
    let topics = spawn_blocking(move || topic::embedded::EmbeddedTopics::open(&topics, time));
    let store = spawn_blocking(move || store_embedded::EmbeddedStore::open_for(&store, life));
    let (topics, store) = (topics.await, store.await);
    let topics = topics.context("open the topics")?.context("open the topics")?;
    let store = store.context("open the store")?.context("open the store")?;
    Ok(OpenedEngines::Embedded { topics, store: Arc::new(store) })
}

async fn open_production(
    engines: &ProductionConfig,
    dir: &Path,
    clock: &Clock,
    foreign: BTreeSet<String>,
) -> anyhow::Result<OpenedEngines> {
    let ProductionConfig { kafka, cql, registry } = engines;
    let kafka = topic_kafka::Settings { foreign, ..kafka.clone() };
    let prefix = kafka.prefix.clone();
    let store = open_store(cql).await?;
    let topics = open_log(&kafka, clock).await?;
    let framing = ShutdownSignal::default();
    let (topics, registry): (Arc<dyn Topics>, _) = match registry {
        Some(settings) => {
            let settings = registry_settings(settings, dir);
            let registry = registry::SchemaRegistry::open(settings, clock.clone()).context("the registry")?;
            let (known, stop) = (registry.clone(), framing.clone());
            let framed = registry::FramedTopics::open(Arc::new(topics), registry, &prefix, stop).await;
            (Arc::new(framed), Some(known))
        }
        None => (Arc::new(topics), None),
    };
    let names = (prefix, cql.keyspace.clone());
    Ok(OpenedEngines::Production { topics, store: Arc::new(store), registry, framing, names })
}

/// A remote engine that does not answer; it may answer later.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct EngineAwayError(String);

/// A remote engine that rejects the credentials: a wrong setting, unless they worked before.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct EngineDeniedError(String);

/// Opens the remote log and checks that it answers.
async fn open_log(kafka: &topic_kafka::Settings, clock: &Clock) -> anyhow::Result<KafkaTopics> {
    let log = KafkaTopics::open(kafka.clone(), clock.clone()).context("the log")?;
    // A log that is away is found out when it is asked for something.
    match log.bounds(topics::EVENTS).await {
        Ok(_) | Err(TopicError::Refused(_)) => Ok(log),
        Err(TopicError::Busy(busy)) => {
            let why = |why: &str| format!("Kafka, `kafka.brokers` at {}: {why}", kafka.brokers);
            Err(match log.denial_reason() {
                Some(reason) => {
                    EngineDeniedError(why(&format!("Kafka rejected the credentials: {reason}"))).into()
                }
                None => EngineAwayError(why(&busy)).into(),
            })
        }
        Err(error) => Err(error).context("the log"),
    }
}

/// Opens the remote store. A refusal before its first use is a wrong setting, and nothing is broken.
async fn open_store(cql: &store_cql::Settings) -> anyhow::Result<CqlStore> {
    CqlStore::open(cql.clone()).await.map_err(|error| match error {
        StoreError::Busy(why) => {
            let points = cql.contact_points.join(",");
            EngineAwayError(format!("the store, `cql.contact_points` at {points}: {why}")).into()
        }
        StoreError::Refused(why) | StoreError::Broken(why) => {
            NotReadyError(format!("the store: {why}")).into()
        }
        error @ StoreError::Full(_) => anyhow::Error::new(error).context("the store"),
    })
}

/// The registry as its own crate knows it; what it learns it keeps in the data directory.
pub fn registry_settings(registry: &RegistryConfig, dir: &Path) -> registry::Settings {
    let RegistryConfig { urls, user, password, ca } = registry.clone();
    let usual = registry::Settings::from_urls("");
    registry::Settings { urls, user, password, ca, cache: Some(dir.join("schemas.json")), ..usual }
}

/// Does something at engines that may be away for a while: again and again for so long, or forever. `say`
/// hears why it waits.
pub async fn retry_while_away<T>(
    patience: Option<Duration>,
    say: impl Fn(&str),
    attempt: impl AsyncFn() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (waited, mut said) = (SteadyStopwatch::start(), String::new());
    let mut tries = 0;
    loop {
        let error = match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) if patience.is_some() && error.is::<EngineDeniedError>() => {
                return Err(NotReadyError(error.to_string()).into());
            }
            Err(error) => error,
        };
        if !(house::is_transient_error(&error)
            || error.is::<EngineAwayError>()
            || error.is::<EngineDeniedError>())
        {
            return Err(error);
        }
        let secs = waited.elapsed().as_secs();
        if patience.is_some_and(|patience| waited.elapsed() > patience) {
            return Err(error.context(format!("after waiting {secs} s")));
        }
        let why = format!("{error:#}");
        if why != said {
            say(&why);
            said = why;
        }
        retry::pause_before_retry(tries, 0).await;
        tries = (tries + 1).min(PAUSES_MAX);
    }
}

/// No house can start on these engines until an operator has done what the text says.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotReadyError(String);

/// Makes sure that a house can start on these engines: embedded ones are made ready, for the others that is
/// done by `tidings migrate`. A line for what somebody should know.
pub async fn prepare_engines(
    opened: &OpenedEngines,
    partitions: PartitionCount,
    foreign: &BTreeSet<String>,
    (way_back, now): (format_gate::WayBack, UtcMillis),
) -> anyhow::Result<Option<String>> {
    let log = opened.topics();
    repartition::refuse_unfinished(&*log).await?;
    let gate = format_gate::FormatGate::read(&*log).await?;
    match opened {
        OpenedEngines::Embedded { .. } => {
            gate.refuse_raise(way_back, format_gate::RaisingCommand::Up)?;
            house::declare_topics(&*log, partitions).await.context("declare the topics")?;
            // Others would write to these; here nobody else can make them.
            log.declare(&house::foreign_topic_specs(foreign)).await.context("declare the sources")?;
            gate.raise(&*log, now).await
        }
        OpenedEngines::Production { store, names: (prefix, keyspace), .. } => {
            let TopicGaps { missing, unlike } =
                find_topic_gaps(&*log, partitions, prefix).await.context("check the topics")?;
            if !unlike.is_empty() {
                return Err(NotReadyError(unlike.join("\n")).into());
            }
            if !missing.is_empty() {
                let missing = missing.join("\n  ");
                return Err(NotReadyError(format!("run `tidings migrate` first:\n  {missing}")).into());
            }
            gate.refuse_unfit()?;
            identity::check_identity(&*log, &**store, (prefix, keyspace)).await.map(|()| None)
        }
    }
}

/// Notes that a house starts, where a backup was marked.
pub async fn note_start(opened: &OpenedEngines, now: UtcMillis) -> anyhow::Result<()> {
    match opened {
        OpenedEngines::Embedded { .. } => Ok(()),
        OpenedEngines::Production { store, .. } => backup_mark::note_start(&**store, now).await,
    }
}

/// The problems of the log's topics, in lines.
#[derive(Debug)]
pub struct TopicGaps {
    /// Topics that are not there.
    pub missing: Vec<String>,
    /// Topics with another partition count, or with settings that keep less than promised: these are not repaired on
    /// the fly.
    pub unlike: Vec<String>,
}

/// Where a topic begins and ends. One that somebody is just making has no leader for a moment.
async fn topic_bounds(log: &dyn Topics, name: &str) -> Result<Vec<(u64, u64)>, TopicError> {
    for tries in 0..BUSY_TRIES {
        match log.bounds(name).await {
            Err(TopicError::Busy(_)) => retry::pause_before_retry(tries, name.len() as u64).await,
            found => return found,
        }
    }
    log.bounds(name).await
}

pub async fn find_topic_gaps(
    log: &dyn Topics,
    partitions: PartitionCount,
    prefix: &str,
) -> Result<TopicGaps, TopicError> {
    let (mut missing, mut unlike) = (Vec::new(), BTreeMap::<_, Vec<String>>::new());
    for TopicSpec { name, partitions: wanted, .. } in house::topic_specs(partitions) {
        match topic_bounds(log, &name).await {
            Ok(found) if found.len() == wanted as usize || &*name == topics::CHANGES => {}
            Ok(found) => unlike.entry((found.len(), wanted)).or_default().push(format!("`{prefix}{name}`")),
            Err(TopicError::Refused(_)) => missing.push(format!("topic `{prefix}{name}` does not exist")),
            Err(error) => return Err(error),
        }
    }
    let line = |((found, wanted), names): (_, Vec<String>)| {
        let names = names.join(", ");
        if wanted != partitions.count() {
            return format!("these topics have {found} partitions instead of {wanted}: {names}");
        }
        format!(
            "`partitions` is {wanted}, and these topics have {found}: {names}; set it to {found}, or \
            change the topics with `tidings repartition --to {wanted}`"
        )
    };
    let mut unlike: Vec<String> = unlike.into_iter().map(line).collect();
    unlike.extend(log.find_unfit(&house::topic_specs(partitions)).await?);
    Ok(TopicGaps { missing, unlike })
}

impl OpenedEngines {
    pub fn topics(&self) -> Arc<dyn Topics> {
        match self {
            Self::Embedded { topics, .. } => Arc::new(topics.clone()),
            Self::Production { topics, .. } => topics.clone(),
        }
    }

    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Embedded { store, .. } => store.clone(),
            Self::Production { store, .. } => store.clone(),
        }
    }

    /// The source of the schemas of upstream records.
    pub fn schemas(&self) -> Arc<dyn SchemaSource> {
        match self {
            Self::Production { registry: Some(registry), .. } => Arc::new(registry.clone()),
            Self::Embedded { .. } | Self::Production { registry: None, .. } => Arc::new(NoSchemaSource),
        }
    }

    /// The schema registry, if there is one.
    pub fn registry(&self) -> Option<&registry::SchemaRegistry> {
        match self {
            Self::Embedded { .. } => None,
            Self::Production { registry, .. } => registry.as_ref(),
        }
    }

    /// The permanent failure of an embedded engine, if there is one. A writer sees it as a failed write and retries for
    /// ever, so the process has to ask for it. Engines elsewhere are mended elsewhere.
    pub async fn find_errors(&self, tenant: &Tenant, now: UtcMillis) -> Vec<HouseEngineError> {
        let Self::Embedded { topics, store } = self else { return Vec::new() };
        let answer = store.answer(tenant, WELL, Vec::new(), now);
        let store = match timeout(LOOK, answer).await {
            Ok(Err(StoreError::Full(why))) => Some(HouseEngineError::Full(why)),
            Ok(Err(StoreError::Refused(why) | StoreError::Broken(why))) => {
                Some(HouseEngineError::Broken(why))
            }
            // Who is busy, and be it for long, is not broken.
            Ok(Err(StoreError::Busy(_)) | Ok(_)) | Err(_) => None,
        };
        let topics = match topics.bounds(topics::EVENTS).await {
            Err(TopicError::Full(why)) => Some(HouseEngineError::Full(why)),
            Err(TopicError::Refused(why) | TopicError::Broken(why)) => Some(HouseEngineError::Broken(why)),
            Err(TopicError::Busy(_)) | Ok(_) => None,
        };
        store.into_iter().chain(topics).collect()
    }

    /// Whether nothing was ever said to a house on these engines.
    pub async fn is_new(&self) -> Result<bool, TopicError> {
        for topic in [topics::EVENTS, topics::INBOX, topics::WINDOWS] {
            if self.topics().bounds(topic).await?.iter().any(|(_, end)| *end > 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether somebody outside of the house still has the store.
    pub fn is_held(&self) -> bool {
        match self {
            Self::Embedded { store, .. } => Arc::strong_count(store) > 1,
            Self::Production { store, .. } => Arc::strong_count(store) > 1,
        }
    }

    /// Lets go of everything.
    pub async fn close(self) -> anyhow::Result<()> {
        let close = move || match self {
            Self::Embedded { topics, store } => {
                topics.close();
                drop(store);
            }
            Self::Production { topics, store, registry, framing, .. } => {
                framing.start();
                drop((topics, store, registry));
            }
        };
        // Threads are waited for, and files are synced.
        spawn_blocking(close).await.context("close the engines")
    }
}
