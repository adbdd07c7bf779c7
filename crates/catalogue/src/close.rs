//! When the windows of a plan close: at a time of day, on some days of the week, or a while after they opened.

use std::ops::RangeInclusive;

use model::{
    civil::Zones,
    limits::DAY_MS,
    plan::{Close, Hours, LocalTime, Weekdays, ZoneRule},
};

use crate::{
    limits::{AFTER_MS_MIN, LOOK_BACK_DAYS_MAX, SILENCE_MS_MIN, SPREAD_MS_MAX},
    problem::{did_you_mean, one_of},
    read::{Fields, Reader},
    units::{duration_ms, length},
    yaml::{At, Node, What},
};

const KEYS: [&str; 12] =
    ["daily", "weekly", "after", "silence", "away", "before", "by", "most", "on", "zone", "spread", "best"];
/// The ways to close; each has keys of its own.
const WAYS: [&str; 6] = ["daily", "weekly", "after", "silence", "away", "before"];
const AT_ONCE: &str = "at_once";

/// How long a window may be open at least and at most.
const LENGTHS: RangeInclusive<i64> = AFTER_MS_MIN..=LOOK_BACK_DAYS_MAX * DAY_MS;

const RULE: &str = "a window closes `at_once`, `{after: 2h}`, `{silence: 5m, most: 1h}`, `{away: 30m}`, `{before: FIELD, by: 2h}`, `{daily: \"09:00\", zone: person}` or `{weekly: \"09:00\", on: [mon, thu], zone: person}`";

/// What `close` says.
pub(crate) fn read(reader: &mut Reader<'_>, node: &Node) -> Option<Close> {
    if let What::Text(text) = &node.what {
        if text == AT_ONCE {
            return Some(Close::After { ms: 0 });
        }
        let help = did_you_mean(text, [AT_ONCE]).unwrap_or_else(|| RULE.to_string());
        reader.problem_with(node.at, format!("there is no way to close `{text}`"), Some(help));
        return None;
    }
    let fields = reader.fields(node, node.at, "`close`", &KEYS)?;
    let mut ways = WAYS.iter().filter_map(|way| Some((*way, fields.get(way)?)));
    match (ways.next(), ways.next()) {
        (Some((way, node)), None) => one_way(reader, &fields, way, node),
        // What is there instead has its message.
        (None, _) if fields.strange => None,
        (None, _) => {
            reader.problem_with(node.at, "`close` does not say when", Some(RULE.to_string()));
            None
        }
        (Some(_), Some(_)) => {
            reader.problem_with(node.at, "one way to close at a time", Some(RULE.to_string()));
            None
        }
    }
}

fn one_way(reader: &mut Reader<'_>, fields: &Fields<'_>, way: &str, node: &Node) -> Option<Close> {
    // What each way knows beside itself.
    let (own, what): (&[&str], _) = match way {
        "daily" => (&["zone", "spread", "best"], "`daily`"),
        "weekly" => (&["on", "zone", "spread", "best"], "`weekly`"),
        "after" => (&[], "`after`"),
        "away" => (&[], "`away`"),
        "before" => (&["by"], "`before`"),
        _ => (&["most"], "`silence`"),
    };
    let others: Vec<&str> =
        ["on", "zone", "spread", "best", "most", "by"].into_iter().filter(|key| !own.contains(key)).collect();
    let alone = stray(reader, fields, what, &others);
    let close = match way {
        "daily" => calendar(reader, fields, (node, what), Some(Weekdays::ALL)),
        "weekly" => {
            let on = fields.need(reader, "on").and_then(|node| weekdays(reader, node));
            calendar(reader, fields, (node, what), on)
        }
        "after" => duration_within(reader, node, what, LENGTHS).map(|ms| Close::After { ms }),
        "away" => duration_within(reader, node, what, LENGTHS).map(|ms| Close::Away { ms }),
        "before" => before(reader, fields, node),
        _ => silence(reader, fields, node),
    };
    close.filter(|_| alone)
}

