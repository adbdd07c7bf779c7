//! Says what became of an event for a person, and why.

mod audience;
mod choices;

use std::collections::{BTreeMap, BTreeSet};

use catalogue::{
    Audience, Catalogue,
    truth::{self, ReaderFacts},
};
use model::{
    Actor, AudienceMatch, Channel, EndReason, EntryKey, EntryReason, EntryView, Event, Fate, Kind, Person,
    PlanName, ReadyId, Tenant, UtcMillis,
    person::{Act, DeferredReady, Window},
    plan::GENERAL,
    time::AskedMoment,
};
use store::{JournalOutcome, JournalRows};

use super::{EventExplanation, ExplanationStep, StepBearing, load::ExplanationEvidence};
use crate::{days, open_windows};

/// One explanation for each event that was found.
pub fn explain_events(
    gathered: &ExplanationEvidence,
    (tenant, person): (&Tenant, &Person),
    catalogue: &Catalogue,
    now: UtcMillis,
) -> Vec<EventExplanation> {
    let catalogue = catalogue.for_person(person);
    let reader = ReaderFacts {
        tenant,
        person,
        profile: &gathered.profile,
        preferences: &gathered.preferences,
        notes: &gathered.notes,
    };
    let one = |event: &Event| {
        let mut telling =
            ExplanationBuilder { gathered, reader: &reader, catalogue, now, event, steps: Vec::new() };
        let verdict = telling.explain();
        let key = event.entry_key();
        EventExplanation {
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

struct ExplanationBuilder<'a> {
    gathered: &'a ExplanationEvidence,
    reader: &'a ReaderFacts<'a>,
    catalogue: &'a Catalogue,
    now: UtcMillis,
    event: &'a Event,
    steps: Vec<ExplanationStep>,
}

impl ExplanationBuilder<'_> {
    fn add_step(&mut self, found: StepBearing, text: impl Into<String>) {
        self.steps.push(ExplanationStep { found, text: text.into() });
    }

    fn explain(&mut self) -> String {
        let key = self.event.entry_key();
        let gathered = self.gathered;
        if let Some(text) = gathered.cut.clone() {
            self.add_step(StepBearing::Note, text);
        }
        if self.is_stranger() {
            let person = self.reader.person;
            self.add_step(
                StepBearing::Note,
                format!(
                    "nothing is known of `{person}`: there is no profile, no entry, and no follow that would tell them of this"
                ),
            );
        }
        match gathered.view.get(key) {
            Some(entry) => self.explain_entry(key, entry),
            None => self.explain_no_entry(key),
        }
    }

    /// Whether the person may well be a slip of whoever asks.
    fn is_stranger(&self) -> bool {
        let (gathered, reader) = (self.gathered, self.reader);
        let states = [reader.profile, reader.preferences, reader.notes];
        states.into_iter().all(|state| state.is_empty())
            && gathered.view.is_empty()
            && gathered.record.is_none()
            && gathered.world.tenants().all(|(_, share)| share.follows.values().all(BTreeSet::is_empty))
    }

    /// There is an entry: how the person was found, and what became of it.
    fn explain_entry(&mut self, key: EntryKey, entry: &EntryView) -> String {
        for reason in &entry.reasons {
            let kind = &reason.kind;
            let how = match &reason.because {
                AudienceMatch::Follows(target) if self.is_of_subscribers(kind) => {
                    format!("they subscribed to {target}")
                }
                AudienceMatch::Follows(target) => format!("they follow {target}"),
                AudienceMatch::Near => self.describe_distance(kind),
                AudienceMatch::Named => "the subject names them".to_owned(),
                AudienceMatch::Listed(score) if score.0 == 0 => "the change lists them".to_owned(),
                AudienceMatch::Listed(score) => format!("the change lists them, with {}", score.value()),
                AudienceMatch::Mutual(other) => format!("it is between them and {other}"),
                AudienceMatch::Everyone => "it is for everyone".to_owned(),
            };
            self.add_step(StepBearing::For, format!("found under `{kind}`: {how}"));
        }
        let mut verdict = Vec::new();
        for channel in days::channels(entry, Some(self.catalogue)) {
            let fate = entry.fate(channel);
            match fate {
                Fate::Told { ready } => {
                    self.explain_ready(channel, ready);
                    self.explain_choices(channel, entry, "by now ");
                    if self.find_deferred(ready).is_some() {
                        verdict.push("not sent yet".to_owned());
                        continue;
                    }
                }
                Fate::Waiting { carried } => self.explain_waiting(key, entry, channel, carried),
                Fate::Read => {
                    self.add_step(
                        StepBearing::Against,
                        format!("{channel}: they read it before it was told"),
                    );
                }
                Fate::Cleared => {
                    self.add_step(
                        StepBearing::Against,
                        format!("{channel}: they cleared it before it was told"),
                    );
                }
                Fate::PutOff => {
                    let until = entry.put_off().map(|until| format!(" until {until}"));
                    let text = format!("{channel}: they put it off{}", until.unwrap_or_default());
                    self.add_step(StepBearing::Note, text);
                }
                Fate::Ended(why) => {
                    let text = self.describe_reason(why, channel, entry, &entry.reasons);
                    self.add_step(StepBearing::Against, format!("{channel}: {text}"));
                }
            }
            verdict.push(fate.to_string());
            if matches!(fate, Fate::Told { .. }) && entry.is_withdrawn() {
                let text =
                    format!("{channel}: it was revoked after that; the feed and its count leave it out");
                self.add_step(StepBearing::Against, text);
                verdict.push("then revoked".to_owned());
            }
        }
        verdict.join(", ")
    }

    fn is_of_subscribers(&self, kind: &Kind) -> bool {
        let kind = self.catalogue.kinds.get(kind);
        kind.is_some_and(|kind| matches!(kind.to, Audience::SubscribersOf(_)))
    }

    fn describe_distance(&self, kind: &Kind) -> String {
        let kind = self.catalogue.kinds.get(kind);
        match kind.map(|kind| (&kind.to, self.distance(kind))) {
            Some((Audience::Near { within_km, .. }, Some((km, far, how)))) if km > *within_km => {
                format!("they were near it; {far} away now{how}, not within {within_km} km")
            }
            Some((_, Some((_, far, how)))) => format!("they are near it: {far}{how}"),
            _ => "they were near it".to_owned(),
        }
    }

    fn explain_ready(&mut self, channel: Channel, id: ReadyId) {
        let gathered = self.gathered;
        let by = match gathered.readys.get(&id) {
            Some(ready) => {
                format!("`{}`, whose window opened {} and was due {}", ready.plan, ready.opening, ready.due)
            }
            None => "a plan that the log no longer has".to_owned(),
        };
        self.add_step(StepBearing::For, format!("{channel}: taken into a message by {by} (Ready {id})"));
        match gathered.journal.get(&id).map(describe_journal) {
            Some(Some(text)) => self.add_step(StepBearing::Note, text),
            Some(None) => self.add_step(StepBearing::Note, "journal: nothing yet, it is not sent"),
            None => {}
        }
        if let Some(deferred) = self.find_deferred(id) {
            let when = deferred.next_try().map_or_else(|| "now".to_owned(), |at| format!("at {at}"));
            let until = deferred.ready.expires;
            let text =
                format!("{channel}: no server has taken it yet; it is tried again {when}, until {until}");
            self.add_step(StepBearing::Against, text);
        }
    }

    /// The message, if it waits for a server that takes it.
    fn find_deferred(&self, id: ReadyId) -> Option<&DeferredReady> {
        let mut waiting = self.gathered.record.iter().flat_map(|record| &record.waiting);
        waiting.find(|deferred| deferred.ready.id == id)
    }

    fn explain_waiting(&mut self, key: EntryKey, entry: &EntryView, channel: Channel, carried: bool) {
        if carried {
            self.add_step(StepBearing::Note, format!("{channel}: an earlier digest had no room for it"));
        }
        let plans = self.entry_plans(entry, channel);
        for plan in plans.keys() {
            self.explain_window(key, channel, plan);
        }
        let kinds = entry.reasons.iter().filter_map(|reason| self.catalogue.kinds.get(&reason.kind));
        let is_critical = kinds.into_iter().any(|kind| kind.critical);
        let by_stream =
            |stream: &str| truth::check_reachable(self.reader, (channel, stream), is_critical, self.now);
        let stream = |plan| self.catalogue.plans.by_name.get(plan).map_or(GENERAL, |plan| &plan.stream);
        let reached: Vec<Result<(), EndReason>> = plans.keys().map(|plan| by_stream(stream(plan))).collect();
        let same = reached.first().copied().filter(|first| reached.iter().all(|other| other == first));
        let all = if plans.is_empty() { by_stream(GENERAL) } else { same.unwrap_or(Ok(())) };
        if let Err(why) = all {
            return self.explain_unreachable(channel, why, "");
        }
        self.explain_choices(channel, entry, "");
        if plans.is_empty() {
            return self.explain_lapsed_reasons(channel, entry, &entry.reasons, "");
        }
        for ((plan, reasons), reached) in plans.iter().zip(reached) {
            let by = if plans.len() == 1 { String::new() } else { format!(" by `{plan}`") };
            match reached {
                Ok(()) => self.explain_lapsed_reasons(channel, entry, reasons, &by),
                Err(why) => self.explain_unreachable(channel, why, &by),
            }
        }
    }

    /// Says why nothing reaches the person there.
    fn explain_unreachable(&mut self, channel: Channel, why: EndReason, by: &str) {
        let text = format!("{channel}: as it stands now it will not be told{by}: {}", why.text());
        self.add_step(StepBearing::Against, text);
    }

    /// The plans that tell it on a channel, each with the reasons under which it does. A closing chooses them
    /// in the same way, whatever window its announcement opened.
    fn entry_plans(&self, entry: &EntryView, channel: Channel) -> BTreeMap<PlanName, BTreeSet<EntryReason>> {
        let mut plans: BTreeMap<PlanName, BTreeSet<EntryReason>> = BTreeMap::new();
        for reason in &entry.reasons {
            let Some(kind) = self.catalogue.kinds.get(&reason.kind) else { continue };
            let told = self.tellable_entry(channel, entry, &entry.reasons);
            let found = self.catalogue.find_choice(&self.gathered.world, self.reader, &told, (reason, kind));
            let chosen = self.catalogue.plans_by_choice(kind, self.reader.profile, |_| found.choice);
            for plan in chosen.into_iter().filter(|plan| plan.channel == channel) {
                plans.entry(plan.name.clone()).or_default().insert(reason.clone());
            }
        }
        plans
    }

    /// The windows of a plan in which it waits.
    fn explain_window(&mut self, key: EntryKey, channel: Channel, plan: &PlanName) {
        let gathered = self.gathered;
        let windows = gathered.record.iter().flat_map(|record| &record.windows);
        let mut is_open = false;
        for window in windows.filter(|window| window.plan == *plan && window.days.contains(&key.day())) {
            is_open = true;
            let text = format!("{channel}: it waits for `{plan}`, which closes at {}", window.due);
            let found = if window.act == Some(Act::Cancel) { StepBearing::Against } else { StepBearing::For };
            self.add_step(found, text + &self.describe_wait(window));
        }
        if !is_open {
            let text = format!(
                "{channel}: no window of `{plan}` is open for its day: the digest has not read it yet, or it waits in a window \
                 of another plan, which the person had before"
            );
            self.add_step(StepBearing::Note, text);
        }
    }

    /// What an open window waits for, if it is more than its hour.
    fn describe_wait(&self, window: &Window) -> String {
        let is_paused = self.gathered.paused.has(self.reader.tenant, &window.plan);
        match (window.act, window.held) {
            (None, None) if window.due > self.now => String::new(),
            (None, _) if window.due <= self.now && !is_paused => ", which is due".to_owned(),
            _ => format!(" ({})", open_windows::describe_window(window, is_paused, self.now)),
        }
    }

    /// Says it if none of these reasons holds any more.
    fn explain_lapsed_reasons(
        &mut self,
        channel: Channel,
        entry: &EntryView,
        reasons: &BTreeSet<EntryReason>,
        by: &str,
    ) {
        let told = self.tellable_entry(channel, entry, reasons);
        if let Err(why) = truth::reasons_that_hold(&self.gathered.world, self.reader, &told, self.catalogue) {
            let why = self.describe_reason(why, channel, entry, reasons);
            self.add_step(
                StepBearing::Against,
                format!("{channel}: as it stands now it will not be told{by}: {why}"),
            );
        }
    }

    /// An entry as it is asked now; its message is not due any more or not yet.
    fn tellable_entry<'a>(
        &'a self,
        channel: Channel,
        entry: &'a EntryView,
        reasons: &'a BTreeSet<EntryReason>,
    ) -> truth::TellableEntry<'a> {
        truth::TellableEntry {
            subject: &self.event.subject,
            key: self.event.entry_key(),
            actor: entry.actor().and_then(Actor::person),
            reasons,
            place: channel.into(),
            moment: AskedMoment { now: self.now, due: self.now },
        }
    }

    fn describe_reason(
        &self,
        why: EndReason,
        channel: Channel,
        entry: &EntryView,
        reasons: &BTreeSet<EntryReason>,
    ) -> String {
        match why {
            EndReason::Muted => self.describe_mutes(channel, entry, reasons),
            EndReason::Expired => {
                self.describe_expiry(channel, entry, reasons).unwrap_or_else(|| describe_end(why))
            }
            _ => describe_end(why),
        }
    }

    /// By which `expires` an entry is past now, if by any.
    fn describe_expiry(
        &self,
        channel: Channel,
        entry: &EntryView,
        reasons: &BTreeSet<EntryReason>,
    ) -> Option<String> {
        let told = self.tellable_entry(channel, entry, reasons);
        let state = self.gathered.world.state(self.reader.tenant, told.subject);
        let kinds = reasons.iter().filter_map(|reason| self.catalogue.kinds.get(&reason.kind));
        let mut past = kinds.filter_map(|kind| kind.expires.as_ref());
        let expires = past.find(|expires| expires.is_past(told.key.occurred, state, told.moment))?;
        Some(format!("expired: it is past by the `expires: {}` of its kind", expires.text()))
    }
}

