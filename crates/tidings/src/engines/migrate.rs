//! Makes what a house needs in its engines, or says what would be made. May be done again, and by two at once.

use std::path::Path;

use anyhow::Context as _;
use model::partition::Partitions;
use runtime::Clock;
use topic_kafka::Kafka;

use super::{Away, Lacking, NotReady, lacking};
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
    let Lacking { missing, unlike } = lacking(&log, partitions).await.context("look at the topics")?;
    if !unlike.is_empty() {
        return Err(NotReady(unlike.join("\n")).into());
    }
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
    let Lacking { missing, unlike } = lacking(&log, partitions).await.context("look at the topics")?;
    let mut lines = [unlike, missing].concat();
    match super::store(&engines.cql).await {
        Ok(_) => {}
        Err(error) if error.is::<NotReady>() => lines.push(error.to_string()),
        Err(error) => return Err(error),
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
    let (log, store) = tokio::join!(super::log(&engines.kafka, clock), super::store(&engines.cql));
    log?;
    match store {
        // What is missing there is made afterwards.
        Err(error) if error.is::<Away>() => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}
