//! Why a person was or was not told of an event: from the rows of their day, the event as it lies in the log,
//! and the rules that fan-out, digest and sender go by.
//!
//! [`gather`] reads, [`tell`] decides what to say and reads nothing.

mod gather;
mod tell;

#[cfg(test)]
mod tests;

use model::{EventKey, Millis, SubjectRef, Tenant};
use serde::{Deserialize, Serialize};

pub use gather::gather;
pub use tell::tell;

/// Which event is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    Event(EventKey),
    /// Every event about a subject that the log still has.
    Subject(SubjectRef),
}

impl Asked {
    /// `32 hexadecimal digits`, an entry as `tidings days` names it, `type:id`, or `source/id` of a change.
    pub fn parse(text: &str, tenant: &Tenant) -> Option<Self> {
        if let Some(key) = EventKey::parse(text) {
            return Some(Self::Event(key));
        }
        match text.rsplit_once('/') {
            None => SubjectRef::new(text).ok().map(Self::Subject),
            Some((occurred, key)) if Millis::parse(occurred).is_some() => {
                EventKey::parse(key).map(Self::Event)
            }
            Some((source, id)) => Some(Self::Event(EventKey::of(tenant, source, id))),
        }
    }
}

/// What is said of one event and one person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Explanation {
    pub event: String,
    pub entry: String,
    pub what: String,
    pub subject: String,
    pub occurred: String,
    pub steps: Vec<Step>,
    /// In a word: `told`, `waiting`, or why not.
    pub verdict: String,
}

/// One finding, in the order of the way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    pub found: Found,
    pub text: String,
}

/// What a finding means for being told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// It speaks for it.
    For,
    /// It stands against it.
    Against,
    /// It is worth knowing.
    Note,
}
