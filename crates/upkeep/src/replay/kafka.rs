//! A plan on a real Kafka begins where Kafka's own tool would put a group: `kafka-consumer-groups --reset-offsets
//! --dry-run`, asked in the same words.

use std::collections::BTreeMap;

use model::UtcMillis;
use runtime::Clock;
use topic::{NewRecord, TopicRetention, TopicSpec, Topics as _};
use topic_kafka::{
    KafkaTopics, Settings,
    settings::{ReplicationSettings, StampSource},
};
use wire::topics::{EVENTS, REPLAYS};

use super::{
    ReplayError, ReplayOrder, ReplayPlan, ReplayService, answer_order,
    range::{ReplayPlace, ReplayRange, parse_ago, parse_offsets, parse_time},
};

const HOUR_MS: i64 = 3_600_000;
const PARTITIONS: u32 = 3;

/// Where the tool would put a group, by partition.
fn tool(topic: &str, how: &[&str]) -> BTreeMap<u32, u64> {
    let words = ["--group", "plan", "--topic", topic, "--reset-offsets", "--dry-run"];
    let words: Vec<&str> = words.into_iter().chain(how.iter().copied()).collect();
    let said =
        engines::run_kafka_tool(engines::kafka().unwrap(), "consumer.group.ConsumerGroupCommand", &words)
            .unwrap();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, of, partition, offset] = words[..] else { return None };
        (of == topic).then(|| (partition.parse().unwrap(), offset.parse().unwrap()))
    };
    let rows: BTreeMap<u32, u64> = said.lines().filter_map(row).collect();
    assert_eq!(rows.len(), PARTITIONS as usize, "{how:?}: {said}");
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_equals_kafkas_own_dry_run() {
    let now = Clock::real(0).now();
    let clock = Clock::still(now - 10 * HOUR_MS - HOUR_MS / 2);
    let mut settings = Settings::for_brokers(engines::kafka().unwrap());
    settings.prefix = format!("replay-{now}-");
    settings.replication = ReplicationSettings { factor: 1, min_insync: 1 };
    settings.stamps = StampSource::Clock;
    let topic = format!("{}{EVENTS}", settings.prefix);
    let log = KafkaTopics::open(settings, clock.clone()).unwrap();
    let spec = |name: &str, partitions, retention| TopicSpec { name: name.into(), partitions, retention };
    let specs = [
        spec(EVENTS, PARTITIONS, TopicRetention::Milliseconds(100 * HOUR_MS)),
        spec(REPLAYS, 1, TopicRetention::Compacted),
    ];
    log.declare(&specs).await.unwrap();
    // Ten records, an hour apart; the third partition has none.
    for partition in [0, 1, 0, 0, 1, 0, 1, 1, 0, 0] {
        let (topic, value) = (EVENTS.into(), Some(b"x".to_vec()));
        log.append(vec![NewRecord { topic, partition, key: vec![], value, headers: vec![] }]).await.unwrap();
        clock.advance(HOUR_MS);
    }
    let hours_ago = |hours: i64| UtcMillis(now - hours * HOUR_MS).to_string();
    let check = async |from: ReplayPlace, how: &[&str]| {
        let order =
            ReplayOrder::Plan { topic: EVENTS.to_owned(), range: ReplayRange { from, to: ReplayPlace::End } };
        let said = answer_order(&ReplayService::default(), &log, order, UtcMillis(now), None).await;
        let plan: ReplayPlan = serde_json::from_value(said.unwrap_or_else(|trouble| match trouble {
            ReplayError::Refused(why) => panic!("{why}"),
            ReplayError::Failed(error) => panic!("{error:#}"),
        }))
        .unwrap();
        let planned: BTreeMap<u32, u64> = plan.parts.iter().map(|part| (part.partition, part.from)).collect();
        let (topic, how) = (topic.clone(), how.iter().map(ToString::to_string).collect::<Vec<_>>());
        let asked = how.clone();
        let found = tokio::task::spawn_blocking(move || {
            tool(&topic, &asked.iter().map(String::as_str).collect::<Vec<_>>())
        });
        assert_eq!(planned, found.await.unwrap(), "{how:?}");
        plan.records
    };
    let at = |hours: i64| parse_time(&hours_ago(hours)).unwrap();
    assert_eq!(check(ReplayPlace::Start, &["--to-earliest"]).await, 10);
    assert_eq!(check(at(7), &["--to-datetime", &hours_ago(7)]).await, 6);
    assert_eq!(check(at(100), &["--to-datetime", &hours_ago(100)]).await, 10);
    assert_eq!(check(at(-1), &["--to-datetime", &hours_ago(-1)]).await, 0);
    assert_eq!(check(parse_ago("4h").unwrap(), &["--by-duration", "PT4H"]).await, 3);
    assert_eq!(check(parse_offsets("3").unwrap(), &["--to-offset", "3"]).await, 4);
    assert_eq!(check(parse_offsets("99").unwrap(), &["--to-offset", "99"]).await, 0);
    assert_eq!(check(ReplayPlace::End, &["--to-latest"]).await, 0);
}
