//! What was loaded for a turn: the states of the subjects that events do not state, and where persons are.

use std::collections::BTreeMap;

use catalogue::{Catalogue, SUBJECT};
use model::{
    Event, GeoPoint, ValueCell, VersionedState,
    person::profile::{self, PersonPlace, PlaceOrigin},
    place::GlobeCell,
};
use store::StateKey;

use crate::{
    reach::{audience_fields, kinds_of_arms},
    read::FanoutItem,
};

/// What is known of the subjects of which an event does not state every field that its audience depends on.
#[derive(Debug, Default)]
pub(crate) struct SubjectStates(BTreeMap<StateKey, VersionedState>);

impl SubjectStates {
    pub fn new(keys: Vec<StateKey>, states: Vec<VersionedState>) -> Self {
        Self(keys.into_iter().zip(states).collect())
    }

    /// What is known of the subject of an event; nothing where it was not asked.
    pub fn of_event(&self, event: &Event) -> &VersionedState {
        static NOTHING: VersionedState = VersionedState { cells: BTreeMap::new() };
        self.0.get(&StateKey::Subject(event.tenant.clone(), event.subject.clone())).unwrap_or(&NOTHING)
    }
}

/// The subjects of events that must be asked, each once.
pub(crate) fn unstated_subjects(events: &[FanoutItem<Event>], catalogue: &Catalogue) -> Vec<StateKey> {
    let mut unstated: Vec<StateKey> =
        events.iter().filter_map(|heard| unstated_subject(&heard.what, catalogue)).collect();
    unstated.sort_unstable();
    unstated.dedup();
    unstated
}

/// The state of the subject of an event, if it must be asked: an event need not state every field, and the
/// audience is then that of the subject as it is known.
pub fn unstated_subject(event: &Event, catalogue: &Catalogue) -> Option<StateKey> {
    let mut fields = kinds_of_arms(event, catalogue)
        .flat_map(|(_, of, kind)| audience_fields(kind).into_iter().chain(of.window_fields(kind)));
    let lacks = fields.any(|field| field != SUBJECT && !event.state.cells.contains_key(field));
    lacks.then(|| StateKey::Subject(event.tenant.clone(), event.subject.clone()))
}

/// What a profile says of the places.
#[derive(Debug)]
pub(crate) struct PersonWhereabouts {
    /// The one that counts.
    counts: Option<PersonPlace>,
    /// What was said of each.
    said: [Option<ValueCell>; PlaceOrigin::ALL.len()],
}

impl PersonWhereabouts {
    pub fn from_profile(profile: &VersionedState) -> Self {
        let said = PlaceOrigin::ALL.map(|origin| profile.cells.get(origin.field()).cloned());
        Self { counts: profile::find_place(profile), said }
    }

    /// The place that counts, whichever the cell was for in which they were found.
    pub fn place(&self) -> Option<GeoPoint> {
        self.counts.map(|counts| counts.at)
    }

    /// Whether what was said of the place that a cell is for leads elsewhere.
    pub fn is_elsewhere(&self, cell: GlobeCell) -> bool {
        let is_there = |said: &ValueCell| {
            said.value.as_ref().and_then(model::Value::as_place).is_some_and(|at| at.is_in(cell))
        };
        self.said_of(cell).is_some_and(|said| !is_there(said))
    }

    /// Whether that was said later than by this version.
    pub fn is_newer_than(&self, cell: GlobeCell, version: i64) -> bool {
        self.said_of(cell).is_some_and(|said| said.version > version)
    }

    fn said_of(&self, cell: GlobeCell) -> Option<&ValueCell> {
        let [stated, by_address] = &self.said;
        match cell.origin() {
            PlaceOrigin::Stated => stated.as_ref(),
            PlaceOrigin::Address => by_address.as_ref(),
        }
    }
}
