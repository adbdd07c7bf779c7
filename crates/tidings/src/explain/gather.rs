//! Reads what an explanation rests on.

use std::collections::BTreeMap;

use anyhow::Context as _;
use catalogue::{Catalogue, truth};
use model::{
    Channel, Day, DayView, Event, Fate, Millis, Person, ReadyId, Reason, State, SubjectRef, Tenant, World,
    entry::DayKey,
    fold::fold,
    limits::{AHEAD_MS_MAX, DAY_LIFE_MS, DAY_MS},
    partition,
    person::PersonRecord,
    ready::Ready,
};
use store::{
    Journalled, StateKey, Store,
    world::{self, Wanted},
};
use topic::Topics;
use wire::topics;

use super::Asked;

/// Records read at once.
const PAGE: usize = 1_000;
/// Records of the log that are looked at for one event.
const RECORDS_MAX: u64 = 5_000_000;
/// Events about one subject that are explained, the latest ones.
pub const EVENTS_MAX: usize = 20;

/// Everything an explanation looks at.
#[derive(Debug, Default)]
pub struct Gathered {
    /// As the log has them, in order; an event that comes twice stands there once.
    pub events: Vec<Event>,
    /// The log was longer than one look.
    pub is_cut: bool,
    /// All days of the person that live.
    pub view: DayView,
    pub profile: State,
    pub mutes: State,
    pub notes: State,
    pub record: Option<PersonRecord>,
    /// Subjects of the events, what they refer to, and whether the person follows any of that.
    pub world: World,
    pub journal: BTreeMap<ReadyId, Journalled>,
    pub readys: BTreeMap<ReadyId, Ready>,
    /// Records that fan-out has not read yet.
    pub unread: u64,
}

/// Reads all that there is about an event and a person.
pub async fn gather(
    (log, store): (&dyn Topics, &dyn Store),
    (tenant, person): (&Tenant, &Person),
    asked: &Asked,
    catalogue: &Catalogue,
    now: Millis,
) -> anyhow::Result<Gathered> {
    let mut gathered = Gathered { view: days(store, tenant, person, now).await?, ..Gathered::default() };
    let subject = match asked {
        Asked::Subject(subject) => Some(subject.clone()),
        // Who has an entry knows the subject, and so where in the log to look.
        Asked::Event(key) => {
            let found = gathered.view.entries().find(|(at, _)| at.event == *key);
            found.and_then(|(_, entry)| entry.subject().cloned())
        }
    };
    events(log, tenant, asked, subject.as_ref(), &mut gathered).await?;
    let keys =
        [StateKey::Person, StateKey::Mutes, StateKey::Notes].map(|of| of(tenant.clone(), person.clone()));
    let mut states = store.states(&keys).await.context("what is known of the person")?.into_iter();
    gathered.profile = states.next().unwrap_or_default();
    gathered.mutes = states.next().unwrap_or_default();
    gathered.notes = states.next().unwrap_or_default();
    gathered.record = crate::http::windows::of(log, tenant, person).await?;
    gathered.world = known(store, (tenant, person), &gathered, catalogue).await?;
    told(log, store, (tenant, person), &mut gathered).await?;
    for group in [fanout::config::GROUP, fanout::config::SLICES_GROUP] {
        let topic = if group == fanout::config::GROUP { topics::EVENTS } else { topics::SLICES };
        let standing = log.standing(group, topic).await?;
        gathered.unread += standing.iter().map(|of| of.end.saturating_sub(of.committed)).sum::<u64>();
    }
    Ok(gathered)
}

async fn days(store: &dyn Store, tenant: &Tenant, person: &Person, now: Millis) -> anyhow::Result<DayView> {
    let life = i32::try_from(DAY_LIFE_MS / DAY_MS).unwrap_or(i32::MAX);
    let newest = Day::of(now.plus(AHEAD_MS_MAX));
    let key = |back: i32| DayKey { tenant: tenant.clone(), person: person.clone(), day: newest.plus(-back) };
    let keys: Vec<DayKey> = (0..=life).map(key).collect();
    let rows = store.read(&keys, now).await.context("the person's days")?;
    Ok(fold(rows.iter().flatten()))
}

