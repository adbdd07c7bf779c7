//! Asks the store for what a feed is made of, and keeps it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::Context as _;
use catalogue::truth;
use feed_bundles::{FeedBundle, actors::BundleActors};
use model::{
    Day, DayRow, DayView, EntryKey, EntryView, Person, SubjectRef, Tenant, UtcMillis, VersionedState,
    WorldSnapshot, entry::DayKey, fold::fold_rows, limits::ACTORS_SOUGHT_MAX,
};
use room::{
    day_index::{self, DayIndex},
    item_words::{list_named_actors, read_erased_actors},
    saved,
    world::{self, StateAge, WorldQuery},
};
use store::{LATELY, RemovedCell, StateKey, StoreError};
use tokio::task::{spawn_blocking, yield_now};

use crate::{
    config::{LARGE_SHELF, SHELF_AGE_MS},
    decide::{SheetInput, list_asked_subjects, make_sheet},
    deps::Deps,
    facts::{BundleContext, FeedSheet, PersonFacts, TenantPerson},
    shelf::PersonShelf,
    shelf_cache::StaleShelf,
};

/// Whose feed it is.
#[derive(Clone, Copy, Debug)]
pub struct FeedOwner<'a> {
    pub tenant: &'a Tenant,
    pub person: &'a Person,
}

impl FeedOwner<'_> {
    /// The name by which things are remembered of them.
    pub fn key(&self) -> TenantPerson {
        (self.tenant.clone(), self.person.clone())
    }

    /// Where what they saved is kept.
    pub fn saved_key(&self) -> StateKey {
        StateKey::Saved(self.tenant.clone(), self.person.clone())
    }
}

/// A person's feed, and what it was made of.
#[derive(Clone, Debug)]
pub struct LoadedFeed {
    pub facts: PersonFacts,
    pub shelf: Arc<PersonShelf>,
    pub sheet: Arc<FeedSheet>,
}

/// Loads the feed of a person for whoever only shows it.
pub async fn load_shown_feed(
    deps: &Deps,
    owner: FeedOwner<'_>,
    now: UtcMillis,
) -> anyhow::Result<LoadedFeed> {
    let facts = load_shown_facts(deps, owner).await?;
    load_feed_of(deps, owner, facts, (SHELF_AGE_MS, now)).await
}

/// Loads the feed of a person, of days that were read at most so long ago, but for those that changed since.
pub async fn load_feed(
    deps: &Deps,
    owner: FeedOwner<'_>,
    age_ms: i64,
    now: UtcMillis,
) -> anyhow::Result<LoadedFeed> {
    let facts = load_facts(deps, owner).await?;
    load_feed_of(deps, owner, facts, (age_ms, now)).await
}

async fn load_feed_of(
    deps: &Deps,
    owner: FeedOwner<'_>,
    facts: PersonFacts,
    (age_ms, now): (i64, UtcMillis),
) -> anyhow::Result<LoadedFeed> {
    // Their days are removed a little later, and nobody shows them until then.
    let shelf = match facts.is_erased() {
        true => Arc::default(),
        false => load_shelf(deps, owner, &facts, (age_ms, now)).await?,
    };
    let sheet = find_sheet(deps, owner, &facts, &shelf, now).await?;
    Ok(LoadedFeed { facts, shelf, sheet })
}

/// The feed of what is kept: the one that was made last, or a new one.
async fn find_sheet(
    deps: &Deps,
    FeedOwner { tenant, person }: FeedOwner<'_>,
    facts: &PersonFacts,
    shelf: &Arc<PersonShelf>,
    now: UtcMillis,
) -> anyhow::Result<Arc<FeedSheet>> {
    let made_of = facts.fingerprint();
    if let Some(sheet) = shelf.find_sheet(made_of, now) {
        return Ok(sheet);
    }
    let (catalogue, life) = (deps.room.catalogue.clone(), deps.room.store.day_life());
    let (tenant, person, facts, of) = (tenant.clone(), person.clone(), facts.clone(), shelf.clone());
    let make = move || {
        let (catalogue, shelf) = (catalogue.for_person(&person), &*of);
        make_sheet(SheetInput {
            catalogue,
            tenant: &tenant,
            person: &person,
            facts: &facts,
            made_of,
            shelf,
            life,
            now,
        })
    };
    let sheet = match shelf.count_entries() > LARGE_SHELF {
        // It takes milliseconds, in which others want to be answered.
        true => spawn_blocking(make).await.context("a feed is made")?,
        false => make(),
    };
    let sheet = Arc::new(sheet);
    shelf.keep_sheet(sheet.clone());
    Ok(sheet)
}

