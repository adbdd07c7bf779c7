//! Reads what a preview shows: what is known of a person, and what a plan would tell them.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use catalogue::{Audience, Catalogue, bundles::BundleEntry, windows::WindowEntry};
use digest::run::forecast::ReleaseForecast;
use house::person_windows as windows;
use model::{
    AudienceMatch, Crowd, DayRow, DayView, EntryKey, EntryReason, EventKey, Person, SubjectRef, Value,
    VersionedState, WorldSnapshot,
    civil_time::ZoneRules,
    entry::Entry,
    limits::READY_ENTRIES_MAX,
    person::profile,
    plan::Plan,
    ready::{Ready, ReadyEntry},
};
use room::{
    item_words,
    world::{self, StateAge, WorldQuery},
};
use sender::facts;
use source_text::did_you_mean;
use store::StateKey;

use super::{
    DigestPreviewOrder, LookupContext, PreviewError, PreviewOrder, PreviewSource,
    sheet::{LoadedPerson, PreviewSheet},
};
use crate::explain;

/// Things in a message of examples: enough for a row that is not full.
const EXAMPLES: usize = 3;
/// Entries that wait, of which the newest are shown: their subjects are read for it.
const WAITING_MAX: usize = 200;
/// The other one of two, where nobody real is.
const OTHER: (&str, &str) = ("ben", "Ben");

/// Reads all that there is about a person.
pub async fn load_known_person(person: &Person, at: LookupContext<'_>) -> anyhow::Result<LoadedPerson> {
    let LookupContext { log, store, tenant, now } = at;
    let keys = [StateKey::Person, StateKey::Preferences, StateKey::Notes];
    let keys = keys.map(|key| key(tenant.clone(), person.clone()));
    let mut states = store.states(&keys).await?.into_iter();
    let mut next = || states.next().unwrap_or_default();
    let (profile, preferences, notes) = (next(), next(), next());
    let view = explain::load_days(store, tenant, person, now).await?.settle(&notes, now);
    let record = windows::load_person(log, tenant, person).await?;
    let named = item_words::list_named_actors(view.entries().filter_map(|(_, entry)| entry.actor()));
    let named = named.into_iter().map(|actor| (tenant.clone(), actor)).collect();
    let erased = item_words::read_erased_actors(store, named, StateAge::Now)
        .await?
        .into_iter()
        .map(|(_, who)| who)
        .collect();
    Ok(LoadedPerson { profile, preferences, notes, view, record, erased })
}

/// That nobody of this name is known, with who was probably meant.
pub async fn describe_unknown_person(person: &Person, at: LookupContext<'_>) -> anyhow::Result<String> {
    let remembered = windows::load_persons(at.log).await?;
    let names = remembered.persons.keys().filter(|(tenant, _)| tenant == at.tenant);
    let help = did_you_mean(person.as_str(), names.map(|(_, person)| person.as_str()));
    let help = help.map(|help| format!(": {help}")).unwrap_or_default();
    Ok(format!("nothing is known of a person `{person}`{help}"))
}

/// What a plan would tell the person: of the subject that was named, else what waits, else what is made up.
pub async fn load_plan_sheet(
    order: &PreviewOrder<'_>,
    plan: &Plan,
    known: &LoadedPerson,
    catalogue: &Catalogue,
    at: LookupContext<'_>,
) -> anyhow::Result<Result<PreviewSheet, PreviewError>> {
    let sheet = match &order.subject {
        Some(subject) => match load_subject_sheet(order, subject, plan, known, at).await? {
            Some(sheet) => sheet,
            None => {
                return Ok(Err(PreviewError::absent("subject", format!("nothing is known of {subject}"))));
            }
        },
        None => match load_waiting_sheet(order, plan, known, at).await? {
            Some(sheet) => sheet,
            None => return Ok(Ok(example(order, plan, known, catalogue, at))),
        },
    };
    let ready = sheet.build_ready(order, plan, at);
    let mut asked = WorldQuery::default();
    facts::collect_wanted(&ready, &sheet.view, &mut asked);
    let refers_to = |state: &VersionedState| catalogue.related_refs(state);
    let world = world::load_world(at.store, asked, &refers_to).await.context("the subjects")?;
    Ok(Ok(PreviewSheet { world, ..sheet }))
}

