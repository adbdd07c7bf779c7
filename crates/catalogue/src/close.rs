//! When the windows of a plan close: at a time of day, on some days of the week, or a while after they opened.

use model::{
    civil::Zones,
    limits::DAY_MS,
    plan::{Close, LocalTime, Weekdays, ZoneRule},
};

use crate::{
    limits::{AFTER_MS_MIN, LOOK_BACK_DAYS_MAX, SPREAD_MS_MAX},
    problem::{did_you_mean, one_of},
    read::{Fields, Reader},
    units::{duration_ms, local_time},
    yaml::{At, Node, What},
};

const KEYS: [&str; 6] = ["daily", "weekly", "after", "on", "zone", "spread"];

const RULE: &str = "a window closes `{daily: \"09:00\", zone: person}`, `{weekly: \"09:00\", on: [mon, thu], zone: person}` or `{after: 2h}`";

/// What `close` says.
pub(crate) fn read(reader: &mut Reader<'_>, node: &Node) -> Option<Close> {
    let fields = reader.fields(node, node.at, "`close`", &KEYS)?;
    match (fields.get("daily"), fields.get("weekly"), fields.get("after")) {
        (Some(time), None, None) => {
            let alone = stray(reader, &fields, "`daily`", &["on"]);
            calendar(reader, &fields, (time, "`daily`"), Some(Weekdays::ALL)).filter(|_| alone)
        }
        (None, Some(time), None) => {
            let on = fields.need(reader, "on").and_then(|node| weekdays(reader, node));
            calendar(reader, &fields, (time, "`weekly`"), on)
        }
        (None, None, Some(length)) => {
            let alone = stray(reader, &fields, "`after`", &["on", "zone", "spread"]);
            after(reader, length).filter(|_| alone)
        }
        // What is there instead has its message.
        (None, None, None) if fields.strange => None,
        (None, None, None) => {
            reader.problem_with(node.at, "`close` does not say when", Some(RULE.to_string()));
            None
        }
        _ => {
            reader.problem_with(node.at, "one way to close at a time", Some(RULE.to_string()));
            None
        }
    }
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
    Some(Close::Calendar { at: at?, on: on?, zone: zone?, spread_ms: spread? })
}

fn after(reader: &mut Reader<'_>, node: &Node) -> Option<Close> {
    let ms = duration(reader, node, "`after`")?;
    if !(AFTER_MS_MIN..=LOOK_BACK_DAYS_MAX * DAY_MS).contains(&ms) {
        reader.problem(node.at, format!("`after` is from 1m to {LOOK_BACK_DAYS_MAX}d"));
        return None;
    }
    Some(Close::After { ms })
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

fn time_of_day(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<LocalTime> {
    let text = reader.text(node, what)?;
    let time = local_time(text);
    if time.is_none() {
        let help = "write it like \"09:00\"".to_string();
        reader.problem_with(node.at, format!("`{text}` is no time of day"), Some(help));
    }
    time
}

fn zone(reader: &mut Reader<'_>, node: &Node) -> Option<ZoneRule> {
    let text = reader.text(node, "`zone`")?;
    if text == "person" {
        return Some(ZoneRule::Person);
    }
    if Zones::bundled().get(text).is_some() {
        return Some(ZoneRule::Fixed(text.to_string()));
    }
    let names: Vec<String> =
        jiff::tz::TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect();
    let help = did_you_mean(text, names.iter().map(String::as_str).chain(["person"]))
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
        Close::After { ms } => {
            let what = "`after` is longer than `look_back`, so what came first would be forgotten";
            ((ms + DAY_MS - 1) / DAY_MS, what.to_string(), String::new())
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