/// The days of entries that are marked.
#[derive(Debug)]
pub struct MarkedDays {
    pub views: BTreeMap<Day, DayView>,
    /// Whether they are those that are kept, but for the marks.
    pub are_kept: bool,
}

/// Keeps days with the marks that were just written to them, and the feed they make; whether it did. It does not where anything
/// else was heard of the person since `feed` was loaded.
pub async fn keep_marked(
    deps: &Deps,
    owner: FeedOwner<'_>,
    feed: &LoadedFeed,
    (MarkedDays { views, are_kept }, keys, are_copies_new): (MarkedDays, &[EntryKey], bool),
    now: UtcMillis,
) -> anyhow::Result<bool> {
    let LoadedFeed { facts, shelf: before, .. } = feed;
    let saved = match are_copies_new {
        true => Arc::new(read_copies(deps, owner, facts, now).await?),
        false => before.saved.clone(),
    };
    let world = load_asked(deps, owner, views.values(), Some(before)).await?;
    let shelf = Arc::new(match are_kept {
        true => before.with_marked(views, keys, saved, world),
        false => before.with_days(views, saved, world),
    });
    find_sheet(deps, owner, facts, &shelf, now).await?;
    Ok(deps.board.shelves.replace(&owner.key(), before, &shelf))
}

/// What is known of a person as it is stored now.
pub async fn load_facts(deps: &Deps, owner: FeedOwner<'_>) -> anyhow::Result<PersonFacts> {
    load_facts_of_age(deps, owner, StateAge::Now).await
}

/// The same for whoever only shows it: a moment old, unless the log has just said that it is something else.
async fn load_shown_facts(deps: &Deps, owner: FeedOwner<'_>) -> anyhow::Result<PersonFacts> {
    let silence = deps.board.shelves.find_silence(&owner.key());
    let is_silent = silence.is_some_and(|silence| silence > LATELY);
    load_facts_of_age(deps, owner, if is_silent { StateAge::Lately } else { StateAge::Now }).await
}

async fn load_facts_of_age(
    deps: &Deps,
    FeedOwner { tenant, person }: FeedOwner<'_>,
    age: StateAge,
) -> anyhow::Result<PersonFacts> {
    let keys = [StateKey::Person, StateKey::Preferences, StateKey::Notes];
    let keys = keys.map(|key| key(tenant.clone(), person.clone()));
    let states = age.read(&*deps.room.store, &keys).await.context("what is known of a person")?;
    let mut states = states.into_iter();
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
    let whose = owner.key();
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
            let saved = read_copies(deps, owner, facts, now).await?;
            let world = load_asked(deps, owner, views.values().chain([&saved]), Some(&shelf)).await?;
            shelf.with_days(views, Arc::new(saved), world)
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
    let saved = read_copies(deps, owner, facts, now).await?;
    let world = load_asked(deps, owner, views.values().chain([&saved]), None).await?;
    Ok(PersonShelf::new(begun, views, Arc::new(saved), world))
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
    yield_now().await;
    let views = fold_unrevoked(deps, tenant, &rows, now).await?;
    Ok(days.into_iter().zip(views).collect())
}

/// The copies of what the person saved, with what was revoked of them. What nobody can see any more goes.
async fn read_copies(
    deps: &Deps,
    owner @ FeedOwner { tenant, .. }: FeedOwner<'_>,
    facts: &PersonFacts,
    now: UtcMillis,
) -> anyhow::Result<DayView> {
    let held = load_saved(deps, owner).await?;
    if held.is_empty() {
        return Ok(DayView::default());
    }
    let views = fold_unrevoked(deps, tenant, &[saved::read_saved(&held)], now).await?;
    let view = views.into_iter().next().unwrap_or_default();
    let life = deps.room.store.day_life();
    let hidden = saved::list_hidden(&held, &view.clone().settle(&facts.notes, now), life, now);
    if let Err(error) =
        forget_cells(deps, &owner.saved_key(), hidden, saved::list_gone(&held, life, now)).await
    {
        tracing::debug!(%error, "copies of what a person saved are not forgotten yet");
    }
    Ok(view)
}

