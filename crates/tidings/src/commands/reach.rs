//! Who answers a question about a data directory: the house that runs on it, or its files.

use std::sync::Arc;

use anyhow::Context as _;
use catalogue::Catalogue;
use runtime::Clock;
use store::Store;
use tokio::runtime::Runtime;
use topic::Topics;

use crate::{
    client::Client,
    config::Config,
    datadir::{Admin, DataDir, DemoClock},
    failure::Failure,
};

/// Who answers.
pub enum Reach {
    Running(Client),
    Files(Box<Files>),
}

/// The engines of a directory on which nothing runs, opened by this process.
pub struct Files {
    pub runtime: Runtime,
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    /// Only for what subjects are called; a missing or broken one leaves them unnamed.
    pub catalogue: Option<Catalogue>,
    /// The last to go: the engines must be closed by then.
    _held: DataDir,
}

/// Finds out who answers.
pub fn reach(config: &Config) -> Result<Reach, Failure> {
    let dir = &config.data_dir;
    if !dir.join("topics").exists() {
        let dir = dir.display();
        return Err(Failure::unreachable(format!("there is nothing in {dir} yet; `tidings up` begins it")));
    }
    match DataDir::hold(dir) {
        Ok(held) => Ok(Reach::Files(Box::new(files(config, held)?))),
        // By the house that runs on it, or by somebody who does not say so (yet, or any more).
        Err(Failure::Refused(held)) => match Admin::read(dir)? {
            Some(admin) => Ok(Reach::Running(Client::new(admin))),
            None => Err(Failure::Unreachable(held)),
        },
        Err(other) => Err(other),
    }
}

fn files(config: &Config, held: DataDir) -> Result<Files, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let clock = DemoClock::open(held.path())?.clock().clone();
    let topics = topic::embedded::Embedded::open(&held.topics(), clock.clone()).context("open the topics")?;
    let store = store::embedded::Embedded::open(&held.store()).context("open the store")?;
    let (topics, store): (Arc<dyn Topics>, Arc<dyn Store>) = (Arc::new(topics), Arc::new(store));
    let catalogue = config.catalogue.as_deref().and_then(|dir| Catalogue::load(dir).ok());
    Ok(Files { runtime, topics, store, clock, catalogue, _held: held })
}
