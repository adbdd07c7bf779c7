//! Subjects, kinds and audiences.

use crate::{
    FormatKey, FormatValue, KeyCombination, KeyGroup, MapFormat, NamedValues, OptionalKeys,
    forms::{
        A_FIELD, A_NAME, BUNDLE_PART, CONDITION, DISTANCE, EVENT, EXPIRY, FIELD, FIELD_TYPE, LINE,
        TEXT_WITH_TAGS,
    },
    words::{ACTOR_WORDS, CHOICE_WORDS, UNSURE_WORDS},
};
use model::limits::FIELDS_MAX;

use crate::limits::PRIORITY_MAX;

pub static SUBJECT: MapFormat = MapFormat {
    title: "the fields of a subject",
    id: "subject",
    doc: "A type of subject: its fields with their types. A field has none of the names that texts use for something else, such as `subject` or `id`.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[FormatKey::new(
            "called",
            A_FIELD,
            "The field by which a subject is called, a `text`; the first `text` unless set.",
        )],
    }],
    names: Some(&FIELDS),
    combinations: &[KeyCombination::new(&[], OptionalKeys::Any)],
};

static FIELDS: NamedValues =
    NamedValues { name: &FIELD, value: FormatValue::Text(&FIELD_TYPE), most: FIELDS_MAX };

pub static KIND: MapFormat = MapFormat {
    title: "a kind",
    id: "kind",
    doc: "A type of notification: on which event, to whom, as long as what holds, and in which sentence.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new(
                "on",
                FormatValue::Text(&EVENT),
                "The type of the change that it is told on, of a declared subject.",
            ),
            FormatKey::new(
                "to",
                FormatValue::Either(&[
                    FormatValue::Words(&["listed", "everyone"]),
                    FormatValue::Map(&AUDIENCE),
                ]),
                "The audience. `listed` are the people that the change itself lists, `everyone` all with a profile.",
            ),
            FormatKey::new(
                "while",
                FormatValue::Text(&CONDITION),
                "A condition, evaluated when the window closes and again right before the message leaves. It reads `subject` and each of its references, `now` and `due`, the time of the message.",
            ),
            FormatKey::new(
                "expires",
                FormatValue::Text(&EXPIRY),
                "When an entry is past: so long after its event, or at a field of its subject that is a time. What is past is not told; it ends as expired.",
            ),
            FormatKey::unless_set(
                "priority",
                FormatValue::Number { least: 1, most: PRIORITY_MAX },
                "10",
                "How important it is, where a section has `order: priority`: 1 comes first.",
            ),
            FormatKey::new("says", TEXT_WITH_TAGS, "Its sentence."),
            FormatKey::new(
                "bundle_by",
                FormatValue::Some(&FormatValue::Text(&BUNDLE_PART)),
                "What the entries of this kind share that are told as one item: `subject`, `actor`, `thread`, a field, or `kind` for all of them. An entry that lacks one of them stands alone, and so do all with `[]`, for a kind that is `like` one with bundles.",
            ),
            FormatKey::new(
                "says_many",
                TEXT_WITH_TAGS,
                "Its sentence for several entries that are told as one. Beside what `says` reads: `count`, `actors` (the newest first) and `others` (how many more people than `actor`).",
            ),
            FormatKey::new(
                "keeps",
                FormatValue::Some(&A_FIELD),
                "Fields that its entries keep as the event stated them, up to 512 bytes. Texts read them as `event.FIELD`, beside what the subject is by now.",
            ),
            FormatKey::new(
                "plans",
                FormatValue::Some(&A_NAME),
                "The plans it is told under. Several of one channel are alternatives, of which the person's preference chooses.",
            ),
            FormatKey::new(
                "like",
                A_NAME,
                "Another kind: keys that this one does not set are taken from there.",
            ),
            FormatKey::new(
                "actor",
                FormatValue::Words(&ACTOR_WORDS),
                "Whether the person who did it is told too; `left_out` unless set, but `told` for `mutual`.",
            ),
            FormatKey::new(
                "thread",
                A_FIELD,
                "What it belongs to, so that a person can mute that: a field of type `ref` or `refs`, or `subject`.",
            ),
            FormatKey::new(
                "category",
                A_NAME,
                "What it is called together with others, one of `categories`. A person may turn that off as a whole.",
            ),
            FormatKey::new(
                "unless_chosen",
                FormatValue::Words(&CHOICE_WORDS),
                "How people are told who have not chosen: `on` by the plan of each channel, `digest` by one that gathers, `off` not at all. Of a kind that does not say, its category says it.",
            ),
            FormatKey::unless_set(
                "critical",
                FormatValue::Flag,
                "false",
                "Whether nobody can turn it off: no preference, no mute and no unsubscribing. Who has no address, or whose mails come back, is not told all the same.",
            ),
            FormatKey::new(
                "unsure",
                FormatValue::Words(&UNSURE_WORDS),
                "What happens if it is unknown whether its message was sent: `again` sends it once more, under the same id; `later` tells the entry later as something that may have been told. `again` unless set if its plan is `urgent`, else `later`.",
            ),
        ],
    }],
    names: None,
    combinations: &[
        KeyCombination::new(&["on", "to", "says", "plans"], OptionalKeys::AllBut(&["like"], &[])),
        KeyCombination::new(&["like"], OptionalKeys::Any),
    ],
};

