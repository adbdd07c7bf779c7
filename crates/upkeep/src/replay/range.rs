//! Which records: from where to where, in each partition. As Kafka's own tool for groups has it: by time, by how
//! long ago, by offset, and what lies outside of a partition is its nearest end.

use std::{collections::BTreeMap, fmt};

use model::{
    Day, UtcMillis,
    civil_time::{self, Zone, ZoneRules},
    plan::LocalTime,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topic::Topics;
use wire::replay::ReplayPart;

use super::{ReplayError, refuse_order};

/// From one place to another.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct ReplayRange {
    pub from: ReplayPlace,
    /// Up to here, and not any more.
    pub to: ReplayPlace,
}

/// A place in a topic.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayPlace {
    Start,
    /// Where the topic ends at this moment.
    End,
    /// The first record appended at this instant or later, in UTC milliseconds.
    At(i64),
    /// The same, so many milliseconds ago.
    Ago(i64),
    /// This offset in every partition.
    Offset(u64),
    /// These offsets in these partitions, and nothing of the others.
    Offsets(BTreeMap<u32, u64>),
}

impl ReplayRange {
    /// What that is in each partition.
    pub async fn parts(
        &self,
        log: &dyn Topics,
        topic: &str,
        now: UtcMillis,
    ) -> Result<Vec<ReplayPart>, ReplayError> {
        let bounds = log.bounds(topic).await?;
        let from = self.from.offsets(log, topic, &bounds, now).await?;
        let to = self.to.offsets(log, topic, &bounds, now).await?;
        let mut parts = Vec::with_capacity(bounds.len());
        for (number, ((first, end), (from, to))) in
            (0..).zip(bounds.into_iter().zip(from.into_iter().zip(to)))
        {
            let end = end.max(first);
            parts.push(ReplayPart::new(number, from.clamp(first, end), to.clamp(first, end)));
        }
        Ok(parts)
    }
}

impl ReplayPlace {
    async fn offsets(
        &self,
        log: &dyn Topics,
        topic: &str,
        bounds: &[(u64, u64)],
        now: UtcMillis,
    ) -> Result<Vec<u64>, ReplayError> {
        let ends = || bounds.iter().map(|(_, end)| *end);
        Ok(match self {
            Self::Start => bounds.iter().map(|(first, _)| *first).collect(),
            Self::End => ends().collect(),
            Self::At(at) => log.since(topic, *at).await?,
            Self::Ago(ms) => log.since(topic, now.plus(-ms).0).await?,
            Self::Offset(offset) => vec![*offset; bounds.len()],
            Self::Offsets(named) => {
                let count = bounds.len();
                let unknown =
                    named.keys().find(|number| usize::try_from(**number).is_ok_and(|at| at >= count));
                if let Some(number) = unknown {
                    return refuse_order(format!(
                        "`{topic}` has {count} partitions, counted from 0; there is no partition {number}"
                    ));
                }
                (0..).zip(ends()).map(|(number, end)| named.get(&number).copied().unwrap_or(end)).collect()
            }
        })
    }
}

impl fmt::Display for ReplayRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {} to {}", self.from, self.to)
    }
}

impl fmt::Display for ReplayPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("the start"),
            Self::End => f.write_str("the end"),
            Self::At(at) => write!(f, "{}", UtcMillis(*at)),
            Self::Ago(ms) => write!(f, "{} s ago", ms / SECOND_MS),
            Self::Offset(offset) => write!(f, "offset {offset}"),
            Self::Offsets(named) => {
                let named: Vec<String> =
                    named.iter().map(|(number, offset)| format!("{number}:{offset}")).collect();
                write!(f, "offsets {}", named.join(","))
            }
        }
    }
}

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// An instant: `2026-11-21T09:00:00Z`, `2026-11-21`, `2026-11-21 09:00`, `2026-11-21 09:00 Europe/Berlin`; or how
/// long ago: `3h`.
pub fn parse_time(text: &str) -> Result<ReplayPlace, String> {
    if let Ok(ago) = parse_ago(text) {
        return Ok(ago);
    }
    if let Some(at) = UtcMillis::parse(text) {
        return Ok(ReplayPlace::At(at.0));
    }
    let mut words = text.split_whitespace();
    let (day, time, zone) = (words.next().and_then(Day::parse), words.next(), words.next());
    let Some(day) = day.filter(|_| words.next().is_none()) else { return Err(NO_TIME.to_owned()) };
    let zone = match zone {
        None => Zone::UTC,
        Some(name) => {
            ZoneRules::load_newest().get(name).ok_or_else(|| format!("there is no time zone `{name}`"))?
        }
    };
    let time = time.map_or(Some(LocalTime { hour: 0, minute: 0 }), parse_local_time);
    let at = time.and_then(|time| civil_time::local_instant(day.0, time, &zone));
    at.map(|at| ReplayPlace::At(at.0)).ok_or_else(|| NO_TIME.to_owned())
}

