//! Access to a house: to one elsewhere, to the one that runs on the data directory, or to the engines directly.

use std::sync::Arc;

use adapters::engine_setup::{self, format_gate::FormatGate};
use anyhow::Context as _;
use catalogue::Catalogue;
use lifecycle::start::load_catalogue;
use runtime::Clock;
use settings::config::{Config, EngineConfig};
use shell::{
    client::HouseClient,
    datadir::{AdminAccess, DataDir, DemoClock},
    failure::CommandError,
};
use store::Store;
use tokio::runtime::Runtime;
use topic::Topics;

/// Who answers.
pub enum HouseAccess {
    Running(HouseClient),
    Files(Box<DirectEngines>),
}

/// Engines opened by this process: those of a directory on which nothing runs, or those that are elsewhere.
pub struct DirectEngines {
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

/// Why the catalogue of a command that cannot do without it is not there: there is none, or it is refused.
pub fn explain_missing_catalogue(config: &Config, wants: &str) -> CommandError {
    match config.catalogue.as_deref().map(|dir| Catalogue::load(dir, config.day_life)) {
        Some(Err(problems)) => {
            CommandError::from_refusal(format!("{wants} needs a catalogue without problems\n{problems}"))
        }
        Some(Ok(_)) | None => CommandError::from_refusal(format!(
            "{wants} needs the catalogue: name its folder with --catalogue, TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml"
        )),
    }
}

/// Finds out who answers for the tenant that was asked for; a house that speaks for another one does not.
pub fn reach_house(config: &Config) -> Result<HouseAccess, CommandError> {
    let reach = reach_any_house(config)?;
    if let HouseAccess::Running(client) = &reach {
        client.speaks_for(&config.tenant)?;
    }
    Ok(reach)
}

/// Finds out who answers a question that is about no tenant in particular.
pub fn reach_any_house(config: &Config) -> Result<HouseAccess, CommandError> {
    match config.server {
        Some(_) => HouseClient::find(config).map(HouseAccess::Running),
        None => reach_own_house(config),
    }
}

/// The same of the engines and the directory of the settings, whatever house is named beside them.
pub fn reach_own_house(config: &Config) -> Result<HouseAccess, CommandError> {
    let dir = &config.data_dir;
    let held = match config.engine {
        EngineConfig::Embedded if !dir.join("topics").exists() => {
            let dir = dir.display();
            return Err(CommandError::from_unreachable(format!(
                "no house keeps its data in `{dir}`; start one with `tidings up`, or name its directory with --data-dir"
            )));
        }
        EngineConfig::Embedded => DataDir::hold(dir),
        // The others need not be gone: a process with the way in is asked, without one the engines are.
        EngineConfig::Production(_) => DataDir::share(dir, true),
    };
    match held {
        Ok(held) => Ok(HouseAccess::Files(Box::new(open_direct_engines(config, held)?))),
        // By the house that runs on it, or by somebody who does not say so (yet, or any more).
        Err(CommandError::Refused(held)) => match AdminAccess::read(dir)? {
            Some(admin) => HouseClient::new(admin).map(HouseAccess::Running),
            None => Err(CommandError::Unreachable(held)),
        },
        Err(other) => Err(other),
    }
}

fn open_direct_engines(config: &Config, held: DataDir) -> Result<DirectEngines, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let clock = DemoClock::open(held.path())?.clock().clone();
    let catalogue =
        config.catalogue.as_ref().and_then(|_| load_catalogue(config).ok().map(Arc::unwrap_or_clone));
    let foreign = catalogue.as_ref().map(Catalogue::foreign_topics).unwrap_or_default();
    let opened = runtime
        .block_on(engine_setup::open_engines(config, &clock, foreign))
        .map_err(lifecycle::start::start_failure)?;
    let (topics, store) = (opened.topics(), opened.store());
    let is_read = async { FormatGate::read(&*topics).await?.refuse_unreadable() };
    runtime.block_on(is_read).map_err(lifecycle::start::start_failure)?;
    Ok(DirectEngines { runtime, topics, store, clock, catalogue, _held: held })
}
