//! What was loaded for a turn: the records of everybody concerned and what is known of them, and for those whose
//! windows are due their days and the world that their entries speak of.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::truth;
use model::{
    Day, DayRow, UtcMillis, VersionedState, WorldSnapshot,
    entry::DayKey,
    limits::AHEAD_MS_MAX,
    person::Window,
    plan::{OncePer, PlanSet},
};
use room::world::WorldQuery;

use crate::memory::{PersonKey, PersonRecords};

/// All that a decision looks at.
#[derive(Default, Debug)]
pub struct DigestFacts {
    /// Of those concerned who have one, as they were before the turn.
    pub records: PersonRecords,
    pub known: BTreeMap<PersonKey, DigestPersonStates>,
    pub days: BTreeMap<DayKey, Vec<DayRow>>,
    pub world: WorldSnapshot,
    /// Whether persons have a live connection, of whom somebody could say.
    pub live: BTreeMap<PersonKey, bool>,
}

/// What is known of a person.
#[derive(Default, Clone, Debug)]
pub struct DigestPersonStates {
    pub profile: VersionedState,
    /// This and the notes matter at a closing, and are loaded only for one.
    pub preferences: VersionedState,
    pub notes: VersionedState,
}

/// Of whom nothing is known.
static NOBODY: DigestPersonStates = {
    const NOTHING: VersionedState = VersionedState { cells: BTreeMap::new() };
    DigestPersonStates { profile: NOTHING, preferences: NOTHING, notes: NOTHING }
};

/// The day of a person.
pub fn day_key(key: &PersonKey, day: Day) -> DayKey {
    DayKey { tenant: key.0.clone(), person: key.1.clone(), day }
}

/// The days that a closing reads. What it tells is in the window's own days; but a plan that says a subject
/// once within its look-back has to see what was told in all of that. A mark lies in the day of its entry, and
/// what was told on the first day of the look-back may itself have looked back as far as any plan of the
/// channel does.
pub fn days_to_read(window: &Window, plans: &PlanSet, now: UtcMillis) -> BTreeSet<Day> {
    let mut days = window.days.clone();
    if let Some(plan) = plans.by_name.get(&window.plan).filter(|plan| plan.once_per == OncePer::Subject) {
        let newest = Day::from_instant(now.plus(AHEAD_MS_MAX));
        let others = plans.by_name.values().filter(|other| other.channel == plan.channel);
        let longest = others.map(|other| i32::from(other.look_back_days)).max().unwrap_or(0);
        let living = plan.day_life.oldest_day(now);
        let oldest = plan.oldest_day(window.due).plus(-longest).0.max(living.0);
        days.extend((oldest..=newest.0).map(Day));
    }
    days
}

/// The windows of a person that close, and those that are told with them.
pub(crate) fn closing_windows<'a>(
    records: &'a PersonRecords,
    key: &PersonKey,
    closing: UtcMillis,
    plans: &'a PlanSet,
) -> impl Iterator<Item = &'a Window> {
    let windows = records.get(key).map_or(&[][..], |record| &record.windows);
    let is_due = move |window: &Window| window.due <= closing;
    let with = move |window: &Window| {
        plans.by_name.get(&window.plan).is_some_and(|plan| plan.together)
            && windows.iter().any(|due| due.plan == window.plan && is_due(due))
    };
    windows.iter().filter(move |window| is_due(window) || with(window))
}

/// What the rows of days speak of, each thing once however many persons are told of it.
pub(crate) fn collect_wanted<'a>(days: impl Iterator<Item = (&'a DayKey, &'a Vec<DayRow>)>) -> WorldQuery {
    let mut wanted = WorldQuery::default();
    for (key, rows) in days {
        for row in rows {
            let DayRow::Entry(entry) = row else { continue };
            wanted.subjects.insert((key.tenant.clone(), entry.subject.clone()));
            wanted.entries.insert((key.tenant.clone(), entry.key));
            let (follows, _) = truth::list_needs([&entry.reason]);
            for target in follows {
                wanted.follows.insert((key.tenant.clone(), key.person.clone(), target));
            }
        }
    }
    wanted
}

impl DigestFacts {
    pub fn person_states(&self, key: &PersonKey) -> &DigestPersonStates {
        self.known.get(key).unwrap_or(&NOBODY)
    }
}
