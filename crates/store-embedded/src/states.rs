//! States: a row for each owner with all its cells, so that one look reads it. A merge reads and writes the
//! whole; states are small, and a change nearly always names most of one.

use async_trait::async_trait;
use fjall::{Readable as _, Snapshot};
use model::{
    VersionedState,
    fault::{self, PlantedFault},
};
use store::{RemovedCell, StateKey, StateStore, StoreError, codec};

use super::{
    EmbeddedStore,
    engine::{EmbeddedStoreEngine, StoreTable, map_database_error},
    keys,
    writer::WriteStage,
};

#[async_trait]
impl StateStore for EmbeddedStore {
    async fn merge(&self, mut states: Vec<(StateKey, VersionedState)>) -> Result<(), StoreError> {
        states.retain(|(_, state)| !state.is_empty());
        if states.is_empty() {
            return Ok(());
        }
        let cells = states.iter().map(|(_, state)| state.cells.len()).sum();
        self.writer
            .run(cells, move |stage| {
                for (key, state) in &states {
                    merge_state(stage, key, state)?;
                }
                Ok(())
            })
            .await
    }

    async fn forget_removed(&self, key: &StateKey, removed: &[RemovedCell]) -> Result<(), StoreError> {
        let (key, removed) = (key.clone(), removed.to_vec());
        self.writer.run(removed.len(), move |stage| forget_cells(stage, &key, &removed)).await
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        let mut states = vec![VersionedState::default(); keys.len()];
        let mut asked = Vec::new();
        let mut owner = Vec::with_capacity(64);
        for (at, key) in keys.iter().enumerate() {
            owner.clear();
            keys::push_owner(&mut owner, key);
            let table = state_table(key);
            if table != StoreTable::Notes || self.engine.noted.may_hold(&owner) {
                asked.push((at, table, owner.clone()));
            }
        }
        if asked.is_empty() {
            return Ok(states);
        }
        let look = move |engine: &EmbeddedStoreEngine| {
            let view = engine.snapshot();
            let one =
                |(at, table, owner): (usize, _, Vec<u8>)| Ok((at, read_state(engine, &view, table, &owner)?));
            asked.into_iter().map(one).collect::<Result<Vec<_>, _>>()
        };
        for (at, state) in self.read_engine(keys.len(), look).await? {
            states[at] = state;
        }
        Ok(states)
    }
}

fn state_table(key: &StateKey) -> StoreTable {
    if let StateKey::Notes(..) = key { StoreTable::Notes } else { StoreTable::States }
}

/// Serial in the writer, so nothing comes between the look and the write.
fn merge_state(stage: &mut WriteStage, key: &StateKey, state: &VersionedState) -> Result<(), StoreError> {
    let table = state_table(key);
    let mut owner = Vec::with_capacity(64);
    keys::push_owner(&mut owner, key);
    let mut merged = stage.with_value(table, &owner, codec::decode_state)?.unwrap_or_default();
    let mut changed = false;
    for (name, cell) in &state.cells {
        let wins = merged.cells.get(name).is_none_or(|present| cell.wins_over(present));
        if wins || fault::is_planted(PlantedFault::OlderWins) {
            merged.cells.insert(name.clone(), cell.clone());
            changed = true;
        }
    }
    if !changed {
        return Ok(());
    }
    let value = codec::encode_state(&merged)?;
    if table == StoreTable::Notes {
        stage.note_owner(&owner);
    }
    stage.put(table, owner, value);
    Ok(())
}

fn forget_cells(stage: &mut WriteStage, key: &StateKey, removed: &[RemovedCell]) -> Result<(), StoreError> {
    let (table, mut owner) = (state_table(key), Vec::with_capacity(64));
    keys::push_owner(&mut owner, key);
    let Some(mut state) = stage.with_value(table, &owner, codec::decode_state)? else { return Ok(()) };
    state.cells.retain(|name, cell| {
        cell.value.is_some() || !removed.iter().any(|(of, at)| of == name && *at == cell.version)
    });
    match state.is_empty() {
        true => stage.remove(table, owner),
        false => stage.put(table, owner, codec::encode_state(&state)?),
    }
    Ok(())
}

fn read_state(
    engine: &EmbeddedStoreEngine,
    view: &Snapshot,
    table: StoreTable,
    owner: &[u8],
) -> Result<VersionedState, StoreError> {
    match view.get(engine.table(table), owner) {
        Ok(Some(value)) => codec::decode_state(&value),
        Ok(None) => Ok(VersionedState::default()),
        Err(error) => Err(map_database_error("reading a state", &error)),
    }
}
