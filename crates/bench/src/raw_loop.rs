//! The raw loop: the same number of keys and bytes straight into the embedded engine's own library, one
//! batch of the same size and one sync, with nothing of ours around it.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use runtime::clock::SteadyStopwatch;
use tokio::{runtime::Handle, task::spawn_blocking};

use crate::http_load::LoadPace;

/// Writes `count` values of `bytes` bytes in batches of `batch`, each synced; returns how long it took.
pub fn write_batches(dir: &Path, count: usize, bytes: usize, batch: usize) -> anyhow::Result<Duration> {
    let database = fjall::Database::builder(dir).open().context("open the raw database")?;
    let keyspace = database.keyspace("raw", fjall::KeyspaceCreateOptions::default)?;
    let value = vec![7_u8; bytes];
    let watch = SteadyStopwatch::start();
    let mut next = 0_u64;
    while next < count as u64 {
        let mut writes = database.batch();
        for _ in 0..batch.min(count - usize::try_from(next).unwrap_or(count)) {
            // Spread like hashed keys are, so that the comparison is not one with a plain append.
            let key = [next.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), next.to_be_bytes()].concat();
            writes.insert(&keyspace, key, &value);
            next += 1;
        }
        writes.commit()?;
        database.persist(fjall::PersistMode::SyncData)?;
    }
    Ok(watch.elapsed())
}

/// The same at a pace, and how late each value was on disk after its instant, in order of lateness. Batches are
/// taken up when their last value is due, and those that are due share a sync.
pub async fn write_at_pace(
    dir: &Path,
    count: usize,
    bytes: usize,
    (per_second, batch): (usize, usize),
) -> anyhow::Result<Vec<Duration>> {
    let database = fjall::Database::builder(dir).open().context("open the raw database")?;
    let keyspace = database.keyspace("raw", fjall::KeyspaceCreateOptions::default)?;
    let (value, runtime) = (vec![7_u8; bytes], Handle::current());
    let work = move || {
        let (pace, mut late) = (LoadPace::start(per_second), Vec::with_capacity(count));
        while late.len() < count {
            let first = late.len();
            runtime.block_on(pace.wait_until(count.min(first + batch)));
            let due = (pace.due_count() / batch * batch).clamp(count.min(first + batch), count);
            let mut writes = database.batch();
            for number in first..due {
                let spread = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                writes.insert(&keyspace, spread.to_be_bytes(), &value);
            }
            writes.commit()?;
            database.persist(fjall::PersistMode::SyncData)?;
            let written = pace.elapsed();
            late.extend((first..due).map(|number| written.saturating_sub(pace.instant(number))));
        }
        late.sort_unstable();
        anyhow::Ok(late)
    };
    spawn_blocking(work).await.context("the bare database")?
}

/// Values in a keyspace of the embedded engine's own library, in their order.
#[derive(Clone)]
pub struct RawKeyspace {
    keyspace: fjall::Keyspace,
    // Closed after what is in it.
    _database: fjall::Database,
}

impl RawKeyspace {
    pub fn write(dir: &Path, values: impl Iterator<Item = anyhow::Result<Vec<u8>>>) -> anyhow::Result<Self> {
        let database = fjall::Database::builder(dir).open().context("open the raw database")?;
        let keyspace = database.keyspace("raw", fjall::KeyspaceCreateOptions::default)?;
        for (number, value) in (0_u64..).zip(values) {
            keyspace.insert(number.to_be_bytes(), value?)?;
        }
        database.persist(fjall::PersistMode::SyncData)?;
        Ok(Self { keyspace, _database: database })
    }

    pub fn for_each_value(&self, mut with: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        for item in self.keyspace.iter() {
            let (_, value) = item.into_inner()?;
            with(&value)?;
        }
        Ok(())
    }
}
