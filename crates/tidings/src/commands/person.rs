//! `tidings person` without fields: all that is known of somebody.

use std::sync::Arc;

use catalogue::Catalogue;
use courier::outbox::Outbox;
use model::{
    Millis, Person,
    civil::{Zone, Zones},
    person::profile,
};

use super::{
    Out, days as of_days,
    preview::NOWHERE,
    reach::{Files, Reach, reach},
};
use crate::{
    config::Config,
    failure::Failure,
    http::look,
    person::{self, Coming, Got, Sources, Whole},
    preview::{Place, Studio},
    say::{self, Paint},
};

pub fn run(config: &Config, person: &str, out: Out) -> Result<(), Failure> {
    let person = Person::new(person).map_err(Failure::refused)?;
    let whole: Whole = match reach(config)? {
        Reach::Running(client) => client.get("/admin/person", &[("person", person.as_str())])?.good()?,
        Reach::Files(files) => of_files(config, &files, &person)?,
    };
    if out.json {
        return Ok(say::json(&whole)?);
    }
    Ok(Sheet { whole: &whole, zone: Zones::newest().get_or_utc(Some(&whole.zone)), paint: Paint::data() }
        .print()?)
}

fn of_files(config: &Config, files: &Files, person: &Person) -> Result<Whole, Failure> {
    let Files { runtime, topics, store, clock, catalogue, .. } = files;
    let (zones, now) = (Zones::newest(), Millis(clock.now()));
    let public_url = config.public_url.as_deref().unwrap_or(NOWHERE);
    let studio = |catalogue: &Catalogue| Studio::new(Arc::new(catalogue.clone()), zones.clone(), public_url);
    let studio = catalogue.as_ref().map(studio).transpose().map_err(Failure::refused)?;
    // Only to look: where there is no outbox none is made.
    let outbox = config.outbox.exists().then(|| Outbox::open(&config.outbox).ok()).flatten();
    let sources = Sources {
        at: Place { log: &**topics, store: &**store, tenant: &config.tenant, now },
        catalogue: catalogue.as_ref(),
        studio: studio.as_ref(),
        outbox: outbox.as_ref(),
        day: None,
    };
    let gathered = runtime.block_on(person::gather(person, sources))?;
    if gathered.is_nobody() {
        return Err(Failure::refused(runtime.block_on(person::unknown(person, sources.at))?));
    }
    Ok(person::tell(person, &gathered, (&zones, sources.catalogue), now))
}

/// All of it as text.
struct Sheet<'a> {
    whole: &'a Whole,
    zone: Zone,
    paint: Paint,
}

type Printed = std::io::Result<()>;

