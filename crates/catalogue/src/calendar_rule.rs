//! When the windows of a plan close by the calendar: on which dates, at which times of these, and how far back it must look.

use calendar::{
    closing_dates::{CLOSINGS_A_DAY_MAX, ClosingDates, DateUnit, MonthDay},
    cron_line,
};
use model::{
    Day,
    limits::DAY_MS,
    local_time::LocalDate,
    plan::{CloseRule, LocalHours, LocalTime, WeekdaySet, ZoneRule},
};
use source_text::{
    did_you_mean, list_choices,
    units::format_length,
    yaml::{TreeNode, TreePlace, TreeValue},
};

use crate::{
    format::words::NTH_WORDS,
    limits::{SPREAD_MS_MAX, longest_look_back},
    time_values::{read_duration, read_time_of_day, read_zone},
    tree_reader::{MapFields, TreeReader},
};

/// The last day that each month has.
const MONTH_DAY_MAX: u8 = 28;

pub(crate) fn read_calendar(
    reader: &mut TreeReader<'_>,
    fields: &MapFields<'_>,
    (way, node): (&str, &TreeNode),
) -> Option<CloseRule> {
    let what = format!("`{way}`");
    let (dates, times) = match way {
        "cron" => read_cron(reader, node).unzip(),
        "every" => {
            let times = fields.need(reader, "at").map(|node| read_times(reader, node, "`at`"));
            (read_every(reader, fields, node), times.flatten())
        }
        _ => {
            let times = read_times(reader, node, &what);
            let dates = match way {
                "daily" => Some(ClosingDates::DAILY),
                "weekly" => {
                    let on = fields.need(reader, "on").and_then(|node| read_weekdays(reader, node));
                    on.map(ClosingDates::Weekdays)
                }
                _ => {
                    let on = fields.need(reader, "on").and_then(|node| read_month_days(reader, node));
                    on.map(ClosingDates::Monthly)
                }
            };
            (dates, times)
        }
    };
    let zone = fields.need(reader, "zone").and_then(|node| read_zone(reader, node));
    let spread_ms = match fields.get("spread") {
        Some(node) => read_spread(reader, node, times.as_deref().unwrap_or_default()),
        None => Some(0),
    };
    let best = fields.get("best").map(|node| {
        if times.as_ref().is_some_and(|times| times.len() > 1) {
            reader.problem(node.at, "`best` is one hour of the day, so it takes one time and not several");
        }
        read_best_hours(reader, node, zone.as_ref())
    });
    let best = best.transpose().ok()?;
    Some(CloseRule::Calendar { dates: dates?, times: times?, zone: zone?, spread_ms: spread_ms?, best })
}

/// One time of day or several, in order.
fn read_times(reader: &mut TreeReader<'_>, node: &TreeNode, what: &str) -> Option<Vec<LocalTime>> {
    let TreeValue::List(list) = &node.what else {
        return read_time_of_day(reader, node, what).map(|time| vec![time]);
    };
    if list.is_empty() || list.len() > CLOSINGS_A_DAY_MAX {
        reader.problem(node.at, format!("{what} takes 1 to {CLOSINGS_A_DAY_MAX} times of day"));
        return None;
    }
    let mut times = Vec::new();
    let mut all_known = true;
    for node in list {
        match read_time_of_day(reader, node, what) {
            Some(time) if times.contains(&time) => {
                let time = format!("{:02}:{:02}", time.hour, time.minute);
                reader.problem(node.at, format!("`{time}` is given twice"));
            }
            Some(time) => times.push(time),
            None => all_known = false,
        }
    }
    times.sort_unstable();
    all_known.then_some(times)
}

/// A spread ends before the next closing of the same day begins: else somebody's second would come before their first.
fn read_spread(reader: &mut TreeReader<'_>, node: &TreeNode, times: &[LocalTime]) -> Option<i64> {
    let ms = read_duration(reader, node, "`spread`")?;
    if ms > SPREAD_MS_MAX {
        reader.problem(node.at, "`spread` must be at most 6h");
        return Some(ms);
    }
    let minute = |time: &LocalTime| i64::from(time.hour) * 60 + i64::from(time.minute);
    let next_day = times.first().map(|first| minute(first) + 24 * 60);
    let minutes: Vec<i64> = times.iter().map(minute).chain(next_day).collect();
    let shortest = minutes.windows(2).map(|pair| (pair[1] - pair[0]) * 60_000).min();
    if let Some(shortest) = shortest.filter(|shortest| times.len() > 1 && ms >= *shortest) {
        let what = format!(
            "`spread` must be shorter than the time between two closings, {}",
            format_length(shortest)
        );
        reader.problem(node.at, what);
    }
    Some(ms)
}

