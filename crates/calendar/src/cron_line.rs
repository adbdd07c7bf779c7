//! A line of cron as `close` takes it: the five fields of Vixie cron, and nothing of other dialects.
//!
//! Numbers, names of months and days, `*`, ranges, steps of these, and lists. Where neither the day of the month nor the day
//! of the week begins with `*`, a date of either will do. There is a library for each dialect and each brings its own
//! reading of clock changes; ours is `model::civil_time`, for all ways to close.

use crate::{
    closing_dates::{CLOSINGS_A_DAY_MAX, ClosingDates, CronDates},
    local_time::{LocalTime, WeekdaySet},
};

/// One field of a line.
struct CronField {
    name: &'static str,
    least: u8,
    most: u8,
    /// Names of its numbers, from the least on.
    words: &'static [&'static str],
}

const FIELDS: [CronField; 5] = [
    CronField { name: "minute", least: 0, most: 59, words: &[] },
    CronField { name: "hour", least: 0, most: 23, words: &[] },
    CronField { name: "day of the month", least: 1, most: 31, words: &[] },
    CronField {
        name: "month",
        least: 1,
        most: 12,
        words: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    // Sunday is 7 too.
    CronField {
        name: "day of the week",
        least: 0,
        most: 7,
        words: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// The dates and times of a line, or what is wrong with it and what to write.
pub fn parse_cron(line: &str) -> Result<(ClosingDates, Vec<LocalTime>), (String, String)> {
    let parts: Vec<&str> = line.split_whitespace().collect();
    let Ok(parts) = <[&str; 5]>::try_from(parts) else {
        let help = "write minute, hour, day of the month, month and day of the week: `0 9 * * mon-fri`";
        return Err((format!("`{line}` is not a line of cron with five fields"), help.to_string()));
    };
    let mut bits = [0_u64; 5];
    for ((field, part), bits) in FIELDS.iter().zip(parts).zip(&mut bits) {
        *bits = field.parse(part)?;
    }
    let [minutes, hours, days, months, weekdays] = bits;
    let times: Vec<LocalTime> = list_bits(hours)
        .flat_map(|hour| list_bits(minutes).map(move |minute| LocalTime { hour, minute }))
        .collect();
    if times.len() > CLOSINGS_A_DAY_MAX {
        let help = "for windows that are open less than an hour, write `after` or `silence`".to_string();
        return Err((
            format!("this closes {} times a day, more than {CLOSINGS_A_DAY_MAX}", times.len()),
            help,
        ));
    }
    // Our weeks begin with Monday.
    let weekdays = WeekdaySet::new(list_bits(weekdays).map(|day| (usize::from(day) + 6) % 7));
    let weekdays = weekdays.unwrap_or(WeekdaySet::ALL);
    let either = !parts[2].starts_with('*') && !parts[4].starts_with('*');
    let dates = CronDates { line: parts.join(" "), days, months, weekdays, either };
    Ok((ClosingDates::Cron(dates), times))
}

fn list_bits(bits: u64) -> impl Iterator<Item = u8> {
    (0..64).filter(move |bit| bits & (1 << bit) != 0)
}

impl CronField {
    /// A bit for each number that a field names.
    fn parse(&self, text: &str) -> Result<u64, (String, String)> {
        text.split(',').try_fold(0, |bits, part| Ok(bits | self.parse_part(part)?))
    }

    fn parse_part(&self, part: &str) -> Result<u64, (String, String)> {
        let Self { name, least, most, .. } = self;
        let wrong = || {
            let help = if part == "?" {
                "write `*`".to_string()
            } else if is_of_month(part) {
                "for the last day or the n-th day of the week, write `monthly`".to_string()
            } else if let Some(word) = self.short_word(part) {
                format!("did you mean `{word}`?")
            } else {
                format!("it takes {least} to {most}, `*`, `1-5`, `*/2` and lists of these")
            };
            (format!("`{part}` is no {name} of cron"), help)
        };
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let step = match step {
            Some(step) => parse_number(step).filter(|step| (1..=*most).contains(step)).ok_or_else(wrong)?,
            None => 1,
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => (*least, *most),
            (_, Some((from, to))) => {
                (self.number(from).ok_or_else(wrong)?, self.number(to).ok_or_else(wrong)?)
            }
            // A step needs something to step through.
            _ if part.contains('/') => return Err(wrong()),
            _ => self.number(range).map(|number| (number, number)).ok_or_else(wrong)?,
        };
        if from > to {
            return Err((
                format!("`{part}` begins with a later {name} than it ends with"),
                self.list_around(range, (from, to), step),
            ));
        }
        // Without the second name of Sunday a step would take it for an eighth day.
        let to = if range == "*" && *most == 7 { 6 } else { to };
        Ok((from..=to).step_by(usize::from(step)).fold(0, |bits, number| bits | 1 << number))
    }

    /// What a range that goes over the end of the field means, number by number, written as its author does.
    fn list_around(&self, range: &str, (from, to): (u8, u8), step: u8) -> String {
        // Sunday has two numbers, and is named once.
        let last = if self.most == 7 { 6 } else { self.most };
        let is_named = range.contains(|c: char| c.is_ascii_alphabetic());
        let write = |number: u8| match self.words.get(usize::from(number - self.least)) {
            Some(word) if is_named => (*word).to_string(),
            _ => number.to_string(),
        };
        let numbers = (from..=last).chain(self.least..=to).step_by(usize::from(step));
        format!("write `{}`", numbers.map(write).collect::<Vec<_>>().join(","))
    }

    /// The name of which somebody wrote more: `Monday`.
    fn short_word(&self, part: &str) -> Option<&'static str> {
        let written = part.to_ascii_lowercase();
        self.words.iter().copied().find(|word| written.starts_with(word))
    }

    /// A number of the field, or its name.
    fn number(&self, text: &str) -> Option<u8> {
        let named = self.words.iter().position(|word| text.eq_ignore_ascii_case(word));
        let named = named.and_then(|place| u8::try_from(place).ok()).map(|place| place + self.least);
        named.or_else(|| parse_number(text)).filter(|number| (self.least..=self.most).contains(number))
    }
}

/// `L`, `5L` and `5#1` of other dialects: days that are counted within the month.
fn is_of_month(part: &str) -> bool {
    let number = part.strip_suffix(['l', 'L']).or_else(|| part.split_once('#').map(|(day, _)| day));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn parse_number(text: &str) -> Option<u8> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_time::days_since_1970;

    #[test]
    fn a_line_of_cron_is_dates_and_times() {
        // The dates are of May 2026, whose first is a Friday.
        let check = |line: &str, told: &str| {
            let first = days_since_1970(jiff::civil::date(2026, 5, 1));
            let found = match parse_cron(line) {
                Ok((dates, times)) => {
                    let times: Vec<String> =
                        times.iter().map(|at| format!("{}:{:02}", at.hour, at.minute)).collect();
                    let dates = (0..31).filter(|date| dates.has(first + date));
                    let dates: Vec<String> = dates.map(|date| (date + 1).to_string()).collect();
                    format!("{} on {}", times.join(" "), dates.join(" "))
                }
                Err((what, help)) => format!("{what}; {help}"),
            };
            assert_eq!(found, told, "{line}");
        };
        check("0 9 1,15 * *", "9:00 on 1 15");
        check("30 8-20/6 10-12 may *", "8:30 14:30 20:30 on 10 11 12");
        check("0 9 * * 1-5", "9:00 on 1 4 5 6 7 8 11 12 13 14 15 18 19 20 21 22 25 26 27 28 29");
        check("*/30 9 * JAN,May sun", "9:00 9:30 on 3 10 17 24 31");
        check("0 9 * * 7", "9:00 on 3 10 17 24 31");
        check("0 9 * * 0,7", "9:00 on 3 10 17 24 31");
        check("0 9 * * */6", "9:00 on 2 3 9 10 16 17 23 24 30 31");
        check("0 9 * 6 *", "9:00 on ");
        // Either of them, and both where one begins with `*`.
        check("0 9 13 * fri", "9:00 on 1 8 13 15 22 29");
        check("0 9 */14 * fri", "9:00 on 1 15 29");
        let five = "write minute, hour, day of the month, month and day of the week: `0 9 * * mon-fri`";
        check("@daily", &format!("`@daily` is not a line of cron with five fields; {five}"));
        check("0 0 9 * * *", &format!("`0 0 9 * * *` is not a line of cron with five fields; {five}"));
        let monthly = "for the last day or the n-th day of the week, write `monthly`";
        check("0 9 L * *", &format!("`L` is no day of the month of cron; {monthly}"));
        check("0 9 * * 5#1", &format!("`5#1` is no day of the week of cron; {monthly}"));
        check("0 9 ? * *", "`?` is no day of the month of cron; write `*`");
        let takes = "it takes 0 to 23, `*`, `1-5`, `*/2` and lists of these";
        for odd in ["24", "9-", "-9", "9/2", "*/0", "", "+9", "9-24", "1e1", "nine", "999"] {
            if !odd.is_empty() {
                check(&format!("0 {odd} * * *"), &format!("`{odd}` is no hour of cron; {takes}"));
            }
        }
        check("0 9, * * *", &format!("`` is no hour of cron; {takes}"));
        let later = |part: &str, field: &str, list: &str| {
            format!("`{part}` begins with a later {field} than it ends with; write `{list}`")
        };
        check("0 22-2 * * *", &later("22-2", "hour", "22,23,0,1,2"));
        check("0 22-4/2 * * *", &later("22-4/2", "hour", "22,0,2,4"));
        check("0 9 * * fri-mon", &later("fri-mon", "day of the week", "fri,sat,sun,mon"));
        check("0 9 * * 5-1", &later("5-1", "day of the week", "5,6,0,1"));
        check("0 9 * nov-feb *", &later("nov-feb", "month", "nov,dec,jan,feb"));
        check("0 9 * * 5L", &format!("`5L` is no day of the week of cron; {monthly}"));
        // No word of this field, and no last day.
        let week = "it takes 0 to 7, `*`, `1-5`, `*/2` and lists of these";
        check("0 9 * * lun", &format!("`lun` is no day of the week of cron; {week}"));
        check("0 9 * * Monday", "`Monday` is no day of the week of cron; did you mean `mon`?");
        check("0 9 * august *", "`august` is no month of cron; did you mean `aug`?");
        check(
            "* * * * *",
            "this closes 1440 times a day, more than 24; for windows that are open less than an hour, write `after` or \
             `silence`",
        );
    }
}
