//! What is read from the store to decide a turn: who is in a crowd, where they are, and the states of persons and subjects.

use anyhow::{Context as _, ensure};
use futures::future;
use model::{
    Crowd, CrowdEnrolment, Event, GeoPoint, Person, Slice, Tenant, UtcMillis, VersionedState,
    person::profile, place,
};
use runtime::retry::retry_while;
use store::{StateKey, StoreError};
use topic::RecordBatch;
use wire::{replay::ReplayStamp, topics};

use crate::{
    apply,
    config::{BUSY_TRIES_MAX, FAR_MS, PROFILES_AT_ONCE},
    decide,
    deps::Deps,
    facts::{PersonWhereabouts, SubjectStates, unstated_subjects},
    read::FanoutItem,
    recipient_sheet::{RecipientSheet, ResolvedSheet},
    search::CrowdSearch,
    whereabouts,
};

/// The time. A clock that has run ahead would have living days expire, so one that is far from what it reads is
/// believed only if the log goes on to about there; else the newest record in hand says what time it is. Where the
/// house was away for so long, an expired event is then told to days that nobody reads any more.
pub(crate) async fn load_trusted_time(deps: &Deps, batch: &RecordBatch) -> anyhow::Result<UtcMillis> {
    let now = deps.room.clock.now();
    let newest = batch.records.iter().map(|record| record.appended).max().unwrap_or(now);
    if now - newest < FAR_MS {
        return Ok(UtcMillis(now));
    }
    let since = deps.room.topics.since(topics::EVENTS, now - FAR_MS).await.context("the log's time")?;
    let bounds = deps.room.topics.bounds(topics::EVENTS).await.context("the log's ends")?;
    if since.iter().zip(&bounds).any(|(since, (_, end))| since < end) {
        return Ok(UtcMillis(now));
    }
    let (clock, newest) = (UtcMillis(now), UtcMillis(newest));
    tracing::warn!(%clock, %newest, "nothing in the log is near this machine's clock: the log's time is taken");
    Ok(newest)
}

/// What is known of the subjects of these events, where it is needed.
pub(crate) async fn load_subjects(
    deps: &Deps,
    events: &[FanoutItem<Event>],
) -> anyhow::Result<SubjectStates> {
    let unstated = unstated_subjects(events, &deps.room.catalogue);
    let states = load_states(deps, &unstated).await.context("states of subjects")?;
    Ok(SubjectStates::new(unstated, states))
}

/// What comes of a sheet, by what the house notes of its persons.
pub(crate) async fn resolve_sheet(deps: &Deps, mut sheet: RecipientSheet) -> anyhow::Result<ResolvedSheet> {
    let notes = load_states(deps, &sheet.notes()).await.context("notes of persons")?;
    Ok(sheet.resolve(&notes, deps.room.partitions))
}

/// Finds more of a slice, for at most so many rows. Returns for how many there was somebody.
pub(crate) async fn find_members(
    deps: &Deps,
    search: &mut CrowdSearch,
    again: Option<&ReplayStamp>,
    most: usize,
    sheet: &mut RecipientSheet,
    enough: impl Fn(&CrowdSearch) -> bool + Send + Sync,
) -> anyhow::Result<usize> {
    let mut found = 0;
    while found < most
        && !enough(search)
        && let Some(ask) = search.next_query(most - found)
    {
        let (store, tenant, share) = (&deps.room.store, &search.slice().event.tenant, ask.share);
        let mut asked = Vec::with_capacity(ask.crowds.len());
        for crowd in ask.crowds {
            // A search asks hundreds of crowds, and would hardly ever come through if one busy answer began it anew.
            let ask_once = || store.members(tenant, crowd, ask.from, share);
            asked.push(retry_while(BUSY_TRIES_MAX, is_busy, ask_once));
        }
        let answers = future::try_join_all(asked).await.context("crowds")?;
        for (crowd, persons) in search.take_members(answers, share) {
            found += persons.len() * search.rows_each();
            add_members(deps, search.slice(), again, &crowd, persons, sheet).await?;
        }
    }
    Ok(found)
}

