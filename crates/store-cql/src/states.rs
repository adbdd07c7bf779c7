//! States: a row for each cell, written at the time stamp of its version. Profiles, mutes and subjects are a
//! partition each; notes of many persons share one, since nearly nobody has any.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use model::{Person, Tenant, VersionedState};
use scylla::{
    serialize::row::SerializeRow,
    statement::{
        batch::{Batch, BatchType},
        prepared::PreparedStatement,
    },
};
use store::{RemovedCell, StateKey, StateStore, StoreError};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    CqlStore,
    cells::{decode_cell, encode_cell, version_stamp},
    errors::CqlError,
    known_states::KnownStates,
};

/// Partitions that hold the notes of a tenant. Chosen for life. Few, since every part of a fan-out asks all of them;
/// each stays small, since nearly nobody has notes.
const NOTE_SHARDS: u64 = 16;
/// Persons whose notes are asked for at once; a cluster may refuse more.
const NOTED_MAX: usize = 100;

#[async_trait]
impl StateStore for CqlStore {
    async fn merge(&self, states: Vec<(StateKey, VersionedState)>) -> Result<(), StoreError> {
        let full = states.iter().filter(|(_, state)| !state.is_empty());
        let _written = self.note_written(states.iter().map(|(key, _)| key.clone()));
        self.engine.run_all(full.map(|(key, state)| self.merge_one(key, state))).await.map(|_| ())
    }

    async fn forget_removed(&self, key: &StateKey, removed: &[RemovedCell]) -> Result<(), StoreError> {
        let forget = |(name, version): &RemovedCell| {
            let (name, at) = (name.clone(), version_stamp(*version));
            async move { self.forget_cell(key, &name, at).await }
        };
        let _written = self.note_written([key.clone()]);
        self.engine.run_all(removed.iter().map(forget)).await.map(|_| ())
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        let (mut rows, mut notes) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
        for (at, key) in keys.iter().enumerate() {
            match key {
                StateKey::Notes(tenant, person) => {
                    notes.entry((tenant, note_shard(person))).or_default().push((person, at));
                }
                _ => rows.push((at, key)),
            }
        }
        let mut states = vec![VersionedState::default(); keys.len()];
        let found = self.engine.run_all(rows.iter().map(|(_, key)| self.read_state(key))).await?;
        for ((at, _), state) in rows.iter().zip(found) {
            states[*at] = state;
        }
        let mut asked = Vec::new();
        for ((tenant, shard), persons) in &notes {
            asked.extend(persons.chunks(NOTED_MAX).map(|persons| (*tenant, *shard, persons)));
        }
        let asked = asked.iter().map(|(tenant, shard, of)| self.read_notes(tenant, *shard, of));
        let found = self.engine.run_all(asked).await?;
        for (at, state) in found.into_iter().flatten() {
            states[at] = state;
        }
        Ok(states)
    }

    async fn states_lately(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        let (mut states, mut asked) = (vec![VersionedState::default(); keys.len()], Vec::new());
        for (at, key) in keys.iter().enumerate() {
            match self.known.find(key) {
                Ok(state) => states[at] = state,
                Err(reading) => asked.push((at, reading)),
            }
        }
        let missing: Vec<StateKey> = asked.iter().map(|(at, _)| keys[*at].clone()).collect();
        for ((at, reading), state) in asked.into_iter().zip(self.states(&missing).await?) {
            self.known.keep(&keys[at], reading, &state);
            states[at] = state;
        }
        Ok(states)
    }
}

/// States that are being written: what is known of them is forgotten when that comes to its end, also where somebody gives it up.
pub(crate) struct WrittenStates<'a> {
    known: &'a KnownStates,
    keys: Vec<StateKey>,
}

impl Drop for WrittenStates<'_> {
    fn drop(&mut self) {
        self.known.forget(self.keys.iter());
    }
}

pub(crate) fn note_shard(person: &Person) -> i16 {
    i16::try_from(xxh3_64(person.as_str().as_bytes()) % NOTE_SHARDS).unwrap_or(0)
}

/// The partition of a state that has one of its own.
fn owner_of(key: &StateKey) -> (&str, String) {
    let (sort, tenant, name) = key.parts();
    (tenant.as_str(), format!("{sort}:{name}"))
}

