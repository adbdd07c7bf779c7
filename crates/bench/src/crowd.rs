//! One event to a large crowd, told by one process and by several: fan-outs of the real program on clusters. A large crowd is
//! cut, so each of them tells a part at the same time.

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use model::{Event, Person};
use runtime::{clock::SteadyStopwatch, retry};
use store::Store;
use topic::Topics;

use crate::{
    clusters::{BenchClusters, ClusterLog, ClusterTables, run_on_both},
    fanout_room::{self, await_fanout},
    process::{BenchProcess, BenchProgram},
    report::{BenchFigure, BenchOracle, BenchReport, describe_machine},
};

/// Processes that tell the crowd. One alone comes again in the end: what the machine did meanwhile shows there.
const PROCESSES: [usize; 4] = [1, 2, 4, 1];
/// Events of each, after one that only warms up.
const EVENTS: usize = 3;
/// With so many processors for each process, the crowd is told at so much of so many times the speed of one alone.
const PROCESSORS_EACH: usize = 2;
const SHARE_MIN: f64 = 0.75;
/// Until a process has opened its engines and has partitions.
const OPENING: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);

pub async fn run(
    size: usize,
    clusters: &BenchClusters,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    ensure!(
        clusters.kafka.security.tls.is_none()
            && clusters.kafka.security.login.is_none()
            && clusters.cql.login.is_none()
            && clusters.cql.tls.is_none(),
        "`crowd` hands the clusters' addresses on to processes of its own, and no passwords or certificates: it needs \
         clusters without"
    );
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
    fs::write(bed.path("tidings.yaml"), cluster_settings(log, tables, &bed))?;
    bed.run("data", &["migrate"])?;
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
    Ok(BenchReport {
        bench: "crowd".into(),
        engine: format!("{}; {}; the real program", log.says, tables.says),
        machine: describe_machine(),
        figures: took.iter().map(figure).collect(),
        oracle: BenchOracle {
            checked: "every follower has one row of each event, and was announced once for each".into(),
            held,
        },
    })
}

/// The settings of processes on these clusters.
fn cluster_settings(log: &ClusterLog, tables: &ClusterTables, bed: &BenchProgram) -> String {
    let (kafka, cql) = (&log.settings, &tables.settings);
    let points: Vec<String> = cql.contact_points.iter().map(|point| format!("'{point}'")).collect();
    let brokers: Vec<String> =
        kafka.brokers.split(',').map(|broker| format!("'{}'", broker.trim())).collect();
    let replication: Vec<String> =
        cql.replication.iter().map(|(name, copies)| format!("{name}: {copies}")).collect();
    let replication = match replication.is_empty() {
        true => String::new(),
        false => format!("  replication: {{{}}}\n", replication.join(", ")),
    };
    let datacenter = cql.datacenter.iter().map(|name| format!("  datacenter: {name}\n")).collect::<String>();
    format!(
        "engine: production\nlisten: 127.0.0.1:0\nlog:\n  filter: warn\ncatalogue: {}\n\
         kafka:\n  brokers: [{}]\n  prefix: {}\n  replication: {}\n  min_insync: {}\n\
         cql:\n  contact_points: [{}]\n  keyspace: {}\n{replication}{datacenter}",
        bed.path("").display(),
        brokers.join(", "),
        kafka.prefix,
        kafka.replication.factor,
        kafka.replication.min_insync,
        points.join(", "),
        cql.keyspace,
    )
}

/// Starts so many fan-outs, and returns when all of them are ready.
async fn start_processes(bed: &BenchProgram, processes: usize) -> anyhow::Result<Vec<BenchProcess>> {
    let start = |n: usize| bed.start(&format!("data-{n}"), &["run", "fanout"]);
    let started: Vec<BenchProcess> = (0..processes).map(start).collect::<Result<_, _>>()?;
    let watch = SteadyStopwatch::start();
    try_join_all(started.iter().map(|process| async {
        while !process.is_ready() {
            ensure!(watch.elapsed() < OPENING, "a fan-out is not ready after {} s", OPENING.as_secs());
            retry::wait_real_time(LOOK).await;
        }
        Ok(())
    }))
    .await
    .context("start the fan-outs")?;
    Ok(started)
}
