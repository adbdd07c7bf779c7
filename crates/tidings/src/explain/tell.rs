//! Says what became of an event for a person, and why.

use catalogue::{
    Audience, Catalogue, KindDef, SUBJECT,
    problem::did_you_mean,
    truth::{self, Reader},
};
use model::{
    Because, Channel, EntryKey, EntryView, Event, Fate, Millis, Person, ReadyId, SubjectRef, Tenant, Value,
    Why,
    person::{notes, profile},
};
use store::{Journalled, Recorded};

use super::{Explanation, Found, Step, gather::Gathered};

/// One explanation for each event that was found.
pub fn tell(
    gathered: &Gathered,
    (tenant, person): (&Tenant, &Person),
    catalogue: &Catalogue,
    now: Millis,
) -> Vec<Explanation> {
    let reader =
        Reader { tenant, person, profile: &gathered.profile, mutes: &gathered.mutes, notes: &gathered.notes };
    let one = |event: &Event| {
        let mut telling = Telling { gathered, reader: &reader, catalogue, now, event, steps: Vec::new() };
        let verdict = telling.all();
        let key = event.entry_key();
        Explanation {
            event: event.key.to_string(),
            entry: key.to_string(),
            what: event.what.clone(),
            subject: event.subject.to_string(),
            occurred: event.occurred.to_string(),
            steps: telling.steps,
            verdict,
        }
    };
    gathered.events.iter().map(one).collect()
}

struct Telling<'a> {
    gathered: &'a Gathered,
    reader: &'a Reader<'a>,
    catalogue: &'a Catalogue,
    now: Millis,
    event: &'a Event,
    steps: Vec<Step>,
}

