//! Plans: when windows close and what they tell, how often, and what a message looks like.

use model::{
    limits::{DAY_MS, READY_ENTRIES_MAX},
    local_time::WeekdaySet,
};

use crate::limits::{
    AFTER_MS_MIN, ALONE_MAX, FACTOR_MAX, LOOK_BACK_DAYS_MAX, REST_MS_MIN, SECTIONS_MAX, SILENCE_MS_MIN,
    SPREAD_MS_MAX,
};
use crate::{
    FormatKey, FormatValue, KeyCombination, KeyGroup, MapFormat, OptionalKeys,
    forms::{
        A_FIELD, A_NAME, A_TIME, A_ZONE, CRON, DATE, FILE, HOURS, KEY_PART, LINE, MAILBOX, MONTH_DAY, PERIOD,
        TEXT, TEXT_WITH_TAGS,
    },
    holds::{FOLLOWS, ONLINE, QUIET},
    words::{BELOW_WORDS, CHANNELS, COUNTS, FIRST_WORDS, HOOKS, ONCE_PER_WORDS, ONLINE_WORDS},
};

/// What one message has room for.
#[allow(clippy::cast_possible_truncation, reason = "one message is far from 65,535 entries")]
pub const ENTRIES_MAX: u16 = READY_ENTRIES_MAX as u16;

const LOOK_BACK_MS_MAX: i64 = LOOK_BACK_DAYS_MAX * DAY_MS;
/// How long a window may be open.
const OPEN: FormatValue = FormatValue::Length { least_ms: AFTER_MS_MIN, most_ms: LOOK_BACK_MS_MAX };
/// How long a rest may be.
const RESTED: FormatValue = FormatValue::Length { least_ms: REST_MS_MIN, most_ms: LOOK_BACK_MS_MAX };
/// One time of day, or several.
const TIMES: FormatValue = FormatValue::Some(&A_TIME);
const ENTRIES: FormatValue = FormatValue::Number { least: 1, most: ENTRIES_MAX };

pub static PLAN: MapFormat = MapFormat {
    title: "a plan",
    id: "plan",
    doc: "The rules by which a channel holds and releases entries, and the words of its messages. [Windows](../windows.md) says what each rule means beside another.",
    groups: &[&SHARED[0], &SHARED[1], &SHARED[2], &MAIL, &PUSH],
    names: None,
    combinations: &[
        KeyCombination::chosen_by(
            "channel",
            FormatValue::Words(&["email"]),
            &["channel", "close", "look_back", "headline", "sections", "from", "template", "text"],
            OptionalKeys::AllBut(&["badge"], &[&PUSH]),
        ),
        KeyCombination::chosen_by(
            "channel",
            FormatValue::Words(&["push"]),
            &["channel", "close", "look_back", "headline", "sections", "body"],
            OptionalKeys::AllBut(&[], &[&MAIL]),
        ),
        KeyCombination::chosen_by(
            "channel",
            FormatValue::Words(&HOOKS),
            &["channel", "close", "look_back", "headline", "sections", "body"],
            OptionalKeys::AllBut(&["badge"], &[&MAIL]),
        ),
    ],
};

