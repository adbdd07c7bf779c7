//! How much one destination takes: nothing for a while after it said so or did not answer, then one at a time until
//! it takes again; and so many a second.

use std::collections::VecDeque;

/// The first pause, and the longest.
const PAUSE_MS_FIRST: u64 = 2_000;
const PAUSE_MS_MAX: u64 = 600_000;
const DAY_MS: i64 = 86_400_000;
const DAY_SECONDS: f64 = 86_400.0;
/// After so many doublings there is nothing left to get used to.
const RAMP_DAYS_MAX: i32 = 30;
/// Of what may go out while one gets used to it, an hour's may go at once.
const RAMP_BURST_SECONDS: f64 = 3_600.0;
/// Messages that are remembered as those at which a destination failed.
const STRUCK_MAX: usize = 64;
/// Who may not send at all asks again after so long.
const CLOSED_MS: u64 = 3_600_000;

/// The largest number a second that makes sense.
const RATE_MAX: f64 = 1_000_000.0;

/// Whether so many a second can be kept to.
pub fn is_rate(per_second: f64) -> bool {
    per_second > 0.0 && per_second <= RATE_MAX
}

/// Instants are milliseconds of a clock that never goes back.
#[derive(Debug)]
pub(crate) struct DestinationBackoff {
    /// Failures in a row.
    strikes: u32,
    /// Nothing goes out before.
    until: u64,
    /// After a pause one goes ahead, and the others wait for what becomes of it.
    is_asking: bool,
    struck: StruckMessages,
    bucket: Option<RampedBucket>,
}

/// Messages at which the destination failed lately. One at which it fails again, while others went well in between, is
/// itself to blame: nothing else waits for that.
#[derive(Debug, Default)]
struct StruckMessages(VecDeque<StruckMessage>);

#[derive(Debug)]
struct StruckMessage {
    spread: u64,
    others_went_well: bool,
}

impl StruckMessages {
    fn note_well(&mut self, spread: u64) {
        self.0.retain(|one| one.spread != spread);
        self.0.iter_mut().for_each(|one| one.others_went_well = true);
    }

    /// Notes a failure. Says whether the message is to blame.
    fn note_failure(&mut self, spread: u64) -> bool {
        if let Some(one) = self.0.iter().find(|one| one.spread == spread) {
            return one.others_went_well;
        }
        if self.0.len() == STRUCK_MAX {
            self.0.pop_front();
        }
        self.0.push_back(StruckMessage { spread, others_went_well: false });
        false
    }
}

/// So many a second, and as many at once.
#[derive(Debug)]
struct RampedBucket {
    per_second: Option<f64>,
    ramp: Option<WarmupRamp>,
    left: f64,
    filled: u64,
}

/// How a new address is got used to: so many on its first day, and each day twice as many. It is a function of the date
/// alone, so a restart forgets nothing of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WarmupRamp {
    /// Milliseconds from its first day to the start of our clock; negative if that day is still to come.
    pub age_ms: i64,
    pub first_day: f64,
}

impl WarmupRamp {
    /// How many a second; nothing before its first day.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    fn per_second(self, now: u64) -> f64 {
        let age = self.age_ms.saturating_add(i64::try_from(now).unwrap_or(i64::MAX));
        let days = i32::try_from(age.div_euclid(DAY_MS)).unwrap_or(i32::MAX);
        if age < 0 { 0.0 } else { self.first_day * 2_f64.powi(days.min(RAMP_DAYS_MAX)) / DAY_SECONDS }
    }
}

/// How something fared that had gone out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DestinationSignal {
    Well,
    /// It said that it wants less, or nothing at all, for so long if it said that too.
    Slow(Option<u64>),
    /// It never came to that.
    Nowhere,
}

/// Why one may not go out now, and for how many milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BackoffWait {
    /// The destination is left alone.
    Pause(u64),
    /// So many went out already in this second.
    Rate(u64),
}

impl DestinationBackoff {
    pub fn new(per_second: Option<f64>, ramp: Option<WarmupRamp>) -> Self {
        let is_bounded = per_second.is_some() || ramp.is_some();
        let bucket = is_bounded.then(|| {
            let empty = RampedBucket { per_second, ramp, left: 0.0, filled: 0 };
            RampedBucket { left: empty.rate(0).1, ..empty }
        });
        Self { strikes: 0, until: 0, is_asking: false, struck: StruckMessages::default(), bucket }
    }

