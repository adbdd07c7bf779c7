//! Tests of the engine beyond what the conformance suite holds.

use std::{path::Path, time::Duration};

use runtime::{Clock, clock::Stopwatch};

use super::Embedded;
use crate::port::{
    Happening, Member, Membership, Mode, NewRecord, Record, Retention, TopicSpec, Topics, Turn,
};

const DAY: i64 = 86_400_000;

fn spec(name: &str, partitions: u32, retention: Retention) -> TopicSpec {
    TopicSpec { name: name.into(), partitions, retention }
}

fn record(topic: &str, partition: u32, key: &str, value: &str) -> NewRecord {
    let (topic, key) = (topic.into(), key.as_bytes().to_vec());
    NewRecord { topic, partition, key, value: Some(value.as_bytes().to_vec()) }
}

fn membership(group: &str, lead: &str) -> Membership {
    Membership { group: group.into(), lead: lead.into(), companions: vec![], state: None, mode: Mode::Plain }
}

fn values(records: &[Record]) -> Vec<String> {
    let value = |r: &Record| String::from_utf8(r.value.clone().unwrap_or_default()).unwrap();
    records.iter().map(value).collect()
}

async fn next(member: &mut Box<dyn Member>) -> Happening {
    tokio::time::timeout(Duration::from_secs(5), member.next(1_000))
        .await
        .expect("something happens")
        .unwrap()
}

async fn opened(dir: &Path) -> Embedded {
    let engine = Embedded::open(dir, Clock::still(1_000)).unwrap();
    let specs = [spec("a", 4, Retention::Milliseconds(DAY)), spec("s", 4, Retention::Compacted)];
    engine.declare(&specs).await.unwrap();
    engine
}

#[tokio::test]
async fn records_are_handed_out_committed_and_not_again() {
    let dir = tempfile::tempdir().unwrap();
    let engine = opened(dir.path()).await;
    engine.append(vec![record("a", 1, "k", "1"), record("a", 1, "k", "2")]).await.unwrap();
    drop(engine);
    for round in 0..2_u64 {
        let engine = opened(dir.path()).await;
        let mut member = engine.join(membership("g", "a")).await.unwrap();
        let Happening::Assigned(all) = next(&mut member).await else { panic!("assigned first") };
        assert_eq!(all, (0..4).map(|p| (p, round + 1)).collect::<Vec<_>>());
        let Happening::Records(batch) = next(&mut member).await else { panic!("then records") };
        assert_eq!(values(&batch.records), ["1", "2"]);
        if round == 1 {
            let (partition, generation) = (batch.partition, batch.generation);
            let offsets = member.positions(partition);
            member.commit(Turn { partition, generation, offsets, records: vec![] }).await.unwrap();
            let standing = engine.standing("g", "a").await.unwrap();
            assert_eq!((standing[1].committed, standing[1].end), (2, 2));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Embedded::open(dir.path(), Clock::real(0)).unwrap();
    engine.declare(&[spec("a", 64, Retention::Milliseconds(DAY))]).await.unwrap();
    let value = "v".repeat(200);
    for _ in 0..3 {
        let records: Vec<_> = (0..12_000).map(|n| record("a", n % 64, "key", &value)).collect();
        let watch = Stopwatch::start();
        engine.append(records).await.unwrap();
        println!("append 12,000 of 200 B: {:?}", watch.elapsed());
    }
    let watch = Stopwatch::start();
    for n in 0..200 {
        engine.append(vec![record("a", n % 64, "key", &value)]).await.unwrap();
    }
    println!("append one, one after the other: {:?}", watch.elapsed() / 200);
    let watch = Stopwatch::start();
    let tasks: Vec<_> = (0..2_000)
        .map(|n| {
            let (engine, record) = (engine.clone(), record("a", n % 64, "key", &value));
            tokio::spawn(async move { engine.append(vec![record]).await.unwrap() })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    println!("append 2,000 at once, one each: {:?}", watch.elapsed());
}
