//! Archiving: old days are written to an Avro container file, and then dropped, each as one piece, while
//! everything else goes on.
//!
//! In this order, so that a crash anywhere leaves every row in the store or in a whole file: the days take no
//! more rows, their rows are written and synced under another name, the file gets its name, the days are
//! dropped. What was interrupted before the file had its name is done again from the beginning; a whole file
//! whose days are still there is compared with them row by row, and they are dropped.
//!
//! The caller sees to it that nothing is owed any more from the days that go: `first_unarchivable_day` goes by the clock,
//! and so is right only of a house that is at rest.

use std::{
    fs::{self, File},
    io::{BufReader, BufWriter},
    iter::Peekable,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context as _, bail, ensure};
use catalogue::Catalogue;
use model::{
    Day, DayRow, UtcMillis,
    entry::DayKey,
    limits::{DAY_MS, LATE_MS_MAX},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{DayPart, DayRows, Store};

mod person_removal;
mod transfer;
mod unfinished_file;

#[cfg(test)]
mod tests;

pub use person_removal::remove_person;
pub use transfer::{ArchiveDayDigest, digest_file, drop_archived_days, export_days, receive_archive};
use unfinished_file::UnfinishedFile;

/// Rows read at once.
const PART_MAX: usize = 2_000;
/// How many days before the oldest that lives are looked at: the keeper drops one a day, and may have been
/// stopped for as long.
const DAYS_BEFORE: i32 = 400;

/// What was archived.
#[derive(Clone, PartialEq, Eq, Debug, Default, JsonSchema, Serialize, Deserialize)]
pub struct ArchiveReport {
    /// Days that had rows.
    pub days: Vec<String>,
    pub rows: u64,
    pub bytes: u64,
    /// The file; none if there was nothing to write.
    pub file: Option<PathBuf>,
}

/// The progress of an archiving, and its check of the disk while it writes.
pub struct ArchiveWatch<'a> {
    /// Rows written so far.
    pub rows: &'a AtomicU64,
    /// Whether the disk is down to its reserve: the house needs that room more than the file does.
    pub disk_low: &'a (dyn Fn() -> bool + Sync),
}

/// The first day that cannot be archived yet: events for it may still come, or a plan may still tell from it.
pub fn first_unarchivable_day(catalogue: &Catalogue, now: UtcMillis) -> Day {
    let look_back = catalogue.plans.by_name.values().map(|plan| i32::from(plan.look_back_days)).max();
    let late = i32::try_from(LATE_MS_MAX / DAY_MS).unwrap_or(i32::MAX);
    Day::from_instant(now).plus(-look_back.unwrap_or(0).max(late) - 1)
}

/// `2026-11-13`, or `9d` for so many days ago.
pub fn parse_day(text: &str, now: UtcMillis) -> Option<Day> {
    match text.strip_suffix('d').map(str::parse) {
        Some(Ok(back)) => (0..=DAYS_BEFORE).contains(&back).then(|| Day::from_instant(now).plus(-back)),
        _ => Day::parse(text),
    }
}

/// Why these days cannot go yet, by the clock alone.
pub fn find_day_obstacle(catalogue: &Catalogue, (before, now): (Day, UtcMillis)) -> Option<String> {
    let kept = first_unarchivable_day(catalogue, now);
    (before > kept)
        .then(|| format!("entries of {kept} and later may still be told; the days before {kept} can go"))
}

/// Why nothing can be archived, as far as can be told without reading all of it.
pub async fn find_archive_obstacle(
    store: &dyn Store,
    catalogue: &Catalogue,
    (before, now): (Day, UtcMillis),
    file: &Path,
) -> anyhow::Result<Option<String>> {
    if let Some(why) = find_day_obstacle(catalogue, (before, now)) {
        return Ok(Some(why));
    }
    if !file_exists(file) {
        return Ok(None);
    }
    // It may be the file of an archiving that was interrupted before the days were dropped.
    let may_be_ours = ArchiveFileRows::open(file).is_some()
        && ArchiveCursor::new(store, before, now).next().await?.is_some();
    Ok((!may_be_ours).then(|| explain_file_in_the_way(file)))
}

/// Writes every day before `before` to a file, and drops them. A file that is there already must hold just
/// what is to be written.
pub async fn archive_days(
    store: &dyn Store,
    catalogue: &Catalogue,
    (before, now): (Day, UtcMillis),
    file: &Path,
    watch: &ArchiveWatch<'_>,
) -> anyhow::Result<ArchiveReport> {
    if let Some(why) = find_archive_obstacle(store, catalogue, (before, now), file).await? {
        bail!(why);
    }
    store.close_before(before).await.context("close the days")?;
    let walk = ArchiveCursor::new(store, before, now);
    let mut archived = match file_exists(file) {
        true => compare_archive(walk, file, watch).await?.with_context(|| explain_file_in_the_way(file))?,
        false => write_archive(walk, file, watch).await?,
    };
    if archived.rows > 0 {
        archived.bytes = fs::metadata(file).map_or(0, |found| found.len());
        archived.file = Some(file.to_owned());
    }
    store.drop_before(before).await.context("drop the days")?;
    Ok(archived)
}

