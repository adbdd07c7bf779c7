//! Reaches: the audience of an event, and the reasons. Persons that it names are told at once; the others are found in
//! crowds, which are cut into slices.

use std::slice;

use catalogue::{Audience, Catalogue, KindDef, SUBJECT, canary::CatalogueArm, windows::WindowEntry};
use house_facts::recall::REVOKE;
use model::{
    AudienceMatch, Crowd, Entry, EntryReason, Event, GeoPoint, KeptFields, Person, Slice, SubjectRef, Value,
    ValueCell, VersionedState,
};
use wire::replay::ReplayStamp;

use crate::recipient_sheet::{FanoutEntry, RecipientSheet};

/// Whom an event is for.
#[derive(Debug)]
pub struct EventReach {
    /// Whom it names itself.
    pub named: RecipientSheet,
    /// The crowds of everybody else, each slice at its beginning.
    pub slices: Vec<Slice>,
    /// Whom it lists, if they are more than are told at once.
    pub listed: Option<Slice>,
}

/// Why the members of a crowd are told of an event under a kind, and where they must be for it. `None` if
/// the kind has another audience since the slice was cut.
pub fn reason_in_crowd(
    kind: &KindDef,
    crowd: &Crowd,
    event: &Event,
) -> Option<(AudienceMatch, Option<ReachCircle>)> {
    match (crowd, &kind.to) {
        (Crowd::Followers(target), Audience::FollowersOf(_)) => {
            Some((AudienceMatch::Follows(target.clone()), None))
        }
        (Crowd::Followers(target), Audience::SubscribersOf(_)) => {
            Some((AudienceMatch::Follows(preferences::subscribed_subject(target)?), None))
        }
        (Crowd::Everyone, Audience::Everyone) => Some((AudienceMatch::Everyone, None)),
        (Crowd::Cell(_), Audience::Near { field, within_km }) => match event.state.get(field)? {
            Value::Place(middle) => {
                Some((AudienceMatch::Near, Some(ReachCircle { middle: *middle, within_km: *within_km })))
            }
            _ => None,
        },
        _ => None,
    }
}

/// How those are told who are found for this reason. What their entries keep was stated by the event itself, and not by
/// others before it.
pub fn build_entry(
    (event, kept): (&Event, &KeptFields),
    again: Option<&ReplayStamp>,
    kind: &KindDef,
    because: AudienceMatch,
    catalogue: &Catalogue,
) -> FanoutEntry {
    let thing = WindowEntry {
        kind: &kind.name,
        subject: &event.subject,
        actor: event.actor.as_ref(),
        state: &event.state,
    };
    let is_recall = is_revocation(event);
    let windows = if is_recall { Vec::new() } else { catalogue.windows_of(kind, &thing) };
    let reason = EntryReason { kind: kind.name.clone(), because };
    let (subject, actor) = (event.subject.clone(), event.actor.clone());
    let kept = catalogue.keep_of(kind, |name| kept.get(name));
    let entry = Entry { key: event.entry_key(), reason, subject, actor, kept };
    let plans = &catalogue.plans.by_name;
    let urgent = kind.plans.iter().filter_map(|name| plans.get(name)).any(|plan| plan.urgent);
    let (tenant, actor_told, again) = (event.tenant.clone(), kind.actor_told, again.cloned());
    FanoutEntry { tenant, entry, windows, urgent, actor_told, again, is_recall, trace: None }
}

/// Where somebody must be who was found in a cell.
#[derive(Clone, Copy, Debug)]
pub struct ReachCircle {
    middle: GeoPoint,
    within_km: f64,
}

impl ReachCircle {
    /// Whether somebody at this place is told. Whoever moves may be found in the cell that they left alone, or in
    /// both: it is the place that counts, and twice is one row.
    pub fn contains(&self, place: Option<GeoPoint>) -> bool {
        place.is_some_and(|at| at.distance_km(self.middle) <= self.within_km)
    }
}

/// The kinds that an event is told under. A revocation is told under none, but all kinds about its subject say whom it concerns.
pub fn kinds_of_event<'a>(event: &'a Event, catalogue: &'a Catalogue) -> impl Iterator<Item = &'a KindDef> {
    let of_recall = catalogue.kinds.values().filter(|_| is_revocation(event));
    catalogue.kinds_on(&event.what).chain(of_recall).filter(|kind| kind.subject() == event.subject.kind())
}

/// Whether it is no event of a service, but tells that something about its subject was revoked.
fn is_revocation(event: &Event) -> bool {
    event.what == REVOKE
}

/// The same of each catalogue that persons have.
pub fn kinds_of_arms<'a>(
    event: &'a Event,
    catalogue: &'a Catalogue,
) -> impl Iterator<Item = (CatalogueArm, &'a Catalogue, &'a KindDef)> {
    let of_arm = move |(arm, of)| kinds_of_event(event, of).map(move |kind| (arm, of, kind));
    catalogue.arms().flat_map(of_arm)
}

/// The fields of a subject that say who its audience is.
pub(crate) fn audience_fields(kind: &KindDef) -> Vec<&str> {
    match &kind.to {
        Audience::FollowersOf(fields) | Audience::SubscribersOf(fields) => {
            fields.iter().map(String::as_str).collect()
        }
        Audience::Near { field, .. } | Audience::Person(field) => vec![field],
        Audience::Mutual(one, other) => vec![one, other],
        Audience::Listed | Audience::Everyone => Vec::new(),
    }
}

/// What a field holds: as the event states it (also if it states that there is nothing), else as it is known.
pub fn field_cell<'a>(event: &'a Event, field: &str, known: &'a VersionedState) -> Option<&'a ValueCell> {
    event.state.cells.get(field).or_else(|| known.cells.get(field))
}

/// Whom a field refers to; `subject` is the subject itself.
pub fn target_refs<'a>(event: &'a Event, field: &str, known: &'a VersionedState) -> &'a [SubjectRef] {
    if field == SUBJECT {
        return slice::from_ref(&event.subject);
    }
    field_cell(event, field, known).and_then(|cell| cell.value.as_ref()).map_or(&[], Value::refs)
}

pub(crate) fn field_person(event: &Event, field: &str, known: &VersionedState) -> Option<Person> {
    Person::new(field_cell(event, field, known)?.value.as_ref()?.as_text()?).ok()
}
