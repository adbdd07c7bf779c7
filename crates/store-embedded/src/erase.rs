//! Erasure: found on a snapshot, away from the writer, and removed in its thread a part at a time. What lies by
//! another name than the person's (crowds, slips) is walked through as a whole; that is rare, and nobody waits.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use fjall::{Keyspace, Readable as _, Snapshot, UserKey};
use house_facts::{
    erasure::{EraseMode, Holding, HoldingCounts},
    erasure_counts::{add_count, readys_in_rows, retain_lasting_notes, zero_counts},
};
use model::{
    Day, DayRow, Person, ReadyId, Tenant, UtcMillis,
    entry::DayKey,
    fault::{self, PlantedFault},
};
use runtime::file_rewrite::{self, RewriteError, rewrite_files};
use store::{ErasureStore, StateKey, StoreError, codec, rows::decode_row};

use super::{
    EmbeddedStore,
    engine::{EmbeddedStoreEngine, StoreTable, map_database_error},
    keys,
};

/// Rows that go in one step of the writer.
const STEP_ROWS: usize = 2_000;

/// What of a person lies in the tables.
struct ErasableRows {
    counts: HoldingCounts,
    days: Vec<(Day, Vec<u8>, Vec<UserKey>)>,
    rows: Vec<(StoreTable, Vec<u8>)>,
    /// The notes, if there are more than stay.
    notes: Option<Vec<u8>>,
}

#[async_trait]
impl ErasureStore for EmbeddedStore {
    async fn erase(
        &self,
        tenant: &Tenant,
        person: &Person,
        how: EraseMode,
        _: UtcMillis,
    ) -> Result<HoldingCounts, StoreError> {
        let of = (tenant.clone(), person.clone());
        let ErasableRows { counts, days, rows, notes } =
            self.read_engine(usize::MAX, move |engine| find_person_rows(engine, &of)).await?;
        if how == EraseMode::Look {
            return Ok(counts);
        }
        for (day, prefix, keys) in days {
            let count = keys.len();
            self.writer
                .run(count, move |stage| {
                    stage.clear_rows(day, &prefix, keys);
                    Ok(())
                })
                .await?;
        }
        for step in rows.chunks(STEP_ROWS) {
            let step = step.to_vec();
            self.writer
                .run(step.len(), move |stage| {
                    step.into_iter().for_each(|(table, key)| stage.remove(table, key));
                    Ok(())
                })
                .await?;
        }
        if let Some(owner) = notes {
            // Decided where it is written, so that a note that comes meanwhile is seen.
            self.writer
                .run(1, move |stage| {
                    let notes =
                        stage.with_value(StoreTable::Notes, &owner, codec::decode_state)?.unwrap_or_default();
                    match retain_lasting_notes(notes) {
                        stays if stays.is_empty() => stage.remove(StoreTable::Notes, owner),
                        stays => stage.put(StoreTable::Notes, owner, codec::encode_state(&stays)?),
                    }
                    Ok(())
                })
                .await?;
        }
        Ok(counts)
    }

    /// Every table is written out and gathered into files that have only what is there, and the files of before go. For
    /// as long as the snapshot that readers have is old, the old rows and files are kept for it: it is renewed by a write.
    async fn scrub(&self) -> Result<Option<&'static str>, StoreError> {
        self.rewrite_tables().await?;
        let rewrite = |engine: &EmbeddedStoreEngine| {
            rewrite_files(&engine.db, || engine.keyspaces()).map_err(map_rewrite_error)
        };
        let old = Arc::new(self.read_engine(usize::MAX, rewrite).await?);
        for _ in 0..file_rewrite::LOOKS {
            self.rewrite_tables().await?;
            let old = old.clone();
            let is_gone =
                move |engine: &EmbeddedStoreEngine| old.is_gone(&engine.db).map_err(map_rewrite_error);
            if self.read_engine(usize::MAX, is_gone).await? {
                return Ok(None);
            }
        }
        Err(map_rewrite_error(RewriteError::Busy))
    }
}

impl EmbeddedStore {
    async fn rewrite_tables(&self) -> Result<(), StoreError> {
        self.writer
            .run(1, |stage| {
                stage.put(StoreTable::Meta, b"scrubbed".to_vec(), Vec::new());
                Ok(())
            })
            .await
    }
}

fn map_rewrite_error(why: RewriteError) -> StoreError {
    match why {
        RewriteError::Begin(error) => map_database_error("beginning another log of writes", &error),
        RewriteError::WriteOut(error) => map_database_error("writing out what is in memory", &error),
        RewriteError::Busy => StoreError::Busy("files of before are still there".into()),
        RewriteError::Gather(error) => map_database_error("gathering files", &error),
    }
}

