//! Civil time: local times and zones become instants here and nowhere else, as late as possible.
//!
//! The rule: a local time that does not exist (clocks go forward) means the next instant that does; one
//! that exists twice (clocks go back) means the first. A date that a zone skips altogether has no digest.

mod zones;

use jiff::{Timestamp, ToSpan as _, tz::AmbiguousOffset};

pub use zones::{Zone, ZoneOrigin, ZoneRules};

use crate::{
    closing_dates::{ClosingDates, ClosingNumber},
    fault::{self, PlantedFault},
    limits::DAY_MS,
    local_time::{LocalDate, LocalTime, date_from_days, days_since_1970},
    time::UtcMillis,
};

/// The local date of an instant.
pub fn local_date(at: UtcMillis, zone: &Zone) -> LocalDate {
    let Ok(at) = Timestamp::from_millisecond(at.0) else { return 0 };
    days_since_1970(at.to_zoned(zone.clone()).date())
}

/// The time on the wall at an instant.
pub fn local_time(at: UtcMillis, zone: &Zone) -> LocalTime {
    let part = |part: i8| u8::try_from(part).unwrap_or(0);
    let time =
        Timestamp::from_millisecond(at.0).map(|at| at.to_zoned(zone.clone()).time()).unwrap_or_default();
    LocalTime { hour: part(time.hour()), minute: part(time.minute()) }
}

/// The instant of a local time on a date. For a gap the first instant after it, for an overlap the first
/// of the two.
pub fn local_instant(date: LocalDate, time: LocalTime, zone: &Zone) -> Option<UtcMillis> {
    let hour = i8::try_from(time.hour).ok()?;
    let minute = i8::try_from(time.minute).ok()?;
    let local = date_from_days(date)?.at(hour, minute, 0, 0);
    let ambiguous = zone.to_ambiguous_timestamp(local);
    let at = match ambiguous.offset() {
        AmbiguousOffset::Gap { before, .. } => {
            // Read with the offset from before the gap this lies at or after the change itself.
            let within = before.to_timestamp(local).ok()?;
            zone.preceding(within.checked_add(1.millisecond()).ok()?).next()?.timestamp()
        }
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => ambiguous.earlier().ok()?,
    };
    Some(UtcMillis(at.as_millisecond()))
}

/// The first instant of a date.
pub fn start_of_date(date: LocalDate, zone: &Zone) -> Option<UtcMillis> {
    let start = date_from_days(date)?.to_zoned(zone.clone()).ok()?;
    Some(UtcMillis(start.timestamp().as_millisecond()))
}

/// The first closing at or after `after` on one of these dates and at one of these times, which stand in order, that
/// comes after the closing `told`; and its instant. A closing is told once, whatever zones a person travels through; one
/// that was skipped merges into the next.
pub fn next_closing(
    after: UtcMillis,
    told: Option<ClosingNumber>,
    (dates, times): (&ClosingDates, &[LocalTime]),
    zone: &Zone,
) -> (ClosingNumber, UtcMillis) {
    let today = local_date(after, zone);
    let first = told.map_or(today, |told| today.max(told.date()));
    let has = |date: &LocalDate| {
        dates.has(*date) && !(fault::is_planted(PlantedFault::MonthHas30Days) && is_31st(*date))
    };
    for date in (first..first.saturating_add(DATES_MAX)).filter(has) {
        let mut before = None;
        for time in times {
            let at = date_instant(after, date, *time, zone);
            // Two times that clocks leave out together are one.
            let Some(at) = at.filter(|at| Some(*at) != before) else { continue };
            before = Some(at);
            let number = ClosingNumber::new(date, *time, times);
            if at >= after && told.is_none_or(|told| number > told) {
                return (number, at);
            }
        }
    }
    // No zone goes a year without such a date; an answer is still better than a panic.
    (ClosingNumber::new(first, LocalTime::LAST, times), after.plus(DAY_MS))
}

/// The instant of a time of a date, if the zone has on that date such a time or a later one.
fn date_instant(after: UtcMillis, date: LocalDate, time: LocalTime, zone: &Zone) -> Option<UtcMillis> {
    if fault::is_planted(PlantedFault::DayIs24Hours) {
        return instant_by_24_hours(after, date, time, zone);
    }
    local_instant(date, time, zone).filter(|at| local_date(*at, zone) == date)
}

/// How many dates are looked at for one on which windows close and which exists in the zone.
const DATES_MAX: LocalDate = 1_000;

/// Of the planted fault.
fn is_31st(date: LocalDate) -> bool {
    date_from_days(date).is_some_and(|date| date.day() == 31)
}

