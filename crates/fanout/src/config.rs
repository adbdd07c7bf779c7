//! What can be set about the fan-out, and what is fixed.

use std::sync::Arc;

use house_facts::tenant_shares::TenantShares;
use model::limits::{DAY_LIFE_MIN, DAY_MS, LATE_MS_MAX, SLICE_PERSONS_MAX, WINDOWS_PER_PERSON_MAX};

/// The group under which it reads `events`.
pub const GROUP: &str = "fanout";
/// The group under which it reads `slices`.
pub const SLICES_GROUP: &str = "fanout-slices";

/// Events handed to one turn, unless it is set otherwise.
pub const RECORDS_MAX: usize = 256;

/// Persons of an event whose crowds are told in its own turn; more walk through the log in slices.
pub const INLINE_PERSONS_MAX: usize = 250;
/// Events whose crowds are begun at once.
pub const EVENTS_AT_ONCE: usize = 4;
/// Rows that are resolved, written and announced together in a turn of events.
pub const SHEET_ROWS_MAX: usize = SLICE_PERSONS_MAX / 4;

/// Slices that are told at the same time, each so much smaller; a commit costs as much for all of them as for one.
pub const SLICES_AT_ONCE: usize = 4;
/// A slice is told in so many parts: while some are written the next is made.
pub const PARTS_OF_SLICE: usize = 4;
/// A slice of the lightest tenant is so many times smaller than a whole one at most: a turn costs something by itself.
pub const LIGHT_SLICES_MAX: usize = 20;
/// Parts of one crowd that are told at the same time.
pub const CROWD_PARTS_MAX: usize = 16;
/// Crowds that are asked at once, as long as they turn out to be small: most cells of a map are empty.
pub const CROWDS_AT_ONCE: usize = 16;
/// Crowds that one slice names; an event of more has several slices, so that a record stays small.
pub const CROWDS_OF_SLICE_MAX: usize = 500;
/// Profiles that are asked at once; they are the largest thing that is read of a person.
pub const PROFILES_AT_ONCE: usize = 250;

/// Times that a crowd is asked again before the turn is given up.
pub const BUSY_TRIES_MAX: u32 = 4;

/// A clock so far ahead of what is read is not believed by itself. No day expires sooner after its record.
pub const FAR_MS: i64 = DAY_MS;

/// Persons that one record of `pending` announces.
pub const ANNOUNCED_MAX: usize = 500;
/// Bytes that they may take.
pub const ANNOUNCED_BYTES_MAX: usize = 512 * 1024;
/// Windows that one announcement names, of those that plans tell apart.
pub const WINDOWS_NAMED_MAX: usize = 64;

// Law 13: of large audiences never more persons than a slice has are in hand. The loop of events beside it holds as much
// at most: what is on the sheet, what was just found for it, and what is being found.
const OF_EVENTS: usize = SHEET_ROWS_MAX + (EVENTS_AT_ONCE + 1) * INLINE_PERSONS_MAX;
const _: () = assert!(OF_EVENTS <= SLICE_PERSONS_MAX);
const _: () = assert!(SLICES_AT_ONCE <= LIGHT_SLICES_MAX);
const _: () = assert!(FAR_MS < DAY_LIFE_MIN as i64 * DAY_MS - DAY_MS - LATE_MS_MAX);
const _: () = assert!(ANNOUNCED_MAX <= wire::LIST_MAX);
const _: () = assert!(
    WINDOWS_NAMED_MAX >= WINDOWS_PER_PERSON_MAX && ANNOUNCED_BYTES_MAX < wire::RECORD_BYTES_MAX / 4 * 3
);
const _: () = assert!(CROWDS_OF_SLICE_MAX <= wire::LIST_MAX);

/// Settings of the fan-out.
#[derive(Clone, Debug)]
pub struct Config {
    /// Events handed to one turn at most.
    pub records_max: usize,
    /// How tenants share its turns.
    pub shares: Arc<TenantShares>,
    /// Parts into which a large crowd is cut at most: 1 where one process is all there is, since who cuts reads on.
    pub crowd_parts: usize,
}

impl Default for Config {
    /// As the house ships it.
    fn default() -> Self {
        Self { records_max: RECORDS_MAX, shares: Arc::default(), crowd_parts: CROWD_PARTS_MAX }
    }
}

/// How many persons are taken in hand. They are what they are; but a test of what happens between two
/// slices wants slices of three.
#[derive(Clone, Copy, Debug)]
pub struct FanoutSizes {
    /// Of an event, in its own turn.
    pub inline: usize,
    /// Of a slice.
    pub slice: usize,
}

impl Default for FanoutSizes {
    fn default() -> Self {
        Self { inline: INLINE_PERSONS_MAX, slice: SLICE_PERSONS_MAX }
    }
}
