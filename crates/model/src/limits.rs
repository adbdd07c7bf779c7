//! How much of anything there may be. Each bound has a name and stands here; relations between bounds
//! are asserted at compile time, so that changing one cannot quietly break another.

/// Bytes of any identifier: tenant, person, subject, kind, plan.
pub const ID_BYTES_MAX: usize = 128;

/// Partitions of a topic that is keyed by person or subject: each costs its owner a producer.
pub const PARTITIONS_MAX: u32 = 1_024;

/// An event may be this late.
pub const LATE_MS_MAX: i64 = 7 * DAY_MS;
/// An event may be this far ahead of the time its record was appended.
pub const AHEAD_MS_MAX: i64 = 60_000;

/// Milliseconds of a UTC day.
pub const DAY_MS: i64 = 86_400_000;
/// A day and all its rows live for at least so many days, and for at most so many.
pub const DAY_LIFE_MIN: u16 = 21;
pub const DAY_LIFE_MAX: u16 = 400;
/// Unless something else is chosen as a house is set up.
pub const DAY_LIFE_UNSAID: u16 = 90;
/// How long an ended enrolment of a place is kept: no older statement about it arrives later than this.
pub const LEFT_LIFE_MS: i64 = 30 * DAY_MS;
/// A window closes at the latest this long before its oldest day expires.
pub const LAST_CALL_MS: i64 = DAY_MS;

/// From this many rows on a person's day is full: further events are announced as a count only.
pub const DAY_ROWS_FULL: u32 = 2_000;
/// Rows for which an urgent plan still has room in a full day: many events about a person must not suppress an alert.
pub const DAY_ROWS_SHUT: u32 = 3_000;
/// How many rows were announced for a day is kept in steps of so many, for it is a hint.
pub const ROWS_STEP: u32 = 100;
/// A reader of one day pages, and stops here.
pub const DAY_ROWS_READ_MAX: usize = 10_000;

/// Bytes of a person's record in the compacted topic.
pub const RECORD_BYTES_MAX: usize = 64 * 1024;
/// Bytes of that record which Readys that wait for another attempt may take.
pub const WAITING_BYTES_MAX: usize = 6 * 1024;
/// Bytes that a closing adds to the record for what it tells and what it names as carried; what ended takes
/// what room is left.
pub const CLOSING_BYTES_MAX: usize = 32 * 1024;
/// How long a window waits for the report of a message.
pub const UNREPORTED_MS: i64 = HOUR_MS;
/// Held entries are told this long before they expire, at the latest.
pub const LAST_MS: i64 = HOUR_MS;
pub(crate) const HOUR_MS: i64 = 3_600_000;
/// Messages that a cap counts, each by its instant.
pub const COUNTED_MAX: usize = 20;
/// Entries that one Ready may carry; the rest is carried over.
pub const READY_ENTRIES_MAX: usize = 60;
/// Reasons that an entry takes into a Ready, so that however long its names are it fits a record.
pub const READY_REASONS_MAX: usize = 24;
/// Entry keys that a person's record names itself. Where a closing covers more, its marks name lists in the days.
pub const RECORD_KEYS_MAX: usize = 60;
/// Entries of a bundle that a Ready names itself; of a larger one it names lists.
pub const BUNDLE_KEYS_MAX: usize = 8;
/// Entry keys of one list or mark in a day.
pub const LIST_KEYS_MAX: usize = 1_000;
/// Entries of a bundle among which its actors are sought, the newest.
pub const ACTORS_SOUGHT_MAX: usize = 500;
/// Bytes of what a row keeps of its event's own words, with the names of the fields.
pub const KEPT_BYTES_MAX: usize = 512;
/// Days that a window gathers, and that a plan looks back at most; the life of a day bounds it as well.
pub const WINDOW_DAYS_MAX: usize = 200;
/// Windows that one person may have open at once.
pub const WINDOWS_PER_PERSON_MAX: usize = 16;
/// Entries for which a message had no room are told this much later at the earliest, if their plan has no period of its
/// own.
pub const NEXT_WAIT_MS: i64 = 60_000;
/// Entries of an unsent message are told again after this time at the earliest, so that an outage does not make a loop.
pub const BACK_WAIT_MS: i64 = 60_000;
/// Visits on a surface are recorded at most this often.
pub const SEEN_EVERY_MS: i64 = 30_000;
/// When somebody comes is remembered for so long after they came last.
pub const HABIT_LIFE_MS: i64 = 60 * DAY_MS;
/// The delay before a push corrects the badge after the person saw something elsewhere: several reads in a row make one
/// push.
pub const BADGE_WAIT_MS: i64 = 5_000;
/// After this time since the last push, the badge is not corrected any more.
pub const BADGE_LIFE_MS: i64 = 7 * DAY_MS;
/// For so long after a push its words are put right where a part of them is revoked. Later hardly anybody has it on the screen.
pub const REVOCABLE_MS: i64 = 2 * DAY_MS;
/// Contexts of traces that a person's record holds, and links that the telling of a Ready has.
pub const TRACES_MAX: usize = 32;
/// Keys of plans of one person whose last messages are remembered.
pub const TOLD_MAX: usize = 24;

/// Windows that one turn may close.
pub const TURN_CLOSINGS_MAX: usize = 500;
/// With so many rows in hand a turn reads no more persons' days; one person it always reads.
pub const TURN_ROWS_MAX: usize = 100_000;

/// Attempts at one Ready before its entries end as failed.
pub const ATTEMPTS_MAX: u16 = 20;

/// Fields of one subject or person.
pub const FIELDS_MAX: usize = 64;
/// Bytes of one text value.
pub const TEXT_BYTES_MAX: usize = 4 * 1024;
/// References in one list value.
pub const REFS_MAX: usize = 100;

/// Persons that one slice of an audience names.
pub const SLICE_PERSONS_MAX: usize = 5_000;
/// Subjects that are looked at, in one step, of what a person follows.
pub const FOLLOWS_PART_MAX: usize = 5_000;

const _: () = assert!(DAY_LIFE_MIN as i64 * DAY_MS > LATE_MS_MAX + LAST_CALL_MS);
// What a closing tells and carries has, for each day, two marks: with the few keys there are, or a list.
const _: () = assert!(RECORD_KEYS_MAX * 26 + 2 * WINDOW_DAYS_MAX * 48 < CLOSING_BYTES_MAX);
const _: () = assert!(2 * WINDOW_DAYS_MAX * (48 + 26) < CLOSING_BYTES_MAX);
// It fits beside the windows and the Readys that wait.
const _: () = assert!(
    CLOSING_BYTES_MAX + WAITING_BYTES_MAX + WINDOWS_PER_PERSON_MAX * (384 + 5 * WINDOW_DAYS_MAX)
        <= RECORD_BYTES_MAX
);
const _: () = assert!(DAY_ROWS_FULL < DAY_ROWS_SHUT && DAY_ROWS_SHUT as usize * 2 < DAY_ROWS_READ_MAX);
// A day is noticed to be full when it is, whatever a crash lost.
const _: () = assert!(DAY_ROWS_FULL.is_multiple_of(ROWS_STEP) && DAY_ROWS_SHUT.is_multiple_of(ROWS_STEP));
