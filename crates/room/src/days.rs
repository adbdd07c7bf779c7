//! A person's days: every entry, why it is there, and what became of it on each channel.

use std::collections::{BTreeMap, BTreeSet};

use crate::world::load_revocations;
use catalogue::Catalogue;
use model::{
    Actor, Channel, Day, DayView, EntryKey, EntryView, Fate, Person, ReadyId, SubjectRef, Tenant, UtcMillis,
    entry::DayKey, fold::fold_rows, limits::DAY_LIFE_MAX,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{JournalOutcome, JournalRecord, JournalRows, StateKey, Store};

/// More days than the longest life has are never there.
pub const DAYS_MAX: i32 = DAY_LIFE_MAX as i32;
/// Names of subjects asked at once, and characters of one that are shown.
const NAMES_MAX: usize = 2_000;
const NAME_CHARS_MAX: usize = 200;

/// The days of one person, newest first; days without entries are left out.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PersonDays {
    pub person: String,
    pub days: Vec<DayEntries>,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DayEntries {
    pub day: String,
    /// Oldest first.
    pub entries: Vec<EntryReport>,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EntryReport {
    /// Names it within the person, as feedback does.
    pub entry: String,
    pub occurred: String,
    pub subject: String,
    /// What the subject is called, if it says.
    pub name: Option<String>,
    pub kinds: Vec<String>,
    pub reasons: Vec<String>,
    /// The person who did it, if it was one.
    pub actor: Option<String>,
    /// What it told of was revoked: it is not to be shown, whatever became of it before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    pub fates: Vec<ChannelFate>,
}

/// What became of an entry on one channel.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ChannelFate {
    pub channel: String,
    /// The fate, as the model says it.
    pub fate: String,
    /// Good, waiting or ended: how it is coloured.
    pub mood: FateMood,
    pub ready: Option<String>,
    /// What the journal has on the Ready that told it.
    pub journal: Option<String>,
    pub at: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FateMood {
    Told,
    Waiting,
    Ended,
}

/// Reads and folds the days from `parse_days_back` days back until a minute ahead, as far as they still live.
pub async fn read_days(
    store: &dyn Store,
    tenant: &Tenant,
    person: &Person,
    since: i32,
    now: UtcMillis,
    catalogue: Option<&Catalogue>,
) -> anyhow::Result<PersonDays> {
    let catalogue = catalogue.map(|catalogue| catalogue.for_person(person));
    let newest = Day::from_instant(now.plus(model::limits::AHEAD_MS_MAX));
    let days = since.clamp(0, DAYS_MAX);
    let key = |back: i32| DayKey { tenant: tenant.clone(), person: person.clone(), day: newest.plus(-back) };
    let keys: Vec<DayKey> = (0..=days).map(key).collect();
    let rows = store.read(&keys, now).await?;
    let notes = store.states(&[StateKey::Notes(tenant.clone(), person.clone())]).await?;
    let notes = notes.into_iter().next().unwrap_or_default();
    let revoked = load_revocations(store, tenant, rows.iter().flatten()).await?;
    let is_withdrawn = |key, subject: &SubjectRef| revoked.is_withdrawn(tenant, subject, key);
    let fold = |rows| fold_rows(rows).settle(&notes, now).withdraw(is_withdrawn, now);
    let views: Vec<_> = keys.iter().zip(&rows).map(|(key, rows)| (key.day, list_day(&fold(rows)))).collect();
    let all = views.iter().flat_map(|(_, entries)| entries).map(|(key, view)| (*key, view));
    let beside = EntryContext::load(store, tenant, all, catalogue).await?;
    let line = |(key, view): &(EntryKey, EntryView)| beside.describe(*key, view);
    let days = views.iter().filter(|(_, entries)| !entries.is_empty());
    let days = days.map(|(day, entries)| DayEntries {
        day: day.to_string(),
        entries: entries.iter().map(line).collect(),
    });
    Ok(PersonDays { person: person.to_string(), days: days.collect() })
}

/// What stands beside entries: what the journal has on the messages that told them, and what their subjects are called.
pub struct EntryContext<'a> {
    journal: BTreeMap<ReadyId, JournalRows>,
    names: BTreeMap<String, String>,
    catalogue: Option<&'a Catalogue>,
}

impl<'a> EntryContext<'a> {
    pub async fn load<'e>(
        store: &dyn Store,
        tenant: &Tenant,
        entries: impl Iterator<Item = (EntryKey, &'e EntryView)> + Clone,
        catalogue: Option<&'a Catalogue>,
    ) -> anyhow::Result<Self> {
        let told: BTreeSet<ReadyId> = entries.clone().flat_map(|(_, entry)| list_readys(entry)).collect();
        let told: Vec<ReadyId> = told.into_iter().collect();
        let journal = store.read_journal(tenant, &told).await?;
        let subjects = entries.filter_map(|(_, view)| view.subject().cloned()).collect();
        let names = load_subject_names(store, tenant, subjects, catalogue).await?;
        Ok(Self { journal: told.into_iter().zip(journal).collect(), names, catalogue })
    }

    /// One entry as it is shown.
    pub fn describe(&self, key: EntryKey, view: &EntryView) -> EntryReport {
        describe_entry(key, view, &self.journal, &self.names, self.catalogue)
    }
}

fn list_day(view: &DayView) -> Vec<(EntryKey, EntryView)> {
    view.entries().map(|(key, view)| (key, view.clone())).collect()
}

fn list_readys(entry: &EntryView) -> impl Iterator<Item = ReadyId> + '_ {
    Channel::ALL.into_iter().filter_map(|channel| match entry.fate(channel) {
        Fate::Told { ready } => Some(ready),
        Fate::Waiting { .. } | Fate::PutOff | Fate::Read | Fate::Cleared | Fate::Ended(_) => None,
    })
}

