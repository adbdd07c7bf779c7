//! Example data, made from the declared types, with which `check` renders every kind and a preview renders one.

use model::{
    AudienceMatch, FieldType, GeoPoint, Person, SubjectRef, UtcMillis, Value, ValueCell, VersionedState,
    entry::PersonScore, limits::DAY_MS, time::AskedMoment,
};

use crate::{Audience, Catalogue, KindDef, truth::referred_subjects};

/// A Friday evening, so that texts with days and times look like something.
const EXAMPLE_TIME: &str = "2026-11-27T18:00:00Z";

/// When example data is asked whether it holds: before the times that stand in it.
pub fn example_moment() -> AskedMoment {
    let at = UtcMillis::parse(EXAMPLE_TIME).unwrap_or(UtcMillis(0)).plus(-DAY_MS);
    AskedMoment { now: at, due: at }
}

impl Catalogue {
    /// A subject of this type with every field set; empty for a type that is not declared.
    pub fn example(&self, subject: &str) -> VersionedState {
        let mut state = VersionedState::default();
        let Some(declared) = self.subjects.get(subject) else { return state };
        for (name, field) in &declared.fields {
            if let Some(value) = example_value(subject, name, field) {
                state.set(name, ValueCell { version: 1, value: Some(value) });
            }
        }
        state
    }

    /// A subject of this type, by the number that tells it from the others.
    pub fn example_ref(subject: &str, number: usize) -> Option<SubjectRef> {
        SubjectRef::new(&format!("{subject}:{number}")).ok()
    }
}

impl KindDef {
    /// How its audience finds somebody for a subject in this state; of two who are told of each other, `other` is the
    /// one who is not the reader.
    pub fn audience_matches(
        &self,
        subject: &SubjectRef,
        state: &VersionedState,
        other: Option<Person>,
    ) -> Vec<AudienceMatch> {
        let one = match &self.to {
            Audience::FollowersOf(fields) | Audience::SubscribersOf(fields) => {
                let referred = referred_subjects(subject, Some(state), fields);
                return referred.into_iter().cloned().map(AudienceMatch::Follows).collect();
            }
            Audience::Near { .. } => Some(AudienceMatch::Near),
            Audience::Person(_) => Some(AudienceMatch::Named),
            Audience::Mutual(..) => other.map(AudienceMatch::Mutual),
            Audience::Listed => Some(AudienceMatch::Listed(PersonScore::default())),
            Audience::Everyone => Some(AudienceMatch::Everyone),
        };
        one.into_iter().collect()
    }
}

fn example_value(subject: &str, name: &str, field: &FieldType) -> Option<Value> {
    Some(match field {
        FieldType::Text => Value::from_text(&format!("Example {name}")),
        FieldType::Url => Value::from_text(&format!("https://example.com/{subject}/{name}")),
        FieldType::Number => Value::Number(1.0),
        FieldType::Flag => Value::Flag(true),
        FieldType::Time => Value::Time(UtcMillis::parse(EXAMPLE_TIME)?),
        FieldType::Ref(target) => Value::Ref(Catalogue::example_ref(target, 1)?),
        FieldType::Refs(target) => {
            Value::Refs(vec![Catalogue::example_ref(target, 1)?, Catalogue::example_ref(target, 2)?])
        }
        // By the name of the field, so that two fields are two persons.
        FieldType::Person => Value::from_text(name),
        FieldType::Place => Value::Place(GeoPoint { lat: 52.52, lon: 13.4 }),
    })
}