fn before(reader: &mut Reader<'_>, fields: &Fields<'_>, node: &Node) -> Option<Close> {
    let field = reader.text(node, "`before`").map(str::to_string);
    let ms = match fields.get("by") {
        Some(node) => duration_within(reader, node, "`by`", 0..=*LENGTHS.end())?,
        None => 0,
    };
    Some(Close::Before { field: field?, ms })
}

fn silence(reader: &mut Reader<'_>, fields: &Fields<'_>, node: &Node) -> Option<Close> {
    let ms = duration_within(reader, node, "`silence`", SILENCE_MS_MIN..=*LENGTHS.end());
    let most = fields.need(reader, "most")?;
    let (ms, most_ms) = (ms?, duration_within(reader, most, "`most`", LENGTHS)?);
    if most_ms < ms {
        reader.problem(most.at, "`most` is shorter than `silence`");
        return None;
    }
    Some(Close::Silence { ms, most_ms })
}

/// Whether what has no meaning here is not there; if it is, that is noted.
fn stray(reader: &mut Reader<'_>, fields: &Fields<'_>, with: &str, keys: &[&str]) -> bool {
    let mut alone = true;
    for key in keys {
        if let Some(node) = fields.get(key) {
            let help = (*key == "on").then(|| "on some days of the week is `weekly`".to_string());
            reader.problem_with(node.at, format!("`{key}` has no meaning with {with}"), help);
            alone = false;
        }
    }
    alone
}

fn calendar(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    (time, what): (&Node, &str),
    on: Option<Weekdays>,
) -> Option<Close> {
    let at = time_of_day(reader, time, what);
    let zone = fields.need(reader, "zone").and_then(|node| zone(reader, node));
    let spread = fields.get("spread").map_or(Some(0), |node| {
        let ms = duration(reader, node, "`spread`")?;
        if ms > SPREAD_MS_MAX {
            reader.problem(node.at, "`spread` is at most 6h");
        }
        Some(ms)
    });
    let best = fields.get("best").map(|node| best(reader, node, zone.as_ref())).transpose();
    Some(Close::Calendar { at: at?, on: on?, zone: zone?, spread_ms: spread?, best: best.ok()? })
}

/// The hours of which the person's own best one is taken.
fn best(reader: &mut Reader<'_>, node: &Node, zone: Option<&ZoneRule>) -> Result<Hours, ()> {
    let hours = reader.text(node, "`best`").ok_or(())?;
    let Some(hours) = Hours::parse(hours) else {
        reader.problem(node.at, "`best` is hours such as `07:00-22:00`");
        return Err(());
    };
    if let Some(ZoneRule::Fixed(_)) = zone {
        reader.problem(node.at, "`best` is an hour of the person's own day and needs `zone: person`");
        return Err(());
    }
    Ok(hours)
}

/// Days of the week, by the first three letters of their names.
fn weekdays(reader: &mut Reader<'_>, node: &Node) -> Option<Weekdays> {
    let texts = reader.texts(node, "`on`");
    if node.is_empty() {
        reader.problem(node.at, "`on` names no day");
    }
    let mut days = Vec::new();
    // With a day less, what is said of the rest would be wrong.
    let mut all_known = !matches!(&node.what, What::List(list) if list.len() != texts.len());
    for (text, at) in texts {
        match Weekdays::NAMES.iter().position(|name| *name == text) {
            Some(day) if days.contains(&day) => reader.problem(at, format!("`{text}` is there twice")),
            Some(day) => days.push(day),
            None => {
                all_known = false;
                unknown_day(reader, at, text);
            }
        }
    }
    Weekdays::new(days).filter(|_| all_known)
}

