//! Makes what a house needs in its engines, or says what would be made. May be done again, and by two at once.

use std::{path::Path, sync::Arc};

use anyhow::Context as _;
use catalogue::Catalogue;
use house::{
    self,
    book::{HouseBook, TakeUpPolicy},
};
use model::{UtcMillis, partition::PartitionCount};
use registry::{FramedTopics, SchemaRegistry};
use runtime::{Clock, ShutdownSignal};
use settings::config::{self, ProductionConfig};
use store_cql::CqlMigration;
use topic::Topics;
use topic_kafka::KafkaTopics;
use upkeep::repartition;

use super::{
    EngineAwayError, NotReadyError, TopicGaps, find_topic_gaps,
    format_gate::{FormatGate, RaisingCommand, WayBack},
    identity,
};

/// Makes what is missing; a line for each thing that was done. One that finds another one at work waits for it.
pub async fn migrate_engines(
    engines: &ProductionConfig,
    partitions: PartitionCount,
    dir: &Path,
    (catalogue, clock): (Option<&Catalogue>, &Clock),
    (way_back, command): (WayBack, RaisingCommand),
) -> anyhow::Result<Vec<String>> {
    // What is refused is refused before anything was made.
    let look = async || {
        let found = MigratedLog::look(engines, partitions, clock).await?;
        found.gate.refuse_raise(way_back, command)?;
        anyhow::Ok(found)
    };
    look().await?;
    let migration = CqlMigration::begin(&engines.cql).await.context("lay out the tables")?;
    migration
        .run(async {
            // Once more: whoever was waited for has changed it.
            let MigratedLog { log, missing, gate } = look().await?;
            house::declare_topics(&log, partitions).await.context("make the topics")?;
            let mut done: Vec<String> = Vec::new();
            if !missing.is_empty() {
                done.push(format!("topics were made: {}", missing.len()));
            }
            done.extend(register_schemas(engines, dir, clock, false).await?);
            let (store, now, stop) =
                (super::open_store(&engines.cql).await?, UtcMillis(clock.now()), ShutdownSignal::default());
            let names = (engines.kafka.prefix.as_str(), engines.cql.keyspace.as_str());
            // What rooms noted is in the registry's frame, where there is one.
            let log: Arc<dyn Topics> = match open_registry(engines, dir, clock)? {
                Some(registry) => {
                    Arc::new(FramedTopics::open(Arc::new(log), registry, names.0, stop.clone()).await)
                }
                None => Arc::new(log),
            };
            done.extend(identity::name_house(&*log, &store, names, now).await?);
            done.extend(gate.raise(&*log, now).await?);
            if let Some(catalogue) = catalogue {
                done.extend(take_up_catalogue(&*log, catalogue, now).await?);
            }
            stop.start();
            Ok(done)
        })
        .await
}

/// The log as it is found.
struct MigratedLog {
    log: KafkaTopics,
    missing: Vec<String>,
    gate: FormatGate,
}

impl MigratedLog {
    /// Refuses what no migration mends.
    async fn look(
        engines: &ProductionConfig,
        partitions: PartitionCount,
        clock: &Clock,
    ) -> anyhow::Result<Self> {
        let log = KafkaTopics::open(engines.kafka.clone(), clock.clone()).context("the log")?;
        repartition::refuse_unfinished(&log).await?;
        let TopicGaps { missing, unlike } =
            find_topic_gaps(&log, partitions, &engines.kafka.prefix).await.context("check the topics")?;
        if !unlike.is_empty() {
            return Err(NotReadyError(unlike.join("\n")).into());
        }
        let gate = FormatGate::read(&log).await?;
        Ok(Self { log, missing, gate })
    }
}

/// Makes keyspaces and tables alone, into which a backup is read: the topics come from the same backup, with the name of the
/// house that both keep.
pub async fn migrate_tables(engines: &ProductionConfig) -> anyhow::Result<Vec<String>> {
    store_cql::migrate_keyspaces(&engines.cql).await.context("lay out the tables")
}

/// Makes a catalogue the newest one, also if it was in use before: so one goes back to it.
async fn take_up_catalogue(
    log: &dyn Topics,
    catalogue: &Catalogue,
    now: UtcMillis,
) -> anyhow::Result<Option<String>> {
    let mut book = HouseBook::read(log).await?;
    let before = book.newest_edition();
    let own = book.take_up(log, catalogue, TakeUpPolicy::Anew, now).await?;
    Ok((before != Some(own)).then(|| format!("`{}` is in use now: {own}", catalogue.name)))
}

/// What `migrate` would do.
pub async fn plan_migration(
    engines: &ProductionConfig,
    partitions: PartitionCount,
    dir: &Path,
    clock: &Clock,
) -> anyhow::Result<Vec<String>> {
    let log = KafkaTopics::open(engines.kafka.clone(), clock.clone()).context("the log")?;
    let TopicGaps { missing, unlike } =
        find_topic_gaps(&log, partitions, &engines.kafka.prefix).await.context("check the topics")?;
    let mut lines = [unlike, missing].concat();
    let gate = FormatGate::read(&log).await?;
    gate.refuse_unreadable()?;
    lines.extend(gate.describe_raise());
    match super::open_store(&engines.cql).await {
        Ok(_) => {}
        Err(error) if error.is::<NotReadyError>() => lines.push(error.to_string()),
        Err(error) => return Err(error),
    }
    lines.extend(register_schemas(engines, dir, clock, true).await?);
    Ok(lines)
}

/// The registry, if there is one. What it says is not kept: there may be no folder for it.
fn open_registry(
    engines: &ProductionConfig,
    dir: &Path,
    clock: &Clock,
) -> anyhow::Result<Option<SchemaRegistry>> {
    let open = |settings: &config::RegistryConfig| {
        let settings = registry::Settings { cache: None, ..super::registry_settings(settings, dir) };
        SchemaRegistry::open(settings, clock.clone()).context("the registry")
    };
    engines.registry.as_ref().map(open).transpose()
}

/// Registers the schemas of our topics, where there is a registry; or says which are not registered.
async fn register_schemas(
    engines: &ProductionConfig,
    dir: &Path,
    clock: &Clock,
    check: bool,
) -> anyhow::Result<Vec<String>> {
    let Some(registry) = open_registry(engines, dir, clock)? else { return Ok(Vec::new()) };
    match registry::migrate_registry(&registry, &engines.kafka.prefix, check).await {
        Err(error) => match error.downcast_ref::<registry::SchemaRefusedError>() {
            Some(unfit) if check => Ok(unfit.to_string().lines().map(str::to_owned).collect()),
            Some(unfit) => Err(NotReadyError(unfit.to_string()).into()),
            None => Err(error.context("register the schemas")),
        },
        done => done,
    }
}

/// Fails while an engine does not answer at all.
pub async fn check_reachable(engines: &ProductionConfig, clock: &Clock) -> anyhow::Result<()> {
    let (log, tables) = tokio::join!(super::open_log(&engines.kafka, clock), check_tables_reachable(engines));
    log?;
    tables
}

/// The same of the tables alone.
pub async fn check_tables_reachable(engines: &ProductionConfig) -> anyhow::Result<()> {
    match super::open_store(&engines.cql).await {
        // What is missing there is made afterwards.
        Err(error) if error.is::<EngineAwayError>() => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}
