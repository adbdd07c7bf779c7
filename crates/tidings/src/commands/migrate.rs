//! `tidings migrate`: makes what a house needs in its engines, or says what would be made.

use std::time::Duration;

use anyhow::Context as _;
use runtime::Clock;
use serde_json::json;

use super::{
    Out,
    live::{self, at_the_start},
};
use crate::{
    cli,
    config::{Config, Engine},
    engines::{self, migrate},
    failure::Failure,
    say,
};

/// How long engines that are away are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(config: &Config, asked: &cli::Migrate, out: Out) -> Result<(), Failure> {
    let Engine::Production(production) = &config.engine else {
        return Err(Failure::refused(
            "there is nothing to migrate: the engine is `embedded`, which `tidings up` makes ready by itself",
        ));
    };
    super::start_log(config)?;
    let catalogue = config.catalogue.as_ref().map(|_| live::catalogue(config)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let (clock, partitions) = (Clock::real(0), config.partitions);
    let lines = runtime.block_on(async {
        let say = |why: &str| say::talk(format!("waiting: {why}"));
        engines::patiently(Some(PATIENCE), say, async || migrate::reach(production, &clock).await).await?;
        if asked.check {
            migrate::check(production, partitions, &config.data_dir, &clock).await
        } else {
            migrate::migrate(production, partitions, &config.data_dir, (catalogue.as_deref(), &clock)).await
        }
    });
    let lines = lines.map_err(at_the_start)?;
    if out.json {
        let what = if asked.check { "to_do" } else { "done" };
        say::json(&json!({what: lines}))?;
    } else if lines.is_empty() {
        say::data("nothing to do")?;
    } else {
        lines.iter().try_for_each(say::data)?;
    }
    if asked.check && !lines.is_empty() {
        return Err(Failure::refused(
            "the engines are not ready: `tidings migrate` makes them so, where it can",
        ));
    }
    Ok(())
}
