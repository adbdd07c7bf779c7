//! The topics: their names, how many partitions each has, and what it keeps.

use model::{
    fault::{self, PlantedFault},
    limits::{DAY_MS, LATE_MS_MAX},
    partition::PartitionCount,
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
/// What is due under urgent plans, keyed by person: nothing here waits for what is in the other lane.
pub const READY_URGENT: &str = "ready-urgent";
/// All else that is due, keyed by person.
pub const READY: &str = "ready";
/// The lanes of what is due.
pub const READY_LANES: [&str; 2] = [READY_URGENT, READY];
/// What came back of mails, keyed by person; for readers outside. So little that it has one order.
pub const RETURNS: &str = "returns";
/// What could not be used, with the reason.
pub const QUARANTINE: &str = "quarantine";
/// What is kept of replays, keyed by their ids; compacted.
pub const REPLAYS: &str = "replays";
/// What the house notes of itself: which one it is, which catalogues it took up; compacted.
pub const HOUSE: &str = "house";
/// How far erasures are, and their receipts, keyed by person.
pub const ERASURES: &str = "erasures";

/// A replay goes back as far as an event may be late, and operators need as long again to decide on one.
pub const REPLAY_MS: i64 = 14 * DAY_MS;
/// Somebody looks at the quarantine once a month at the latest.
pub const QUARANTINE_MS: i64 = 30 * DAY_MS;

/// A receipt can be shown for a year; that somebody was erased is known forever.
pub const RECEIPTS_MS: i64 = 365 * DAY_MS;

const _: () = assert!(REPLAY_MS > LATE_MS_MAX + DAY_MS);
const _: () = assert!(QUARANTINE_MS > REPLAY_MS);

/// What a topic keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeepPolicy {
    /// Records go once they are older than so many milliseconds.
    Millis(i64),
    /// The latest record of each key.
    Latest,
}

/// In which lane a Ready lies, by whether its plan is urgent.
pub fn ready_lane(is_urgent: bool) -> &'static str {
    if is_urgent && !fault::is_planted(PlantedFault::OneLane) { READY_URGENT } else { READY }
}

/// Every topic: name, partitions, what it keeps. Nobody is owned by the partitions of `changes`: it is made with as many
/// as the others, and may have any other count.
pub fn all_topics(partitions: PartitionCount) -> [(&'static str, u32, KeepPolicy); 13] {
    let many = partitions.count();
    [
        (CHANGES, many, KeepPolicy::Millis(REPLAY_MS)),
        (EVENTS, many, KeepPolicy::Millis(REPLAY_MS)),
        (SLICES, many, KeepPolicy::Millis(REPLAY_MS)),
        (INBOX, many, KeepPolicy::Millis(REPLAY_MS)),
        (PENDING, many, KeepPolicy::Millis(REPLAY_MS)),
        (WINDOWS, many, KeepPolicy::Latest),
        (READY_URGENT, many, KeepPolicy::Millis(REPLAY_MS)),
        (READY, many, KeepPolicy::Millis(REPLAY_MS)),
        (RETURNS, 1, KeepPolicy::Millis(QUARANTINE_MS)),
        (QUARANTINE, 1, KeepPolicy::Millis(QUARANTINE_MS)),
        (REPLAYS, 1, KeepPolicy::Latest),
        (HOUSE, 1, KeepPolicy::Latest),
        (ERASURES, 1, KeepPolicy::Millis(RECEIPTS_MS)),
    ]
}