/// The keys of plans of all channels.
pub static SHARED: [KeyGroup; 3] = [
    KeyGroup {
        title: "What it is",
        keys: &[
            FormatKey::new("channel", FormatValue::Words(&CHANNELS), "By which channel it tells."),
            FormatKey::new(
                "key",
                FormatValue::Some(&FormatValue::Text(&KEY_PART)),
                "What its windows are told apart by, at most four parts; one window for each person unless set.",
            ),
            FormatKey::new(
                "close",
                FormatValue::Either(&[FormatValue::Words(&["at_once"]), FormatValue::Map(&CLOSE)]),
                "When its windows close. `at_once`: as they open.",
            ),
            FormatKey::new(
                "look_back",
                FormatValue::Length { least_ms: DAY_MS, most_ms: LOOK_BACK_MS_MAX },
                "The whole days that a digest reads; older entries expire. At least as long as `close` needs.",
            ),
            FormatKey::unless_set(
                "once_per",
                FormatValue::Words(&ONCE_PER_WORDS),
                "event",
                "What is told only once: an `event`, a subject in each `mail`, or a `subject` within the whole look-back, whatever kinds and mails told it.",
            ),
            FormatKey::new(
                "headline",
                TEXT_WITH_TAGS,
                "The subject line of its mails, or the title of its pushes and calls.",
            ),
            FormatKey::new(
                "sections",
                FormatValue::List { of: &FormatValue::Map(&SECTION), least: 1, most: SECTIONS_MAX },
                "The parts of a message, in order. All together have room for at most 60 entries.",
            ),
        ],
    },
    KeyGroup {
        title: "How often it tells",
        keys: &[
            FormatKey::new(
                "entries",
                FormatValue::Number { least: 2, most: ENTRIES_MAX },
                "Closes a window early, with so many entries that still hold, and with no fewer than `at_least`.",
            ),
            FormatKey::unless_set(
                "first",
                FormatValue::Words(&FIRST_WORDS),
                "gathered",
                "`alone`: the first entry is told at once, the others when the window closes. `both`: the first is repeated beside them.",
            ),
            FormatKey::new(
                "alone",
                FormatValue::Map(&ALONE),
                "A window closes as it opens if few messages were told just before.",
            ),
            FormatKey::new("rest", FormatValue::Map(&REST), "After a message the plan is quiet for a while."),
            FormatKey::unless_set(
                "together",
                FormatValue::Flag,
                "false",
                "Where a person has several windows, the first that is due tells what waits in all.",
            ),
            FormatKey::unless_set(
                "at_least",
                ENTRIES,
                "1",
                "With fewer entries there is no message: they wait for more, or see `below`.",
            ),
            FormatKey::unless_set(
                "below",
                FormatValue::Words(&BELOW_WORDS),
                "carried",
                "What becomes of fewer than `at_least`: `carried` lets them wait for more, `ended` tells them never.",
            ),
        ],
    },
    KeyGroup {
        title: "What holds it, and what it follows",
        keys: &[
            FormatKey::unless_set(
                "urgent",
                FormatValue::Flag,
                "false",
                "Nothing holds its messages: no quiet hours, no presence, no cap.",
            ),
            FormatKey::new(
                "online",
                FormatValue::Either(&[FormatValue::Words(&ONLINE_WORDS), FormatValue::Map(&ONLINE)]),
                "What becomes of a window that is due while the person is online: `hold` waits until they have left, `ended` tells nothing.",
            ),
            FormatKey::unless_set(
                "badge",
                FormatValue::Flag,
                "false",
                "Of pushes: whether they carry the number for the app's icon.",
            ),
            FormatKey::new("quiet", FormatValue::Map(&QUIET), "Hours in which it is quiet."),
            FormatKey::new("follows", FormatValue::Map(&FOLLOWS), "The plans of which it is the next step."),
            FormatKey::new(
                "counts_on",
                FormatValue::Some(&FormatValue::Words(&CHANNELS)),
                "The other channels on which what it tells counts as told.",
            ),
        ],
    },
];

/// The keys of mails.
pub static MAIL: KeyGroup = KeyGroup {
    title: "Of a mail",
    keys: &[
        FormatKey::new(
            "count",
            FormatValue::Some(&FormatValue::Words(&COUNTS)),
            "Counts how often links are followed and mails opened, by plan and never by person; nothing unless set.",
        ),
        FormatKey::new("from", FormatValue::Text(&MAILBOX), "The sender."),
        FormatKey::new(
            "lead",
            A_FIELD,
            "The field, a `url`, with the picture for which the first item of the first section is shown large.",
        ),
        FormatKey::new(
            "slots",
            A_NAME,
            "The list that stands at the slots of its mails; texts read them as `slot(1)` and `slots`.",
        ),
        FormatKey::unless_set(
            "stream",
            A_NAME,
            "general",
            "The stream of mails that it belongs to: a complaint about one mail ends the others of its stream alone.",
        ),
        FormatKey::new(
            "preheader",
            TEXT_WITH_TAGS,
            "The line that a mailbox shows beside the subject line; the sentence of the first item unless set.",
        ),
        FormatKey::new("template", FormatValue::Text(&FILE), "The file of the HTML part, MJML with tags."),
        FormatKey::new("text", FormatValue::Text(&FILE), "The file of the text part."),
        FormatKey::new(
            "title",
            FormatValue::Text(&LINE),
            "The name of these mails for readers, on links and buttons, at most 64 bytes; the plan's name unless set.",
        ),
    ],
};

