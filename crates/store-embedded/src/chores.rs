//! What the writer does between writes: it moves keyspaces that have gone quiet from memory to disk, and sweeps journal
//! rows, answers, first words, slips and ended enrolments once they have expired, a little at a time.

use std::{collections::HashMap, ops::Bound, sync::Arc, time::Duration};

use fjall::{Keyspace, OwnedWriteBatch};
use model::{
    UtcMillis,
    limits::{DAY_MS, LEFT_LIFE_MS},
    returns::SLIP_LIFE_MS,
};
use runtime::clock::SteadyStopwatch;
use store::{StoreError, codec};

use super::{
    engine::{EmbeddedStoreEngine, StoreTable, map_database_error},
    keys,
};

/// Between two rounds of chores.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// Rows looked at in one round of sweeping: a few milliseconds.
const SWEEP_ROWS: usize = 2_000;

pub(super) struct WriterChores {
    engine: Arc<EmbeddedStoreEngine>,
    idle: Duration,
    since: SteadyStopwatch,
    /// Keyspaces with rows in memory, and when they were last written to.
    unflushed: HashMap<u64, (Keyspace, SteadyStopwatch)>,
    /// The latest time that a caller had; there is no other clock here.
    now: Option<UtcMillis>,
    journal: TableSweep,
    answers: TableSweep,
    words: TableSweep,
    slips: TableSweep,
    crowds: TableSweep,
}

/// A walk over a table that goes on where it stopped, round and round.
struct TableSweep {
    table: StoreTable,
    life_ms: i64,
    /// Since when a row serves its time, if it ever goes.
    since: fn(&[u8], &[u8]) -> Option<UtcMillis>,
    from: Vec<u8>,
}

impl WriterChores {
    pub(super) fn new(engine: Arc<EmbeddedStoreEngine>, idle: Duration) -> Self {
        // After a restart, rows may have come back from the log into memory in any keyspace.
        let unflushed = engine
            .keyspaces()
            .into_iter()
            .map(|keyspace| (keyspace.id(), (keyspace, SteadyStopwatch::start())));
        Self {
            idle,
            since: SteadyStopwatch::start(),
            unflushed: unflushed.collect(),
            now: None,
            journal: TableSweep::new(StoreTable::Journal, engine.ring.life().ms(), row_written_at),
            answers: TableSweep::new(StoreTable::Answers, DAY_MS, row_written_at),
            words: TableSweep::new(StoreTable::Words, engine.ring.life().first_word_ms(), row_written_at),
            slips: TableSweep::new(StoreTable::Slips, SLIP_LIFE_MS, row_written_at),
            crowds: TableSweep::new(StoreTable::Crowds, LEFT_LIFE_MS, left_since),
            engine,
        }
    }

    pub(super) fn note_time(&mut self, now: Option<UtcMillis>) {
        self.now = self.now.max(now);
    }

    pub(super) fn note_written(&mut self, keyspaces: Vec<Keyspace>) {
        for keyspace in keyspaces {
            self.unflushed.insert(keyspace.id(), (keyspace, SteadyStopwatch::start()));
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
        self.since = SteadyStopwatch::start();
        self.rotate()?;
        if let Some(now) = self.now {
            let Self { journal, answers, words, slips, crowds, .. } = self;
            for sweep in [journal, answers, words, slips, crowds] {
                sweep
                    .sweep_round(&self.engine, now)
                    .map_err(|error| map_database_error("sweeping", &error))?;
            }
        }
        // Readers let go of what only their old snapshot kept.
        self.engine.publish();
        Ok(())
    }

    /// Flushing happens behind our back: waiting for it would stop all writes, forever if it failed.
    fn rotate(&mut self) -> Result<(), StoreError> {
        let idle = self.idle;
        for (_, (keyspace, _)) in self.unflushed.extract_if(|_, (_, since)| since.elapsed() >= idle) {
            keyspace
                .rotate_memtable()
                .map_err(|error| map_database_error("moving rows from memory to disk", &error))?;
        }
        Ok(())
    }
}

/// Rows that begin with when they were written.
fn row_written_at(_: &[u8], value: &[u8]) -> Option<UtcMillis> {
    codec::read_written_at(value)
}

/// Since when somebody has left a place.
fn left_since(key: &[u8], value: &[u8]) -> Option<UtcMillis> {
    let (version, on) = codec::decode_enrolment(value).ok()?;
    (!on && keys::is_of_place(key)).then_some(UtcMillis(version))
}

impl TableSweep {
    fn new(table: StoreTable, life_ms: i64, since: fn(&[u8], &[u8]) -> Option<UtcMillis>) -> Self {
        Self { table, life_ms, since, from: Vec::new() }
    }

    fn sweep_round(&mut self, engine: &EmbeddedStoreEngine, now: UtcMillis) -> Result<(), fjall::Error> {
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
