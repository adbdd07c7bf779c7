//! What a batch of Readys needs to know, so that each thing is read once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use catalogue::truth;
use courier::Call;
use model::{
    Cell, ReadyId, Row, State, Value, World,
    device::{self, Device},
    entry::DayKey,
    fold::fold,
    ready::Ready,
};
use store::{Journalled, StateKey, world::Wanted};

use crate::check::{Facts, FactsOf};

/// What was loaded for a batch.
pub struct Loaded {
    /// When that began, by a clock that nobody sets.
    pub at: i64,
    pub journal: BTreeMap<ReadyId, Journalled>,
    pub facts: FactsOf,
    pub world: World,
}

impl Loaded {
    /// What is known of a Ready's person.
    pub(crate) fn facts_of(&self, ready: &Ready) -> &Facts {
        static UNKNOWN: LazyLock<Facts> = LazyLock::new(Facts::default);
        self.facts.get(&ready.id).unwrap_or(&UNKNOWN)
    }
}

/// What the entries of Readys speak of.
pub fn wanted(readys: &[Ready]) -> Wanted {
    let mut wanted = Wanted::default();
    for ready in readys {
        for entry in &ready.entries {
            wanted.subjects.insert((ready.tenant.clone(), entry.subject.clone()));
            let (follows, persons) = truth::wants(&entry.reasons);
            for target in follows {
                wanted.follows.insert((ready.tenant.clone(), ready.person.clone(), target.clone()));
                // Named in "why you get this".
                wanted.subjects.insert((ready.tenant.clone(), target));
            }
            wanted.persons.extend(persons.into_iter().map(|person| (ready.tenant.clone(), person)));
        }
    }
    wanted
}

/// What is asked of each Ready's person: the profile, what they mute, and what the house notes of them.
pub(crate) fn keys_of(readys: &[Ready]) -> Vec<StateKey> {
    let keys = |Ready { tenant, person, .. }: &Ready| {
        [StateKey::Person, StateKey::Mutes, StateKey::Notes].map(|key| key(tenant.clone(), person.clone()))
    };
    readys.iter().flat_map(keys).collect()
}

/// Of each Ready the answers to that, and the days that it needs.
pub(crate) fn facts_of(readys: &[Ready], states: Vec<State>, rows: &BTreeMap<DayKey, Vec<Row>>) -> FactsOf {
    let mut states = states.into_iter();
    let by_three = std::iter::from_fn(move || Some([states.next()?, states.next()?, states.next()?]));
    let facts = readys.iter().zip(by_three).map(|(ready, [profile, mutes, notes])| {
        let own: BTreeSet<DayKey> = days_of(ready).into_iter().collect();
        let view = fold(own.iter().filter_map(|day| rows.get(day)).flatten()).with_notes(&notes);
        (ready.id, Facts { profile, mutes, notes, view })
    });
    facts.collect()
}

/// The days of its entries, and of what its badge counts.
pub(crate) fn days_of(ready: &Ready) -> Vec<DayKey> {
    let own = ready.entries.iter().map(|entry| entry.key.day());
    let counted = ready.badge.iter().flat_map(|unseen| unseen.days.iter().copied());
    let key = |day| DayKey { tenant: ready.tenant.clone(), person: ready.person.clone(), day };
    own.chain(counted).map(key).collect()
}

/// What takes a device out of a profile as it was read: a removal that is newer than that very registration, and older
/// than any that comes after it. None if it is not there, or with another token by now.
pub(crate) fn left(profile: &State, device: &Device) -> Option<State> {
    without(profile, &device::field(&device.id), &device::value(device.platform, &device.token))
}

/// The same for the address of a hook.
pub(crate) fn unhooked(profile: &State, call: &Call) -> Option<State> {
    without(profile, call.hook.name(), &Value::text(&call.address))
}

fn without(profile: &State, field: &str, value: &Value) -> Option<State> {
    let cell = profile.cells.get(field).filter(|cell| cell.value.as_ref() == Some(value))?;
    let mut state = State::default();
    state.set(field, Cell { version: cell.version + 1, value: None });
    Some(state)
}
