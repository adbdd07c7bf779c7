//! Example data, made from the declared types, with which `check` renders every kind.

use model::{Cell, Millis, Place, State, SubjectRef, Value};

use crate::{Catalogue, subjects::FieldType};

/// A Friday evening, so that texts with days and times look like something.
const EXAMPLE_TIME: &str = "2026-11-27T18:00:00Z";

impl Catalogue {
    /// A subject of this type with every field set; empty for a type that is not declared.
    pub fn example(&self, subject: &str) -> State {
        let mut state = State::default();
        let Some(declared) = self.subjects.get(subject) else { return state };
        for (name, field) in &declared.fields {
            if let Some(value) = value(subject, name, field) {
                state.set(name, Cell { version: 1, value: Some(value) });
            }
        }
        state
    }

    /// A subject of this type, by the number that tells it from the others.
    pub fn example_ref(subject: &str, number: usize) -> Option<SubjectRef> {
        SubjectRef::new(&format!("{subject}:{number}")).ok()
    }
}

fn value(subject: &str, name: &str, field: &FieldType) -> Option<Value> {
    Some(match field {
        FieldType::Text => Value::text(&format!("The {name} of a {subject}")),
        FieldType::Url => Value::text(&format!("https://example.com/{subject}/{name}")),
        FieldType::Number => Value::Number(1.0),
        FieldType::Flag => Value::Flag(true),
        FieldType::Time => Value::Time(Millis::parse(EXAMPLE_TIME)?),
        FieldType::Ref(target) => Value::Ref(Catalogue::example_ref(target, 1)?),
        FieldType::Refs(target) => {
            Value::Refs(vec![Catalogue::example_ref(target, 1)?, Catalogue::example_ref(target, 2)?])
        }
        // By the name of the field, so that two fields are two persons.
        FieldType::Person => Value::text(name),
        FieldType::Place => Value::Place(Place { lat: 52.52, lon: 13.4 }),
    })
}
