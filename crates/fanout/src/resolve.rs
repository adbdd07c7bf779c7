//! A sheet: slices of followers that are told together, and what comes of it: rows and announcements.
//!
//! Pure: whatever is asked of the store is an argument. A kind's condition is not asked here; it is asked
//! at the end, when it matters whether it still holds.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Because, Day, Entry, Event, Kind, Person, Reason, Row, State, Tenant, Value, entry::DayKey, partition,
    person::profile,
};
use store::{DayRows, StateKey};
use wire::{Announcement, Pending};

use crate::{config::ANNOUNCED_MAX, reach::Reach};

/// Slices of followers, up to a bound on the rows that come of them.
#[derive(Debug, Default)]
pub struct Sheet<'a> {
    slices: Vec<(&'a Reach, Vec<Person>)>,
    rows: usize,
}

/// What comes of a sheet.
#[derive(Debug, Default, PartialEq)]
pub struct Resolved {
    pub rows: Vec<DayRows>,
    /// Each with the partition of its persons.
    pub announcements: Vec<(u32, Pending)>,
    pub counts: Counts,
}

/// What a sheet came to, for the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: u64,
    /// Rows that were only counted, since their day is full.
    pub full: u64,
    /// Persons that were passed over, since they were erased.
    pub erased: u64,
}

impl<'a> Sheet<'a> {
    pub fn add(&mut self, reach: &'a Reach, persons: Vec<Person>) {
        self.rows += persons.len() * reach.told.len();
        self.slices.push((reach, persons));
    }

    /// The most rows that can come of it.
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Everybody on it, once: their states are asked before it is resolved.
    pub fn persons(&self) -> Vec<StateKey> {
        let of_slice = |(reach, persons): &'_ (&Reach, Vec<Person>)| {
            let tenant = reach.tenant.clone();
            persons
                .iter()
                .map(move |person| StateKey::Person(tenant.clone(), person.clone()))
                .collect::<Vec<_>>()
        };
        let mut keys: Vec<StateKey> = self.slices.iter().flat_map(of_slice).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// What a person's day comes to on one sheet.
#[derive(Default)]
struct Told {
    rows: BTreeSet<Row>,
    kinds: BTreeSet<Kind>,
    full: bool,
}

/// Resolves a sheet. `states` are those of its persons; who has none is nobody special.
pub fn resolve(sheet: &Sheet<'_>, events: &[Event], states: &BTreeMap<StateKey, State>) -> Resolved {
    let mut days: BTreeMap<DayKey, Told> = BTreeMap::new();
    let mut erased = BTreeSet::new();
    for (reach, persons) in &sheet.slices {
        for person in persons {
            let key = StateKey::Person(reach.tenant.clone(), person.clone());
            let state = states.get(&key);
            if state.is_some_and(is_erased) {
                erased.insert(key);
                continue;
            }
            let full = state.and_then(full_day);
            for (event, kind) in
                reach.told.iter().filter_map(|(place, kind)| Some((events.get(*place)?, kind)))
            {
                // Nobody is told of their own doing.
                if event.actor.as_ref() != Some(person) {
                    tell(&mut days, reach, person, event, kind, full);
                }
            }
        }
    }
    let count =
        |full: bool| days.values().filter(|told| told.full == full).map(|told| told.rows.len() as u64).sum();
    let counts = Counts { rows: count(false), full: count(true), erased: erased.len() as u64 };
    let announcements = announce(&days);
    let written = days.into_iter().filter(|(_, told)| !told.full);
    let rows = written.map(|(key, told)| DayRows { key, rows: told.rows.into_iter().collect() }).collect();
    Resolved { rows, announcements, counts }
}

fn tell(
    days: &mut BTreeMap<DayKey, Told>,
    reach: &Reach,
    person: &Person,
    event: &Event,
    kind: &Kind,
    full: Option<Day>,
) {
    let day = event.entry_key().day();
    let key = DayKey { tenant: reach.tenant.clone(), person: person.clone(), day };
    let told = days.entry(key).or_default();
    let reason = Reason { kind: kind.clone(), because: Because::Follows(reach.target.clone()) };
    told.rows.insert(Row::Entry(Entry { key: event.entry_key(), reason, subject: event.subject.clone() }));
    told.kinds.insert(kind.clone());
    // Only that very day: a late event for an earlier one still has room there.
    told.full = full == Some(day);
}

/// One announcement for each person and day, many to a record, each record of one partition.
fn announce(days: &BTreeMap<DayKey, Told>) -> Vec<(u32, Pending)> {
    let mut of: BTreeMap<(u32, &Tenant), Vec<Announcement>> = BTreeMap::new();
    for (key, told) in days {
        let announcement = Announcement {
            person: key.person.clone(),
            day: key.day,
            rows: u32::try_from(told.rows.len()).unwrap_or(u32::MAX),
            kinds: told.kinds.iter().cloned().collect(),
            full: told.full,
        };
        of.entry((partition::of_person(&key.tenant, &key.person), &key.tenant))
            .or_default()
            .push(announcement);
    }
    let mut records = Vec::new();
    for ((partition, tenant), announcements) in of {
        for some in announcements.chunks(ANNOUNCED_MAX) {
            records.push((partition, Pending { tenant: tenant.clone(), announcements: some.to_vec() }));
        }
    }
    records
}

fn is_erased(state: &State) -> bool {
    state.get(profile::ERASED).and_then(Value::as_flag).unwrap_or(false)
}

/// The latest day of which the person's owner said that it is full.
#[allow(
    clippy::cast_possible_truncation,
    reason = "casts of floats saturate, and a day is far from the edge"
)]
fn full_day(state: &State) -> Option<Day> {
    match state.get(profile::FULL_DAY)? {
        Value::Number(days) => Some(Day(*days as i32)),
        _ => None,
    }
}
