//! Slots: lists of things that are chosen when a mail is opened.

use model::limits::DAY_MS;

use crate::{
    FormatKey, FormatValue, KeyCombination, KeyGroup, MapFormat, OptionalKeys,
    forms::{A_FIELD, A_NAME, CONDITION, HOST, TABLE, TEXT, TEXT_WITH_TAGS, WEB_ADDRESS},
    limits::{SLOT_LIFE_MS_MAX, SLOT_LIFE_MS_MIN, SLOT_PLACES_MAX, SLOT_SOURCES_MAX},
};

const LIFE: FormatValue = FormatValue::Length { least_ms: SLOT_LIFE_MS_MIN, most_ms: SLOT_LIFE_MS_MAX };
const PLACES: FormatValue = FormatValue::Number { least: 1, most: SLOT_PLACES_MAX };

const _: () = assert!(SLOT_LIFE_MS_MAX <= 31 * DAY_MS);

pub static SLOT_LIST: MapFormat = MapFormat {
    title: "a list of slots",
    id: "slots",
    doc: "What stands at the slots of a mail, chosen when the mail is opened. [Slots](../slots.md) says how it is kept the same for all slots of a mail.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new("of", A_NAME, "The subject that its things are of."),
            FormatKey::new("places", PLACES, "How many places it has. A mail may show fewer."),
            FormatKey::new("image", A_FIELD, "The field of a thing, a `url`, with its picture."),
            FormatKey::new("link", A_FIELD, "The field of a thing, a `url`, with its page."),
            FormatKey::new(
                "alt",
                TEXT_WITH_TAGS,
                "What a mail says at a place whose picture is not shown. It is written when the mail is sent, so it names no thing.",
            ),
            FormatKey::new(
                "while",
                FormatValue::Text(&CONDITION),
                "A condition, asked when things are chosen and when somebody follows a link. It reads `subject` and each of its references, and `now`.",
            ),
            FormatKey::new(
                "maker",
                A_FIELD,
                "The field that two neighbours should not share, such as a brand.",
            ),
            FormatKey::new(
                "from",
                FormatValue::List { of: &FormatValue::Map(&SLOT_TABLE), least: 1, most: SLOT_SOURCES_MAX },
                "Where its things come from. Each has its share; the places that are left go to the best of all, in this order.",
            ),
            FormatKey::new(
                "hosts",
                FormatValue::Some(&FormatValue::Text(&HOST)),
                "The hosts to which its pictures and pages may lead; `*.example.com` is any host below. A thing that leads elsewhere is left out.",
            ),
            FormatKey::new(
                "instead",
                FormatValue::Map(&SLOT_BANNER),
                "What stands at a place without a thing, or where nothing can be chosen in time.",
            ),
            FormatKey::unless_set(
                "kept",
                LIFE,
                "1h",
                "For how long after the mail was last opened the list stays as it is, at least.",
            ),
            FormatKey::unless_set(
                "at_most",
                LIFE,
                "1d",
                "For how long it stays as it is, however often the mail is opened.",
            ),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(
        &["of", "places", "image", "link", "alt", "from", "hosts", "instead"],
        OptionalKeys::Any,
    )],
};

pub static SLOT_TABLE: MapFormat = MapFormat {
    title: "a source of slots",
    id: "slot_table",
    doc: "A table that a service keeps up to date by changes of a subject: things, the best first.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new(
                "table",
                FormatValue::Text(&TABLE),
                "The subject and its field, a `refs` of things: `picks.items`.",
            ),
            FormatKey::new(
                "row",
                TEXT,
                "The id of the subject, for a table that is the same for everybody; the id of the reader unless set.",
            ),
            FormatKey::unless_set(
                "share",
                FormatValue::Number { least: 0, most: SLOT_PLACES_MAX },
                "0",
                "How many places it fills first, if it has so many things.",
            ),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["table"], OptionalKeys::Any)],
};

pub static SLOT_BANNER: MapFormat = MapFormat {
    title: "`instead`",
    id: "slot_banner",
    doc: "What stands at a place of a mail where no thing does.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new("image", FormatValue::Text(&WEB_ADDRESS), "The address of its picture."),
            FormatKey::new("link", FormatValue::Text(&WEB_ADDRESS), "Where it leads."),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["image", "link"], OptionalKeys::Any)],
};
