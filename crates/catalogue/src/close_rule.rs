//! When the windows of a plan close: at a time of day, on some days of the week, or a while after they opened.

use std::ops::RangeInclusive;

use model::{
    civil_time::ZoneRules,
    limits::DAY_MS,
    plan::{CloseRule, LocalHours, LocalTime, WeekdaySet, ZoneRule},
};
use source_text::{
    did_you_mean, list_choices,
    yaml::{TreeNode, TreePlace, TreeValue},
};

use crate::{
    format::{CLOSE, KeyCombination},
    limits::{AFTER_MS_MIN, LOOK_BACK_DAYS_MAX, SILENCE_MS_MIN, SPREAD_MS_MAX},
    tree_reader::{MapFields, TreeReader},
    units::{format_length, parse_duration_ms},
};

const AT_ONCE: &str = "at_once";

/// How long a window may be open at least and at most.
const LENGTHS: RangeInclusive<i64> = AFTER_MS_MIN..=LOOK_BACK_DAYS_MAX * DAY_MS;

const RULE: &str = "a window closes `at_once`, `{after: 2h}`, `{silence: 5m, most: 1h}`, `{away: 30m}`, `{before: FIELD, by: 2h}`, `{daily: \"09:00\", zone: person}` or `{weekly: \"09:00\", on: [mon, thu], zone: person}`";

