//! `tidings catalogue`: the editions that were taken up, and the way back to the one before.

use house::editions::{self, EditionView};
use model::UtcMillis;
use settings::config::Config;
use shell::{failure::CommandError, terminal};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_any_house},
};
use crate::arguments as cli;

const HEAD: [&str; 5] = ["edition", "catalogue", "hash", "taken up", ""];

pub fn run(config: &Config, asked: &cli::CatalogueCommand, out: OutputStyle) -> Result<(), CommandError> {
    let reach = reach_any_house(config)?;
    match asked {
        cli::CatalogueCommand::List => print_editions(&list_editions(&reach)?, out),
        cli::CatalogueCommand::Back => {
            let edition = step_back(&reach)?;
            if out.json {
                return Ok(terminal::print_json(&edition)?);
            }
            let EditionView { number, name, hash, .. } = &edition;
            let name = terminal::clean_text(name);
            terminal::print_talk(format!(
                "{name} ({hash}) is the newest again, as edition {number}; processes that had it since they started go back to it"
            ));
            Ok(())
        }
    }
}

fn list_editions(reach: &HouseAccess) -> Result<Vec<EditionView>, CommandError> {
    match reach {
        HouseAccess::Running(client) => client.get("/admin/editions", &[])?.into_value(),
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, .. } = &**files;
            Ok(runtime.block_on(editions::list_editions(&**topics))?)
        }
    }
}

fn step_back(reach: &HouseAccess) -> Result<EditionView, CommandError> {
    match reach {
        HouseAccess::Running(client) => client.post("/admin/editions", "{}", None)?.into_value(),
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, clock, .. } = &**files;
            let back = runtime.block_on(editions::step_back(&**topics, UtcMillis(clock.now())))?;
            back.ok_or_else(|| CommandError::from_refusal("there is no catalogue before this one"))
        }
    }
}

fn print_editions(editions: &[EditionView], out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        return Ok(terminal::print_json(&editions)?);
    }
    if editions.is_empty() {
        terminal::print_talk("no catalogue was taken up yet");
        return Ok(());
    }
    let row = |one: &EditionView| {
        let EditionView { number, hash, name, at, is_newest } = one;
        let state = if *is_newest { "newest" } else { "" };
        [number.to_string(), terminal::clean_text(name), hash.clone(), at.clone(), state.to_owned()]
    };
    Ok(terminal::print_headed_table(terminal::format_headed_table(HEAD, editions.iter().map(row)))?)
}
