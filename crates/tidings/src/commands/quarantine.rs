//! `tidings quarantine`: what could not be used, and what to do with it.

use catalogue::Catalogue;
use model::Millis;
use serde_json::{Value, json};

use super::{
    Out,
    reach::{Files, Reach, reach_all},
};
use crate::{
    cli,
    config::{Config, Engine},
    failure::Failure,
    quarantine::{self, Item, Verdict},
    say,
};

/// Characters of a reason in the list.
const REASON_CHARS_LISTED: usize = 100;

pub fn run(config: &Config, what: cli::Quarantine, out: Out) -> Result<(), Failure> {
    let reach = reach_all(config)?;
    match what {
        cli::Quarantine::List => list(&items(&reach)?, out),
        cli::Quarantine::Show { item } => show(&items(&reach)?, item, out),
        cli::Quarantine::Retry(items) => settle(&reach, config, &items, Verdict::Retry, out),
        cli::Quarantine::Drop(items) => settle(&reach, config, &items, Verdict::Drop, out),
    }
}

fn items(reach: &Reach) -> Result<Vec<Item>, Failure> {
    match reach {
        Reach::Running(client) => client.get("/admin/quarantine", &[])?.good(),
        Reach::Files(files) => Ok(files.runtime.block_on(quarantine::list(&*files.topics))?),
    }
}

fn list(items: &[Item], out: Out) -> Result<(), Failure> {
    if out.json {
        return Ok(say::json(&items)?);
    }
    if items.is_empty() {
        say::talk("nothing waits in the quarantine");
    }
    let row = |item: &Item| {
        let reason: String = item.reason.chars().take(REASON_CHARS_LISTED).collect();
        let place = format!("{}[{}]@{}", item.topic, item.partition, item.offset);
        [item.number.to_string(), item.at.clone(), item.room.clone(), place, say::clean(&reason)]
    };
    let rows: Vec<_> = items.iter().map(row).collect();
    for line in say::table(&rows) {
        say::data(line)?;
    }
    Ok(())
}

fn show(items: &[Item], number: u64, out: Out) -> Result<(), Failure> {
    let Some(item) = items.iter().find(|item| item.number == number) else {
        return Err(Failure::refused(format!("no item {number} waits in the quarantine")));
    };
    if out.json {
        return Ok(say::json(item)?);
    }
    let rows = [
        ["number".to_owned(), item.number.to_string()],
        ["since".to_owned(), item.at.clone()],
        ["put aside by".to_owned(), say::clean(&item.room)],
        [
            "lies in".to_owned(),
            format!("{}, partition {}, offset {}", item.topic, item.partition, item.offset),
        ],
        ["reason".to_owned(), say::clean(&item.reason)],
        ["key".to_owned(), say::clean(&item.key)],
        ["value".to_owned(), item.value.as_deref().map_or_else(|| "none".to_owned(), say::clean)],
    ];
    for line in say::table(&rows) {
        say::data(line)?;
    }
    if item.cut {
        say::talk("this is the beginning; the whole record lies where its topic, partition and offset say");
    }
    Ok(())
}

/// On engines elsewhere a topic is one of ours, by our prefix, unless the catalogue says that it is another's.
fn know_topics(config: &Config, files: &Files, numbers: Option<&[u64]>) -> Result<(), Failure> {
    if let Engine::Embedded = config.engine {
        return Ok(());
    }
    let foreign = files.catalogue.as_ref().map(Catalogue::foreign_topics).unwrap_or_default();
    let ours = wire::topics::all(config.partitions);
    for (number, item) in files.runtime.block_on(quarantine::waiting(&*files.topics))? {
        let is_known = foreign.contains(&item.topic) || ours.iter().any(|(name, ..)| *name == item.topic);
        if !is_known && numbers.is_none_or(|numbers| numbers.contains(&number)) {
            return Err(Failure::refused(format!(
                "item {number} is of `{}`, which no source that is known here reads: name the catalogue with \
                 TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml",
                item.topic
            )));
        }
    }
    Ok(())
}

fn settle(
    reach: &Reach,
    config: &Config,
    items: &cli::Items,
    verdict: Verdict,
    out: Out,
) -> Result<(), Failure> {
    let numbers = (!items.all).then_some(items.items.as_slice());
    let settled: usize = match reach {
        Reach::Running(client) => {
            let body = json!({"verdict": verdict, "items": numbers}).to_string();
            let said: Value = client.post("/admin/quarantine", &body, None)?.good()?;
            said["settled"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
        }
        Reach::Files(files) => {
            let now = Millis(files.clock.now());
            if verdict == Verdict::Retry {
                know_topics(config, files, numbers)?;
            }
            files.runtime.block_on(quarantine::settle(&*files.topics, numbers, verdict, now))?
        }
    };
    if out.json {
        return Ok(say::json(&json!({"settled": settled}))?);
    }
    let what = match verdict {
        Verdict::Retry => "put back",
        Verdict::Drop => "dropped",
    };
    say::talk(format!("{settled} {what}"));
    Ok(())
}