/// What `close` says.
pub(crate) fn read_close(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<CloseRule> {
    if let TreeValue::Text(text) = &node.what {
        if text == AT_ONCE {
            return Some(CloseRule::After { ms: 0 });
        }
        let help = did_you_mean(text, [AT_ONCE]).unwrap_or_else(|| RULE.to_string());
        reader.problem_with(node.at, format!("there is no such way to close: `{text}`"), Some(help));
        return None;
    }
    let fields = reader.fields(node, node.at, &CLOSE)?;
    let mut ways = CLOSE.ways().filter_map(|(way, own)| Some((way, own, fields.get(way)?)));
    match (ways.next(), ways.next()) {
        (Some((way, own, node)), None) => read_close_form(reader, &fields, (way, own), node),
        // What is there instead has its message.
        (None, _) if fields.strange => None,
        (None, _) => {
            reader.problem_with(node.at, "`close` does not say when", Some(RULE.to_string()));
            None
        }
        (Some(_), Some(_)) => {
            reader.problem_with(node.at, "`close` takes one rule", Some(RULE.to_string()));
            None
        }
    }
}

fn read_close_form(
    reader: &mut TreeReader<'_>,
    fields: &MapFields<'_>,
    (way, own): (&str, &KeyCombination),
    node: &TreeNode,
) -> Option<CloseRule> {
    let what = format!("`{way}`");
    // The ways themselves are one at a time already.
    let is_way = |key: &&str| CLOSE.ways().any(|(way, _)| way == *key);
    let others: Vec<&str> = CLOSE.key_names().filter(|key| !own.has(key) && !is_way(key)).collect();
    let alone = has_no_stray(reader, fields, &what, &others);
    let close = match way {
        "daily" => read_calendar(reader, fields, (node, &what), Some(WeekdaySet::ALL)),
        "weekly" => {
            let on = fields.need(reader, "on").and_then(|node| read_weekdays(reader, node));
            read_calendar(reader, fields, (node, &what), on)
        }
        "after" => read_duration_within(reader, node, &what, LENGTHS).map(|ms| CloseRule::After { ms }),
        "away" => read_duration_within(reader, node, &what, LENGTHS).map(|ms| CloseRule::Away { ms }),
        "before" => read_before(reader, fields, node),
        _ => read_silence(reader, fields, node),
    };
    close.filter(|_| alone)
}

fn read_before(reader: &mut TreeReader<'_>, fields: &MapFields<'_>, node: &TreeNode) -> Option<CloseRule> {
    let field = reader.text(node, "`before`").map(str::to_string);
    let ms = match fields.get("by") {
        Some(node) => read_duration_within(reader, node, "`by`", 0..=*LENGTHS.end())?,
        None => 0,
    };
    Some(CloseRule::Before { field: field?, ms })
}

fn read_silence(reader: &mut TreeReader<'_>, fields: &MapFields<'_>, node: &TreeNode) -> Option<CloseRule> {
    let ms = read_duration_within(reader, node, "`silence`", SILENCE_MS_MIN..=*LENGTHS.end());
    let most = fields.need(reader, "most")?;
    let (ms, most_ms) = (ms?, read_duration_within(reader, most, "`most`", LENGTHS)?);
    if most_ms < ms {
        reader.problem(most.at, "`most` is shorter than `silence`");
        return None;
    }
    Some(CloseRule::Silence { ms, most_ms })
}

/// Whether none of these keys is given; each that is given is reported.
fn has_no_stray(reader: &mut TreeReader<'_>, fields: &MapFields<'_>, with: &str, keys: &[&str]) -> bool {
    let mut alone = true;
    for key in keys {
        if let Some(node) = fields.get(key) {
            let help = (*key == "on").then(|| "for some days of the week, write `weekly`".to_string());
            reader.problem_with(node.at, format!("`{key}` has no effect with {with}"), help);
            alone = false;
        }
    }
    alone
}

fn read_calendar(
    reader: &mut TreeReader<'_>,
    fields: &MapFields<'_>,
    (time, what): (&TreeNode, &str),
    on: Option<WeekdaySet>,
) -> Option<CloseRule> {
    let at = read_time_of_day(reader, time, what);
    let zone = fields.need(reader, "zone").and_then(|node| read_zone(reader, node));
    let spread = fields.get("spread").map_or(Some(0), |node| {
        let ms = read_duration(reader, node, "`spread`")?;
        if ms > SPREAD_MS_MAX {
            reader.problem(node.at, "`spread` must be at most 6h");
        }
        Some(ms)
    });
    let best = fields.get("best").map(|node| read_best_hours(reader, node, zone.as_ref())).transpose();
    Some(CloseRule::Calendar { at: at?, on: on?, zone: zone?, spread_ms: spread?, best: best.ok()? })
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

pub(crate) fn read_time_of_day(
    reader: &mut TreeReader<'_>,
    node: &TreeNode,
    what: &str,
) -> Option<LocalTime> {
    let help = "write it like \"09:00\"";
    let text = reader.text_like(node, what, help)?;
    let time = LocalTime::parse(text);
    if time.is_none() {
        reader.problem_with(node.at, format!("`{text}` is not a time of day"), Some(help.to_string()));
    }
    time
}

pub(crate) fn read_zone(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<ZoneRule> {
    let text = reader.text(node, "`zone`")?;
    if text == "person" {
        return Some(ZoneRule::Person);
    }
    if ZoneRules::load_newest().get(text).is_some() {
        return Some(ZoneRule::Fixed(text.to_string()));
    }
    let names: Vec<String> =
        jiff::tz::TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect();
    // Most people know a zone by its city.
    let city = |name: &&String| {
        name.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&text.replace(' ', "_")))
    };
    let help = names
        .iter()
        .find(city)
        .map(|name| format!("did you mean `{name}`?"))
        .or_else(|| did_you_mean(text, names.iter().map(String::as_str).chain(["person"])))
        .unwrap_or_else(|| "write `person`, or a name such as `Europe/Berlin`".to_string());
    reader.problem_with(node.at, format!("there is no time zone `{text}`"), Some(help));
    None
}

/// A length of time.
pub(crate) fn read_duration(reader: &mut TreeReader<'_>, node: &TreeNode, what: &str) -> Option<i64> {
    let help = "write it like `20m`, `1h30m` or `7d`";
    let text = reader.text_like(node, what, help)?;
    let ms = parse_duration_ms(text);
    if ms.is_none() {
        reader.problem_with(node.at, format!("`{text}` is not a length of time"), Some(help.to_string()));
    }
    ms
}

/// A length of time within bounds.
pub(crate) fn read_duration_within(
    reader: &mut TreeReader<'_>,
    node: &TreeNode,
    what: &str,
    bounds: RangeInclusive<i64>,
) -> Option<i64> {
    let ms = read_duration(reader, node, what)?;
    if !bounds.contains(&ms) {
        let (least, most) = (format_length(*bounds.start()), format_length(*bounds.end()));
        reader.problem(node.at, format!("{what} must be from {least} to {most}"));
        return None;
    }
    Some(ms)
}

/// An entry that comes right after a closing waits for the next one. If that message has no room for it, it is carried
/// over to the closing after that, and must still be within the look-back then. A shorter look-back would let such
/// entries expire.
pub(crate) fn check_look_back(
    reader: &mut TreeReader<'_>,
    close: &CloseRule,
    look_back_days: u16,
    at: TreePlace,
) {
    let (least, what, why) = match close {
        CloseRule::Calendar { on, .. } => {
            let gap = longest_gap(*on);
            let what = format!(
                "with `look_back: {look_back_days}d`, entries that one mail carries over expire before the \
                next"
            );
            (2 * gap, what, format!(", twice the longest gap between two closings ({gap}d)"))
        }
        // Whoever stays, and what is far ahead, is told at the last call at the latest.
        CloseRule::Away { .. } | CloseRule::Before { .. } => return,
        CloseRule::After { ms } | CloseRule::Silence { most_ms: ms, .. } => {
            let way = if matches!(close, CloseRule::After { .. }) { "after" } else { "most" };
            let what = format!("`{way}` is longer than `look_back`, so the first entries would be forgotten");
            ((ms + DAY_MS - 1) / DAY_MS, what, String::new())
        }
    };
    if i64::from(look_back_days) < least {
        reader.problem_with(at, what, Some(format!("`look_back` must be at least {least}d{why}")));
    }
}

/// Days from one day of the week that is named to the next, where they lie furthest apart.
fn longest_gap(on: WeekdaySet) -> i64 {
    let (mut longest, mut last) = (0, None::<i64>);
    for day in 0_i64..14 {
        if on.has(usize::try_from(day % 7).unwrap_or(0)) {
            longest = last.map_or(longest, |last| longest.max(day - last));
            last = Some(day);
        }
    }
    longest
}
