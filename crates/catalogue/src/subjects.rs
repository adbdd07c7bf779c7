//! Subjects: what events are about, and which fields they have.

use std::collections::BTreeMap;

use model::{FieldType, SubjectType, limits::FIELDS_MAX};
use source_text::{
    did_you_mean, list_choices,
    yaml::{TreeKey, TreeNode},
};

use crate::{limits::SUBJECTS_MAX, tree_reader::TreeReader};

/// The words by which types are written.
const TYPES: [&str; 9] =
    ["text", "url", "number", "flag", "time", "ref TYPE", "refs TYPE", "place", "person"];

/// Says which field is the name; not a field itself.
const CALLED: &str = "called";

/// What texts use for something else.
const RESERVED: [&str; 13] =
    ["subject", "id", "loop", "variant", "true", "false", "none", "and", "or", "not", "in", "is", "if"];

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
            reader.problem(key.at, format!("`{}` is reserved for texts and cannot be a field", key.name));
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
            Some(format!("write a reference as `ref {text}` or `refs {text}`"))
        } else {
            did_you_mean(text, TYPES).or_else(|| Some(format!("use {}", list_choices(TYPES))))
        };
        reader.problem_with(node.at, format!("`{text}` is not a type"), help);
        return None;
    };
    if let Some(target) = field.target()
        && !types.contains(&target)
    {
        let help = if target == FieldType::Person.to_string() {
            Some("a person is not a subject; write `person` alone".to_string())
        } else {
            did_you_mean(target, types.iter().copied())
        };
        reader.problem_with(node.at, format!("there is no subject `{target}`"), help);
        return None;
    }
    Some(field)
}

fn read_name_field(reader: &mut TreeReader<'_>, node: &TreeNode, subject: &SubjectType) -> Option<String> {
    let name = reader.text(node, "`called`")?;
    match subject.fields.get(name) {
        Some(FieldType::Text) => return Some(name.to_string()),
        Some(other) => reader.problem(node.at, format!("`{name}` is {other}, but a name must be a text")),
        None => {
            let help = did_you_mean(name, subject.fields.keys().map(String::as_str));
            reader.problem_with(node.at, format!("`{}` has no field `{name}`", subject.name), help);
        }
    }
    None
}
