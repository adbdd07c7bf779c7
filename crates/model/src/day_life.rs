//! How long a day and all its rows live. It is chosen as a house is set up, and stands from then on.

use std::fmt;

use crate::{
    limits::{DAY_LIFE_MAX, DAY_LIFE_MIN, DAY_LIFE_UNSAID, DAY_MS},
    time::{Day, UtcMillis},
};

/// For how many days each day lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DayLife(u16);

impl DayLife {
    /// The shortest there is.
    pub const LEAST: Self = Self(DAY_LIFE_MIN);

    /// Of this many days, if that can be.
    pub fn new(days: u16) -> Option<Self> {
        (DAY_LIFE_MIN..=DAY_LIFE_MAX).contains(&days).then_some(Self(days))
    }

    pub fn days(self) -> u16 {
        self.0
    }

    pub fn ms(self) -> i64 {
        i64::from(self.0) * DAY_MS
    }

    /// The one instant at which every row of a day expires.
    pub fn expiry(self, day: Day) -> UtcMillis {
        day.start().plus(self.ms())
    }

    /// Whether a day has expired.
    pub fn is_over(self, day: Day, now: UtcMillis) -> bool {
        self.expiry(day) <= now
    }

    /// The oldest day that lives.
    pub fn oldest_day(self, now: UtcMillis) -> Day {
        Day::from_instant(now.plus(-self.ms())).plus(1)
    }

    /// The days that may have rows at an instant, one more on each side included: clocks differ.
    pub fn living_days(self, now: UtcMillis) -> impl DoubleEndedIterator<Item = Day> {
        (self.oldest_day(now).plus(-1).0..=Day::from_instant(now).plus(1).0).map(Day)
    }

    /// How long the first word on an event is kept: beyond the last of its days.
    pub fn first_word_ms(self) -> i64 {
        self.ms() + DAY_MS
    }
}

/// What is set up without a word about it.
impl Default for DayLife {
    fn default() -> Self {
        Self(DAY_LIFE_UNSAID)
    }
}

impl fmt::Display for DayLife {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}d", self.0)
    }
}
