//! `tidings state`: records that cannot be read, and what to do about them.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::Millis;
use serde_json::json;

use super::{
    Out,
    reach::{Files, Reach, reach_all},
    replay::by,
};
use crate::{
    cli,
    config::Config,
    failure::Failure,
    say::{self, Paint},
    state::{self, Deed, Done, Export, Place, Unreadable},
};

/// Bytes of a record that are shown.
const SHOWN_MAX: usize = 1_024;
/// Bytes of a line of them.
const LINE: usize = 16;

pub fn run(config: &Config, asked: cli::State, out: Out) -> Result<(), Failure> {
    let reach = reach_all(config)?;
    match asked {
        cli::State::List => list(&reach, out),
        cli::State::Show { place } => show(&reach, place, out),
        cli::State::Export { place, out: file } => write(&export(&reach, place)?, &file),
        cli::State::Repair { file } => settle(&reach, &Deed::Repair(read(&file)?), out),
        cli::State::Drop { place } => settle(&reach, &Deed::Drop(place), out),
    }
}

fn list(reach: &Reach, out: Out) -> Result<(), Failure> {
    // Only a house that runs has partitions that stand.
    let (records, still): (Vec<Unreadable>, Vec<String>) = match reach {
        Reach::Running(client) => client.get("/admin/state", &[])?.good()?,
        Reach::Files(files) => (files.runtime.block_on(state::list(&*files.topics))?, Vec::new()),
    };
    if out.json {
        return Ok(say::json(&json!({"records": records, "standstills": still}))?);
    }
    still.iter().for_each(|line| say::talk(say::clean(line)));
    if records.is_empty() {
        say::talk("all records of `windows` can be read");
        return Ok(());
    }
    let paint = Paint::data();
    let mut lines = table(&records).into_iter();
    if let Some(head) = lines.next() {
        say::data(paint.with(say::FAINT, head))?;
    }
    Ok(lines.try_for_each(say::data)?)
}

const HEAD: [&str; 6] = ["record", "since", "key", "bytes", "readable before", "reason"];

fn table(of: &[Unreadable]) -> Vec<String> {
    let row = |one: &Unreadable| {
        let before = one.before.map_or_else(|| "-".to_owned(), |place| place.to_string());
        let (key, reason) = (say::clean(&one.key), say::clean(&one.reason));
        [one.place.to_string(), one.since.clone(), key, one.bytes.to_string(), before, reason]
    };
    let rows = std::iter::once(HEAD.map(str::to_owned)).chain(of.iter().map(row));
    say::table(&rows.collect::<Vec<_>>())
}

fn export(reach: &Reach, place: Place) -> Result<Export, Failure> {
    match reach {
        Reach::Running(client) => client.get("/admin/state", &[("record", &place.to_string())])?.good(),
        Reach::Files(files) => {
            files.runtime.block_on(state::export(&*files.topics, place)).map_err(Failure::refused)
        }
    }
}

fn show(reach: &Reach, place: Place, out: Out) -> Result<(), Failure> {
    let export = export(reach, place)?;
    if out.json {
        return Ok(say::json(&export)?);
    }
    let bytes = |text: &str| BASE64_STANDARD.decode(text).context("the record");
    let (key, value) = (bytes(&export.key)?, bytes(&export.value)?);
    let reads = match wire::window::decode(&value) {
        Ok((tenant, person, _)) => format!("as the record of {person} of {tenant}"),
        Err(undecodable) => format!("not: {undecodable}"),
    };
    let rows = [
        [
            "lies in".to_owned(),
            format!("{}, partition {}, offset {}", export.topic, place.partition, place.offset),
        ],
        ["key".to_owned(), say::clean(&String::from_utf8_lossy(&key).replace('\0', "/"))],
        ["bytes".to_owned(), value.len().to_string()],
        ["is read".to_owned(), say::clean(&reads)],
    ];
    say::table(&rows).into_iter().try_for_each(say::data)?;
    for line in dump(&value) {
        say::data(line)?;
    }
    if value.len() > SHOWN_MAX {
        say::talk("this is the beginning; `tidings state export` writes all of it");
    }
    Ok(())
}

/// Bytes as numbers, and as text beside them.
fn dump(bytes: &[u8]) -> Vec<String> {
    let line = |(at, bytes): (usize, &[u8])| {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = |byte: &u8| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' };
        let text: String = bytes.iter().map(text).collect();
        format!("{:06x}  {:47}  {text}", at * LINE, hex.join(" "))
    };
    bytes[..bytes.len().min(SHOWN_MAX)].chunks(LINE).enumerate().map(line).collect()
}

/// The bytes are of a person, so the file is its user's alone.
fn write(export: &Export, path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let text = serde_json::to_string_pretty(export).context("the export")?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()));
    Ok(written.with_context(|| path.display().to_string())?)
}

fn read(path: &Path) -> Result<Export, Failure> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).map_err(|error| Failure::refused(format!("{}: {error}", path.display())))
}

fn settle(reach: &Reach, deed: &Deed, out: Out) -> Result<(), Failure> {
    let by = by();
    let done: Done = match reach {
        Reach::Running(client) => {
            let body = json!({"deed": deed, "by": by}).to_string();
            client.post("/admin/state", &body, None)?.good()?
        }
        Reach::Files(files) => {
            let Files { runtime, topics, store, clock, .. } = &**files;
            let settled = state::settle(&**topics, &**store, deed, &by, Millis(clock.now()));
            runtime.block_on(settled).map_err(Failure::refused)?
        }
    };
    if out.json {
        return Ok(say::json(&done)?);
    }
    say::talk(said(deed, &done));
    Ok(())
}

fn said(deed: &Deed, done: &Done) -> String {
    let whose = done.person.as_deref().map_or_else(|| "nobody".to_owned(), say::clean);
    match deed {
        Deed::Repair(_) => format!("{}, the record of {whose}, is repaired", done.place),
        Deed::Drop(_) => format!(
            "{}, the record of {whose}, is dropped; {} of their days are announced anew",
            done.place, done.days
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stand_in_columns_and_bytes_in_lines() {
        let place = Place { partition: 0, offset: 18 };
        let one = Unreadable {
            place,
            since: "2026-11-21T08:00:00.000Z".to_owned(),
            key: "main/ann".to_owned(),
            bytes: 7,
            reason: "no avro record".to_owned(),
            before: Some(Place { offset: 12, ..place }),
        };
        let expected = [
            "record  since                     key       bytes  readable before  reason",
            "0@18    2026-11-21T08:00:00.000Z  main/ann  7      0@12             no avro record",
        ];
        assert_eq!(table(&[one]), expected);
        let lines = dump(b"garbage\0and more of it");
        assert_eq!(
            lines,
            [
                "000000  67 61 72 62 61 67 65 00 61 6e 64 20 6d 6f 72 65  garbage.and more",
                "000010  20 6f 66 20 69 74                                 of it",
            ]
        );
    }
}
