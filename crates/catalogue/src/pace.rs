//! How often a plan tells: what goes at once, how it rests afterwards, how many close a window, and what
//! becomes of too few.

use model::{
    limits::DAY_MS,
    plan::{AloneRule, CloseRule, FirstRule, PlanSection, RestRule, TooFewRule},
};
use source_text::yaml::{TreeNode, TreePlace};

use crate::{
    format::{
        ALONE, ENTRIES_MAX, REST,
        words::{BELOW, FIRST},
    },
    limits::{ALONE_MAX, FACTOR_MAX, REST_MS_MIN},
    time_values::{read_duration, read_duration_within},
    tree_reader::{MapFields, TreeReader},
    word_choice::read_word,
};

/// What they say.
pub(crate) struct PlanPace {
    pub entries: Option<u16>,
    pub first: FirstRule,
    pub alone: Option<AloneRule>,
    pub rest: Option<RestRule>,
    pub together: bool,
    pub at_least: u16,
    pub below: TooFewRule,
}

/// Reads them; nothing may take longer than what the plan looks back on.
pub(crate) fn read_pace(
    reader: &mut TreeReader<'_>,
    fields: &MapFields<'_>,
    look_back_ms: i64,
) -> Option<PlanPace> {
    let entries = match fields.get("entries") {
        Some(node) => Some(reader.whole_number(node, "`entries`", 2, ENTRIES_MAX)?),
        None => None,
    };
    let first = fields
        .get("first")
        .map_or(Some(FirstRule::Gathered), |node| read_word(reader, node, "`first`", &FIRST))?;
    let alone = match fields.get("alone") {
        Some(node) => Some(read_alone(reader, node, look_back_ms)?),
        None => None,
    };
    let rest = match fields.get("rest") {
        Some(node) => Some(read_rest(reader, node, look_back_ms)?),
        None => None,
    };
    let together = match fields.get("together") {
        Some(node) => reader.flag(node, "`together`")?,
        None => false,
    };
    let at_least = match fields.get("at_least") {
        Some(node) => reader.whole_number(node, "`at_least`", 1, ENTRIES_MAX)?,
        None => 1,
    };
    let below = fields
        .get("below")
        .map_or(Some(TooFewRule::Carried), |node| read_word(reader, node, "`below`", &BELOW))?;
    Some(PlanPace { entries, first, alone, rest, together, at_least, below })
}

/// Refuses knobs that have no effect beside the others.
pub(crate) fn check_pace(
    reader: &mut TreeReader<'_>,
    fields: &MapFields<'_>,
    close: &CloseRule,
    pace: &PlanPace,
) {
    let mut idle = |key: &str, what: &str| {
        if let Some(node) = fields.get(key) {
            reader.problem(node.at, format!("`{key}` has no effect {what}"));
        }
    };
    if fields.get("follows").is_some() {
        for key in ["entries", "first", "alone", "rest"] {
            idle(key, "beside `follows`: the plan closes when its `wait` is over");
        }
    } else if *close == (CloseRule::After { ms: 0 }) {
        // What rests gathers, though it would not otherwise; but nothing ends a rest before its time.
        ["first", "alone"].iter().for_each(|key| idle(key, "with `at_once`: each entry goes at once"));
        if pace.rest.is_none() {
            ["entries", "at_least"]
                .iter()
                .for_each(|key| idle(key, "with `at_once`: each entry goes at once"));
        } else {
            idle("entries", "with `at_once` and `rest`: the window closes when the rest is over");
        }
    }
    if pace.at_least == 1 {
        idle("below", "without `at_least`");
    }
    if pace.together && pace.first != FirstRule::Gathered {
        idle("together", "beside `first`");
    }
    if pace.together && fields.get("key").is_none() {
        idle("together", "without a `key`: there is one window only");
    }
    if pace.alone.is_some() && pace.first != FirstRule::Gathered {
        idle("alone", "beside `first`");
    }
}

/// Refuses an `at_least` for which a message has no room: such a window would never be told.
pub(crate) fn check_room(
    reader: &mut TreeReader<'_>,
    fields: &MapFields<'_>,
    at_least: u16,
    sections: &[PlanSection],
) {
    let room: u32 = sections.iter().map(|section| u32::from(section.most)).sum();
    if let Some(node) = fields.get("at_least").filter(|_| u32::from(at_least) > room) {
        let help = "make room for that many with `most` of the sections".to_owned();
        let what = format!(
            "`at_least` is {at_least}, but a message has room for {room}: nothing would ever be told"
        );
        reader.problem_with(node.at, what, Some(help));
    }
}

fn read_alone(reader: &mut TreeReader<'_>, node: &TreeNode, look_back_ms: i64) -> Option<AloneRule> {
    let fields = reader.fields(node, node.at, &ALONE)?;
    let most = match fields.get("most") {
        Some(node) => reader.whole_number(node, "`most`", 1, ALONE_MAX)?,
        None => 1,
    };
    let node = fields.need(reader, "within")?;
    let within_ms = read_duration_within(reader, node, "`within`", REST_MS_MIN..=look_back_ms)?;
    Some(AloneRule { most: u8::try_from(most).ok()?, within_ms })
}

fn read_rest(reader: &mut TreeReader<'_>, node: &TreeNode, look_back_ms: i64) -> Option<RestRule> {
    let fields = reader.fields(node, node.at, &REST)?;
    let mut length = |key: &str, unless: Option<i64>| match (fields.get(key), unless) {
        (Some(node), _) => {
            let what = format!("`{key}`");
            read_duration_within(reader, node, &what, REST_MS_MIN..=look_back_ms)
        }
        (None, Some(ms)) => Some(ms),
        (None, None) => fields.need(reader, key).and(None),
    };
    let start_ms = length("start", None)?;
    let most_ms = length("most", Some(start_ms))?;
    let reset_ms = length("reset", Some(most_ms))?;
    let each_ms = match fields.get("each") {
        Some(node) => read_duration(reader, node, "`each`")?,
        None => 0,
    };
    let factor = match fields.get("factor") {
        Some(node) => reader.whole_number(node, "`factor`", 1, FACTOR_MAX)?,
        None => 1,
    };
    check_growth(reader, node.at, RestRule { start_ms, factor, most_ms, each_ms, reset_ms })
}

/// A growing rest needs a maximum above its start, and a maximum needs a way to grow.
fn check_growth(reader: &mut TreeReader<'_>, at: TreePlace, rest: RestRule) -> Option<RestRule> {
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