pub static CATEGORY: MapFormat = MapFormat {
    title: "a category",
    id: "category",
    doc: "Kinds that people turn on and off as one.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new(
                "title",
                FormatValue::Text(&LINE),
                "The name of the category for readers, on the page where they choose, at most 64 bytes; it may say a message, as the title of a section does. The category's name unless set.",
            ),
            FormatKey::new(
                "unless_chosen",
                FormatValue::Words(&CHOICE_WORDS),
                "How people are told who have not chosen, where the kind does not say; `on` unless set.",
            ),
            FormatKey::new(
                "tenants",
                FormatValue::Named(&TENANT_CHOICES),
                "The same of the people of some tenants, in place of what holds for all.",
            ),
        ],
    }],
    names: None,
    combinations: &[KeyCombination::new(&[], OptionalKeys::Any)],
};

static TENANT_CHOICES: NamedValues =
    NamedValues { name: &LINE, value: FormatValue::Words(&CHOICE_WORDS), most: usize::MAX };

pub static AUDIENCE: MapFormat = MapFormat {
    title: "`to`",
    id: "audience",
    doc: "The people who may care. Each reason is checked again when the window closes and right before the message leaves.",
    groups: &[&KeyGroup {
        title: "",
        keys: &[
            FormatKey::new(
                "followers_of",
                FormatValue::Some(&A_FIELD),
                "The followers of what these fields refer to; `subject` is the subject itself.",
            ),
            FormatKey::new(
                "subscribers_of",
                FormatValue::Some(&A_FIELD),
                "Who has chosen to be told of what these fields refer to, of this kind there or of all; `subject` is the subject itself.",
            ),
            FormatKey::new("near", A_FIELD, "The people near this field, a `place`."),
            FormatKey::new(
                "within",
                FormatValue::Text(&DISTANCE),
                "The distance within which they are near, at most 1000 km.",
            ),
            FormatKey::new("person", A_FIELD, "The one that this field, a `person`, names."),
            FormatKey::new(
                "mutual",
                FormatValue::List { of: &A_FIELD, least: 2, most: 2 },
                "The two that these fields name, each told of the other.",
            ),
        ],
    }],
    names: None,
    combinations: &[
        KeyCombination::new(&["followers_of"], OptionalKeys::Only(&[])),
        KeyCombination::new(&["subscribers_of"], OptionalKeys::Only(&[])),
        KeyCombination::new(&["near", "within"], OptionalKeys::Only(&[])),
        KeyCombination::new(&["person"], OptionalKeys::Only(&[])),
        KeyCombination::new(&["mutual"], OptionalKeys::Only(&[])),
    ],
};
