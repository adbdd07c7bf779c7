//! `tidings archive`: has the running house write old days to a file, and drop them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use model::{Day, Millis};
use runtime::Clock;
use serde_json::{Value, json};

use super::Out;
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
    let client = running(config)?;
    let Some(before) = archive::day(&asked.before, now(&client)?) else {
        let what = format!(
            "--before is a day such as 2026-11-13, or how long ago, such as 16d, not `{}`",
            asked.before
        );
        return Err(Failure::Usage(what));
    };
    let file = whole(asked.out.as_deref(), before)?;
    let archived = by_house(&client, before, &file)?;
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

/// Files alone do not say what is still owed from their days.
fn running(config: &Config) -> Result<Client, Failure> {
    Client::find(&config.data_dir).map_err(|failure| match failure {
        Failure::Unreachable(error) => {
            let why = "only a running house archives, for it alone knows what it still has to tell";
            Failure::Unreachable(error.context(why))
        }
        other => other,
    })
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
    let (clock, mut progress) = (Clock::real(0), say::Progress::start());
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
        progress.show(format!("{} rows written", said["rows"]));
        pace.block_on(clock.sleep_until(clock.now() + LOOK_MS));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config;

    #[test]
    fn nothing_is_archived_where_no_house_runs() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("tidings.yaml"), "data_dir: data\n").unwrap();
        let merged = config::load(Some(&dir.path().join("tidings.yaml")), [], vec![]).unwrap();
        // As a house that was stopped leaves it.
        fs::create_dir_all(dir.path().join("data/topics")).unwrap();
        let asked = cli::Archive { before: "9d".to_owned(), out: Some(dir.path().join("old.avro")) };
        let failure = run(&merged.config, &asked, Out { json: false }).unwrap_err();
        assert_eq!(failure.code(), 4);
        let said = failure.to_string();
        assert!(said.starts_with("only a running house archives"), "{said}");
        assert!(said.ends_with("start it with `tidings up`"), "{said}");
        assert!(!dir.path().join("old.avro").exists());
    }
}
