//! Dates, times and days of the week as they stand on a wall and a calendar, of whatever zone.

use jiff::{ToSpan as _, civil::Date};

/// A local calendar date, as days since 1970-01-01 on that calendar.
pub type LocalDate = i32;

/// A date of the calendar as a number.
pub fn days_since_1970(date: Date) -> LocalDate {
    date.since(Date::constant(1970, 1, 1)).map_or(0, |span| span.get_days())
}

/// The date of a number, if the calendar reaches so far.
pub fn date_from_days(days: LocalDate) -> Option<Date> {
    Date::constant(1970, 1, 1).checked_add(days.days()).ok()
}

/// Days of a week, Monday first; never none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeekdaySet(u8);

impl WeekdaySet {
    pub const ALL: Self = Self(0x7f);
    /// Their names, as a catalogue writes them.
    pub const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

    /// From places within the week, Monday being 0; `None` if there is none, or one that no week has.
    pub fn new(days: impl IntoIterator<Item = usize>) -> Option<Self> {
        let mut bits = 0;
        for day in days {
            bits |= 1_u8.checked_shl(u32::try_from(day).ok()?).filter(|_| day < 7)?;
        }
        (bits != 0).then_some(Self(bits))
    }

    /// Whether the day at this place is one of them.
    pub fn has(self, day: usize) -> bool {
        day < 7 && self.0 & (1 << day) != 0
    }
}

/// A time on the wall.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LocalTime {
    pub hour: u8,
    pub minute: u8,
}

impl LocalTime {
    /// The last of a day.
    pub const LAST: Self = Self { hour: 23, minute: 59 };

    /// `09:00`.
    pub fn parse(text: &str) -> Option<Self> {
        let (hour, minute) = text.split_once(':')?;
        let digits = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(hour) || !digits(minute) {
            return None;
        }
        let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
        (hour < 24 && minute < 60).then_some(Self { hour, minute })
    }
}

/// From one time on a wall to another, across midnight where the second is not after the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalHours {
    pub from: LocalTime,
    pub to: LocalTime,
}

impl LocalHours {
    /// `22:00-08:00`; all day is no stretch of it.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let (from, to) = (LocalTime::parse(from)?, LocalTime::parse(to)?);
        (from != to).then_some(Self { from, to })
    }

    /// Whether a time is one of them.
    pub fn has(self, time: LocalTime) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&time)
        } else {
            time >= self.from || time < self.to
        }
    }
}
