//! The dates on which a calendar closes windows, and the number by which each of its closings is known.

use jiff::civil::{Date, Weekday};

use crate::local_time::{LocalDate, LocalTime, WeekdaySet, date_from_days, days_since_1970};

/// On which dates windows close.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClosingDates {
    Weekdays(WeekdaySet),
    /// On some days of each month.
    Monthly(Vec<MonthDay>),
    /// Every so many days, weeks or months; one of these dates is given, and it need not be the first.
    Every {
        count: u16,
        unit: DateUnit,
        from: LocalDate,
    },
    Cron(CronDates),
}

/// A day of a month.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonthDay {
    /// From 1 to 28, which each month has.
    Number(u8),
    Last,
    /// The first to fourth of a day of the week; the places within the week begin with Monday, 0.
    Nth {
        nth: u8,
        weekday: u8,
    },
    LastWeekday(u8),
}

/// What dates are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateUnit {
    Days,
    Weeks,
    Months,
}

/// The dates of a line of cron.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CronDates {
    /// The line, with one blank between its fields.
    pub line: String,
    /// A bit for each day of the month, 1 to 31.
    pub days: u64,
    /// A bit for each month, 1 to 12.
    pub months: u64,
    pub weekdays: WeekdaySet,
    /// Whether a date of either field will do, for neither begins with `*`.
    pub either: bool,
}

/// Of how many dates of the calendar gaps are looked at: the Gregorian calendar repeats itself after 400 years, and no
/// leap day comes more than eight years after the last one.
const CYCLE_DATES: usize = 146_097 + 8 * 366;

impl ClosingDates {
    pub const DAILY: Self = Self::Weekdays(WeekdaySet::ALL);

    /// Whether windows close on a date.
    pub fn has(&self, date: LocalDate) -> bool {
        match self {
            Self::Weekdays(on) => on.has(weekday_of(date)),
            Self::Every { count, unit: DateUnit::Days, from } => is_nth(date, *from, i32::from(*count)),
            Self::Every { count, unit: DateUnit::Weeks, from } => is_nth(date, *from, 7 * i32::from(*count)),
            _ => date_from_days(date).is_some_and(|civil| self.has_civil(civil)),
        }
    }

    /// The same of what hangs on months.
    fn has_civil(&self, date: Date) -> bool {
        match self {
            Self::Monthly(days) => days.iter().any(|day| day.has(date)),
            Self::Every { count, unit: DateUnit::Months, from } => {
                let month = |date: Date| 12 * i32::from(date.year()) + i32::from(date.month());
                date_from_days(*from).is_some_and(|from| {
                    from.day() == date.day() && is_nth(month(date), month(from), i32::from(*count))
                })
            }
            Self::Cron(cron) => cron.has(date),
            Self::Weekdays(_) | Self::Every { .. } => self.has(days_since_1970(date)),
        }
    }

    /// How many days lie between two of these dates that follow each other, where they lie furthest apart on the whole
    /// calendar. Nothing where there are no two dates.
    pub fn longest_gap(&self) -> Option<i64> {
        let dates: Vec<i64> = match self {
            Self::Every { count, unit: DateUnit::Days, .. } => vec![0, i64::from(*count)],
            Self::Every { count, unit: DateUnit::Weeks, .. } => vec![0, 7 * i64::from(*count)],
            Self::Weekdays(_) => (0..14).filter(|date| self.has(*date)).map(i64::from).collect(),
            _ => {
                let all = Date::constant(2000, 1, 1).series(jiff::Span::new().days(1)).take(CYCLE_DATES);
                all.filter(|date| self.has_civil(*date)).map(|date| days_since_1970(date).into()).collect()
            }
        };
        dates.windows(2).map(|pair| pair[1] - pair[0]).max()
    }
}

impl MonthDay {
    fn has(self, date: Date) -> bool {
        let of_week = |weekday| date.weekday() == weekday_at(weekday);
        match self {
            Self::Number(day) => date.day().unsigned_abs() == day,
            Self::Last => date.day() == date.days_in_month(),
            Self::Nth { nth, weekday } => of_week(weekday) && date.day().unsigned_abs().div_ceil(7) == nth,
            Self::LastWeekday(weekday) => of_week(weekday) && date.day() + 7 > date.days_in_month(),
        }
    }
}

impl CronDates {
    fn has(&self, date: Date) -> bool {
        let has_bit = |bits: u64, at: i8| bits & (1 << at) != 0;
        let of_month = has_bit(self.days, date.day());
        let of_week = self.weekdays.has(weekday_of(days_since_1970(date)));
        let fits = if self.either { of_month || of_week } else { of_month && of_week };
        fits && has_bit(self.months, date.month())
    }
}

/// Whether a number is so many times a count away from another.
fn is_nth(number: i32, from: i32, count: i32) -> bool {
    (i64::from(number) - i64::from(from)).rem_euclid(i64::from(count.max(1))) == 0
}

