//! What was measured, and where; what is assumed says so. Every size comes from these; a house of one's own is measured with `tidings bench`.

use serde::Serialize;

/// A figure with where it comes from.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MeasuredFigure {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    pub origin: &'static str,
}

/// One machine of two cores with everything on it: 1,000 events for one person each, which became as many mails.
const EVENTS_TO_MAILS: &str = "1,000 events that became 1,000 mails, one process a room; Kafka and Cassandra on the same two cores, one copy, `acks=all`, commit log synced every 10 s";
/// The same machine, a few posts to many followers.
const TO_FOLLOWERS: &str = "10 posts to 10,000 followers on the same engines";

const fn figure(name: &'static str, value: f64, unit: &'static str, origin: &'static str) -> MeasuredFigure {
    MeasuredFigure { name, value, unit, origin }
}

pub const INGEST_CPU: MeasuredFigure = figure("CPU of ingest for an event", 0.070, "ms", EVENTS_TO_MAILS);
pub const FANOUT_EVENT_CPU: MeasuredFigure =
    figure("CPU of fanout for an event", 0.073, "ms", EVENTS_TO_MAILS);
pub const FANOUT_ROW_CPU: MeasuredFigure = figure("CPU of fanout for an entry", 0.0117, "ms", TO_FOLLOWERS);
pub const DIGEST_CPU: MeasuredFigure =
    figure("CPU of digest for an announcement and its closing", 0.173, "ms", EVENTS_TO_MAILS);
pub const SENDER_CPU: MeasuredFigure = figure("CPU of sender for a message", 0.328, "ms", EVENTS_TO_MAILS);
pub const FEED_PAGE_CPU: MeasuredFigure = figure(
    "CPU of feed for a page",
    0.23,
    "ms",
    "`tidings bench feed --size 1000`, of pages that were made anew: 8,700 in words a second kept two cores busy, with whoever asked on the same ones",
);
pub const FEED_RECORD_CPU: MeasuredFigure =
    figure("CPU of each feed for an entry that it hears of", 0.005, "ms", "assumed, not measured");
pub const KAFKA_CPU: MeasuredFigure =
    figure("CPU of Kafka for an event and its message, each copy", 0.179, "ms", EVENTS_TO_MAILS);
pub const TABLES_MESSAGE_CPU: MeasuredFigure =
    figure("CPU of Cassandra for an event, its row and its message, each copy", 1.645, "ms", EVENTS_TO_MAILS);
pub const TABLES_ROW_CPU: MeasuredFigure = figure(
    "CPU of Cassandra for one row more, each copy",
    0.08,
    "ms",
    "25,000 rows a second to followers took its two cores at most",
);

/// Sizes of files after a flush, one copy, facts in bodies of 500: 1,000 profiles, then 10,000 follows.
const FLUSHED: &str = "Cassandra 5.0.5, flushed, one copy: 1,000 profiles and 10,000 follows";

pub const PROCESS_MEMORY: MeasuredFigure =
    figure("memory of a process under load", 104.0, "MiB", "resident in the same run: 89 to 109 MB by room");
pub const STREAM_MEMORY: MeasuredFigure = figure(
    "memory of a feed for a stream",
    26.0,
    "kB",
    "9,900 streams of as many persons took 25.4 kB each, embedded engines",
);
pub const PARTITION_MEMORY: MeasuredFigure = figure(
    "memory of a process for a partition that it owns",
    1.0,
    "MiB",
    "assumed, not measured: a producer with its buffers",
);
pub const PERSON_MEMORY: MeasuredFigure = figure(
    "memory of a digest for a person",
    600.0,
    "bytes",
    "`tidings bench windows`: 182 MiB with 200,000 open windows, embedded engines included, less 70 MB when idle",
);
pub const KAFKA_EVENT_BYTES: MeasuredFigure = figure(
    "Kafka: an event",
    400.0,
    "bytes",
    "golden records, uncompressed: 218 for an event, 155 for its change",
);
pub const KAFKA_ENTRY_BYTES: MeasuredFigure = figure(
    "Kafka: an entry",
    240.0,
    "bytes",
    "golden record of an announcement, 140, with 100 assumed for keys",
);
pub const KAFKA_MESSAGE_BYTES: MeasuredFigure = figure(
    "Kafka: a message",
    900.0,
    "bytes",
    "golden records: 350 for a Ready, 123 for a delivery; 400 assumed for the person's record",
);
pub const KAFKA_PERSON_BYTES: MeasuredFigure =
    figure("Kafka: what is remembered of a person", 400.0, "bytes", "assumed, not measured");
pub const TABLE_ENTRY_BYTES: MeasuredFigure = figure(
    "tables: an entry with its marks",
    84.0,
    "bytes",
    "288,000 rows of days were 12 MB when flushed, 42 each; as much again assumed for marks",
);
pub const TABLE_JOURNAL_BYTES: MeasuredFigure =
    figure("tables: a message in the journal", 233.0, "bytes", "60,000 mails were 14 MB when flushed");
pub const TABLE_SLIP_BYTES: MeasuredFigure =
    figure("tables: a slip", 100.0, "bytes", "assumed, not measured");
pub const TABLE_EVENT_BYTES: MeasuredFigure =
    figure("tables: the first word on an event and its subject", 100.0, "bytes", "assumed, not measured");
pub const TABLE_PERSON_BYTES: MeasuredFigure = figure("tables: a profile", 72.0, "bytes", FLUSHED);
pub const TABLE_FOLLOW_BYTES: MeasuredFigure = figure("tables: a follow", 28.0, "bytes", FLUSHED);

/// All of them, in the order in which people read them.
pub const ALL: [MeasuredFigure; 24] = [
    INGEST_CPU,
    FANOUT_EVENT_CPU,
    FANOUT_ROW_CPU,
    DIGEST_CPU,
    SENDER_CPU,
    FEED_PAGE_CPU,
    FEED_RECORD_CPU,
    KAFKA_CPU,
    TABLES_MESSAGE_CPU,
    TABLES_ROW_CPU,
    PROCESS_MEMORY,
    STREAM_MEMORY,
    PARTITION_MEMORY,
    PERSON_MEMORY,
    KAFKA_EVENT_BYTES,
    KAFKA_ENTRY_BYTES,
    KAFKA_MESSAGE_BYTES,
    KAFKA_PERSON_BYTES,
    TABLE_ENTRY_BYTES,
    TABLE_JOURNAL_BYTES,
    TABLE_SLIP_BYTES,
    TABLE_EVENT_BYTES,
    TABLE_PERSON_BYTES,
    TABLE_FOLLOW_BYTES,
];
