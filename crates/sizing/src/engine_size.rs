//! What the engines need: Kafka for the log, Cassandra or ScyllaDB for the tables.

use model::{limits::DAY_MS, partition::PartitionCount};
use serde::Serialize;
use wire::topics;

use crate::{
    measured,
    number_text::round_up,
    question::{HouseLoad, RESERVE, SizeQuestion},
};

/// A machine of either engine: its processors, and its disk.
pub const MACHINE_PROCESSORS: u64 = 16;
pub const MACHINE_DISK_BYTES: f64 = 2e12;
/// What Kafka's makers advise: so many copies of partitions on a broker at most.
const BROKER_PARTITIONS_MAX: u64 = 4_000;
/// A segment of a topic goes as a whole, and is a day long.
const SEGMENT_DAYS: f64 = 1.0;
/// A slip says whose mail it was, should it come back.
const SLIP_DAYS: f64 = 40.0;

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct KafkaSize {
    pub days_kept: f64,
    /// One copy; the disks have as many as are kept.
    pub bytes_kept: f64,
    pub bytes_on_disks: f64,
    /// To one copy, in the busiest second.
    pub bytes_a_second: f64,
    /// All topics, all copies.
    pub partition_copies: u64,
    pub cpu_millis: u64,
    pub brokers: u64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TableSize {
    /// In the tables of days, with marks.
    pub entries_kept: f64,
    /// Sent, or tried.
    pub messages_kept: f64,
    pub follows: f64,
    /// One copy; the disks have as many as are kept, and room to compact them.
    pub bytes_kept: f64,
    pub bytes_on_disks: f64,
    pub cpu_millis: u64,
    pub nodes: u64,
}

fn days(ms: i64) -> f64 {
    ms as f64 / DAY_MS as f64
}

pub fn size_kafka(question: &SizeQuestion, load: &HouseLoad, partitions: PartitionCount) -> KafkaSize {
    let copies = u64::from(question.replication);
    let days_kept = days(topics::REPLAY_MS) + SEGMENT_DAYS;
    let bytes = |events: f64, entries: f64, messages: f64| {
        events * measured::KAFKA_EVENT_BYTES.value
            + entries * measured::KAFKA_ENTRY_BYTES.value
            + messages * measured::KAFKA_MESSAGE_BYTES.value
    };
    let a_day = bytes(load.events_a_day, load.entries_a_day, load.messages_a_day());
    let bytes_a_second = bytes(load.events_a_second, load.entries_a_second, load.messages_a_second());
    let remembered = question.persons as f64 * measured::KAFKA_PERSON_BYTES.value;
    let bytes_kept = a_day * days_kept + remembered;
    let bytes_on_disks = bytes_kept * copies as f64;
    let all: u64 = topics::all_topics(partitions).iter().map(|(_, count, _)| u64::from(*count)).sum();
    let partition_copies = all * copies;
    let millis = load.messages_a_second().max(load.entries_a_second) * measured::KAFKA_CPU.value;
    let cpu_millis = round_up(millis * copies as f64 * RESERVE, 100);
    let brokers =
        machines(copies, cpu_millis, bytes_on_disks).max(partition_copies.div_ceil(BROKER_PARTITIONS_MAX));
    KafkaSize { days_kept, bytes_kept, bytes_on_disks, bytes_a_second, partition_copies, cpu_millis, brokers }
}

pub fn size_tables(question: &SizeQuestion, load: &HouseLoad) -> TableSize {
    let copies = u64::from(question.replication);
    let (persons, day_life) = (question.persons as f64, f64::from(question.day_life));
    let entries_kept = load.entries_a_day * day_life;
    let messages_kept = load.messages_a_day() * day_life;
    let follows = persons * question.follows;
    let bytes_kept = entries_kept * measured::TABLE_ENTRY_BYTES.value
        + messages_kept * measured::TABLE_JOURNAL_BYTES.value
        + load.messages_a_day() * SLIP_DAYS * measured::TABLE_SLIP_BYTES.value
        + load.events_a_day * (day_life + 1.0) * measured::TABLE_EVENT_BYTES.value
        + persons * measured::TABLE_PERSON_BYTES.value
        + follows * measured::TABLE_FOLLOW_BYTES.value;
    let bytes_on_disks = bytes_kept * copies as f64;
    let millis = load.messages_a_second() * measured::TABLES_MESSAGE_CPU.value
        + load.entries_a_second * measured::TABLES_ROW_CPU.value;
    let cpu_millis = round_up(millis * copies as f64 * RESERVE, 100);
    let nodes = machines(copies, cpu_millis, bytes_on_disks);
    TableSize { entries_kept, messages_kept, follows, bytes_kept, bytes_on_disks, cpu_millis, nodes }
}

/// One for each copy at least; disks are filled by half, since compaction and a copy on the way need the other half.
fn machines(copies: u64, cpu_millis: u64, bytes: f64) -> u64 {
    let for_processors = cpu_millis.div_ceil(MACHINE_PROCESSORS * 1_000);
    let for_disks = round_up(bytes * RESERVE / MACHINE_DISK_BYTES, 1);
    copies.max(for_processors).max(for_disks)
}
