//! How long `start_up` takes until it is ready: on an empty directory, and on one with many entries.

use std::path::Path;

use anyhow::Context as _;
use model::{
    AudienceMatch, Day, DayRow, Entry, EntryKey, EntryReason, EventKey, Kind, Person, PlanName, SubjectRef,
    Tenant, UtcMillis,
    entry::DayKey,
    limits::DAY_MS,
    partition::PartitionCount,
    person::{PersonRecord, Window},
};
use runtime::Clock;
use store::{DayRows, DayStore as _};
use topic::{NewRecord, TopicRetention, TopicSpec, Topics as _, embedded::EmbeddedTopics};
use wire::topics::{self, KeepPolicy};

use crate::{
    process::BenchProgram,
    report::{BenchFigure, BenchReport, median_of},
};

/// Entries of each person, and over how many days they lie.
const OF_ONE: usize = 100;
const DAYS: usize = 20;
/// Persons written at once, and persons with a window open at most.
const AT_ONCE: usize = 500;
const WINDOWS_MAX: usize = 100_000;
/// With fewer entries it does not matter what is still in the log.
const RESTED_FROM: usize = 1_000_000;
const REST_MS: i64 = 90_000;
/// Starts on each directory; the median counts.
const STARTS: usize = 3;
const EMPTY_SECONDS_MAX: f64 = 1.0;
const FULL_SECONDS_MAX: f64 = 3.0;

pub async fn run(
    size: usize,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let bed = BenchProgram::new(program)?;
    let persons = size.div_ceil(OF_ONE);
    progress(&format!("start: {} entries of {persons} persons are written", persons * OF_ONE));
    fill_directory(&bed.path("full"), persons, progress).await.context("fill a directory")?;
    let (mut empty, mut full) = (Vec::new(), Vec::new());
    for start in 1..=STARTS {
        progress(&format!("start: {start} of {STARTS}"));
        empty.push(bed.start_up(&format!("empty-{start}"))?.ready.as_secs_f64());
        full.push(bed.start_up("full")?.ready.as_secs_f64());
    }
    let _up = bed.start_up("full")?;
    let held = [0, persons / 2, persons - 1].into_iter().map(|n| bed.count_entries("full", &person_name(n)));
    let held = held.collect::<anyhow::Result<Vec<usize>>>()?.iter().all(|entries| *entries == OF_ONE);
    let figures = vec![
        BenchFigure::bound("ready on an empty directory", median_of(empty), "seconds", EMPTY_SECONDS_MAX),
        BenchFigure::bound("ready on all entries", median_of(full), "seconds", FULL_SECONDS_MAX),
    ];
    let checked = "three persons still have every entry";
    Ok(BenchReport::new("start", "embedded, the real program; against the bound", figures, (checked, held)))
}

fn person_name(n: usize) -> String {
    format!("person-{n}")
}

/// Fills a directory as weeks of work would: days, and a window open for many.
async fn fill_directory(dir: &Path, persons: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<()> {
    let tenant = Tenant::new("bench")?;
    let now = UtcMillis(Clock::real(0).now());
    let store = store_embedded::EmbeddedStore::open(&dir.join("store"))?;
    for first in (0..persons).step_by(AT_ONCE) {
        let mut rows = Vec::new();
        for n in first..persons.min(first + AT_ONCE) {
            rows.extend(person_days(&tenant, n, now)?);
        }
        store.write(rows, now).await?;
    }
    if persons * OF_ONE >= RESTED_FROM {
        // A house moves days from memory to disk once nobody has written to them for a minute; of weeks of
        // work only the last minute is in the log.
        progress("start: the store rests for as long as it takes to tidy up");
        let clock = Clock::real(0);
        clock.sleep_until(clock.now() + REST_MS).await;
    }
    drop(store);
    let log = open_log(&dir.join("topics")).await?;
    for first in (0..persons.min(WINDOWS_MAX)).step_by(AT_ONCE) {
        let some = first..persons.min(WINDOWS_MAX).min(first + AT_ONCE);
        let records = some.map(|n| window_record(&tenant, n, now)).collect::<anyhow::Result<_>>()?;
        log.append(records).await?;
    }
    log.close();
    Ok(())
}

/// A log with all the topics of a house.
pub async fn open_log(dir: &Path) -> anyhow::Result<EmbeddedTopics> {
    let log = EmbeddedTopics::open(dir, Clock::real(0))?;
    let spec = |(name, partitions, keep): (&str, u32, KeepPolicy)| {
        let retention = match keep {
            KeepPolicy::Millis(ms) => TopicRetention::Milliseconds(ms),
            KeepPolicy::Latest => TopicRetention::Compacted,
        };
        TopicSpec { name: name.into(), partitions, retention }
    };
    log.declare(&topics::all_topics(PartitionCount::USUAL).map(spec)).await?;
    Ok(log)
}

/// All days of one person.
fn person_days(tenant: &Tenant, n: usize, now: UtcMillis) -> anyhow::Result<Vec<DayRows>> {
    let person = Person::new(&person_name(n))?;
    let reason = EntryReason {
        kind: Kind::new("news")?,
        because: AudienceMatch::Follows(SubjectRef::new("author:1")?),
    };
    let mut days = Vec::new();
    for back in 0..DAYS {
        let occurred = now.plus(-DAY_MS * i64::try_from(back)?);
        let key = DayKey { tenant: tenant.clone(), person: person.clone(), day: Day::from_instant(occurred) };
        let mut rows = Vec::new();
        for one in 0..OF_ONE / DAYS {
            let event = EventKey::from_source_id(tenant, "bench", &format!("{n} {back} {one}"));
            let subject = SubjectRef::new(&format!("work:{back}-{one}"))?;
            let entry = Entry {
                key: EntryKey { occurred, event },
                reason: reason.clone(),
                subject,
                actor: None,
                kept: model::KeptFields::new(),
            };
            rows.push(DayRow::Entry(entry));
        }
        days.push(DayRows { key, rows });
    }
    Ok(days)
}

/// A window that closes tomorrow.
fn window_record(tenant: &Tenant, n: usize, now: UtcMillis) -> anyhow::Result<NewRecord> {
    let person = Person::new(&person_name(n))?;
    let opened = Window::new(PlanName::new("daily")?, 0, "".into(), now);
    let window = Window { due: now.plus(DAY_MS), days: [Day::from_instant(now)].into(), ..opened };
    let record = PersonRecord { windows: vec![window], last_opening: now, ..PersonRecord::default() };
    Ok(room::records::window_record((tenant, &person), &record, PartitionCount::USUAL, now)?)
}
