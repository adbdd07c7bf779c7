//! Writing days: one row into each of many persons' day, a thousand persons a call.

use std::time::Duration;

use model::{
    AudienceMatch, Day, DayRow, Entry, EntryKey, EntryReason, EventKey, Kind, Person, SubjectRef, Tenant,
    UtcMillis, entry::DayKey,
};
use runtime::{Clock, clock::SteadyStopwatch};
use store::{DayRows, DayStore};
use store_embedded::EmbeddedStore;

use crate::{
    ROUNDS, raw_loop,
    report::{BenchFigure, BenchReport},
};

const AT_ONCE: usize = 1_000;
/// About what one row takes as key and value.
pub const ROW_BYTES: usize = 60;

pub async fn run(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    let (mut ours, mut others, mut held) = (Vec::new(), Vec::new(), true);
    for round in 1..=ROUNDS {
        progress(&format!("rows: round {round} of {ROUNDS}"));
        let dir = tempfile::tempdir()?;
        others.push(raw_loop::write_batches(&dir.path().join("raw"), size, ROW_BYTES, AT_ONCE)?);
        let (took, all) = time_writes(&dir.path().join("store"), size).await?;
        ours.push(took);
        held &= all;
    }
    let figures = vec![BenchFigure::rate("rows written", size, &ours, &others)];
    let checked = "every person's row is read back after reopening";
    Ok(BenchReport::new("rows", "embedded, synced to disk before each answer", figures, (checked, held)))
}

/// A row of one person's day.
fn day_rows(n: usize, key: EntryKey) -> anyhow::Result<DayRows> {
    let (tenant, person) = (Tenant::new("bench")?, Person::new(&format!("person-{n}"))?);
    let reason = EntryReason {
        kind: Kind::new("news")?,
        because: AudienceMatch::Follows(SubjectRef::new("author:1")?),
    };
    let rows = vec![DayRow::Entry(Entry {
        key,
        reason,
        subject: SubjectRef::new("work:1")?,
        actor: None,
        kept: model::KeptFields::new(),
    })];
    Ok(DayRows { key: DayKey { tenant, person, day: key.day() }, rows })
}

async fn time_writes(dir: &std::path::Path, size: usize) -> anyhow::Result<(Duration, bool)> {
    let now = UtcMillis(Clock::real(0).now());
    let key = EntryKey { occurred: now, event: EventKey([1; 16]) };
    let all: Vec<DayRows> = (0..size).map(|n| day_rows(n, key)).collect::<anyhow::Result<_>>()?;
    let engine = EmbeddedStore::open(dir)?;
    let watch = SteadyStopwatch::start();
    for some in all.chunks(AT_ONCE) {
        engine.write(some.to_vec(), now).await?;
    }
    let took = watch.elapsed();
    drop(engine);
    let engine = EmbeddedStore::open(dir)?;
    for some in all.chunks(AT_ONCE) {
        let keys: Vec<DayKey> = some.iter().map(|day| day.key.clone()).collect();
        let read = engine.read(&keys, now).await?;
        if read.iter().zip(some).any(|(read, written)| *read != written.rows) {
            return Ok((took, false));
        }
    }
    debug_assert_eq!(key.day(), Day::from_instant(now));
    Ok((took, true))
}
