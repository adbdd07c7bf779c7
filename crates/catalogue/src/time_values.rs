//! Values of the clock: times of day, zones, lengths of time.

use std::ops::RangeInclusive;

use model::{
    civil_time::ZoneRules,
    plan::{LocalTime, ZoneRule},
};
use source_text::{
    did_you_mean,
    units::{format_length, parse_duration_ms},
    yaml::TreeNode,
};

use crate::tree_reader::TreeReader;

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