/// What subjects are called, by their references.
pub async fn load_subject_names(
    store: &dyn Store,
    tenant: &Tenant,
    subjects: BTreeSet<SubjectRef>,
    catalogue: Option<&Catalogue>,
) -> anyhow::Result<BTreeMap<String, String>> {
    // Without a catalogue nobody knows which field is the name.
    let most = if catalogue.is_some() { NAMES_MAX } else { 0 };
    let subjects: Vec<_> = subjects.into_iter().take(most).collect();
    let keys: Vec<_> =
        subjects.iter().map(|subject| StateKey::Subject(tenant.clone(), subject.clone())).collect();
    let states = store.states(&keys).await?;
    let name = |(subject, state): (&SubjectRef, &model::VersionedState)| {
        let field = catalogue?.subjects.get(subject.kind())?.called.as_ref()?;
        Some((subject.to_string(), state.text(field)?.chars().take(NAME_CHARS_MAX).collect()))
    };
    Ok(subjects.iter().zip(&states).filter_map(name).collect())
}

/// One entry as it is shown.
pub fn describe_entry(
    key: EntryKey,
    view: &EntryView,
    journal: &BTreeMap<ReadyId, JournalRows>,
    names: &BTreeMap<String, String>,
    catalogue: Option<&Catalogue>,
) -> EntryReport {
    let subject = view.subject().map(ToString::to_string).unwrap_or_default();
    let kinds: BTreeSet<String> = view.reasons.iter().map(|reason| reason.kind.to_string()).collect();
    let reasons: BTreeSet<String> = view.reasons.iter().map(|reason| reason.because.to_string()).collect();
    // Without a catalogue it is unknown where it is to be told, and so not where it waits; what was read or cleared is so
    // on every channel, whoever marked it.
    let is_known =
        |channel: &Channel| catalogue.is_some() || view.is_marked_on(*channel) || !view.waits(*channel);
    let channels = channels(view, catalogue).into_iter().filter(is_known);
    EntryReport {
        entry: key.to_string(),
        occurred: key.occurred.to_string(),
        name: names.get(&subject).cloned(),
        subject,
        kinds: kinds.into_iter().collect(),
        reasons: reasons.into_iter().collect(),
        actor: view.actor().and_then(Actor::person).map(ToString::to_string),
        withdrawn: view.is_withdrawn(),
        fates: channels.map(|channel| fate(channel, view, journal)).collect(),
    }
}

/// The channels on which something becomes of an entry: those on which its kinds are told, and those on which
/// something became of it.
pub fn channels(view: &EntryView, catalogue: Option<&Catalogue>) -> Vec<Channel> {
    let kinds = view.reasons.iter().map(|reason| &reason.kind);
    let mut offered = catalogue.map(|catalogue| catalogue.channels_of(kinds)).unwrap_or_default();
    if offered.is_empty() {
        // Of a kind that is gone nobody knows where it was told.
        let all =
            catalogue.map(|catalogue| catalogue.plans.by_name.values().map(|plan| plan.channel).collect());
        offered = all.unwrap_or_else(|| [Channel::Email, Channel::Push].into());
    }
    let shown = |channel: &Channel| offered.contains(channel) || view.is_marked_on(*channel);
    Channel::ALL.into_iter().filter(shown).collect()
}

