//! Names that a client gives, sought in the catalogue: one that is misspelt would show an empty feed, and nobody would know why.

use std::collections::BTreeSet;

use catalogue::Catalogue;
use model::{Kind, SubjectRef};
use source_text::suggest_name;
use web::limits::QUOTED_CHARS_MAX;

/// A kind that either arm of the catalogue has: a client need not know which one the person has.
pub fn find_kind(name: &str, catalogue: &Catalogue) -> Result<Kind, String> {
    let known = catalogue.arms().flat_map(|(_, of)| of.kinds.keys().map(Kind::as_str));
    check_name(name, "kind", &known.collect())?;
    Kind::new(name).map_err(|bad| bad.to_string())
}

/// A category of either arm.
pub fn find_category(name: &str, catalogue: &Catalogue) -> Result<String, String> {
    let known = catalogue.arms().flat_map(|(_, of)| of.categories.keys().map(String::as_str));
    check_name(name, "category", &known.collect())?;
    Ok(name.to_owned())
}

/// A subject of a type that either arm has; whether anything is known of it does not matter.
pub fn find_thread(name: &str, catalogue: &Catalogue) -> Result<SubjectRef, String> {
    if name.is_empty() {
        return Err("it is empty: name a subject, as type:id".to_owned());
    }
    let thread = SubjectRef::new(name).map_err(|bad| bad.to_string())?;
    let known = catalogue.arms().flat_map(|(_, of)| of.subjects.keys().map(String::as_str));
    check_name(thread.kind(), "type of subject", &known.collect())?;
    Ok(thread)
}

fn check_name(name: &str, sort: &str, known: &BTreeSet<&str>) -> Result<(), String> {
    if known.contains(name) {
        return Ok(());
    }
    if name.is_empty() {
        return Err(format!("it is empty: name a {sort}"));
    }
    let quoted: String = name.chars().take(QUOTED_CHARS_MAX).collect();
    let help = suggest_name(&quoted, known.iter().copied());
    Err(format!("there is no {sort} `{quoted}`: {help}"))
}