/// The keys of pushes and of hooks.
pub static PUSH: KeyGroup = KeyGroup {
    title: "Of a push or a hook",
    keys: &[
        FormatKey::new("body", TEXT_WITH_TAGS, "What it says."),
        FormatKey::new(
            "longer",
            TEXT_WITH_TAGS,
            "More words, shown on iOS and on the web; `body` unless set.",
        ),
        FormatKey::new("image", TEXT_WITH_TAGS, "The address of a picture, shown on Android and on the web."),
        FormatKey::new("opens", TEXT_WITH_TAGS, "The address that it opens; the app unless set."),
    ],
};

pub static CLOSE: MapFormat = MapFormat {
    title: "`close`",
    id: "close",
    doc: "When a window closes.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new("daily", TIMES, "Each day at this local time, or at these."),
            FormatKey::new("weekly", TIMES, "On some days of the week at this local time, or at these."),
            FormatKey::new("monthly", TIMES, "On some days of the month at this local time, or at these."),
            FormatKey::new(
                "every",
                FormatValue::Text(&PERIOD),
                "Every so many days, weeks or months, counted from `from` in both directions.",
            ),
            FormatKey::new(
                "cron",
                FormatValue::Text(&CRON),
                "By a line of Vixie cron: minute, hour, day of the month, month, day of the week.",
            ),
            FormatKey::new("after", OPEN, "This long after it opened."),
            FormatKey::new(
                "silence",
                FormatValue::Length { least_ms: SILENCE_MS_MIN, most_ms: LOOK_BACK_MS_MAX },
                "When nothing came for so long.",
            ),
            FormatKey::new("away", OPEN, "When the person was not seen on any surface for so long."),
            FormatKey::new(
                "before",
                A_FIELD,
                "Before the earliest instant in this field, a `time`, of what the window holds.",
            ),
            FormatKey::unless_set(
                "by",
                FormatValue::Length { least_ms: 0, most_ms: LOOK_BACK_MS_MAX },
                "0s",
                "How long before that instant.",
            ),
            FormatKey::new("most", OPEN, "How long after it opened it closes at the latest."),
            FormatKey::new(
                "on",
                FormatValue::Some(&FormatValue::Either(&[
                    FormatValue::Words(&WeekdaySet::NAMES),
                    FormatValue::Number { least: 1, most: 28 },
                    FormatValue::Text(&MONTH_DAY),
                ])),
                "On which days: of the week under `weekly`, of the month under `monthly`.",
            ),
            FormatKey::new("from", FormatValue::Text(&DATE), "One of the dates of `every`."),
            FormatKey::new("at", TIMES, "The local time of `every`, or its times."),
            FormatKey::new(
                "zone",
                A_ZONE,
                "By which clock; `person` is the person's own, or UTC if they have none.",
            ),
            FormatKey::unless_set(
                "spread",
                FormatValue::Length { least_ms: 0, most_ms: SPREAD_MS_MAX },
                "0s",
                "The time after that instant over which the closings of all persons are spread.",
            ),
            FormatKey::new(
                "best",
                FormatValue::Text(&HOURS),
                "Hours out of which the one is taken in which the person comes most; needs `zone: person`.",
            ),
        ],
    }],
    names: None,
    combinations: &[
        KeyCombination::new(&["daily", "zone"], OptionalKeys::Only(&["spread", "best"])),
        KeyCombination::new(&["weekly", "on", "zone"], OptionalKeys::Only(&["spread", "best"])),
        KeyCombination::new(&["monthly", "on", "zone"], OptionalKeys::Only(&["spread", "best"])),
        KeyCombination::new(&["every", "from", "at", "zone"], OptionalKeys::Only(&["spread", "best"])),
        KeyCombination::new(&["cron", "zone"], OptionalKeys::Only(&["spread", "best"])),
        KeyCombination::new(&["after"], OptionalKeys::Only(&[])),
        KeyCombination::new(&["silence", "most"], OptionalKeys::Only(&[])),
        KeyCombination::new(&["away"], OptionalKeys::Only(&[])),
        KeyCombination::new(&["before"], OptionalKeys::Only(&["by"])),
    ],
};

