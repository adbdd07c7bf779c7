//! `tidings state`: records that cannot be read, and what to do about them.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::UtcMillis;
use serde_json::json;
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use upkeep::state::{self, RecordAction, RecordActionReport, RecordExport, StatePlace, UnreadableRecord};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_any_house},
    replay::operator_name,
};
use crate::arguments as cli;

/// Bytes of a record that are shown.
const SHOWN_MAX: usize = 1_024;
/// Bytes of a line of them.
const LINE: usize = 16;

pub fn run(config: &Config, asked: cli::StateCommand, out: OutputStyle) -> Result<(), CommandError> {
    let reach = reach_any_house(config)?;
    match asked {
        cli::StateCommand::List => list_unreadable(&reach, out),
        cli::StateCommand::Show { place } => print_record(&reach, place, out),
        cli::StateCommand::Export { place, out: file } => write_export(&export_record(&reach, place)?, &file),
        cli::StateCommand::Repair { file } => {
            settle_record(&reach, &RecordAction::Repair(read_export(&file)?), out)
        }
        cli::StateCommand::Drop { place } => settle_record(&reach, &RecordAction::Drop(place), out),
    }
}

fn list_unreadable(reach: &HouseAccess, out: OutputStyle) -> Result<(), CommandError> {
    // Only a house that runs has partitions that stand.
    let (records, still): (Vec<UnreadableRecord>, Vec<String>) = match reach {
        HouseAccess::Running(client) => client.get("/admin/state", &[])?.into_value()?,
        HouseAccess::Files(files) => {
            (files.runtime.block_on(state::list_unreadable(&*files.topics))?, Vec::new())
        }
    };
    if out.json {
        return Ok(terminal::print_json(&json!({"records": records, "standstills": still}))?);
    }
    still.iter().for_each(|line| terminal::print_talk(terminal::clean_text(line)));
    if records.is_empty() {
        terminal::print_talk("all records of `windows` can be read");
        return Ok(());
    }
    Ok(terminal::print_headed_table(unreadable_table(&records))?)
}

const HEAD: [&str; 6] = ["record", "since", "key", "bytes", "readable before", "reason"];

fn unreadable_table(of: &[UnreadableRecord]) -> Vec<String> {
    let row = |one: &UnreadableRecord| {
        let before = one.before.map_or_else(|| "-".to_owned(), |place| place.to_string());
        let (key, reason) = (terminal::clean_text(&one.key), terminal::clean_text(&one.reason));
        [one.place.to_string(), one.since.clone(), key, one.bytes.to_string(), before, reason]
    };
    terminal::format_headed_table(HEAD, of.iter().map(row))
}

fn export_record(reach: &HouseAccess, place: StatePlace) -> Result<RecordExport, CommandError> {
    match reach {
        HouseAccess::Running(client) => {
            client.get("/admin/state", &[("record", &place.to_string())])?.into_value()
        }
        HouseAccess::Files(files) => files
            .runtime
            .block_on(state::export_record(&*files.topics, place))
            .map_err(CommandError::from_refusal),
    }
}

fn print_record(reach: &HouseAccess, place: StatePlace, out: OutputStyle) -> Result<(), CommandError> {
    let export = export_record(reach, place)?;
    if out.json {
        return Ok(terminal::print_json(&export)?);
    }
    let bytes = |text: &str| BASE64_STANDARD.decode(text).context("the record");
    let (key, value) = (bytes(&export.key)?, bytes(&export.value)?);
    let reads = match wire::window::decode(&value) {
        Ok((tenant, person, _)) => format!("the record of {person} of {tenant}"),
        Err(undecodable) => format!("unreadable: {undecodable}"),
    };
    let rows = [
        [
            "position".to_owned(),
            format!("{}, partition {}, offset {}", export.topic, place.partition, place.offset),
        ],
        ["key".to_owned(), terminal::clean_text(&String::from_utf8_lossy(&key).replace('\0', "/"))],
        ["bytes".to_owned(), value.len().to_string()],
        ["decoded".to_owned(), terminal::clean_text(&reads)],
    ];
    terminal::format_table(&rows).into_iter().try_for_each(terminal::print_data)?;
    for line in hex_dump(&value) {
        terminal::print_data(line)?;
    }
    if value.len() > SHOWN_MAX {
        terminal::print_talk("only its beginning is shown; `tidings state export` writes all of it");
    }
    Ok(())
}

/// Bytes as numbers, and as text beside them.
fn hex_dump(bytes: &[u8]) -> Vec<String> {
    let line = |(at, bytes): (usize, &[u8])| {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = |byte: &u8| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' };
        let text: String = bytes.iter().map(text).collect();
        format!("{:06x}  {:47}  {text}", at * LINE, hex.join(" "))
    };
    bytes[..bytes.len().min(SHOWN_MAX)].chunks(LINE).enumerate().map(line).collect()
}

/// The bytes are of a person, so the file is its user's alone.
fn write_export(export: &RecordExport, path: &Path) -> Result<(), CommandError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let text = serde_json::to_string_pretty(export).context("the export")?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()));
    Ok(written.with_context(|| path.display().to_string())?)
}

fn read_export(path: &Path) -> Result<RecordExport, CommandError> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text)
        .map_err(|error| CommandError::from_refusal(format!("{}: {error}", path.display())))
}

fn settle_record(reach: &HouseAccess, deed: &RecordAction, out: OutputStyle) -> Result<(), CommandError> {
    let by = operator_name();
    let done: RecordActionReport = match reach {
        HouseAccess::Running(client) => {
            let body = json!({"deed": deed, "by": by}).to_string();
            client.post("/admin/state", &body, None)?.into_value()?
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, store, clock, .. } = &**files;
            let settled = state::settle_record(&**topics, &**store, deed, &by, UtcMillis(clock.now()));
            runtime.block_on(settled).map_err(CommandError::from_refusal)?
        }
    };
    if out.json {
        return Ok(terminal::print_json(&done)?);
    }
    terminal::print_talk(describe_outcome(deed, &done));
    Ok(())
}

fn describe_outcome(deed: &RecordAction, done: &RecordActionReport) -> String {
    let whose = done.person.as_deref().map_or_else(|| "nobody".to_owned(), terminal::clean_text);
    match deed {
        RecordAction::Repair(_) => format!("{}, the record of {whose}, was repaired", done.place),
        RecordAction::Drop(_) => format!(
            "{}, the record of {whose}, was dropped; {} of their days are announced again",
            done.place, done.days
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stand_in_columns_and_bytes_in_lines() {
        let place = StatePlace { partition: 0, offset: 18 };
        let one = UnreadableRecord {
            place,
            since: "2026-11-21T08:00:00.000Z".to_owned(),
            key: "main/ann".to_owned(),
            bytes: 7,
            reason: "no avro record".to_owned(),
            before: Some(StatePlace { offset: 12, ..place }),
        };
        let expected = [
            "record  since                     key       bytes  readable before  reason",
            "0@18    2026-11-21T08:00:00.000Z  main/ann  7      0@12             no avro record",
        ];
        assert_eq!(unreadable_table(&[one]), expected);
        let lines = hex_dump(b"garbage\0and more of it");
        assert_eq!(
            lines,
            [
                "000000  67 61 72 62 61 67 65 00 61 6e 64 20 6d 6f 72 65  garbage.and more",
                "000010  20 6f 66 20 69 74                                 of it",
            ]
        );
    }
}
