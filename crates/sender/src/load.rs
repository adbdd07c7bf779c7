//! What a batch of Readys needs to know, read from the store.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use model::{DayRow, Tenant, VersionedState, entry::DayKey, ready::Ready};
use store::world;

use crate::{
    deps::Deps,
    facts::{LoadedBatch, collect_wanted, days_of, facts_by_ready, state_keys},
};

/// The journal, profiles, days, subjects and follows of all Readys of a batch, each read once.
pub(crate) async fn load_batch(deps: &Deps, readys: &[Ready]) -> anyhow::Result<LoadedBatch> {
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
    let rows: BTreeMap<DayKey, Vec<DayRow>> = days.into_iter().zip(rows).collect();
    let states = deps.room.store.states(&state_keys(readys)).await.context("profiles")?;
    let facts = facts_by_ready(readys, states, &rows);
    let refers_to = |state: &VersionedState| deps.room.catalogue.related_refs(state);
    let world = world::load_world(&*deps.room.store, collect_wanted(readys), &refers_to)
        .await
        .context("facts about the messages")?;
    Ok(LoadedBatch { at, journal, facts, world })
}