pub static SECTION: MapFormat = MapFormat {
    title: "a section",
    id: "section",
    doc: "A part of a message.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new("title", TEXT, "Its heading."),
            FormatKey::new(
                "kinds",
                FormatValue::Some(&A_NAME),
                "The kinds that it tells. Each kind of a plan stands in exactly one of its sections.",
            ),
            FormatKey::new(
                "most",
                ENTRIES,
                "How many entries it has room for; the others wait for the next message.",
            ),
            FormatKey::unless_set(
                "order",
                FormatValue::Either(&[
                    FormatValue::Words(&["newest", "oldest", "score", "priority", "diverse"]),
                    FormatValue::Map(&ORDER),
                ]),
                "newest",
                "What comes first: by the time of the event, by the score with which the change lists the reader, or by the `priority` of the kind. `diverse` is `newest` with no two of one subject or actor beside each other while there are others.",
            ),
            FormatKey::new(
                "group",
                A_FIELD,
                "The field, a `ref`, `refs` or `text`, by which items stand together under one head.",
            ),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["title", "kinds", "most"], OptionalKeys::Any)],
};

pub static ORDER: MapFormat = MapFormat {
    title: "`order`",
    id: "order",
    doc: "What comes first, by a field.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new("soonest", A_FIELD, "The earliest, by a `time`."),
            FormatKey::new("best", A_FIELD, "The greatest, by a `number`."),
            FormatKey::new("nearest", A_FIELD, "The nearest to the reader, by a `place`."),
        ],
    }],
    names: None,
    combinations: &[
        KeyCombination::new(&["soonest"], OptionalKeys::Only(&[])),
        KeyCombination::new(&["best"], OptionalKeys::Only(&[])),
        KeyCombination::new(&["nearest"], OptionalKeys::Only(&[])),
    ],
};

pub static ALONE: MapFormat = MapFormat {
    title: "`alone`",
    id: "alone",
    doc: "A window closes as it opens if fewer than `most` messages of the same plan and key were told within `within`.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::unless_set(
                "most",
                FormatValue::Number { least: 1, most: ALONE_MAX },
                "1",
                "How many messages.",
            ),
            FormatKey::new("within", RESTED, "In which time before."),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["within"], OptionalKeys::Any)],
};

pub static REST: MapFormat = MapFormat {
    title: "`rest`",
    id: "rest",
    doc: "After a message it is quiet for a while: entries of that time are told when it is over.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new("start", RESTED, "How long."),
            FormatKey::unless_set(
                "factor",
                FormatValue::Number { least: 1, most: FACTOR_MAX },
                "1",
                "Each further message in a row makes the rest so many times longer, up to `most`.",
            ),
            FormatKey::new("most", RESTED, "How long a rest may become; `start` unless set."),
            FormatKey::unless_set(
                "each",
                FormatValue::Length { least_ms: 0, most_ms: i64::MAX },
                "0s",
                "Each entry during the rest makes it so much longer, up to `most`.",
            ),
            FormatKey::new(
                "reset",
                RESTED,
                "After so long without an entry the row begins anew; `most` unless set.",
            ),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["start"], OptionalKeys::Any)],
};
