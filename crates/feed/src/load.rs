//! Asks the store for what a feed is made of, and keeps it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::Context as _;
use catalogue::truth;
use feed_bundles::FeedBundle;
use model::{
    Day, DayView, EntryKey, EntryView, Person, SubjectRef, Tenant, UtcMillis, VersionedState, WorldSnapshot,
    entry::DayKey, fold::fold_rows,
};
use room::{
    day_index::{self, DayIndex},
    item_words::{list_named_actors, read_erased_actors},
    world::{self, WorldQuery},
};
use store::StateKey;

use crate::{
    config::SHELF_AGE_MS,
    decide::{SheetInput, list_asked_subjects, make_sheet},
    deps::Deps,
    facts::{FeedSheet, PersonFacts},
    shelf::PersonShelf,
    shelf_cache::StaleShelf,
};

/// Whose feed it is.
#[derive(Clone, Copy, Debug)]
pub struct FeedOwner<'a> {
    pub tenant: &'a Tenant,
    pub person: &'a Person,
}

/// A person's feed, and what it was made of.
#[derive(Clone, Debug)]
pub struct LoadedFeed {
    pub facts: PersonFacts,
    pub shelf: Arc<PersonShelf>,
    pub sheet: Arc<FeedSheet>,
}

/// Loads the feed of a person as it is now.
pub async fn load_feed(deps: &Deps, owner: FeedOwner<'_>, now: UtcMillis) -> anyhow::Result<LoadedFeed> {
    load_feed_of_age(deps, owner, SHELF_AGE_MS, now).await
}

/// The same of what was read at most so long ago, but for days that changed since.
pub async fn load_feed_of_age(
    deps: &Deps,
    owner: FeedOwner<'_>,
    age_ms: i64,
    now: UtcMillis,
) -> anyhow::Result<LoadedFeed> {
    let facts = load_facts(deps, owner).await?;
    let shelf = load_shelf(deps, owner, &facts, (age_ms, now)).await?;
    let made_of = facts.fingerprint();
    if let Some(sheet) = shelf.find_sheet(made_of, now) {
        return Ok(LoadedFeed { facts, shelf, sheet });
    }
    let FeedOwner { tenant, person } = owner;
    let (catalogue, life) = (deps.room.catalogue.for_person(person), deps.room.store.day_life());
    let input = SheetInput { catalogue, tenant, person, facts: &facts, made_of, shelf: &shelf, life, now };
    let sheet = Arc::new(make_sheet(input));
    shelf.keep_sheet(sheet.clone());
    Ok(LoadedFeed { facts, shelf, sheet })
}

async fn load_facts(deps: &Deps, FeedOwner { tenant, person }: FeedOwner<'_>) -> anyhow::Result<PersonFacts> {
    let keys = [StateKey::Person, StateKey::Preferences, StateKey::Notes];
    let keys = keys.map(|key| key(tenant.clone(), person.clone()));
    let mut states = deps.room.store.states(&keys).await.context("what is known of a person")?.into_iter();
    let mut next = || states.next().unwrap_or_default();
    Ok(PersonFacts { profile: next(), preferences: next(), notes: next() })
}

/// What is kept of a person, with what changed read anew; or all of their days that live.
async fn load_shelf(
    deps: &Deps,
    owner: FeedOwner<'_>,
    facts: &PersonFacts,
    (age_ms, now): (i64, UtcMillis),
) -> anyhow::Result<Arc<PersonShelf>> {
    let whose = (owner.tenant.clone(), owner.person.clone());
    let (shelves, begun) = (&deps.board.shelves, deps.room.clock.steady());
    let oldest = begun - age_ms;
    if let Some(shelf) = shelves.find(&whose, oldest) {
        deps.metrics.count_shelf("kept");
        return Ok(shelf);
    }
    let partition = deps.room.partitions.of_person(owner.tenant, owner.person);
    let Some(right) = shelves.find_right(&whose, partition) else {
        deps.metrics.count_shelf("unkept");
        return read_whole_shelf(deps, owner, facts, (begun, now)).await.map(Arc::new);
    };
    let _reading = right.lock().await;
    // Somebody else may have read it while this one waited.
    if let Some(shelf) = shelves.find(&whose, oldest) {
        deps.metrics.count_shelf("kept");
        return Ok(shelf);
    }
    let stale = shelves.begin_reading(&whose, &right, oldest);
    let shelf = match stale {
        Some(StaleShelf { shelf: Some(shelf), days }) => {
            deps.metrics.count_shelf("renewed");
            let views = read_days(deps, owner, days, now).await?;
            let world = load_asked(deps, owner, &views, Some(&shelf)).await?;
            shelf.with_days(views, world)
        }
        Some(StaleShelf { shelf: None, .. }) | None => {
            deps.metrics.count_shelf("read");
            read_whole_shelf(deps, owner, facts, (begun, now)).await?
        }
    };
    let shelf = Arc::new(shelf);
    shelves.keep(&whose, &right, &shelf);
    Ok(shelf)
}

