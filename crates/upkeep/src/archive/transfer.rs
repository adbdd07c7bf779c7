//! Archiving for somebody elsewhere: the rows go to them as the bytes of a file, and the days are dropped once they show
//! that they have every row.
//!
//! What they show is a digest of each day, made of the file that they read back. The house makes the same of its store
//! before it drops anything, so a file that was cut on the way, or is of another house, drops nothing, and nothing has
//! to be remembered between the two requests: another process may answer the second one.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Write as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use anyhow::{Context as _, ensure};
use model::{Day, DayRow, UtcMillis, entry::DayKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use store::Store;
use tokio::sync::mpsc::Sender;
use wire::archive::{ArchiveWriter, encode_row, open_archive};

use super::unfinished_file::UnfinishedFile;
use super::{ArchiveCursor, ArchiveReport, ArchiveWatch, explain_file_in_the_way, file_exists, rows_of};

/// Bytes of the file that are read at once.
const PIECE_BYTES: usize = 64 * 1024;

/// All rows of a day, in few words.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct ArchiveDayDigest {
    pub day: String,
    pub rows: u64,
    /// SHA-256, over the rows as the topic's schema writes them, in their order.
    pub digest: String,
}

/// Digests of days, row by row.
#[derive(Default)]
struct DayDigester {
    days: Vec<ArchiveDayDigest>,
    now: Option<(Day, u64, Sha256)>,
}

impl DayDigester {
    fn add(&mut self, key: &DayKey, row: &DayRow) -> anyhow::Result<()> {
        let bytes = encode_row(key, row)?;
        if self.now.as_ref().is_none_or(|(day, ..)| *day != key.day) {
            self.end_day();
            self.now = Some((key.day, 0, Sha256::new()));
        }
        if let Some((_, rows, digest)) = &mut self.now {
            *rows += 1;
            digest.update((bytes.len() as u64).to_be_bytes());
            digest.update(&bytes);
        }
        Ok(())
    }

    fn end_day(&mut self) {
        if let Some((day, rows, digest)) = self.now.take() {
            let mut text = String::new();
            for byte in digest.finalize() {
                // Writing to a string cannot fail.
                let _never = write!(text, "{byte:02x}");
            }
            self.days.push(ArchiveDayDigest { day: day.to_string(), rows, digest: text });
        }
    }

    fn finish(mut self) -> Vec<ArchiveDayDigest> {
        self.end_day();
        self.days
    }
}

/// Bytes that were written and not yet taken.
#[derive(Clone, Default)]
struct PieceBuffer(Arc<Mutex<Vec<u8>>>);

impl PieceBuffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl io::Write for PieceBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Closes the days before `before`, and sends all their rows as the bytes of a container file. Nothing is dropped.
pub async fn export_days(
    store: &dyn Store,
    (before, now): (Day, UtcMillis),
    pieces: &Sender<Vec<u8>>,
) -> anyhow::Result<()> {
    let send = async |piece: Vec<u8>| {
        ensure!(piece.is_empty() || pieces.send(piece).await.is_ok(), "nobody takes the file any more");
        Ok(())
    };
    store.close_before(before).await.context("close the days")?;
    let out = PieceBuffer::default();
    let mut writer = ArchiveWriter::new(out.clone())?;
    let mut walk = ArchiveCursor::new(store, before, now);
    while let Some(part) = walk.next().await? {
        for (key, row) in rows_of(&part) {
            writer.append(key, row)?;
        }
        send(out.take()).await?;
    }
    writer.finish()?;
    send(out.take()).await
}

/// Writes what comes to a file, which gets its name once all of it is on the disk and can be read. Without rows there is
/// none.
pub fn receive_archive(
    mut from: impl Read,
    file: &Path,
    mut so_far: impl FnMut(u64),
) -> anyhow::Result<Option<Vec<ArchiveDayDigest>>> {
    ensure!(!file_exists(file), explain_file_in_the_way(file));
    let (unfinished, out) = UnfinishedFile::begin(file)?;
    let mut out = BufWriter::new(out);
    let (mut piece, mut bytes) = (vec![0; PIECE_BYTES], 0);
    loop {
        let read = from.read(&mut piece).context("read what the house sends")?;
        if read == 0 {
            break;
        }
        out.write_all(&piece[..read]).context("write the file")?;
        bytes += read as u64;
        so_far(bytes);
    }
    let out = out.into_inner().context("write the end of the file")?;
    out.sync_all().with_context(|| format!("sync the unfinished file of {}", file.display()))?;
    let days = digest_file(unfinished.path()).context("read the file back")?;
    if days.is_empty() {
        return Ok(None);
    }
    unfinished.finish(file)?;
    Ok(Some(days))
}

/// What a file holds of each day.
pub fn digest_file(file: &Path) -> anyhow::Result<Vec<ArchiveDayDigest>> {
    let found = fs::symlink_metadata(file).with_context(|| file.display().to_string())?;
    // What is no file is not opened: one would wait for who writes to a pipe.
    ensure!(found.is_file(), "{} is not a file", file.display());
    let mut days = DayDigester::default();
    let opened = File::open(file).with_context(|| format!("open {}", file.display()))?;
    for row in open_archive(BufReader::new(opened)).with_context(|| file.display().to_string())? {
        let (key, row) = row.with_context(|| file.display().to_string())?;
        days.add(&key, &row)?;
    }
    Ok(days.finish())
}

/// Drops the days before `before`, if somebody has every row that the store has of them. `Err` within is what they lack.
/// Days that they have and the store has not are those that were dropped before an interruption.
pub async fn drop_archived_days(
    store: &dyn Store,
    (before, now): (Day, UtcMillis),
    kept: &[ArchiveDayDigest],
    watch: &ArchiveWatch<'_>,
) -> anyhow::Result<Result<ArchiveReport, String>> {
    store.close_before(before).await.context("close the days")?;
    let mut walk = ArchiveCursor::new(store, before, now);
    let (mut days, mut archived) = (DayDigester::default(), ArchiveReport::default());
    while let Some(part) = walk.next().await? {
        for (key, row) in rows_of(&part) {
            days.add(key, row)?;
        }
        archived.add(&part, watch);
        watch.rows.store(archived.rows, Ordering::Relaxed);
    }
    if let Some(day) = days.finish().into_iter().find(|day| !kept.contains(day)) {
        let ArchiveDayDigest { day, rows, .. } = day;
        return Ok(Err(format!(
            "the file does not hold the {rows} rows that the store has of {day}, so nothing was dropped; move it away, and run the command again to fetch them anew"
        )));
    }
    store.drop_before(before).await.context("drop the days")?;
    Ok(Ok(archived))
}