/// The place of a date within its week, Monday being 0; 1970 began on a Thursday.
fn weekday_of(date: LocalDate) -> usize {
    usize::try_from((i64::from(date) + 3).rem_euclid(7)).unwrap_or(0)
}

fn weekday_at(place: u8) -> Weekday {
    Weekday::from_monday_zero_offset(i8::try_from(place % 7).unwrap_or(0)).unwrap_or(Weekday::Monday)
}

/// Which closing of a calendar it is: the local date, or of a calendar with several times a day the minute on the local
/// calendar, moved beyond all dates, so that a plan may change from one to the other. They stand in the order in which
/// they come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClosingNumber(pub i32);

/// Closings on one date, at most.
pub const CLOSINGS_A_DAY_MAX: usize = 24;

/// Where the minutes begin; what is half as much is a date yet.
const MINUTES_BEGIN: i32 = 1 << 30;
const DAY_MINUTES: i32 = 24 * 60;

impl ClosingNumber {
    /// The closing at a time of a date; `times` are all times at which the calendar closes on a date.
    pub fn new(date: LocalDate, time: LocalTime, times: &[LocalTime]) -> Self {
        if times.len() < 2 {
            return Self(date);
        }
        let minute = i32::from(time.hour) * 60 + i32::from(time.minute);
        Self(date.saturating_mul(DAY_MINUTES).saturating_add(minute).saturating_add(MINUTES_BEGIN))
    }

    pub fn date(self) -> LocalDate {
        self.minute().map_or(self.0, |minute| minute.div_euclid(DAY_MINUTES))
    }

    /// The number before it.
    #[must_use]
    pub fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The minute since 1970 on the local calendar, where it names one.
    fn minute(self) -> Option<i32> {
        (self.0 > MINUTES_BEGIN / 2).then_some(self.0 - MINUTES_BEGIN)
    }
}

impl Ord for ClosingNumber {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let place = |number: &Self| {
            let begins = i64::from(number.0) * i64::from(DAY_MINUTES);
            (number.minute().map_or(begins, i64::from), number.0)
        };
        place(self).cmp(&place(other))
    }
}

impl PartialOrd for ClosingNumber {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_that_of_the_whole_calendar() {
        let check = |dates: ClosingDates, gap: Option<i64>| assert_eq!(dates.longest_gap(), gap, "{dates:?}");
        let monthly = |days: &[MonthDay]| ClosingDates::Monthly(days.to_vec());
        check(ClosingDates::DAILY, Some(1));
        check(ClosingDates::Weekdays(WeekdaySet::new([0, 3]).unwrap()), Some(4));
        check(monthly(&[MonthDay::Number(1)]), Some(31));
        check(monthly(&[MonthDay::Number(1), MonthDay::Number(15)]), Some(17));
        check(monthly(&[MonthDay::Last]), Some(31));
        check(monthly(&[MonthDay::Nth { nth: 1, weekday: 0 }]), Some(35));
        check(monthly(&[MonthDay::LastWeekday(4)]), Some(35));
        check(monthly(&[MonthDay::Nth { nth: 1, weekday: 0 }, MonthDay::LastWeekday(0)]), Some(28));
        let every = |count, unit| ClosingDates::Every { count, unit, from: 20_458 };
        check(every(3, DateUnit::Days), Some(3));
        check(every(2, DateUnit::Weeks), Some(14));
        check(every(1, DateUnit::Months), Some(31));
        // The 5th of January, April, July and October: two of three months have 31 days.
        check(every(3, DateUnit::Months), Some(92));
        let leap_day = CronDates {
            line: String::new(),
            days: 1 << 29,
            months: 1 << 2,
            weekdays: WeekdaySet::ALL,
            either: false,
        };
        // 2100 is no leap year.
        check(ClosingDates::Cron(leap_day.clone()), Some(8 * 365 + 1));
        check(ClosingDates::Cron(CronDates { days: 1 << 30, ..leap_day }), None);
    }

    #[test]
    fn closings_stand_in_their_order_whatever_their_plan_said_then() {
        let time = |hour| LocalTime { hour, minute: 0 };
        let (one, two) = ([time(9)], [time(9), time(18)]);
        let number = |date, hour, times: &[LocalTime]| ClosingNumber::new(date, time(hour), times);
        let in_order = [
            number(-1, 18, &two),
            number(0, 9, &one),
            number(0, 9, &two),
            number(0, 18, &two),
            number(1, 9, &one),
            number(1, 9, &two),
            number(20_454, 9, &one),
            number(20_454, 18, &two),
            number(2_000_000, 9, &one),
        ];
        assert!(in_order.is_sorted(), "{in_order:?}");
        assert_eq!(in_order.map(ClosingNumber::date), [-1, 0, 0, 0, 1, 1, 20_454, 20_454, 2_000_000]);
    }
}
