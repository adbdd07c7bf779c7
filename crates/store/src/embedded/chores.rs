//! What the writer does between writes: it moves keyspaces that have gone quiet from memory to disk, and
//! sweeps journal rows, answers, first words, slips and who left a place once they have served their time, a little at a time.

use std::{collections::HashMap, ops::Bound, sync::Arc, time::Duration};

use fjall::{Keyspace, OwnedWriteBatch};
use model::{
    Millis,
    limits::{DAY_LIFE_MS, DAY_MS, FIRST_WORD_LIFE_MS, LEFT_LIFE_MS},
    returns::SLIP_LIFE_MS,
};
use runtime::clock::Stopwatch;

use super::{
    engine::{Engine, Table, failed},
    keys,
};
use crate::{codec, port::StoreError};

/// Between two rounds of chores.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// Rows looked at in one round of sweeping: a few milliseconds.
const SWEEP_ROWS: usize = 2_000;

pub(super) struct Chores {
    engine: Arc<Engine>,
    idle: Duration,
    since: Stopwatch,
    /// Keyspaces with rows in memory, and when they were last written to.
    unflushed: HashMap<u64, (Keyspace, Stopwatch)>,
    /// The latest time that a caller had; there is no other clock here.
    now: Option<Millis>,
    journal: Sweep,
    answers: Sweep,
    words: Sweep,
    slips: Sweep,
    crowds: Sweep,
}

/// A walk over a table that goes on where it stopped, round and round.
struct Sweep {
    table: Table,
    life_ms: i64,
    /// Since when a row serves its time, if it ever goes.
    since: fn(&[u8], &[u8]) -> Option<Millis>,
    from: Vec<u8>,
}

impl Chores {
    pub(super) fn new(engine: Arc<Engine>, idle: Duration) -> Self {
        // After a restart, rows may have come back from the log into memory in any keyspace.
        let unflushed =
            engine.keyspaces().into_iter().map(|keyspace| (keyspace.id(), (keyspace, Stopwatch::start())));
        Self {
            idle,
            since: Stopwatch::start(),
            unflushed: unflushed.collect(),
            now: None,
            journal: Sweep::of(Table::Journal, DAY_LIFE_MS, written),
            answers: Sweep::of(Table::Answers, DAY_MS, written),
            words: Sweep::of(Table::Words, FIRST_WORD_LIFE_MS, written),
            slips: Sweep::of(Table::Slips, SLIP_LIFE_MS, written),
            crowds: Sweep::of(Table::Crowds, LEFT_LIFE_MS, left),
            engine,
        }
    }

    pub(super) fn hear(&mut self, now: Option<Millis>) {
        self.now = self.now.max(now);
    }

    pub(super) fn touched(&mut self, keyspaces: Vec<Keyspace>) {
        for keyspace in keyspaces {
            self.unflushed.insert(keyspace.id(), (keyspace, Stopwatch::start()));
        }
    }

    /// Lets go of what was dropped, so that its files can go.
    pub(super) fn forget(&mut self, dropped: &[Keyspace]) {
        for keyspace in dropped {
            self.unflushed.remove(&keyspace.id());
        }
    }

    /// One round, if it is time for one.
    pub(super) fn run(&mut self) -> Result<(), StoreError> {
        if self.since.elapsed() < PAUSE.min(self.idle) {
            return Ok(());
        }
        self.since = Stopwatch::start();
        self.rotate()?;
        if let Some(now) = self.now {
            let Self { journal, answers, words, slips, crowds, .. } = self;
            for sweep in [journal, answers, words, slips, crowds] {
                sweep.round(&self.engine, now).map_err(|error| failed("sweeping", &error))?;
            }
        }
        // Readers let go of what only their old snapshot kept.
        self.engine.publish();
        Ok(())
    }

    /// Flushing happens behind our back: waiting for it would stop all writes, for ever if it failed.
    fn rotate(&mut self) -> Result<(), StoreError> {
        let idle = self.idle;
        for (_, (keyspace, _)) in self.unflushed.extract_if(|_, (_, since)| since.elapsed() >= idle) {
            keyspace.rotate_memtable().map_err(|error| failed("moving rows from memory to disk", &error))?;
        }
        Ok(())
    }
}

/// Rows that begin with when they were written.
fn written(_: &[u8], value: &[u8]) -> Option<Millis> {
    codec::at(value)
}

/// Since when somebody has left a place.
fn left(key: &[u8], value: &[u8]) -> Option<Millis> {
    let (version, on) = codec::enrolment_back(value).ok()?;
    (!on && keys::is_of_place(key)).then_some(Millis(version))
}

impl Sweep {
    fn of(table: Table, life_ms: i64, since: fn(&[u8], &[u8]) -> Option<Millis>) -> Self {
        Self { table, life_ms, since, from: Vec::new() }
    }

    fn round(&mut self, engine: &Engine, now: Millis) -> Result<(), fjall::Error> {
        let keyspace = engine.table(self.table);
        let mut batch = OwnedWriteBatch::with_capacity(engine.db.clone(), 0);
        let (mut seen, mut last) = (0, Vec::new());
        let from = std::mem::take(&mut self.from);
        for row in keyspace.range::<&[u8], _>((Bound::Excluded(&*from), Bound::Unbounded)).take(SWEEP_ROWS) {
            let (key, value) = row.into_inner()?;
            (seen, last) = (seen + 1, key.to_vec());
            // What cannot be read is left for whoever asks for it.
            if (self.since)(&key, &value).is_some_and(|at| at.plus(self.life_ms) <= now) {
                batch.remove(keyspace, key);
            }
        }
        if seen == SWEEP_ROWS {
            self.from = last;
        }
        // Not synced: a row that comes back after a power cut is swept again.
        batch.commit()
    }
}
