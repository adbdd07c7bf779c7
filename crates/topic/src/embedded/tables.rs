//! The tables on the disk, and what their errors mean to us.

use std::path::{Path, PathBuf};

use fjall::{Database, Keyspace, KeyspaceCreateOptions};
use runtime::resource_limits;

use super::layout;
use crate::port::TopicError;

/// A small write buffer keeps the journal short, and with it the time that opening takes.
const MEMTABLE_BYTES: u64 = 16 << 20;
/// From here on the tables that hold back a journal are written out. This also bounds what a table that
/// is seldom written can pin.
const JOURNALS_BYTES: u64 = 128 << 20;
const CACHE_BYTES: u64 = 32 << 20;
const WORKERS: usize = 2;

/// Handles of the open tables. Cheap to clone; the directory is let go of with the last clone.
#[derive(Clone)]
pub(super) struct TopicTables {
    pub db: Database,
    /// Records of topics that keep them for a time.
    pub log: Keyspace,
    /// The latest record of each key of compacted topics.
    pub state: Keyspace,
    /// Topics, extents, committed offsets, generations.
    pub meta: Keyspace,
    dir: PathBuf,
}

impl TopicTables {
    pub fn open(dir: &Path) -> Result<Self, TopicError> {
        let db = Database::builder(dir)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNALS_BYTES)
            .worker_threads(WORKERS)
            .open()
            .map_err(|error| match error {
                fjall::Error::Locked => {
                    TopicError::Refused(format!("another process uses {}", dir.display()))
                }
                other => tables_fault("opening the log", &other),
            })?;
        let table = |name| {
            db.keyspace(name, || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES))
                .map_err(|error| tables_fault("opening a table", &error))
        };
        let (log, state, meta) = (table("log")?, table("state")?, table("meta")?);
        let tables = Self { log, state, meta, dir: dir.to_owned(), db: db.clone() };
        tables.check_version(dir)?;
        Ok(tables)
    }

    fn check_version(&self, dir: &Path) -> Result<(), TopicError> {
        let found =
            self.meta.get(layout::VERSION_KEY).map_err(|error| tables_fault("opening the log", &error))?;
        match found.map(|bytes| layout::parse_number(&bytes)) {
            None => self
                .meta
                .insert(layout::VERSION_KEY, layout::VERSION.to_be_bytes())
                .map_err(|error| tables_fault("opening the log", &error)),
            Some(Some(layout::VERSION)) => Ok(()),
            Some(_) => Err(TopicError::Refused(format!(
                "{} was written by another version of Tidings",
                dir.display()
            ))),
        }
    }
}

impl TopicTables {
    /// What an error of a write means. The tables may have failed in the background before, and say only
    /// that they did; then the disk is asked whether it was for want of room.
    pub fn write_fault(&self, doing: &str, error: &fjall::Error) -> TopicError {
        if !matches!(error, fjall::Error::Poisoned) {
            return tables_fault(doing, error);
        }
        let probe = self.dir.join("probe");
        let room = std::fs::write(&probe, vec![1; usize::try_from(MEMTABLE_BYTES).unwrap_or(0)]);
        // If it cannot be removed it is in nobody's way; the next probe takes its place.
        drop(std::fs::remove_file(&probe));
        room.map_or_else(|io| tables_fault(doing, &fjall::Error::Io(io)), |()| tables_fault(doing, error))
    }
}

/// What an error of the tables means. A write that failed leaves the tables unusable until they are
/// opened again: nobody can know how much of it reached the disk.
pub(super) fn tables_fault(doing: &str, error: &fjall::Error) -> TopicError {
    let io = match error {
        fjall::Error::Io(io) | fjall::Error::Storage(fjall::LsmError::Io(io)) => Some(io),
        _ => None,
    };
    match io {
        Some(io) if resource_limits::is_out_of_room(io) => {
            TopicError::Full(format!("{doing}: {io}; make room, then restart"))
        }
        _ => TopicError::Broken(format!("{doing}: {error}; check the disk, then restart")),
    }
}

/// Bytes that are not what this engine writes.
pub(super) fn garbled_bytes(what: &str) -> TopicError {
    TopicError::Broken(format!("{what} cannot be read: the directory is damaged"))
}
