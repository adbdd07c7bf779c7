//! `tidings erase`: has a person erased, waits until it is done, and shows the receipt.

use std::path::Path;

use anyhow::Context as _;
use house::erasure::{self, ErasureAction, ErasurePlaceView, ErasureView};
use model::{Person, UtcMillis};
use runtime::Clock;
use serde_json::json;
use settings::config::{Config, EngineConfig};
use shell::{failure::CommandError, terminal};
use upkeep::archive;

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_house},
};
use crate::arguments as cli;

/// Between two looks at how far it is.
const LOOK_MS: i64 = 200;

pub fn run(config: &Config, asked: &cli::ErasePersonArgs, out: OutputStyle) -> Result<(), CommandError> {
    let person = Person::new(&asked.person).map_err(CommandError::from_refusal)?;
    if let Some(file) = &asked.archive {
        return erase_from_archive(config, &person, file, out);
    }
    let reach = reach_house(config)?;
    if asked.receipt {
        let seen = find_erasure(&reach, config, &person)?;
        let seen =
            seen.ok_or_else(|| CommandError::from_refusal("no erasure of this person was requested"))?;
        if !out.json {
            seen.earlier.iter().rev().try_for_each(|earlier| print_receipt(earlier, out))?;
        }
        return print_receipt(&seen, out);
    }
    let deed = match (asked.dry_run, asked.welcome) {
        (true, _) => ErasureAction::Look,
        (_, true) => ErasureAction::Welcome,
        _ => ErasureAction::Erase,
    };
    if deed == ErasureAction::Erase && !asked.yes && !confirm_erasure(&person)? {
        terminal::print_talk("nothing was changed");
        return Ok(());
    }
    let seen = begin_erasure(&reach, config, &person, deed)?;
    if deed != ErasureAction::Erase || asked.no_wait {
        return print_receipt(&seen, out);
    }
    if matches!((&reach, &config.engine), (HouseAccess::Files(_), EngineConfig::Embedded)) {
        print_receipt(&seen, out)?;
        terminal::print_talk("no house runs here; the rest is removed when one does");
        return Ok(());
    }
    wait_for_receipt(&reach, config, &person, &seen, out)
}

/// Erased data never comes back, and the id only with a welcome.
fn confirm_erasure(person: &Person) -> Result<bool, CommandError> {
    let what = format!("everything known about {person} will be removed for good. Erase this person?");
    terminal::confirm(&terminal::clean_text(&what))
}

fn begin_erasure(
    reach: &HouseAccess,
    config: &Config,
    person: &Person,
    deed: ErasureAction,
) -> Result<ErasureView, CommandError> {
    match reach {
        HouseAccess::Running(client) => {
            let body = json!({"person": person.as_str(), "deed": deed}).to_string();
            client.post("/admin/erase", &body, None)?.into_value()
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, store, clock, .. } = &**files;
            let (of, now) = ((&config.tenant, person), UtcMillis(clock.now()));
            if deed == ErasureAction::Look {
                return Ok(runtime.block_on(erasure::preview_erasure((&**store, None), of, now))?);
            }
            let ask =
                erasure::request_erasure((&**store, &**topics), of, deed == ErasureAction::Welcome, now);
            runtime.block_on(ask)?.map_err(CommandError::from_refusal)?;
            let seen = runtime.block_on(erasure::find_erasure(&**topics, of))?;
            Ok(seen.context("the request is not in the log")?)
        }
    }
}

fn find_erasure(
    reach: &HouseAccess,
    config: &Config,
    person: &Person,
) -> Result<Option<ErasureView>, CommandError> {
    match reach {
        HouseAccess::Running(client) => {
            client.get("/admin/erase", &[("person", person.as_str())])?.into_value()
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, .. } = &**files;
            Ok(runtime.block_on(erasure::find_erasure(&**topics, (&config.tenant, person)))?)
        }
    }
}

/// Stopping this wait does not stop the erasure.
fn wait_for_receipt(
    reach: &HouseAccess,
    config: &Config,
    person: &Person,
    asked: &ErasureView,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let pace = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let (clock, mut progress) = (Clock::real(0), terminal::ProgressLine::start());
    loop {
        let seen = find_erasure(reach, config, person)?.filter(|seen| seen.asked >= asked.asked);
        match seen {
            Some(seen) if ["done", "lifted"].contains(&&*seen.state) => {
                terminal::progress_done();
                return print_receipt(&seen, out);
            }
            seen => progress.show(seen.and_then(|seen| seen.step).unwrap_or_else(|| "asked".to_owned())),
        }
        pace.block_on(clock.sleep_until(clock.now() + LOOK_MS));
    }
}

fn print_receipt(seen: &ErasureView, out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        return Ok(terminal::print_json(seen)?);
    }
    let ErasureView { person, state, asked, at, step, places, earlier: _ } = seen;
    let person = terminal::clean_text(person);
    terminal::print_talk(match state.as_str() {
        "done" => format!("{person} was erased: requested at {asked}, done at {at}"),
        "lifted" => format!("{person} was welcomed back at {at}"),
        "looked" => format!("an erasure of {person} would remove (as far as it can be counted beforehand)"),
        _ => format!(
            "{person} is marked as erased since {asked}; {}",
            step.as_deref().unwrap_or("the rest is waiting")
        ),
    });
    if places.is_empty() {
        return Ok(());
    }
    let removed = if state == "looked" { "would be removed" } else { "removed" };
    let head = ["place", removed, "until", "stays"];
    Ok(terminal::print_headed_table(terminal::format_headed_table(head, places.iter().map(place_row)))?)
}

fn place_row(place: &ErasurePlaceView) -> [String; 4] {
    let ErasurePlaceView { place, removed, would_be_removed, stays, until } = place;
    let count = removed.or(*would_be_removed).unwrap_or_default();
    let text = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), terminal::clean_text);
    [place.clone(), count.to_string(), text(until), text(stays)]
}

fn erase_from_archive(
    config: &Config,
    person: &Person,
    file: &Path,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let rows = archive::remove_person(file, (&config.tenant, person))?;
    if out.json {
        return Ok(terminal::print_json(&json!({"file": file, "removed": rows}))?);
    }
    terminal::print_talk(format!("{rows} rows were removed"));
    Ok(terminal::print_data(file.display())?)
}
