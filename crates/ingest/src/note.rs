//! Notes: what was accepted and is probably not what was meant.

use std::fmt;

use catalogue::{
    Catalogue, KindDef,
    problem::{did_you_mean, nearest},
};

use crate::change::Change;

/// That a change tells nobody, and which name was probably meant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Note {
    what: String,
    help: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no kind is told on `{}`: {}", self.what, self.help)
    }
}

/// A note on a change that no kind is told on, if its name is near to one that a kind is on. Only kinds
/// about the same type of subject are asked, and of two names that begin with it only the rest is compared:
/// otherwise every name of a long type is near to every other.
pub fn of(change: &Change, catalogue: &Catalogue) -> Option<Note> {
    let what = change.what.as_str();
    if catalogue.kinds_on(what).next().is_some() {
        return None;
    }
    let subject = change.subjects.first()?.1.kind();
    let names: Vec<&str> = catalogue
        .kinds
        .values()
        .filter(|kind| kind.subject() == subject)
        .map(|kind: &KindDef| kind.on.as_str())
        .collect();
    let verb =
        |name: &'_ str| name.strip_prefix(subject).and_then(|rest| rest.strip_prefix('.')).map(str::to_owned);
    let help = match verb(what) {
        None => did_you_mean(what, names),
        Some(said) => {
            let verbs: Vec<String> = names.iter().filter_map(|name| verb(name)).collect();
            let near = nearest(&said, verbs.iter().map(String::as_str));
            // What only has something before it means something else: `unpublished`, `reopened`.
            let near = near.filter(|near| !said.ends_with(near));
            near.map(|near| format!("did you mean `{subject}.{near}`?"))
        }
    };
    Some(Note { what: what.to_owned(), help: help? })
}
