//! One event to many followers: the real room reads it, resolves the audience, writes a row into each
//! person's day, announces all and commits, large audiences slice by slice. From the append of the event until
//! the last commit.

use std::{path::Path, time::Duration};

use model::{Person, entry::DayKey, limits::SLICE_PERSONS_MAX};
use runtime::clock::SteadyStopwatch;
use store::DayRows;

use crate::{
    ROUNDS,
    embedded_engines::open_embedded,
    fanout_room::{self, CATALOGUE},
    raw_loop,
    report::{BenchFigure, BenchReport},
    rows::ROW_BYTES,
};

/// A round of some milliseconds says little; many do.
const SHORT_ROUNDS: usize = 21;
/// So many followers are told within so many seconds, and at least at so much of the bare loop's speed.
const BAR_SIZE: usize = 12_000;
const SECONDS_MAX: f64 = 0.2;
const RATIO_MIN: f64 = 0.5;
/// What a follower costs in the largest audience, of what one costs in one that fills a slice.
const LINE_MIN: f64 = 0.5;
/// Audiences of the line: each ten times the one before; the place of the first that fills slices.
const FIRST_SIZE: usize = 10;
const SLICES_FROM: usize = 3;
const ENGINE: &str = "embedded, rows and announcements synced to disk before the commit";
const CHECKED: &str = "every follower has the row once and was announced once";

/// One audience, several rounds, beside both loops.
pub async fn run(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    let (mut ours, mut engine, mut database, mut held) = (Vec::new(), Vec::new(), Vec::new(), true);
    let rounds = if size <= BAR_SIZE { SHORT_ROUNDS } else { ROUNDS };
    for round in 1..=rounds {
        progress(&format!("fanout: round {round} of {rounds}, {size} followers"));
        let dir = tempfile::tempdir()?;
        database.push(raw_loop::write_batches(&dir.path().join("raw"), size, ROW_BYTES, SLICE_PERSONS_MAX)?);
        engine.push(write_bare(&dir.path().join("bare"), size).await?);
        let (took, all) = tell_event(dir.path(), size).await?;
        ours.push(took);
        held &= all;
    }
    let seconds = BenchFigure::seconds("one event to all", &ours, &engine);
    let against_store = "entries, against the store's own write of the same rows";
    let figures = vec![
        if size <= BAR_SIZE { seconds.at_most(SECONDS_MAX) } else { seconds },
        BenchFigure::rate(against_store, size, &ours, &engine).ratio_at_least(RATIO_MIN),
        BenchFigure::rate("entries, against the bare database", size, &ours, &database),
    ];
    Ok(BenchReport::new("fanout", ENGINE, figures, (CHECKED, held)))
}

/// Audiences from ten up to a size, each ten times the one before: what a follower costs must not grow.
pub async fn run_sizes(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    let sizes = std::iter::successors(Some(FIRST_SIZE), |size| Some(size * 10))
        .take_while(|of| *of <= size.max(FIRST_SIZE));
    let (mut figures, mut held) = (Vec::new(), true);
    for size in sizes {
        let (mut ours, mut engine) = (Vec::new(), Vec::new());
        // A large one is its own average.
        for round in 1..=if size < 100_000 { ROUNDS } else { 1 } {
            progress(&format!("line: {size} followers, round {round}"));
            let dir = tempfile::tempdir()?;
            engine.push(write_bare(&dir.path().join("bare"), size).await?);
            let (took, all) = tell_event(dir.path(), size).await?;
            ours.push(took);
            held &= all;
        }
        figures.push(BenchFigure::rate(&format!("entries, {size} followers"), size, &ours, &engine));
    }
    // From one that fills slices on: what is started once for each event weighs more in the small ones.
    if let (Some(small), Some(large)) =
        (figures.get(SLICES_FROM), figures.last().filter(|_| figures.len() > SLICES_FROM))
    {
        let name = "entries of the largest audience, against those of one with 10000";
        let figure =
            BenchFigure::compared_with(name, large.value, "per second", small.value).ratio_at_least(LINE_MIN);
        figures.push(figure);
    }
    let engine = format!("{ENGINE}; against the store's own write");
    Ok(BenchReport::new("line", engine, figures, (CHECKED, held)))
}

/// The bare loop: the same rows straight into the same store engine, a slice's worth at a time.
async fn write_bare(dir: &Path, size: usize) -> anyhow::Result<Duration> {
    let store = store_embedded::EmbeddedStore::open(dir)?;
    let event = fanout_room::numbered_event(1)?;
    let (row, day) = (fanout_room::entry_row(&event)?, event.entry_key().day());
    let of = |person: &Person| {
        let key = DayKey { tenant: event.tenant.clone(), person: person.clone(), day };
        DayRows { key, rows: vec![row.clone()] }
    };
    let mut took = Duration::ZERO;
    for some in fanout_room::numbered_persons(size)?.chunks(SLICE_PERSONS_MAX) {
        let rows: Vec<DayRows> = some.iter().map(of).collect();
        let watch = SteadyStopwatch::start();
        store::DayStore::write(&store, rows, event.occurred).await?;
        took += watch.elapsed();
    }
    Ok(took)
}

/// Has the room tell one event on engines of its own, and looks whether all were told.
async fn tell_event(dir: &Path, size: usize) -> anyhow::Result<(Duration, bool)> {
    let (topics, store) = open_embedded(dir)?;
    fanout_room::declare_topics(&*topics).await?;
    let persons = fanout_room::numbered_persons(size)?;
    fanout_room::enrol_followers(&*store, &persons).await?;
    let event = fanout_room::numbered_event(1)?;
    let took = fanout_room::time_event(&topics, &store, CATALOGUE, &event).await?;
    Ok((took, fanout_room::is_everyone_told(&*topics, &*store, &[event], &persons).await?))
}
