//! Changes: what happened to a subject or to several at once, and whom the change itself lists.

use std::collections::BTreeMap;

use catalogue::{Audience, Catalogue, SubjectFieldError};
use model::{
    Actor, Event, EventKey, ListedPerson, Person, PersonScore, SubjectRef, Tenant, UtcMillis, VersionedState,
    event::FirstWord,
    fault::{self, PlantedFault},
    limits::ID_BYTES_MAX,
};
use source_text::{did_you_mean, list_choices};
use topic::RecordHeaders;
use wire::{CloudChange, cloud_event::CloudPerson, token::LinkSecret};

use crate::{
    actor,
    admission_error::{AdmissionError, data_pointer, describe_bad_name, refuse_at},
    config::{EXTRA_BYTES_MAX, LISTED_MAX, PERSONS_MAX, SUBJECTS_MAX},
    fact_data::check_declared,
};

/// An admitted change: as many events as it has subjects, written out only when they are announced.
#[derive(Clone, PartialEq, Debug)]
pub struct AdmittedChange {
    pub tenant: Tenant,
    pub what: String,
    pub actor: Option<Actor>,
    /// By its source and id alone.
    pub key: EventKey,
    pub occurred: UtcMillis,
    /// Of all that is stated.
    pub version: i64,
    pub stated: StatedAttributes,
    /// Each once, in the order of the change.
    pub subjects: Vec<(EventKey, SubjectRef)>,
    /// What is stated of the subjects, by their type.
    pub states: BTreeMap<String, VersionedState>,
    /// Each once, in order.
    pub persons: Vec<ListedPerson>,
    /// What stands beside each of its events: that it is there once more.
    pub headers: RecordHeaders,
}

/// What a change says itself, so that nothing else decides it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StatedAttributes {
    pub time: bool,
    pub version: bool,
}

impl AdmittedChange {
    /// What stands of it if it is heard for the first time.
    pub fn first_word(&self) -> FirstWord {
        FirstWord { occurred: self.occurred, version: self.version }
    }

    /// It is the same change however often, and with whatever time, it is said: what was heard first stands.
    pub fn apply_first_word(&mut self, first: FirstWord) {
        if fault::is_planted(PlantedFault::LastTimeStands) {
            return;
        }
        self.occurred = first.occurred;
        if !self.stated.version {
            self.set_version(first.version);
        }
    }

    pub(crate) fn set_version(&mut self, version: i64) {
        self.version = version;
        let cells = self.states.values_mut().flat_map(|state| state.cells.values_mut());
        cells.for_each(|cell| cell.version = version);
    }

    pub fn events(&self) -> impl Iterator<Item = Event> {
        self.subjects.iter().map(|(key, subject)| Event {
            tenant: self.tenant.clone(),
            key: *key,
            what: self.what.clone(),
            subject: subject.clone(),
            actor: self.actor.clone(),
            occurred: self.occurred,
            persons: self.persons.clone(),
            state: self.states.get(subject.kind()).cloned().unwrap_or_default(),
        })
    }

    /// About how many bytes its events take beyond what came in: those of one subject take no more than
    /// the change itself, of which there are only so many.
    pub fn extra_bytes(&self) -> usize {
        const NUMBERS: usize = 24;
        if self.subjects.len() == 1 {
            return 0;
        }
        let persons = self.persons.iter().map(|listed| listed.person.as_str().len() + NUMBERS);
        let cells = self.states.values().flat_map(|state| &state.cells);
        let cells = cells.map(|(name, cell)| {
            name.len() + NUMBERS + cell.value.as_ref().map_or(0, |value| value.to_string().len())
        });
        self.subjects.len() * (persons.sum::<usize>() + cells.sum::<usize>())
    }
}

