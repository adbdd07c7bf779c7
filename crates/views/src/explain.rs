//! Why a person was or was not told of an event: from the rows of their day, the event as it lies in the log,
//! and the rules that fan-out, digest and sender go by.
//!
//! [`load_evidence`] reads, [`check_target`] refuses what was asked wrongly, [`explain_events`] decides what to say; only the first
//! reads anything.

mod editions;
mod explanation;
mod load;
mod refusal;
mod spans;

#[cfg(test)]
mod tests;

use ingest::change::key_of_several;
use model::{EntryKey, EventKey, SubjectRef, Tenant, UtcMillis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use explanation::explain_events;
pub use load::{load_days, load_evidence};
pub use refusal::{LookupRefusal, check_target, explain_absence};

/// Which event is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExplainTarget {
    Event(EventKey),
    /// As an entry of a person names it.
    Entry(EntryKey),
    /// Every event of a change: it has one for each of its subjects.
    Change {
        source: String,
        id: String,
    },
    /// Every event about a subject that the log still has.
    Subject(SubjectRef),
}

impl ExplainTarget {
    /// `32 hexadecimal digits`, an entry as `tidings days` names it, `type:id`, or `source/id` of a change.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(key) = EventKey::parse(text) {
            return Some(Self::Event(key));
        }
        match text.rsplit_once('/') {
            None => SubjectRef::new(text).ok().map(Self::Subject),
            Some((source, id)) => match UtcMillis::parse(source) {
                Some(occurred) => EventKey::parse(id).map(|event| Self::Entry(EntryKey { occurred, event })),
                None => Some(Self::Change { source: source.to_owned(), id: id.to_owned() }),
            },
        }
    }

    /// Whether the event of this key and subject is meant.
    fn means(&self, tenant: &Tenant, key: EventKey, subject: &SubjectRef) -> bool {
        match self {
            Self::Event(event) | Self::Entry(EntryKey { event, .. }) => *event == key,
            Self::Subject(of) => of == subject,
            Self::Change { source, id } => {
                EventKey::from_source_id(tenant, source, id) == key
                    || key_of_several(tenant, source, id, subject) == key
            }
        }
    }

    /// The one event that is meant, where it cannot be several.
    fn single(&self, tenant: &Tenant) -> Option<EventKey> {
        match self {
            Self::Event(event) | Self::Entry(EntryKey { event, .. }) => Some(*event),
            // Of a change with one subject; if none is of this key, it had several.
            Self::Change { source, id } => Some(EventKey::from_source_id(tenant, source, id)),
            Self::Subject(_) => None,
        }
    }
}

/// What is said of one event and one person.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct EventExplanation {
    pub event: String,
    pub entry: String,
    pub what: String,
    pub subject: String,
    pub occurred: String,
    pub steps: Vec<ExplanationStep>,
    /// In a word: `told`, `waiting`, or why not.
    pub verdict: String,
}

/// One finding, in the order of the way.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct ExplanationStep {
    pub found: StepBearing,
    pub text: String,
}

/// What a finding means for being told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepBearing {
    /// It speaks for it.
    For,
    /// It stands against it.
    Against,
    /// It is worth knowing.
    Note,
}
