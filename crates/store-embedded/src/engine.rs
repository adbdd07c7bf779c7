//! The database: its keyspaces, the snapshot that readers see, and what its errors mean.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    io,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, LsmError, Readable as _, Snapshot};
use house_facts::day_ring::{DayBucket, DayRing, describe_other_life};
use model::{Day, DayLife};
use runtime::resource_limits;
use store::{StoreError, codec};

use super::{keys, sieve::NameSieve};

/// The layout of keys and values; a directory of another one is refused.
const FORMAT: &str = "2";

/// The key under which the store keeps the day before which all were dropped.
pub(super) const DROPPED: &[u8] = b"dropped";

/// About what moving rows to disk takes at least.
const PROBE_BYTES: usize = 4 << 20;

/// The keyspaces that are not days.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StoreTable {
    /// What the store says of itself.
    Meta,
    States,
    Notes,
    Crowds,
    /// The crowds of followers once more, by person.
    Follows,
    Journal,
    Answers,
    Words,
    Slips,
}

impl StoreTable {
    pub(super) const ALL: [Self; 9] = [
        Self::Meta,
        Self::States,
        Self::Notes,
        Self::Crowds,
        Self::Follows,
        Self::Journal,
        Self::Answers,
        Self::Words,
        Self::Slips,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::States => "states",
            Self::Notes => "notes",
            Self::Crowds => "crowds",
            Self::Follows => "follows",
            Self::Journal => "journal",
            Self::Answers => "answers",
            Self::Words => "words",
            Self::Slips => "slips",
        }
    }
}

/// An open database. Fields are dropped in this order: the lock goes last.
pub(super) struct EmbeddedStoreEngine {
    tables: Vec<Keyspace>,
    /// Who has a note; nearly everybody has none.
    pub(super) noted: NameSieve,
    pub(super) ring: DayRing,
    days: RwLock<BTreeMap<DayBucket, Keyspace>>,
    /// Days before this one were dropped, also those whose rows still lie beside rows of others.
    dropped: RwLock<Option<Day>>,
    /// The last state that is synced. Not fjall's own latest: that one shows a batch while it is being
    /// applied (a flush that ends meanwhile moves it past the batch), and before it is synced.
    published: RwLock<Snapshot>,
    pub(super) db: Database,
    dir: PathBuf,
    _lock: File,
}

impl EmbeddedStoreEngine {
    pub(super) fn open(dir: &Path, life: DayLife) -> Result<Self, StoreError> {
        let lock = lock_dir(dir)?;
        let broken = |error: fjall::Error| map_database_error("opening the store", &error);
        let db = Database::builder(dir.join("data")).open().map_err(broken)?;
        let refuse =
            |found: &str| format!("the directory has format {found}, but this release reads {FORMAT}");
        check_note(&db, "format", FORMAT, refuse).map_err(broken)??;
        let refuse = |found: &str| describe_other_life(found, life);
        check_note(&db, "day life", &life.to_string(), refuse).map_err(broken)??;
        let open =
            |table: StoreTable| db.keyspace(table.name(), KeyspaceCreateOptions::default).map_err(broken);
        let tables = StoreTable::ALL.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let noted = NameSieve::default();
        for row in tables[StoreTable::Notes as usize].iter() {
            noted.add(&row.key().map_err(broken)?);
        }
        let mut days = BTreeMap::new();
        for name in db.list_keyspace_names() {
            if let Some(bucket) = keys::keyspace_bucket(&name) {
                days.insert(bucket, db.keyspace(&name, KeyspaceCreateOptions::default).map_err(broken)?);
            }
        }
        let published = RwLock::new(db.snapshot());
        let dropped = tables[StoreTable::Meta as usize].get(DROPPED).map_err(broken)?;
        let dropped = RwLock::new(dropped.map(|day| codec::decode_day(&day)).transpose()?);
        let (ring, days) = (DayRing::new(life), RwLock::new(days));
        Ok(Self { tables, noted, ring, days, dropped, published, db, dir: dir.to_owned(), _lock: lock })
    }

    pub(super) fn table(&self, table: StoreTable) -> &Keyspace {
        &self.tables[table as usize]
    }

    /// The keyspace in which the rows of a day lie, unless it was dropped.
    pub(super) fn day(&self, day: Day) -> Option<Keyspace> {
        if self.dropped_before().is_some_and(|dropped| day < dropped) {
            return None;
        }
        self.bucket(day)
    }

    /// The same, whether or not it was dropped.
    pub(super) fn bucket(&self, day: Day) -> Option<Keyspace> {
        let bucket = self.ring.bucket(day);
        self.days.read().unwrap_or_else(PoisonError::into_inner).get(&bucket).cloned()
    }

    /// The days that have rows and were not dropped, in their order.
    pub(super) fn held_days(&self) -> Result<Vec<Day>, StoreError> {
        let days = self.days.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (view, dropped, mut held) = (self.snapshot(), self.dropped_before(), Vec::new());
        for keyspace in days.values() {
            let mut from = dropped.map(keys::date_prefix).map_or(Vec::new(), Vec::from);
            // From the first row of one day to the first of the next.
            while let Some(row) = view.range(keyspace, from..).next() {
                let key =
                    row.key().map_err(|error| map_database_error("reading which days there are", &error))?;
                let day = keys::read_date(&key).ok_or_else(|| codec::unreadable_error("the day of a row"))?;
                held.push(day);
                from = keys::date_prefix(day.plus(1)).to_vec();
            }
        }
        Ok(held)
    }

