//! `tidings archive`: has the running house write old days to a file, and drop them. A house elsewhere sends them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use model::{Day, UtcMillis};
use runtime::Clock;
use serde_json::{Value, json};
use settings::config::Config;
use shell::{client::HouseClient, failure::CommandError, terminal};
use upkeep::archive::{self, ArchiveReport};

use super::OutputStyle;

mod remote;
use crate::arguments as cli;

/// Between two looks at how far it is.
const LOOK_MS: i64 = 200;

pub fn run(config: &Config, asked: &cli::ArchiveArgs, out: OutputStyle) -> Result<(), CommandError> {
    let client = find_running_house(config)?;
    let Some(before) = archive::parse_day(&asked.before, house_now(&client)?) else {
        let what = format!(
            "--before must be a day such as 2026-11-13, or an age such as 16d, not `{}`",
            asked.before
        );
        return Err(CommandError::Usage(what));
    };
    let file = absolute_file(asked.out.as_deref(), before)?;
    let archived = if client.is_elsewhere() {
        remote::archive_to_file(&client, before, &file)?
    } else {
        archive_by_house(&client, before, &file)?
    };
    if out.json {
        return Ok(terminal::print_json(&archived)?);
    }
    match &archived.file {
        None => terminal::print_talk(format!("there are no days before {before}")),
        Some(file) => {
            let ArchiveReport { days, rows, bytes, .. } = &archived;
            let days = if days.len() == 1 { "1 day".to_owned() } else { format!("{} days", days.len()) };
            terminal::print_talk(format!("{days}, {rows} rows, {bytes} bytes; dropped from the store"));
            terminal::print_data(file.display())?;
        }
    }
    Ok(())
}

/// Files alone do not say what is still owed from their days.
fn find_running_house(config: &Config) -> Result<HouseClient, CommandError> {
    HouseClient::find(config).map_err(|failure| match failure {
        CommandError::Unreachable(error) => {
            let why = "only a running house can archive, because it alone knows what it still has to tell";
            CommandError::Unreachable(error.context(why))
        }
        other => other,
    })
}

/// The house and we may stand in different folders.
fn absolute_file(out: Option<&Path>, before: Day) -> Result<PathBuf, CommandError> {
    let name = out.map_or_else(|| PathBuf::from(format!("archive-before-{before}.avro")), Path::to_owned);
    Ok(std::path::absolute(name).context("resolve the path of the file")?)
}

fn house_now(client: &HouseClient) -> Result<UtcMillis, CommandError> {
    let said: Value = client.get("/admin/clock", &[])?.into_value()?;
    let now = said["now"].as_str().and_then(UtcMillis::parse).context("decode the house's time")?;
    Ok(now)
}

fn archive_by_house(client: &HouseClient, before: Day, file: &Path) -> Result<ArchiveReport, CommandError> {
    let body = json!({"before": before.to_string(), "file": file}).to_string();
    client.post("/admin/archive", &body, None)?.into_value::<Value>()?;
    let pace = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let (clock, mut progress) = (Clock::real(0), terminal::ProgressLine::start());
    loop {
        let said: Value = client.get("/admin/archive", &[])?.into_value()?;
        if let Some(error) = said["failed"].as_str() {
            terminal::progress_done();
            return Err(CommandError::Failed(anyhow::anyhow!(terminal::clean_text(error))));
        }
        if !said["archived"].is_null() {
            terminal::progress_done();
            let archived = serde_json::from_value(said["archived"].clone());
            return Ok(archived.context("decode the answer")?);
        }
        progress.show(format!("{} rows written", said["rows"]));
        pace.block_on(clock.sleep_until(clock.now() + LOOK_MS));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use settings::config;

    #[test]
    fn nothing_is_archived_where_no_house_runs() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("tidings.yaml"), "data_dir: data\n").unwrap();
        let merged = config::load_config(Some(&dir.path().join("tidings.yaml")), [], vec![]).unwrap();
        // As a house that was stopped leaves it.
        fs::create_dir_all(dir.path().join("data/topics")).unwrap();
        let asked = cli::ArchiveArgs { before: "9d".to_owned(), out: Some(dir.path().join("old.avro")) };
        let failure = run(&merged.config, &asked, OutputStyle { json: false }).unwrap_err();
        assert_eq!(failure.exit_code(), 4);
        let said = failure.to_string();
        assert!(said.starts_with("only a running house can archive"), "{said}");
        assert!(said.ends_with("start one with `tidings up`"), "{said}");
        assert!(!dir.path().join("old.avro").exists());
    }
}
