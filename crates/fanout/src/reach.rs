//! Reaches: whom an event is for. Persons whom it names itself are told at once; the others are found in
//! crowds, which are cut into slices.

use std::{collections::BTreeMap, slice};

use catalogue::{Audience, Catalogue, KindDef, SUBJECT, windows::WindowEntry};
use model::{
    AudienceMatch, Crowd, Entry, EntryReason, Event, GeoPoint, Kind, Person, Slice, SubjectRef, UtcMillis,
    Value, ValueCell, VersionedState,
};
use store::StateKey;
use wire::replay::ReplayStamp;

use crate::{
    config::CROWDS_OF_SLICE_MAX,
    read::FanoutItem,
    recipient_sheet::{FanoutEntry, RecipientSheet},
};

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

/// The state of the subject of an event, if it must be asked: an event need not state every field, and the
/// audience is then that of the subject as it is known.
pub fn unstated_subject(event: &Event, catalogue: &Catalogue) -> Option<StateKey> {
    let of = |kind| audience_fields(kind).into_iter().chain(catalogue.window_fields(kind));
    let mut fields = kinds_of_event(event, catalogue).flat_map(of);
    let lacks = fields.any(|field| field != SUBJECT && !event.state.cells.contains_key(field));
    lacks.then(|| StateKey::Subject(event.tenant.clone(), event.subject.clone()))
}

/// The event as its slices carry it, with every field that a window's key is made of.
fn carry_window_fields(event: &Event, known: &VersionedState, catalogue: &Catalogue) -> Event {
    let mut carried = event_for_slices(event);
    for field in kinds_of_event(event, catalogue).flat_map(|kind| catalogue.window_fields(kind)) {
        if let Some(cell) = field_cell(event, field, known) {
            carried.state.cells.insert(field.into(), cell.clone());
        }
    }
    carried
}

/// Whom an event is for, with the state of its subject as it is known. Of an event that is there once more only
/// what was known when it occurred: whom a later word brought is told of what came after it.
pub fn find_reach(
    heard: &FanoutItem<Event>,
    known: &VersionedState,
    catalogue: &Catalogue,
    inline: usize,
) -> EventReach {
    let FanoutItem { what: event, again } = heard;
    let then;
    let known = match again {
        None => known,
        Some(_) => {
            then = state_as_of(known, event.occurred);
            &then
        }
    };
    let mut named = RecipientSheet::default();
    let mut crowds: BTreeMap<Crowd, Vec<Kind>> = BTreeMap::new();
    let mut listed = Vec::new();
    let mut carried = carry_window_fields(event, known, catalogue);
    for kind in kinds_of_event(event, catalogue) {
        let of_windows = carried.clone();
        let mut tell = |because, person: &Person| {
            named.add(build_entry(&of_windows, again.as_ref(), kind, because, catalogue), [person.clone()]);
        };
        let mut list = |crowd| {
            let kinds = crowds.entry(crowd).or_default();
            // Two fields of one kind may name the same subject: that is one reason.
            if kinds.last() != Some(&kind.name) {
                kinds.push(kind.name.clone());
            }
        };
        match &kind.to {
            Audience::FollowersOf(fields) => {
                let targets = fields.iter().flat_map(|field| target_refs(event, field, known));
                targets.for_each(|target| list(Crowd::Followers(target.clone())));
            }
            Audience::Near { field, within_km } => {
                if let Some(cell) = field_cell(event, field, known)
                    && let Some(Value::Place(place)) = cell.value
                {
                    place.cells_within(*within_km).into_iter().for_each(|cell| list(Crowd::Cell(cell)));
                    carried.state.cells.insert(field.as_str().into(), cell.clone());
                }
            }
            Audience::Everyone => list(Crowd::Everyone),
            Audience::Person(field) => {
                field_person(event, field, known)
                    .iter()
                    .for_each(|person| tell(AudienceMatch::Named, person));
            }
            Audience::Mutual(one, other) => {
                // Who is alone, or with themself, has no other party.
                if let (Some(one), Some(other)) =
                    (field_person(event, one, known), field_person(event, other, known))
                    && one != other
                {
                    tell(AudienceMatch::Mutual(other.clone()), &one);
                    tell(AudienceMatch::Mutual(one), &other);
                }
            }
            Audience::Listed if event.persons.len() > inline => listed.push(kind.name.clone()),
            Audience::Listed => {
                event
                    .persons
                    .iter()
                    .for_each(|listed| tell(AudienceMatch::Listed(listed.score), &listed.person));
            }
        }
    }
    let listed = (!listed.is_empty()).then(|| Slice {
        event: Event { persons: event.persons.clone(), ..carried.clone() },
        kinds: listed,
        crowds: Vec::new(),
        from: None,
    });
    EventReach { named, slices: cut_slices(&carried, crowds), listed }
}

