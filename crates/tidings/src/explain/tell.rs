//! Says what became of an event for a person, and why.

mod audience;
mod muted;

use std::collections::{BTreeMap, BTreeSet};

use catalogue::{
    Audience, Catalogue,
    truth::{self, Reader},
};
use model::{
    Because, Channel, EntryKey, EntryView, Event, Fate, Kind, Millis, Person, PlanName, ReadyId, Reason,
    Tenant, Why,
    person::{Act, Window},
    plan::GENERAL,
};
use store::{Journalled, Recorded};

use super::{Explanation, Found, Step, gather::Gathered};
use crate::{days, open};

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
        if let Some(text) = gathered.cut.clone() {
            self.say(Found::Note, text);
        }
        if self.is_stranger() {
            let person = self.reader.person;
            self.say(
                Found::Note,
                format!(
                    "nothing is known of `{person}`: there is no profile, no entry and no follow of this"
                ),
            );
        }
        match gathered.view.get(key) {
            Some(entry) => self.entry(key, entry),
            None => self.nobody(key),
        }
    }

    /// Whether the person may well be a slip of whoever asks.
    fn is_stranger(&self) -> bool {
        let (gathered, reader) = (self.gathered, self.reader);
        let states = [reader.profile, reader.mutes, reader.notes];
        states.into_iter().all(|state| state.is_empty())
            && gathered.view.is_empty()
            && gathered.record.is_none()
            && gathered.world.shares().all(|(_, share)| share.follows.values().all(BTreeSet::is_empty))
    }

    /// There is an entry: how the person was found, and what became of it.
    fn entry(&mut self, key: EntryKey, entry: &EntryView) -> String {
        for reason in &entry.reasons {
            let kind = &reason.kind;
            let how = match &reason.because {
                Because::Follows(target) => format!("they follow {target}"),
                Because::Near => self.near_by(kind),
                Because::Named => "the subject names them".to_owned(),
                Because::Listed(score) if score.0 == 0 => "the change lists them".to_owned(),
                Because::Listed(score) => format!("the change lists them, with {}", score.value()),
                Because::Mutual(other) => format!("it is between them and {other}"),
                Because::Everyone => "it is for everyone".to_owned(),
            };
            self.say(Found::For, format!("found under `{kind}`: {how}"));
        }
        let mut verdict = Vec::new();
        for channel in days::channels(entry, Some(self.catalogue)) {
            let fate = entry.fate(channel);
            match fate {
                Fate::Told { ready } => self.told(channel, ready),
                Fate::Waiting { carried } => self.waiting(key, entry, channel, carried),
                Fate::Read => self.say(Found::Against, format!("{channel}: they read it before it was told")),
                Fate::Cleared => {
                    self.say(Found::Against, format!("{channel}: they cleared it before it was told"));
                }
                Fate::Ended(why) => {
                    let text = self.why(why, entry, &entry.reasons);
                    self.say(Found::Against, format!("{channel}: {text}"));
                }
            }
            verdict.push(fate.to_string());
        }
        verdict.join(", ")
    }

    fn near_by(&self, kind: &Kind) -> String {
        let kind = self.catalogue.kinds.get(kind);
        match kind.map(|kind| (&kind.to, self.distance(kind))) {
            Some((Audience::Near { within_km, .. }, Some(km))) if km > *within_km => {
                format!("they were near it; {km:.1} km away now, not within {within_km} km")
            }
            Some((_, Some(km))) => format!("they are near it: {km:.1} km"),
            _ => "they were near it".to_owned(),
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
        let plans = self.plans(entry, channel);
        for plan in plans.keys() {
            self.window(key, channel, plan);
        }
        let by_stream = |stream: &str| truth::reachable(self.reader, channel, stream, self.now);
        let stream = |plan| self.catalogue.plans.by_name.get(plan).map_or(GENERAL, |plan| &plan.stream);
        let reached: Vec<Result<(), Why>> = plans.keys().map(|plan| by_stream(stream(plan))).collect();
        let same = reached.first().copied().filter(|first| reached.iter().all(|other| other == first));
        let all = if plans.is_empty() { by_stream(GENERAL) } else { same.unwrap_or(Ok(())) };
        if let Err(why) = all {
            return self.unreached(channel, why, "");
        }
        if plans.is_empty() {
            return self.holds(channel, entry, &entry.reasons, "");
        }
        for ((plan, reasons), reached) in plans.iter().zip(reached) {
            let by = if plans.len() == 1 { String::new() } else { format!(" by `{plan}`") };
            match reached {
                Ok(()) => self.holds(channel, entry, reasons, &by),
                Err(why) => self.unreached(channel, why, &by),
            }
        }
    }

    /// Says why nothing reaches the person there.
    fn unreached(&mut self, channel: Channel, why: Why, by: &str) {
        let text = format!("{channel}: as things stand it will not be told{by}: {}", why.text());
        self.say(Found::Against, text);
    }

    /// The plans that tell it on a channel, each with the reasons under which it does. A closing chooses them
    /// in the same way, whatever window its announcement opened.
    fn plans(&self, entry: &EntryView, channel: Channel) -> BTreeMap<PlanName, BTreeSet<Reason>> {
        let mut plans: BTreeMap<PlanName, BTreeSet<Reason>> = BTreeMap::new();
        for reason in &entry.reasons {
            let Some(kind) = self.catalogue.kinds.get(&reason.kind) else { continue };
            let chosen = self.catalogue.plans_for(kind, self.reader.profile);
            for plan in chosen.into_iter().filter(|plan| plan.channel == channel) {
                plans.entry(plan.name.clone()).or_default().insert(reason.clone());
            }
        }
        plans
    }

    /// The windows of a plan in which it waits.
    fn window(&mut self, key: EntryKey, channel: Channel, plan: &PlanName) {
        let gathered = self.gathered;
        let windows = gathered.record.iter().flat_map(|record| &record.windows);
        let mut is_open = false;
        for window in windows.filter(|window| window.plan == *plan && window.days.contains(&key.day())) {
            is_open = true;
            let text = format!("{channel}: it waits for `{plan}`, which closes at {}", window.due);
            let found = if window.act == Some(Act::Cancel) { Found::Against } else { Found::For };
            self.say(found, text + &self.waits(window));
        }
        if !is_open {
            let text = format!(
                "{channel}: no window of `{plan}` is open for its day; the digest has not come to it yet"
            );
            self.say(Found::Note, text);
        }
    }

    /// What an open window waits for, if it is more than its hour.
    fn waits(&self, window: &Window) -> String {
        match (window.act, window.held) {
            (None, None) if window.due > self.now => String::new(),
            (None, _) if window.due <= self.now => ", which is due".to_owned(),
            _ => format!(" ({})", open::why(window, self.now)),
        }
    }

    /// Says it if none of these reasons holds any more.
    fn holds(&mut self, channel: Channel, entry: &EntryView, reasons: &BTreeSet<Reason>, by: &str) {
        let told = truth::Told { subject: &self.event.subject, actor: entry.actor(), reasons };
        if let Err(why) = truth::still(&self.gathered.world, self.reader, &told, self.catalogue) {
            let why = self.why(why, entry, reasons);
            self.say(Found::Against, format!("{channel}: as things stand it will not be told{by}: {why}"));
        }
    }

    fn why(&self, why: Why, entry: &EntryView, reasons: &BTreeSet<Reason>) -> String {
        if why == Why::Muted { self.muted(entry, reasons) } else { ended(why) }
    }
}

