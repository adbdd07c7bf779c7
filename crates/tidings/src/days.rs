//! A person's days: every entry, why it is there, and what became of it on each channel.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::Catalogue;
use model::{
    Channel, Day, EntryKey, EntryView, Fate, Millis, Person, ReadyId, Row, SubjectRef, Tenant,
    entry::DayKey,
    fold::fold,
    limits::{DAY_LIFE_MS, DAY_MS},
};
use serde::{Deserialize, Serialize};
use store::{Journalled, Record, Recorded, StateKey, Store};

/// More days than a day lives are never there.
pub const DAYS_MAX: i32 = (DAY_LIFE_MS / DAY_MS) as i32;
/// Names of subjects asked at once, and characters of one that are shown.
const NAMES_MAX: usize = 2_000;
const NAME_CHARS_MAX: usize = 200;

/// The days of one person, newest first; days without entries are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Days {
    pub person: String,
    pub days: Vec<OneDay>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneDay {
    pub day: String,
    /// Oldest first.
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Names it within the person, as feedback does.
    pub entry: String,
    pub occurred: String,
    pub subject: String,
    /// What the subject is called, if it says.
    pub name: Option<String>,
    pub kinds: Vec<String>,
    pub reasons: Vec<String>,
    /// Who did it, if somebody did.
    pub actor: Option<String>,
    pub fates: Vec<OneFate>,
}

/// What became of an entry on one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneFate {
    pub channel: String,
    /// The fate, as the model says it.
    pub fate: String,
    /// Good, waiting or ended: how it is coloured.
    pub mood: Mood,
    pub ready: Option<String>,
    /// What the journal has on the Ready that told it.
    pub journal: Option<String>,
    pub at: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mood {
    Told,
    Waiting,
    Ended,
}

/// Reads and folds the days from `since` days back until a minute ahead, as far as they still live.
pub async fn read(
    store: &dyn Store,
    tenant: &Tenant,
    person: &Person,
    since: i32,
    now: Millis,
    catalogue: Option<&Catalogue>,
) -> anyhow::Result<Days> {
    let newest = Day::of(now.plus(model::limits::AHEAD_MS_MAX));
    let days = since.clamp(0, DAYS_MAX);
    let key = |back: i32| DayKey { tenant: tenant.clone(), person: person.clone(), day: newest.plus(-back) };
    let keys: Vec<DayKey> = (0..=days).map(key).collect();
    let rows = store.read(&keys, now).await?;
    let notes = store.states(&[StateKey::Notes(tenant.clone(), person.clone())]).await?;
    let notes = notes.into_iter().next().unwrap_or_default();
    let views: Vec<_> = keys.iter().zip(&rows).map(|(key, rows)| (key.day, folded(rows, &notes))).collect();
    let all = views.iter().flat_map(|(_, entries)| entries).map(|(key, view)| (*key, view));
    let beside = Beside::read(store, tenant, all, catalogue).await?;
    let line = |(key, view): &(EntryKey, EntryView)| beside.entry(*key, view);
    let days = views.iter().filter(|(_, entries)| !entries.is_empty());
    let days = days
        .map(|(day, entries)| OneDay { day: day.to_string(), entries: entries.iter().map(line).collect() });
    Ok(Days { person: person.to_string(), days: days.collect() })
}

/// What stands beside entries: what the journal has on the messages that told them, and what their subjects are called.
pub struct Beside<'a> {
    journal: BTreeMap<ReadyId, Journalled>,
    names: BTreeMap<String, String>,
    catalogue: Option<&'a Catalogue>,
}

impl<'a> Beside<'a> {
    pub async fn read<'e>(
        store: &dyn Store,
        tenant: &Tenant,
        entries: impl Iterator<Item = (EntryKey, &'e EntryView)> + Clone,
        catalogue: Option<&'a Catalogue>,
    ) -> anyhow::Result<Self> {
        let told: BTreeSet<ReadyId> = entries.clone().flat_map(|(_, entry)| told_by(entry)).collect();
        let told: Vec<ReadyId> = told.into_iter().collect();
        let journal = store.journalled(tenant, &told).await?;
        let subjects = entries.filter_map(|(_, view)| view.subject().cloned()).collect();
        let names = names(store, tenant, subjects, catalogue).await?;
        Ok(Self { journal: told.into_iter().zip(journal).collect(), names, catalogue })
    }

    /// One entry as it is shown.
    pub fn entry(&self, key: EntryKey, view: &EntryView) -> Entry {
        entry(key, view, &self.journal, &self.names, self.catalogue)
    }
}

fn folded(rows: &[Row], notes: &model::State) -> Vec<(EntryKey, EntryView)> {
    fold(rows).with_notes(notes).entries().map(|(key, view)| (key, view.clone())).collect()
}

fn told_by(entry: &EntryView) -> impl Iterator<Item = ReadyId> + '_ {
    Channel::ALL.into_iter().filter_map(|channel| match entry.fate(channel) {
        Fate::Told { ready } => Some(ready),
        Fate::Waiting { .. } | Fate::Read | Fate::Cleared | Fate::Ended(_) => None,
    })
}

/// What subjects are called, by their references.
pub async fn names(
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
    let name = |(subject, state): (&SubjectRef, &model::State)| {
        let field = catalogue?.subjects.get(subject.kind())?.called.as_ref()?;
        Some((subject.to_string(), state.text(field)?.chars().take(NAME_CHARS_MAX).collect()))
    };
    Ok(subjects.iter().zip(&states).filter_map(name).collect())
}

