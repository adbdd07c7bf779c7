//! What bounds a request, wherever it goes.

use std::time::Duration;

/// A body that takes longer than this to arrive is given up.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(5);
/// A request that takes longer than this in all is given up; it may be sent again.
pub const REQUEST_TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of bodies that are in memory at once, as far as they have come.
pub const BODIES_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of a body that are counted as one.
pub const BODY_UNIT_BYTES: usize = 1024;
/// Bytes of a body of JSON where its path says nothing else; axum takes as many.
pub const JSON_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of an idempotency key.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;
/// What `Retry-After` says when an engine is busy.
pub const BUSY_RETRY_SECS: u32 = 1;
/// Characters of a name from outside that a reason quotes.
pub const QUOTED_CHARS_MAX: usize = 60;
/// Bytes of a reason of the framework's own that are passed on.
pub const REASON_BYTES_MAX: usize = 4 * 1024;
/// Bytes of a person's token: they mostly have some hundred.
pub const PERSON_TOKEN_BYTES_MAX: usize = 4 * 1024;
/// For so long a person's token may be good from now on: whoever lost it has it no longer.
pub const PERSON_TOKEN_LIFE_MS_MAX: i64 = 24 * 60 * 60 * 1_000;
/// So far the clocks of a login and of this machine may be apart.
pub const PERSON_TOKEN_LEEWAY_MS: i64 = 60 * 1_000;
/// Bytes of a set of keys that tokens are signed with, and keys in it.
pub const PERSON_KEY_SET_BYTES_MAX: usize = 64 * 1024;
pub const PERSON_KEYS_MAX: usize = 64;
/// What `Retry-After` says while the keys of a login are not there yet.
pub const PERSON_KEYS_RETRY_SECS: u32 = 5;
/// For how long a browser may remember what another site may ask.
pub const PREFLIGHT_LIFE_SECS: u32 = 10 * 60;

const _: () = assert!(BODY_TIME_MAX.as_secs() < REQUEST_TIME_MAX.as_secs());