/// Why an entry ended, with what one can do about it where there is something.
fn ended(why: Why) -> String {
    let more = match why {
        Why::NoLongerTrue => "the kind's `while` does not hold for the subject as it is now",
        Why::Expired => "it lay before the look-back of its plan, or its day was about to expire",
        Why::ToldBefore => "an earlier message told the same subject, and the plan says a subject once",
        Why::NoAddress => "the profile has no address for this channel",
        Why::TooFew => "there were fewer than the plan's `at_least`, and it says `below: ended`",
        Why::QuietHours => {
            "it was due in quiet hours, and the plan says `then: ended`, or no later time was left"
        }
        Why::SeesItself => "the person was there and saw it, and the plan does not tell what one sees",
        Why::OverCap => "a cap had no room for it before its day expired",
        Why::Bounced => {
            "a mail to this address came back as dead; another address, or `tidings suppressions lift`"
        }
        Why::BouncedSoftly => {
            "mails to this address came back on several days; it is tried again after a week"
        }
        Why::Complained => {
            "the person called mails of this stream spam; `tidings suppressions lift` if they want them"
        }
        Why::Cancelled => "somebody closed its window and had it tell nothing",
        Why::KindGone | Why::PlanGone => "the catalogue was changed since",
        Why::Refused => {
            "the channel refused it for good, or its text could not be written; the log of the sender says which"
        }
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
                Recorded::Away => "nobody took any message, tried again",
                Recorded::Returned => "not sent, left to the next message",
                Recorded::Unknown => "nobody can say whether it was sent",
                Recorded::Unsure => "nobody can say whether it was sent, sent again",
            };
            format!("journal: {what} at {}{tries}", record.at)
        }
    })
}
