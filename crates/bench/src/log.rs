//! Appending to a topic: records of 200 bytes, a thousand a call, each call durable when it returns.

use std::time::Duration;

use runtime::{Clock, clock::SteadyStopwatch};
use topic::{NewRecord, TopicRetention, TopicSpec, Topics, embedded::EmbeddedTopics};

use crate::{
    ROUNDS, raw_loop,
    report::{BenchFigure, BenchReport},
};

const BYTES: usize = 200;
const AT_ONCE: usize = 1_000;
const TOPIC: &str = "bench";

pub async fn run(size: usize, progress: &(dyn Fn(&str) + Sync)) -> anyhow::Result<BenchReport> {
    let (mut ours, mut others, mut held) = (Vec::new(), Vec::new(), true);
    for round in 1..=ROUNDS {
        progress(&format!("log: round {round} of {ROUNDS}"));
        let dir = tempfile::tempdir()?;
        others.push(raw_loop::write_batches(&dir.path().join("raw"), size, BYTES, AT_ONCE)?);
        let (took, all) = time_appends(&dir.path().join("topics"), size).await?;
        ours.push(took);
        held &= all;
    }
    let figures = vec![BenchFigure::rate("records appended", size, &ours, &others)];
    let checked = "every record is there once, in order, after reopening";
    Ok(BenchReport::new("log", "embedded, synced to disk before each answer", figures, (checked, held)))
}

async fn time_appends(dir: &std::path::Path, size: usize) -> anyhow::Result<(Duration, bool)> {
    let clock = Clock::real(0);
    let engine = EmbeddedTopics::open(dir, clock.clone())?;
    let spec =
        TopicSpec { name: TOPIC.into(), partitions: 1, retention: TopicRetention::Milliseconds(i64::MAX) };
    engine.declare(&[spec]).await?;
    let watch = SteadyStopwatch::start();
    for first in (0..size).step_by(AT_ONCE) {
        let records = (first..size.min(first + AT_ONCE)).map(|n| {
            let mut value = vec![7_u8; BYTES];
            value[..8].copy_from_slice(&(n as u64).to_be_bytes());
            NewRecord {
                topic: TOPIC.into(),
                partition: 0,
                key: Vec::new(),
                value: Some(value),
                headers: Vec::new(),
            }
        });
        engine.append(records.collect()).await?;
    }
    let took = watch.elapsed();
    drop(engine);
    let engine = EmbeddedTopics::open(dir, clock)?;
    let (mut next, mut from) = (0_u64, 0_u64);
    loop {
        let records = engine.read(TOPIC, 0, from, 10_000).await?;
        let Some(last) = records.last() else { break };
        from = last.offset + 1;
        for record in &records {
            let value = record.value.as_deref().unwrap_or_default();
            if value.get(..8) != Some(&next.to_be_bytes()[..]) {
                return Ok((took, false));
            }
            next += 1;
        }
    }
    Ok((took, next == size as u64))
}
