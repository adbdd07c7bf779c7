//! Named points between two effects, at which a test stops the process and kills it for real.
//!
//! With the feature, `TIDINGS_STOP_AT=<point>:<n>` makes the process stop for good when it passes that point for the
//! n-th time, after writing one line to the standard error; the test reads the line and sends SIGKILL. Without the
//! feature a point is nothing.

// The points, one between each two effects that must not be lost or doubled.
pub const STORED: &str = "after store before pending";
pub const LISTED: &str = "after lists before commit";
pub const COMMITTED: &str = "after commit before marks";
pub const CLAIMED: &str = "after claim before send";
pub const SENT: &str = "after send before record";

/// Of who moves.
pub const ENTERED: &str = "after entering before the profile";
pub const MOVED: &str = "after the profile before leaving";

/// Those that every event and every mail passes.
pub const ALL: [&str; 4] = [STORED, COMMITTED, CLAIMED, SENT];

/// Passes a point.
#[cfg(feature = "faults")]
#[allow(clippy::print_stderr, reason = "the line is what the test waits for")]
pub fn point(name: &str) {
    use std::sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    };
    static STOP: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let stop = STOP.get_or_init(|| {
        let text = std::env::var("TIDINGS_STOP_AT").ok()?;
        let (name, nth) = text.rsplit_once(':')?;
        Some((name.to_owned(), nth.parse().ok()?))
    });
    if let Some((at, nth)) = stop
        && at == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *nth
    {
        eprintln!("stopped {name}");
        loop {
            std::thread::park();
        }
    }
}

/// Passes a point: nothing, without the feature.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub fn point(_: &str) {}
