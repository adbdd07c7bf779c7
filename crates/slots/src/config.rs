//! What is fixed about slots.

use std::time::Duration;

/// A picture of a mail is waited for no longer: what stands instead is shown then.
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// Lists that are being looked for at once, and clicks. Whoever comes then is shown what stands instead.
pub const FINDS_MAX: usize = 256;
/// The same for robots.
pub const ROBOT_FINDS_MAX: usize = 16;
/// Bytes that the lists may take which a process has seen, as far as they are counted.
pub const BOARD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// About how many lists that is.
pub const BOARD_LISTS: usize = 40_000;
/// A list that gives way is tried again so often; each time another process was first.
pub const TRIES_MAX: usize = 8;
/// For so long after its time a list is still there for the one that follows it, and for a click.
pub const KEPT_BEHIND_MS: i64 = 24 * 3_600_000;
/// Things of a table that are looked at, for each place.
pub const CANDIDATES_PER_PLACE: usize = 3;
