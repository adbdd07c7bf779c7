//! How long `up` takes until it is ready: on an empty directory, and on one with many entries.

use std::path::Path;

use anyhow::Context as _;
use model::{
    Because, Day, Entry, EntryKey, EventKey, Kind, Millis, Person, PlanName, Reason, Row, SubjectRef, Tenant,
    entry::DayKey,
    limits::DAY_MS,
    partition::Partitions,
    person::{PersonRecord, Window},
};
use runtime::Clock;
use store::{DayRows, Days as _};
use topic::{NewRecord, Retention, TopicSpec, Topics as _, embedded::Embedded};
use wire::topics::{self, Keep};

use crate::{
    process::Bed,
    report::{Figure, Oracle, Report, machine},
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

pub async fn run(size: usize, program: &Path, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Report> {
    let bed = Bed::new(program)?;
    let persons = size.div_ceil(OF_ONE);
    progress(&format!("start: {} entries of {persons} persons are written", persons * OF_ONE));
    fill(&bed.path("full"), persons, progress).await.context("fill a directory")?;
    let (mut empty, mut full) = (Vec::new(), Vec::new());
    for start in 1..=STARTS {
        progress(&format!("start: {start} of {STARTS}"));
        empty.push(bed.up(&format!("empty-{start}"))?.ready.as_secs_f64());
        full.push(bed.up("full")?.ready.as_secs_f64());
    }
    let _up = bed.up("full")?;
    let held = [0, persons / 2, persons - 1].into_iter().map(|n| bed.entries("full", &person(n)));
    let held = held.collect::<anyhow::Result<Vec<usize>>>()?.iter().all(|entries| *entries == OF_ONE);
    Ok(Report {
        bench: "start".into(),
        engine: "embedded, the real program; against the bound".into(),
        machine: machine(),
        figures: vec![
            Figure::bound("ready on an empty directory", median(empty), "seconds", EMPTY_SECONDS_MAX),
            Figure::bound("ready on all entries", median(full), "seconds", FULL_SECONDS_MAX),
        ],
        oracle: Oracle { checked: "three persons still have every entry".into(), held },
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn person(n: usize) -> String {
    format!("person-{n}")
}

/// Fills a directory as weeks of work would: days, and a window open for many.
async fn fill(dir: &Path, persons: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<()> {
    let tenant = Tenant::new("bench")?;
    let now = Millis(Clock::real(0).now());
    let store = store::embedded::Embedded::open(&dir.join("store"))?;
    for first in (0..persons).step_by(AT_ONCE) {
        let mut rows = Vec::new();
        for n in first..persons.min(first + AT_ONCE) {
            rows.extend(days(&tenant, n, now)?);
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
        let records = some.map(|n| window(&tenant, n, now)).collect::<anyhow::Result<_>>()?;
        log.append(records).await?;
    }
    log.close();
    Ok(())
}

/// A log with all the topics of a house.
pub async fn open_log(dir: &Path) -> anyhow::Result<Embedded> {
    let log = Embedded::open(dir, Clock::real(0))?;
    let spec = |(name, partitions, keep): (&str, u32, Keep)| {
        let retention = match keep {
            Keep::Millis(ms) => Retention::Milliseconds(ms),
            Keep::Latest => Retention::Compacted,
        };
        TopicSpec { name: name.into(), partitions, retention }
    };
    log.declare(&topics::all(Partitions::USUAL).map(spec)).await?;
    Ok(log)
}

/// All days of one person.
fn days(tenant: &Tenant, n: usize, now: Millis) -> anyhow::Result<Vec<DayRows>> {
    let person = Person::new(&person(n))?;
    let reason = Reason { kind: Kind::new("news")?, because: Because::Follows(SubjectRef::new("author:1")?) };
    let mut days = Vec::new();
    for back in 0..DAYS {
        let occurred = now.plus(-DAY_MS * i64::try_from(back)?);
        let key = DayKey { tenant: tenant.clone(), person: person.clone(), day: Day::of(occurred) };
        let mut rows = Vec::new();
        for one in 0..OF_ONE / DAYS {
            let event = EventKey::of(tenant, "bench", &format!("{n} {back} {one}"));
            let subject = SubjectRef::new(&format!("work:{back}-{one}"))?;
            let entry =
                Entry { key: EntryKey { occurred, event }, reason: reason.clone(), subject, actor: None };
            rows.push(Row::Entry(entry));
        }
        days.push(DayRows { key, rows });
    }
    Ok(days)
}

/// A window that closes tomorrow.
fn window(tenant: &Tenant, n: usize, now: Millis) -> anyhow::Result<NewRecord> {
    let person = Person::new(&person(n))?;
    let opened = Window::new(PlanName::new("daily")?, 0, "".into(), now);
    let window = Window { due: now.plus(DAY_MS), days: [Day::of(now)].into(), ..opened };
    let record = PersonRecord { windows: vec![window], last_opening: now, ..PersonRecord::default() };
    Ok(NewRecord {
        topic: topics::WINDOWS.into(),
        partition: Partitions::USUAL.of_person(tenant, &person),
        key: wire::key::person(tenant, &person),
        value: Some(wire::window::encode(tenant, &person, &record)?),
        headers: Vec::new(),
    })
}
