//! What a turn is decided by, read from the store. A read that fails fails the turn: it never counts as empty.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use catalogue::Catalogue;
use live::PERSONS_AT_ONCE;
use model::{
    Day, DayRow, Person, Tenant, UtcMillis, VersionedState, WorldSnapshot, entry::DayKey,
    fold::find_missing_list, limits::TURN_ROWS_MAX,
};
use room::world;
use store::{StateKey, Store, StoreError};

use crate::{
    connection_need::connection_matters,
    deps::Deps,
    facts::{DigestFacts, DigestPersonStates, closing_windows, collect_wanted, day_key, days_to_read},
    memory::{PartitionMemory, PersonKey, PersonRecords},
    profile_need,
    read::PersonNews,
};

/// Days that are asked of the store at once, or all those of one person.
const DAYS_AT_ONCE: usize = 64;

/// Loads what the decision looks at, and leaves as many due as a turn has room for.
pub(crate) async fn load_facts(
    deps: &Deps,
    memory: &PartitionMemory,
    news: &BTreeMap<PersonKey, Vec<PersonNews>>,
    due: &mut Vec<PersonKey>,
    (now, closing): (UtcMillis, UtcMillis),
) -> anyhow::Result<DigestFacts> {
    let acknowledged = memory.acknowledged.iter().map(|(key, _)| key);
    let records = memory.records(news.keys().chain(&*due).chain(acknowledged))?;
    let place = (&*deps.room.store, &*deps.room.catalogue);
    let days = read_days(place, &records, due, (now, closing)).await.context("days")?;
    check_lists(&days)?;
    let asked = news.iter().filter(|(key, news)| {
        profile_need::needs_profile(news, records.get(*key), deps.room.catalogue.for_person(&key.1))
    });
    let persons: BTreeSet<&PersonKey> = asked.map(|(key, _)| key).chain(&*due).collect();
    let known = load_person_states(place.0, &persons, due, place.1).await.context("persons")?;
    let world = load_world(place, &records, &days, due, closing).await.context("facts about the entries")?;
    let live = load_connections(deps, &records, due, (now, closing)).await;
    Ok(DigestFacts { records, known, days, world, live })
}

/// What a mark covers is not known without its list, and told again would be told twice.
fn check_lists(days: &BTreeMap<DayKey, Vec<DayRow>>) -> anyhow::Result<()> {
    for (key, rows) in days {
        if let Some(list) = find_missing_list(rows) {
            bail!("{}: a mark names the list {list}, which is not there", key.day);
        }
    }
    Ok(())
}

/// The facts about the entries of days that are told; a day that is only looked back on tells nothing.
pub(crate) async fn load_world(
    (store, catalogue): (&dyn Store, &Catalogue),
    records: &PersonRecords,
    days: &BTreeMap<DayKey, Vec<DayRow>>,
    due: &[PersonKey],
    closing: UtcMillis,
) -> Result<WorldSnapshot, StoreError> {
    let told = due.iter().flat_map(|key| {
        let plans = &catalogue.for_person(&key.1).plans;
        let days = closing_windows(records, key, closing, plans).flat_map(|window| &window.days);
        days.map(|day| day_key(key, *day))
    });
    let told: BTreeSet<DayKey> = told.collect();
    let refers_to = |state: &VersionedState| catalogue.related_refs(state);
    let wanted = collect_wanted(days.iter().filter(|(key, _)| told.contains(*key)));
    world::load_world(store, wanted, &refers_to).await
}

