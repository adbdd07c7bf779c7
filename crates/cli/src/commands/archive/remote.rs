//! Archiving a house elsewhere: its rows are written to a file here, and it drops the days once it is shown that the file
//! has all of them.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
};

use anyhow::{Context as _, anyhow};
use model::Day;
use serde_json::{Value, json};
use shell::{client::HouseClient, failure::CommandError, terminal};
use upkeep::archive::{self, ArchiveDayDigest, ArchiveReport};

/// Fetches the rows, and has the days dropped. A file that is there already is one of an earlier try.
pub fn archive_to_file(
    client: &HouseClient,
    before: Day,
    file: &Path,
) -> Result<ArchiveReport, CommandError> {
    let days = match file.symlink_metadata() {
        Ok(_) => archive::digest_file(file)
            .with_context(|| {
                format!("{} exists already, and is not an archive that can be dropped", file.display())
            })
            .map_err(CommandError::Refused)?,
        Err(_) => match fetch_rows(client, before, file)? {
            Some(days) => days,
            None => return Ok(ArchiveReport::default()),
        },
    };
    let archived = drop_days(client, before, &days)?;
    // Whatever this run dropped, the file is whole.
    let bytes = fs::metadata(file).with_context(|| file.display().to_string())?.len();
    Ok(ArchiveReport { bytes, file: Some(file.to_owned()), ..archived })
}

fn fetch_rows(
    client: &HouseClient,
    before: Day,
    file: &Path,
) -> Result<Option<Vec<ArchiveDayDigest>>, CommandError> {
    let body = json!({"before": before.to_string()}).to_string();
    let answer = client.post_for_stream("/admin/archive/export", &body)?;
    let mut progress = terminal::ProgressLine::start();
    let received = archive::receive_archive(answer, file, |bytes| {
        progress.show(format!("{} KiB received", bytes >> 10));
    });
    terminal::progress_done();
    Ok(received.context("the house keeps its days; run the same command again")?)
}

fn drop_days(
    client: &HouseClient,
    before: Day,
    days: &[ArchiveDayDigest],
) -> Result<ArchiveReport, CommandError> {
    let body = json!({"before": before.to_string(), "days": days}).to_string();
    let answer = client.post_for_stream("/admin/archive/drop", &body)?;
    let mut progress = terminal::ProgressLine::start();
    let mut last = Value::Null;
    for line in BufReader::new(answer).lines() {
        let Ok(line) = line else { break };
        last = serde_json::from_str(&line).context("decode the answer")?;
        if let Some(rows) = last["rows"].as_u64() {
            progress.show(format!("{rows} rows compared"));
        }
    }
    terminal::progress_done();
    if let Some(why) = last["failed"].as_str() {
        return Err(CommandError::Failed(anyhow!(terminal::clean_text(why))));
    }
    match last["archived"].take() {
        Value::Null => {
            let what = "the connection ended before the house said that the days are dropped; run the same command again";
            Err(CommandError::Failed(anyhow!(what)))
        }
        archived => Ok(serde_json::from_value(archived).context("decode the answer")?),
    }
}
