//! Names that somebody outside gives, sought in the catalogue: one that is misspelt would choose or show nothing, and nobody would
//! know why.

use std::collections::BTreeSet;

use catalogue::Catalogue;
use model::{Kind, SubjectRef};
use source_text::{quote_text, suggest_name};

/// A sort of names, and the key of the catalogue below which they are.
type NameSort = (&'static str, &'static str);

/// A kind that either arm of the catalogue has: nobody outside need know which one a person has.
pub fn find_kind(name: &str, catalogue: &Catalogue) -> Result<Kind, String> {
    let known = catalogue.arms().flat_map(|(_, of)| of.kinds.keys().map(Kind::as_str));
    check_name(name, ("kind", "kinds"), &known.collect())?;
    Kind::new(name).map_err(|bad| bad.to_string())
}

/// A category of either arm.
pub fn find_category(name: &str, catalogue: &Catalogue) -> Result<String, String> {
    let known = catalogue.arms().flat_map(|(_, of)| of.categories.keys().map(String::as_str));
    check_name(name, ("category", "categories"), &known.collect())?;
    Ok(name.to_owned())
}

/// A subject of a type that either arm has; whether anything is known of it does not matter.
pub fn find_thread(name: &str, catalogue: &Catalogue) -> Result<SubjectRef, String> {
    if name.is_empty() {
        return Err("it is empty: name a subject, as type:id".to_owned());
    }
    let thread = SubjectRef::new(name).map_err(|bad| bad.to_string())?;
    let known = catalogue.arms().flat_map(|(_, of)| of.subjects.keys().map(String::as_str));
    check_name(thread.kind(), ("type of subject", "subjects"), &known.collect())?;
    Ok(thread)
}

fn check_name(name: &str, (sort, sorts): NameSort, known: &BTreeSet<&str>) -> Result<(), String> {
    if known.contains(name) {
        return Ok(());
    }
    if name.is_empty() {
        return Err(format!("it is empty: name a {sort}"));
    }
    let quoted = quote_text(name);
    let help = match known.is_empty() {
        true => format!("the catalogue declares no `{sorts}`"),
        false => suggest_name(&quoted, known.iter().copied()),
    };
    Err(format!("there is no {sort} `{quoted}`: {help}"))
}