/// Judges a change whose time is good.
pub(crate) fn judge_change(
    cloud: CloudChange,
    tenant: &Tenant,
    occurred: UtcMillis,
    catalogue: &Catalogue,
    secret: &LinkSecret,
) -> Result<AdmittedChange, AdmissionError> {
    for (name, text) in [("/id", &cloud.id), ("/source", &cloud.source), ("/type", &cloud.what)] {
        if text.trim().is_empty() {
            return refuse_at(name, "it is empty");
        }
    }
    if cloud.what.len() > ID_BYTES_MAX || cloud.what.chars().any(char::is_control) {
        return refuse_at("/type", format!("it has more than {ID_BYTES_MAX} bytes or a control character"));
    }
    let subjects = parse_subjects(cloud.subject.as_ref(), &cloud.subjects)?;
    let version = cloud.version.unwrap_or(occurred.0);
    let stated = StatedAttributes { time: cloud.time.is_some(), version: cloud.version.is_some() };
    let mut states = BTreeMap::new();
    for (at, subject) in &subjects {
        check_declared(subject, at, catalogue)?;
        check_subject_type(&cloud.what, subject, at, catalogue)?;
        // What may be stated depends on the type alone.
        if !states.contains_key(subject.kind()) {
            let state = catalogue.state(subject, &cloud.data, version).map_err(|bad| match &bad {
                SubjectFieldError::Subject { .. } => AdmissionError::new(at, bad.to_string()),
                SubjectFieldError::Field { field, .. } => {
                    AdmissionError::new(data_pointer(field), bad.to_string())
                }
            })?;
            states.insert(subject.kind().to_owned(), state);
        }
    }
    let persons = parse_listed(&cloud, subjects.len(), catalogue)?;
    let actor = actor::parse_actor(&cloud, tenant, secret)?;
    let subjects = key_subjects(tenant, &cloud, subjects)?;
    let key = EventKey::from_source_id(tenant, &cloud.source, &cloud.id);
    let (tenant, what, headers) = (tenant.clone(), cloud.what, RecordHeaders::new());
    let change = AdmittedChange {
        tenant,
        what,
        actor,
        key,
        occurred,
        version,
        stated,
        subjects,
        states,
        persons,
        headers,
    };
    match change.extra_bytes() {
        0..=EXTRA_BYTES_MAX => Ok(change),
        more => {
            let reason = format!("written out for each subject, the change has {more} bytes");
            refuse_at("/subjects", format!("{reason}, more than {EXTRA_BYTES_MAX}: send it in parts"))
        }
    }
}

/// The subjects, each once, with where they stand.
pub(crate) fn parse_subjects(
    one: Option<&String>,
    several: &[String],
) -> Result<Vec<(String, SubjectRef)>, AdmissionError> {
    let many = several.iter().enumerate().map(|(i, text)| (format!("/subjects/{i}"), text));
    let given: Vec<(String, &String)> = match (one, several.len()) {
        (None, 0) => return refuse_at("/subject", "`subject` is missing"),
        (Some(one), 0) => vec![("/subject".to_owned(), one)],
        (None, 1..=SUBJECTS_MAX) => many.collect(),
        (None, more) => return refuse_at("/subjects", format!("{more} subjects, more than {SUBJECTS_MAX}")),
        (Some(_), _) => return refuse_at("/subjects", "there is `subject` beside it"),
    };
    let mut subjects: Vec<(String, SubjectRef)> = Vec::new();
    for (at, text) in given {
        let subject =
            SubjectRef::new(text).map_err(|bad| AdmissionError::new(&at, describe_bad_name(&bad)))?;
        if !subjects.iter().any(|(_, other)| *other == subject) {
            subjects.push((at, subject));
        }
    }
    Ok(subjects)
}

