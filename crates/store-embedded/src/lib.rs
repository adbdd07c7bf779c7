//! The embedded store: one directory, nothing to install.
//!
//! A fjall database in the directory's `data` holds one keyspace for days that lie together (their rows; dropped in one step) and
//! one for each of states, notes, crowds, follows, journal, answers, first words and slips. All writes go through one thread, which drains
//! what waits, decides in order, commits one batch over all keyspaces, syncs it once and answers everybody
//! (`writer`). Reads go past it on a snapshot that the writer publishes after each sync, so nobody sees
//! half of a write, or one that a power cut could take back (`engine`).
//!
//! A failed write of the journal poisons the database: from then on writes fail and reads show the last
//! state that is safe. Make room, then restart.

mod chores;
mod crowds;
mod days;
mod engine;
mod erase;
mod first_words;
mod journal;
mod keys;
mod rows;
mod sieve;
mod slips;
mod states;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use engine::EmbeddedStoreEngine;
use model::DayLife;
use store::{StoreError, StoreSetup};
use writer::StoreWriter;

/// A read of at most so many keys happens where it is asked for; a larger one on a thread for blocking.
const INLINE_KEYS_MAX: usize = 16;
/// A keyspace that was not written to for this long is moved from memory to disk, so that reopening does
/// not replay it.
const IDLE: Duration = Duration::from_secs(60);

/// The embedded store. Dropping it ends its writer and closes the directory.
pub struct EmbeddedStore {
    dir: PathBuf,
    writer: StoreWriter,
    engine: Arc<EmbeddedStoreEngine>,
}

impl EmbeddedStore {
    /// Opens the store in a directory, which is made if it is not there. One process at a time.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_for(dir, DayLife::default())
    }

    /// The same where days live so long. That is chosen with the directory, and stands.
    pub fn open_for(dir: &Path, life: DayLife) -> Result<Self, StoreError> {
        Self::open_with(dir, life, IDLE)
    }

    fn open_with(dir: &Path, life: DayLife, idle: Duration) -> Result<Self, StoreError> {
        let engine = Arc::new(EmbeddedStoreEngine::open(dir, life)?);
        let writer = StoreWriter::start(engine.clone(), idle)?;
        Ok(Self { dir: dir.to_owned(), writer, engine })
    }

    /// The same, never at rest: whatever was written is moved to disk at once. Each day lies by itself.
    #[cfg(test)]
    pub(crate) fn open_restless(dir: &Path) -> Result<Self, StoreError> {
        Self::open_with(dir, DayLife::LEAST, Duration::ZERO)
    }

    /// Adds a row to a day that nobody can read.
    #[cfg(test)]
    pub(crate) async fn spoil(&self, key: &model::entry::DayKey) -> Result<(), StoreError> {
        let mut prefix = Vec::new();
        keys::push_day(&mut prefix, key);
        let row = (prefix.into(), b"not a row".into());
        let day = key.day;
        self.writer.run(1, move |stage| stage.add_rows(day, vec![row])).await
    }

    /// Reads, without holding up the caller's thread for long.
    async fn read_engine<T: Send + 'static>(
        &self,
        keys: usize,
        read: impl FnOnce(&EmbeddedStoreEngine) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if keys <= INLINE_KEYS_MAX {
            return read(&self.engine);
        }
        let engine = self.engine.clone();
        match tokio::task::spawn_blocking(move || read(&engine)).await {
            Ok(read) => read,
            Err(error) => Err(StoreError::Broken(format!("a read was cut off: {error}"))),
        }
    }

    /// Prepares a write, on a thread for blocking if there is much of it.
    async fn prepare_write<T: Send + 'static>(
        &self,
        rows: usize,
        encode: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if rows <= INLINE_KEYS_MAX * 16 {
            return encode();
        }
        match tokio::task::spawn_blocking(encode).await {
            Ok(encoded) => encoded,
            Err(error) => Err(StoreError::Broken(format!("a write was cut off: {error}"))),
        }
    }
}

impl StoreSetup for EmbeddedStore {
    fn day_life(&self) -> DayLife {
        self.engine.ring.life()
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore").field("dir", &self.dir).finish_non_exhaustive()
    }
}
