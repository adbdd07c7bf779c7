//! The clock. Everything that asks for the time asks this one, so that a scenario, a demo and production
//! differ in nothing but the clock they were given. Time-outs of IO are not its business: they stay real.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::sync::Notify;

/// UTC milliseconds, real or virtual, and sleeping until an instant. Cheap to clone.
#[derive(Clone)]
pub struct Clock {
    inner: Arc<ClockState>,
}

struct ClockState {
    /// Whether the wall clock is added to `shift`; if not, time stands until it is advanced.
    ticks: bool,
    shift: AtomicI64,
    moved: Notify,
    sleepers: Mutex<BTreeSet<(i64, u64)>>,
    next_id: AtomicU64,
}

impl Clock {
    /// The machine's clock, ahead by so many milliseconds (a demo that was moved forward stays there).
    pub fn real(ahead_ms: i64) -> Self {
        Self::new(true, ahead_ms)
    }

    /// A clock that stands still until it is advanced.
    pub fn still(at_ms: i64) -> Self {
        Self::new(false, at_ms)
    }

    fn new(ticks: bool, shift: i64) -> Self {
        Self {
            inner: Arc::new(ClockState {
                ticks,
                shift: AtomicI64::new(shift),
                moved: Notify::new(),
                sleepers: Mutex::new(BTreeSet::new()),
                next_id: AtomicU64::new(0),
            }),
        }
    }

    /// Now, in UTC milliseconds.
    pub fn now(&self) -> i64 {
        let wall = if self.inner.ticks { wall_ms() } else { 0 };
        wall.saturating_add(self.inner.shift.load(Ordering::SeqCst))
    }

    /// Milliseconds since some instant of this process, for how long something lasts: two of them can be compared, however
    /// the machine's clock is set meanwhile.
    pub fn steady(&self) -> i64 {
        let passed = if self.inner.ticks { steady_ms() } else { 0 };
        passed.saturating_add(self.inner.shift.load(Ordering::SeqCst))
    }

    /// Moves the clock forward; it never goes back.
    pub fn advance(&self, ms: i64) {
        self.inner.shift.fetch_add(ms.max(0), Ordering::SeqCst);
        self.inner.moved.notify_waiters();
    }

    /// Moves the clock forward to an instant, if that is ahead.
    pub fn advance_to(&self, at_ms: i64) {
        self.advance(at_ms.saturating_sub(self.now()));
    }

    /// How far this clock is ahead of the machine's.
    pub fn ahead(&self) -> i64 {
        self.inner.shift.load(Ordering::SeqCst)
    }

    /// Returns once `now` has reached the instant.
    pub async fn sleep_until(&self, at_ms: i64) {
        drop(self.wake_at(at_ms).await);
    }

    /// The same, for who must not be taken for idle between waking and getting up: until the answer is
    /// dropped, the sleeper still counts as one who is to wake.
    pub async fn wake_at(&self, at_ms: i64) -> SleepGuard<'_> {
        let asleep = SleepGuard::new(self, at_ms);
        loop {
            let moved = self.inner.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            let left = at_ms.saturating_sub(self.now());
            if left <= 0 {
                return asleep;
            }
            if self.inner.ticks {
                let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
                tokio::select! {
                    () = moved => {}
                    () = tokio::time::sleep(left.min(Duration::from_secs(3600))) => {}
                }
            } else {
                moved.await;
            }
        }
    }

    /// The earliest instant that somebody sleeps for.
    pub fn next_wake(&self) -> Option<i64> {
        self.inner.sleepers.lock().unwrap_or_else(PoisonError::into_inner).first().map(|(at, _)| *at)
    }
}

/// Registers a sleeper for as long as it sleeps, also when it is dropped half-way.
pub struct SleepGuard<'a> {
    clock: &'a Clock,
    key: (i64, u64),
}

impl<'a> SleepGuard<'a> {
    fn new(clock: &'a Clock, at: i64) -> Self {
        let key = (at, clock.inner.next_id.fetch_add(1, Ordering::Relaxed));
        clock.inner.sleepers.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        Self { clock, key }
    }
}

impl Drop for SleepGuard<'_> {
    fn drop(&mut self) {
        self.clock.inner.sleepers.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[allow(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn steady_ms() -> i64 {
    static BEGUN: LazyLock<SteadyStopwatch> = LazyLock::new(SteadyStopwatch::start);
    i64::try_from(BEGUN.elapsed().as_millis()).unwrap_or(i64::MAX)
}

/// A stopwatch for durations: monotonic, and never part of a decision.
#[derive(Clone, Copy, Debug)]
pub struct SteadyStopwatch(std::time::Instant);

impl SteadyStopwatch {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_still_clock_wakes_its_sleepers_when_advanced() {
        let clock = Clock::still(1_000);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep_until(5_000).await;
                clock.now()
            }
        });
        while clock.next_wake().is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(clock.next_wake(), Some(5_000));
        clock.advance_to(4_999);
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.advance_to(5_000);
        assert_eq!(sleeper.await.unwrap(), 5_000);
        assert_eq!(clock.next_wake(), None);
    }

    #[test]
    fn a_clock_never_goes_back() {
        let clock = Clock::still(10);
        clock.advance(-5);
        clock.advance_to(3);
        assert_eq!(clock.now(), 10);
        assert!(Clock::real(60_000).now() > Clock::real(0).now());
        let before = clock.steady();
        clock.advance(7);
        assert_eq!(clock.steady() - before, 7, "what lasts is measured by the same clock");
        let (real, before) = (Clock::real(0), Clock::real(0).steady());
        assert!((0..60_000).contains(&(real.steady() - before)));
    }
}
