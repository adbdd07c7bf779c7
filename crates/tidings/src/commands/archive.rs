//! `tidings archive`: writes old days to a file, and drops them.

use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicU64,
};

use anyhow::Context as _;
use model::{Day, Millis};
use runtime::Clock;
use serde_json::{Value, json};

use super::{
    Out,
    reach::{Files, Reach, reach},
};
use crate::{
    archive::{self, Archived},
    cli,
    client::Client,
    config::Config,
    failure::Failure,
    say,
};

/// Between two looks at how far it is.
const LOOK_MS: i64 = 200;

pub fn run(config: &Config, asked: &cli::Archive, out: Out) -> Result<(), Failure> {
    let reach = reach(config)?;
    let now = match &reach {
        Reach::Running(client) => now(client)?,
        Reach::Files(files) => Millis(files.clock.now()),
    };
    let Some(before) = archive::day(&asked.before, now) else {
        let what = format!(
            "--before is a day such as 2026-11-13, or how long ago, such as 9d, not `{}`",
            asked.before
        );
        return Err(Failure::Usage(what));
    };
    let file = whole(asked.out.as_deref(), before)?;
    let archived = match &reach {
        Reach::Running(client) => by_house(client, before, &file)?,
        Reach::Files(files) => by_hand(files, config, before, now, &file)?,
    };
    if out.json {
        return Ok(say::json(&archived)?);
    }
    match &archived.file {
        None => say::talk(format!("nothing lies before {before}")),
        Some(file) => {
            let Archived { days, rows, bytes, .. } = &archived;
            let days = if days.len() == 1 { "1 day".to_owned() } else { format!("{} days", days.len()) };
            say::talk(format!("{days}, {rows} rows, {bytes} bytes; dropped from the store"));
            say::data(file.display())?;
        }
    }
    Ok(())
}

/// The house and we may stand in different folders.
fn whole(out: Option<&Path>, before: Day) -> Result<PathBuf, Failure> {
    let name = out.map_or_else(|| PathBuf::from(format!("archive-before-{before}.avro")), Path::to_owned);
    Ok(std::path::absolute(name).context("the name of the file")?)
}

fn now(client: &Client) -> Result<Millis, Failure> {
    let said: Value = client.get("/admin/clock", &[])?.good()?;
    let now = said["now"].as_str().and_then(Millis::parse).context("understand the house's time")?;
    Ok(now)
}

fn by_house(client: &Client, before: Day, file: &Path) -> Result<Archived, Failure> {
    let body = json!({"before": before.to_string(), "file": file}).to_string();
    client.post("/admin/archive", &body, None)?.good::<Value>()?;
    let pace = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let clock = Clock::real(0);
    loop {
        let said: Value = client.get("/admin/archive", &[])?.good()?;
        if let Some(error) = said["failed"].as_str() {
            say::progress_done();
            return Err(Failure::Failed(anyhow::anyhow!(say::clean(error))));
        }
        if !said["archived"].is_null() {
            say::progress_done();
            let archived = serde_json::from_value(said["archived"].clone());
            return Ok(archived.context("understand the answer")?);
        }
        say::progress(format!("{} rows written", said["rows"]));
        pace.block_on(clock.sleep_until(clock.now() + LOOK_MS));
    }
}

fn by_hand(
    files: &Files,
    config: &Config,
    before: Day,
    now: Millis,
    file: &Path,
) -> Result<Archived, Failure> {
    let Some(catalogue) = &files.catalogue else {
        let what = match &config.catalogue {
            Some(_) => "the catalogue cannot be read; `tidings check` says why",
            None => {
                "without a catalogue nobody knows which days may still be told from: name it in TIDINGS_CATALOGUE or `catalogue:` in tidings.yaml"
            }
        };
        return Err(Failure::refused(what));
    };
    let rows = AtomicU64::new(0);
    Ok(files.runtime.block_on(archive::archive(&*files.store, catalogue, (before, now), file, &rows))?)
}
