//! What each sort of text may read.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    audience::{Audience, OTHER, VARIANT},
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

/// A headline or a preheader of a plan whose kinds are about these types of subjects.
pub fn headline_scope(subjects: &BTreeMap<String, SubjectType>, types: BTreeSet<String>) -> Scope<'_> {
    let item = Type::record(
        "item",
        true,
        [
            ("kind", Type::Text),
            ("says", Type::Text),
            ("why", Type::Text),
            // Empty unless it is told for being near, or with somebody.
            ("distance", Type::Text),
            (OTHER, Type::Text),
            ("maybe", Type::Flag),
            ("name", Type::Text),
            ("subject", Type::Subject { types, near: true }),
        ],
    );
    let items = Type::list(item);
    let section = Type::record(
        "section",
        true,
        [("title", Type::Text), ("items", items.clone()), ("more", Type::Number)],
    );
    let names = [
        ("name", Type::Text),
        ("due", Type::Time),
        ("count", Type::Number),
        (VARIANT, Type::Number),
        ("items", items),
        ("sections", Type::list(section)),
    ];
    Scope { subjects, names: names.map(|(name, of)| (name.to_string(), of)).into() }
}

/// A mail's two layouts: all that a headline reads, the headline, the link that ends the mails, and the name
/// of the plan, since several plans may share a layout.
pub fn mail_scope(subjects: &BTreeMap<String, SubjectType>, types: BTreeSet<String>) -> Scope<'_> {
    let mut scope = headline_scope(subjects, types);
    for name in ["headline", "preheader", "plan"] {
        scope.names.insert(name.to_string(), Type::Text);
    }
    scope.names.insert("unsubscribe".to_string(), Type::Url);
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
