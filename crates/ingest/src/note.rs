//! Notes: what was accepted and is probably not what was meant.

use std::{collections::BTreeSet, fmt};

use catalogue::{Audience, Catalogue, KindDef};
use source_text::{did_you_mean, nearest_name, quote_text};
use wire::CloudChange;

use crate::{
    change::AdmittedChange,
    config::{STRANGE_FIELDS_MAX, STRANGE_NAME_BYTES_MAX},
    preference::PreferenceFact,
};

/// Why a change tells nobody, or fewer than it could, or less than it says; or why a choice is none.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ChangeNote {
    /// No kind is told on it, and which name was probably meant.
    NoKind { what: String, help: String },
    /// A kind is told to the persons whom the change lists, and there are none.
    NobodyListed { what: String },
    /// No such field is declared, and which one was probably meant.
    NoField { field: String, help: String },
    /// A choice of a person changes nothing, for this reason.
    IdleChoice { why: String },
}

impl fmt::Display for ChangeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKind { what, help } => write!(f, "no kind is on `{what}`: {help}"),
            Self::NobodyListed { what } => {
                let why = "no persons are listed, so kinds with `to: listed` tell nobody";
                write!(f, "`{what}`: {why}")
            }
            Self::NoField { field, help } => write!(f, "the field `{field}` is not known; {help}"),
            Self::IdleChoice { why } => write!(f, "this choice changes nothing: {why}"),
        }
    }
}

/// Looks for fields that are near to a declared one. Services send much that is none of our business, the same in each
/// change: each name is looked at once.
#[derive(Debug, Default)]
pub struct StrangeFieldNotes {
    looked_at: BTreeSet<(String, String)>,
}

impl StrangeFieldNotes {
    /// The notes on what a change states, as it came.
    pub fn note_fields(&mut self, cloud: &CloudChange, catalogue: &Catalogue) -> Vec<ChangeNote> {
        let mut notes = Vec::new();
        for subject in cloud.subject.iter().chain(&cloud.subjects) {
            let kind = subject.split(':').next().unwrap_or_default();
            let Some(declared) = catalogue.subjects.get(kind) else { continue };
            let strange = cloud.data.keys().filter(|name| !declared.fields.contains_key(*name));
            for name in strange.filter(|name| name.len() <= STRANGE_NAME_BYTES_MAX) {
                let known = (kind.to_owned(), name.clone());
                if self.looked_at.len() >= STRANGE_FIELDS_MAX || !self.looked_at.insert(known) {
                    continue;
                }
                let fields = declared.fields.keys().map(|field| field.as_str());
                let near = nearest_name(name, fields.chain(missing_attributes(cloud)));
                // Who says both means two things.
                if let Some(near) = near.filter(|near| !cloud.data.contains_key(*near)) {
                    let help = format!("did you mean `{near}`?");
                    notes.push(ChangeNote::NoField { field: quote_text(name), help });
                }
            }
        }
        notes
    }
}

/// The attributes that a change may have and does not: where they stand beside its fields, a misspelt one is a field.
fn missing_attributes(cloud: &CloudChange) -> impl Iterator<Item = &str> {
    let missing = [
        ("actor", cloud.actor.is_none()),
        ("persons", cloud.persons.is_empty()),
        ("time", cloud.time.is_none()),
        ("version", cloud.version.is_none()),
    ];
    missing.into_iter().filter_map(|(name, is_missing)| is_missing.then_some(name))
}

/// The note on a choice that changes nothing in any catalogue that persons have. One that is taken back needs no reason.
pub fn note_preference(fact: &PreferenceFact, catalogue: &Catalogue) -> Option<ChangeNote> {
    fact.choice?;
    let reasons: Option<Vec<String>> =
        catalogue.arms().map(|(_, arm)| arm.explain_idle_choice(&fact.name)).collect();
    Some(ChangeNote::IdleChoice { why: reasons?.into_iter().next()? })
}

/// The note on a change, if there is one.
pub fn note_change(change: &AdmittedChange, catalogue: &Catalogue) -> Option<ChangeNote> {
    let what = change.what.as_str();
    let mut kinds = catalogue.kinds_of_arms_on(what).peekable();
    if kinds.peek().is_none() {
        return near_miss(change, catalogue);
    }
    let is_missed = change.persons.is_empty() && kinds.any(|kind| kind.to == Audience::Listed);
    is_missed.then(|| ChangeNote::NobodyListed { what: what.to_owned() })
}

/// A change that no kind is told on, if its name is near to one that a kind is on. Only kinds about the same
/// type of subject are asked, and of two names that begin with it only the rest is compared: otherwise every
/// name of a long type is near to every other.
fn near_miss(change: &AdmittedChange, catalogue: &Catalogue) -> Option<ChangeNote> {
    let what = change.what.as_str();
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
            let near = nearest_name(&said, verbs.iter().map(String::as_str));
            // What only has something before it means something else: `unpublished`, `reopened`.
            let near = near.filter(|near| !said.ends_with(near));
            near.map(|near| format!("did you mean `{subject}.{near}`?"))
        }
    };
    Some(ChangeNote::NoKind { what: what.to_owned(), help: help? })
}