/// The key of each event. That of one subject alone is the change's own; of several, the subject is a part
/// of it, so that the same change again gives the same keys in whatever order it lists them.
fn key_subjects(
    tenant: &Tenant,
    cloud: &CloudChange,
    subjects: Vec<(String, SubjectRef)>,
) -> Result<Vec<(EventKey, SubjectRef)>, AdmissionError> {
    let alone = subjects.len() == 1;
    if !alone && cloud.id.contains(SEPARATOR) {
        return refuse_at("/id", "it has a control character");
    }
    let key = |subject: &SubjectRef| {
        let (source, id) = (&cloud.source, &cloud.id);
        if alone {
            EventKey::from_source_id(tenant, source, id)
        } else {
            key_of_several(tenant, source, id, subject)
        }
    };
    Ok(subjects.into_iter().map(|(_, subject)| (key(&subject), subject)).collect())
}

/// The key of one event of a change that has several subjects.
pub fn key_of_several(tenant: &Tenant, source: &str, id: &str, subject: &SubjectRef) -> EventKey {
    EventKey::from_source_id(tenant, source, &format!("{id}{SEPARATOR}{subject}"))
}

/// Between the id of a change and the subject of one of its events.
const SEPARATOR: char = '\0';

/// The subjects that events of this name are about are those of its kinds; other names are free.
fn check_subject_type(
    what: &str,
    subject: &SubjectRef,
    at: &str,
    catalogue: &Catalogue,
) -> Result<(), AdmissionError> {
    match catalogue.kinds_of_arms_on(what).find(|kind| kind.subject() != subject.kind()) {
        None => Ok(()),
        Some(kind) => refuse_at(at, format!("`{what}` is about `{}:id`, not `{subject}`", kind.subject())),
    }
}

/// Whom the change lists, each once with their best score.
fn parse_listed(
    cloud: &CloudChange,
    subjects: usize,
    catalogue: &Catalogue,
) -> Result<Vec<ListedPerson>, AdmissionError> {
    if cloud.persons.is_empty() {
        return Ok(Vec::new());
    }
    check_listed_kind(&cloud.what, catalogue)?;
    let many = cloud.persons.len();
    if many > PERSONS_MAX {
        return refuse_at("/persons", format!("{many} persons, more than {PERSONS_MAX}"));
    }
    let mut best: BTreeMap<Person, PersonScore> = BTreeMap::new();
    for (i, CloudPerson { person, score }) in cloud.persons.iter().enumerate() {
        let at = |part: &str| format!("/persons/{i}{part}");
        let person =
            Person::new(person).map_err(|bad| AdmissionError::new(at(""), describe_bad_name(&bad)))?;
        let score = PersonScore::new(score.unwrap_or_default())
            .ok_or_else(|| AdmissionError::new(at("/score"), "it is not a number"))?;
        best.entry(person).and_modify(|best| *best = score.max(*best)).or_insert(score);
    }
    if best.len() * subjects > LISTED_MAX {
        let told = format!("{} persons for each of {subjects} subjects", best.len());
        return refuse_at("/persons", format!("{told}, more than {LISTED_MAX} in all: send it in parts"));
    }
    Ok(best.into_iter().map(|(person, score)| ListedPerson { person, score }).collect())
}

/// A list that no kind reads would tell nobody, and nobody would notice.
fn check_listed_kind(what: &str, catalogue: &Catalogue) -> Result<(), AdmissionError> {
    if catalogue.kinds_of_arms_on(what).any(|kind| kind.to == Audience::Listed) {
        return Ok(());
    }
    let is_told = catalogue.kinds_of_arms_on(what).next().is_some();
    let all = || catalogue.kinds.values().filter(|kind| kind.to == Audience::Listed);
    let mut names: Vec<&str> = all().map(|kind| kind.on.as_str()).collect();
    names.dedup();
    let help = match names.as_slice() {
        [] => "the catalogue has no such kind".to_owned(),
        names => {
            let such = || format!("such kinds are on {}", list_choices(names.iter().copied()));
            // A name that is told otherwise is hardly a slip.
            let near = did_you_mean(what, names.iter().copied()).filter(|_| !is_told);
            near.unwrap_or_else(such)
        }
    };
    refuse_at("/persons", format!("no kind with `to: listed` is on `{what}`: {help}"))
}