/// The hours of which the person's own best one is taken.
fn read_best_hours(
    reader: &mut TreeReader<'_>,
    node: &TreeNode,
    zone: Option<&ZoneRule>,
) -> Result<LocalHours, ()> {
    let help = "write it like \"07:00-22:00\"";
    let text = reader.text_like(node, "`best`", help).ok_or(())?;
    let Some(hours) = LocalHours::parse(text) else {
        reader.problem_with(node.at, format!("`{text}` is not a range of hours"), Some(help.to_string()));
        return Err(());
    };
    if let Some(ZoneRule::Fixed(_)) = zone {
        reader.problem(node.at, "`best` is an hour of the person's own day and needs `zone: person`");
        return Err(());
    }
    Ok(hours)
}

/// Days of the week, by the first three letters of their names.
fn read_weekdays(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<WeekdaySet> {
    let texts = reader.texts(node, "`on`");
    if node.is_empty() {
        reader.problem(node.at, "`on` names no day");
    }
    let mut days = Vec::new();
    // With a day less, what is said of the rest would be wrong.
    let mut all_known = !matches!(&node.what, TreeValue::List(list) if list.len() != texts.len());
    for (text, at) in texts {
        match WeekdaySet::NAMES.iter().position(|name| *name == text) {
            Some(day) if days.contains(&day) => reader.problem(at, format!("`{text}` is given twice")),
            Some(day) => days.push(day),
            None => {
                all_known = false;
                report_unknown_day(reader, at, text);
            }
        }
    }
    WeekdaySet::new(days).filter(|_| all_known)
}

fn report_unknown_day(reader: &mut TreeReader<'_>, at: TreePlace, text: &str) {
    // The whole name is the likeliest slip, and far from its beginning.
    let begins = text.to_lowercase().chars().take(3).collect::<String>();
    let help = did_you_mean(&begins, WeekdaySet::NAMES.into_iter().filter(|name| *name == begins))
        .or_else(|| did_you_mean(text, WeekdaySet::NAMES))
        .unwrap_or_else(|| format!("use {}", list_choices(WeekdaySet::NAMES)));
    reader.problem_with(at, format!("there is no day `{text}`"), Some(help));
}

/// Days of a month: `15`, `last`, `first mon`, `last fri`.
fn read_month_days(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<Vec<MonthDay>> {
    let nodes = match &node.what {
        TreeValue::List(list) => &list[..],
        _ => std::slice::from_ref(node),
    };
    if nodes.is_empty() {
        reader.problem(node.at, "`on` names no day");
        return None;
    }
    let mut days = Vec::new();
    let mut all_known = true;
    for node in nodes {
        match read_month_day(reader, node) {
            Some(day) if days.contains(&day) => reader.problem(node.at, "this day is given twice"),
            Some(day) => days.push(day),
            None => all_known = false,
        }
    }
    all_known.then_some(days)
}

fn read_month_day(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<MonthDay> {
    const RULE: &str =
        "a day of the month is a number from 1 to 28, `last`, `first mon` to `fourth sun`, or `last fri`";
    let text = match &node.what {
        TreeValue::Number(number) => number.to_string(),
        TreeValue::Text(text) => text.clone(),
        other => {
            let what = format!("a day of the month cannot be {}", other.sort_name());
            reader.problem_with(node.at, what, Some(RULE.to_string()));
            return None;
        }
    };
    if let Ok(number @ 1..=31) = text.parse::<u8>() {
        if number > MONTH_DAY_MAX {
            report_late_day(reader, node.at, number);
            return None;
        }
        return Some(MonthDay::Number(number));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let weekday = |name: &str| {
        let place = WeekdaySet::NAMES.iter().position(|known| *known == name);
        place.and_then(|place| u8::try_from(place).ok())
    };
    let nth = |name: &str| {
        let place = NTH_WORDS.iter().position(|known| *known == name);
        place.and_then(|place| u8::try_from(place + 1).ok())
    };
    let day = match words[..] {
        ["last"] => Some(MonthDay::Last),
        ["last", day] => weekday(day).map(MonthDay::LastWeekday),
        ["fifth", day] if weekday(day).is_some() => {
            let help = Some(format!("write `last {day}`"));
            reader.problem_with(node.at, "most months have no fifth day of the week", help);
            return None;
        }
        [place, day] => nth(place).zip(weekday(day)).map(|(nth, weekday)| MonthDay::Nth { nth, weekday }),
        _ => None,
    };
    if day.is_none() {
        reader.problem_with(
            node.at,
            format!("there is no day of the month `{text}`"),
            Some(RULE.to_string()),
        );
    }
    day
}

/// Cron leaves such a month out and most people mean its last day, so neither is guessed.
fn report_late_day(reader: &mut TreeReader<'_>, at: TreePlace, day: impl std::fmt::Display) {
    let help = "take a day from 1 to 28; for the last day of each month, write `monthly` with `on: last`"
        .to_string();
    reader.problem_with(at, format!("not every month has a day {day}"), Some(help));
}

/// Every so many days, weeks or months.
fn read_every(reader: &mut TreeReader<'_>, fields: &MapFields<'_>, node: &TreeNode) -> Option<ClosingDates> {
    let help = "write it like `3 days`, `2 weeks` or `1 month`";
    let every = reader.text_like(node, "`every`", help).and_then(|text| {
        let found = parse_every(text);
        if found.is_none() {
            let what = format!("`{text}` is not a number of days, weeks or months");
            let help = format!("{help}, of at most 366 days, 52 weeks or 12 months");
            reader.problem_with(node.at, what, Some(help));
        }
        found
    });
    let from = fields.need(reader, "from")?;
    let date = read_date(reader, from, "`from`");
    let ((count, unit), (date, day)) = (every?, date?);
    if unit == DateUnit::Months && day > MONTH_DAY_MAX {
        report_late_day(reader, from.at, day);
        return None;
    }
    Some(ClosingDates::Every { count, unit, from: date })
}

fn parse_every(text: &str) -> Option<(u16, DateUnit)> {
    let (count, unit) = text.split_once(' ')?;
    let unit = unit.trim_start();
    let (unit, most) = match unit.strip_suffix('s').unwrap_or(unit) {
        "day" => (DateUnit::Days, 366),
        "week" => (DateUnit::Weeks, 52),
        "month" => (DateUnit::Months, 12),
        _ => return None,
    };
    let count = count.bytes().all(|byte| byte.is_ascii_digit()).then(|| count.parse().ok())??;
    (1..=most).contains(&count).then_some((count, unit))
}

/// A date, and its day of the month.
fn read_date(reader: &mut TreeReader<'_>, node: &TreeNode, what: &str) -> Option<(LocalDate, u8)> {
    let help = "write it like `2026-01-05`";
    let text = reader.text_like(node, what, help)?;
    let is_full = text.len() == 10 && text.is_ascii();
    let found = Day::parse(text).filter(|_| is_full).and_then(|day| Some((day.0, text[8..].parse().ok()?)));
    if found.is_none() {
        reader.problem_with(node.at, format!("`{text}` is not a date"), Some(help.to_string()));
    }
    found
}

fn read_cron(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<(ClosingDates, Vec<LocalTime>)> {
    let line = reader.text_like(node, "`cron`", "write it like `\"0 9 * * mon-fri\"`")?;
    match cron_line::parse_cron(line) {
        Ok(found) => Some(found),
        Err((what, help)) => {
            reader.problem_with(node.at, what, Some(help));
            None
        }
    }
}

/// An entry that comes right after a closing waits for the next one. If that message has no room for it, it is carried
/// over to the closing after that, and must still be within the look-back then. A shorter look-back would let such
/// entries expire.
pub(crate) fn check_look_back(
    reader: &mut TreeReader<'_>,
    close: &CloseRule,
    (look_back_days, at): (Option<u16>, TreePlace),
    close_at: TreePlace,
) {
    let (least, what, why) = match close {
        CloseRule::Calendar { dates, .. } => {
            let Some(gap) = dates.longest_gap() else {
                let help = "name a date that comes again and again".to_string();
                return reader.problem_with(close_at, "there is no such date on the calendar", Some(help));
            };
            if 2 * gap > longest_look_back(reader.day_life) {
                return report_long_gap(reader, close_at, gap);
            }
            let what = "entries that one mail carries over expire before the next";
            (2 * gap, what, format!(", twice the longest gap between two closings ({gap}d)"))
        }
        // Whoever stays, and what is far ahead, is told at the last call at the latest.
        CloseRule::Away { .. } | CloseRule::Before { .. } => return,
        CloseRule::After { ms } => ((ms + DAY_MS - 1) / DAY_MS, "after", String::new()),
        CloseRule::Silence { most_ms: ms, .. } => ((ms + DAY_MS - 1) / DAY_MS, "most", String::new()),
    };
    let Some(look_back_days) = look_back_days.filter(|days| i64::from(*days) < least) else { return };
    let what = match close {
        CloseRule::Calendar { .. } => format!("with `look_back: {look_back_days}d`, {what}"),
        _ => format!("`{what}` is longer than `look_back`, so the first entries would be forgotten"),
    };
    reader.problem_with(at, what, Some(format!("`look_back` must be at least {least}d{why}")));
}

/// No look-back is long enough for closings that lie so far apart.
fn report_long_gap(reader: &mut TreeReader<'_>, at: TreePlace, gap: i64) {
    let most = longest_look_back(reader.day_life);
    let what = format!(
        "two closings may lie {gap}d apart, so `look_back` would have to be {}d, and it is {most}d at most where days live for {}",
        2 * gap,
        reader.day_life
    );
    let help =
        "entries that one mail carries over would expire before the next; close more often".to_string();
    reader.problem_with(at, what, Some(help));
}