/// The planted fault: the offset of the day of `after` taken for every date.
fn instant_by_24_hours(after: UtcMillis, date: LocalDate, time: LocalTime, zone: &Zone) -> Option<UtcMillis> {
    let today = local_date(after, zone);
    let noon = local_instant(today, LocalTime { hour: 12, minute: 0 }, zone)?;
    let of_day = (i64::from(time.hour) * 60 + i64::from(time.minute) - 720) * 60_000;
    Some(noon.plus(of_day).plus((i64::from(date) - i64::from(today)) * DAY_MS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_time::WeekdaySet;

    fn describe_next(after: &str, told: Option<&str>, time: (u8, u8), on: &[usize], zone: &str) -> String {
        let zone = ZoneRules::load_bundled().get(zone).unwrap();
        let told = told.map(|told| ClosingNumber(crate::Day::parse(told).unwrap().0));
        let time = LocalTime { hour: time.0, minute: time.1 };
        let dates = ClosingDates::Weekdays(WeekdaySet::new(on.iter().copied()).unwrap());
        let (number, at) = next_closing(UtcMillis::parse(after).unwrap(), told, (&dates, &[time]), &zone);
        format!("{} {at}", crate::Day(number.date()))
    }

    #[test]
    fn the_next_local_time_becomes_an_instant() {
        let check = |after, told, time, zone, expected: &str| {
            let found = describe_next(after, told, time, &[0, 1, 2, 3, 4, 5, 6], zone);
            assert_eq!(found, expected, "{after} {told:?} {zone}");
        };
        let berlin = "Europe/Berlin";
        check("2026-11-21T07:59:59Z", None, (9, 0), berlin, "2026-11-21 2026-11-21T08:00:00.000Z");
        check("2026-11-21T08:00:00Z", None, (9, 0), berlin, "2026-11-21 2026-11-21T08:00:00.000Z");
        check("2026-11-21T08:00:00.001Z", None, (9, 0), berlin, "2026-11-22 2026-11-22T08:00:00.000Z");
        // Told today already: tomorrow.
        let told = Some("2026-11-21");
        check("2026-11-21T06:00:00Z", told, (9, 0), berlin, "2026-11-22 2026-11-22T08:00:00.000Z");
        // Clocks go forward: 02:30 does not exist, 03:00 is next.
        check("2026-03-28T12:00:00Z", None, (2, 30), berlin, "2026-03-29 2026-03-29T01:00:00.000Z");
        check("2026-03-28T12:00:00Z", None, (2, 0), berlin, "2026-03-29 2026-03-29T01:00:00.000Z");
        // Clocks go back: 02:30 exists twice, the first counts.
        check("2026-10-24T12:00:00Z", None, (2, 30), berlin, "2026-10-25 2026-10-25T00:30:00.000Z");
        // Samoa had no 30 December 2011.
        check("2011-12-29T20:00:00Z", None, (9, 0), "Pacific/Apia", "2011-12-31 2011-12-30T19:00:00.000Z");
        // Half-hour change.
        let howe = "Australia/Lord_Howe";
        check("2026-10-03T20:00:00Z", None, (9, 0), howe, "2026-10-04 2026-10-03T22:00:00.000Z");
    }

    #[test]
    fn a_day_of_the_week_is_that_of_the_local_date() {
        let check = |after, told, on: &[usize], zone, expected: &str| {
            assert_eq!(
                describe_next(after, told, (9, 0), on, zone),
                expected,
                "{after} {told:?} {on:?} {zone}"
            );
        };
        let berlin = "Europe/Berlin";
        // The 21st of November 2026 is a Saturday.
        check("2026-11-21T06:00:00Z", None, &[5], berlin, "2026-11-21 2026-11-21T08:00:00.000Z");
        check("2026-11-21T09:00:00Z", None, &[5], berlin, "2026-11-28 2026-11-28T08:00:00.000Z");
        check("2026-11-21T06:00:00Z", None, &[0, 3], berlin, "2026-11-23 2026-11-23T08:00:00.000Z");
        check("2026-11-23T09:00:00Z", None, &[0, 3], berlin, "2026-11-26 2026-11-26T08:00:00.000Z");
        // Told on that date already, wherever that was: the next of the days.
        let told = Some("2026-11-23");
        check("2026-11-23T06:00:00Z", told, &[0, 3], berlin, "2026-11-26 2026-11-26T08:00:00.000Z");
        // Sunday noon in Berlin, and Monday in Kiritimati.
        check(
            "2026-11-22T11:00:00Z",
            None,
            &[0],
            "Pacific/Kiritimati",
            "2026-11-23 2026-11-22T19:00:00.000Z",
        );
        // A week over the change of clocks has an hour more or less.
        check("2026-10-19T08:00:00Z", None, &[0], berlin, "2026-10-26 2026-10-26T08:00:00.000Z");
        // The Friday that Samoa did not have: the next one.
        check("2011-12-29T20:00:00Z", None, &[4], "Pacific/Apia", "2012-01-06 2012-01-05T19:00:00.000Z");
        // Long before 1970 a week had seven days too.
        check("1969-12-28T12:00:00Z", None, &[0], "UTC", "1969-12-29 1969-12-29T09:00:00.000Z");
    }
}
