//! What each sort of text may read.

use std::collections::{BTreeMap, BTreeSet};

use model::SubjectType;

use crate::value_type::{TextScope, TextValueType};

/// The name by which a text chooses among its variants.
pub const VARIANT: &str = "variant";
/// What the sentence of a mutual kind calls the other party.
pub const OTHER: &str = "other";

/// The instant at which a condition is asked, and the one at which its message is due.
pub const NOW: &str = "now";
pub const DUE: &str = "due";

/// What texts call who did it, what the event itself said, and those who did it of a bundle.
pub const ACTOR: &str = "actor";
pub const EVENT: &str = "event";
pub const ACTORS: &str = "actors";
/// Of a bundle, how many beside the first did it, and how many entries it has.
pub const OTHERS: &str = "others";
pub const COUNT: &str = "count";

/// The reader's language, as BCP 47 has it, and which way it is written, as HTML has it.
pub const LANGUAGE: &str = "language";
pub const DIRECTION: &str = "direction";

/// Fields that kinds keep of the event's own words.
pub type KeptTypes = BTreeMap<String, TextValueType>;

/// What the messages of a plan are about.
#[derive(Clone, Default)]
pub struct PlanSubjectTypes {
    /// The types of what they tell.
    pub types: BTreeSet<String>,
    /// What its kinds keep of their events.
    pub kept: KeptTypes,
    /// The types of the subjects under whose names things stand together.
    pub heads: BTreeSet<String>,
}

/// A condition: `subject`, each of its references by the field's name, and the moment at which it is asked.
pub fn condition_scope<'a>(subjects: &'a BTreeMap<String, SubjectType>, subject: &str) -> TextScope<'a> {
    let mut scope = subject_scope(subjects, subject);
    scope.names.extend([NOW, DUE].map(|name| (name.to_string(), TextValueType::Time)));
    scope
}

fn subject_scope<'a>(subjects: &'a BTreeMap<String, SubjectType>, subject: &str) -> TextScope<'a> {
    let mut names = BTreeMap::from([("subject".to_string(), TextValueType::subject(subject))]);
    if let Some(subject) = subjects.get(subject) {
        let references = subject.fields.iter().filter(|(_, field)| field.target().is_some());
        names.extend(references.map(|(name, field)| (name.clone(), TextValueType::from_field(field))));
    }
    TextScope { subjects, names, messages: None, slots: 0 }
}

/// Where the subject has a reference of such a name, that is meant.
fn add_names<const N: usize>(scope: &mut TextScope<'_>, names: [(&str, TextValueType); N]) {
    for (name, of) in names {
        scope.names.entry(name.to_string()).or_insert(of);
    }
}

/// Who did something: printed, their name.
fn actor_type() -> TextValueType {
    let parts = [("name", TextValueType::Text), ("id", TextValueType::Text), ("sort", TextValueType::Text)];
    TextValueType::record(ACTOR, true, parts)
}

fn event_type(kept: &KeptTypes) -> TextValueType {
    TextValueType::record(EVENT, false, kept.iter().map(|(name, of)| (name.clone(), of.clone())))
}

/// What a kind says of a bundle: all that it says of one thing, of which the newest is that one, and how many there are.
pub fn says_many_scope<'a>(
    subjects: &'a BTreeMap<String, SubjectType>,
    subject: &str,
    is_mutual: bool,
    kept: &KeptTypes,
) -> TextScope<'a> {
    let mut scope = says_scope(subjects, subject, is_mutual, kept);
    add_names(
        &mut scope,
        [
            (ACTORS, TextValueType::list(actor_type())),
            (OTHERS, TextValueType::Number),
            (COUNT, TextValueType::Number),
        ],
    );
    scope
}

/// What a kind says: `subject` and its references, who did it and what the event said, and the name of the other party if there
/// are two.
pub fn says_scope<'a>(
    subjects: &'a BTreeMap<String, SubjectType>,
    subject: &str,
    is_mutual: bool,
    kept: &KeptTypes,
) -> TextScope<'a> {
    let mut scope = subject_scope(subjects, subject);
    add_names(
        &mut scope,
        [
            (ACTOR, actor_type()),
            (EVENT, event_type(kept)),
            (LANGUAGE, TextValueType::Text),
            (DIRECTION, TextValueType::Text),
        ],
    );
    if is_mutual {
        scope.names.insert(OTHER.to_string(), TextValueType::Text);
    }
    scope.names.insert(VARIANT.to_string(), TextValueType::Number);
    scope
}