    /// Whether one may go out now.
    pub fn try_take(&mut self, now: u64) -> Result<(), BackoffWait> {
        if now < self.until {
            return Err(BackoffWait::Pause(self.until - now));
        }
        if self.strikes > 0 && self.is_asking {
            return Err(BackoffWait::Pause(PAUSE_MS_FIRST));
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.take_token(now).map_err(BackoffWait::Rate)?;
        }
        self.is_asking = self.strikes > 0;
        Ok(())
    }

    /// Whether it is left alone by now.
    pub fn is_resting(&self, now: u64) -> bool {
        now < self.until
    }

    /// What became of one that was let out. `spread` is any number of its own, so that many do not come back at once.
    pub fn record_signal(&mut self, now: u64, went: DestinationSignal, spread: u64) {
        self.is_asking = false;
        match went {
            DestinationSignal::Well => {
                self.strikes = 0;
                self.struck.note_well(spread);
            }
            DestinationSignal::Nowhere => {}
            DestinationSignal::Slow(None) if self.struck.note_failure(spread) => {}
            DestinationSignal::Slow(told) => {
                // Those that were on their way together are one failure.
                if now >= self.until {
                    self.strikes = self.strikes.saturating_add(1);
                }
                let own = PAUSE_MS_FIRST.saturating_mul(1 << self.strikes.saturating_sub(1).min(16));
                let pause = told.unwrap_or(own).min(PAUSE_MS_MAX);
                let spread = spread % (pause / 4).max(1);
                self.until = self.until.max(now + pause + spread);
            }
        }
    }
}

