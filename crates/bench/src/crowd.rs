//! One event to a large crowd, told by one process and by several: fan-outs of the real program on clusters. A large crowd is
//! cut, so each of them tells a part at the same time.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use futures::future::try_join_all;
use model::{Event, Person};
use runtime::clock::SteadyStopwatch;
use store::Store;
use topic::Topics;

use crate::{
    clusters::{BenchClusters, ClusterLog, ClusterTables, check_open, prepare_program, run_on_both},
    fanout_room::{self, await_fanout},
    process::{BenchProcess, BenchProgram},
    report::{BenchFigure, BenchReport},
};

/// Processes that tell the crowd. One alone comes again in the end: what the machine did meanwhile shows there.
const PROCESSES: [usize; 4] = [1, 2, 4, 1];
/// Events of each, after one that only warms up.
const EVENTS: usize = 3;
/// With so many processors for each process, the crowd is told at so much of so many times the speed of one alone.
const PROCESSORS_EACH: usize = 2;
const SHARE_MIN: f64 = 0.75;

pub async fn run(
    size: usize,
    clusters: &BenchClusters,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    check_open("crowd", clusters)?;
    run_on_both(clusters, async |log, tables| measure_crowd(size, log, tables, program, progress).await).await
}

async fn measure_crowd(
    size: usize,
    log: &ClusterLog,
    tables: &ClusterTables,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    progress(&format!("crowd: topics and tables are made, {size} persons follow"));
    let bed = BenchProgram::new(program)?;
    prepare_program(&bed, log, tables)?;
    let topics: Arc<dyn Topics> = Arc::new(log.engine()?);
    let store: Arc<dyn Store> = Arc::new(tables.engine().await?);
    let persons = fanout_room::numbered_persons(size)?;
    fanout_room::enrol_followers(&*store, &persons).await?;
    let (mut events, mut took) = (Vec::new(), Vec::new());
    for processes in PROCESSES {
        progress(&format!("crowd: {processes} at work"));
        let started = start_processes(&bed, processes).await?;
        let mut rounds = Vec::new();
        for round in 0..=EVENTS {
            let event = fanout_room::numbered_event(events.len() + 1)?;
            let watch = SteadyStopwatch::start();
            topics.append(vec![fanout_room::event_record(&event)?]).await?;
            await_fanout(&*topics).await?;
            if round > 0 {
                rounds.push(watch.elapsed());
            }
            events.push(event);
        }
        took.push((processes, rounds));
        drop(started);
    }
    progress("crowd: rows and announcements are read back");
    build_report((size, &took), (log, tables), (&*topics, &*store), (&events, &persons)).await
}

async fn build_report(
    (size, took): (usize, &[(usize, Vec<Duration>)]),
    (log, tables): (&ClusterLog, &ClusterTables),
    (topics, store): (&dyn Topics, &dyn Store),
    (events, persons): (&[Event], &[Person]),
) -> anyhow::Result<BenchReport> {
    let held = fanout_room::is_everyone_told(topics, store, events, persons).await?;
    let alone: Vec<Duration> =
        took.iter().filter(|(processes, _)| *processes == 1).flat_map(|(_, rounds)| rounds.clone()).collect();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let figure = |(processes, rounds): &(usize, Vec<Duration>)| {
        let name = format!("persons told by {processes} at once, against one alone");
        let figure = BenchFigure::rate(&name, size, rounds, &alone);
        #[allow(clippy::cast_precision_loss, reason = "a handful of processes")]
        let least = SHARE_MIN * *processes as f64;
        if *processes > 1 && processors >= PROCESSORS_EACH * processes {
            figure.ratio_at_least(least)
        } else {
            figure
        }
    };
    let engine = format!("{}; {}; the real program", log.says, tables.says);
    let checked = "every follower has one row of each event, and was announced once for each";
    Ok(BenchReport::new("crowd", engine, took.iter().map(figure).collect(), (checked, held)))
}

/// Starts so many fan-outs, and returns when all of them are ready.
async fn start_processes(bed: &BenchProgram, processes: usize) -> anyhow::Result<Vec<BenchProcess>> {
    let start = |n: usize| bed.start(&format!("data-{n}"), &["run", "fanout"]);
    let started: Vec<BenchProcess> = (0..processes).map(start).collect::<Result<_, _>>()?;
    try_join_all(started.iter().map(BenchProcess::await_ready)).await.context("start the fan-outs")?;
    Ok(started)
}
