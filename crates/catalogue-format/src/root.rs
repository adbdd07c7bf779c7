//! The file itself, and its sources.

use crate::limits::{
    CAPS_MAX, CATEGORIES_MAX, KINDS_MAX, PLANS_MAX, SLOT_LISTS_MAX, SOURCES_MAX, SUBJECTS_MAX, SURFACES_MAX,
};
use crate::{
    FormatKey, FormatValue, KeyCombination, KeyGroup, MapFormat, NamedValues, OptionalKeys,
    events::{CATEGORY, KIND, SUBJECT},
    forms::{AN_EXPRESSION, EVENT, FIELD, FILE, LANGUAGE, LINE, LINES, NAME, STATEMENT, TOPIC},
    holds::{CAP, SURFACE},
    plans::PLAN,
    slots::SLOT_LIST,
    words::FORMATS,
};

pub static CATALOGUE: MapFormat = MapFormat {
    title: "a catalogue",
    id: "catalogue",
    doc: "What is worth telling, to whom, under which condition, when, and in which words.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new(
                "catalogue",
                FormatValue::Text(&LINE),
                "The name of the catalogue, at most 64 bytes. It stands in headers of mails.",
            ),
            FormatKey::new(
                "postal",
                FormatValue::Text(&LINES),
                "The postal address of the sender of the mails, at most 512 bytes. Several lines are joined into one.",
            ),
            FormatKey::unless_set(
                "feed",
                FormatValue::Flag,
                "false",
                "Whether people also read what they are told in a feed on the product's own site. Their page of settings then offers it beside the channels.",
            ),
            FormatKey::new(
                "languages",
                FormatValue::Some(&FormatValue::Text(&LANGUAGE)),
                "The languages in which readers are told, of en, de, fr, es, ja, ar and ru, also as a region writes them. Each reader has the nearest to the `language` of their profile, else the first. Without it all are told in English. [Languages](../languages.md) says what changes with it.",
            ),
            FormatKey::new(
                "words",
                FormatValue::Text(&FILE),
                "The folder with the messages that its texts say, a Fluent file for each language: `words/de.ftl`.",
            ),
            FormatKey::new("subjects", FormatValue::Named(&SUBJECTS), "What events are about."),
            FormatKey::new("kinds", FormatValue::Named(&KINDS), "What is worth telling."),
            FormatKey::new(
                "categories",
                FormatValue::Named(&CATEGORIES),
                "What kinds are called together, so that a person turns them on and off as one.",
            ),
            FormatKey::new("plans", FormatValue::Named(&PLANS), "When messages go, and what they look like."),
            FormatKey::new(
                "surfaces",
                FormatValue::Named(&SURFACES),
                "Where people may be seen, each with the time for which they then count as online.",
            ),
            FormatKey::new("caps", FormatValue::Named(&CAPS), "How many messages a person gets at most."),
            FormatKey::new(
                "slots",
                FormatValue::Named(&SLOT_LISTS),
                "What mails show that is chosen when they are opened.",
            ),
            FormatKey::new(
                "sources",
                FormatValue::Named(&SOURCES),
                "Topics of other services, and what their records mean here.",
            ),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&["catalogue", "subjects", "kinds", "plans"], OptionalKeys::Any)],
};

static SUBJECTS: NamedValues =
    NamedValues { name: &NAME, value: FormatValue::Map(&SUBJECT), most: SUBJECTS_MAX };
static KINDS: NamedValues = NamedValues { name: &NAME, value: FormatValue::Map(&KIND), most: KINDS_MAX };
static CATEGORIES: NamedValues =
    NamedValues { name: &NAME, value: FormatValue::Map(&CATEGORY), most: CATEGORIES_MAX };
static PLANS: NamedValues = NamedValues { name: &NAME, value: FormatValue::Map(&PLAN), most: PLANS_MAX };
static SURFACES: NamedValues = NamedValues { name: &NAME, value: SURFACE, most: SURFACES_MAX };
static CAPS: NamedValues = NamedValues { name: &NAME, value: FormatValue::Map(&CAP), most: CAPS_MAX };
static SLOT_LISTS: NamedValues =
    NamedValues { name: &NAME, value: FormatValue::Map(&SLOT_LIST), most: SLOT_LISTS_MAX };
static SOURCES: NamedValues =
    NamedValues { name: &NAME, value: FormatValue::Map(&SOURCE), most: SOURCES_MAX };
static DATA: NamedValues = NamedValues { name: &FIELD, value: AN_EXPRESSION, most: usize::MAX };

pub static SOURCE: MapFormat = MapFormat {
    title: "a source",
    id: "source",
    doc: "A topic of other services, and what its records mean here. [Sources](../sources.md) says how their expressions read a record.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new(
                "topic",
                FormatValue::Text(&TOPIC),
                "The topic as it is called in Kafka, without the house's prefix. It is none of the house's own topics.",
            ),
            FormatKey::new("format", FormatValue::Words(&FORMATS), "How its records are written."),
            FormatKey::new(
                "tells",
                FormatValue::Text(&STATEMENT),
                "What a record means. Without it each record is a CloudEvent that is taken as it is.",
            ),
            FormatKey::new(
                "otherwise",
                FormatValue::Text(&EVENT),
                "Of events: the event of the same subject that is told where `when` does not hold, deleted rows included.",
            ),
            FormatKey::new(
                "when",
                AN_EXPRESSION,
                "A condition. An event is told where it holds; a fact begins where it holds and has ended where it does not. Unless set it holds for all rows that are not deleted.",
            ),
            FormatKey::new(
                "subject",
                AN_EXPRESSION,
                "The subject, `type:id`; needed for events and follows.",
            ),
            FormatKey::new("person", AN_EXPRESSION, "The person's id; needed for facts."),
            FormatKey::new("id", AN_EXPRESSION, "The id of the change; the place of the record unless set."),
            FormatKey::new(
                "time",
                AN_EXPRESSION,
                "When it happened; when the record was appended unless set.",
            ),
            FormatKey::new("version", AN_EXPRESSION, "The version of what it states; the time unless set."),
            FormatKey::new("actor", AN_EXPRESSION, "The person who did it."),
            FormatKey::new(
                "persons",
                AN_EXPRESSION,
                "The persons that the change lists, for kinds with `to: listed`.",
            ),
            FormatKey::new(
                "data",
                FormatValue::Named(&DATA),
                "The fields of the subject, of the profile, or the one thing that is muted. Unless set, of an event, the columns that the subject declares.",
            ),
            FormatKey::new(
                "snapshot",
                FormatValue::Flag,
                "Whether rows count that were there when Debezium began; `false` for events and `true` for facts unless set.",
            ),
        ],
    }],
    names: None,
    combinations: &[
        KeyCombination::chosen_by(
            "tells",
            FormatValue::Words(&["follow"]),
            &["topic", "format", "tells", "person", "subject"],
            OptionalKeys::Only(&["when", "time", "version", "snapshot"]),
        ),
        KeyCombination::chosen_by(
            "tells",
            FormatValue::Words(&["mute", "profile"]),
            &["topic", "format", "tells", "person", "data"],
            OptionalKeys::Only(&["when", "time", "version", "snapshot"]),
        ),
        KeyCombination::chosen_by(
            "tells",
            FormatValue::Text(&EVENT),
            &["topic", "format", "tells", "subject"],
            OptionalKeys::AllBut(&["person"], &[]),
        ),
        KeyCombination::chosen_by(
            "format",
            FormatValue::Words(&["cloudevents"]),
            &["topic", "format"],
            OptionalKeys::Only(&[]),
        ),
    ],
};
