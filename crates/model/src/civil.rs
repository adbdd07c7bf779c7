//! Civil time: local times and zones become instants here and nowhere else, as late as possible.
//!
//! The rule: a local time that does not exist (clocks go forward) means the next instant that does; one
//! that exists twice (clocks go back) means the first. A date that a zone skips altogether has no digest.

use std::path::Path;

use jiff::{
    Timestamp, ToSpan as _,
    civil::Date,
    tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase},
};

use crate::{
    fault::{self, Fault},
    person::LocalDate,
    plan::LocalTime,
    time::Millis,
};

/// A time zone with its rules.
pub type Zone = TimeZone;

/// Where zone rules come from.
#[derive(Clone, Debug)]
pub struct Zones {
    database: TimeZoneDatabase,
}

impl Zones {
    /// The rules that were built in.
    pub fn bundled() -> Self {
        Self { database: TimeZoneDatabase::bundled() }
    }

    /// The machine's rules, so that a change of law needs no release of ours; the built-in ones where the
    /// machine has none.
    pub fn system() -> Self {
        let database = TimeZoneDatabase::from_env();
        if database.is_definitively_empty() { Self::bundled() } else { Self { database } }
    }

    /// Rules from a folder in the usual `zoneinfo` form.
    pub fn from_dir(dir: &Path) -> Result<Self, String> {
        TimeZoneDatabase::from_dir(dir).map(|database| Self { database }).map_err(|e| e.to_string())
    }

    /// A zone by its IANA name.
    pub fn get(&self, name: &str) -> Option<Zone> {
        self.database.get(name).ok()
    }

    /// The zone, or UTC where there is no such zone.
    pub fn get_or_utc(&self, name: Option<&str>) -> Zone {
        name.and_then(|name| self.get(name)).unwrap_or(Zone::UTC)
    }
}

/// The local date of an instant.
pub fn local_date(at: Millis, zone: &Zone) -> LocalDate {
    let Ok(at) = Timestamp::from_millisecond(at.0) else { return 0 };
    days(at.to_zoned(zone.clone()).date())
}

/// The instant of a local time on a date. For a gap the first instant after it, for an overlap the first
/// of the two.
pub fn instant(date: LocalDate, time: LocalTime, zone: &Zone) -> Option<Millis> {
    let hour = i8::try_from(time.hour).ok()?;
    let minute = i8::try_from(time.minute).ok()?;
    let local = date_of(date)?.at(hour, minute, 0, 0);
    let ambiguous = zone.to_ambiguous_timestamp(local);
    let at = match ambiguous.offset() {
        AmbiguousOffset::Gap { before, .. } => {
            // Read with the offset from before the gap this lies at or after the change itself.
            let within = before.to_timestamp(local).ok()?;
            zone.preceding(within.checked_add(1.millisecond()).ok()?).next()?.timestamp()
        }
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => ambiguous.earlier().ok()?,
    };
    Some(Millis(at.as_millisecond()))
}

/// The first daily instant at or after `after` on a local date later than `told`, and that date. A date is
/// told once, whatever zones a person travels through; a date that was skipped merges into the next.
pub fn next_daily(
    after: Millis,
    told: Option<LocalDate>,
    time: LocalTime,
    zone: &Zone,
) -> (LocalDate, Millis) {
    let today = local_date(after, zone);
    let first = told.map_or(today, |told| today.max(told.saturating_add(1)));
    if fault::planted(Fault::DayIs24Hours) {
        return day_of_24_hours(after, first, today, time, zone);
    }
    for date in first..first.saturating_add(400) {
        if let Some(at) = instant(date, time, zone)
            && at >= after
            && local_date(at, zone) == date
        {
            return (date, at);
        }
    }
    // No zone goes a year without a date; an answer is still better than a panic.
    (first, after.plus(crate::limits::DAY_MS))
}

/// The planted fault: today's offset taken for every date.
fn day_of_24_hours(
    after: Millis,
    first: LocalDate,
    today: LocalDate,
    time: LocalTime,
    zone: &Zone,
) -> (LocalDate, Millis) {
    let midday = LocalTime { hour: 12, minute: 0 };
    let noon = instant(today, midday, zone).unwrap_or(after);
    let of_day = (i64::from(time.hour) * 60 + i64::from(time.minute) - 720) * 60_000;
    let mut date = first;
    loop {
        let at = noon.plus(of_day).plus(i64::from(date - today) * crate::limits::DAY_MS);
        if at >= after {
            return (date, at);
        }
        date += 1;
    }
}

fn days(date: Date) -> LocalDate {
    date.since(Date::constant(1970, 1, 1)).map_or(0, |span| span.get_days())
}

fn date_of(days: LocalDate) -> Option<Date> {
    Date::constant(1970, 1, 1).checked_add(days.days()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(after: &str, told: Option<&str>, time: (u8, u8), zone: &str) -> String {
        let zone = Zones::bundled().get(zone).unwrap();
        let told = told.map(|told| crate::Day::parse(told).unwrap().0);
        let time = LocalTime { hour: time.0, minute: time.1 };
        let (date, at) = next_daily(Millis::parse(after).unwrap(), told, time, &zone);
        format!("{} {at}", crate::Day(date))
    }

    #[test]
    fn the_next_local_time_becomes_an_instant() {
        let check = |after, told, time, zone, expected: &str| {
            assert_eq!(next(after, told, time, zone), expected, "{after} {told:?} {zone}");
        };
        let berlin = "Europe/Berlin";
        check("2026-11-21T07:59:59Z", None, (9, 0), berlin, "2026-11-21 2026-11-21T08:00:00.000Z");
        check("2026-11-21T08:00:00Z", None, (9, 0), berlin, "2026-11-21 2026-11-21T08:00:00.000Z");
        check("2026-11-21T08:00:00.001Z", None, (9, 0), berlin, "2026-11-22 2026-11-22T08:00:00.000Z");
        // Told today already: tomorrow.
        check(
            "2026-11-21T06:00:00Z",
            Some("2026-11-21"),
            (9, 0),
            berlin,
            "2026-11-22 2026-11-22T08:00:00.000Z",
        );
        // Clocks go forward: 02:30 does not exist, 03:00 is next.
        check("2026-03-28T12:00:00Z", None, (2, 30), berlin, "2026-03-29 2026-03-29T01:00:00.000Z");
        check("2026-03-28T12:00:00Z", None, (2, 0), berlin, "2026-03-29 2026-03-29T01:00:00.000Z");
        // Clocks go back: 02:30 exists twice, the first counts.
        check("2026-10-24T12:00:00Z", None, (2, 30), berlin, "2026-10-25 2026-10-25T00:30:00.000Z");
        // Samoa had no 30 December 2011.
        check("2011-12-29T20:00:00Z", None, (9, 0), "Pacific/Apia", "2011-12-31 2011-12-30T19:00:00.000Z");
        // Half-hour change.
        check(
            "2026-10-03T20:00:00Z",
            None,
            (9, 0),
            "Australia/Lord_Howe",
            "2026-10-04 2026-10-03T22:00:00.000Z",
        );
    }
}
