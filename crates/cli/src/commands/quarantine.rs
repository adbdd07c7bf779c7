//! `tidings quarantine`: what could not be used, and what to do with it.

use catalogue::Catalogue;
use model::UtcMillis;
use serde_json::{Value, json};
use settings::config::{Config, EngineConfig};
use shell::{failure::CommandError, terminal};
use upkeep::quarantine::{self, QuarantineItemView, QuarantineVerdict};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_any_house},
};
use crate::arguments as cli;

/// Characters of a reason in the list.
const REASON_CHARS_LISTED: usize = 100;

pub fn run(config: &Config, what: cli::QuarantineCommand, out: OutputStyle) -> Result<(), CommandError> {
    let reach = reach_any_house(config)?;
    match what {
        cli::QuarantineCommand::List => print_items(&read_items(&reach)?, out),
        cli::QuarantineCommand::Show { item } => print_item(&read_items(&reach)?, item, out),
        cli::QuarantineCommand::Retry(items) => {
            settle_items(&reach, config, &items, QuarantineVerdict::Retry, out)
        }
        cli::QuarantineCommand::Drop(items) => {
            settle_items(&reach, config, &items, QuarantineVerdict::Drop, out)
        }
    }
}

fn read_items(reach: &HouseAccess) -> Result<Vec<QuarantineItemView>, CommandError> {
    match reach {
        HouseAccess::Running(client) => client.get("/admin/quarantine", &[])?.into_value(),
        HouseAccess::Files(files) => Ok(files.runtime.block_on(quarantine::list_items(&*files.topics))?),
    }
}

fn print_items(items: &[QuarantineItemView], out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        return Ok(terminal::print_json(&items)?);
    }
    if items.is_empty() {
        terminal::print_talk("the quarantine is empty");
    }
    let row = |item: &QuarantineItemView| {
        let reason: String = item.reason.chars().take(REASON_CHARS_LISTED).collect();
        let place = format!("{}[{}]@{}", item.topic, item.partition, item.offset);
        [item.number.to_string(), item.at.clone(), item.room.clone(), place, terminal::clean_text(&reason)]
    };
    let rows: Vec<_> = items.iter().map(row).collect();
    for line in terminal::format_table(&rows) {
        terminal::print_data(line)?;
    }
    Ok(())
}

fn print_item(items: &[QuarantineItemView], number: u64, out: OutputStyle) -> Result<(), CommandError> {
    let Some(item) = items.iter().find(|item| item.number == number) else {
        return Err(CommandError::from_refusal(format!("there is no item {number} in the quarantine")));
    };
    if out.json {
        return Ok(terminal::print_json(item)?);
    }
    let rows = [
        ["number".to_owned(), item.number.to_string()],
        ["since".to_owned(), item.at.clone()],
        ["put aside by".to_owned(), terminal::clean_text(&item.room)],
        [
            "position".to_owned(),
            format!("{}, partition {}, offset {}", item.topic, item.partition, item.offset),
        ],
        ["reason".to_owned(), terminal::clean_text(&item.reason)],
        ["key".to_owned(), terminal::clean_text(&item.key)],
        ["value".to_owned(), item.value.as_deref().map_or_else(|| "none".to_owned(), terminal::clean_text)],
    ];
    for line in terminal::format_table(&rows) {
        terminal::print_data(line)?;
    }
    if item.cut {
        terminal::print_talk("only its beginning is shown; the whole record is at this position");
    }
    Ok(())
}

/// On engines elsewhere a topic is one of ours, by our prefix, unless the catalogue says that it is another's.
fn check_topics_known(
    config: &Config,
    files: &DirectEngines,
    numbers: Option<&[u64]>,
) -> Result<(), CommandError> {
    if let EngineConfig::Embedded = config.engine {
        return Ok(());
    }
    let foreign = files.catalogue.as_ref().map(Catalogue::foreign_topics).unwrap_or_default();
    let ours = wire::topics::all_topics(config.partitions);
    for (number, item) in files.runtime.block_on(quarantine::load_waiting(&*files.topics))? {
        let is_known = foreign.contains(&item.topic) || ours.iter().any(|(name, ..)| *name == item.topic);
        if !is_known && numbers.is_none_or(|numbers| numbers.contains(&number)) {
            return Err(CommandError::from_refusal(format!(
                "item {number} is of `{}`, which is not a known source: name the catalogue with \
                 TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml",
                item.topic
            )));
        }
    }
    Ok(())
}

fn settle_items(
    reach: &HouseAccess,
    config: &Config,
    items: &cli::QuarantineItemsArgs,
    verdict: QuarantineVerdict,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let numbers = (!items.all).then_some(items.items.as_slice());
    let settled: usize = match reach {
        HouseAccess::Running(client) => {
            let body = json!({"verdict": verdict, "items": numbers}).to_string();
            let said: Value = client.post("/admin/quarantine", &body, None)?.into_value()?;
            said["settled"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
        }
        HouseAccess::Files(files) => {
            let now = UtcMillis(files.clock.now());
            if verdict == QuarantineVerdict::Retry {
                check_topics_known(config, files, numbers)?;
            }
            files.runtime.block_on(quarantine::settle_items(&*files.topics, numbers, verdict, now))?
        }
    };
    if out.json {
        return Ok(terminal::print_json(&json!({"settled": settled}))?);
    }
    let what = match verdict {
        QuarantineVerdict::Retry => "put back",
        QuarantineVerdict::Drop => "dropped",
    };
    terminal::print_talk(format!("{settled} {what}"));
    Ok(())
}
