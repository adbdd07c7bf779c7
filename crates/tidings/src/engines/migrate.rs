//! Makes what a house needs in its engines, or says what would be made. May be done again, and by two at once.

use std::{path::Path, sync::Arc};

use anyhow::Context as _;
use catalogue::Catalogue;
use model::{Millis, partition::Partitions};
use registry::{Framed, Registry};
use runtime::{Clock, Shutdown};
use topic::Topics;
use topic_kafka::Kafka;

use super::{Away, Lacking, NotReady, identity, lacking};
use crate::{
    config::{self, Production},
    house::{
        self,
        book::{Book, TakeUp},
    },
    repartition,
};

/// Makes what is missing; a line for each thing that was done.
pub async fn migrate(
    engines: &Production,
    partitions: Partitions,
    dir: &Path,
    (catalogue, clock): (Option<&Catalogue>, &Clock),
) -> anyhow::Result<Vec<String>> {
    // What is refused is refused before anything was made.
    let log = Kafka::open(engines.kafka.clone(), clock.clone()).context("the log")?;
    repartition::refuse_unfinished(&log).await?;
    let Lacking { missing, unlike } =
        lacking(&log, partitions, &engines.kafka.prefix).await.context("look at the topics")?;
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
    let (store, now, stop) = (super::store(&engines.cql).await?, Millis(clock.now()), Shutdown::default());
    let names = (engines.kafka.prefix.as_str(), engines.cql.keyspace.as_str());
    // What rooms noted is in the registry's frame, where there is one.
    let log: Arc<dyn Topics> = match registry(engines, dir, clock)? {
        Some(registry) => Arc::new(Framed::open(Arc::new(log), registry, names.0, stop.clone()).await),
        None => Arc::new(log),
    };
    done.extend(identity::settle(&*log, &store, names, now).await?);
    if let Some(catalogue) = catalogue {
        done.extend(take_up(&*log, catalogue, now).await?);
    }
    stop.start();
    Ok(done)
}

/// Makes a catalogue the newest one, also if it was in use before: so one goes back to it.
async fn take_up(log: &dyn Topics, catalogue: &Catalogue, now: Millis) -> anyhow::Result<Option<String>> {
    let mut book = Book::default();
    book.update(log).await?;
    let before = book.newest();
    let own = book.take_up(log, catalogue, TakeUp::Anew, now).await?;
    Ok((before != Some(own)).then(|| format!("`{}` is in use now: {own}", catalogue.name)))
}

/// What `migrate` would do.
pub async fn check(
    engines: &Production,
    partitions: Partitions,
    dir: &Path,
    clock: &Clock,
) -> anyhow::Result<Vec<String>> {
    let log = Kafka::open(engines.kafka.clone(), clock.clone()).context("the log")?;
    let Lacking { missing, unlike } =
        lacking(&log, partitions, &engines.kafka.prefix).await.context("look at the topics")?;
    let mut lines = [unlike, missing].concat();
    match super::store(&engines.cql).await {
        Ok(_) => {}
        Err(error) if error.is::<NotReady>() => lines.push(error.to_string()),
        Err(error) => return Err(error),
    }
    lines.extend(schemas(engines, dir, clock, true).await?);
    Ok(lines)
}

/// The registry, if there is one. What it says is not kept: there may be no folder for it.
fn registry(engines: &Production, dir: &Path, clock: &Clock) -> anyhow::Result<Option<Registry>> {
    let open = |settings: &config::Registry| {
        let settings = registry::Settings { cache: None, ..super::settings_of(settings, dir) };
        Registry::open(settings, clock.clone()).context("the registry")
    };
    engines.registry.as_ref().map(open).transpose()
}

/// Registers the schemas of our topics, where there is a registry; or says which are not registered.
async fn schemas(
    engines: &Production,
    dir: &Path,
    clock: &Clock,
    check: bool,
) -> anyhow::Result<Vec<String>> {
    let Some(registry) = registry(engines, dir, clock)? else { return Ok(Vec::new()) };
    match registry::migrate(&registry, &engines.kafka.prefix, check).await {
        Err(error) => match error.downcast_ref::<registry::Unfit>() {
            Some(unfit) if check => Ok(unfit.to_string().lines().map(str::to_owned).collect()),
            Some(unfit) => Err(NotReady(unfit.to_string()).into()),
            None => Err(error.context("register the schemas")),
        },
        done => done,
    }
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