fn find_person_rows(engine: &EmbeddedStoreEngine, of: &(Tenant, Person)) -> Result<ErasableRows, StoreError> {
    let view = engine.snapshot();
    let mut all = ErasableRows { counts: zero_counts(), days: Vec::new(), rows: Vec::new(), notes: None };
    let mut readys = BTreeSet::new();
    // Those that were dropped and still lie beside others as well.
    let held = engine.day_keyspaces().into_iter();
    for (keyspace, day) in held.flat_map(|(keyspace, days)| days.map(move |day| (keyspace.clone(), Day(day))))
    {
        let (prefix, keys, named) = find_day_rows(&view, &keyspace, of, day)?;
        add_count(&mut all.counts, Holding::Days, keys.len());
        readys.extend(named);
        if !keys.is_empty() {
            all.days.push((day, prefix, keys));
        }
    }
    find_states(engine, &view, of, &mut all)?;
    if !fault::is_planted(PlantedFault::CrowdsKept) {
        find_crowds(engine, &view, of, &mut all)?;
    }
    find_follows(engine, &view, of, &mut all)?;
    readys.extend(find_slips(engine, &view, of, &mut all)?);
    for ready in readys {
        for row in view.prefix(engine.table(StoreTable::Journal), keys::ready_prefix(&of.0, ready)) {
            let key = row.key().map_err(|error| map_database_error("reading the journal", &error))?;
            add_count(&mut all.counts, Holding::Journal, 1);
            all.rows.push((StoreTable::Journal, key.to_vec()));
        }
    }
    Ok(all)
}

type ErasableDayRows = (Vec<u8>, Vec<UserKey>, BTreeSet<ReadyId>);

fn find_day_rows(
    view: &Snapshot,
    keyspace: &Keyspace,
    (tenant, person): &(Tenant, Person),
    day: Day,
) -> Result<ErasableDayRows, StoreError> {
    let mut prefix = Vec::new();
    keys::push_day(&mut prefix, &DayKey { tenant: tenant.clone(), person: person.clone(), day });
    let (mut keys, mut rows): (Vec<UserKey>, Vec<DayRow>) = Default::default();
    for row in view.prefix(keyspace, &prefix) {
        let (key, value) = row.into_inner().map_err(|error| map_database_error("reading a day", &error))?;
        // What cannot be read goes as well.
        rows.extend(decode_row(&key[prefix.len()..], &value).ok());
        keys.push(key);
    }
    let readys = readys_in_rows(&rows);
    Ok((prefix, keys, readys))
}

fn find_states(
    engine: &EmbeddedStoreEngine,
    view: &Snapshot,
    (tenant, person): &(Tenant, Person),
    all: &mut ErasableRows,
) -> Result<(), StoreError> {
    let owner = |key: StateKey| {
        let mut owner = Vec::new();
        keys::push_owner(&mut owner, &key);
        owner
    };
    let get = |table, owner: &[u8]| {
        let value = view
            .get(engine.table(table), owner)
            .map_err(|error| map_database_error("reading a state", &error))?;
        value.map(|value| codec::decode_state(&value)).transpose()
    };
    for (holding, key) in [
        (Holding::Profile, StateKey::Person(tenant.clone(), person.clone())),
        (Holding::Mutes, StateKey::Preferences(tenant.clone(), person.clone())),
        (Holding::Saved, StateKey::Saved(tenant.clone(), person.clone())),
        (Holding::Streams, StateKey::Streams(tenant.clone(), person.clone())),
    ] {
        let owner = owner(key);
        if let Some(state) = get(StoreTable::States, &owner)? {
            add_count(&mut all.counts, holding, state.cells.len());
            all.rows.push((StoreTable::States, owner));
        }
    }
    let owner = owner(StateKey::Notes(tenant.clone(), person.clone()));
    if let Some(notes) = get(StoreTable::Notes, &owner)? {
        let more = notes.cells.len();
        let more = more - retain_lasting_notes(notes).cells.len();
        add_count(&mut all.counts, Holding::Notes, more);
        all.notes = (more > 0).then_some(owner);
    }
    Ok(())
}

fn find_crowds(
    engine: &EmbeddedStoreEngine,
    view: &Snapshot,
    (tenant, person): &(Tenant, Person),
    all: &mut ErasableRows,
) -> Result<(), StoreError> {
    for row in view.prefix(engine.table(StoreTable::Crowds), keys::tenant_prefix(tenant)) {
        let key = row.key().map_err(|error| map_database_error("walking through the crowds", &error))?;
        if keys::read_member(&key) == Some(person.as_str().as_bytes()) {
            add_count(&mut all.counts, Holding::Crowds, 1);
            all.rows.push((StoreTable::Crowds, key.to_vec()));
        }
    }
    Ok(())
}

fn find_follows(
    engine: &EmbeddedStoreEngine,
    view: &Snapshot,
    (tenant, person): &(Tenant, Person),
    all: &mut ErasableRows,
) -> Result<(), StoreError> {
    for row in view.prefix(engine.table(StoreTable::Follows), keys::follows_prefix(tenant, person)) {
        let key = row.key().map_err(|error| map_database_error("reading follows", &error))?;
        add_count(&mut all.counts, Holding::Follows, 1);
        all.rows.push((StoreTable::Follows, key.to_vec()));
    }
    Ok(())
}

fn find_slips(
    engine: &EmbeddedStoreEngine,
    view: &Snapshot,
    (tenant, person): &(Tenant, Person),
    all: &mut ErasableRows,
) -> Result<BTreeSet<ReadyId>, StoreError> {
    let mut readys = BTreeSet::new();
    for row in view.iter(engine.table(StoreTable::Slips)) {
        let (key, value) =
            row.into_inner().map_err(|error| map_database_error("walking through the slips", &error))?;
        let slip = codec::decode_slip(&value)?;
        if slip.tenant == *tenant && slip.person == *person {
            add_count(&mut all.counts, Holding::Slips, 1);
            readys.extend(<[u8; 16]>::try_from(&*key).ok().map(ReadyId));
            all.rows.push((StoreTable::Slips, key.to_vec()));
        }
    }
    Ok(readys)
}
