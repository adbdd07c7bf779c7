//! What a kind keeps of the words of its events.

use expression::{KeptTypes, TextValueType};
use model::{FieldType, KeptFields, SubjectType, Value, kept_fields::keep_fields};
use source_text::yaml::TreePlace;

use crate::{Catalogue, KindDef, tree_reader::TreeReader};

/// The types of fields that are kept.
const KEPT: &str = "a text, url, number, flag, time or person";

/// Checks the fields that a kind keeps: each is one of its subject, and small.
pub(crate) fn check_keeps(
    reader: &mut TreeReader<'_>,
    keeps: &[(String, TreePlace)],
    subject: &SubjectType,
) -> Vec<String> {
    let mut named: Vec<String> = Vec::new();
    for (name, at) in keeps {
        match subject.fields.get(name) {
            Some(found @ (FieldType::Ref(_) | FieldType::Refs(_) | FieldType::Place)) => {
                reader.problem(*at, format!("`{name}` is {found}, but `keeps` takes {KEPT}"));
            }
            Some(_) if named.contains(name) => reader.problem(*at, format!("`{name}` is given twice")),
            Some(_) => named.push(name.clone()),
            None => reader.report_no_field(*at, subject, name),
        }
    }
    named
}

/// What texts read of it.
pub(crate) fn kept_types(keeps: &[String], subject: &SubjectType) -> KeptTypes {
    let field = |name: &String| Some((name.clone(), TextValueType::from_field(subject.fields.get(name)?)));
    keeps.iter().filter_map(field).collect()
}

impl Catalogue {
    /// The fields that a kind keeps, with their types.
    pub fn kept_fields<'a>(&'a self, kind: &'a KindDef) -> impl Iterator<Item = (&'a str, &'a FieldType)> {
        let subject = self.subjects.get(kind.subject());
        kind.keeps.iter().filter_map(move |name| Some((name.as_str(), subject?.fields.get(name)?)))
    }

    /// What an entry of this kind keeps of what its event stated.
    pub fn keep_of<'v>(&self, kind: &KindDef, stated: impl Fn(&str) -> Option<&'v Value>) -> KeptFields {
        keep_fields(self.kept_fields(kind), stated)
    }
}