fn fate(channel: Channel, view: &EntryView, journal: &BTreeMap<ReadyId, JournalRows>) -> ChannelFate {
    let fate = view.fate(channel);
    let (mood, ready) = match fate {
        Fate::Waiting { .. } | Fate::PutOff => (FateMood::Waiting, None),
        Fate::Told { ready } => (FateMood::Told, Some(ready)),
        Fate::Read | Fate::Cleared | Fate::Ended(_) => (FateMood::Ended, None),
    };
    let (journal, at) = match ready.and_then(|ready| journal.get(&ready)) {
        Some(journalled) => describe_journal(journalled),
        None => (None, None),
    };
    ChannelFate {
        channel: channel.to_string(),
        fate: fate.to_string(),
        mood,
        ready: ready.map(|ready| ready.to_string()),
        journal,
        at,
    }
}

/// What the journal says of a Ready, and since when.
pub fn describe_journal(journalled: &JournalRows) -> (Option<String>, Option<String>) {
    let what = match (decisive_record(journalled), journalled.claims.last()) {
        (Some(record), _) => match record.what {
            JournalOutcome::Sent => "sent",
            JournalOutcome::Nothing => "nothing was left to send",
            JournalOutcome::Refused => "refused by the channel",
            JournalOutcome::NotSent | JournalOutcome::Away => "not sent yet, tried again",
            JournalOutcome::Returned => "not sent, left to the next message",
            JournalOutcome::Unknown => "may have been sent",
            JournalOutcome::Unsure => "may have been sent, sent again",
        },
        (None, Some(_)) => "being sent",
        (None, None) => "not sent yet",
    };
    (Some(what.to_owned()), since_when(journalled).map(|at| at.to_string()))
}

/// Since when it is as the journal says.
pub fn since_when(journalled: &JournalRows) -> Option<UtcMillis> {
    let record = decisive_record(journalled).map(|record| record.at);
    record.or(journalled.claims.last().map(|claim| claim.at))
}

/// Once it was sent no later word changes that.
fn decisive_record(journalled: &JournalRows) -> Option<&JournalRecord> {
    let sent = journalled.records.iter().find(|record| record.what == JournalOutcome::Sent);
    sent.or(journalled.records.last())
}

/// `7d` or `7`: how many days back.
pub fn parse_days_back(text: &str) -> Option<i32> {
    let digits = text.strip_suffix('d').unwrap_or(text);
    digits.parse().ok().filter(|days| (0..=DAYS_MAX).contains(days))
}

#[cfg(test)]
mod tests {
    use model::DayRow;

    use super::*;

    #[test]
    fn without_a_catalogue_only_what_happened_is_said() {
        let key = EntryKey { occurred: UtcMillis(0), event: model::EventKey([1; 16]) };
        let (subject, because) = (model::SubjectRef::new("item:1").unwrap(), model::AudienceMatch::Everyone);
        let reason = model::EntryReason { kind: model::Kind::new("offered").unwrap(), because };
        let row = DayRow::Entry(model::entry::Entry {
            key,
            reason,
            subject,
            actor: None,
            kept: model::KeptFields::new(),
        });
        let channels = |rows: &[DayRow]| {
            let (_, view) = list_day(&fold_rows(rows)).remove(0);
            let shown = describe_entry(key, &view, &BTreeMap::new(), &BTreeMap::new(), None);
            shown.fates.into_iter().map(|fate| fate.channel).collect::<Vec<_>>()
        };
        assert_eq!(channels(std::slice::from_ref(&row)), Vec::<String>::new());
        let what = model::mark::MarkAction::Ended(model::EndReason::Muted);
        let mark = model::Mark::new(Some(Channel::Email), what, vec![key], UtcMillis(1));
        assert_eq!(channels(&[row.clone(), DayRow::Mark(mark)]), ["email"]);
        // What the person read is settled wherever it would have been told, also where nobody marked it.
        let mark = model::Mark::new(None, model::mark::MarkAction::Read, vec![key], UtcMillis(1));
        assert_eq!(channels(&[row.clone(), DayRow::Mark(mark)]), ["email", "push"]);
        let up_to = [(model::person::notes::up_to_field("cleared", None), Some(model::Value::Flag(true)))];
        let notes = model::VersionedState::from_values(1, up_to);
        let (_, view) = list_day(&fold_rows(&[row]).settle(&notes, UtcMillis(2))).remove(0);
        let fates = describe_entry(key, &view, &BTreeMap::new(), &BTreeMap::new(), None).fates;
        let fates: Vec<_> = fates.into_iter().map(|fate| (fate.channel, fate.fate)).collect();
        let cleared = |channel: &str| (channel.to_owned(), "cleared".to_owned());
        assert_eq!(fates, [cleared("email"), cleared("push")]);
    }

    #[test]
    fn how_far_back_is_a_number_of_days() {
        let check = |text: &str, days: Option<i32>| assert_eq!(parse_days_back(text), days, "{text}");
        check("7d", Some(7));
        check("0", Some(0));
        check("400d", Some(400));
        check("401d", None);
        check("-1d", None);
        check("7h", None);
        check("", None);
    }
}
