//! How often a plan tells: what goes at once, how it rests afterwards, how many close a window, and what
//! becomes of too few.

use model::{
    limits::{DAY_MS, READY_ENTRIES_MAX},
    plan::{Alone, Below, Close, First, Rest, Section},
};

use crate::{
    close::{duration, duration_within},
    holds::word,
    limits::{ALONE_MAX, FACTOR_MAX, REST_MS_MIN},
    read::{Fields, Reader},
    yaml::{At, Node},
};

/// The keys of a plan that are read here.
pub(crate) const KEYS: [&str; 7] = ["entries", "first", "alone", "rest", "together", "at_least", "below"];

/// What they say.
pub(crate) struct Pace {
    pub entries: Option<u16>,
    pub first: First,
    pub alone: Option<Alone>,
    pub rest: Option<Rest>,
    pub together: bool,
    pub at_least: u16,
    pub below: Below,
}

/// Reads them; nothing may take longer than what the plan looks back on.
pub(crate) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>, look_back_ms: i64) -> Option<Pace> {
    let most = u16::try_from(READY_ENTRIES_MAX).unwrap_or(u16::MAX);
    let entries = match fields.get("entries") {
        Some(node) => Some(reader.whole(node, "`entries`", 2, most)?),
        None => None,
    };
    let words = [("gathered", First::Gathered), ("alone", First::Alone), ("both", First::Both)];
    let first =
        fields.get("first").map_or(Some(First::Gathered), |node| word(reader, node, "`first`", &words))?;
    let alone = match fields.get("alone") {
        Some(node) => Some(alone(reader, node, look_back_ms)?),
        None => None,
    };
    let rest = match fields.get("rest") {
        Some(node) => Some(rest(reader, node, look_back_ms)?),
        None => None,
    };
    let together = match fields.get("together") {
        Some(node) => reader.flag(node, "`together`")?,
        None => false,
    };
    let at_least = match fields.get("at_least") {
        Some(node) => reader.whole(node, "`at_least`", 1, most)?,
        None => 1,
    };
    let words = [("carried", Below::Carried), ("ended", Below::Ended)];
    let below =
        fields.get("below").map_or(Some(Below::Carried), |node| word(reader, node, "`below`", &words))?;
    Some(Pace { entries, first, alone, rest, together, at_least, below })
}

/// What has no meaning with what is there, and would look as if it did something.
pub(crate) fn fits(reader: &mut Reader<'_>, fields: &Fields<'_>, close: &Close, pace: &Pace) {
    let mut idle = |key: &str, what: &str| {
        if let Some(node) = fields.get(key) {
            reader.problem(node.at, format!("`{key}` has no meaning {what}"));
        }
    };
    if fields.get("follows").is_some() {
        for key in ["entries", "first", "alone", "rest"] {
            idle(key, "beside `follows`: it closes so long after the other plan has told");
        }
    } else if *close == (Close::After { ms: 0 }) {
        // What rests gathers, though it would not otherwise; but nothing ends a rest before its time.
        ["first", "alone"].iter().for_each(|key| idle(key, "where each goes at once"));
        if pace.rest.is_none() {
            ["entries", "at_least"].iter().for_each(|key| idle(key, "where each goes at once"));
        } else {
            idle("entries", "where each goes at once: a rest is over when it is over");
        }
    }
    if pace.at_least == 1 {
        idle("below", "without `at_least`");
    }
    if pace.together && pace.first != First::Gathered {
        idle("together", "beside `first`");
    }
    if pace.together && fields.get("key").is_none() {
        idle("together", "without a `key`: there is one window");
    }
    if pace.alone.is_some() && pace.first != First::Gathered {
        idle("alone", "beside `first`");
    }
}

/// What wants more than there is room for would wait for ever.
pub(crate) fn has_room(reader: &mut Reader<'_>, fields: &Fields<'_>, at_least: u16, sections: &[Section]) {
    let room: u32 = sections.iter().map(|section| u32::from(section.most)).sum();
    if let Some(node) = fields.get("at_least").filter(|_| u32::from(at_least) > room) {
        let help = "make room for as many, by `most` of the sections".to_owned();
        let what =
            format!("`at_least` is {at_least}, and a message has room for {room}: nothing is ever told");
        reader.problem_with(node.at, what, Some(help));
    }
}

fn alone(reader: &mut Reader<'_>, node: &Node, look_back_ms: i64) -> Option<Alone> {
    let fields = reader.fields(node, node.at, "`alone`", &["most", "within"])?;
    let most = match fields.get("most") {
        Some(node) => reader.whole(node, "`most`", 1, ALONE_MAX)?,
        None => 1,
    };
    let node = fields.need(reader, "within")?;
    let within_ms = duration_within(reader, node, "`within`", REST_MS_MIN..=look_back_ms)?;
    Some(Alone { most: u8::try_from(most).ok()?, within_ms })
}

fn rest(reader: &mut Reader<'_>, node: &Node, look_back_ms: i64) -> Option<Rest> {
    let fields = reader.fields(node, node.at, "`rest`", &["start", "factor", "most", "each", "reset"])?;
    let mut length = |key: &str, unless: Option<i64>| match (fields.get(key), unless) {
        (Some(node), _) => {
            let what = format!("`{key}`");
            duration_within(reader, node, &what, REST_MS_MIN..=look_back_ms)
        }
        (None, Some(ms)) => Some(ms),
        (None, None) => fields.need(reader, key).and(None),
    };
    let start_ms = length("start", None)?;
    let most_ms = length("most", Some(start_ms))?;
    let reset_ms = length("reset", Some(most_ms))?;
    let each_ms = match fields.get("each") {
        Some(node) => duration(reader, node, "`each`")?,
        None => 0,
    };
    let factor = match fields.get("factor") {
        Some(node) => reader.whole(node, "`factor`", 1, FACTOR_MAX)?,
        None => 1,
    };
    grows(reader, node.at, Rest { start_ms, factor, most_ms, each_ms, reset_ms })
}

/// A rest that grows needs somewhere to grow to, and one that cannot has nothing to grow by.
fn grows(reader: &mut Reader<'_>, at: At, rest: Rest) -> Option<Rest> {
    let can = rest.most_ms > rest.start_ms;
    let wants = rest.factor > 1 || rest.each_ms > 0;
    if rest.most_ms < rest.start_ms {
        reader.problem(at, "`most` is shorter than `start`");
    } else if wants && !can {
        reader.problem(
            at,
            "a rest that grows by `factor` or `each` needs a `most` that is longer than `start`",
        );
    } else if can && !wants {
        reader.problem(at, "a rest with `most` grows by `factor` or by `each`");
    } else {
        return Some(rest);
    }
    None
}

/// All the time that a look-back leaves.
pub(crate) fn look_back_ms(days: u16) -> i64 {
    i64::from(days) * DAY_MS
}