/// Why an entry ended, with what one can do about it where there is something.
fn describe_end(why: EndReason) -> String {
    let more = match why {
        EndReason::NoLongerTrue => "the kind's `while` does not hold for the subject now",
        EndReason::Expired => {
            "it was past by the `expires` of its kind, older than the look-back of its plan, or its day was about to expire"
        }
        EndReason::ToldBefore => {
            "an earlier message told the same subject, and the plan tells a subject once"
        }
        EndReason::NoAddress => "the profile has no address for this channel",
        EndReason::TooFew => "there were fewer than the plan's `at_least`, and it says `below: ended`",
        EndReason::QuietHours => {
            "it was due in quiet hours, and the plan says `then: ended`, or no later time was left"
        }
        EndReason::SeesItself => "the person was online and could see it, and the plan says `online: ended`",
        EndReason::OverCap => "a cap had no room for it before its day expired",
        EndReason::Bounced => {
            "a mail to this address bounced for good; set another address, or use `tidings suppressions \
            lift`"
        }
        EndReason::BouncedSoftly => {
            "mails to this address bounced on several days; it is tried again after a week"
        }
        EndReason::Complained => {
            "the person reported mails of this stream as spam; use `tidings suppressions lift` if they \
            want them again"
        }
        EndReason::Cancelled => "an operator cancelled its window",
        EndReason::Withdrawn => "what it told of was revoked by whoever had said it",
        EndReason::PutOff => "the person put it off while it was on its way; it waits again when it is back",
        EndReason::KindGone | EndReason::PlanGone => "the catalogue has changed since",
        EndReason::Refused => {
            "the channel refused it for good, or its text could not be written; the log of the sender says which"
        }
        _ => return why.text().to_owned(),
    };
    format!("{}: {more}", why.text())
}

fn describe_journal(journalled: &JournalRows) -> Option<String> {
    let claim = journalled.claims.last()?;
    let tries = if claim.attempt == 0 { String::new() } else { format!(", try {}", claim.attempt + 1) };
    Some(match journalled.records.last() {
        None => format!("journal: claimed at {}{tries}, no outcome recorded yet", claim.at),
        Some(record) => {
            let what = match record.what {
                JournalOutcome::Sent => "sent",
                JournalOutcome::Nothing => "nothing was left to send",
                JournalOutcome::Refused => "refused for good",
                JournalOutcome::NotSent => "not sent, tried again",
                JournalOutcome::Away => "no server or provider took it, tried again",
                JournalOutcome::Returned => "not sent, left to the next message",
                JournalOutcome::Unknown => "it is unknown whether it was sent",
                JournalOutcome::Unsure => "it is unknown whether it was sent, sent again",
            };
            format!("journal: {what} at {}{tries}", record.at)
        }
    })
}
