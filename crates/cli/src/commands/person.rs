//! `tidings person` without fields: prints everything that is known about a person.

use std::sync::Arc;

use catalogue::Catalogue;
use courier::outbox::OutboxCourier;
use model::{
    Person, UtcMillis,
    civil_time::{Zone, ZoneRules},
    person::profile,
};
use settings::config::Config;
use shell::{
    failure::CommandError,
    terminal::{self, TextPainter},
};
use views::{
    display,
    person::{self, DossierMessage, DossierSources, DossierWindow, PersonDossier},
    preview::{LookupContext, PreviewStudio},
};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_house},
    days as of_days,
    preview::NOWHERE,
};

pub fn run(config: &Config, person: &str, out: OutputStyle) -> Result<(), CommandError> {
    let person = Person::new(person).map_err(CommandError::from_refusal)?;
    let whole: PersonDossier = match reach_house(config)? {
        HouseAccess::Running(client) => {
            client.get("/admin/person", &[("person", person.as_str())])?.into_value()?
        }
        HouseAccess::Files(files) => read_from_engines(config, &files, &person)?,
    };
    if out.json {
        return Ok(terminal::print_json(&whole)?);
    }
    Ok(PersonSheet {
        whole: &whole,
        zone: ZoneRules::load_newest().get_or_utc(Some(&whole.zone)),
        paint: TextPainter::for_data(),
    }
    .print()?)
}

fn read_from_engines(
    config: &Config,
    files: &DirectEngines,
    person: &Person,
) -> Result<PersonDossier, CommandError> {
    let DirectEngines { runtime, topics, store, clock, catalogue, .. } = files;
    let (zones, now) = (ZoneRules::load_newest(), UtcMillis(clock.now()));
    let public_url = config.public_url.as_deref().unwrap_or(NOWHERE);
    let studio =
        |catalogue: &Catalogue| PreviewStudio::new(Arc::new(catalogue.clone()), zones.clone(), public_url);
    let studio = catalogue.as_ref().map(studio).transpose().map_err(CommandError::from_refusal)?;
    // Only to look: where there is no outbox none is made.
    let outbox = config.outbox.as_ref().filter(|folder| folder.exists());
    let outbox = outbox.and_then(|folder| OutboxCourier::open(folder).ok());
    let sources = DossierSources {
        at: LookupContext { log: &**topics, store: &**store, tenant: &config.tenant, now },
        catalogue: catalogue.as_ref(),
        studio: studio.as_ref(),
        outbox: outbox.as_ref(),
        day: None,
    };
    let gathered = runtime.block_on(person::load_facts(person, sources))?;
    if gathered.is_nobody() {
        return Err(CommandError::from_refusal(
            runtime.block_on(person::describe_unknown_person(person, sources.at))?,
        ));
    }
    Ok(person::build_dossier(person, &gathered, (&zones, sources.catalogue), now))
}

/// All of it as text.
struct PersonSheet<'a> {
    whole: &'a PersonDossier,
    zone: Zone,
    paint: TextPainter,
}

type PrintResult = std::io::Result<()>;

