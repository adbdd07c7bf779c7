//! What each sort of text may read.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    audience::{Audience, OTHER, VARIANT},
    groups::About,
    language::types::{Scope, Type},
    sources::Format,
    subjects::SubjectType,
};

/// A condition: `subject`, and each of its references by the field's name.
pub fn condition_scope<'a>(subjects: &'a BTreeMap<String, SubjectType>, subject: &str) -> Scope<'a> {
    let mut names = BTreeMap::from([("subject".to_string(), Type::subject(subject))]);
    if let Some(subject) = subjects.get(subject) {
        let references = subject.fields.iter().filter(|(_, field)| field.target().is_some());
        names.extend(references.map(|(name, field)| (name.clone(), Type::of_field(field))));
    }
    Scope { subjects, names }
}

/// What a kind says: all that its condition may read, and the name of the other party if there are two.
pub fn says_scope<'a>(
    subjects: &'a BTreeMap<String, SubjectType>,
    subject: &str,
    to: &Audience,
) -> Scope<'a> {
    let mut scope = condition_scope(subjects, subject);
    if to.is_mutual() {
        scope.names.insert(OTHER.to_string(), Type::Text);
    }
    scope.names.insert(VARIANT.to_string(), Type::Number);
    scope
}

/// One thing that is told, of one of these types.
fn item(types: BTreeSet<String>) -> Type {
    Type::record(
        "item",
        true,
        [
            ("kind", Type::Text),
            ("says", Type::Text),
            ("why", Type::Text),
            // What of that its group does not say.
            ("also", Type::Text),
            // Empty unless it is told for being near, or with somebody.
            ("distance", Type::Text),
            (OTHER, Type::Text),
            ("maybe", Type::Flag),
            ("name", Type::Text),
            // The link to where its reader asks for less of this; of mails alone.
            ("less", Type::Url),
            ("subject", Type::Subject { types, near: true }),
        ],
    )
}

/// A headline or a preheader of a plan whose messages are about this.
pub(crate) fn headline_scope(subjects: &BTreeMap<String, SubjectType>, about: About) -> Scope<'_> {
    let items = Type::list(item(about.types));
    let head =
        (!about.heads.is_empty()).then_some(("subject", Type::Subject { types: about.heads, near: false }));
    let group = [
        ("name", Type::Text),
        ("items", items.clone()),
        ("count", Type::Number),
        // What all of it is told for.
        ("why", Type::Text),
        ("less", Type::Url),
    ];
    let group = Type::record("group", true, group.into_iter().chain(head));
    let section = [
        ("title", Type::Text),
        ("items", items.clone()),
        ("groups", Type::list(group.clone())),
        ("blocks", Type::list(group)),
        ("more", Type::Number),
        ("less", Type::Url),
    ];
    let section = Type::record("section", true, section);
    let names = [
        ("name", Type::Text),
        ("due", Type::Time),
        ("count", Type::Number),
        ("more", Type::Number),
        (VARIANT, Type::Number),
        ("items", items),
        ("sections", Type::list(section)),
    ];
    Scope { subjects, names: names.map(|(name, of)| (name.to_string(), of)).into() }
}

/// A mail's two layouts: all that a headline reads, the headline, what leads it if something does, the links of its foot, and
/// the name of the plan, since several plans may share a layout.
pub(crate) fn mail_scope(
    subjects: &BTreeMap<String, SubjectType>,
    about: About,
    has_lead: bool,
) -> Scope<'_> {
    let lead = has_lead.then(|| ("lead", item(about.types.clone())));
    let mut scope = headline_scope(subjects, about);
    let other = [("plan", Type::Text), ("title", Type::Text), ("link", Type::Url)];
    let more = [
        ("headline", Type::Text),
        ("preheader", Type::Text),
        ("plan", Type::Text),
        ("postal", Type::Text),
        ("unsubscribe", Type::Url),
        ("rest", Type::Url),
        ("instead", Type::list(Type::record("plan", false, other))),
    ];
    scope.names.extend(more.into_iter().chain(lead).map(|(name, of)| (name.to_string(), of)));
    scope
}

/// What a record of others says. Rows are not declared here, so any column may be asked for.
pub fn source_scope(subjects: &BTreeMap<String, SubjectType>, format: Format) -> Scope<'_> {
    let record = [
        ("topic", Type::Text),
        ("partition", Type::Number),
        ("offset", Type::Number),
        ("appended", Type::Number),
    ];
    let mut names = BTreeMap::from([
        ("row".to_string(), Type::Any),
        ("key".to_string(), Type::Any),
        ("change".to_string(), Type::Text),
        ("record".to_string(), Type::record("record", false, record)),
    ]);
    let more: &[&str] = match format {
        Format::Debezium => &["before", "source"],
        Format::CloudEvents => &["event"],
        Format::Json | Format::Avro => &[],
    };
    names.extend(more.iter().map(|name| (name.to_string(), Type::Any)));
    Scope { subjects, names }
}
