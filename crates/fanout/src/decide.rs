//! The decision of the fan-out: the audience of an event, and which members of a crowd are told. It is pure: the facts
//! are arguments.

use std::{borrow::Cow, collections::BTreeMap};

use catalogue::{Audience, Catalogue, KindDef, canary::CatalogueArm};
use model::{
    AudienceMatch, Crowd, Event, GeoPoint, KeptFields, Kind, Person, Slice, UtcMillis, Value, VersionedState,
    kept_fields::keep_each,
};
use wire::replay::ReplayStamp;

use crate::{
    config::CROWDS_OF_SLICE_MAX,
    reach::{EventReach, build_entry, field_cell, field_person, kinds_of_arms, reason_in_crowd, target_refs},
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
    let FanoutItem { what: event, again, .. } = heard;
    let known = match again {
        None => Cow::Borrowed(known),
        Some(_) => Cow::Owned(state_as_of(known, event.occurred)),
    };
    let known = &*known;
    let mut named = RecipientSheet::default();
    let mut crowds: BTreeMap<Crowd, Vec<Kind>> = BTreeMap::new();
    let mut listed = Vec::new();
    let mut carried = carry_window_fields(event, known, catalogue);
    let kept = keep_words(event, catalogue);
    for (arm, of_arm, kind) in kinds_of_arms(event, catalogue) {
        let of_windows = carried.clone();
        let mut tell = |because, person: &Person| {
            if catalogue.arm_of(person) == arm {
                let way = build_entry((&of_windows, &kept), again.as_ref(), kind, because, of_arm);
                named.add(way, [person.clone()]);
            }
        };
        let mut list = |crowd| {
            let kinds = crowds.entry(crowd).or_default();
            // Two fields of one kind may name the same subject, and two arms have the same kind: that is one reason.
            if !kinds.contains(&kind.name) {
                kinds.push(kind.name.clone());
            }
        };
        match &kind.to {
            Audience::FollowersOf(fields) | Audience::SubscribersOf(fields) => {
                list_target_crowds(event, fields, known, kind).into_iter().for_each(&mut list);
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
                if let Some((one, other)) = find_parties(event, (one, other), known) {
                    tell(AudienceMatch::Mutual(other.clone()), &one);
                    tell(AudienceMatch::Mutual(one), &other);
                }
            }
            Audience::Listed if event.persons.len() > inline => {
                if !listed.contains(&kind.name) {
                    listed.push(kind.name.clone());
                }
            }
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
        ..new_slice(&carried, &kept, listed, Vec::new())
    });
    EventReach { named, slices: cut_slices(&carried, &kept, crowds), listed }
}

/// The crowds of whatever these fields refer to: its followers, or who subscribed to it, for this kind or for all.
fn list_target_crowds(
    event: &Event,
    fields: &[String],
    known: &VersionedState,
    kind: &KindDef,
) -> Vec<Crowd> {
    let targets = fields.iter().flat_map(|field| target_refs(event, field, known));
    if matches!(kind.to, Audience::FollowersOf(_)) {
        return targets.cloned().map(Crowd::Followers).collect();
    }
    let of_subscribers =
        |target| [None, Some(&kind.name)].map(|kind| preferences::subscribers_target(kind, target));
    targets.flat_map(of_subscribers).flatten().map(Crowd::Followers).collect()
}

/// The two whom these fields name. Who is alone, or with themself, has no other party.
fn find_parties(
    event: &Event,
    (one, other): (&str, &str),
    known: &VersionedState,
) -> Option<(Person, Person)> {
    let parties = (field_person(event, one, known)?, field_person(event, other, known)?);
    (parties.0 != parties.1).then_some(parties)
}

/// Whom a slice lists itself.
pub fn listed_sheet(slice: &Slice, again: Option<&ReplayStamp>, catalogue: &Catalogue) -> RecipientSheet {
    let mut sheet = RecipientSheet::default();
    for (arm, of_arm, kind) in
        kinds_of_slice(slice, catalogue).filter(|(.., kind)| kind.to == Audience::Listed)
    {
        for one in slice.event.persons.iter().filter(|one| catalogue.arm_of(&one.person) == arm) {
            let because = AudienceMatch::Listed(one.score);
            let way = build_entry((&slice.event, &slice.kept), again, kind, because, of_arm);
            sheet.add(way, [one.person.clone()]);
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
    for (arm, of_arm, kind) in kinds_of_slice(slice, catalogue) {
        let Some((because, circle)) = reason_in_crowd(kind, crowd, &slice.event) else { continue };
        let way = build_entry((&slice.event, &slice.kept), again, kind, because, of_arm);
        let has_arm = |person: &Person| catalogue.arm_of(person) == arm;
        let Some(circle) = circle else {
            sheet.add(way, persons.iter().filter(|person| has_arm(person)).cloned());
            continue;
        };
        let of_arm = || persons.iter().zip(places).filter(|(person, _)| has_arm(person));
        let there = of_arm().filter(|(_, place)| circle.contains(**place));
        let there: Vec<Person> = there.map(|(person, _)| person.clone()).collect();
        elsewhere += of_arm().count() - there.len();
        sheet.add(way, there);
    }
    elsewhere
}

/// The event as its slices carry it, with every field that a window's key is made of.
fn carry_window_fields(event: &Event, known: &VersionedState, catalogue: &Catalogue) -> Event {
    let mut carried = event_for_slices(event);
    for field in kinds_of_arms(event, catalogue).flat_map(|(_, of_arm, kind)| of_arm.window_fields(kind)) {
        if let Some(cell) = field_cell(event, field, known) {
            carried.state.cells.insert(field.into(), cell.clone());
        }
    }
    carried
}

/// What the kinds of an event keep of what it stated.
fn keep_words(event: &Event, catalogue: &Catalogue) -> KeptFields {
    let named = kinds_of_arms(event, catalogue).flat_map(|(_, of_arm, kind)| of_arm.kept_fields(kind));
    keep_each(named, &event.state)
}

/// The kinds of a slice, of each catalogue that has them.
fn kinds_of_slice<'a>(
    slice: &'a Slice,
    catalogue: &'a Catalogue,
) -> impl Iterator<Item = (CatalogueArm, &'a Catalogue, &'a KindDef)> {
    let of_arm = move |(arm, of): (CatalogueArm, &'a Catalogue)| {
        slice.kinds.iter().filter_map(move |kind| Some((arm, of, of.kinds.get(kind)?)))
    };
    catalogue.arms().flat_map(of_arm)
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

/// A slice at its beginning.
fn new_slice(event: &Event, kept: &KeptFields, kinds: Vec<Kind>, crowds: Vec<Crowd>) -> Slice {
    Slice { event: event.clone(), kinds, kept: kept.clone(), crowds, from: None }
}

/// Crowds that are told under the same kinds go together.
fn cut_slices(event: &Event, kept: &KeptFields, crowds: BTreeMap<Crowd, Vec<Kind>>) -> Vec<Slice> {
    let mut alike: BTreeMap<Vec<Kind>, Vec<Crowd>> = BTreeMap::new();
    for (crowd, kinds) in crowds {
        alike.entry(kinds).or_default().push(crowd);
    }
    let slice = |kinds: &Vec<Kind>, crowds: &[Crowd]| new_slice(event, kept, kinds.clone(), crowds.to_vec());
    let cut = |(kinds, crowds): (&Vec<Kind>, &Vec<Crowd>)| -> Vec<Slice> {
        crowds.chunks(CROWDS_OF_SLICE_MAX).map(|some| slice(kinds, some)).collect()
    };
    alike.iter().flat_map(cut).collect()
}
