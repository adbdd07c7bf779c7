//! The decision of the fan-out: the audience of an event, and which members of a crowd are told. It is pure: the facts
//! are arguments.

use std::collections::BTreeMap;

use catalogue::{Audience, Catalogue};
use model::{AudienceMatch, Crowd, Event, GeoPoint, Kind, Person, Slice, UtcMillis, Value, VersionedState};
use wire::replay::ReplayStamp;

use crate::{
    config::CROWDS_OF_SLICE_MAX,
    reach::{
        EventReach, build_entry, field_cell, field_person, kinds_of_event, reason_in_crowd, target_refs,
    },
    read::FanoutItem,
    recipient_sheet::RecipientSheet,
};

/// The audience of an event, by the known state of its subject. For a replayed event, only what was known when it
/// occurred counts: people whom a later statement added are told of later events only.
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

/// Puts those members of a crowd on the sheet who are told under a slice's kinds. The places are theirs, in the same order,
/// where the crowd is a cell. Returns how many were elsewhere, once for each kind.
pub(crate) fn decide_members(
    slice: &Slice,
    again: Option<&ReplayStamp>,
    crowd: &Crowd,
    (persons, places): (&[Person], &[Option<GeoPoint>]),
    sheet: &mut RecipientSheet,
    catalogue: &Catalogue,
) -> usize {
    let mut elsewhere = 0;
    for kind in slice.kinds.iter().filter_map(|kind| catalogue.kinds.get(kind)) {
        let Some((because, circle)) = reason_in_crowd(kind, crowd, &slice.event) else { continue };
        let way = build_entry(&slice.event, again, kind, because, catalogue);
        let Some(circle) = circle else {
            sheet.add(way, persons.iter().cloned());
            continue;
        };
        let there = persons.iter().zip(places).filter(|(_, place)| circle.contains(**place));
        let there: Vec<Person> = there.map(|(person, _)| person.clone()).collect();
        elsewhere += persons.len() - there.len();
        sheet.add(way, there);
    }
    elsewhere
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

/// What was known by an instant, as far as the versions say.
fn state_as_of(known: &VersionedState, at: UtcMillis) -> VersionedState {
    let cells = known.cells.iter().filter(|(_, cell)| cell.version <= at.0);
    VersionedState { cells: cells.map(|(name, cell)| (name.clone(), cell.clone())).collect() }
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
