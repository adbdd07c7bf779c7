//! Archiving: old days are written to an Avro container file, and then dropped, each as one piece, while
//! everything else goes on.
//!
//! In this order, so that a crash anywhere leaves every row in the store or in a whole file: the days take no
//! more rows, their rows are written and synced under another name, the file gets its name, the days are
//! dropped. What was interrupted is simply done again.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context as _, bail, ensure};
use catalogue::Catalogue;
use model::{
    Day, Millis,
    limits::{DAY_LIFE_MS, DAY_MS, LATE_MS_MAX},
};
use serde::{Deserialize, Serialize};
use store::{DayPart, Store};

/// Persons read at once.
const PART_MAX: usize = 2_000;
/// How many days before the oldest that lives are looked at: the keeper drops one a day, and may have been
/// stopped for as long.
const DAYS_BEFORE: i32 = 400;

/// What was archived.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Archived {
    /// Days that had rows.
    pub days: Vec<String>,
    pub rows: u64,
    pub bytes: u64,
    /// The file; none if there was nothing to write.
    pub file: Option<PathBuf>,
}

/// The first day that cannot be archived yet: events for it may still come, or a plan may still tell from it.
pub fn kept_from(catalogue: &Catalogue, now: Millis) -> Day {
    let look_back = catalogue.plans.by_name.values().map(|plan| i32::from(plan.look_back_days)).max();
    let late = i32::try_from(LATE_MS_MAX / DAY_MS).unwrap_or(i32::MAX);
    Day::of(now).plus(-look_back.unwrap_or(0).max(late) - 1)
}

/// `2026-11-13`, or `9d` for so many days ago.
pub fn day(text: &str, now: Millis) -> Option<Day> {
    match text.strip_suffix('d').map(str::parse) {
        Some(Ok(back)) => (0..=DAYS_BEFORE).contains(&back).then(|| Day::of(now).plus(-back)),
        _ => Day::parse(text),
    }
}

/// Writes every day before `before` to a file that is not there yet, and drops them.
pub async fn archive(
    store: &dyn Store,
    catalogue: &Catalogue,
    (before, now): (Day, Millis),
    file: &Path,
    rows: &AtomicU64,
) -> anyhow::Result<Archived> {
    let kept = kept_from(catalogue, now);
    ensure!(before <= kept, "entries of {kept} and later may still be told; the days before {kept} can go");
    ensure!(!file.exists(), "{} is there already", file.display());
    store.close_before(before).await.context("close the days")?;
    let unfinished = file.with_extension("avro.unfinished");
    let archived = write(store, before, now, &unfinished, rows).await;
    let mut archived = match archived {
        Ok(archived) if archived.rows > 0 => archived,
        other => {
            drop(fs::remove_file(&unfinished));
            other?
        }
    };
    if archived.rows > 0 {
        fs::rename(&unfinished, file).with_context(|| format!("name {}", file.display()))?;
        synced(file.parent())?;
        archived.bytes = fs::metadata(file).map_or(0, |found| found.len());
        archived.file = Some(file.to_owned());
    }
    store.drop_before(before).await.context("drop the days")?;
    Ok(archived)
}

async fn write(
    store: &dyn Store,
    before: Day,
    now: Millis,
    file: &Path,
    rows: &AtomicU64,
) -> anyhow::Result<Archived> {
    let mut archived = Archived::default();
    let out = File::create(file).with_context(|| format!("make {}", file.display()))?;
    let mut writer = wire::archive::Writer::new(BufWriter::new(out))?;
    let life = i32::try_from(DAY_LIFE_MS / DAY_MS).unwrap_or(i32::MAX);
    for back in (1..=life + DAYS_BEFORE).rev() {
        let day = Day::of(now).plus(-back);
        if day >= before {
            break;
        }
        let mut from = None;
        let earlier = archived.rows;
        loop {
            let DayPart { rows: persons, next } =
                store.scan(day, from.as_deref(), PART_MAX).await.with_context(|| format!("read {day}"))?;
            for person in &persons {
                for row in &person.rows {
                    writer.append(&person.key, row)?;
                }
                archived.rows += person.rows.len() as u64;
            }
            rows.store(archived.rows, Ordering::Relaxed);
            let Some(next) = next else { break };
            if from.as_ref() == Some(&next) {
                bail!("reading {day} does not come forward");
            }
            from = Some(next);
        }
        if archived.rows > earlier {
            archived.days.push(day.to_string());
        }
    }
    let out = writer.finish()?.into_inner().context("write the last of it")?;
    out.sync_all().with_context(|| format!("sync {}", file.display()))?;
    Ok(archived)
}

/// A new name is durable when its folder is.
fn synced(folder: Option<&Path>) -> anyhow::Result<()> {
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .with_context(|| format!("sync {}", folder.display()))
}
