//! What holds a plan that is due and what follows it, with the surfaces and caps of the whole catalogue.

use model::limits::{COUNTED_MAX, DAY_MS};

use crate::limits::{AFTER_MS_MIN, LOOK_BACK_DAYS_MAX, REST_MS_MIN};
use crate::{
    FormatKey, FormatValue, KeyCombination, KeyGroup, MapFormat, OptionalKeys,
    forms::{A_NAME, A_TIME, A_ZONE, TEXT},
    words::{ASK_WORDS, CHANNELS, THEN_WORDS},
};

/// How long a person counts as online after being seen.
const SEEN: FormatValue = FormatValue::Length { least_ms: REST_MS_MIN, most_ms: DAY_MS };

/// A length alone, or with a question.
pub const SURFACE: FormatValue = FormatValue::Either(&[SEEN, FormatValue::Map(&SURFACE_MAP)]);

pub static SURFACE_MAP: MapFormat = MapFormat {
    title: "a surface",
    id: "surface",
    doc: "Where people may be seen: `site: 15m`, or a map.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new(
                "online",
                SEEN,
                "How long a person counts as online after having been seen there.",
            ),
            FormatKey::new(
                "ask",
                FormatValue::Words(&ASK_WORDS),
                "Whether the house asks the product's own service (`presence.url`) if the app is connected, when a window that would be held is due.",
            ),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["online"], OptionalKeys::Any)],
};

/// The time in which messages are counted.
const A_PERIOD: FormatValue =
    FormatValue::Length { least_ms: AFTER_MS_MIN, most_ms: LOOK_BACK_DAYS_MAX * DAY_MS };

pub static CAP: MapFormat = MapFormat {
    title: "a cap",
    id: "cap",
    doc: "How many messages a person gets at most; what is over it comes later.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new("most", FormatValue::Number { least: 1, most: CAPPED_MAX }, "How many messages."),
            FormatKey::new(
                "per",
                FormatValue::Either(&[FormatValue::Words(&["day"]), A_PERIOD]),
                "The time in which they are counted: `day` is a date of `zone`, a length is any stretch of that length.",
            ),
            FormatKey::new("zone", A_ZONE, "By which clock a day begins."),
            FormatKey::new(
                "channel",
                FormatValue::Words(&CHANNELS),
                "The channel whose messages count; all unless set.",
            ),
            FormatKey::new(
                "kinds",
                FormatValue::Some(&A_NAME),
                "The kinds whose messages count; all unless set.",
            ),
            FormatKey::new(
                "tenants",
                FormatValue::Some(&TEXT),
                "The tenants whose persons it holds for; all unless set.",
            ),
        ],
    }],
    names: None,
    combinations: &[
        KeyCombination::chosen_by(
            "per",
            FormatValue::Words(&["day"]),
            &["most", "per", "zone"],
            OptionalKeys::Any,
        ),
        KeyCombination::chosen_by("per", A_PERIOD, &["most", "per"], OptionalKeys::AllBut(&["zone"], &[])),
    ],
};

/// Each message is remembered.
#[allow(clippy::cast_possible_truncation, reason = "a handful")]
pub const CAPPED_MAX: u16 = COUNTED_MAX as u16;

pub static ONLINE: MapFormat = MapFormat {
    title: "`online`",
    id: "online",
    doc: "What becomes of a window that is due while the person is online.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[FormatKey::new(
            "postpone",
            FormatValue::Length { least_ms: AFTER_MS_MIN, most_ms: DAY_MS },
            "It looks again after this time.",
        )],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["postpone"], OptionalKeys::Any)],
};

pub static QUIET: MapFormat = MapFormat {
    title: "`quiet`",
    id: "quiet",
    doc: "Hours in which nothing is told, or nothing aloud. A person's own hours (`quiet` in the profile) replace these.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new("from", A_TIME, "When they begin."),
            FormatKey::new("to", A_TIME, "When they end; before `from` it is the next day."),
            FormatKey::new("zone", A_ZONE, "By which clock."),
            FormatKey::unless_set(
                "then",
                FormatValue::Words(&THEN_WORDS),
                "hold",
                "What becomes of what is due in them: `hold` waits for their end, `silent` tells it without a sound, `ended` not at all.",
            ),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["from", "to", "zone"], OptionalKeys::Any)],
};

pub static FOLLOWS: MapFormat = MapFormat {
    title: "`follows`",
    id: "follows",
    doc: "The plan as the next step of others (escalation): it tells what the person has not come for since.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new("plan", FormatValue::Some(&A_NAME), "The plans that it follows."),
            FormatKey::new(
                "wait",
                FormatValue::Length { least_ms: AFTER_MS_MIN, most_ms: 7 * DAY_MS },
                "How long after their message was delivered its window closes.",
            ),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["plan", "wait"], OptionalKeys::Any)],
};