impl Sheet<'_> {
    fn print(&self) -> Printed {
        let Whole { person, at, zone, unknown, .. } = self.whole;
        let name = self.whole.profile.iter().find(|stated| stated.field == profile::NAME);
        let name = name.map(|stated| format!(", {}", stated.value)).unwrap_or_default();
        let head = say::clean(&format!("{person}{name}"));
        say::data(format!("{}  {} ({zone})", self.paint.with(say::BOLD, head), self.at(at)))?;
        unknown.iter().for_each(|what| say::talk(say::clean(what)));
        self.profile()?;
        self.follows()?;
        self.coming()?;
        self.got()?;
        self.days()
    }

    /// An instant on the wall of the person.
    fn at(&self, text: &str) -> String {
        Millis::parse(text).map_or_else(|| text.to_owned(), |at| look::instant(at, &self.zone))
    }

    fn since(&self, text: Option<&String>) -> String {
        text.map(|text| format!("since {}", self.at(text))).unwrap_or_default()
    }

    fn head(&self, text: &str) -> Printed {
        say::data("")?;
        say::data(self.paint.with(say::BOLD, text))
    }

    /// Rows in columns, cleaned; or a line that there are none.
    fn rows<const N: usize>(&self, rows: &[[String; N]], none: &str) -> Printed {
        if rows.is_empty() {
            return say::data(self.paint.with(say::FAINT, format!("  {none}")));
        }
        let clean = |row: &[String; N]| row.each_ref().map(|cell| say::clean(cell));
        let rows: Vec<[String; N]> = rows.iter().map(clean).collect();
        say::table(&rows).into_iter().try_for_each(|line| say::data(format!("  {line}")))
    }

    fn profile(&self) -> Printed {
        let Whole { profile, erased, suppressions, devices, seen, .. } = self.whole;
        self.head("profile")?;
        let mut rows: Vec<[String; 2]> =
            profile.iter().map(|stated| [stated.field.clone(), stated.value.clone()]).collect();
        rows.extend(erased.iter().map(|erased| {
            let asked = erased.asked.as_ref().map(|at| format!(", asked for {}", self.at(at)));
            ["erasure".to_owned(), format!("{}{}", erased.state, asked.unwrap_or_default())]
        }));
        rows.extend(suppressions.iter().map(|one| {
            let until = one.until.as_ref().map(|at| format!(", until {}", self.at(at))).unwrap_or_default();
            ["no mail".to_owned(), format!("{} {} since {}{until}", one.what, one.code, self.at(&one.since))]
        }));
        rows.extend(devices.iter().map(|one| {
            let since = self.since(one.since.as_ref());
            ["device".to_owned(), format!("{} ({}, token {}) {since}", one.device, one.platform, one.token)]
        }));
        rows.extend(seen.iter().map(|one| {
            ["seen".to_owned(), format!("{} {}", one.surface, self.at(&one.at)).trim().to_owned()]
        }));
        self.rows(&rows, "nothing is stated")
    }

    fn follows(&self) -> Printed {
        let Whole { follows, mutes, .. } = self.whole;
        self.head(&format!("follows {}{}", follows.count, if follows.is_cut { " or more" } else { "" }))?;
        let rows: Vec<[String; 3]> = follows
            .newest
            .iter()
            .map(|one| {
                let name = one.name.as_ref().map(|name| format!("\"{name}\"")).unwrap_or_default();
                [one.subject.clone(), name, self.since(one.since.as_ref())]
            })
            .collect();
        self.rows(&rows, "nothing")?;
        self.more(follows.count - follows.newest.len())?;
        self.head(&format!("mutes {}", mutes.count))?;
        let rows: Vec<[String; 2]> =
            mutes.newest.iter().map(|one| [one.words(), self.since(one.since.as_ref())]).collect();
        self.rows(&rows, "nothing")?;
        self.more(mutes.count - mutes.newest.len())
    }

    fn more(&self, many: usize) -> Printed {
        match many {
            0 => Ok(()),
            many => say::data(self.paint.with(say::FAINT, format!("  and {many} more"))),
        }
    }

    fn coming(&self) -> Printed {
        self.head("will get")?;
        let mut rows: Vec<[String; 4]> = self.whole.coming.iter().map(|one| self.window(one)).collect();
        rows.extend(self.whole.again.iter().map(|one| {
            let plan = format!("{} ({})", one.plan, one.channel);
            [self.at(&one.at), plan, "tried again".to_owned(), entries(one.entries)]
        }));
        self.rows(&rows, "nothing waits")?;
        let messages = self.whole.coming.iter().filter_map(|one| one.message.as_ref());
        for remark in messages.flat_map(|message| &message.remarks) {
            say::data(format!("  {} {}", self.paint.with(say::WARN, "!"), say::clean(remark)))?;
        }
        Ok(())
    }

    fn window(&self, one: &Coming) -> [String; 4] {
        let Coming { window, channel, message } = one;
        let channel = channel.as_ref().map(|channel| format!(" ({channel})")).unwrap_or_default();
        let key = if window.key.is_empty() { String::new() } else { format!(", {}", window.key) };
        let what = match message {
            Some(message) => format!("{}, {}", message.headline, entries(message.entries)),
            // Without a catalogue nobody knows.
            None if channel.is_empty() => format!("{} as far as announced", entries(window.heard as usize)),
            None => "nothing, as things stand".to_owned(),
        };
        [self.at(&window.due), format!("{}{channel}{key}", window.plan), window.why.clone(), what]
    }

    fn got(&self) -> Printed {
        self.head("got")?;
        let row = |one: &Got| {
            let more = one.entries.saturating_sub(1);
            let about = if more == 0 { one.about.clone() } else { format!("{} and {more} more", one.about) };
            let plan = one
                .plan
                .as_ref()
                .map_or_else(|| one.channel.clone(), |plan| format!("{plan} ({})", one.channel));
            let at = one.at.as_ref().map(|at| self.at(at)).unwrap_or_default();
            [at, plan, one.outcome.clone(), one.headline.clone().unwrap_or(about)]
        };
        self.rows(&self.whole.got.iter().map(row).collect::<Vec<_>>(), "no message in the last three weeks")
    }

    fn days(&self) -> Printed {
        self.head("days, by UTC as in `tidings days`")?;
        if self.whole.days.is_empty() {
            return say::data(self.paint.with(say::FAINT, "  no entry in the last days"));
        }
        for one in &self.whole.days {
            of_days::print_day(&one.day, self.paint)?;
            if one.more > 0 {
                let what = format!("  {} older: tidings days {}", entries(one.more), self.whole.person);
                say::data(self.paint.with(say::FAINT, say::clean(&what)))?;
            }
        }
        Ok(())
    }
}

fn entries(many: usize) -> String {
    if many == 1 { "1 entry".to_owned() } else { format!("{many} entries") }
}
