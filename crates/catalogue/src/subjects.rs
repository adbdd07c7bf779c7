//! Subjects: what events are about, and which fields they have.

use std::{collections::BTreeMap, fmt};

use model::limits::FIELDS_MAX;
use source_text::{
    did_you_mean, list_choices,
    yaml::{TreeKey, TreeNode},
};

use crate::{limits::SUBJECTS_MAX, tree_reader::TreeReader};

/// A type of subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubjectType {
    pub name: String,
    pub fields: BTreeMap<String, FieldType>,
    /// The field that is its name to readers: what `called` says, else the first that is a text.
    pub called: Option<String>,
}

/// What a field holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldType {
    Text,
    /// An absolute address on the web, http or https.
    Url,
    Number,
    Flag,
    Time,
    /// Another subject, of this type.
    Ref(String),
    /// Several of this type.
    Refs(String),
    Place,
    /// The id of one person.
    Person,
}

/// The words by which types are written.
const TYPES: [&str; 9] =
    ["text", "url", "number", "flag", "time", "ref TYPE", "refs TYPE", "place", "person"];

/// Says which field is the name; not a field itself.
const CALLED: &str = "called";

/// What texts use for something else.
const RESERVED: [&str; 13] =
    ["subject", "id", "loop", "variant", "true", "false", "none", "and", "or", "not", "in", "is", "if"];

impl FieldType {
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let parsed = match (words.next()?, words.next()) {
            ("text", None) => Self::Text,
            ("url", None) => Self::Url,
            ("number", None) => Self::Number,
            ("flag", None) => Self::Flag,
            ("time", None) => Self::Time,
            ("place", None) => Self::Place,
            ("person", None) => Self::Person,
            ("ref", Some(target)) => Self::Ref(target.to_string()),
            ("refs", Some(target)) => Self::Refs(target.to_string()),
            _ => return None,
        };
        words.next().is_none().then_some(parsed)
    }

    /// The type that a reference points to.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Ref(target) | Self::Refs(target) => Some(target),
            Self::Text | Self::Url | Self::Number | Self::Flag | Self::Time | Self::Place | Self::Person => {
                None
            }
        }
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Url => f.write_str("url"),
            Self::Number => f.write_str("number"),
            Self::Flag => f.write_str("flag"),
            Self::Time => f.write_str("time"),
            Self::Ref(target) => write!(f, "ref {target}"),
            Self::Refs(target) => write!(f, "refs {target}"),
            Self::Place => f.write_str("place"),
            Self::Person => f.write_str("person"),
        }
    }
}

/// All subjects of the file.
pub(crate) fn read_subjects(reader: &mut TreeReader<'_>, node: &TreeNode) -> BTreeMap<String, SubjectType> {
    let mut subjects = BTreeMap::new();
    let Some(map) = reader.map(node, "subjects") else { return subjects };
    if map.len() > SUBJECTS_MAX {
        reader.problem(node.at, format!("{} subjects, more than {SUBJECTS_MAX}", map.len()));
    }
    let types: Vec<&str> = map.iter().map(|(key, _)| key.name.as_str()).collect();
    for (key, node) in map {
        reader.name(key, "a subject");
        if let Some(subject) = read_subject(reader, key, node, &types) {
            subjects.insert(key.name.clone(), subject);
        }
    }
    subjects
}

fn read_subject(
    reader: &mut TreeReader<'_>,
    name: &TreeKey,
    node: &TreeNode,
    types: &[&str],
) -> Option<SubjectType> {
    let map = reader.map(node, "the fields of a subject")?;
    let mut subject = SubjectType { name: name.name.clone(), fields: BTreeMap::new(), called: None };
    let mut first_text = None;
    for (key, value) in map.iter().filter(|(key, _)| key.name != CALLED) {
        if RESERVED.contains(&key.name.as_str()) {
            reader.problem(key.at, format!("`{}` is a word of the texts and cannot be a field", key.name));
        } else {
            reader.name(key, "a field");
        }
        let Some(field) = read_field(reader, value, types) else { continue };
        if field == FieldType::Text && first_text.is_none() {
            first_text = Some(key.name.clone());
        }
        subject.fields.insert(key.name.clone(), field);
    }
    if subject.fields.len() > FIELDS_MAX {
        reader.problem(node.at, format!("{} fields, more than {FIELDS_MAX}", subject.fields.len()));
    }
    let called = map.iter().find(|(key, _)| key.name == CALLED).map(|(_, node)| node);
    subject.called = match called {
        None => first_text,
        Some(node) => read_name_field(reader, node, &subject),
    };
    Some(subject)
}

fn read_field(reader: &mut TreeReader<'_>, node: &TreeNode, types: &[&str]) -> Option<FieldType> {
    let text = reader.text(node, "the type of a field")?;
    let Some(field) = FieldType::parse(text) else {
        // The name of a type alone is the likeliest slip.
        let help = if types.contains(&text) {
            Some(format!("a reference is written `ref {text}` or `refs {text}`"))
        } else {
            did_you_mean(text, TYPES).or_else(|| Some(format!("a type is {}", list_choices(TYPES))))
        };
        reader.problem_with(node.at, format!("`{text}` is no type"), help);
        return None;
    };
    if let Some(target) = field.target()
        && !types.contains(&target)
    {
        let help = if target == FieldType::Person.to_string() {
            Some("a person is no subject; the type is `person` alone".to_string())
        } else {
            did_you_mean(target, types.iter().copied())
        };
        reader.problem_with(node.at, format!("there is no subject `{target}`"), help);
        return None;
    }
    Some(field)
}

fn read_name_field(reader: &mut TreeReader<'_>, node: &TreeNode, subject: &SubjectType) -> Option<String> {
    let name = reader.text(node, "the field a subject is called by")?;
    match subject.fields.get(name) {
        Some(FieldType::Text) => return Some(name.to_string()),
        Some(other) => reader.problem(node.at, format!("`{name}` is {other}, a name must be text")),
        None => {
            let help = did_you_mean(name, subject.fields.keys().map(String::as_str));
            reader.problem_with(node.at, format!("`{}` has no field `{name}`", subject.name), help);
        }
    }
    None
}
