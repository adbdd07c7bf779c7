//! Rewriting the files of an embedded database: what was removed is in none of them any more.

use std::{fs, io, path::PathBuf, thread, time::Duration};

use fjall::{Database, Error, Keyspace, KeyspaceCreateOptions};

/// The database begins another log of writes once one is larger than this, and not sooner.
const JOURNAL_BYTES: usize = 64 << 20;
const FILLER: &str = "filler";
/// Below the folder of a keyspace, as the database has it: its files.
const TABLES: &str = "tables";
/// How often one looks whether what is old is gone, and between two looks: some ten seconds in all.
pub const LOOKS: u32 = 400;
const LOOK: Duration = Duration::from_millis(25);

/// Why files were not rewritten, by the step that failed.
#[derive(Debug)]
pub enum RewriteError {
    /// Beginning another log of writes.
    Begin(Error),
    /// Writing out what is in memory.
    WriteOut(Error),
    /// The old log of writes, or old files, are still there.
    Busy,
    /// Gathering files.
    Gather(Error),
}

/// The files that were there before: they go when nobody reads them any more.
#[derive(Debug)]
pub struct ReplacedFiles(Vec<PathBuf>);

/// Writes out what is in memory, all of it before anything is gathered: a log of writes goes when nothing in it is only
/// in memory. Then gathers every file anew; what was there before goes with [`ReplacedFiles::is_gone`]. Which keyspaces there are is
/// asked once that log has begun. Blocks for seconds.
pub fn rewrite_files(
    db: &Database,
    keyspaces: impl FnOnce() -> Vec<Keyspace>,
) -> Result<ReplacedFiles, RewriteError> {
    fill_journal(db).map_err(RewriteError::Begin)?;
    let keyspaces = keyspaces();
    for keyspace in &keyspaces {
        keyspace.rotate_memtable_and_wait().map_err(RewriteError::WriteOut)?;
    }
    let mut looks = 0;
    while db.journal_count() > 1 {
        if looks == LOOKS {
            return Err(RewriteError::Busy);
        }
        looks += 1;
        thread::park_timeout(LOOK);
    }
    let mut old = Vec::new();
    for keyspace in &keyspaces {
        old.extend(list_files(keyspace).map_err(|error| RewriteError::Gather(Error::Io(error)))?);
    }
    for keyspace in keyspaces.iter().filter(|keyspace| keyspace.table_count() > 0) {
        keyspace.major_compact().map_err(RewriteError::Gather)?;
    }
    Ok(ReplacedFiles(old))
}

impl ReplacedFiles {
    /// Has the database let go of them, and says whether it has. It keeps what a snapshot may still read, and looks
    /// whether one does only when it writes a keyspace out: so a small one is written out. Whoever holds a snapshot takes
    /// a newer one before each look. Blocks for a moment.
    pub fn is_gone(&self, db: &Database) -> Result<bool, RewriteError> {
        let turn = || {
            let filler = db.keyspace(FILLER, KeyspaceCreateOptions::default)?;
            filler.insert("filler", "")?;
            filler.rotate_memtable_and_wait()?;
            db.delete_keyspace(filler)
        };
        turn().map_err(RewriteError::Gather)?;
        let is_gone = !self.0.iter().any(|file| file.exists());
        if !is_gone {
            thread::park_timeout(LOOK);
        }
        Ok(is_gone)
    }

    /// Looks until they are gone, where nobody holds a snapshot for long.
    pub fn wait_until_gone(&self, db: &Database) -> Result<(), RewriteError> {
        for _ in 0..LOOKS {
            if self.is_gone(db)? {
                return Ok(());
            }
        }
        Err(RewriteError::Busy)
    }
}

fn list_files(keyspace: &Keyspace) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(keyspace.path().join(TABLES)) {
        Ok(files) => files.map(|file| Ok(file?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Has the database begin another log of writes, by filling the one it has. What fills it goes again.
fn fill_journal(db: &Database) -> Result<(), Error> {
    let filler = db.keyspace(FILLER, KeyspaceCreateOptions::default)?;
    // It must not be made small.
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice
    };
    // Each write is made small by itself, so the same will do.
    let piece: Vec<u8> = (0..1 << 17).flat_map(|_| next().to_le_bytes()).collect();
    for _ in 0..JOURNAL_BYTES >> 20 {
        filler.insert("filler", piece.as_slice())?;
    }
    filler.rotate_memtable_and_wait()?;
    db.delete_keyspace(filler)
}
