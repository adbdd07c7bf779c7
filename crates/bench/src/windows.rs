//! Many windows open in the real program: how much memory each takes, how late those close that fall due, and how long
//! it takes after kill -9 until all are there again.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::{Context as _, bail};
use model::{
    Day, Event, Person, PlanName, UtcMillis, Value, VersionedState,
    entry::DayKey,
    limits::DAY_MS,
    partition::PartitionCount,
    person::{PersonRecord, Window, profile},
};
use room::records::window_record;
use runtime::{Clock, clock::SteadyStopwatch};
use store::{DayRows, DayStore as _, StateKey, StateStore as _};
use topic::{NewRecord, Topics as _};
use wire::topics;

use crate::{
    fanout_room,
    process::{BenchProcess, BenchProgram},
    report::{BenchFigure, BenchReport},
    startup::open_log,
};

/// Windows close so long after they opened: so any instant can be one at which one is due.
const OPEN: &str = "12h";
const OPEN_MS: i64 = DAY_MS / 2;
/// Windows that close do so while all the others are open: one in so many, and so many at most.
const DUE_PART: usize = 10;
const DUE_MAX: usize = 10_000;
/// From one that is due to the next, and how long it is until the first is, beside what starting takes.
const APART_MS: i64 = 12;
const MARGIN_MS: i64 = 2_000;
/// Those that stay open fall due within this, hours after the bench.
const LATER_MS: usize = 3_600_000;

/// Records written at once, persons stored at once, and records read at once.
const AT_ONCE: usize = 5_000;
const STORED_AT_ONCE: usize = 500;
const READ_AT_ONCE: usize = 10_000;
/// Give up after this.
const PATIENCE: Duration = Duration::from_secs(900);
/// Between two looks at the program.
const LOOK_MS: i64 = 25;

const BYTES_MAX: f64 = 160.0;
const LATE_SECONDS_MAX: f64 = 1.0;
const RESTORE_SECONDS_MAX: f64 = 30.0;

const OPEN_WINDOWS: &str = "tidings_digest_open_windows";
const CLOSED_WINDOWS: &str = "tidings_digest_windows_closed_total";

pub async fn run(
    size: usize,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let bed = BenchProgram::with_catalogue(program, &fanout_room::catalogue_closing_after(OPEN, 8))?;
    // The first ones are due.
    let due = size.div_ceil(DUE_PART).min(DUE_MAX);
    progress(&format!("windows: {} are opened", size - due));
    let later = WindowLoad::now()?;
    let opened = |n: usize| later.at.plus(-i64::try_from(n % LATER_MS).unwrap_or(0));
    let half = due + (size - due) / 2;
    let nothing = bed.start_up("empty")?.memory()?;
    later.write(&bed.path("data"), due..half, opened, progress).await.context("open windows")?;
    let (_, of_half) = measure_restored(&bed, half - due).await?;
    later.write(&bed.path("data"), half..size, opened, progress).await.context("open windows")?;
    let (first, of_all) = measure_restored(&bed, size - due).await?;
    progress(&format!(
        "windows: there after {:.1} s; {due} more are opened, which fall due",
        first.as_secs_f64()
    ));

    let now = WindowLoad::now()?;
    now.store_due_persons(&bed.path("data"), due).await.context("store what is told")?;
    let from = Clock::real(0).now() + 2 * i64::try_from(first.as_millis())? + MARGIN_MS;
    let opened = |n: usize| UtcMillis(from - OPEN_MS + APART_MS * i64::try_from(n).unwrap_or(0));
    now.write(&bed.path("data"), 0..due, opened, progress).await.context("open windows")?;
    let up = bed.start_up("data")?;
    await_restored(&up, size).await?;
    let mut memory = up.memory()?;
    progress(&format!("windows: {size} are open, {} MiB; {due} close", memory >> 20));
    await_closed(&up, due).await?;
    memory = memory.max(up.memory()?);
    let peak = up.memory_peak()?;
    // As kill -9 does.
    drop(up);

    let up = bed.start_up("data")?;
    let again = await_restored(&up, size - due).await?;
    let open = up.sum_metric(OPEN_WINDOWS)?;
    drop(up);
    let ReadyFindings { late, once } =
        read_readys(&bed.path("data"), due).await.context("read what was told")?;
    Ok(build_report(&WindowFigures {
        size,
        nothing,
        further: (of_all.saturating_sub(of_half), size - half),
        memory,
        peak,
        late,
        again,
        held: once && open == size - due,
    }))
}

