//! Nonsense at the head of every topic, state that cannot be read, and a topic that was made anew: what is put aside,
//! what stops, and what is said.

use std::time::Duration;

use anyhow::{Context as _, Result};
use model::UtcMillis;
use runtime::{Clock, clock::SteadyStopwatch};
use serde_json::json;
use topic::{NewRecord, Topics as _};
use topic_kafka::{KafkaTopics, Settings};

use crate::{
    house::{EngineAddresses, PARTITIONS, RealHouse, pause_for, wait_until},
    input,
    outbox_mails::OutboxMailReader,
};

/// What rooms read by their groups.
const READ: [&str; 7] = ["changes", "events", "slices", "pending", "inbox", "ready-urgent", "ready"];
const NOTES: u64 = 20;
const PATIENCE: Duration = Duration::from_secs(180);

#[test]
fn nonsense_at_the_head_of_each_topic_is_put_aside_and_what_follows_is_told() {
    with_house("nonsense", |house, log| {
        let nonsense: Vec<NewRecord> = READ.into_iter().flat_map(nonsense_records).collect();
        let appended = nonsense.len();
        append_records(log, nonsense)?;
        house.start()?;
        check_tells(house, 0)?;
        let items = house.quarantine()?;
        let items = items.as_array().context("no list")?;
        assert_eq!(items.len(), appended, "{items:?}");
        for topic in READ {
            let own = items.iter().filter(|item| item["topic"] == topic).count();
            assert_eq!(own, PARTITIONS as usize, "{topic}: {items:?}");
        }
        house.check_alive()
    });
}

#[test]
fn windows_that_cannot_be_read_stop_their_partition_alone_until_they_are_dropped() {
    with_house("unreadable", |house, log| {
        append_records(log, nonsense_records("windows").into_iter().take(1).collect())?;
        house.start()?;
        write_notes(house, 0)?;
        let mut mails = OutboxMailReader::default();
        let names_it =
            || Ok(house.processes[0].get_text("/health/ready", None)?.1.contains("partition 0 stands still"));
        wait_until(PATIENCE, &names_it).context("nobody says that it stands still")?;
        await_told(house, &mut mails, 1)?;
        let process = &house.processes[0];
        let unreadable = process.get_json("/admin/state")?;
        let place = &unreadable[0][0]["place"];
        assert_eq!(
            (unreadable[0].as_array().map(Vec::len), &place["partition"]),
            (Some(1), &0.into()),
            "{unreadable}"
        );
        assert!(mails.len() < NOTES as usize, "nobody waits for the partition that stands still");
        process.post_json("/admin/state", &json!({"deed": {"drop": place}, "by": "a test"}))?;
        await_told(house, &mut mails, NOTES as usize)
    });
}

#[test]
fn a_topic_made_anew_stops_who_was_further_and_it_says_so() {
    with_house("made_anew", |house, log| {
        house.start()?;
        check_tells(house, 0)?;
        // A process that stands still does not see the topic go.
        house.processes[0].signal("STOP")?;
        new_runtime()?.block_on(log.remove(&["events".into()]))?;
        house.migrate()?;
        house.processes[0].signal("CONT")?;
        check_ends(house, 1, "stands at offset")
    });
}

/// A house in one process, not started, and the log that it will have.
fn with_house(name: &str, check: impl FnOnce(&RealHouse, &KafkaTopics) -> Result<()>) {
    let watch = SteadyStopwatch::start();
    let (kafka, name) = (engines::kafka().unwrap(), format!("{name}_{}", std::process::id()));
    let engines = EngineAddresses { kafka, cql: engines::cql().unwrap(), name: &name, known: false };
    let mut house = RealHouse::prepare_on(&engines, &[&["ingest", "fanout", "digest", "sender"]]).unwrap();
    // Who stands still stays a member, however long others lay out their tables meanwhile.
    house.processes[0].set("TIDINGS_KAFKA_SESSION", "10m");
    let log = Settings { prefix: engines.prefix(), ..Settings::for_brokers(kafka) };
    let log = KafkaTopics::open(log, Clock::real(0)).unwrap();
    check(&house, &log).with_context(|| house.read_logs()).unwrap();
    println!("{name}: {} s", watch.elapsed().as_secs());
}

/// One for each partition.
fn nonsense_records(topic: &str) -> Vec<NewRecord> {
    let record = |partition| NewRecord {
        topic: topic.into(),
        partition,
        key: b"nonsense".to_vec(),
        value: Some(vec![0xc3, 0x01, 0xff, 0x00, 0x7b]),
        headers: Vec::new(),
    };
    (0..PARTITIONS).map(record).collect()
}

fn append_records(log: &KafkaTopics, records: Vec<NewRecord>) -> Result<()> {
    Ok(new_runtime()?.block_on(log.append(records))?)
}

fn new_runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Notes for some, each of which is told.
fn check_tells(house: &RealHouse, from: u64) -> Result<()> {
    write_notes(house, from)?;
    await_told(house, &mut OutboxMailReader::default(), NOTES as usize)
}

fn write_notes(house: &RealHouse, from: u64) -> Result<()> {
    let now = UtcMillis(Clock::real(0).now()).to_string();
    let profiles: Vec<String> = (0..NOTES).map(|reader| input::profile_fact(reader, None)).collect();
    house.say("/v1/facts", &profiles)?;
    let notes = (0..NOTES).map(|reader| input::note_event(&format!("note:{}", from + reader), reader, &now));
    house.say("/v1/changes", &notes.collect::<Vec<_>>())
}

/// Waits until so many were told, each once.
fn await_told(house: &RealHouse, mails: &mut OutboxMailReader, many: usize) -> Result<()> {
    let waited = SteadyStopwatch::start();
    while mails.len() < many && waited.elapsed() < PATIENCE {
        house.check_alive()?;
        drop(house.release("notes"));
        mails.read_new(house.outbox())?;
        pause_for(Duration::from_millis(500));
    }
    let counts = mails.counts();
    assert!(counts.len() >= many, "{many}: {counts:?}");
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    Ok(())
}

/// The process ends with this code, and its last words say so.
fn check_ends(house: &RealHouse, code: i32, says: &str) -> Result<()> {
    let process = &house.processes[0];
    wait_until(PATIENCE, &|| Ok(process.exit_status().is_some())).context("it goes on")?;
    assert_eq!(process.exit_status().and_then(|status| status.code()), Some(code), "{}", process.log_tail());
    let said = process.log_tail();
    assert!(said.contains(says), "{said}");
    Ok(())
}