/// The events that are meant, from the partition of their subject if that is known.
async fn events(
    log: &dyn Topics,
    tenant: &Tenant,
    asked: &Asked,
    subject: Option<&SubjectRef>,
    gathered: &mut Gathered,
) -> anyhow::Result<()> {
    let only = subject.map(|subject| partition::of_subject(tenant, subject));
    let mut left = RECORDS_MAX;
    for (number, (mut from, end)) in (0..).zip(log.bounds(topics::EVENTS).await?) {
        while from < end && only.is_none_or(|only| only == number) {
            if left == 0 {
                gathered.is_cut = true;
                return Ok(());
            }
            let records = log.read(topics::EVENTS, number, from, PAGE).await?;
            let Some(last) = records.last() else { break };
            from = last.offset + 1;
            left = left.saturating_sub(records.len() as u64);
            // What cannot be read was put into quarantine by fan-out.
            let read = records.iter().filter_map(|record| wire::event::decode(record.value.as_deref()?).ok());
            for event in read.filter(|event| event.tenant == *tenant && is_meant(event, asked)) {
                if !gathered.events.iter().any(|other| other.key == event.key) {
                    gathered.events.push(event);
                }
            }
            // An event is there once.
            if matches!(asked, Asked::Event(_)) && !gathered.events.is_empty() {
                return Ok(());
            }
        }
    }
    let more = gathered.events.len().saturating_sub(EVENTS_MAX);
    gathered.events.drain(..more);
    Ok(())
}

fn is_meant(event: &Event, asked: &Asked) -> bool {
    match asked {
        Asked::Event(key) => event.key == *key,
        Asked::Subject(subject) => event.subject == *subject,
    }
}

/// The subjects and follows that the rules will ask for.
async fn known(
    store: &dyn Store,
    (tenant, person): (&Tenant, &Person),
    gathered: &Gathered,
    catalogue: &Catalogue,
) -> anyhow::Result<World> {
    let mut wanted = Wanted::default();
    let reasons: Vec<&Reason> = gathered.view.entries().flat_map(|(_, entry)| &entry.reasons).collect();
    let (targets, persons) = truth::wants(reasons);
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
    Ok(world::load(store, wanted, &|state| catalogue.related_refs(state)).await?)
}

/// The Readys that took the entries in question, and what the journal has on them.
async fn told(
    log: &dyn Topics,
    store: &dyn Store,
    (tenant, person): (&Tenant, &Person),
    gathered: &mut Gathered,
) -> anyhow::Result<()> {
    let mut ids: Vec<ReadyId> = Vec::new();
    for event in &gathered.events {
        let Some(entry) = gathered.view.get(event.entry_key()) else { continue };
        ids.extend(Channel::ALL.into_iter().filter_map(|channel| match entry.fate(channel) {
            Fate::Told { ready } => Some(ready),
            Fate::Waiting { .. } | Fate::Read | Fate::Cleared | Fate::Ended(_) => None,
        }));
    }
    if ids.is_empty() {
        return Ok(());
    }
    let journalled = store.journalled(tenant, &ids).await.context("the journal")?;
    gathered.journal = ids.iter().copied().zip(journalled).collect();
    let number = partition::of_person(tenant, person);
    let bounds = log.bounds(topics::READY).await?;
    let (mut from, end) = bounds.get(number as usize).copied().unwrap_or_default();
    while from < end && gathered.readys.len() < gathered.journal.len() {
        let records = log.read(topics::READY, number, from, PAGE).await?;
        let Some(last) = records.last() else { break };
        from = last.offset + 1;
        let readys = records.iter().filter_map(|record| wire::ready::decode(record.value.as_deref()?).ok());
        gathered.readys.extend(readys.filter(|ready| ids.contains(&ready.id)).map(|ready| (ready.id, ready)));
    }
    Ok(())
}