/// How long a start takes until so many windows are there, and the memory of the process then.
async fn measure_restored(bed: &BenchProgram, open: usize) -> anyhow::Result<(Duration, u64)> {
    let up = bed.start_up("data")?;
    let took = await_restored(&up, open).await?;
    Ok((took, up.memory()?))
}

/// What came out.
struct WindowFigures {
    size: usize,
    nothing: u64,
    /// What the second half of those that stay open took beside the first, and how many they are.
    further: (u64, usize),
    memory: u64,
    peak: u64,
    late: Vec<i64>,
    again: Duration,
    held: bool,
}

#[allow(clippy::cast_precision_loss, reason = "figures for people to read")]
fn build_report(measured: &WindowFigures) -> BenchReport {
    let WindowFigures { size, nothing, further, memory, peak, late, again, held } = measured;
    let each = |bytes: u64| bytes.saturating_sub(*nothing) as f64 / *size as f64;
    let further_each = further.0 as f64 / further.1.max(1) as f64;
    let late = |hundredths: usize| {
        let at = (late.len() * hundredths / 100).min(late.len().saturating_sub(1));
        late.get(at).map_or(f64::NAN, |ms| *ms as f64 / 1_000.0)
    };
    let (p50, p99) = (late(50), late(99));
    let (memory, peak, again) = (each(*memory), each(*peak), again.as_secs_f64());
    let of_process = "memory of the process, with its engines, for each open window";
    let restored = "from the start after kill -9 until all are there";
    let figures = vec![
        BenchFigure::bound("memory for each further window", further_each, "bytes", BYTES_MAX),
        BenchFigure::compared_with(of_process, memory, "bytes", further_each),
        BenchFigure::compared_with("the same at its peak, while it restored", peak, "bytes", memory),
        BenchFigure::bound("from due to its Ready in the log, p99", p99, "seconds", LATE_SECONDS_MAX),
        BenchFigure::compared_with("the same, p50", p50, "seconds", p99),
        BenchFigure::bound(restored, again, "seconds", RESTORE_SECONDS_MAX),
    ];
    let checked =
        "each that was due was told once with its entry, no other was, and after kill -9 all others are open";
    BenchReport::new("windows", "embedded, the real program; against the bounds", figures, (checked, *held))
}

/// Windows as the digest would have opened them.
struct WindowLoad {
    at: UtcMillis,
    event: Event,
    plan: PlanName,
    plan_hash: u64,
}

impl WindowLoad {
    fn now() -> anyhow::Result<Self> {
        let (event, plan) = (fanout_room::numbered_event(0)?, PlanName::new(fanout_room::PLAN)?);
        let catalogue = fanout_room::parse_catalogue(&fanout_room::catalogue_closing_after(OPEN, 8))?;
        let plan_hash = catalogue.plans.by_name.get(&plan).context("the plan")?.hash;
        Ok(Self { at: event.occurred, event, plan, plan_hash })
    }

