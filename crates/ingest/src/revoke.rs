//! Revocations: an event that never should have been told, or a subject that is not there any more. They name no person;
//! what was said is noted once, and whoever tells or lists entries asks for it.

use catalogue::Catalogue;
use house_facts::recall::{self, REVOKE};
use model::{
    EntryKey, Event, EventKey, SubjectRef, Tenant, UtcMillis, VersionedState, event::FirstWord, id::BadName,
};
use serde_json::{Map, Value};
use store::StateKey;
use wire::CloudChange;

use crate::{
    admission_error::{AdmissionError, data_pointer, describe_bad_name, refuse_at, refuse_unknown_field},
    change::{key_of_several, parse_subjects},
    fact_data::check_declared,
};

/// The event, by its source and id.
const EVENT: &str = "event";

/// A revocation as it was admitted.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangeRevocation {
    pub tenant: Tenant,
    pub target: RevokeTarget,
    /// What occurred until then is meant.
    pub until: UtcMillis,
    /// Whether it says so itself.
    pub has_time: bool,
}

/// What is revoked.
#[derive(Clone, PartialEq, Debug)]
pub enum RevokeTarget {
    /// A change, by its source and id alone; its events, of which one has the same key unless there are several; and the
    /// subjects that were named beside it.
    Events { change: EventKey, events: Vec<EventKey>, occurred: UtcMillis, about: Vec<SubjectRef> },
    /// Subjects that are deleted: all there is about them until then.
    Subjects(Vec<SubjectRef>),
}

impl ChangeRevocation {
    /// Whose first word is asked for, and what it is if nobody spoke of the event yet: whoever does so later speaks of an
    /// event that is revoked.
    pub fn first_word(&self) -> Option<(EventKey, FirstWord)> {
        match &self.target {
            RevokeTarget::Events { change, .. } => {
                Some((*change, FirstWord { occurred: self.until, version: self.until.0 }))
            }
            RevokeTarget::Subjects(_) => None,
        }
    }

    /// The event lies where it was first said to have occurred.
    pub fn apply_first_word(&mut self, first: FirstWord) {
        if let RevokeTarget::Events { occurred, .. } = &mut self.target {
            *occurred = first.occurred;
        }
    }

    /// Events of its own, by which the fan-out finds whose icons may show a wrong number: those for whom there is something
    /// about its subjects.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        let (about, occurred) = match &self.target {
            RevokeTarget::Events { about, occurred, .. } => (about, *occurred),
            RevokeTarget::Subjects(subjects) => (subjects, self.until),
        };
        about.iter().map(move |subject| Event {
            tenant: self.tenant.clone(),
            key: EventKey::from_source_id(&self.tenant, REVOKE, &format!("{} {subject}", self.until)),
            what: REVOKE.to_owned(),
            subject: subject.clone(),
            actor: None,
            occurred,
            persons: Vec::new(),
            state: VersionedState::default(),
        })
    }

    /// What is noted of it.
    pub fn states(&self) -> Result<Vec<(StateKey, VersionedState)>, BadName> {
        let of_subject = |subject: SubjectRef| StateKey::Subject(self.tenant.clone(), subject);
        let noted = match &self.target {
            RevokeTarget::Events { events, occurred, .. } => {
                let keys: Vec<EntryKey> =
                    events.iter().map(|event| EntryKey { occurred: *occurred, event: *event }).collect();
                recall::note_revoked(&keys, self.until)?
            }
            RevokeTarget::Subjects(subjects) => {
                subjects.iter().map(|subject| (subject.clone(), recall::note_deleted(self.until))).collect()
            }
        };
        Ok(noted.into_iter().map(|(row, state)| (of_subject(row), state)).collect())
    }
}

/// Judges a revocation whose time is good.
pub(crate) fn judge_revocation(
    cloud: &CloudChange,
    tenant: &Tenant,
    until: UtcMillis,
    catalogue: &Catalogue,
) -> Result<ChangeRevocation, AdmissionError> {
    for (at, is_there) in [("/persons", !cloud.persons.is_empty()), ("/actor", cloud.actor.is_some())] {
        if is_there {
            return refuse_at(at, "a revocation is about an event or a subject, and about no person");
        }
    }
    let known = [EVENT, "subject"];
    if let Some(field) = cloud.data.keys().find(|field| !known.contains(&field.as_str())) {
        return refuse_unknown_field(field, &known);
    }
    let subjects = parse_subjects_of(cloud, catalogue)?;
    let target = match cloud.data.get(EVENT) {
        Some(event) => {
            let event = event.as_object();
            let event =
                event.ok_or_else(|| AdmissionError::new(data_pointer(EVENT), "it is not an object"))?;
            let (source, id) = (event_name(event, "source")?, event_name(event, "id")?);
            let change = EventKey::from_source_id(tenant, source, id);
            // Only whoever said the change knows whether it had several subjects.
            let of_several = subjects.iter().map(|subject| key_of_several(tenant, source, id, subject));
            let alone = (subjects.len() <= 1).then_some(change);
            RevokeTarget::Events {
                change,
                events: alone.into_iter().chain(of_several).collect(),
                occurred: until,
                about: subjects,
            }
        }
        None if subjects.is_empty() => {
            return refuse_at("/data", "it must have an `event` with its `source` and `id`, or a `subject`");
        }
        None => RevokeTarget::Subjects(subjects),
    };
    Ok(ChangeRevocation { tenant: tenant.clone(), target, until, has_time: cloud.time.is_some() })
}

/// The subjects that it names: as changes do, or in its data.
fn parse_subjects_of(cloud: &CloudChange, catalogue: &Catalogue) -> Result<Vec<SubjectRef>, AdmissionError> {
    let named = match cloud.data.get("subject") {
        None if cloud.subject.is_none() && cloud.subjects.is_empty() => return Ok(Vec::new()),
        None => parse_subjects(cloud.subject.as_ref(), &cloud.subjects)?,
        Some(_) if cloud.subject.is_some() || !cloud.subjects.is_empty() => {
            return refuse_at(data_pointer("subject"), "there is another one beside the data");
        }
        Some(Value::String(text)) => {
            let at = data_pointer("subject");
            let subject =
                SubjectRef::new(text).map_err(|bad| AdmissionError::new(&at, describe_bad_name(&bad)))?;
            vec![(at, subject)]
        }
        Some(_) => return refuse_at(data_pointer("subject"), "it is not a text"),
    };
    for (at, subject) in &named {
        check_declared(subject, at, catalogue)?;
    }
    Ok(named.into_iter().map(|(_, subject)| subject).collect())
}

fn event_name<'a>(event: &'a Map<String, Value>, field: &str) -> Result<&'a str, AdmissionError> {
    let at = format!("{}/{field}", data_pointer(EVENT));
    match event.get(field) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
        _ => refuse_at(at, format!("an event is named by its `source` and `id`: `{field}` is missing")),
    }
}