impl Telling<'_> {
    fn say(&mut self, found: Found, text: impl Into<String>) {
        self.steps.push(Step { found, text: text.into() });
    }

    fn all(&mut self) -> String {
        let key = self.event.entry_key();
        let gathered = self.gathered;
        match gathered.view.get(key) {
            Some(entry) => self.entry(key, entry),
            None => self.nobody(key),
        }
    }

    /// There is an entry: how the person was found, and what became of it.
    fn entry(&mut self, key: EntryKey, entry: &EntryView) -> String {
        for reason in &entry.reasons {
            let kind = &reason.kind;
            let how = match &reason.because {
                Because::Follows(target) => format!("they follow {target}"),
                Because::Near => self.near_by(kind.as_str()),
                Because::Named => "the subject names them".to_owned(),
                Because::Listed(score) if score.0 == 0 => "the change lists them".to_owned(),
                Because::Listed(score) => format!("the change lists them, with {}", score.value()),
                Because::Mutual(other) => format!("it is between them and {other}"),
                Because::Everyone => "it is for everyone".to_owned(),
            };
            self.say(Found::For, format!("found under `{kind}`: {how}"));
        }
        let mut verdict = Vec::new();
        for channel in Channel::ALL {
            let fate = entry.fate(channel);
            match fate {
                Fate::Told { ready } => self.told(channel, ready),
                Fate::Waiting { carried } => self.waiting(key, entry, channel, carried),
                Fate::Read => self.say(Found::Against, format!("{channel}: they read it before it was told")),
                Fate::Cleared => {
                    self.say(Found::Against, format!("{channel}: they cleared it before it was told"));
                }
                Fate::Ended(why) => self.say(Found::Against, format!("{channel}: {}", ended(why))),
            }
            verdict.push(fate.to_string());
        }
        verdict.join(", ")
    }

    fn near_by(&self, kind: &str) -> String {
        let kind = self.catalogue.kinds.iter().find(|(name, _)| name.as_str() == kind).map(|(_, kind)| kind);
        match kind.and_then(|kind| self.distance(kind)) {
            Some(km) => format!("they are near it, {km:.1} km by now"),
            None => "they were near it".to_owned(),
        }
    }

    fn told(&mut self, channel: Channel, id: ReadyId) {
        let gathered = self.gathered;
        let by = match gathered.readys.get(&id) {
            Some(ready) => {
                format!("`{}`, whose window opened {} and was due {}", ready.plan, ready.opening, ready.due)
            }
            None => "a plan whose Ready the log no longer has".to_owned(),
        };
        self.say(Found::For, format!("{channel}: taken by {by} (Ready {id})"));
        if let Some(text) = gathered.journal.get(&id).and_then(journal) {
            self.say(Found::Note, text);
        }
    }

    fn waiting(&mut self, key: EntryKey, entry: &EntryView, channel: Channel, carried: bool) {
        if carried {
            self.say(Found::Note, format!("{channel}: an earlier digest had no room for it"));
        }
        let gathered = self.gathered;
        let windows = gathered.record.iter().flat_map(|record| &record.windows);
        let mut open = false;
        for window in windows.filter(|window| window.days.contains(&key.day())) {
            open = true;
            let late = if window.due <= self.now { ", which is due" } else { "" };
            self.say(
                Found::For,
                format!("{channel}: it waits for `{}`, which closes at {}{late}", window.plan, window.due),
            );
        }
        if !open {
            self.say(
                Found::Note,
                format!("{channel}: no window is open for its day; the digest has not come to it yet"),
            );
        }
        if let Err(why) = truth::reachable(self.reader, channel) {
            return self.say(
                Found::Against,
                format!("{channel}: as things stand it will not be told: {}", why.text()),
            );
        }
        let told =
            truth::Told { subject: &self.event.subject, actor: entry.actor(), reasons: &entry.reasons };
        if let Err(why) = truth::still(&gathered.world, self.reader, &told, self.catalogue) {
            self.say(
                Found::Against,
                format!("{channel}: as things stand it will not be told: {}", ended(why)),
            );
        }
    }

    /// There is no entry: why the person was not found.
    fn nobody(&mut self, key: EntryKey) -> String {
        if key.day().expires() <= self.now {
            self.say(Found::Against, format!("its day, {}, has expired, and its entries with it", key.day()));
            return "the day has expired".to_owned();
        }
        let flag = |name| self.gathered.notes.get(name).and_then(Value::as_flag) == Some(true);
        if flag(notes::ERASED) {
            self.say(Found::Against, "the person was erased");
            return "erased".to_owned();
        }
        let (event, catalogue) = (self.event, self.catalogue);
        let mut kinds =
            catalogue.kinds_on(&event.what).filter(|kind| kind.subject() == event.subject.kind()).peekable();
        if kinds.peek().is_none() {
            let near = did_you_mean(&event.what, catalogue.kinds.values().map(|kind| kind.on.as_str()));
            let near = near.map(|near| format!(": {near}")).unwrap_or_default();
            self.say(Found::Against, format!("no kind is told on `{}`{near}", event.what));
            return "no kind".to_owned();
        }
        let mut meant = false;
        for kind in kinds {
            meant |= self.kind(kind);
        }
        if !meant {
            return "not in the audience".to_owned();
        }
        match self.gathered.unread {
            0 => self.say(Found::Note, "they are in the audience now, and were not when it was told"),
            n => self.say(
                Found::Note,
                format!("they are in the audience, and fan-out has {n} records still to read"),
            ),
        }
        if self.gathered.notes.get(notes::FULL_DAY).is_some() {
            self.say(Found::Note, "a day of theirs was full; what came after that was only counted");
        }
        "no entry".to_owned()
    }

    /// Whether a kind is for the person, as things stand now; says why.
    fn kind(&mut self, kind: &KindDef) -> bool {
        let name = &kind.name;
        let (found, text) = match &kind.to {
            Audience::FollowersOf(fields) => self.follows(fields),
            Audience::Near { within_km, .. } => match self.distance(kind) {
                Some(km) if km <= *within_km => {
                    (true, format!("they are {km:.1} km away, within {within_km} km"))
                }
                Some(km) => (false, format!("they are {km:.1} km away, not within {within_km} km")),
                None if self.reader.profile.get(profile::PLACE).is_none() => {
                    (false, "nobody knows where they are".to_owned())
                }
                None => (false, "nobody knows where it is".to_owned()),
            },
            Audience::Person(field) => self.named(&[field.as_str()]),
            Audience::Mutual(one, other) => self.named(&[one.as_str(), other.as_str()]),
            Audience::Listed => {
                let listed = self.event.persons.iter().any(|listed| listed.person == *self.reader.person);
                (listed, format!("the change {} them", if listed { "lists" } else { "does not list" }))
            }
            Audience::Everyone => (true, "it is for everyone".to_owned()),
        };
        let own = self.event.actor.as_ref() == Some(self.reader.person) && !kind.actor_told;
        let (found, text) =
            if found && own { (false, "it is their own doing".to_owned()) } else { (found, text) };
        self.say(if found { Found::For } else { Found::Against }, format!("`{name}`: {text}"));
        found
    }

    fn follows(&self, fields: &[String]) -> (bool, String) {
        let targets: Vec<SubjectRef> = fields.iter().flat_map(|field| self.targets(field)).collect();
        if targets.is_empty() {
            return (false, format!("{} names nobody to follow", fields.join(", ")));
        }
        let reader = self.reader;
        let followed =
            targets.iter().find(|target| self.gathered.world.follows(reader.tenant, reader.person, target));
        match followed {
            Some(target) => (true, format!("they follow {target}")),
            None => {
                let names: Vec<&str> = targets.iter().map(SubjectRef::as_str).collect();
                (false, format!("they do not follow {}", names.join(", ")))
            }
        }
    }

    fn named(&self, fields: &[&str]) -> (bool, String) {
        let person = self.reader.person.as_str();
        let field = fields.iter().find(|field| self.value(field).and_then(Value::as_text) == Some(person));
        match field {
            Some(field) => (true, format!("`{field}` names them")),
            None => (false, format!("`{}` does not name them", fields.join("`, `"))),
        }
    }

    /// As the event states it, else as it is stored.
    fn value(&self, field: &str) -> Option<&Value> {
        match self.event.state.cells.get(field) {
            Some(cell) => cell.value.as_ref(),
            None => self.gathered.world.state(self.reader.tenant, &self.event.subject)?.get(field),
        }
    }

    fn targets(&self, field: &str) -> Vec<SubjectRef> {
        if field == SUBJECT {
            return vec![self.event.subject.clone()];
        }
        self.value(field).map(|value| value.refs().to_vec()).unwrap_or_default()
    }

    fn distance(&self, kind: &KindDef) -> Option<f64> {
        let Audience::Near { field, .. } = &kind.to else { return None };
        match (self.value(field)?, self.reader.profile.get(profile::PLACE)?) {
            (Value::Place(there), Value::Place(here)) => Some(here.distance_km(*there)),
            _ => None,
        }
    }
}