impl RampedBucket {
    /// How many a second, and at most at once.
    fn rate(&self, now: u64) -> (f64, f64) {
        let own =
            self.per_second.map_or((f64::MAX, f64::MAX), |per_second| (per_second, per_second.max(1.0)));
        let Some(ramp) = self.ramp else { return own };
        let per_second = ramp.per_second(now);
        let most = if per_second > 0.0 { (per_second * RAMP_BURST_SECONDS).max(1.0) } else { 0.0 };
        (own.0.min(per_second), own.1.min(most))
    }

    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn take_token(&mut self, now: u64) -> Result<(), u64> {
        let passed = now.saturating_sub(self.filled) as f64 / 1_000.0;
        let (per_second, most) = self.rate(now);
        self.left = (self.left + passed * per_second).min(most);
        self.filled = now;
        if self.left < 1.0 {
            let wait = ((1.0 - self.left) / per_second * 1_000.0).ceil();
            return Err(if wait.is_finite() { wait as u64 } else { CLOSED_MS });
        }
        self.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_destination_is_left_alone_and_then_asked_by_one() {
        let mut pace = DestinationBackoff::new(None, None);
        assert_eq!(pace.try_take(0), Ok(()));
        assert_eq!(pace.try_take(0), Ok(()), "who takes is given more than one at a time");
        pace.record_signal(10, DestinationSignal::Slow(None), 0);
        pace.record_signal(11, DestinationSignal::Slow(None), 0);
        assert_eq!(
            pace.try_take(1_000),
            Err(BackoffWait::Pause(1_011)),
            "two that were on their way are one failure"
        );
        assert_eq!(pace.try_take(2_011), Ok(()));
        assert!(pace.try_take(2_012).is_err(), "one asks for all");
        pace.record_signal(2_020, DestinationSignal::Slow(None), 0);
        assert_eq!(pace.try_take(2_020), Err(BackoffWait::Pause(4_000)), "the pause doubles");
        assert_eq!(pace.try_take(6_020), Ok(()));
        pace.record_signal(6_030, DestinationSignal::Well, 0);
        assert_eq!(pace.try_take(6_030), Ok(()));
        assert_eq!(pace.try_take(6_030), Ok(()));
    }

    #[test]
    fn a_destination_that_names_its_pause_gets_it() {
        let mut pace = DestinationBackoff::new(None, None);
        pace.record_signal(0, DestinationSignal::Slow(Some(30_000)), 7_501);
        assert_eq!(
            pace.try_take(0),
            Err(BackoffWait::Pause(30_001)),
            "and a little more, by what spreads them"
        );
        let mut at = 0;
        for _ in 0..40 {
            pace.record_signal(at, DestinationSignal::Slow(None), u64::MAX);
            assert!(pace.until - at <= PAUSE_MS_MAX * 5 / 4, "no pause is longer than the longest");
            at = pace.until;
        }
    }

    #[test]
    fn a_message_at_which_it_fails_again_while_others_go_well_stops_nobody() {
        let (bad, other) = (7, 8);
        let mut pace = DestinationBackoff::new(None, None);
        pace.record_signal(0, DestinationSignal::Slow(None), bad);
        assert!(pace.try_take(1).is_err(), "nobody knows yet who is to blame");
        assert_eq!(pace.try_take(3_000), Ok(()));
        pace.record_signal(3_001, DestinationSignal::Slow(None), bad);
        assert!(pace.try_take(3_001).is_err(), "nothing went well since");
        assert_eq!(pace.try_take(9_000), Ok(()));
        pace.record_signal(9_001, DestinationSignal::Well, other);
        for at in [9_002, 9_003] {
            assert_eq!(pace.try_take(at), Ok(()));
            pace.record_signal(at, DestinationSignal::Slow(None), bad);
            assert_eq!(pace.try_take(at), Ok(()), "it is the message");
        }
        pace.record_signal(9_010, DestinationSignal::Slow(None), other);
        assert!(pace.try_take(9_010).is_err(), "it fails at another one");
        pace.record_signal(20_000, DestinationSignal::Well, bad);
        pace.record_signal(20_001, DestinationSignal::Slow(None), bad);
        assert!(pace.try_take(20_001).is_err(), "what went well is as good as any");
        assert_eq!(pace.try_take(30_000), Ok(()));
        pace.record_signal(30_001, DestinationSignal::Slow(Some(5_000)), bad);
        assert!(pace.try_take(30_002).is_err(), "a pause that it asks for is kept");
    }

    #[test]
    fn what_went_nowhere_gives_its_turn_back() {
        let mut pace = DestinationBackoff::new(None, None);
        pace.record_signal(0, DestinationSignal::Slow(None), 0);
        assert_eq!(pace.try_take(2_000), Ok(()));
        pace.record_signal(2_001, DestinationSignal::Nowhere, 0);
        assert_eq!(pace.try_take(2_001), Ok(()), "another one may ask");
    }

    #[test]
    fn a_new_address_is_got_used_to_by_the_date_alone() {
        let day = u64::try_from(DAY_MS).unwrap();
        let pace = |age_ms: i64, per_second| {
            DestinationBackoff::new(per_second, Some(WarmupRamp { age_ms, first_day: 240.0 }))
        };
        let taken = |pace: &mut DestinationBackoff, now| {
            (0..10_000).take_while(|_| pace.try_take(now).is_ok()).count()
        };
        let check = |age_ms, per_second, now, expected| {
            let mut pace = pace(age_ms, per_second);
            assert_eq!(taken(&mut pace, now), expected, "{age_ms} {per_second:?} {now}");
            pace
        };
        check(-1, None, 0, 0);
        // An hour's on the first day, twice that on the second, also for who was started only then.
        let mut first = check(0, None, 0, 10);
        assert_eq!(first.try_take(0), Err(BackoffWait::Rate(360_000)), "then one each six minutes");
        assert_eq!(taken(&mut first, 3_600_000), 10);
        assert_eq!(taken(&mut first, day), 20);
        check(DAY_MS, None, 0, 20);
        check(3 * DAY_MS + 5, None, 0, 80);
        check(3 * DAY_MS, Some(2.0), 0, 2);
        check(400 * DAY_MS, Some(50.0), 0, 50);
        assert_eq!(pace(-DAY_MS, None).try_take(0), Err(BackoffWait::Rate(CLOSED_MS)));
        let a_day: usize = (0..24).map(|hour| taken(&mut first, 5 * day + hour * 3_600_000)).sum();
        assert!((7_600..=7_680).contains(&a_day), "{a_day} on the sixth day, wanted 32 times 240");
    }

    #[test]
    fn so_many_a_second_and_no_more() {
        let mut pace = DestinationBackoff::new(Some(10.0), None);
        let taken =
            |pace: &mut DestinationBackoff, now| (0..100).take_while(|_| pace.try_take(now).is_ok()).count();
        assert_eq!(taken(&mut pace, 0), 10);
        assert_eq!(pace.try_take(0), Err(BackoffWait::Rate(100)));
        assert_eq!(taken(&mut pace, 500), 5);
        assert_eq!(taken(&mut pace, 60_000), 10, "what was not used is not saved up");
    }
}