/// Whom a slice lists itself.
pub fn listed_sheet(slice: &Slice, again: Option<&ReplayStamp>, catalogue: &Catalogue) -> RecipientSheet {
    let mut sheet = RecipientSheet::default();
    let kinds = slice.kinds.iter().filter_map(|kind| catalogue.kinds.get(kind));
    for kind in kinds.filter(|kind| kind.to == Audience::Listed) {
        for one in &slice.event.persons {
            let because = AudienceMatch::Listed(one.score);
            sheet.add(build_entry(&slice.event, again, kind, because, catalogue), [one.person.clone()]);
        }
    }
    sheet
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

/// How those are told who are found for this reason.
pub fn build_entry(
    event: &Event,
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
    let windows = catalogue.windows_of(kind, &thing);
    let reason = EntryReason { kind: kind.name.clone(), because };
    let (subject, actor) = (event.subject.clone(), event.actor.clone());
    let entry = Entry { key: event.entry_key(), reason, subject, actor };
    let plans = &catalogue.plans.by_name;
    let urgent = kind.plans.iter().filter_map(|name| plans.get(name)).any(|plan| plan.urgent);
    let (tenant, actor_told, again) = (event.tenant.clone(), kind.actor_told, again.cloned());
    FanoutEntry { tenant, entry, windows, urgent, actor_told, again }
}

/// What was known by an instant, as far as the versions say.
fn state_as_of(known: &VersionedState, at: UtcMillis) -> VersionedState {
    let cells = known.cells.iter().filter(|(_, cell)| cell.version <= at.0);
    VersionedState { cells: cells.map(|(name, cell)| (name.clone(), cell.clone())).collect() }
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

/// The event as slices carry it: without whom it lists (but the slice that tells those), and of its fields only those that are asked again
/// with each slice. So a slice is small, whatever was stated.
fn event_for_slices(event: &Event) -> Event {
    Event {
        tenant: event.tenant.clone(),
        key: event.key,
        what: event.what.clone(),
        subject: event.subject.clone(),
        actor: event.actor.clone(),
        occurred: event.occurred,
        persons: Vec::new(),
        state: VersionedState::default(),
    }
}

/// Crowds that are told under the same kinds go together.
fn cut_slices(event: &Event, crowds: BTreeMap<Crowd, Vec<Kind>>) -> Vec<Slice> {
    let mut alike: BTreeMap<Vec<Kind>, Vec<Crowd>> = BTreeMap::new();
    for (crowd, kinds) in crowds {
        alike.entry(kinds).or_default().push(crowd);
    }
    let slice = |kinds: &Vec<Kind>, crowds: &[Crowd]| Slice {
        event: event.clone(),
        kinds: kinds.clone(),
        crowds: crowds.to_vec(),
        from: None,
    };
    let cut = |(kinds, crowds): (&Vec<Kind>, &Vec<Crowd>)| -> Vec<Slice> {
        crowds.chunks(CROWDS_OF_SLICE_MAX).map(|some| slice(kinds, some)).collect()
    };
    alike.iter().flat_map(cut).collect()
}

/// The kinds that an event is told under.
pub fn kinds_of_event<'a>(event: &'a Event, catalogue: &'a Catalogue) -> impl Iterator<Item = &'a KindDef> {
    catalogue.kinds_on(&event.what).filter(|kind| kind.subject() == event.subject.kind())
}

/// The fields of a subject that say who its audience is.
fn audience_fields(kind: &KindDef) -> Vec<&str> {
    match &kind.to {
        Audience::FollowersOf(fields) => fields.iter().map(String::as_str).collect(),
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

fn field_person(event: &Event, field: &str, known: &VersionedState) -> Option<Person> {
    Person::new(field_cell(event, field, known)?.value.as_ref()?.as_text()?).ok()
}
