//! When a line happens: `mon 09:30`, `mon+1 09:00`, `2026-03-29 09:00`, `09:00..09:20`.
//!
//! The weeks of a scenario begin at its start: `mon` is the first Monday on or after it, `mon+1` the one
//! after. A local time that the clocks skip means the next that there is, one that they show twice the
//! first: the rule of `model::civil`, which is also the catalogue's.

use jiff::{Timestamp, civil::Weekday};
use model::{
    Day, UtcMillis,
    civil_time::{self, Zone},
    local_time::LocalDate,
    plan::LocalTime,
};

pub(crate) const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// A Monday, in a year that has begun in every zone.
pub(crate) const START: &str = "2026-01-05";
/// The last day that a scenario may name: every zone and every look-back has room behind it.
const LAST: &str = "2999-12-31";
/// Weeks that `+` may add.
const WEEKS_MAX: i32 = 520;

/// Turns what is written into instants, and back.
#[derive(Clone, Debug)]
pub struct ScenarioCalendar {
    start: LocalDate,
    zone: Zone,
}

impl ScenarioCalendar {
    pub(crate) fn new(start: Day, zone: Zone) -> Self {
        Self { start: start.0, zone }
    }

    /// A day within what a scenario may name.
    pub(crate) fn parse_day(text: &str) -> Result<Day, String> {
        let day = Day::parse(text).ok_or_else(|| format!("`{text}` is not a date, such as {START}"))?;
        let is_within = day >= Day(0) && Day::parse(LAST).is_some_and(|last| day <= last);
        if is_within { Ok(day) } else { Err(format!("`{text}` is not within 1970-01-01 and {LAST}")) }
    }

    /// Midnight of the first day.
    pub fn start(&self) -> UtcMillis {
        let midnight = LocalTime { hour: 0, minute: 0 };
        civil_time::local_instant(self.start, midnight, &self.zone).unwrap_or_default()
    }

    /// Whether a word can only be a date.
    pub(crate) fn is_date(word: &str) -> bool {
        let day = word.split('+').next().unwrap_or_default();
        WEEKDAYS.contains(&day) || (word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('-'))
    }

    pub(crate) fn parse_date(&self, word: &str) -> Result<LocalDate, String> {
        let (day, weeks) = word.split_once('+').map_or((word, "0"), |(day, weeks)| (day, weeks));
        let Some(weekday) = WEEKDAYS.iter().position(|name| *name == day) else {
            return Self::parse_day(word).map(|day| day.0);
        };
        let weeks: i32 = weeks.parse().map_err(|_| format!("`{weeks}` is not a number of weeks"))?;
        if !(0..=WEEKS_MAX).contains(&weeks) {
            return Err(format!("`{word}` is more than {WEEKS_MAX} weeks away"));
        }
        // 1 January 1970 was a Thursday.
        let first = (self.start + 3).rem_euclid(7);
        let ahead = (i32::try_from(weekday).unwrap_or(0) - first).rem_euclid(7);
        Ok(self.start + ahead + 7 * weeks)
    }

    /// A time of day on a date: `09:30` or `09:30:15`.
    pub(crate) fn parse_time(&self, date: LocalDate, time: &str) -> Result<UtcMillis, String> {
        let wrong = || format!("`{time}` is not a time of day, such as 09:30");
        let mut parts = Vec::new();
        for part in time.split(':') {
            let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            parts.push(part.parse::<u8>().ok().filter(|_| digits).ok_or_else(wrong)?);
        }
        let (hour, minute, second) = match parts[..] {
            [hour, minute] => (hour, minute, 0),
            [hour, minute, second] => (hour, minute, second),
            _ => return Err(wrong()),
        };
        if hour > 23 || minute > 59 || second > 59 {
            return Err(wrong());
        }
        let at = civil_time::local_instant(date, LocalTime { hour, minute }, &self.zone).ok_or_else(wrong)?;
        Ok(at.plus(i64::from(second) * 1_000))
    }

