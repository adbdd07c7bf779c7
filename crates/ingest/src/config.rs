//! What can be set about the intake, and what is fixed.

use model::{Tenant, limits::ID_BYTES_MAX};
use wire::topics;

use crate::returns::ReturnPaths;

/// The group under which it reads.
pub const GROUP: &str = "ingest";

/// Records handed to one turn, unless it is set otherwise.
pub const RECORDS_MAX: usize = 256;
/// Records that may wait behind us before HTTP is asked to come later, unless it is set otherwise.
pub const LAG_RECORDS_MAX: u64 = 200_000;
/// Requests that are worked on at once, unless it is set otherwise.
pub const REQUESTS_MAX: usize = 64;

/// The stages whose lag throttles intake: groups, their topics, and for how many records one counts; a slice has at
/// least as many rows.
pub const LAG_OF: [(&str, &str, u64); 3] =
    [("fanout", topics::EVENTS, 1), ("fanout-slices", topics::SLICES, 250), ("digest", topics::PENDING, 1)];
/// Rows a minute that one tenant's lists may come to over HTTP, persons times subjects, so that the others are not kept waiting.
pub const LISTED_ROWS_A_MINUTE: u64 = 600_000;
/// For so long a measured lag is believed.
pub const LAG_BELIEVED_MS: i64 = 1_000;

/// Items without a time are a millisecond apart, and at most this far from when they were first seen.
pub const IN_A_ROW_MAX: i64 = 999;

/// What `Retry-After` says when the house is behind.
pub const BEHIND_RETRY_SECS: u32 = 5;

/// Entries that one piece of feedback names.
pub const FEEDBACK_ENTRIES_MAX: usize = 200;
/// Names of fields that nobody declared, in one body, that are compared with those that are; and bytes of one.
pub const STRANGE_FIELDS_MAX: usize = 100;
pub const STRANGE_NAME_BYTES_MAX: usize = 64;
/// Subjects of one change, persons that it lists, and persons times subjects.
pub const SUBJECTS_MAX: usize = 100;
pub const PERSONS_MAX: usize = 5_000;
pub const LISTED_MAX: usize = 50_000;
/// The preferences that a person has, and has had.
pub const PREFERENCES_MAX: usize = 1_000;
/// A change of several subjects is longer written out than it came. By so many bytes at most, and so many are
/// in hand at once.
pub const EXTRA_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What came back of so many mails is noted at once.
pub const RETURNS_AT_ONCE: usize = 200;

const _: () = assert!(PERSONS_MAX <= wire::LIST_MAX && PERSONS_MAX <= LISTED_MAX);
// As many as may be listed, with the longest ids.
const _: () = assert!(LISTED_MAX * (ID_BYTES_MAX + 24) <= EXTRA_BYTES_MAX);
const _: () = assert!(FEEDBACK_ENTRIES_MAX <= room::feedback::MARK_KEYS_MAX);

/// Settings of the intake.
#[derive(Clone, Debug)]
pub struct Config {
    /// Records handed to one turn at most.
    pub records_max: usize,
    /// Whose changes come by topic, and by HTTP where no keys are asked for.
    pub tenant: Tenant,
    /// Records that may wait behind us before HTTP is asked to come later.
    pub lag_records_max: u64,
    /// Rows a minute that the lists of one tenant may come to over HTTP.
    pub listed_rows_a_minute: u64,
    /// HTTP requests that are worked on at once.
    pub requests_max: usize,
    /// Where mails come back to; nothing is heard of it without.
    pub returns: Option<ReturnPaths>,
}
