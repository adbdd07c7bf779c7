//! Reads what an explanation rests on.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use catalogue::{Catalogue, truth};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use house::book::HouseBook;
use house_facts::{pause::PausedPlans, recall::REVOKE};
use model::{
    Channel, Day, DayLife, DayView, EntryReason, Event, EventKey, Person, ReadyId, SubjectRef, Tenant,
    UtcMillis, VersionedState, WorldSnapshot, entry::DayKey, fold::fold_rows, partition::PartitionCount,
    person::PersonRecord, ready::Ready,
};
use room::world::{self, WorldQuery};
use store::{JournalRows, StateKey, Store};
use topic::{TopicRecord, Topics};
use wire::{house_note, topics};

use super::{
    ExplainTarget,
    editions::EditionEvidence,
    spans::{PartitionSpan, latest_spans},
};

/// Records read at once.
const PAGE: usize = 1_000;
/// Records of a topic that are read, the latest ones: so many are read well within the time for which a
/// client waits.
const RECORDS_MAX: u64 = 500_000;
/// How long after its first word an event is announced: mostly at once, later by clocks that differ or while a log is away.
/// What is later still is looked for in the whole log.
const ANNOUNCED_MS: [i64; 3] = [250, 5_000, 60_000];
/// So far apart the clocks may be by which a Ready was taken and by which it was appended.
const READY_APART_MS: i64 = 60_000;
/// Records read at once where few are expected, and partitions in which they are looked for at the same time.
const NEAR_PAGE: usize = 10;
const NEAR_AT_ONCE: usize = 8;
/// Readys read at once, which are larger.
const READYS_PAGE: usize = 100;
/// Events about one subject that are explained, the latest ones.
pub const EVENTS_MAX: usize = 20;

/// Everything an explanation looks at.
#[derive(Debug, Default)]
pub struct ExplanationEvidence {
    /// As the log has them, in order; an event that comes twice stands there once.
    pub events: Vec<Event>,
    /// The note if the log was too long to be read to its end, so that the event may lie further back.
    pub cut: Option<String>,
    /// Days of the events that are empty, and may have been archived.
    pub gone: BTreeSet<Day>,
    /// How long days live.
    pub life: DayLife,
    /// All days of the person that live.
    pub view: DayView,
    pub profile: VersionedState,
    pub preferences: VersionedState,
    pub notes: VersionedState,
    pub record: Option<PersonRecord>,
    /// What operators have paused.
    pub paused: PausedPlans,
    /// Subjects of the events, what they refer to, and whether the person follows any of that.
    pub world: WorldSnapshot,
    pub journal: BTreeMap<ReadyId, JournalRows>,
    pub readys: BTreeMap<ReadyId, Ready>,
    /// By which catalogue events were told.
    pub told_by: EditionEvidence,
    /// Records that fan-out has not read yet.
    pub unread: u64,
}

impl ExplanationEvidence {
    fn has_event(&self, key: EventKey) -> bool {
        self.events.iter().any(|event| event.key == key)
    }

    /// Why there may be an event after all, although none was found.
    pub fn cut_reason(&self) -> Option<&str> {
        self.cut.as_deref().filter(|_| self.events.is_empty())
    }
}