/// What a release of the person's windows would hand to the sender now, each with what it speaks of.
pub async fn load_digests(
    wanted: &DigestPreviewOrder,
    known: &LoadedPerson,
    catalogue: &Catalogue,
    zones: &ZoneRules,
    at: LookupContext<'_>,
) -> anyhow::Result<Vec<(Ready, WorldSnapshot)>> {
    let Some(record) = &known.record else { return Ok(Vec::new()) };
    let key = (at.tenant.clone(), wanted.person.clone());
    let foresight = ReleaseForecast { store: at.store, catalogue, zones, now: at.now };
    let readys =
        foresight.forecast_release(&key, record, &wanted.plans).await.context("load the waiting entries")?;
    let refers_to = |state: &VersionedState| catalogue.related_refs(state);
    let mut digests = Vec::new();
    for ready in readys {
        let mut asked = WorldQuery::default();
        facts::collect_wanted(&ready, &known.view, &mut asked);
        let world = world::load_world(at.store, asked, &refers_to).await.context("the subjects")?;
        digests.push((ready, world));
    }
    Ok(digests)
}

/// The newest entries of the kind that wait under the plan, of one window.
async fn load_waiting_sheet(
    order: &PreviewOrder<'_>,
    plan: &Plan,
    known: &LoadedPerson,
    at: LookupContext<'_>,
) -> anyhow::Result<Option<PreviewSheet>> {
    let of_kind = |reason: &EntryReason| reason.kind == order.kind.name;
    let waits = known.view.entries().filter(|(_, entry)| {
        entry.waits(plan.channel) && entry.subject().is_some() && entry.reasons.iter().any(of_kind)
    });
    let mut newest: Vec<_> = waits.collect();
    newest.reverse();
    newest.truncate(WAITING_MAX);
    let subjects: Vec<SubjectRef> = newest.iter().filter_map(|(_, entry)| entry.subject().cloned()).collect();
    let states = load_subject_states(&subjects, at).await?;
    let mut key = None;
    let mut entries: Vec<ReadyEntry> = Vec::new();
    let mut bundles = BTreeMap::new();
    for (((of, seen), subject), state) in newest.into_iter().zip(subjects).zip(&states) {
        let thing = WindowEntry { kind: &order.kind.name, subject: &subject, actor: seen.actor(), state };
        let own = thing.window_target(plan).key;
        if *key.get_or_insert_with(|| own.clone()) == own {
            let words =
                BundleEntry { subject: &subject, actor: seen.actor(), kept: seen.kept_fields(), state };
            let place = entries.len();
            let first =
                order.kind.bundle_of(words).map_or(place, |bundle| *bundles.entry(bundle).or_insert(place));
            if let Some(stands_for) = entries.get_mut(first) {
                stands_for.others.push(of);
                continue;
            }
            let reasons = seen.reasons.iter().cloned().collect();
            entries.push(entry(of, subject, reasons, seen.maybe_sent()));
        }
    }
    Ok(key.map(|key| sheet(PreviewSource::Waiting, entries, key, (order, plan), known.view.clone())))
}

/// What would be told if something happened to a subject now; `None` of one that is not known.
async fn load_subject_sheet(
    order: &PreviewOrder<'_>,
    subject: &SubjectRef,
    plan: &Plan,
    known: &LoadedPerson,
    at: LookupContext<'_>,
) -> anyhow::Result<Option<PreviewSheet>> {
    let state =
        load_subject_states(std::slice::from_ref(subject), at).await?.into_iter().next().unwrap_or_default();
    if state.is_empty() {
        return Ok(None);
    }
    let reasons = reasons(order, subject, &state, known, at).await?;
    let at = EntryKey { occurred: at.now, event: EventKey([0; 16]) };
    let mut view = known.view.clone();
    for reason in &reasons {
        let (reason, subject) = (reason.clone(), subject.clone());
        view.add(&DayRow::Entry(Entry {
            key: at,
            reason,
            subject,
            actor: None,
            kept: model::KeptFields::new(),
        }));
    }
    let thing = WindowEntry { kind: &order.kind.name, subject, actor: None, state: &state };
    let key = thing.window_target(plan).key;
    let entries = vec![entry(at, subject.clone(), reasons, false)];
    Ok(Some(sheet(PreviewSource::Subject, entries, key, (order, plan), view)))
}

