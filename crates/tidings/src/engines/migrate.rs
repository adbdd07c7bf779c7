//! Makes what a house needs in its engines, or says what would be made. May be done again, and by two at once.

use std::path::Path;

use anyhow::Context as _;
use model::partition::Partitions;
use runtime::Clock;
use store::StoreError;
use store_cql::Cql;
use topic::Topics as _;
use topic_kafka::Kafka;

use super::lacking;
use crate::{config::Production, house, repartition};

/// Makes what is missing; a line for each thing that was done.
pub async fn migrate(
    engines: &Production,
    partitions: Partitions,
    dir: &Path,
    clock: &Clock,
) -> anyhow::Result<Vec<String>> {
    // What is refused is refused before anything was made.
    let log = Kafka::open(engines.kafka.clone(), clock.clone()).context("the log")?;
    repartition::refuse_unfinished(&log).await?;
    let missing = lacking(&log, partitions).await.context("look at the topics")?;
    house::declare(&log, partitions).await.context("make the topics")?;
    let mut done: Vec<String> = Vec::new();
    if !missing.is_empty() {
        done.push(format!("topics were made: {}", missing.len()));
    }
    done.extend(store_cql::migrate(&engines.cql).await.context("lay out the tables")?);
    done.extend(schemas(engines, dir, clock, false).await?);
    Ok(done)
}

/// What `migrate` would do.
pub async fn check(
    engines: &Production,
    partitions: Partitions,
    dir: &Path,
    clock: &Clock,
) -> anyhow::Result<Vec<String>> {
    let log = Kafka::open(engines.kafka.clone(), clock.clone()).context("the log")?;
    let mut lines = lacking(&log, partitions).await.context("look at the topics")?;
    match Cql::open(engines.cql.clone()).await {
        Ok(_) => {}
        Err(StoreError::Broken(why)) => lines.push(why),
        Err(error) => return Err(error).context("look at the tables"),
    }
    lines.extend(schemas(engines, dir, clock, true).await?);
    Ok(lines)
}

/// Registers the schemas of our topics, where there is a registry; or says which are not registered.
async fn schemas(
    engines: &Production,
    dir: &Path,
    clock: &Clock,
    check: bool,
) -> anyhow::Result<Vec<String>> {
    let Some(settings) = &engines.registry else { return Ok(Vec::new()) };
    let registry = registry::Registry::open(super::settings_of(settings, dir), clock.clone())?;
    registry::migrate(&registry, &engines.kafka.prefix, check).await.context("register the schemas")
}

/// Fails while an engine does not answer at all.
pub async fn reach(engines: &Production, clock: &Clock) -> anyhow::Result<()> {
    let log = Kafka::open(engines.kafka.clone(), clock.clone()).context("the log")?;
    let (log, store) = tokio::join!(log.bounds(wire::topics::EVENTS), Cql::open(engines.cql.clone()));
    match (log, store) {
        (Err(error @ topic::TopicError::Busy(_)), _) => Err(error).context("the log"),
        (_, Err(error @ StoreError::Busy(_))) => Err(error).context("the store"),
        _ => Ok(()),
    }
}
