//! What a batch of Readys needs to know, read from the store.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use model::{
    DayRow, Tenant, UtcMillis, VersionedState, entry::DayKey, fold::find_missing_list, person::notes,
    ready::Ready,
};
use room::{
    day_index::{self, DayIndex},
    item_words::{list_named_actors, read_erased_actors},
    world::{self, StateAge, WorldQuery},
};
use store::StateKey;

use crate::{
    deps::Deps,
    facts::{
        FactsByReady, LoadedBatch, SenderFacts, collect_wanted, days_of, facts_by_ready, needs_all_days,
        state_keys, withdraw_revoked,
    },
};

/// The journal, profiles, days, subjects and follows of all Readys of a batch, each read once; and the Readys, with all
/// entries that their lists name.
pub(crate) async fn load_batch(deps: &Deps, readys: Vec<Ready>) -> anyhow::Result<(Vec<Ready>, LoadedBatch)> {
    // Whatever is said from here on may be missing.
    let at = deps.room.clock.steady();
    let mut journal = BTreeMap::new();
    let tenants: BTreeSet<&Tenant> = readys.iter().map(|ready| &ready.tenant).collect();
    for tenant in tenants {
        let ids: Vec<_> =
            readys.iter().filter(|ready| ready.tenant == *tenant).map(|ready| ready.id).collect();
        let found = deps.room.store.read_journal(tenant, &ids).await.context("journal")?;
        journal.extend(ids.into_iter().zip(found));
    }
    let states = deps.room.store.states(&state_keys(&readys)).await.context("profiles")?;
    let states = split_by_ready(states);
    let at_now = (deps.room.store.day_life(), deps.room.now());
    let of_ready = readys.iter().zip(&states);
    let days: BTreeSet<DayKey> =
        of_ready.flat_map(|(ready, [_, _, notes])| days_of(ready, notes, at_now)).collect();
    let days: Vec<DayKey> = days.into_iter().collect();
    let rows = deps.room.store.read(&days, at_now.1).await.context("days")?;
    for (key, rows) in days.iter().zip(&rows) {
        if let Some(list) = find_missing_list(rows) {
            bail!("{}: a mark names the list {list}, which is not there", key.day);
        }
    }
    let rows: BTreeMap<DayKey, Vec<DayRow>> = days.into_iter().zip(rows).collect();
    note_read_days(deps, &readys, &states, (&rows, at_now.1)).await;
    let mut facts = facts_by_ready(&readys, states, &rows, at_now);
    let mut wanted = WorldQuery::default();
    let mut whole = Vec::new();
    for ready in readys {
        let Some(of) = facts.get(&ready.id) else { continue };
        let ready = with_lists(ready, of, deps.room.now())?;
        collect_wanted(&ready, &of.view, &mut wanted);
        whole.push(ready);
    }
    note_erased_actors(deps, &whole, &mut facts).await?;
    let refers_to = |state: &VersionedState| deps.room.catalogue.related_refs(state);
    let world =
        world::load_world(&*deps.room.store, wanted, &refers_to).await.context("facts about the messages")?;
    withdraw_revoked(&whole, &mut facts, &world, deps.room.now());
    Ok((whole, LoadedBatch { at, journal, facts, world }))
}

/// Notes of each person whose days were all read which of them have entries.
async fn note_read_days(
    deps: &Deps,
    readys: &[Ready],
    states: &[[VersionedState; 3]],
    (rows, now): (&BTreeMap<DayKey, Vec<DayRow>>, UtcMillis),
) {
    let counted = readys.iter().zip(states).filter(|(ready, _)| needs_all_days(ready));
    let notes = counted.filter_map(|(Ready { tenant, person, .. }, [_, _, notes])| {
        let is_of = |key: &DayKey| (&key.tenant, &key.person) == (tenant, person);
        let found = rows.iter().filter(|(key, rows)| is_of(key) && !rows.is_empty()).map(|(key, _)| key.day);
        let note = DayIndex::from_notes(notes).note_read(found, now)?;
        Some((StateKey::Notes(tenant.clone(), person.clone()), note))
    });
    day_index::write_notes(&*deps.room.store, notes.collect()).await;
}

/// The three that are asked of each Ready.
fn split_by_ready(states: Vec<VersionedState>) -> Vec<[VersionedState; 3]> {
    let mut states = states.into_iter();
    std::iter::from_fn(|| Some([states.next()?, states.next()?, states.next()?])).collect()
}

/// Notes in the facts of each Ready whom it may not name any more.
async fn note_erased_actors(deps: &Deps, readys: &[Ready], facts: &mut FactsByReady) -> anyhow::Result<()> {
    let mut named = BTreeSet::new();
    for ready in readys {
        let Some(SenderFacts { view, .. }) = facts.get(&ready.id) else { continue };
        let actors = list_named_actors(ready.keys().filter_map(|key| view.get(key)?.actor()));
        named.extend(actors.into_iter().map(|actor| (ready.tenant.clone(), actor)));
    }
    let erased = read_erased_actors(&*deps.room.store, named, StateAge::Now).await.context("the actors")?;
    for ready in readys {
        let of_tenant = erased.iter().filter(|(tenant, _)| *tenant == ready.tenant);
        if let Some(facts) = facts.get_mut(&ready.id) {
            let actors = list_named_actors(ready.keys().filter_map(|key| facts.view.get(key)?.actor()));
            facts.erased =
                of_tenant.map(|(_, who)| who).filter(|who| actors.contains(*who)).cloned().collect();
        }
    }
    Ok(())
}

/// A Ready with all that its lists name. Without them nobody could say what it tells: they are gone only where it is not told.
fn with_lists(ready: Ready, facts: &SenderFacts, now: UtcMillis) -> anyhow::Result<Ready> {
    let id = ready.id;
    match ready.clone().with_lists(&facts.view) {
        Ok(whole) => Ok(whole),
        Err(_) if facts.notes.flag(notes::ERASED) || now >= ready.expires => Ok(ready),
        Err(list) => bail!("the list {list} of {id} is not there"),
    }
}