/// One entry as it is shown.
pub fn entry(
    key: EntryKey,
    view: &EntryView,
    journal: &BTreeMap<ReadyId, Journalled>,
    names: &BTreeMap<String, String>,
    catalogue: Option<&Catalogue>,
) -> Entry {
    let subject = view.subject().map(ToString::to_string).unwrap_or_default();
    let kinds: BTreeSet<String> = view.reasons.iter().map(|reason| reason.kind.to_string()).collect();
    let reasons: BTreeSet<String> = view.reasons.iter().map(|reason| reason.because.to_string()).collect();
    // Without a catalogue nobody knows where it is to be told, and so not where it waits; what was read or cleared is so
    // on every channel, whoever marked it.
    let is_known =
        |channel: &Channel| catalogue.is_some() || view.is_marked_on(*channel) || !view.waits(*channel);
    let channels = channels(view, catalogue).into_iter().filter(is_known);
    Entry {
        entry: key.to_string(),
        occurred: key.occurred.to_string(),
        name: names.get(&subject).cloned(),
        subject,
        kinds: kinds.into_iter().collect(),
        reasons: reasons.into_iter().collect(),
        actor: view.actor().map(ToString::to_string),
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

fn fate(channel: Channel, view: &EntryView, journal: &BTreeMap<ReadyId, Journalled>) -> OneFate {
    let fate = view.fate(channel);
    let (mood, ready) = match fate {
        Fate::Waiting { .. } => (Mood::Waiting, None),
        Fate::Told { ready } => (Mood::Told, Some(ready)),
        Fate::Read | Fate::Cleared | Fate::Ended(_) => (Mood::Ended, None),
    };
    let (journal, at) = match ready.and_then(|ready| journal.get(&ready)) {
        Some(journalled) => said(journalled),
        None => (None, None),
    };
    OneFate {
        channel: channel.to_string(),
        fate: fate.to_string(),
        mood,
        ready: ready.map(|ready| ready.to_string()),
        journal,
        at,
    }
}

/// What the journal says of a Ready, and since when.
pub fn said(journalled: &Journalled) -> (Option<String>, Option<String>) {
    let what = match (decisive(journalled), journalled.claims.last()) {
        (Some(record), _) => match record.what {
            Recorded::Sent => "sent",
            Recorded::Nothing => "nothing was left to send",
            Recorded::Refused => "refused by the channel",
            Recorded::NotSent | Recorded::Away => "not sent yet, tried again",
            Recorded::Returned => "not sent, left to the next message",
            Recorded::Unknown => "may have been sent",
            Recorded::Unsure => "may have been sent, sent again",
        },
        (None, Some(_)) => "being sent",
        (None, None) => "on its way",
    };
    (Some(what.to_owned()), since_when(journalled).map(|at| at.to_string()))
}

/// Since when it is as the journal says.
pub fn since_when(journalled: &Journalled) -> Option<Millis> {
    let record = decisive(journalled).map(|record| record.at);
    record.or(journalled.claims.last().map(|claim| claim.at))
}

/// Once it was sent no later word changes that.
fn decisive(journalled: &Journalled) -> Option<&Record> {
    let sent = journalled.records.iter().find(|record| record.what == Recorded::Sent);
    sent.or(journalled.records.last())
}

/// `7d` or `7`: how many days back.
pub fn since(text: &str) -> Option<i32> {
    let digits = text.strip_suffix('d').unwrap_or(text);
    digits.parse().ok().filter(|days| (0..=DAYS_MAX).contains(days))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_catalogue_only_what_happened_is_said() {
        let key = EntryKey { occurred: Millis(0), event: model::EventKey([1; 16]) };
        let (subject, because) = (model::SubjectRef::new("item:1").unwrap(), model::Because::Everyone);
        let reason = model::Reason { kind: model::Kind::new("offered").unwrap(), because };
        let row = Row::Entry(model::entry::Entry { key, reason, subject, actor: None });
        let channels = |rows: &[Row]| {
            let (_, view) = folded(rows, &model::State::default()).remove(0);
            let shown = entry(key, &view, &BTreeMap::new(), &BTreeMap::new(), None);
            shown.fates.into_iter().map(|fate| fate.channel).collect::<Vec<_>>()
        };
        assert_eq!(channels(std::slice::from_ref(&row)), Vec::<String>::new());
        let what = model::mark::What::Ended(model::Why::Muted);
        let mark = model::Mark::new(Some(Channel::Email), what, vec![key], Millis(1));
        assert_eq!(channels(&[row.clone(), Row::Mark(mark)]), ["email"]);
        // What the person read is settled wherever it would have been told, also where nobody marked it.
        let mark = model::Mark::new(None, model::mark::What::Read, vec![key], Millis(1));
        assert_eq!(channels(&[row.clone(), Row::Mark(mark)]), ["email", "push"]);
        let up_to = [(model::person::notes::up_to("cleared", None), Some(model::Value::Flag(true)))];
        let notes = model::State::at(1, up_to);
        let (_, view) = folded(&[row], &notes).remove(0);
        let fates = entry(key, &view, &BTreeMap::new(), &BTreeMap::new(), None).fates;
        let fates: Vec<_> = fates.into_iter().map(|fate| (fate.channel, fate.fate)).collect();
        let cleared = |channel: &str| (channel.to_owned(), "cleared".to_owned());
        assert_eq!(fates, [cleared("email"), cleared("push")]);
    }

    #[test]
    fn how_far_back_is_a_number_of_days() {
        let check = |text: &str, days: Option<i32>| assert_eq!(since(text), days, "{text}");
        check("7d", Some(7));
        check("0", Some(0));
        check("21d", Some(21));
        check("22d", None);
        check("-1d", None);
        check("7h", None);
        check("", None);
    }
}
