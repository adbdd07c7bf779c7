//! Many events through the real program, from the command line to the days: its memory must stay where it was.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use runtime::{Clock, clock::SteadyStopwatch};

use crate::{
    process::{BenchProcess, BenchProgram},
    report::{BenchFigure, BenchReport},
};

/// Authors, each followed by one person of their own.
const AUTHORS: usize = 2_000;
/// Between two looks at the memory.
const LOOK_MS: i64 = 250;
/// After the last event was taken, its entry is there within this.
const PATIENCE: Duration = Duration::from_secs(600);
/// Memory of the last third against the middle one: what grows with the events would be at 1.5 and more.
const GROWTH_MAX: f64 = 1.15;
/// With fewer events the house is still warming up, and its growth says nothing.
const WARM_EVENTS: usize = 200_000;
/// Persons who are looked at in the end.
const ASKED: usize = 10;

pub async fn run(
    size: usize,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let bed = BenchProgram::new(program)?;
    let (_up, load) = fill_house(&bed, size, progress).await?;
    let FlowLoad { events: size, memory, published, arrived, held, .. } = load;
    let third = memory.len() / 3;
    ensure!(third > 0, "too few looks at the memory: take more events");
    let most = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
    let (middle, last) = (most(&memory[third..2 * third]), most(&memory[2 * third..]));
    #[allow(clippy::cast_precision_loss, reason = "figures for people to read")]
    let (growth, mib, rate) =
        (last as f64 / middle.max(1) as f64, most(&memory) as f64 / f64::from(1 << 20), |took: Duration| {
            size as f64 / took.as_secs_f64()
        });
    let engine = "embedded, the real program, events by HTTP in requests of 500, synced before each answer";
    let (taken, written) = (rate(published), rate(arrived));
    let figures = vec![
        BenchFigure::bound("memory of the last third against the middle one", growth, "times", GROWTH_MAX),
        BenchFigure::compared_with("memory at most", mib, "MiB", mib),
        BenchFigure::compared_with("events taken", taken, "per second", taken),
        BenchFigure::compared_with("events taken and written into days", written, "per second", taken),
    ];
    let checked = format!("{ASKED} persons have every entry, and the memory is within its bound");
    let held = held && (size < WARM_EVENTS || growth <= GROWTH_MAX);
    Ok(BenchReport::new("flow", engine, figures, (checked, held)))
}

/// What went through a house, and how.
pub struct FlowLoad {
    /// Changes `e0`, `e1`, …: that of number n is of author n modulo their number, whom the person of that number follows.
    pub events: usize,
    pub authors: usize,
    /// Looks at the memory.
    memory: Vec<u64>,
    /// Until all were taken, and until all were written into days.
    published: Duration,
    arrived: Duration,
    /// Whether those who were asked have all of theirs, and no more.
    held: bool,
}

/// Starts a house and has so many events go through it.
pub async fn fill_house(
    bed: &BenchProgram,
    size: usize,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(BenchProcess, FlowLoad)> {
    let authors = AUTHORS.min(size);
    // The same number for each, so that everybody is easily counted.
    let events = size.div_ceil(authors) * authors;
    write_follows(&bed.path("follows.ndjson"), authors)?;
    write_events(&bed.path("events.ndjson"), events, authors)?;
    let up = bed.start_up("data")?;
    bed.run("data", &["publish", "--file", "follows.ndjson"])?;
    let watch = SteadyStopwatch::start();
    let mut memory = publish_events(bed, &up, events, progress).await?;
    let published = watch.elapsed();
    let held = await_arrivals(bed, &up, events / authors, authors, &mut memory).await?;
    let arrived = watch.elapsed();
    Ok((up, FlowLoad { events, authors, memory, published, arrived, held }))
}

fn write_follows(file: &Path, authors: usize) -> anyhow::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    for n in 0..authors {
        writeln!(
            out,
            r#"{{"id":"f{n}","source":"bench","type":"tidings.follow","person":"person-{n}","target":"author:{n}"}}"#
        )?;
    }
    Ok(out.flush()?)
}

fn write_events(file: &Path, size: usize, authors: usize) -> anyhow::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    for n in 0..size {
        let author = n % authors;
        writeln!(
            out,
            r#"{{"id":"e{n}","source":"bench","type":"work.added","subject":"work:{n}","title":"Work {n}","author":"author:{author}"}}"#
        )?;
    }
    Ok(out.flush()?)
}

/// Publishes all events, looking at the memory of `start_up` meanwhile.
async fn publish_events(
    bed: &BenchProgram,
    up: &BenchProcess,
    size: usize,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Vec<u64>> {
    let clock = Clock::real(0);
    let mut feeding = bed.spawn_beside("data", &["publish", "--file", "events.ndjson"])?;
    let mut memory = vec![up.memory()?];
    loop {
        if let Some(status) = feeding.try_wait()? {
            ensure!(status.success(), "the events could not be published");
            return Ok(memory);
        }
        clock.sleep_until(clock.now() + LOOK_MS).await;
        memory.push(up.memory()?);
        if memory.len() % 40 == 0 {
            let mib = memory.last().copied().unwrap_or(0) >> 20;
            progress(&format!("{size} events on their way, {mib} MiB"));
        }
    }
}

/// Waits until some persons have all that is theirs; says whether nobody has more.
async fn await_arrivals(
    bed: &BenchProgram,
    up: &BenchProcess,
    each: usize,
    authors: usize,
    memory: &mut Vec<u64>,
) -> anyhow::Result<bool> {
    let (clock, watch) = (Clock::real(0), SteadyStopwatch::start());
    for n in (0..authors).step_by(authors.div_ceil(ASKED)) {
        memory.push(up.memory()?);
        loop {
            let entries =
                bed.count_entries("data", &format!("person-{n}")).context("ask for a person's days")?;
            if entries >= each {
                if entries > each {
                    return Ok(false);
                }
                break;
            }
            if watch.elapsed() > PATIENCE {
                bail!("person-{n} has {entries} of {each} entries after {} s", PATIENCE.as_secs());
            }
            clock.sleep_until(clock.now() + LOOK_MS).await;
            memory.push(up.memory()?);
        }
    }
    Ok(true)
}
