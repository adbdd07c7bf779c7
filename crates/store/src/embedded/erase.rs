//! Erasure: found on a snapshot, away from the writer, and removed in its thread a part at a time. What lies by
//! another name than the person's (crowds, slips) is walked through as a whole; that is rare, and nobody waits.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use fjall::{Keyspace, Readable as _, Snapshot, UserKey};
use model::{
    Day, Millis, Person, ReadyId, Row, Tenant,
    entry::DayKey,
    erase::{Counts, Erase, Holding},
    fault::{self, Fault},
};
use runtime::files::{self, NotRewritten, rewrite};

use super::{
    Embedded,
    engine::{Engine, Table, failed},
    keys,
};
use crate::{
    codec,
    erasing::{found, living_days, nothing, readys_of, what_stays},
    port::{Erasure, StateKey, StoreError},
    rows::row_back,
};

/// Rows that go in one step of the writer.
const STEP_ROWS: usize = 2_000;

/// What of a person lies in the tables.
struct Found {
    counts: Counts,
    days: Vec<(Day, Vec<u8>, Vec<UserKey>)>,
    rows: Vec<(Table, Vec<u8>)>,
    /// The notes, if there are more than stay.
    notes: Option<Vec<u8>>,
}

#[async_trait]
impl Erasure for Embedded {
    async fn erase(
        &self,
        tenant: &Tenant,
        person: &Person,
        how: Erase,
        now: Millis,
    ) -> Result<Counts, StoreError> {
        let of = (tenant.clone(), person.clone());
        let Found { counts, days, rows, notes } =
            self.look(usize::MAX, move |engine| find(engine, &of, now)).await?;
        if how == Erase::Look {
            return Ok(counts);
        }
        for (day, prefix, keys) in days {
            let count = keys.len();
            self.writer
                .run(count, move |stage| {
                    stage.clear(day, &prefix, keys);
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
                    let notes = stage.with(Table::Notes, &owner, codec::state_back)?.unwrap_or_default();
                    match what_stays(notes) {
                        stays if stays.is_empty() => stage.remove(Table::Notes, owner),
                        stays => stage.put(Table::Notes, owner, codec::state(&stays)?),
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
        self.renew().await?;
        let rewrite = |engine: &Engine| rewrite(&engine.db, || engine.keyspaces()).map_err(not_rewritten);
        let old = Arc::new(self.look(usize::MAX, rewrite).await?);
        for _ in 0..files::LOOKS {
            self.renew().await?;
            let old = old.clone();
            let is_gone = move |engine: &Engine| old.is_gone(&engine.db).map_err(not_rewritten);
            if self.look(usize::MAX, is_gone).await? {
                return Ok(None);
            }
        }
        Err(not_rewritten(NotRewritten::Busy))
    }
}

impl Embedded {
    async fn renew(&self) -> Result<(), StoreError> {
        self.writer
            .run(1, |stage| {
                stage.put(Table::Meta, b"scrubbed".to_vec(), Vec::new());
                Ok(())
            })
            .await
    }
}

fn not_rewritten(why: NotRewritten) -> StoreError {
    match why {
        NotRewritten::Begin(error) => failed("beginning another log of writes", &error),
        NotRewritten::WriteOut(error) => failed("writing out what is in memory", &error),
        NotRewritten::Busy => StoreError::Busy("files of before are still there".into()),
        NotRewritten::Gather(error) => failed("gathering files", &error),
    }
}

fn find(engine: &Engine, of: &(Tenant, Person), now: Millis) -> Result<Found, StoreError> {
    let view = engine.view();
    let mut all = Found { counts: nothing(), days: Vec::new(), rows: Vec::new(), notes: None };
    let mut readys = BTreeSet::new();
    for day in living_days(now) {
        let Some(keyspace) = engine.day(day) else { continue };
        let (prefix, keys, named) = rows_of(&view, &keyspace, of, day)?;
        found(&mut all.counts, Holding::Days, keys.len());
        readys.extend(named);
        if !keys.is_empty() {
            all.days.push((day, prefix, keys));
        }
    }
    find_states(engine, &view, of, &mut all)?;
    if !fault::planted(Fault::CrowdsKept) {
        find_crowds(engine, &view, of, &mut all)?;
    }
    find_follows(engine, &view, of, &mut all)?;
    readys.extend(find_slips(engine, &view, of, &mut all)?);
    for ready in readys {
        for row in view.prefix(engine.table(Table::Journal), keys::ready(&of.0, ready)) {
            let key = row.key().map_err(|error| failed("reading the journal", &error))?;
            found(&mut all.counts, Holding::Journal, 1);
            all.rows.push((Table::Journal, key.to_vec()));
        }
    }
    Ok(all)
}

type DayRows = (Vec<u8>, Vec<UserKey>, BTreeSet<ReadyId>);

fn rows_of(
    view: &Snapshot,
    keyspace: &Keyspace,
    (tenant, person): &(Tenant, Person),
    day: Day,
) -> Result<DayRows, StoreError> {
    let mut prefix = Vec::new();
    keys::push_day(&mut prefix, &DayKey { tenant: tenant.clone(), person: person.clone(), day });
    let (mut keys, mut rows): (Vec<UserKey>, Vec<Row>) = Default::default();
    for row in view.prefix(keyspace, &prefix) {
        let (key, value) = row.into_inner().map_err(|error| failed("reading a day", &error))?;
        // What cannot be read goes as well.
        rows.extend(row_back(&key[prefix.len()..], &value).ok());
        keys.push(key);
    }
    let readys = readys_of(&rows);
    Ok((prefix, keys, readys))
}

fn find_states(
    engine: &Engine,
    view: &Snapshot,
    (tenant, person): &(Tenant, Person),
    all: &mut Found,
) -> Result<(), StoreError> {
    let owner = |key: StateKey| {
        let mut owner = Vec::new();
        keys::push_owner(&mut owner, &key);
        owner
    };
    let get = |table, owner: &[u8]| {
        let value =
            view.get(engine.table(table), owner).map_err(|error| failed("reading a state", &error))?;
        value.map(|value| codec::state_back(&value)).transpose()
    };
    for (holding, key) in [
        (Holding::Profile, StateKey::Person(tenant.clone(), person.clone())),
        (Holding::Mutes, StateKey::Mutes(tenant.clone(), person.clone())),
    ] {
        let owner = owner(key);
        if let Some(state) = get(Table::States, &owner)? {
            found(&mut all.counts, holding, state.cells.len());
            all.rows.push((Table::States, owner));
        }
    }
    let owner = owner(StateKey::Notes(tenant.clone(), person.clone()));
    if let Some(notes) = get(Table::Notes, &owner)? {
        let more = notes.cells.len();
        let more = more - what_stays(notes).cells.len();
        found(&mut all.counts, Holding::Notes, more);
        all.notes = (more > 0).then_some(owner);
    }
    Ok(())
}

fn find_crowds(
    engine: &Engine,
    view: &Snapshot,
    (tenant, person): &(Tenant, Person),
    all: &mut Found,
) -> Result<(), StoreError> {
    for row in view.prefix(engine.table(Table::Crowds), keys::tenant(tenant)) {
        let key = row.key().map_err(|error| failed("walking through the crowds", &error))?;
        if keys::member_of(&key) == Some(person.as_str().as_bytes()) {
            found(&mut all.counts, Holding::Crowds, 1);
            all.rows.push((Table::Crowds, key.to_vec()));
        }
    }
    Ok(())
}

fn find_follows(
    engine: &Engine,
    view: &Snapshot,
    (tenant, person): &(Tenant, Person),
    all: &mut Found,
) -> Result<(), StoreError> {
    for row in view.prefix(engine.table(Table::Follows), keys::follows(tenant, person)) {
        let key = row.key().map_err(|error| failed("reading follows", &error))?;
        found(&mut all.counts, Holding::Follows, 1);
        all.rows.push((Table::Follows, key.to_vec()));
    }
    Ok(())
}

fn find_slips(
    engine: &Engine,
    view: &Snapshot,
    (tenant, person): &(Tenant, Person),
    all: &mut Found,
) -> Result<BTreeSet<ReadyId>, StoreError> {
    let mut readys = BTreeSet::new();
    for row in view.iter(engine.table(Table::Slips)) {
        let (key, value) = row.into_inner().map_err(|error| failed("walking through the slips", &error))?;
        let slip = codec::slip_back(&value)?;
        if slip.tenant == *tenant && slip.person == *person {
            found(&mut all.counts, Holding::Slips, 1);
            readys.extend(<[u8; 16]>::try_from(&*key).ok().map(ReadyId));
            all.rows.push((Table::Slips, key.to_vec()));
        }
    }
    Ok(readys)
}