/// Asks about those to whom it matters. Nobody's answer is waited for longer than the port waits, and none is none.
async fn load_connections(
    deps: &Deps,
    records: &PersonRecords,
    due: &[PersonKey],
    (now, closing): (UtcMillis, UtcMillis),
) -> BTreeMap<PersonKey, bool> {
    let matters = |key: &&PersonKey| {
        let plans = &deps.room.catalogue.for_person(&key.1).plans;
        records.get(*key).is_some_and(|record| connection_matters(record, plans, closing, now))
    };
    let mut of: BTreeMap<&Tenant, Vec<Person>> = BTreeMap::new();
    for (tenant, person) in due.iter().filter(matters) {
        of.entry(tenant).or_default().push(person.clone());
    }
    let mut live = BTreeMap::new();
    for (tenant, persons) in of {
        for some in persons.chunks(PERSONS_AT_ONCE) {
            match deps.live.find_connected(tenant, some).await {
                Ok(connected) => live
                    .extend(some.iter().map(|one| ((tenant.clone(), one.clone()), connected.contains(one)))),
                Err(error) => tracing::debug!(error = format!("{error:#}"), "it is unknown who is connected"),
            }
        }
    }
    live
}

/// Reads the days of those who are due, the longest overdue first, until a turn holds as many rows as it may.
/// Who is taken off the list is still due in memory, and the loop comes again at once.
pub(crate) async fn read_days(
    (store, catalogue): (&dyn Store, &Catalogue),
    records: &PersonRecords,
    due: &mut Vec<PersonKey>,
    (now, closing): (UtcMillis, UtcMillis),
) -> Result<BTreeMap<DayKey, Vec<DayRow>>, StoreError> {
    let mut days = BTreeMap::new();
    let (mut persons, mut held) = (0, 0);
    while persons < due.len() && held < TURN_ROWS_MAX {
        let mut keys: Vec<DayKey> = Vec::new();
        for key in &due[persons..] {
            if keys.len() >= DAYS_AT_ONCE {
                break;
            }
            let plans = &catalogue.for_person(&key.1).plans;
            let windows = closing_windows(records, key, closing, plans);
            let own: BTreeSet<Day> = windows.flat_map(|window| days_to_read(window, plans, now)).collect();
            keys.extend(own.into_iter().map(|day| day_key(key, day)));
            persons += 1;
        }
        let rows = store.read(&keys, now).await?;
        held += rows.iter().map(Vec::len).sum::<usize>();
        days.extend(keys.into_iter().zip(rows));
    }
    due.truncate(persons);
    Ok(days)
}

/// What is known of persons, in one batch: of all of these their profiles, of those who are due the rest too, and of all what they
/// chose where that may decide by which plan they are told.
pub(crate) async fn load_person_states(
    store: &dyn Store,
    persons: &BTreeSet<&PersonKey>,
    due: &[PersonKey],
    catalogue: &Catalogue,
) -> Result<BTreeMap<PersonKey, DigestPersonStates>, StoreError> {
    let profiles = persons.iter().map(|key| StateKey::Person(key.0.clone(), key.1.clone()));
    let may_choose = catalogue.arms().any(|(_, of)| of.offers_digests());
    let choosing: BTreeSet<&PersonKey> = persons.iter().copied().filter(|_| may_choose).chain(due).collect();
    let preferences = choosing.into_iter().map(|key| StateKey::Preferences(key.0.clone(), key.1.clone()));
    let notes = due.iter().map(|key| StateKey::Notes(key.0.clone(), key.1.clone()));
    let keys: Vec<StateKey> = profiles.chain(preferences).chain(notes).collect();
    let states = store.states(&keys).await?;
    let mut known: BTreeMap<PersonKey, DigestPersonStates> = BTreeMap::new();
    for (key, state) in keys.into_iter().zip(states) {
        match key {
            StateKey::Person(tenant, person) => known.entry((tenant, person)).or_default().profile = state,
            StateKey::Preferences(tenant, person) => {
                known.entry((tenant, person)).or_default().preferences = state;
            }
            StateKey::Notes(tenant, person) => known.entry((tenant, person)).or_default().notes = state,
            StateKey::Subject(..) | StateKey::Saved(..) | StateKey::Streams(..) => {}
        }
    }
    Ok(known)
}
