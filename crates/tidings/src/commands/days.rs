//! `tidings days`: a person's days.

use std::io;

use model::{Millis, Person};

use super::{
    Out,
    reach::{Reach, reach},
};
use crate::{
    cli,
    config::Config,
    days::{self, Days, Entry, Mood, OneDay},
    failure::Failure,
    say::{self, Paint},
};

pub fn run(config: &Config, asked: &cli::Days, out: Out) -> Result<(), Failure> {
    let person = Person::new(&asked.person).map_err(Failure::refused)?;
    let Some(since) = days::since(&asked.since) else {
        let most = days::DAYS_MAX;
        return Err(Failure::Usage(format!(
            "--since is a number of days up to {most}d, not `{}`",
            asked.since
        )));
    };
    let days: Days = match reach(config)? {
        Reach::Running(client) => {
            let since = since.to_string();
            client.get("/admin/days", &[("person", person.as_str()), ("since", &since)])?.good()?
        }
        Reach::Files(files) => {
            let catalogue = files.catalogue.as_ref();
            if catalogue.is_none() {
                say::talk(
                    "the catalogue is not known, so neither are titles and what still waits; TIDINGS_CATALOGUE names its folder",
                );
            }
            let now = Millis(files.clock.now());
            files.runtime.block_on(days::read(
                &*files.store,
                &config.tenant,
                &person,
                since,
                now,
                catalogue,
            ))?
        }
    };
    if out.json {
        return Ok(say::json(&days)?);
    }
    print(&days)
}

fn print(days: &Days) -> Result<(), Failure> {
    let paint = Paint::data();
    if days.days.is_empty() {
        say::talk(format!("nothing for {} in these days", say::clean(&days.person)));
    }
    Ok(days.days.iter().try_for_each(|day| print_day(day, paint))?)
}

/// One day with all its entries.
pub(super) fn print_day(day: &OneDay, paint: Paint) -> io::Result<()> {
    say::data(paint.with(say::BOLD, &day.day))?;
    let rows: Vec<[String; 4]> = day.entries.iter().map(row).collect();
    for (line, entry) in say::table(&rows).into_iter().zip(&day.entries) {
        say::data(format!("  {line}"))?;
        for fate in &entry.fates {
            let style = match fate.mood {
                Mood::Told => say::GOOD,
                Mood::Waiting => say::WARN,
                Mood::Ended => say::FAINT,
            };
            let journal = fate.journal.as_deref().map(|said| format!(", {said}")).unwrap_or_default();
            let at = fate.at.as_deref().map(|at| format!(" at {at}")).unwrap_or_default();
            say::data(format!("    {}: {}{journal}{at}", fate.channel, paint.with(style, &fate.fate)))?;
        }
        say::data(paint.with(say::FAINT, format!("    {}", entry.entry)))?;
    }
    Ok(())
}

fn row(entry: &Entry) -> [String; 4] {
    let time = entry.occurred.get(11..19).unwrap_or(&entry.occurred).to_owned();
    let name = entry.name.as_deref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    let subject = say::clean(&format!("{}{name}", entry.subject));
    [time, subject, entry.kinds.join(", "), say::clean(&entry.reasons.join(", "))]
}
