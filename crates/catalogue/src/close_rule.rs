//! When the windows of a plan close: a while after they opened, or by the calendar (`calendar_rule`).

use std::ops::RangeInclusive;

use model::{limits::DAY_MS, plan::CloseRule};
use source_text::{
    did_you_mean,
    yaml::{TreeNode, TreeValue},
};

use crate::{
    calendar_rule,
    format::{CLOSE, KeyCombination},
    limits::{AFTER_MS_MIN, LOOK_BACK_DAYS_MAX, SILENCE_MS_MIN},
    time_values::read_duration_within,
    tree_reader::{MapFields, TreeReader},
};

const AT_ONCE: &str = "at_once";

/// How long a window may be open at least and at most.
const LENGTHS: RangeInclusive<i64> = AFTER_MS_MIN..=LOOK_BACK_DAYS_MAX * DAY_MS;

const RULE: &str = "a window closes `at_once`, `{after: 2h}`, `{silence: 5m, most: 1h}`, `{away: 30m}`, `{before: FIELD, by: 2h}`, `{daily: \"09:00\", zone: person}`, `{weekly: \"09:00\", on: [mon, thu], zone: person}`, `{monthly: \"09:00\", on: [1, 15], zone: person}`, `{every: 2 weeks, from: 2026-01-05, at: \"09:00\", zone: person}` or `{cron: \"0 9 * * 1-5\", zone: person}`";

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
        "after" => read_duration_within(reader, node, &what, LENGTHS).map(|ms| CloseRule::After { ms }),
        "away" => read_duration_within(reader, node, &what, LENGTHS).map(|ms| CloseRule::Away { ms }),
        "before" => read_before(reader, fields, node),
        "silence" => read_silence(reader, fields, node),
        _ => calendar_rule::read_calendar(reader, fields, (way, node)),
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
