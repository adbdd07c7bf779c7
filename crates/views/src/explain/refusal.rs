//! Whether what was asked makes sense, by what was found.

use catalogue::Catalogue;
use model::{Person, Tenant, limits::DAY_MS};
use source_text::{did_you_mean, list_choices};
use wire::topics::REPLAY_MS;

use super::{ExplainTarget, load::ExplanationEvidence};

/// Why nothing is explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LookupRefusal {
    /// The event is named wrongly.
    Wrong(String),
    /// It is named well, and was not found for a reason that has to be said.
    Absent(String),
}

/// Refuses what is named wrongly, and what cannot be found although it may well exist.
pub fn check_target(
    gathered: &ExplanationEvidence,
    asked: &ExplainTarget,
    (tenant, person): (&Tenant, &Person),
    catalogue: &Catalogue,
) -> Result<(), LookupRefusal> {
    if let ExplainTarget::Entry(given) = asked {
        let entries = gathered.view.entries().map(|(key, _)| key);
        let mut known = gathered.events.iter().map(model::Event::entry_key).chain(entries);
        if let Some(right) = known.find(|key| key.event == given.event && key.occurred != given.occurred) {
            let what = format!(
                "there is no entry {given}: that event is of {}, and its entry is {right}",
                right.day()
            );
            return Err(LookupRefusal::Wrong(what));
        }
    }
    if !gathered.events.is_empty() {
        return Ok(());
    }
    if let ExplainTarget::Subject(subject) = asked
        && !catalogue.subjects.contains_key(subject.kind())
    {
        let types = || catalogue.subjects.keys().map(String::as_str);
        let help = did_you_mean(subject.kind(), types());
        let help = help.unwrap_or_else(|| format!("use {}", list_choices(types())));
        let what = format!("the catalogue has no subjects of type `{}`: {help}", subject.kind());
        return Err(LookupRefusal::Wrong(what));
    }
    let mut entries = gathered.view.entries();
    let means = |key, entry: &model::EntryView| {
        entry.subject().is_some_and(|subject| asked.means(tenant, key, subject))
    };
    if entries.any(|(key, entry)| means(key.event, entry)) {
        let days = gathered.life.days();
        let what = format!(
            "the log no longer has the event, so it cannot be explained: it keeps {} days, and nothing of before a repartition; \
            `tidings days {person} --since {days}d` shows what became of the entry",
            REPLAY_MS / DAY_MS
        );
        return Err(LookupRefusal::Absent(what));
    }
    match gathered.cut_reason() {
        Some(why) => Err(LookupRefusal::Absent(why.to_owned())),
        None => Ok(()),
    }
}

/// The text if the log was read to its end and has no such event.
pub fn explain_absence(asked: &ExplainTarget) -> String {
    let days = REPLAY_MS / DAY_MS;
    match asked {
        ExplainTarget::Subject(subject) => {
            format!(
                "the log has no event about {subject}: none was admitted, or none in the last {days} days, which the log keeps"
            )
        }
        ExplainTarget::Event(_) | ExplainTarget::Entry(_) | ExplainTarget::Change { .. } => format!(
            "the log has no such event: it was never admitted (see `tidings quarantine list`), or the \
            log, which keeps {days} days, no longer has it"
        ),
    }
}