/// Why the person would be told of a subject: as they were told of it before, else as the audience would find them. Of
/// what one can follow it is what they do follow, if that is anything.
async fn reasons(
    order: &PreviewOrder<'_>,
    subject: &SubjectRef,
    state: &VersionedState,
    known: &LoadedPerson,
    at: LookupContext<'_>,
) -> anyhow::Result<Vec<EntryReason>> {
    let of_kind = |reason: &&EntryReason| reason.kind == order.kind.name;
    let before = known.view.entries().filter(|(_, entry)| entry.subject() == Some(subject));
    let before = before.map(|(_, entry)| entry.reasons.iter().filter(of_kind).cloned().collect::<Vec<_>>());
    if let Some(reasons) = before.filter(|reasons| !reasons.is_empty()).last() {
        return Ok(reasons);
    }
    let because = order.kind.audience_matches(subject, state, other_person(order, state));
    let follow = |because: &AudienceMatch| match because {
        AudienceMatch::Follows(target) => {
            Some((at.tenant.clone(), order.person.clone(), Crowd::Followers(target.clone())))
        }
        _ => None,
    };
    let asked: Vec<_> = because.iter().filter_map(follow).collect();
    let on = at.store.belongs(&asked).await?;
    // Of one that has no follows each reason stands alone.
    let mut followed = because.iter().zip(on).filter(|(_, on)| *on).map(|(because, _)| because).peekable();
    let because: Vec<AudienceMatch> = match followed.peek() {
        Some(_) => followed.cloned().collect(),
        None => because,
    };
    let reason = |because| EntryReason { kind: order.kind.name.clone(), because };
    Ok(because.into_iter().map(reason).collect())
}

/// The other one of two whom a subject names.
fn other_person(order: &PreviewOrder<'_>, state: &VersionedState) -> Option<Person> {
    let Audience::Mutual(one, other) = &order.kind.to else { return None };
    let named = [one, other].into_iter().filter_map(|field| Person::new(state.text(field)?).ok());
    named.into_iter().find(|named| *named != order.person).or_else(|| Person::new(OTHER.0).ok())
}

/// Example data made from the types of the catalogue; none of it is in the store.
fn example(
    order: &PreviewOrder<'_>,
    plan: &Plan,
    known: &LoadedPerson,
    catalogue: &Catalogue,
    at: LookupContext<'_>,
) -> PreviewSheet {
    let state = |subject: &SubjectRef| catalogue.example(subject.kind());
    let mut world = WorldSnapshot::default();
    let share = world.get_or_insert(at.tenant);
    let mut entries = Vec::new();
    for number in 1..=EXAMPLES {
        let Some(subject) = Catalogue::example_ref(order.kind.subject(), number) else { continue };
        let own = state(&subject);
        let because = order.kind.audience_matches(&subject, &own, Person::new(OTHER.0).ok());
        let reason = |because| EntryReason { kind: order.kind.name.clone(), because };
        let reasons = because.into_iter().map(reason).collect();
        let event = u8::try_from(number).unwrap_or_default();
        let key = EntryKey { occurred: at.now, event: EventKey([event; 16]) };
        for related in catalogue.related_refs(&own) {
            share.subjects.insert(related.clone(), state(&related));
        }
        share.subjects.insert(subject.clone(), own);
        entries.push(entry(key, subject, reasons, false));
    }
    let named = VersionedState::from_values(1, [(profile::NAME, Some(Value::from_text(OTHER.1)))]);
    share.persons.extend(Person::new(OTHER.0).ok().map(|other| (other, named)));
    let sheet = sheet(PreviewSource::Example, entries, "".into(), (order, plan), known.view.clone());
    PreviewSheet { world, ..sheet }
}

/// A sheet of entries of one kind, without the world that they are of: what a message has room for, and how many more.
fn sheet(
    of: PreviewSource,
    mut entries: Vec<ReadyEntry>,
    key: Arc<str>,
    (order, plan): (&PreviewOrder<'_>, &Plan),
    view: DayView,
) -> PreviewSheet {
    let index = plan.section_of(&order.kind.name).unwrap_or_default();
    let most = plan.sections.get(index).map_or(READY_ENTRIES_MAX, |section| usize::from(section.most));
    let over = entries.len().saturating_sub(most);
    entries.truncate(most);
    let section = u16::try_from(index).unwrap_or_default();
    entries.iter_mut().for_each(|entry| entry.section = section);
    let mut more = vec![0; plan.sections.len()];
    if let Some(more) = more.get_mut(index) {
        *more = u16::try_from(over).unwrap_or(u16::MAX);
    }
    PreviewSheet { of, entries, more, key, world: WorldSnapshot::default(), view }
}

fn entry(key: EntryKey, subject: SubjectRef, reasons: Vec<EntryReason>, maybe: bool) -> ReadyEntry {
    ReadyEntry { maybe, ..ReadyEntry::new(key, subject, reasons) }
}

async fn load_subject_states(
    subjects: &[SubjectRef],
    at: LookupContext<'_>,
) -> anyhow::Result<Vec<VersionedState>> {
    let key = |subject: &SubjectRef| StateKey::Subject(at.tenant.clone(), subject.clone());
    let keys: Vec<StateKey> = subjects.iter().map(key).collect();
    at.store.states(&keys).await.context("the subjects")
}
