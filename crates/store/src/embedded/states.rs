//! States: a row for each owner with all its cells, so that one look reads it. A merge reads and writes the
//! whole; states are small, and a change nearly always names most of one.

use async_trait::async_trait;
use fjall::{Readable as _, Snapshot};
use model::{
    State,
    fault::{self, Fault},
};

use super::{
    Embedded,
    engine::{Engine, Table, failed},
    keys,
    writer::Stage,
};
use crate::{
    codec,
    port::{StateKey, States, StoreError},
};

#[async_trait]
impl States for Embedded {
    async fn merge(&self, mut states: Vec<(StateKey, State)>) -> Result<(), StoreError> {
        states.retain(|(_, state)| !state.is_empty());
        if states.is_empty() {
            return Ok(());
        }
        let cells = states.iter().map(|(_, state)| state.cells.len()).sum();
        self.writer
            .run(cells, move |stage| {
                for (key, state) in &states {
                    merge_one(stage, key, state)?;
                }
                Ok(())
            })
            .await
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<State>, StoreError> {
        let mut states = vec![State::default(); keys.len()];
        let mut asked = Vec::new();
        let mut owner = Vec::with_capacity(64);
        for (at, key) in keys.iter().enumerate() {
            owner.clear();
            keys::push_owner(&mut owner, key);
            let table = table_of(key);
            if table != Table::Notes || self.engine.noted.may_hold(&owner) {
                asked.push((at, table, owner.clone()));
            }
        }
        if asked.is_empty() {
            return Ok(states);
        }
        let look = move |engine: &Engine| {
            let view = engine.view();
            let one =
                |(at, table, owner): (usize, _, Vec<u8>)| Ok((at, state_of(engine, &view, table, &owner)?));
            asked.into_iter().map(one).collect::<Result<Vec<_>, _>>()
        };
        for (at, state) in self.look(keys.len(), look).await? {
            states[at] = state;
        }
        Ok(states)
    }
}

fn table_of(key: &StateKey) -> Table {
    match key {
        StateKey::Subject(..) | StateKey::Person(..) | StateKey::Mutes(..) => Table::States,
        StateKey::Notes(..) => Table::Notes,
    }
}

/// Serial in the writer, so nothing comes between the look and the write.
fn merge_one(stage: &mut Stage, key: &StateKey, state: &State) -> Result<(), StoreError> {
    let table = table_of(key);
    let mut owner = Vec::with_capacity(64);
    keys::push_owner(&mut owner, key);
    let mut merged = stage.with(table, &owner, codec::state_back)?.unwrap_or_default();
    let mut changed = false;
    for (name, cell) in &state.cells {
        let wins = merged.cells.get(name).is_none_or(|present| cell.wins_over(present));
        if wins || fault::planted(Fault::OlderWins) {
            merged.cells.insert(name.clone(), cell.clone());
            changed = true;
        }
    }
    if !changed {
        return Ok(());
    }
    let value = codec::state(&merged)?;
    if table == Table::Notes {
        stage.noted(&owner);
    }
    stage.put(table, owner, value);
    Ok(())
}

fn state_of(engine: &Engine, view: &Snapshot, table: Table, owner: &[u8]) -> Result<State, StoreError> {
    match view.get(engine.table(table), owner) {
        Ok(Some(value)) => codec::state_back(&value),
        Ok(None) => Ok(State::default()),
        Err(error) => Err(failed("reading a state", &error)),
    }
}