/// Why an entry ended, with what one can do about it where there is something.
fn ended(why: Why) -> String {
    let more = match why {
        Why::NoLongerTrue => "the kind's `while` does not hold for the subject as it is now",
        Why::Expired => "it lay before the look-back of its plan, or its day was about to expire",
        Why::ToldBefore => "an earlier message told the same subject, and the plan says a subject once",
        Why::NoAddress => "the profile has no address for this channel",
        Why::KindGone | Why::PlanGone => "the catalogue was changed since",
        _ => return why.text().to_owned(),
    };
    format!("{}: {more}", why.text())
}

fn journal(journalled: &Journalled) -> Option<String> {
    let claim = journalled.claims.last()?;
    let tries = if claim.attempt == 0 { String::new() } else { format!(", try {}", claim.attempt + 1) };
    Some(match journalled.records.last() {
        None => format!("journal: claimed at {}{tries}, and nothing recorded yet", claim.at),
        Some(record) => {
            let what = match record.what {
                Recorded::Sent => "sent",
                Recorded::Nothing => "nothing was left to send",
                Recorded::Refused => "refused for good",
                Recorded::NotSent => "not sent, tried again",
                Recorded::Unknown => "nobody can say whether it was sent",
            };
            format!("journal: {what} at {}{tries}", record.at)
        }
    })
}