    /// Every keyspace that has days, with all that may lie in it.
    pub(super) fn day_keyspaces(&self) -> Vec<(Keyspace, RangeInclusive<i32>)> {
        let days = self.days.read().unwrap_or_else(PoisonError::into_inner);
        days.iter().map(|(bucket, keyspace)| (keyspace.clone(), self.ring.days(*bucket))).collect()
    }

    pub(super) fn dropped_before(&self) -> Option<Day> {
        *self.dropped.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every keyspace there is.
    pub(super) fn keyspaces(&self) -> Vec<Keyspace> {
        let days = self.days.read().unwrap_or_else(PoisonError::into_inner);
        self.tables.iter().chain(days.values()).cloned().collect()
    }

    /// The keyspace of a day, made if it is not there. Only the writer calls this.
    pub(super) fn day_for_writing(&self, day: Day) -> Result<Keyspace, fjall::Error> {
        if let Some(keyspace) = self.bucket(day) {
            return Ok(keyspace);
        }
        let bucket = self.ring.bucket(day);
        let keyspace = self.db.keyspace(&keys::keyspace_name(bucket), KeyspaceCreateOptions::default)?;
        self.days.write().unwrap_or_else(PoisonError::into_inner).insert(bucket, keyspace.clone());
        Ok(keyspace)
    }

    /// Drops the keyspaces that have no day but those before this one; each leaves the disk when its last handle is gone,
    /// of which the caller gets one. Only the writer calls this.
    pub(super) fn drop_before(&self, day: Day) -> Result<Vec<Keyspace>, fjall::Error> {
        let mut dropped = Vec::new();
        {
            let mut before = self.dropped.write().unwrap_or_else(PoisonError::into_inner);
            *before = (*before).max(Some(day));
        }
        loop {
            let first = {
                let mut days = self.days.write().unwrap_or_else(PoisonError::into_inner);
                if days.first_key_value().is_some_and(|(first, _)| *self.ring.days(*first).end() < day.0) {
                    days.pop_first()
                } else {
                    None
                }
            };
            let Some((first, keyspace)) = first else { return Ok(dropped) };
            if let Err(error) = self.db.delete_keyspace(keyspace.clone()) {
                self.days.write().unwrap_or_else(PoisonError::into_inner).insert(first, keyspace);
                return Err(error);
            }
            dropped.push(keyspace);
        }
    }

    /// Why nothing can be written to the directory, if it cannot.
    pub(super) fn room_error(&self) -> Option<fjall::Error> {
        let probe = self.dir.join("probe");
        let written = std::fs::write(&probe, vec![1; PROBE_BYTES]);
        drop(std::fs::remove_file(&probe));
        written.err().map(fjall::Error::Io)
    }

    /// What a reader sees: everything that was synced, and nothing else.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows everything written so far to readers. Only the writer calls this, after a sync.
    pub(super) fn publish(&self) {
        let latest = self.db.snapshot();
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = latest;
    }
}

fn lock_dir(dir: &Path) -> Result<File, StoreError> {
    let failed = |error: io::Error| map_database_error("opening the store", &fjall::Error::Io(error));
    std::fs::create_dir_all(dir).map_err(failed)?;
    let file =
        File::options().create(true).truncate(false).write(true).open(dir.join("lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(StoreError::Broken(format!("another process uses {}", dir.display())))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// What was noted when the directory was set up has to be what we have.
fn check_note(
    db: &Database,
    name: &str,
    own: &str,
    refuse: impl Fn(&str) -> String,
) -> Result<Result<(), StoreError>, fjall::Error> {
    let meta = db.keyspace(StoreTable::Meta.name(), KeyspaceCreateOptions::default)?;
    match meta.get(name)? {
        Some(found) if &*found == own.as_bytes() => {}
        Some(found) => return Ok(Err(StoreError::Refused(refuse(&String::from_utf8_lossy(&found))))),
        None => {
            meta.insert(name, own)?;
            db.persist(fjall::PersistMode::SyncData)?;
        }
    }
    Ok(Ok(()))
}

/// What an error of the database means to a caller.
pub(super) fn map_database_error(doing: &str, error: &fjall::Error) -> StoreError {
    let io = match error {
        fjall::Error::Io(error) | fjall::Error::Storage(LsmError::Io(error)) => Some(error),
        _ => None,
    };
    match io {
        Some(io) if resource_limits::is_out_of_room(io) => StoreError::Full(format!("{doing}: {io}")),
        Some(io) => StoreError::Broken(format!("{doing}: {io}")),
        None if matches!(error, fjall::Error::Poisoned) => poisoned_error(),
        None => StoreError::Broken(format!("{doing}: {error}")),
    }
}

/// Why nothing is written after a write has failed.
pub(super) const POISONED: &str =
    "an earlier write failed; make room on the disk if it is full, then restart";

/// The error of every write after one has failed.
pub(super) fn poisoned_error() -> StoreError {
    StoreError::Broken(POISONED.into())
}
