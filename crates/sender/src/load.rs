//! What a batch of Readys needs to know, read from the store.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use model::{
    DayRow, Tenant, UtcMillis, VersionedState, entry::DayKey, fold::find_missing_list, person::notes,
    ready::Ready,
};
use room::{
    item_words::{list_named_actors, read_erased_actors},
    world::{self, WorldQuery},
};

use crate::{
    deps::Deps,
    facts::{
        FactsByReady, LoadedBatch, SenderFacts, collect_wanted, days_of, facts_by_ready, state_keys,
        withdraw_revoked,
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
    let days: BTreeSet<DayKey> = readys.iter().flat_map(days_of).collect();
    let days: Vec<DayKey> = days.into_iter().collect();
    let rows = deps.room.store.read(&days, deps.room.now()).await.context("days")?;
    for (key, rows) in days.iter().zip(&rows) {
        if let Some(list) = find_missing_list(rows) {
            bail!("{}: a mark names the list {list}, which is not there", key.day);
        }
    }
    let rows: BTreeMap<DayKey, Vec<DayRow>> = days.into_iter().zip(rows).collect();
    let states = deps.room.store.states(&state_keys(&readys)).await.context("profiles")?;
    let mut facts = facts_by_ready(&readys, states, &rows, deps.room.now());
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

/// Notes in the facts of each Ready whom it may not name any more.
async fn note_erased_actors(deps: &Deps, readys: &[Ready], facts: &mut FactsByReady) -> anyhow::Result<()> {
    let mut named = BTreeSet::new();
    for ready in readys {
        let Some(SenderFacts { view, .. }) = facts.get(&ready.id) else { continue };
        let actors = list_named_actors(ready.keys().filter_map(|key| view.get(key)));
        named.extend(actors.into_iter().map(|actor| (ready.tenant.clone(), actor)));
    }
    let erased = read_erased_actors(&*deps.room.store, named).await.context("the actors")?;
    for ready in readys {
        let of_tenant = erased.iter().filter(|(tenant, _)| *tenant == ready.tenant);
        if let Some(facts) = facts.get_mut(&ready.id) {
            let actors = list_named_actors(ready.keys().filter_map(|key| facts.view.get(key)));
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
