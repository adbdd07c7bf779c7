//! How big a catalogue may be.

use model::{
    DayLife,
    limits::{DAY_MS, ID_BYTES_MAX, LAST_CALL_MS, WINDOW_DAYS_MAX, WINDOWS_PER_PERSON_MAX},
};

/// Bytes of the catalogue file, and of each template.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a text that stands in the catalogue itself: a condition, what a kind says, a headline.
pub const INLINE_BYTES_MAX: usize = 4 * 1024;

/// Bytes of a name: `type:id` and the like must fit an id.
pub const NAME_BYTES_MAX: usize = ID_BYTES_MAX / 2;
/// Bytes of a postal address.
pub const POSTAL_BYTES_MAX: usize = 512;
/// Languages in which readers are told, those of regions too.
pub const LANGUAGES_MAX: usize = 20;
pub const SUBJECTS_MAX: usize = 200;
pub const KINDS_MAX: usize = 500;
pub const CATEGORIES_MAX: usize = 50;
/// A person may have one window open for each plan.
pub const PLANS_MAX: usize = WINDOWS_PER_PERSON_MAX;
pub const SECTIONS_MAX: usize = 20;
/// The priority of a kind that does not say, and the last there is.
pub const PRIORITY: u16 = 10;
pub const PRIORITY_MAX: u16 = 100;
/// Each has a loop of its own.
pub const SOURCES_MAX: usize = 50;
/// A kind may be like a kind that is like a kind, so often.
pub const LIKE_DEPTH_MAX: usize = 8;

/// Lists of slots, the places of one, where its things come from, and the hosts to which they lead.
pub const SLOT_LISTS_MAX: usize = 20;
pub const SLOT_PLACES_MAX: u16 = 20;
pub const SLOT_SOURCES_MAX: usize = 8;
pub const SLOT_HOSTS_MAX: usize = 20;
/// A list is not made anew while its mail is still being shown, and is forgotten in time.
pub const SLOT_LIFE_MS_MIN: i64 = 60_000;
pub const SLOT_LIFE_MS_MAX: i64 = 31 * DAY_MS;

/// The longest look-back of any house.
pub const LOOK_BACK_DAYS_MAX: i64 = WINDOW_DAYS_MAX as i64;

/// The longest look-back where days live so long. A digest closes at most a day after the last entry of its own day, and
/// everything it reads must live until then.
pub fn longest_look_back(life: DayLife) -> i64 {
    ((life.ms() - LAST_CALL_MS) / DAY_MS - 1).min(LOOK_BACK_DAYS_MAX)
}

/// A spread must leave the closing on its own date in most of the world.
pub const SPREAD_MS_MAX: i64 = 6 * 3_600_000;
/// A window that closes after a while is open at least so long; shorter is no window.
pub const AFTER_MS_MIN: i64 = 60_000;

/// A silence is at least so long.
pub const SILENCE_MS_MIN: i64 = 1_000;
/// A rest, or a time in which messages are counted, is at least so long.
pub const REST_MS_MIN: i64 = 1_000;
/// Messages that may go alone one after the other; each is remembered.
pub const ALONE_MAX: u16 = 10;
/// A rest grows by at most so many times.
pub const FACTOR_MAX: u16 = 1_000;

/// Surfaces on which a person may be seen, each remembered.
pub const SURFACES_MAX: usize = 8;
/// Caps, each of which remembers instants.
pub const CAPS_MAX: usize = 8;
/// Parts of a key.
pub const KEY_PARTS_MAX: usize = 4;
