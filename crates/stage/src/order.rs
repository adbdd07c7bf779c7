//! Which of two lines is the later one, where their time does not say it: then nobody can, the house
//! included, and the scenario is refused.

use model::Millis;
use serde_json::{Map, Value};

use crate::scenario::{Act, Line, What};

/// Whether both lines state different things about the same, as of the same instant.
pub(crate) fn undecided(before: &Line, at: Millis, what: &What) -> bool {
    let (What::Do(a), What::Do(b)) = (&before.what, what) else { return false };
    match (a, b) {
        (Act::Profile { person, fields }, Act::Profile { person: other, fields: theirs }) => {
            before.until == at && person == other && differ(fields, theirs)
        }
        (
            Act::Follow { person, target, on },
            Act::Follow { person: other, target: theirs, on: theirs_on },
        ) => before.until == at && (person, target) == (other, theirs) && on != theirs_on,
        (Act::Event(a), Act::Event(b)) => {
            let as_of = |event: &crate::scenario::Event| event.version.unwrap_or(event.at.0);
            as_of(a) == as_of(b) && a.subject == b.subject && differ(&a.fields, &b.fields)
        }
        _ => false,
    }
}

fn differ(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.iter().any(|(name, value)| b.get(name).is_some_and(|other| other != value))
}
