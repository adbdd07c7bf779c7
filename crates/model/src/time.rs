//! Instants and days. An instant is UTC milliseconds; a day is the UTC date of an instant and the
//! partition key of everything that happened on it.

use std::fmt;

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};

use crate::limits::DAY_MS;

/// A UTC instant in milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UtcMillis(pub i64);

impl UtcMillis {
    /// Later by so many milliseconds; never wraps.
    #[must_use]
    pub fn plus(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// How many milliseconds this is after `other` (negative if before).
    pub fn since(self, other: Self) -> i64 {
        self.0.saturating_sub(other.0)
    }

    /// RFC 3339, UTC.
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|t| Self(t.timestamp_millis()))
    }
}

impl fmt::Display for UtcMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::<Utc>::from_timestamp_millis(self.0) {
            Some(t) => f.write_str(&t.to_rfc3339_opts(SecondsFormat::Millis, true)),
            None => write!(f, "{} ms", self.0),
        }
    }
}

impl fmt::Debug for UtcMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A UTC date, as days since 1970-01-01.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);

impl Day {
    pub fn from_instant(at: UtcMillis) -> Self {
        // Clamped, so that an absurd instant is an absurd day and not a wrapped one.
        let days = at.0.div_euclid(DAY_MS).clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        Self(i32::try_from(days).unwrap_or(i32::MAX))
    }

    pub fn start(self) -> UtcMillis {
        UtcMillis(i64::from(self.0) * DAY_MS)
    }

    #[must_use]
    pub fn plus(self, days: i32) -> Self {
        Self(self.0.saturating_add(days))
    }

    /// `2026-11-21`.
    pub fn parse(text: &str) -> Option<Self> {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        i32::try_from(date.signed_duration_since(NaiveDate::default()).num_days()).ok().map(Self)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::<Utc>::from_timestamp_millis(self.start().0) {
            Some(t) => write!(f, "{}", t.format("%Y-%m-%d")),
            None => write!(f, "day {}", self.0),
        }
    }
}

impl fmt::Debug for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// When something is asked that is to be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AskedMoment {
    pub now: UtcMillis,
    /// When its message is due, or was.
    pub due: UtcMillis,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_the_utc_date_of_an_instant() {
        let check = |at: &str, day: &str| {
            assert_eq!(Day::from_instant(UtcMillis::parse(at).unwrap()).to_string(), day, "{at}");
            assert_eq!(Day::parse(day).unwrap().to_string(), day);
        };
        check("2026-11-21T00:00:00Z", "2026-11-21");
        check("2026-11-21T23:59:59.999Z", "2026-11-21");
        check("2026-11-22T00:30:00+01:00", "2026-11-21");
        check("1969-12-31T23:59:59Z", "1969-12-31");
    }

    #[test]
    fn absurd_instants_do_not_wrap() {
        assert_eq!(Day::from_instant(UtcMillis(i64::MAX)).0, i32::MAX);
        assert!(Day::from_instant(UtcMillis(i64::MIN)).0 < 0);
        assert_eq!(UtcMillis(i64::MAX).plus(1).0, i64::MAX);
    }
}