/// Puts those members of a crowd on the sheet who are told under a slice's kinds.
async fn add_members(
    deps: &Deps,
    slice: &Slice,
    again: Option<&ReplayStamp>,
    crowd: &Crowd,
    mut persons: Vec<Person>,
    sheet: &mut RecipientSheet,
) -> anyhow::Result<()> {
    if again.is_some() {
        persons = members_at_event(deps, &slice.event, crowd, persons)
            .await
            .context("members at the time of the event")?;
    }
    let places: Vec<Option<GeoPoint>> = match crowd {
        Crowd::Cell(cell) => {
            let tenant = &slice.event.tenant;
            let places = load_places(deps, tenant, &persons).await.context("places of persons")?;
            let left = load_left_enrolments(deps, tenant, *cell, &persons, &places);
            apply::end_enrolments(deps, left.await.context("persons that left a cell")?)
                .await
                .context("persons that left a cell")?;
            places.iter().map(PersonWhereabouts::place).collect()
        }
        Crowd::Followers(_) | Crowd::Everyone => Vec::new(),
    };
    let (found, catalogue) = ((&*persons, &*places), &deps.room.catalogue);
    let elsewhere = decide::decide_members(slice, again, crowd, found, sheet, catalogue);
    deps.metrics.count_elsewhere(elsewhere);
    Ok(())
}

/// Where these persons are now.
async fn load_places(
    deps: &Deps,
    tenant: &Tenant,
    persons: &[Person],
) -> anyhow::Result<Vec<PersonWhereabouts>> {
    load_profiles(deps, tenant, persons, PersonWhereabouts::from_profile).await
}

/// The ends of the enrolments of those who moved away from a cell and did not leave it: their intake died in between, or
/// two moves met. They would be asked for at each event.
async fn load_left_enrolments(
    deps: &Deps,
    tenant: &Tenant,
    cell: place::GlobeCell,
    persons: &[Person],
    places: &[PersonWhereabouts],
) -> anyhow::Result<Vec<CrowdEnrolment>> {
    let gone: Vec<(Person, &PersonWhereabouts)> =
        whereabouts::find_elsewhere(cell, persons, places).collect();
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<Person> = gone.iter().map(|(person, _)| person.clone()).collect();
    let since = load_enrolments(deps, tenant, &Crowd::Cell(cell), &names).await?;
    Ok(whereabouts::end_enrolments(tenant, cell, gone.into_iter().zip(since)))
}

/// Something of the profiles of these persons.
async fn load_profiles<T>(
    deps: &Deps,
    tenant: &Tenant,
    persons: &[Person],
    of: impl Fn(&VersionedState) -> T + Send + Sync,
) -> anyhow::Result<Vec<T>> {
    let mut all = Vec::with_capacity(persons.len());
    for some in persons.chunks(PROFILES_AT_ONCE) {
        let key = |person: &Person| StateKey::Person(tenant.clone(), person.clone());
        let keys: Vec<StateKey> = some.iter().map(key).collect();
        all.extend(load_states(deps, &keys).await?.iter().map(&of));
    }
    Ok(all)
}

/// Those of a crowd who were in it when an event occurred that is there once more: who came later is not
/// told old news.
async fn members_at_event(
    deps: &Deps,
    event: &Event,
    crowd: &Crowd,
    persons: Vec<Person>,
) -> anyhow::Result<Vec<Person>> {
    let since = match crowd {
        Crowd::Followers(_) => load_enrolments(deps, &event.tenant, crowd, &persons).await?,
        Crowd::Cell(_) => {
            let moved = |profile: &VersionedState| Some(profile::find_place(profile)?.since);
            load_profiles(deps, &event.tenant, &persons, moved).await?
        }
        // Each new word of a profile enrols anew; the oldest one that still stands is when they were there.
        Crowd::Everyone => {
            let first = |profile: &VersionedState| profile.cells.values().map(|cell| cell.version).min();
            load_profiles(deps, &event.tenant, &persons, first).await?
        }
    };
    let all = persons.len();
    let was = |since: Option<i64>| since.is_some_and(|since| since <= event.occurred.0);
    let of_then: Vec<Person> =
        persons.into_iter().zip(since).filter(|(_, since)| was(*since)).map(|(person, _)| person).collect();
    deps.metrics.count_latecomers(all - of_then.len());
    Ok(of_then)
}

/// By which versions these persons are in a crowd.
async fn load_enrolments(
    deps: &Deps,
    tenant: &Tenant,
    crowd: &Crowd,
    persons: &[Person],
) -> anyhow::Result<Vec<Option<i64>>> {
    let of: Vec<_> = persons.iter().map(|person| (tenant.clone(), person.clone(), crowd.clone())).collect();
    let since = deps.room.store.enrolled_since(&of).await?;
    ensure!(since.len() == of.len(), "{} answers instead of {}", since.len(), of.len());
    Ok(since)
}

/// The states of all of these: if one were missing, somebody would be taken for somebody else.
async fn load_states(deps: &Deps, keys: &[StateKey]) -> anyhow::Result<Vec<VersionedState>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let states = deps.room.store.states(keys).await?;
    ensure!(states.len() == keys.len(), "{} states instead of {}", states.len(), keys.len());
    Ok(states)
}

fn is_busy(error: &StoreError) -> bool {
    matches!(error, StoreError::Busy(_))
}