    /// `fri 18:00`, as one text.
    pub(crate) fn parse(&self, text: &str) -> Result<UtcMillis, String> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            [date, time] => self.parse_time(self.parse_date(date)?, time),
            _ => Err(format!("`{text}` is not an instant, such as `fri 18:00`")),
        }
    }

    /// `mon 2026-01-05 09:30:00`, with milliseconds only where there are any.
    pub fn show(&self, at: UtcMillis) -> String {
        let Ok(instant) = Timestamp::from_millisecond(at.0) else { return at.to_string() };
        let local = instant.to_zoned(self.zone.clone());
        let weekday = match local.weekday() {
            Weekday::Monday => WEEKDAYS[0],
            Weekday::Tuesday => WEEKDAYS[1],
            Weekday::Wednesday => WEEKDAYS[2],
            Weekday::Thursday => WEEKDAYS[3],
            Weekday::Friday => WEEKDAYS[4],
            Weekday::Saturday => WEEKDAYS[5],
            Weekday::Sunday => WEEKDAYS[6],
        };
        let millis = match local.millisecond() {
            0 => String::new(),
            millis => format!(".{millis:03}"),
        };
        let (date, hour, minute, second) = (local.date(), local.hour(), local.minute(), local.second());
        format!("{weekday} {date} {hour:02}:{minute:02}:{second:02}{millis}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(start: &str, zone: &str) -> ScenarioCalendar {
        ScenarioCalendar::new(
            Day::parse(start).unwrap(),
            civil_time::ZoneRules::load_bundled().get(zone).unwrap(),
        )
    }

    #[test]
    fn what_is_written_becomes_an_instant_and_back() {
        let check = |start: &str, zone: &str, text: &str, expected: &str, shown: &str| {
            let calendar = calendar(start, zone);
            let at = calendar.parse(text).unwrap();
            assert_eq!(at.to_string(), expected, "{text}");
            assert_eq!(calendar.show(at), shown, "{text}");
        };
        check(START, "UTC", "mon 09:30", "2026-01-05T09:30:00.000Z", "mon 2026-01-05 09:30:00");
        check(START, "UTC", "sun 23:59:59", "2026-01-11T23:59:59.000Z", "sun 2026-01-11 23:59:59");
        check(START, "UTC", "mon+1 00:00", "2026-01-12T00:00:00.000Z", "mon 2026-01-12 00:00:00");
        check(START, "Asia/Tokyo", "mon 09:30", "2026-01-05T00:30:00.000Z", "mon 2026-01-05 09:30:00");
        // A start in the middle of a week: the days after it, not those before.
        check("2026-03-28", "UTC", "sat 12:00", "2026-03-28T12:00:00.000Z", "sat 2026-03-28 12:00:00");
        check("2026-03-28", "UTC", "fri 12:00", "2026-04-03T12:00:00.000Z", "fri 2026-04-03 12:00:00");
        // Clocks go forward, clocks go back.
        let berlin = "Europe/Berlin";
        check("2026-03-28", berlin, "sun 02:30", "2026-03-29T01:00:00.000Z", "sun 2026-03-29 03:00:00");
        check("2026-10-24", berlin, "sun 02:30", "2026-10-25T00:30:00.000Z", "sun 2026-10-25 02:30:00");
        check(START, "UTC", "2026-11-21 07:00", "2026-11-21T07:00:00.000Z", "sat 2026-11-21 07:00:00");
        let millis = calendar(START, "UTC").show(UtcMillis(1_767_571_200_007));
        assert_eq!(millis, "mon 2026-01-05 00:00:00.007");
    }

    #[test]
    fn what_is_no_instant_is_said() {
        for text in [
            "mon",
            "mon 9:30",
            "mon 24:00",
            "mon 09:60",
            "mon+x 09:00",
            "mon+999 09:00",
            "moon 09:00",
            "mon 09",
        ] {
            assert!(calendar(START, "UTC").parse(text).is_err(), "{text}");
        }
    }
}