/// Writes the file; there is none if there are no rows.
async fn write_archive(
    mut walk: ArchiveCursor<'_>,
    file: &Path,
    watch: &ArchiveWatch<'_>,
) -> anyhow::Result<ArchiveReport> {
    let mut archived = ArchiveReport::default();
    // Declared before what writes to it, and so dropped after that.
    let (unfinished, out) = UnfinishedFile::begin(file)?;
    let mut writer = wire::archive::ArchiveWriter::new(BufWriter::new(out))?;
    while let Some(part) = walk.next().await? {
        ensure!(
            !(watch.disk_low)(),
            "the disk is down to its reserve; nothing was dropped, and the unfinished file was removed"
        );
        for (key, row) in rows_of(&part) {
            writer.append(key, row)?;
        }
        archived.add(&part, watch);
    }
    let out = writer.finish()?.into_inner().context("write the end of the file")?;
    out.sync_all().with_context(|| format!("sync the unfinished file of {}", file.display()))?;
    if archived.rows > 0 {
        unfinished.finish(file)?;
    }
    Ok(archived)
}

/// Whether a file holds all rows of the days, in their order, and nothing else but days before those: what
/// was dropped before the interruption were the oldest.
async fn compare_archive(
    mut walk: ArchiveCursor<'_>,
    file: &Path,
    watch: &ArchiveWatch<'_>,
) -> anyhow::Result<Option<ArchiveReport>> {
    let mut archived = ArchiveReport::default();
    let Some(mut kept) = ArchiveFileRows::open(file) else { return Ok(None) };
    while let Some(part) = walk.next().await? {
        if archived.rows == 0 {
            kept.pass_before(part.first().map(|of| of.key.day)).await;
        }
        if !rows_of(&part).all(|(key, row)| kept.next_is(key, row)) {
            return Ok(None);
        }
        archived.add(&part, watch);
    }
    if archived.rows == 0 || kept.0.next().is_some() {
        return Ok(None);
    }
    // The crash may have been a power cut, right after the file was given its name.
    unfinished_file::sync_file(file)?;
    Ok(Some(archived))
}

fn rows_of(part: &[DayRows]) -> impl Iterator<Item = (&DayKey, &DayRow)> {
    part.iter().flat_map(|of| of.rows.iter().map(|row| (&of.key, row)))
}

fn file_exists(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

fn explain_file_in_the_way(file: &Path) -> String {
    format!("{} exists already, and does not hold what the store still has of these days", file.display())
}

impl ArchiveReport {
    fn add(&mut self, part: &[DayRows], watch: &ArchiveWatch<'_>) {
        for of in part {
            let day = of.key.day.to_string();
            if self.days.last() != Some(&day) {
                self.days.push(day);
            }
            self.rows += of.rows.len() as u64;
        }
        watch.rows.store(self.rows, Ordering::Relaxed);
    }
}

/// Goes over the days, part by part.
struct ArchiveCursor<'a> {
    store: &'a dyn Store,
    day: Day,
    before: Day,
    from: Option<Vec<u8>>,
}

impl<'a> ArchiveCursor<'a> {
    fn new(store: &'a dyn Store, before: Day, now: UtcMillis) -> Self {
        Self { store, day: store.day_life().oldest_day(now).plus(-1 - DAYS_BEFORE), before, from: None }
    }

    /// Rows of one day; `None` after the last of all.
    async fn next(&mut self) -> anyhow::Result<Option<Vec<DayRows>>> {
        while self.day < self.before {
            let day = self.day;
            let part = self.store.scan(day, self.from.as_deref(), PART_MAX).await;
            let DayPart { rows, next } = part.with_context(|| format!("read {day}"))?;
            ensure!(next.is_none() || next != self.from, "reading {day} makes no progress");
            self.from = next;
            if self.from.is_none() {
                self.day = day.plus(1);
            }
            if rows.iter().any(|of| !of.rows.is_empty()) {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

/// The rows of a file that was there already.
struct ArchiveFileRows(Peekable<wire::archive::ArchiveReader<BufReader<File>>>);

impl ArchiveFileRows {
    /// `None` if it is no archive. Whatever is no file is not opened: one would wait for who writes to a pipe.
    fn open(file: &Path) -> Option<Self> {
        if !file.symlink_metadata().ok()?.is_file() {
            return None;
        }
        let rows = wire::archive::open_archive(BufReader::new(File::open(file).ok()?)).ok()?;
        Some(Self(rows.peekable()))
    }

    /// Passes by the rows of earlier days.
    async fn pass_before(&mut self, day: Option<Day>) {
        let mut passed = 0;
        while self.0.next_if(|row| row.as_ref().is_ok_and(|(key, _)| Some(key.day) < day)).is_some() {
            passed += 1;
            if passed % PART_MAX == 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    fn next_is(&mut self, key: &DayKey, row: &DayRow) -> bool {
        self.0.next().is_some_and(|next| next.is_ok_and(|next| (&next.0, &next.1) == (key, row)))
    }
}
