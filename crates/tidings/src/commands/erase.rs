//! `tidings erase`: has a person erased, waits until it is done, and shows the receipt.

use std::path::Path;

use anyhow::Context as _;
use model::{Millis, Person};
use runtime::Clock;
use serde_json::json;

use super::{
    Out,
    reach::{Files, Reach, reach},
};
use crate::{
    archive, cli,
    config::{Config, Engine},
    erase::{self, Deed, Place, Seen},
    failure::Failure,
    say::{self, Paint},
};

/// Between two looks at how far it is.
const LOOK_MS: i64 = 200;

pub fn run(config: &Config, asked: &cli::ErasePerson, out: Out) -> Result<(), Failure> {
    let person = Person::new(&asked.person).map_err(Failure::refused)?;
    if let Some(file) = &asked.archive {
        return without(config, &person, file, out);
    }
    let reach = reach(config)?;
    if asked.receipt {
        let seen = find(&reach, config, &person)?;
        let seen = seen.ok_or_else(|| Failure::refused("nobody asked to erase this person"))?;
        if !out.json {
            seen.earlier.iter().rev().try_for_each(|earlier| show(earlier, out))?;
        }
        return show(&seen, out);
    }
    let deed = match (asked.dry_run, asked.welcome) {
        (true, _) => Deed::Look,
        (_, true) => Deed::Welcome,
        _ => Deed::Erase,
    };
    if deed == Deed::Erase && !asked.yes && !is_sure(&person)? {
        say::talk("left as it is");
        return Ok(());
    }
    let seen = begin(&reach, config, &person, deed)?;
    if deed != Deed::Erase || asked.no_wait {
        return show(&seen, out);
    }
    if matches!((&reach, &config.engine), (Reach::Files(_), Engine::Embedded)) {
        show(&seen, out)?;
        say::talk("no house runs here: the rest is removed when one does");
        return Ok(());
    }
    wait(&reach, config, &person, &seen, out)
}

/// What is erased never comes back, and neither does the id unless somebody welcomes it.
fn is_sure(person: &Person) -> Result<bool, Failure> {
    let what = format!("all that is known of {person} will be removed for good. Erase this person?");
    say::ask(&say::clean(&what))
}

fn begin(reach: &Reach, config: &Config, person: &Person, deed: Deed) -> Result<Seen, Failure> {
    match reach {
        Reach::Running(client) => {
            let body = json!({"person": person.as_str(), "deed": deed}).to_string();
            client.post("/admin/erase", &body, None)?.good()
        }
        Reach::Files(files) => {
            let Files { runtime, topics, store, clock, .. } = &**files;
            let (of, now) = ((&config.tenant, person), Millis(clock.now()));
            if deed == Deed::Look {
                return Ok(runtime.block_on(erase::look_at((&**store, None), of, now))?);
            }
            let ask = erase::ask((&**store, &**topics), of, deed == Deed::Welcome, now);
            runtime.block_on(ask)?.map_err(Failure::refused)?;
            let seen = runtime.block_on(erase::find(&**topics, of))?;
            Ok(seen.context("what was asked for is not in the log")?)
        }
    }
}

fn find(reach: &Reach, config: &Config, person: &Person) -> Result<Option<Seen>, Failure> {
    match reach {
        Reach::Running(client) => client.get("/admin/erase", &[("person", person.as_str())])?.good(),
        Reach::Files(files) => {
            let Files { runtime, topics, .. } = &**files;
            Ok(runtime.block_on(erase::find(&**topics, (&config.tenant, person)))?)
        }
    }
}

/// Whoever stops waiting stops nothing else.
fn wait(reach: &Reach, config: &Config, person: &Person, asked: &Seen, out: Out) -> Result<(), Failure> {
    let pace = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start tokio")?;
    let (clock, mut progress) = (Clock::real(0), say::Progress::start());
    loop {
        let seen = find(reach, config, person)?.filter(|seen| seen.asked >= asked.asked);
        match seen {
            Some(seen) if ["done", "lifted"].contains(&&*seen.state) => {
                say::progress_done();
                return show(&seen, out);
            }
            seen => progress.show(seen.and_then(|seen| seen.step).unwrap_or_else(|| "asked".to_owned())),
        }
        pace.block_on(clock.sleep_until(clock.now() + LOOK_MS));
    }
}

fn show(seen: &Seen, out: Out) -> Result<(), Failure> {
    if out.json {
        return Ok(say::json(seen)?);
    }
    let Seen { person, state, asked, at, step, places, earlier: _ } = seen;
    let person = say::clean(person);
    say::talk(match state.as_str() {
        "done" => format!("{person} was erased, asked for at {asked}, done at {at}"),
        "lifted" => format!("{person} may come back, since {at}"),
        "looked" => format!("an erasure of {person} would remove, of what is counted before it begins"),
        _ => format!(
            "{person} is marked as erased since {asked}; {}",
            step.as_deref().unwrap_or("the rest waits")
        ),
    });
    if places.is_empty() {
        return Ok(());
    }
    let removed = if state == "looked" { "would be removed" } else { "removed" };
    let head = ["place", removed, "until", "stays"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(places.iter().map(row)).collect();
    let mut lines = say::table(&rows).into_iter();
    if let Some(head) = lines.next() {
        say::data(Paint::data().with(say::FAINT, head))?;
    }
    Ok(lines.try_for_each(say::data)?)
}

fn row(place: &Place) -> [String; 4] {
    let Place { place, removed, would_be_removed, stays, until } = place;
    let count = removed.or(*would_be_removed).unwrap_or_default();
    let text = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), say::clean);
    [place.clone(), count.to_string(), text(until), text(stays)]
}

fn without(config: &Config, person: &Person, file: &Path, out: Out) -> Result<(), Failure> {
    let rows = archive::without(file, (&config.tenant, person))?;
    if out.json {
        return Ok(say::json(&json!({"file": file, "removed": rows}))?);
    }
    say::talk(format!("{rows} rows were removed"));
    Ok(say::data(file.display())?)
}