impl PersonSheet<'_> {
    fn print(&self) -> PrintResult {
        let PersonDossier { person, at, zone, catalogue, unknown, .. } = self.whole;
        let name = self.whole.profile.iter().find(|stated| stated.field == profile::NAME);
        let name = name.map(|stated| format!(", {}", stated.value)).unwrap_or_default();
        let head = terminal::clean_text(&format!("{person}{name}"));
        terminal::print_data(format!(
            "{}  {} ({zone}){}",
            self.paint.with(terminal::BOLD, head),
            self.local_time(at),
            catalogue.as_ref().map(|arm| format!("  catalogue: {arm}")).unwrap_or_default()
        ))?;
        unknown.iter().for_each(|what| terminal::print_talk(terminal::clean_text(what)));
        self.print_profile()?;
        self.print_follows()?;
        self.print_coming()?;
        self.print_messages()?;
        self.print_days()
    }

    /// An instant on the wall of the person.
    fn local_time(&self, text: &str) -> String {
        UtcMillis::parse(text).map_or_else(|| text.to_owned(), |at| display::format_instant(at, &self.zone))
    }

    fn since_text(&self, text: Option<&String>) -> String {
        text.map(|text| format!("since {}", self.local_time(text))).unwrap_or_default()
    }

    fn print_head(&self, text: &str) -> PrintResult {
        terminal::print_data("")?;
        terminal::print_data(self.paint.with(terminal::BOLD, text))
    }

    /// Rows in columns, cleaned; or a line that there are none.
    fn print_rows<const N: usize>(&self, rows: &[[String; N]], none: &str) -> PrintResult {
        if rows.is_empty() {
            return terminal::print_data(self.paint.with(terminal::FAINT, format!("  {none}")));
        }
        let clean = |row: &[String; N]| row.each_ref().map(|cell| terminal::clean_text(cell));
        let rows: Vec<[String; N]> = rows.iter().map(clean).collect();
        terminal::format_table(&rows)
            .into_iter()
            .try_for_each(|line| terminal::print_data(format!("  {line}")))
    }

    fn print_profile(&self) -> PrintResult {
        let PersonDossier { profile, erased, suppressions, devices, seen, .. } = self.whole;
        self.print_head("profile")?;
        let mut rows: Vec<[String; 2]> =
            profile.iter().map(|stated| [stated.field.clone(), stated.value.clone()]).collect();
        rows.extend(erased.iter().map(|erased| {
            let asked = erased.asked.as_ref().map(|at| format!(", asked for {}", self.local_time(at)));
            ["erasure".to_owned(), format!("{}{}", erased.state, asked.unwrap_or_default())]
        }));
        rows.extend(suppressions.iter().map(|one| {
            let until =
                one.until.as_ref().map(|at| format!(", until {}", self.local_time(at))).unwrap_or_default();
            [
                "no mail".to_owned(),
                format!("{} {} since {}{until}", one.what, one.code, self.local_time(&one.since)),
            ]
        }));
        rows.extend(devices.iter().map(|one| {
            let since = self.since_text(one.since.as_ref());
            ["device".to_owned(), format!("{} ({}, token {}) {since}", one.device, one.platform, one.token)]
        }));
        rows.extend(seen.iter().map(|one| {
            ["seen".to_owned(), format!("{} {}", one.surface, self.local_time(&one.at)).trim().to_owned()]
        }));
        self.print_rows(&rows, "nothing is known")
    }

    fn print_follows(&self) -> PrintResult {
        let PersonDossier { follows, preferences, .. } = self.whole;
        self.print_head(&format!(
            "follows {}{}",
            follows.count,
            if follows.is_cut { " or more" } else { "" }
        ))?;
        let rows: Vec<[String; 3]> = follows
            .newest
            .iter()
            .map(|one| {
                let name = one.name.as_ref().map(|name| format!("\"{name}\"")).unwrap_or_default();
                [one.subject.clone(), name, self.since_text(one.since.as_ref())]
            })
            .collect();
        self.print_rows(&rows, "nothing")?;
        self.print_more(follows.count - follows.newest.len())?;
        self.print_head(&format!("preferences {}", preferences.count))?;
        let rows: Vec<[String; 2]> = preferences
            .newest
            .iter()
            .map(|one| [one.describe(), self.since_text(one.since.as_ref())])
            .collect();
        self.print_rows(&rows, "nothing")?;
        self.print_more(preferences.count - preferences.newest.len())
    }

    fn print_more(&self, many: usize) -> PrintResult {
        match many {
            0 => Ok(()),
            many => terminal::print_data(self.paint.with(terminal::FAINT, format!("  and {many} more"))),
        }
    }

    fn print_coming(&self) -> PrintResult {
        self.print_head("will get")?;
        let mut rows: Vec<[String; 4]> = self.whole.coming.iter().map(|one| self.window_row(one)).collect();
        rows.extend(self.whole.again.iter().map(|one| {
            let plan = format!("{} ({})", one.plan, one.channel);
            [self.local_time(&one.at), plan, "tried again".to_owned(), count_entries(one.entries)]
        }));
        self.print_rows(&rows, "nothing waits")?;
        let messages = self.whole.coming.iter().filter_map(|one| one.message.as_ref());
        for remark in messages.flat_map(|message| &message.remarks) {
            terminal::print_data(format!(
                "  {} {}",
                self.paint.with(terminal::WARN, "!"),
                terminal::clean_text(remark)
            ))?;
        }
        Ok(())
    }

    fn window_row(&self, one: &DossierWindow) -> [String; 4] {
        let DossierWindow { window, channel, message } = one;
        let channel = channel.as_ref().map(|channel| format!(" ({channel})")).unwrap_or_default();
        let key = if window.key.is_empty() { String::new() } else { format!(", {}", window.key) };
        let what = match message {
            Some(message) => format!("{}, {}", message.headline, count_entries(message.entries)),
            // Without a catalogue nobody knows.
            None if channel.is_empty() => {
                format!("{} as far as announced", count_entries(window.heard as usize))
            }
            None => "nothing, as it stands now".to_owned(),
        };
        [self.local_time(&window.due), format!("{}{channel}{key}", window.plan), window.why.clone(), what]
    }

    fn print_messages(&self) -> PrintResult {
        self.print_head("got")?;
        let row = |one: &DossierMessage| {
            let more = one.entries.saturating_sub(1);
            let about = if more == 0 { one.about.clone() } else { format!("{} and {more} more", one.about) };
            let plan = one
                .plan
                .as_ref()
                .map_or_else(|| one.channel.clone(), |plan| format!("{plan} ({})", one.channel));
            let at = one.at.as_ref().map(|at| self.local_time(at)).unwrap_or_default();
            [at, plan, one.outcome.clone(), one.headline.clone().unwrap_or(about)]
        };
        self.print_rows(
            &self.whole.got.iter().map(row).collect::<Vec<_>>(),
            "no message as far back as days are kept",
        )
    }

    fn print_days(&self) -> PrintResult {
        self.print_head("days, by UTC as in `tidings days`")?;
        if self.whole.days.is_empty() {
            return terminal::print_data(self.paint.with(terminal::FAINT, "  no entry in the last days"));
        }
        for one in &self.whole.days {
            of_days::print_day(&one.day, self.paint)?;
            if one.more > 0 {
                let what = format!("  {} older: tidings days {}", count_entries(one.more), self.whole.person);
                terminal::print_data(self.paint.with(terminal::FAINT, terminal::clean_text(&what)))?;
            }
        }
        Ok(())
    }
}

fn count_entries(many: usize) -> String {
    if many == 1 { "1 entry".to_owned() } else { format!("{many} entries") }
}