fn unknown_day(reader: &mut Reader<'_>, at: At, text: &str) {
    // The whole name is the likeliest slip, and far from its beginning.
    let begins = text.to_lowercase().chars().take(3).collect::<String>();
    let help = did_you_mean(&begins, Weekdays::NAMES.into_iter().filter(|name| *name == begins))
        .or_else(|| did_you_mean(text, Weekdays::NAMES))
        .unwrap_or_else(|| format!("a day is {}", one_of(Weekdays::NAMES)));
    reader.problem_with(at, format!("there is no day `{text}`"), Some(help));
}

pub(crate) fn time_of_day(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<LocalTime> {
    let text = reader.text(node, what)?;
    let time = LocalTime::parse(text);
    if time.is_none() {
        let help = "write it like \"09:00\"".to_string();
        reader.problem_with(node.at, format!("`{text}` is no time of day"), Some(help));
    }
    time
}

pub(crate) fn zone(reader: &mut Reader<'_>, node: &Node) -> Option<ZoneRule> {
    let text = reader.text(node, "`zone`")?;
    if text == "person" {
        return Some(ZoneRule::Person);
    }
    if Zones::newest().get(text).is_some() {
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
        .map(|name| format!("`{name}` is probably meant"))
        .or_else(|| did_you_mean(text, names.iter().map(String::as_str).chain(["person"])))
        .unwrap_or_else(|| "a zone is `person`, or a name such as `Europe/Berlin`".to_string());
    reader.problem_with(node.at, format!("there is no time zone `{text}`"), Some(help));
    None
}

/// A length of time.
pub(crate) fn duration(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<i64> {
    let text = reader.text(node, what)?;
    let ms = duration_ms(text);
    if ms.is_none() {
        let help = "write it like `20m`, `1h30m` or `7d`".to_string();
        reader.problem_with(node.at, format!("`{text}` is no length of time"), Some(help));
    }
    ms
}

/// A length of time within bounds.
pub(crate) fn duration_within(
    reader: &mut Reader<'_>,
    node: &Node,
    what: &str,
    bounds: RangeInclusive<i64>,
) -> Option<i64> {
    let ms = duration(reader, node, what)?;
    if !bounds.contains(&ms) {
        let (least, most) = (length(*bounds.start()), length(*bounds.end()));
        reader.problem(node.at, format!("{what} is from {least} to {most}"));
        return None;
    }
    Some(ms)
}

/// What comes right after a closing waits for the next one. Of that what has no room is carried over to the
/// one after it, and must still be within the look-back then; a shorter one would let all of it expire.
pub(crate) fn fits(reader: &mut Reader<'_>, close: &Close, look_back_days: u16, at: At) {
    let (least, what, why) = match close {
        Close::Calendar { on, .. } => {
            let gap = longest_gap(*on);
            let what = format!(
                "with `look_back` {look_back_days}d, what one mail carries over expires before the next"
            );
            (2 * gap, what, format!(", twice the longest gap between two closings ({gap}d)"))
        }
        // Whoever stays, and what is far ahead, is told at the last call at the latest.
        Close::Away { .. } | Close::Before { .. } => return,
        Close::After { ms } | Close::Silence { most_ms: ms, .. } => {
            let way = if matches!(close, Close::After { .. }) { "after" } else { "most" };
            let what = format!("`{way}` is longer than `look_back`, so what came first would be forgotten");
            ((ms + DAY_MS - 1) / DAY_MS, what, String::new())
        }
    };
    if i64::from(look_back_days) < least {
        reader.problem_with(at, what, Some(format!("`look_back` must be at least {least}d{why}")));
    }
}

/// Days from one day of the week that is named to the next, where they lie furthest apart.
fn longest_gap(on: Weekdays) -> i64 {
    let (mut longest, mut last) = (0, None::<i64>);
    for day in 0_i64..14 {
        if on.has(usize::try_from(day % 7).unwrap_or(0)) {
            longest = last.map_or(longest, |last| longest.max(day - last));
            last = Some(day);
        }
    }
    longest
}