const NO_TIME: &str = "write a time as 2026-11-21T09:00:00Z, 2026-11-21 09:00 (UTC), \
     \"2026-11-21 09:00 Europe/Berlin\", or an age, such as 3h";

fn parse_local_time(text: &str) -> Option<LocalTime> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, end: u8| text.parse().ok().filter(|number| *number < end && text.len() == 2);
    Some(LocalTime { hour: number(hour, 24)?, minute: number(minute, 60)? })
}

/// How long ago: `90s`, `30m`, `3h`, `2d`.
pub fn parse_ago(text: &str) -> Result<ReplayPlace, String> {
    let wrong = || "write an age as 90s, 30m, 3h or 2d".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let ms = match unit {
        's' => SECOND_MS,
        'm' => MINUTE_MS,
        'h' => HOUR_MS,
        'd' => DAY_MS,
        _ => return Err(wrong()),
    };
    let number: Option<u32> = text[..text.len() - 1].parse().ok();
    number.and_then(|number| i64::from(number).checked_mul(ms)).map(ReplayPlace::Ago).ok_or_else(wrong)
}

/// `42`, or `0:42,3:7` for these partitions alone.
pub fn parse_offsets(text: &str) -> Result<ReplayPlace, String> {
    let wrong = || "write an offset as 42, or as 0:42,3:7 for these partitions alone".to_owned();
    if let Ok(offset) = text.parse() {
        return Ok(ReplayPlace::Offset(offset));
    }
    let mut named = BTreeMap::new();
    for one in text.split(',') {
        let (number, offset) = one.split_once(':').ok_or_else(wrong)?;
        let number: u32 = number.trim().parse().map_err(|_| wrong())?;
        if named.insert(number, offset.trim().parse().map_err(|_| wrong())?).is_some() {
            return Err(format!("partition {number} is given twice"));
        }
    }
    Ok(ReplayPlace::Offsets(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let check = |text: &str, at: &str| {
            assert_eq!(parse_time(text), Ok(ReplayPlace::At(UtcMillis::parse(at).unwrap().0)), "{text}");
        };
        check("2026-11-21T09:00:00Z", "2026-11-21T09:00:00Z");
        check("2026-11-21T09:00:00.5+01:00", "2026-11-21T08:00:00.5Z");
        check("2026-11-21", "2026-11-21T00:00:00Z");
        check("2026-11-21 09:00", "2026-11-21T09:00:00Z");
        check("2026-11-21  09:00  Europe/Berlin", "2026-11-21T08:00:00Z");
        // Clocks go forward: the next instant that there is.
        check("2026-03-29 02:30 Europe/Berlin", "2026-03-29T01:00:00Z");
        for (text, ms) in [("90s", 90_000), ("30m", 1_800_000), ("3h", 10_800_000), ("2d", 172_800_000)] {
            assert_eq!(parse_time(text), Ok(ReplayPlace::Ago(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_what_one_is() {
        for text in [
            "",
            "yesterday",
            "09:00",
            "2026-11-31",
            "2026-11-21 9:00",
            "2026-11-21 24:00",
            "2026-11-21 09:60",
            "2026-11-21 09:00 UTC extra",
            "3",
            "h",
            "-3h",
            "3.5h",
            "3 h",
            "99999999999h",
            "3ü",
        ] {
            let why = parse_time(text).unwrap_err();
            assert!(why.contains("or an age"), "{text}: {why}");
            assert!(parse_ago(text).is_err(), "{text}");
        }
        assert_eq!(parse_time("2026-11-21 09:00 Mars/Sea").unwrap_err(), "there is no time zone `Mars/Sea`");
    }

    #[test]
    fn offsets_are_of_all_partitions_or_of_named_ones() {
        let named = |pairs: &[(u32, u64)]| Ok(ReplayPlace::Offsets(pairs.iter().copied().collect()));
        assert_eq!(parse_offsets("42"), Ok(ReplayPlace::Offset(42)));
        assert_eq!(parse_offsets("0:42"), named(&[(0, 42)]));
        assert_eq!(parse_offsets("3:7, 0:42"), named(&[(0, 42), (3, 7)]));
        for text in ["", "-1", "a", "0:", ":1", "0:1,", "0:1,2", "0:1:2"] {
            assert!(parse_offsets(text).unwrap_err().contains("0:42,3:7"), "{text}");
        }
        assert_eq!(parse_offsets("0:1,0:2").unwrap_err(), "partition 0 is given twice");
    }
}
