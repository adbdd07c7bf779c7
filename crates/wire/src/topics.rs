//! The topics: their names, how many partitions each has, and what it keeps.

use model::{
    limits::{DAY_MS, LATE_MS_MAX},
    partition::Partitions,
};

/// What upstream services say; Avro or CloudEvents JSON.
pub const CHANGES: &str = "changes";
/// Admitted changes, keyed by subject.
pub const EVENTS: &str = "events";
/// Parts of large audiences, keyed by subject.
pub const SLICES: &str = "slices";
/// Facts, feedback, deliveries and releases, keyed by person.
pub const INBOX: &str = "inbox";
/// Announcements, many persons of one partition a record.
pub const PENDING: &str = "pending";
/// What is remembered of each person, keyed by person; compacted.
pub const WINDOWS: &str = "windows";
/// What is due, keyed by person.
pub const READY: &str = "ready";
/// What came back of mails, keyed by person; for readers outside. So little that it has one order.
pub const RETURNS: &str = "returns";
/// What could not be used, with the reason.
pub const QUARANTINE: &str = "quarantine";
/// What is kept of replays, keyed by their ids; compacted.
pub const REPLAYS: &str = "replays";

/// Partitions of `changes`: one consumer each, and order only matters within a source.
pub const CHANGES_PARTITIONS: u32 = 8;
/// A replay goes back as far as an event may be late, and operators need as long again to decide on one.
pub const REPLAY_MS: i64 = 14 * DAY_MS;
/// Somebody looks at the quarantine once a month at the latest.
pub const QUARANTINE_MS: i64 = 30 * DAY_MS;

const _: () = assert!(REPLAY_MS > LATE_MS_MAX + DAY_MS);
const _: () = assert!(QUARANTINE_MS > REPLAY_MS);

/// What a topic keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// Records go once they are older than so many milliseconds.
    Millis(i64),
    /// The latest record of each key.
    Latest,
}

/// Every topic: name, partitions, what it keeps.
pub fn all(partitions: Partitions) -> [(&'static str, u32, Keep); 10] {
    let many = partitions.count();
    [
        (CHANGES, CHANGES_PARTITIONS, Keep::Millis(REPLAY_MS)),
        (EVENTS, many, Keep::Millis(REPLAY_MS)),
        (SLICES, many, Keep::Millis(REPLAY_MS)),
        (INBOX, many, Keep::Millis(REPLAY_MS)),
        (PENDING, many, Keep::Millis(REPLAY_MS)),
        (WINDOWS, many, Keep::Latest),
        (READY, many, Keep::Millis(REPLAY_MS)),
        (RETURNS, 1, Keep::Millis(QUARANTINE_MS)),
        (QUARANTINE, 1, Keep::Millis(QUARANTINE_MS)),
        (REPLAYS, 1, Keep::Latest),
    ]
}