/// Reads all that there is about an event and a person.
pub async fn load_evidence(
    (log, store): (&dyn Topics, &dyn Store),
    (tenant, person): (&Tenant, &Person),
    asked: &ExplainTarget,
    catalogue: &Catalogue,
    now: UtcMillis,
) -> anyhow::Result<ExplanationEvidence> {
    let mut gathered = ExplanationEvidence {
        life: store.day_life(),
        view: load_days(store, tenant, person, now).await?,
        ..ExplanationEvidence::default()
    };
    let subject = match (asked, asked.single(tenant)) {
        (ExplainTarget::Subject(subject), _) => Some(subject.clone()),
        // Who has an entry knows the subject, and so where in the log to look.
        (_, Some(key)) => {
            let found = gathered.view.entries().find(|(at, _)| at.event == key);
            found.and_then(|(_, entry)| entry.subject().cloned())
        }
        (_, None) => None,
    };
    load_events((log, store), tenant, asked, (subject.as_ref(), now), &mut gathered).await?;
    let book = HouseBook::read(log).await.context("what is noted of the house")?;
    if !gathered.events.is_empty() {
        gathered
            .told_by
            .load((log, &book), catalogue.hash, &gathered.events)
            .await
            .context("catalogues of the house")?;
    }
    let keys = [StateKey::Person, StateKey::Preferences, StateKey::Notes]
        .map(|of| of(tenant.clone(), person.clone()));
    let mut states = store.states(&keys).await.context("load the person")?.into_iter();
    gathered.profile = states.next().unwrap_or_default();
    gathered.preferences = states.next().unwrap_or_default();
    gathered.notes = states.next().unwrap_or_default();
    gathered.view = std::mem::take(&mut gathered.view).settle(&gathered.notes, now);
    gathered.record = house::person_windows::load_person(log, tenant, person).await?;
    let plans = &catalogue.for_person(person).plans;
    gathered.paused = PausedPlans::new(book.pauses(), plans.by_name.values());
    gathered.world = load_world(store, (tenant, person), &gathered, catalogue).await?;
    gathered.gone = find_empty_days(store, &gathered, catalogue, now).await?;
    load_readys(log, store, (tenant, person), &mut gathered).await?;
    for group in [fanout::config::GROUP, fanout::config::SLICES_GROUP] {
        let topic = if group == fanout::config::GROUP { topics::EVENTS } else { topics::SLICES };
        let standing = log.standing(group, topic).await?;
        gathered.unread += standing.iter().map(|of| of.end.saturating_sub(of.committed)).sum::<u64>();
    }
    Ok(gathered)
}

/// All days of a person that live, with what was revoked of them.
pub async fn load_days(
    store: &dyn Store,
    tenant: &Tenant,
    person: &Person,
    now: UtcMillis,
) -> anyhow::Result<DayView> {
    let key = |day| DayKey { tenant: tenant.clone(), person: person.clone(), day };
    let keys: Vec<DayKey> = store.day_life().living_days(now).rev().map(key).collect();
    let rows = store.read(&keys, now).await.context("the person's days")?;
    let revoked =
        world::load_revocations(store, tenant, rows.iter().flatten()).await.context("what was revoked")?;
    let view = fold_rows(rows.iter().flatten());
    Ok(view.withdraw(|key, subject| revoked.is_withdrawn(tenant, subject, key), now))
}

/// The events that are meant, from the partition of their subject if that is known. One whose first word stands was
/// announced right after it was heard: it is looked for there first.
async fn load_events(
    (log, store): (&dyn Topics, &dyn Store),
    tenant: &Tenant,
    asked: &ExplainTarget,
    (subject, now): (Option<&SubjectRef>, UtcMillis),
    gathered: &mut ExplanationEvidence,
) -> anyhow::Result<()> {
    let bounds = log.bounds(topics::EVENTS).await?;
    let only =
        subject.map(|subject| PartitionCount::from_topic_count(bounds.len()).of_subject(tenant, subject));
    let search = EventSearch { log, tenant, asked };
    let is_meant = |number: u32| only.is_none_or(|only| only == number);
    let heard = match asked.single(tenant) {
        Some(key) => store.heard_at(key, now).await.context("when it was heard")?,
        None => None,
    };
    if let Some(heard) = heard {
        let starts = log.since(topics::EVENTS, heard.0).await?;
        let spans = (0..).zip(starts.into_iter().zip(&bounds).map(|(start, (_, end))| (start, *end)));
        let spans: Vec<PartitionSpan> = spans.filter(|(number, _)| is_meant(*number)).collect();
        for late in ANNOUNCED_MS {
            if search.find_near(&spans, heard.plus(late), gathered).await? {
                return Ok(());
            }
        }
    }
    let bounds = (0..).zip(bounds).filter(|(number, _)| is_meant(*number)).collect();
    let (looks, is_cut) = latest_spans(bounds, RECORDS_MAX);
    search.find(looks, gathered).await?;
    if search.has_single(gathered) {
        return Ok(());
    }
    // A change has only so many subjects, and each of them is asked for.
    let most = if matches!(asked, ExplainTarget::Subject(_)) { EVENTS_MAX } else { usize::MAX };
    let more = gathered.events.len().saturating_sub(most);
    gathered.events.drain(..more);
    gathered.cut = (is_cut && more == 0).then(|| match asked {
        ExplainTarget::Change { .. } if !gathered.events.is_empty() => {
            format!(
                "only the latest {RECORDS_MAX} events of the log were read; there may be more of this \
                change"
            )
        }
        _ => describe_cut(only.is_some()),
    });
    Ok(())
}