/// Removes cells, and forgets them and what was removed before. Whatever is newer by now stays.
pub async fn forget_cells(
    deps: &Deps,
    key: &StateKey,
    cells: Vec<RemovedCell>,
    removed: Vec<RemovedCell>,
) -> Result<(), StoreError> {
    if !cells.is_empty() {
        let removal = |(name, version): &RemovedCell| {
            (key.clone(), VersionedState::from_values(*version, [(name, None)]))
        };
        deps.room.store.merge(cells.iter().map(removal).collect()).await?;
    }
    let removed = [removed, cells].concat();
    if removed.is_empty() { Ok(()) } else { deps.room.store.forget_removed(key, &removed).await }
}

/// What is stored of what the person saved.
pub async fn load_saved(deps: &Deps, owner: FeedOwner<'_>) -> anyhow::Result<VersionedState> {
    let states = deps.room.store.states(&[owner.saved_key()]).await.context("what a person saved")?;
    Ok(states.into_iter().next().unwrap_or_default())
}

async fn fold_unrevoked(
    deps: &Deps,
    tenant: &Tenant,
    rows: &[Vec<DayRow>],
    now: UtcMillis,
) -> anyhow::Result<Vec<DayView>> {
    let revoked = world::load_revocations(&*deps.room.store, tenant, rows.iter().flatten())
        .await
        .context("what was revoked")?;
    let is_withdrawn = |key, subject: &SubjectRef| revoked.is_withdrawn(tenant, subject, key);
    Ok(rows.iter().map(|rows| fold_rows(rows).withdraw(is_withdrawn, now)).collect())
}

/// What is known of the subjects on which bundles of these days depend, beside what was known before.
async fn load_asked<'a>(
    deps: &Deps,
    FeedOwner { tenant, person }: FeedOwner<'_>,
    views: impl Iterator<Item = &'a DayView>,
    before: Option<&PersonShelf>,
) -> anyhow::Result<Arc<WorldSnapshot>> {
    let catalogue = deps.room.catalogue.for_person(person);
    let subjects: BTreeSet<_> = views.flat_map(|view| list_asked_subjects(catalogue, view)).collect();
    let known = before.map(|shelf| shelf.world.clone()).unwrap_or_default();
    if subjects.is_empty() {
        return Ok(known);
    }
    let keys: Vec<StateKey> =
        subjects.iter().map(|subject| StateKey::Subject(tenant.clone(), subject.clone())).collect();
    let states = deps.room.store.states(&keys).await.context("the subjects of entries")?;
    let is_known = |(subject, state)| known.state(tenant, subject) == Some(state);
    if subjects.iter().zip(&states).all(is_known) {
        return Ok(known);
    }
    let mut world = Arc::unwrap_or_clone(known);
    world.get_or_insert(tenant).subjects.extend(subjects.into_iter().zip(states));
    Ok(Arc::new(world))
}

/// Loads what is said of entries: words of others, which may be a moment old.
pub async fn load_context(
    deps: &Deps,
    FeedOwner { tenant, person }: FeedOwner<'_>,
    shelf: &PersonShelf,
    leads: impl Iterator<Item = EntryKey>,
    named: &BTreeSet<Person>,
) -> anyhow::Result<BundleContext> {
    let mut wanted = WorldQuery { age: StateAge::Lately, ..WorldQuery::default() };
    for entry in leads.filter_map(|key| shelf.get(key)) {
        want_entry(tenant, entry, &mut wanted);
    }
    let named = named.iter().map(|actor| (tenant.clone(), actor.clone())).collect();
    let catalogue = deps.room.catalogue.for_person(person);
    let refers_to = |state: &VersionedState| catalogue.related_refs(state);
    let store = &*deps.room.store;
    let (world, erased) = tokio::try_join!(
        world::load_world(store, wanted, &refers_to),
        read_erased_actors(store, named, StateAge::Lately)
    )
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

/// Whom bundles may name: in parts those who are listed, else of all who are sought.
pub fn list_named(bundles: &[FeedBundle], in_parts: bool) -> BTreeSet<Person> {
    let of_bundle = |bundle: &FeedBundle| {
        if in_parts {
            return list_named_actors(&BundleActors::from_bundle(bundle).first);
        }
        let newest = bundle.entries().iter().take(ACTORS_SOUGHT_MAX);
        list_named_actors(newest.filter_map(|entry| entry.actor.as_ref()))
    };
    bundles.iter().flat_map(of_bundle).collect()
}
