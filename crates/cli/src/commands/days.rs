//! `tidings days`: a person's days.

use std::io;

use model::{Person, UtcMillis};
use settings::config::Config;
use shell::{
    failure::CommandError,
    terminal::{self, TextPainter},
};
use views::days::{self, DayEntries, EntryReport, FateMood, PersonDays};

use super::{
    OutputStyle,
    access::{HouseAccess, reach_house},
};
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::DaysArgs, out: OutputStyle) -> Result<(), CommandError> {
    let person = Person::new(&asked.person).map_err(CommandError::from_refusal)?;
    let Some(since) = days::parse_days_back(&asked.since) else {
        let most = days::DAYS_MAX;
        return Err(CommandError::Usage(format!(
            "--since must be a number of days up to {most}d, not `{}`",
            asked.since
        )));
    };
    let days: PersonDays = match reach_house(config)? {
        HouseAccess::Running(client) => {
            let since = since.to_string();
            client.get("/admin/days", &[("person", person.as_str()), ("since", &since)])?.into_value()?
        }
        HouseAccess::Files(files) => {
            let catalogue = files.catalogue.as_ref();
            if catalogue.is_none() {
                terminal::print_talk(
                    "without a catalogue, titles and waiting entries are missing; name its folder with \
                    TIDINGS_CATALOGUE",
                );
            }
            let now = UtcMillis(files.clock.now());
            files.runtime.block_on(days::read_days(
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
        return Ok(terminal::print_json(&days)?);
    }
    print_days(&days)
}

fn print_days(days: &PersonDays) -> Result<(), CommandError> {
    let paint = TextPainter::for_data();
    if days.days.is_empty() {
        terminal::print_talk(format!("no entries for {} in these days", terminal::clean_text(&days.person)));
    }
    Ok(days.days.iter().try_for_each(|day| print_day(day, paint))?)
}

/// One day with all its entries.
pub(super) fn print_day(day: &DayEntries, paint: TextPainter) -> io::Result<()> {
    terminal::print_data(paint.with(terminal::BOLD, &day.day))?;
    let rows: Vec<[String; 4]> = day.entries.iter().map(entry_row).collect();
    for (line, entry) in terminal::format_table(&rows).into_iter().zip(&day.entries) {
        terminal::print_data(format!("  {line}"))?;
        for fate in &entry.fates {
            let style = match fate.mood {
                FateMood::Told => terminal::GOOD,
                FateMood::Waiting => terminal::WARN,
                FateMood::Ended => terminal::FAINT,
            };
            let journal = fate.journal.as_deref().map(|said| format!(", {said}")).unwrap_or_default();
            let at = fate.at.as_deref().map(|at| format!(" at {at}")).unwrap_or_default();
            terminal::print_data(format!(
                "    {}: {}{journal}{at}",
                fate.channel,
                paint.with(style, &fate.fate)
            ))?;
        }
        terminal::print_data(paint.with(terminal::FAINT, format!("    {}", entry.entry)))?;
    }
    Ok(())
}

fn entry_row(entry: &EntryReport) -> [String; 4] {
    let time = entry.occurred.get(11..19).unwrap_or(&entry.occurred).to_owned();
    let name = entry.name.as_deref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    let subject = terminal::clean_text(&format!("{}{name}", entry.subject));
    [time, subject, entry.kinds.join(", "), terminal::clean_text(&entry.reasons.join(", "))]
}
