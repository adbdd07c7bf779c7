//! What can be set about the feed, and what is fixed.

use std::{sync::Arc, time::Duration};

/// The group under which a process reads, unless there are several.
pub const GROUP: &str = "feed";
/// Records handed to one turn.
pub const RECORDS_MAX: usize = 1_000;

/// Bundles of a page, unless it is said otherwise, and at most.
pub const PAGE_BUNDLES: usize = 25;
pub const PAGE_BUNDLES_MAX: usize = 100;
/// Entries that an item of a page names.
pub const ITEM_ENTRIES_MAX: usize = 100;
/// Bundles and entries that a mark names.
pub const MARK_BUNDLES_MAX: usize = 100;
pub const MARK_ENTRIES_MAX: usize = 200;
/// Bytes of the body of a mark: so many of the longest names, and a visit.
pub const MARK_BYTES_MAX: usize = 64 * 1024;

/// Requests that are worked on at once, until their answers have been read.
pub const REQUESTS_MAX: usize = 64;
/// Connections that wait for news at once.
pub const LIVE_MAX: usize = 10_000;
/// So often a connection hears something, so that nothing in between takes it for dead.
pub const LIVE_PULSE: Duration = Duration::from_secs(15);
/// News of one moment are one.
pub const LIVE_PAUSE: Duration = Duration::from_millis(100);
/// What a client waits that has lost its connection.
pub const LIVE_RETRY_MS: u64 = 2_000;

/// After so long at most a connection looks whether the feed is another one, though the log says nothing: few things change
/// a feed that the log does not tell of.
pub const LIVE_LOOK_MS: i64 = 5 * 60_000;

/// For so long what was read of a person is believed, should the log say nothing of a change.
pub const SHELF_AGE_MS: i64 = 60_000;
/// Bytes that all of it may take, as far as they are counted.
pub const SHELVES_BYTES_MAX: usize = 192 * 1024 * 1024;

/// A feed of more entries is made beside the threads that answer.
pub const LARGE_SHELF: usize = 1_000;

/// Settings of the feed.
#[derive(Clone, Debug)]
pub struct Config {
    /// The group under which this process reads: where there are several processes, each has its own.
    pub group: Arc<str>,
}

impl Default for Config {
    fn default() -> Self {
        Self { group: GROUP.into() }
    }
}
