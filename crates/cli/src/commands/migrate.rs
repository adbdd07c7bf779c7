//! `tidings migrate`: makes what a house needs in its engines, or says what would be made.

use std::time::Duration;

use adapters::engine_setup::{
    self,
    format_gate::{RaisingCommand, WayBack},
    migrate,
};
use anyhow::Context as _;
use lifecycle::start::{load_catalogue, start_failure};
use runtime::Clock;
use serde_json::json;
use settings::config::{Config, EngineConfig};
use shell::{failure::CommandError, terminal};

use super::OutputStyle;
use crate::arguments as cli;

/// How long engines that are away are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether the release before may be given up.
pub fn way_back(is_given_up: bool) -> WayBack {
    if is_given_up { WayBack::GivenUp } else { WayBack::Kept }
}

pub fn run(config: &Config, asked: &cli::MigrateArgs, out: OutputStyle) -> Result<(), CommandError> {
    let EngineConfig::Production(production) = &config.engine else {
        return Err(CommandError::from_refusal(
            "there is nothing to migrate: the engine is `embedded`, which `tidings up` prepares by itself",
        ));
    };
    shell::terminal::start_log(config)?;
    let catalogue = config.catalogue.as_ref().map(|_| load_catalogue(config)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let (clock, partitions) = (Clock::real(0), config.partitions);
    let lines = runtime.block_on(async {
        let say = |why: &str| terminal::print_talk(format!("waiting: {why}"));
        engine_setup::retry_while_away(Some(PATIENCE), say, async || match asked.tables_only {
            true => migrate::check_tables_reachable(production).await,
            false => migrate::check_reachable(production, &clock).await,
        })
        .await?;
        if asked.tables_only {
            migrate::migrate_tables(production).await
        } else if asked.check {
            migrate::plan_migration(production, partitions, &config.data_dir, &clock).await
        } else {
            let (what, raise) =
                ((catalogue.as_deref(), &clock), (way_back(asked.no_way_back), RaisingCommand::Migrate));
            migrate::migrate_engines(production, partitions, &config.data_dir, what, raise).await
        }
    });
    let lines = lines.map_err(start_failure)?;
    if out.json {
        let what = if asked.check { "to_do" } else { "done" };
        terminal::print_json(&json!({what: lines}))?;
    } else if lines.is_empty() {
        terminal::print_data("nothing to do")?;
    } else {
        lines.iter().try_for_each(terminal::print_data)?;
    }
    if asked.check && !lines.is_empty() {
        return Err(CommandError::from_refusal("the engines are not ready; run `tidings migrate`"));
    }
    Ok(())
}
