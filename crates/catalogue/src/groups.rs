//! Heads: the field by which what a section tells stands together, and the field whose picture leads a mail.

use std::collections::{BTreeMap, BTreeSet};

use model::{FieldType, SubjectType, plan::Plan};
use source_text::{did_you_mean, yaml::TreePlace};

use crate::{kinds, tree_reader::TreeReader};

/// Whether things can stand under what a field says.
fn is_head(field: &FieldType) -> bool {
    matches!(field, FieldType::Ref(_) | FieldType::Refs(_) | FieldType::Text)
}

/// Every subject of a section has the field by which it is grouped.
pub(crate) fn check_group_field(
    reader: &mut TreeReader<'_>,
    field: &str,
    at: TreePlace,
    subject: &SubjectType,
) {
    match subject.fields.get(field) {
        Some(found) if is_head(found) => {}
        Some(found) => {
            let what = format!("`{field}` is {found}, but entries are grouped by a ref, refs or a text");
            reader.problem(at, what);
        }
        None => {
            let fitting = subject.fields.iter().filter(|(_, found)| is_head(found));
            let help = did_you_mean(field, fitting.map(|(name, _)| name.as_str()));
            reader.problem_with(at, format!("`{}` has no field `{field}` to group by", subject.name), help);
        }
    }
}

/// The types of the subjects that are heads of a plan's sections.
pub(crate) fn head_types(
    plan: &Plan,
    kinds: &[kinds::KindDraft],
    subjects: &BTreeMap<String, SubjectType>,
) -> BTreeSet<String> {
    let mut heads = BTreeSet::new();
    for section in &plan.sections {
        let Some(group) = &section.group else { continue };
        let told = kinds.iter().filter(|kind| section.kinds.contains(&kind.name));
        let fields = told.filter_map(|kind| kind.subject(subjects)?.fields.get(group)?.target());
        heads.extend(fields.map(str::to_string));
    }
    heads
}

/// At least one subject of a mail has the picture by which the first thing is chosen.
pub(crate) fn check_lead_field(
    reader: &mut TreeReader<'_>,
    (field, at): (&str, TreePlace),
    types: &BTreeSet<String>,
    subjects: &BTreeMap<String, SubjectType>,
) {
    let fields = || types.iter().filter_map(|name| subjects.get(name)).flat_map(|subject| &subject.fields);
    if fields().any(|(name, found)| name == field && *found == FieldType::Url) {
        return;
    }
    let fitting = fields().filter(|(_, found)| **found == FieldType::Url).map(|(name, _)| name.as_str());
    let help = did_you_mean(field, fitting)
        .or_else(|| Some("`lead` must be the field of type `url` that has the picture".to_string()));
    reader.problem_with(at, format!("no subject of this mail has a `url` field `{field}`"), help);
}
