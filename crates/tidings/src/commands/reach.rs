//! Who answers a question about a data directory: the house that runs on it, or its engines.

use std::sync::Arc;

use anyhow::Context as _;
use catalogue::Catalogue;
use runtime::Clock;
use store::Store;
use tokio::runtime::Runtime;
use topic::Topics;

use crate::{
    client::Client,
    config::{Config, Engine},
    datadir::{Admin, DataDir, DemoClock},
    engines,
    failure::Failure,
};

/// Who answers.
pub enum Reach {
    Running(Client),
    Files(Box<Files>),
}

/// Engines opened by this process: those of a directory on which nothing runs, or those that are elsewhere.
pub struct Files {
    pub runtime: Runtime,
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    /// For what subjects are called, and which topics are those of others; a missing or broken one leaves
    /// that unknown.
    pub catalogue: Option<Catalogue>,
    /// The last to go: the engines must be closed by then.
    _held: DataDir,
}

/// Finds out who answers for the tenant that was asked for; a house that speaks for another one does not.
pub fn reach(config: &Config) -> Result<Reach, Failure> {
    let reach = reach_all(config)?;
    if let Reach::Running(client) = &reach {
        client.speaks_for(&config.tenant)?;
    }
    Ok(reach)
}

/// Finds out who answers a question that is about no tenant in particular.
pub fn reach_all(config: &Config) -> Result<Reach, Failure> {
    let dir = &config.data_dir;
    let held = match config.engine {
        Engine::Embedded if !dir.join("topics").exists() => {
            let dir = dir.display();
            return Err(Failure::unreachable(format!(
                "there is nothing in {dir} yet; `tidings up` begins it"
            )));
        }
        Engine::Embedded => DataDir::hold(dir),
        // The others need not be gone: a process with the way in is asked, without one the engines are.
        Engine::Production(_) => DataDir::share(dir, true),
    };
    match held {
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
    let catalogue = config.catalogue.as_deref().and_then(|dir| Catalogue::load(dir).ok());
    let foreign = catalogue.as_ref().map(Catalogue::foreign_topics).unwrap_or_default();
    let opened =
        runtime.block_on(engines::open(config, &clock, foreign)).map_err(super::live::at_the_start)?;
    let (topics, store) = (opened.topics(), opened.store());
    Ok(Files { runtime, topics, store, clock, catalogue, _held: held })
}