/// One thing that is told, of one of these types.
fn item_type(types: BTreeSet<String>, kept: &KeptTypes) -> TextValueType {
    TextValueType::record(
        "item",
        true,
        [
            ("kind", TextValueType::Text),
            ("says", TextValueType::Text),
            ("why", TextValueType::Text),
            // What of that its group does not say.
            ("also", TextValueType::Text),
            // Empty unless it is told for being near, or with somebody.
            ("distance", TextValueType::Text),
            (OTHER, TextValueType::Text),
            ("maybe", TextValueType::Flag),
            ("name", TextValueType::Text),
            // The link to where its reader asks for less of this; of mails alone.
            ("less", TextValueType::Url),
            ("subject", TextValueType::Subject { types, near: true }),
            (ACTOR, actor_type()),
            (EVENT, event_type(kept)),
            // Of a bundle; of one thing alone there is one actor and a count of one.
            (ACTORS, TextValueType::list(actor_type())),
            (OTHERS, TextValueType::Number),
            (COUNT, TextValueType::Number),
        ],
    )
}

/// A headline or a preheader of a plan whose messages are about this.
pub fn headline_scope(subjects: &BTreeMap<String, SubjectType>, about: PlanSubjectTypes) -> TextScope<'_> {
    let items = TextValueType::list(item_type(about.types, &about.kept));
    let head = (!about.heads.is_empty())
        .then_some(("subject", TextValueType::Subject { types: about.heads, near: false }));
    let group = [
        ("name", TextValueType::Text),
        ("items", items.clone()),
        ("count", TextValueType::Number),
        // What all of it is told for.
        ("why", TextValueType::Text),
        ("less", TextValueType::Url),
    ];
    let group = TextValueType::record("group", true, group.into_iter().chain(head));
    let section = [
        ("title", TextValueType::Text),
        ("items", items.clone()),
        ("groups", TextValueType::list(group.clone())),
        ("blocks", TextValueType::list(group)),
        ("more", TextValueType::Number),
        ("less", TextValueType::Url),
    ];
    let section = TextValueType::record("section", true, section);
    let names = [
        ("name", TextValueType::Text),
        (DUE, TextValueType::Time),
        ("count", TextValueType::Number),
        ("more", TextValueType::Number),
        (VARIANT, TextValueType::Number),
        (LANGUAGE, TextValueType::Text),
        (DIRECTION, TextValueType::Text),
        ("items", items),
        ("sections", TextValueType::list(section)),
    ];
    TextScope {
        subjects,
        names: names.map(|(name, of)| (name.to_string(), of)).into(),
        messages: None,
        slots: 0,
    }
}

/// A title of a section or of a plan, which is said without anything that is told.
pub fn title_scope(subjects: &BTreeMap<String, SubjectType>) -> TextScope<'_> {
    let names = [LANGUAGE, DIRECTION].map(|name| (name.to_string(), TextValueType::Text));
    TextScope { subjects, names: names.into(), messages: None, slots: 0 }
}

/// A mail's two layouts: all that a headline reads, the headline, what leads it if something does, the links of its foot, and
/// the name of the plan, since several plans may share a layout.
pub fn mail_scope(
    subjects: &BTreeMap<String, SubjectType>,
    about: PlanSubjectTypes,
    has_lead: bool,
) -> TextScope<'_> {
    let lead = has_lead.then(|| ("lead", item_type(about.types.clone(), &about.kept)));
    let mut scope = headline_scope(subjects, about);
    let other = [("plan", TextValueType::Text), ("title", TextValueType::Text), ("link", TextValueType::Url)];
    let more = [
        ("headline", TextValueType::Text),
        ("preheader", TextValueType::Text),
        ("plan", TextValueType::Text),
        ("postal", TextValueType::Text),
        ("unsubscribe", TextValueType::Url),
        ("settings", TextValueType::Url),
        ("rest", TextValueType::Url),
        ("instead", TextValueType::list(TextValueType::record("plan", false, other))),
    ];
    scope.names.extend(more.into_iter().chain(lead).map(|(name, of)| (name.to_string(), of)));
    scope
}

/// What a record of others says, with the names that its format has of its own. Rows are not declared here, so any column
/// may be asked for.
pub fn source_scope<'a>(subjects: &'a BTreeMap<String, SubjectType>, format_names: &[&str]) -> TextScope<'a> {
    let record = [
        ("topic", TextValueType::Text),
        ("partition", TextValueType::Number),
        ("offset", TextValueType::Number),
        ("appended", TextValueType::Number),
    ];
    let mut names = BTreeMap::from([
        ("row".to_string(), TextValueType::Any),
        ("key".to_string(), TextValueType::Any),
        ("change".to_string(), TextValueType::Text),
        ("record".to_string(), TextValueType::record("record", false, record)),
    ]);
    names.extend(format_names.iter().map(|name| (name.to_string(), TextValueType::Any)));
    TextScope { subjects, names, messages: None, slots: 0 }
}