impl CqlStore {
    pub(crate) fn note_written(&self, keys: impl IntoIterator<Item = StateKey>) -> WrittenStates<'_> {
        WrittenStates { known: &self.known, keys: keys.into_iter().collect() }
    }

    async fn merge_one(&self, key: &StateKey, state: &VersionedState) -> Result<(), StoreError> {
        let cells: Vec<_> = state
            .cells
            .iter()
            .map(|(name, one)| (&**name, encode_cell(one), version_stamp(one.version)))
            .collect();
        let statements = &self.engine.statements;
        if let StateKey::Notes(tenant, person) = key {
            let (tenant, shard, person) = (tenant.as_str(), note_shard(person), person.as_str());
            let rows = || cells.iter().map(|(name, cell, at)| (tenant, shard, person, *name, cell, *at));
            return self.merge_cells(&statements.note, rows().collect()).await;
        }
        let (tenant, of) = owner_of(key);
        let rows = cells.iter().map(|(name, cell, at)| (tenant, of.as_str(), *name, cell, *at)).collect();
        self.merge_cells(&statements.merge, rows).await
    }

    /// At one time stamp a removal of the cluster's wins over a value, and every newer value has a later one.
    async fn forget_cell(&self, key: &StateKey, name: &str, at: i64) -> Result<(), StoreError> {
        let (erasing, session) = (&self.engine.statements.erasing, &self.engine.session);
        if let StateKey::Notes(tenant, person) = key {
            let row = (at, tenant.as_str(), note_shard(person), person.as_str(), name);
            let attempt = || async {
                session.execute_unpaged(&erasing.note, row).await?;
                Ok(())
            };
            return self.engine.run_with_retries("forgetting a note", attempt).await;
        }
        let (tenant, of) = owner_of(key);
        let row = (at, tenant, of.as_str(), name);
        let attempt = || async {
            session.execute_unpaged(&erasing.state, row).await?;
            Ok(())
        };
        self.engine.run_with_retries("forgetting a cell", attempt).await
    }

    /// All cells of one owner are one partition: one step.
    async fn merge_cells<R: SerializeRow>(
        &self,
        statement: &PreparedStatement,
        rows: Vec<R>,
    ) -> Result<(), StoreError> {
        let mut batch =
            Batch::new_with_statements(BatchType::Unlogged, vec![statement.clone().into(); rows.len()]);
        batch.set_is_idempotent(true);
        let attempt = || async {
            match &rows[..] {
                [row] => self.engine.session.execute_unpaged(statement, row).await?,
                rows => self.engine.session.batch(&batch, rows).await?,
            };
            Ok(())
        };
        self.engine.run_with_retries("merging a state", attempt).await
    }

    async fn read_state(&self, key: &StateKey) -> Result<VersionedState, StoreError> {
        let (tenant, of) = &owner_of(key);
        let attempt = || async {
            let mut state = VersionedState::default();
            for page in self.engine.read_pages(&self.engine.statements.state, &(*tenant, of.as_str())).await?
            {
                for row in page.rows::<(&str, &[u8])>()? {
                    let (name, value) = row?;
                    state.cells.insert(Arc::from(name), decode_cell(value)?);
                }
            }
            Ok::<_, CqlError>(state)
        };
        self.engine.run_with_retries("reading a state", attempt).await
    }

    /// The notes of those who have some, with the places at which they were asked for.
    async fn read_notes(
        &self,
        tenant: &Tenant,
        shard: i16,
        asked: &[(&Person, usize)],
    ) -> Result<Vec<(usize, VersionedState)>, StoreError> {
        let persons: Vec<&str> = asked.iter().map(|(person, _)| person.as_str()).collect();
        let attempt = || async {
            let mut found = BTreeMap::<String, VersionedState>::new();
            let of = (tenant.as_str(), shard, &persons);
            for page in self.engine.read_pages(&self.engine.statements.notes, &of).await? {
                for row in page.rows::<(&str, &str, &[u8])>()? {
                    let (person, name, value) = row?;
                    let cells = &mut found.entry(person.to_owned()).or_default().cells;
                    cells.insert(Arc::from(name), decode_cell(value)?);
                }
            }
            Ok::<_, CqlError>(found)
        };
        let found = self.engine.run_with_retries("reading notes", attempt).await?;
        let of = asked.iter().filter_map(|(person, at)| Some((*at, found.get(person.as_str())?.clone())));
        Ok(of.collect())
    }
}