async fn read_whole_shelf(
    deps: &Deps,
    owner: FeedOwner<'_>,
    facts: &PersonFacts,
    (begun, now): (i64, UtcMillis),
) -> anyhow::Result<PersonShelf> {
    // Those of the facts are older than what the log is heard of: a late day that was noted since would be missed.
    let key = StateKey::Notes(owner.tenant.clone(), owner.person.clone());
    let notes = deps.room.store.states(std::slice::from_ref(&key)).await.context("the notes of a person")?;
    let index = DayIndex::from_notes(&notes.into_iter().next().unwrap_or_default());
    let days = index.days_to_read(deps.room.store.day_life(), now);
    let views = read_days(deps, owner, days, now).await?;
    let found: Vec<Day> = views.iter().filter(|(_, view)| !view.is_empty()).map(|(day, _)| *day).collect();
    // Of names that somebody made up nothing is noted.
    if !found.is_empty() || !facts.profile.is_empty() {
        let notes = index.note_read(found, now).map(|note| (key, note));
        day_index::write_notes(&*deps.room.store, notes.into_iter().collect()).await;
    }
    let world = load_asked(deps, owner, &views, None).await?;
    let days = views.into_iter().filter(|(_, view)| !view.is_empty());
    Ok(PersonShelf::new(begun, days.map(|(day, view)| (day, Arc::new(view))).collect(), world))
}

/// These days as their rows say, with what was revoked of them, without the house's notes.
pub async fn read_days(
    deps: &Deps,
    FeedOwner { tenant, person }: FeedOwner<'_>,
    days: BTreeSet<Day>,
    now: UtcMillis,
) -> anyhow::Result<BTreeMap<Day, DayView>> {
    if days.is_empty() {
        return Ok(BTreeMap::new());
    }
    let key = |day: &Day| DayKey { tenant: tenant.clone(), person: person.clone(), day: *day };
    let keys: Vec<DayKey> = days.iter().map(key).collect();
    deps.metrics.count_days(keys.len());
    let rows = deps.room.store.read(&keys, now).await.context("the days of a person")?;
    let revoked = world::load_revocations(&*deps.room.store, tenant, rows.iter().flatten())
        .await
        .context("what was revoked")?;
    let is_withdrawn = |key, subject: &SubjectRef| revoked.is_withdrawn(tenant, subject, key);
    let fold = |rows| fold_rows(rows).withdraw(is_withdrawn, now);
    Ok(days.into_iter().zip(&rows).map(|(day, rows)| (day, fold(rows))).collect())
}

/// What is known of the subjects on which bundles of these days depend, beside what was known before.
async fn load_asked(
    deps: &Deps,
    FeedOwner { tenant, person }: FeedOwner<'_>,
    views: &BTreeMap<Day, DayView>,
    before: Option<&PersonShelf>,
) -> anyhow::Result<Arc<WorldSnapshot>> {
    let catalogue = deps.room.catalogue.for_person(person);
    let subjects: BTreeSet<_> =
        views.values().flat_map(|view| list_asked_subjects(catalogue, view)).collect();
    let known = before.map(|shelf| shelf.world.clone()).unwrap_or_default();
    if subjects.is_empty() {
        return Ok(known);
    }
    let keys: Vec<StateKey> =
        subjects.iter().map(|subject| StateKey::Subject(tenant.clone(), subject.clone())).collect();
    let states = deps.room.store.states(&keys).await.context("the subjects of entries")?;
    let mut world = Arc::unwrap_or_clone(known);
    world.get_or_insert(tenant).subjects.extend(subjects.into_iter().zip(states));
    Ok(Arc::new(world))
}

/// What bundles are told with: what is known of what they speak of, and who is not named any more.
#[derive(Debug, Default)]
pub struct BundleContext {
    pub world: WorldSnapshot,
    pub erased: BTreeSet<Person>,
}

/// Loads what is said of entries.
pub async fn load_context(
    deps: &Deps,
    FeedOwner { tenant, person }: FeedOwner<'_>,
    shelf: &PersonShelf,
    leads: impl Iterator<Item = EntryKey>,
    told: impl Iterator<Item = EntryKey>,
) -> anyhow::Result<BundleContext> {
    let mut wanted = WorldQuery::default();
    for entry in leads.filter_map(|key| shelf.get(key)) {
        want_entry(tenant, entry, &mut wanted);
    }
    let named = list_named_actors(told.filter_map(|key| shelf.get(key)));
    let named = named.into_iter().map(|actor| (tenant.clone(), actor)).collect();
    let catalogue = deps.room.catalogue.for_person(person);
    let refers_to = |state: &VersionedState| catalogue.related_refs(state);
    let store = &*deps.room.store;
    let (world, erased) =
        tokio::try_join!(world::load_world(store, wanted, &refers_to), read_erased_actors(store, named))
            .context("what entries speak of")?;
    Ok(BundleContext { world, erased: erased.into_iter().map(|(_, who)| who).collect() })
}

/// The subject, and whom and what the reasons name.
fn want_entry(tenant: &Tenant, entry: &EntryView, wanted: &mut WorldQuery) {
    let (follows, persons) = truth::list_needs(&entry.reasons);
    let subjects = entry.subject().into_iter().cloned().chain(follows);
    wanted.subjects.extend(subjects.map(|subject| (tenant.clone(), subject)));
    wanted.persons.extend(persons.into_iter().map(|person| (tenant.clone(), person)));
}

/// The entries of bundles of which somebody is sought who did them.
pub fn list_told(bundles: &[FeedBundle]) -> impl Iterator<Item = EntryKey> + '_ {
    let newest = |bundle: &'_ FeedBundle| bundle.entries().len().min(model::limits::ACTORS_SOUGHT_MAX);
    bundles.iter().flat_map(move |bundle| bundle.entries()[..newest(bundle)].iter().map(|entry| entry.key))
}