    /// Writes the windows of these persons.
    async fn write(
        &self,
        dir: &Path,
        persons: std::ops::Range<usize>,
        opened: impl Fn(usize) -> UtcMillis,
        progress: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<()> {
        let log = open_log(&dir.join("topics")).await?;
        for first in persons.clone().step_by(AT_ONCE) {
            let some = first..persons.end.min(first + AT_ONCE);
            let records = some.map(|n| self.record(n, opened(n))).collect::<anyhow::Result<_>>()?;
            log.append(records).await?;
            if first / AT_ONCE % 200 == 199 {
                progress(&format!("windows: {first} of {}", persons.end));
            }
        }
        log.close();
        Ok(())
    }

    fn record(&self, n: usize, opened: UtcMillis) -> anyhow::Result<NewRecord> {
        let (tenant, person, day) =
            (fanout_room::bench_tenant()?, numbered_person(n)?, Day::from_instant(self.at));
        let window = Window::new(self.plan.clone(), self.plan_hash, "".into(), opened);
        let window = Window { due: opened.plus(OPEN_MS), heard: 1, days: [day].into(), ..window };
        let (rows, keep_until) = ([(day, 1)].into(), day.start().plus(2 * DAY_MS));
        let windows = vec![window];
        let record =
            PersonRecord { windows, rows, keep_until, last_opening: opened, ..PersonRecord::default() };
        Ok(window_record((&tenant, &person), &record, PartitionCount::USUAL, opened)?)
    }

    /// The first persons get an entry and an address, so that their closing tells something.
    async fn store_due_persons(&self, dir: &Path, persons: usize) -> anyhow::Result<()> {
        let (tenant, day) = (fanout_room::bench_tenant()?, self.event.entry_key().day());
        let store = store_embedded::EmbeddedStore::open(&dir.join("store"))?;
        let persons = (0..persons).map(numbered_person).collect::<anyhow::Result<Vec<Person>>>()?;
        fanout_room::enrol_followers(&store, &persons).await?;
        let title = VersionedState::from_values(1, [("title", Some(Value::from_text("A work")))]);
        store.merge(vec![(StateKey::Subject(tenant.clone(), self.event.subject.clone()), title)]).await?;
        for some in persons.chunks(STORED_AT_ONCE) {
            let (mut rows, mut states) = (Vec::new(), Vec::new());
            for person in some {
                let key = DayKey { tenant: tenant.clone(), person: person.clone(), day };
                rows.push(DayRows { key, rows: vec![fanout_room::entry_row(&self.event)?] });
                let email = Some(Value::from_text("somebody@example.org"));
                let state = VersionedState::from_values(1, [(profile::EMAIL, email)]);
                states.push((StateKey::Person(tenant.clone(), person.clone()), state));
            }
            store.write(rows, self.at).await?;
            store.merge(states).await?;
        }
        Ok(())
    }
}

fn numbered_person(n: usize) -> anyhow::Result<Person> {
    Ok(Person::new(&format!("person-{n}"))?)
}

/// How long it took from the start of the program until so many windows had been open: those that fell due meanwhile, if
/// that took long, are closed already.
async fn await_restored(up: &BenchProcess, windows: usize) -> anyhow::Result<Duration> {
    let clock = Clock::real(0);
    loop {
        let closed = up.sum_metric(CLOSED_WINDOWS)?;
        let open = up.sum_metric(OPEN_WINDOWS)?;
        let took = up.since.elapsed();
        if open + closed >= windows {
            return Ok(took);
        }
        if took > PATIENCE {
            bail!("{open} of {windows} windows are open after {} s", PATIENCE.as_secs());
        }
        clock.sleep_until(clock.now() + LOOK_MS).await;
    }
}

/// Returns when so many windows were closed.
async fn await_closed(up: &BenchProcess, windows: usize) -> anyhow::Result<()> {
    let (clock, watch) = (Clock::real(0), SteadyStopwatch::start());
    loop {
        let closed = up.sum_metric(CLOSED_WINDOWS)?;
        if closed >= windows {
            return Ok(());
        }
        if watch.elapsed() > PATIENCE {
            bail!("{closed} of {windows} windows were closed after {} s", PATIENCE.as_secs());
        }
        clock.sleep_until(clock.now() + LOOK_MS).await;
    }
}

/// What the Readys in the log say.
struct ReadyFindings {
    /// In milliseconds, the least first.
    late: Vec<i64>,
    /// Whether each of those who were due has one Ready with one entry, and nobody else has any.
    once: bool,
}

async fn read_readys(dir: &Path, due: usize) -> anyhow::Result<ReadyFindings> {
    let log = open_log(&dir.join("topics")).await?;
    let (mut late, mut of, mut once) = (Vec::new(), BTreeMap::<Person, usize>::new(), true);
    for (partition, (mut from, end)) in (0..).zip(log.bounds(topics::READY).await?) {
        while from < end {
            let records = log.read(topics::READY, partition, from, READ_AT_ONCE).await?;
            let Some(last) = records.last() else { break };
            from = last.offset + 1;
            for record in &records {
                let ready = wire::ready::decode(record.value.as_deref().unwrap_or_default())?;
                late.push(record.appended - ready.due.0);
                once &= ready.entries.len() == 1;
                *of.entry(ready.person).or_default() += 1;
            }
        }
    }
    for n in 0..due {
        once &= of.remove(&numbered_person(n)?) == Some(1);
    }
    late.sort_unstable();
    Ok(ReadyFindings { late, once: once && of.is_empty() })
}
