//! States: a row for each cell, so that a merge reads and writes only what it names.

use std::sync::Arc;

use async_trait::async_trait;
use fjall::{Readable as _, Snapshot};
use model::{
    Cell, State,
    fault::{self, Fault},
};

use super::{
    Embedded, codec,
    engine::{Engine, Table, failed},
    keys,
    writer::Stage,
};
use crate::port::{StateKey, States, StoreError};

#[async_trait]
impl States for Embedded {
    async fn merge(&self, states: Vec<(StateKey, State)>) -> Result<(), StoreError> {
        let cells = states.iter().map(|(_, state)| state.cells.len()).sum();
        if cells == 0 {
            return Ok(());
        }
        self.writer
            .run(cells, move |stage| {
                for (key, state) in &states {
                    let owner = keys::owner(key);
                    for (name, cell) in &state.cells {
                        merge_cell(stage, &owner, name, cell)?;
                    }
                }
                Ok(())
            })
            .await
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<State>, StoreError> {
        let keys = keys.to_vec();
        self.look(keys.len(), move |engine| {
            let view = engine.view();
            keys.iter().map(|key| state_of(engine, &view, key)).collect()
        })
        .await
    }
}

/// Serial in the writer, so nothing comes between the look and the write.
fn merge_cell(stage: &mut Stage, owner: &[u8], name: &str, cell: &Cell) -> Result<(), StoreError> {
    let mut key = owner.to_vec();
    key.extend_from_slice(name.as_bytes());
    if u16::try_from(key.len()).is_err() {
        return Err(StoreError::Broken(format!("a field's name has {} bytes", name.len())));
    }
    let present = stage.with(Table::States, &key, codec::cell_back)?;
    let wins = present.is_none_or(|present| cell.wins_over(&present));
    if wins || fault::planted(Fault::OlderWins) {
        stage.put(Table::States, key, codec::cell(cell)?);
    }
    Ok(())
}

fn state_of(engine: &Engine, view: &Snapshot, key: &StateKey) -> Result<State, StoreError> {
    let owner = keys::owner(key);
    let mut state = State::default();
    for row in view.prefix(engine.table(Table::States), &owner) {
        let (key, value) = row.into_inner().map_err(|error| failed("reading a state", &error))?;
        let Ok(name) = std::str::from_utf8(&key[owner.len()..]) else {
            return Err(StoreError::Broken("a field's name in the store cannot be read".into()));
        };
        state.cells.insert(Arc::from(name), codec::cell_back(&value)?);
    }
    Ok(state)
}