/// What is looked for in the log.
struct EventSearch<'a> {
    log: &'a dyn Topics,
    tenant: &'a Tenant,
    asked: &'a ExplainTarget,
}

impl EventSearch<'_> {
    /// Reads these spans, up to the one event that is meant.
    async fn find(
        &self,
        spans: Vec<PartitionSpan>,
        gathered: &mut ExplanationEvidence,
    ) -> anyhow::Result<()> {
        for (number, (mut from, end)) in spans {
            while from < end {
                let records = self.log.read(topics::EVENTS, number, from, PAGE).await?;
                let Some(last) = records.last() else { break };
                from = last.offset + 1;
                self.take_events(&records, gathered);
                if self.has_single(gathered) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reads these spans, each until a record was appended after `until`. Says whether that is all there is to find: the one
    /// event, or some events of a change, which are announced together.
    async fn find_near(
        &self,
        spans: &[PartitionSpan],
        until: UtcMillis,
        gathered: &mut ExplanationEvidence,
    ) -> anyhow::Result<bool> {
        // Boxed, or the compiler cannot tell that whoever waits for them may be sent elsewhere.
        let reads: Vec<_> = spans.iter().map(|span| self.read_near(*span, until).boxed()).collect();
        let mut reads = stream::iter(reads).buffered(NEAR_AT_ONCE);
        while let Some(records) = reads.try_next().await? {
            self.take_events(&records, gathered);
            // An event is there once.
            if self.has_single(gathered) {
                return Ok(true);
            }
        }
        Ok(!gathered.events.is_empty())
    }

    /// The records of a span until one was appended after `until`. Mostly there are few, so the first pages are small.
    async fn read_near(
        &self,
        (number, (mut from, end)): PartitionSpan,
        until: UtcMillis,
    ) -> anyhow::Result<Vec<TopicRecord>> {
        let (mut near, mut page) = (Vec::new(), NEAR_PAGE);
        while from < end {
            let records = self.log.read(topics::EVENTS, number, from, page).await?;
            let Some(last) = records.last() else { break };
            from = if last.appended > until.0 { end } else { last.offset + 1 };
            near.extend(records);
            page = PAGE.min(2 * page);
        }
        Ok(near)
    }

    fn has_single(&self, gathered: &ExplanationEvidence) -> bool {
        self.asked.single(self.tenant).is_some_and(|key| gathered.has_event(key))
    }

    /// What cannot be read was put into quarantine by fan-out.
    fn take_events(&self, records: &[TopicRecord], gathered: &mut ExplanationEvidence) {
        let means = |event: &Event| {
            // What tells of a revocation is no event of a service.
            event.what != REVOKE
                && event.tenant == *self.tenant
                && self.asked.means(self.tenant, event.key, &event.subject)
        };
        for record in records {
            let decoded = wire::event::decode(record.value.as_deref().unwrap_or_default());
            let Some(event) = decoded.ok().filter(means) else { continue };
            let edition = house_note::read_edition(&record.headers);
            gathered.told_by.admitted.extend(edition.map(|edition| (event.key, edition)));
            if !gathered.has_event(event.key) {
                gathered.events.push(event);
            }
        }
    }
}

/// The note that not everything was read; naming the subject reaches further back.
pub(super) fn describe_cut(is_of_subject: bool) -> String {
    if is_of_subject {
        return format!("only the latest {RECORDS_MAX} events of the subject's partition were read");
    }
    format!(
        "only the latest {RECORDS_MAX} events of the log were read, and this is not one of them; name its \
        subject, type:id, to look further back"
    )
}

/// Days of the events of which nothing is left for anybody, although they are old enough to be archived.
async fn find_empty_days(
    store: &dyn Store,
    gathered: &ExplanationEvidence,
    catalogue: &Catalogue,
    now: UtcMillis,
) -> anyhow::Result<BTreeSet<Day>> {
    let kept = upkeep::archive::first_unarchivable_day(catalogue, now);
    let mut gone = BTreeSet::new();
    let days: BTreeSet<Day> = gathered.events.iter().map(|event| event.entry_key().day()).collect();
    for day in days.into_iter().filter(|day| *day < kept) {
        let part = store.scan(day, None, 1).await.with_context(|| format!("load the rows of {day}"))?;
        if part.rows.is_empty() && part.next.is_none() {
            gone.insert(day);
        }
    }
    Ok(gone)
}

/// The subjects and follows that the rules will ask for.
async fn load_world(
    store: &dyn Store,
    (tenant, person): (&Tenant, &Person),
    gathered: &ExplanationEvidence,
    catalogue: &Catalogue,
) -> anyhow::Result<WorldSnapshot> {
    let mut wanted = WorldQuery::default();
    wanted.entries.extend(gathered.events.iter().map(|event| (tenant.clone(), event.entry_key())));
    let reasons: Vec<&EntryReason> = gathered.view.entries().flat_map(|(_, entry)| &entry.reasons).collect();
    let (targets, persons) = truth::list_needs(reasons);
    wanted.persons.extend(persons.into_iter().map(|other| (tenant.clone(), other)));
    let subjects: Vec<_> = gathered.events.iter().map(|event| event.subject.clone()).collect();
    wanted.subjects.extend(subjects.iter().map(|subject| (tenant.clone(), subject.clone())));
    let states: Vec<StateKey> =
        subjects.iter().map(|subject| StateKey::Subject(tenant.clone(), subject.clone())).collect();
    let stored = store.states(&states).await.context("the subjects")?;
    let stated = gathered.events.iter().map(|event| &event.state);
    let referred = stored.iter().chain(stated).flat_map(|state| catalogue.related_refs(state));
    for target in referred.chain(subjects).chain(targets) {
        wanted.follows.insert((tenant.clone(), person.clone(), target));
    }
    Ok(world::load_world(store, wanted, &|state| catalogue.related_refs(state)).await?)
}

/// The Readys that took the entries in question, and what the journal has on them.
async fn load_readys(
    log: &dyn Topics,
    store: &dyn Store,
    (tenant, person): (&Tenant, &Person),
    gathered: &mut ExplanationEvidence,
) -> anyhow::Result<()> {
    let mut taken: BTreeMap<ReadyId, UtcMillis> = BTreeMap::new();
    for event in &gathered.events {
        let Some(entry) = gathered.view.get(event.entry_key()) else { continue };
        for channel in Channel::ALL {
            taken.extend(entry.tellers(channel).next());
        }
    }
    let (Some(first), Some(last)) = (taken.values().min(), taken.values().max()) else { return Ok(()) };
    let ids: Vec<ReadyId> = taken.keys().copied().collect();
    let journalled = store.read_journal(tenant, &ids).await.context("the journal")?;
    gathered.journal = ids.iter().copied().zip(journalled).collect();
    // It was appended as it was taken, by clocks that may differ. What is not found there lies anywhere, or is gone.
    let (since, until) = (first.plus(-READY_APART_MS), last.plus(READY_APART_MS));
    let mut wholes = Vec::new();
    for lane in topics::READY_LANES {
        let bounds = log.bounds(lane).await?;
        let number = PartitionCount::from_topic_count(bounds.len()).of_person(tenant, person);
        let whole = bounds.get(number as usize).copied().unwrap_or_default();
        let start = log.since(lane, since.0).await?.get(number as usize).copied().unwrap_or(whole.0);
        read_readys((log, lane), (number, (start, whole.1)), Some(until), &ids, gathered).await?;
        if log.appended_at(lane, number, whole.0).await?.is_some_and(|oldest| oldest <= until.0) {
            wholes.push((lane, (number, whole)));
        }
    }
    for (lane, whole) in wholes {
        for span in latest_spans(vec![whole], RECORDS_MAX).0 {
            read_readys((log, lane), span, None, &ids, gathered).await?;
        }
    }
    Ok(())
}

/// Reads a span of a lane until these Readys are found, or until a record was appended after `until`.
async fn read_readys(
    (log, lane): (&dyn Topics, &str),
    (number, (mut from, end)): PartitionSpan,
    until: Option<UtcMillis>,
    ids: &[ReadyId],
    gathered: &mut ExplanationEvidence,
) -> anyhow::Result<()> {
    while from < end && gathered.readys.len() < ids.len() {
        let records = log.read(lane, number, from, READYS_PAGE).await?;
        let Some(last) = records.last() else { break };
        from = if until.is_some_and(|until| last.appended > until.0) { end } else { last.offset + 1 };
        let readys = records.iter().filter_map(|record| wire::ready::decode(record.value.as_deref()?).ok());
        gathered.readys.extend(readys.filter(|ready| ids.contains(&ready.id)).map(|ready| (ready.id, ready)));
    }
    Ok(())
}
