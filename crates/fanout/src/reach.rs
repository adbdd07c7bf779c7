//! Reaches: whose followers the events of a turn are for.

use std::{collections::BTreeMap, slice};

use catalogue::{Audience, Catalogue, KindDef, SUBJECT};
use model::{Event, Kind, State, SubjectRef, Tenant, Value};
use store::StateKey;

/// The followers of one subject, and what they are to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    pub tenant: Tenant,
    pub target: SubjectRef,
    /// Events, by their place in the turn, and the kind that names the target.
    pub told: Vec<(usize, Kind)>,
}

/// States of the subjects that events of a turn are about, as they are stored.
pub type Stored = BTreeMap<StateKey, State>;

/// The subjects whose stored states must be asked: an event need not state every field, and the audience
/// is then that of the subject as it is known.
pub fn unstated(events: &[Event], catalogue: &Catalogue) -> Vec<StateKey> {
    let lacks = |event: &&Event| {
        let mut fields = kinds(event, catalogue).flat_map(fields);
        fields.any(|field| field != SUBJECT && !event.state.cells.contains_key(field))
    };
    let mut keys: Vec<StateKey> = events.iter().filter(lacks).map(subject).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Whom the events of a turn are for; each subject's followers stand there once, whatever they are told.
pub fn reaches(events: &[Event], stored: &Stored, catalogue: &Catalogue) -> Vec<Reach> {
    let mut told: BTreeMap<(&Tenant, &SubjectRef), Vec<(usize, Kind)>> = BTreeMap::new();
    for (place, event) in events.iter().enumerate() {
        for kind in kinds(event, catalogue) {
            for target in fields(kind).flat_map(|field| targets(event, field, stored)) {
                let told = told.entry((&event.tenant, target)).or_default();
                let one = (place, kind.name.clone());
                // Two fields of one kind may name the same subject: that is one reason.
                if told.last() != Some(&one) {
                    told.push(one);
                }
            }
        }
    }
    let reach = |((tenant, target), told): ((&Tenant, &SubjectRef), _)| Reach {
        tenant: tenant.clone(),
        target: target.clone(),
        told,
    };
    told.into_iter().map(reach).collect()
}

/// The kinds that an event is told under.
fn kinds<'a>(event: &'a Event, catalogue: &'a Catalogue) -> impl Iterator<Item = &'a KindDef> {
    catalogue.kinds_on(&event.what).filter(|kind| kind.subject() == event.subject.kind())
}

fn fields(kind: &KindDef) -> impl Iterator<Item = &str> {
    let Audience::FollowersOf(fields) = &kind.to;
    fields.iter().map(String::as_str)
}

/// What a field refers to: as the event states it (also if it states that there is nothing), else as stored.
fn targets<'a>(event: &'a Event, field: &str, stored: &'a Stored) -> &'a [SubjectRef] {
    if field == SUBJECT {
        return slice::from_ref(&event.subject);
    }
    let value = match event.state.cells.get(field) {
        Some(cell) => cell.value.as_ref(),
        None => stored.get(&subject(event)).and_then(|state| state.get(field)),
    };
    value.map_or(&[], Value::refs)
}

fn subject(event: &Event) -> StateKey {
    StateKey::Subject(event.tenant.clone(), event.subject.clone())
}
