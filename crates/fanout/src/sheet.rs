//! A sheet: persons that were found, who are told together, and what comes of it: rows and announcements.
//!
//! Pure: whatever is asked of the store is an argument. A kind's condition is not asked here, nor what
//! people mute; both are asked at the end, when it matters whether they hold and there is a fate to say so.

use model::{
    Day, Entry, Kind, Person, Row, State, Tenant, Value, entry::DayKey, partition::Partitions, person::notes,
    window::Wanted,
};
use store::{DayRows, StateKey};
use wire::{Announcement, Pending, replay::Again};

use crate::config::ANNOUNCED_MAX;

/// How somebody was found, and the row that they get.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    pub tenant: Tenant,
    pub entry: Entry,
    /// The windows that it belongs to, where a plan tells several apart.
    pub windows: Vec<Wanted>,
    /// Else nobody is told of their own doing.
    pub actor_told: bool,
    /// Whether the event is there once more.
    pub again: Option<Again>,
}

/// Persons with the ways in which they were found.
#[derive(Debug, Default)]
pub struct Sheet {
    ways: Vec<Way>,
    /// A person, and the place of the way.
    found: Vec<(Person, usize)>,
}

/// What comes of a sheet.
#[derive(Debug, Default, PartialEq)]
pub struct Resolved {
    pub rows: Vec<DayRows>,
    pub announced: Vec<Announced>,
    pub counts: Counts,
}

/// An announcement, for this partition.
#[derive(Debug, PartialEq)]
pub struct Announced {
    pub partition: u32,
    pub tenant: Tenant,
    pub announcement: Announcement,
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

impl Sheet {
    /// Puts persons on it who were found in one way.
    pub fn add(&mut self, way: Way, persons: impl IntoIterator<Item = Person>) {
        let place = self.ways.len();
        let actor = way.entry.actor.as_ref().filter(|_| !way.actor_told);
        let told = persons.into_iter().filter(|person| actor != Some(person));
        self.found.extend(told.map(|person| (person, place)));
        self.ways.push(way);
    }

    /// Puts everybody on it who is on the other one.
    pub fn append(&mut self, other: Self) {
        let first = self.ways.len();
        self.ways.extend(other.ways);
        self.found.extend(other.found.into_iter().map(|(person, place)| (person, first + place)));
    }

    /// The most rows that can come of it.
    pub fn rows(&self) -> usize {
        self.found.len()
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The same in several, each of about so many rows and with all that there is of its persons.
    pub fn parts(mut self, rows: usize) -> Vec<Self> {
        self.sort();
        let mut parts = Vec::new();
        while !self.found.is_empty() {
            let mut end = rows.max(1).min(self.found.len());
            while end < self.found.len() && self.found[end].0 == self.found[end - 1].0 {
                end += 1;
            }
            let rest = self.found.split_off(end);
            parts.push(Self { ways: self.ways.clone(), found: std::mem::replace(&mut self.found, rest) });
        }
        parts
    }

    fn sort(&mut self) {
        let ways = &self.ways;
        self.found.sort_unstable_by(|a, b| order(ways, a).cmp(&order(ways, b)));
    }

    /// Everybody on it, once and in order: what the house notes of them is asked before it is resolved.
    pub fn notes(&mut self) -> Vec<StateKey> {
        self.sort();
        let ways = &self.ways;
        self.of_persons().map(|of| StateKey::Notes(ways[of[0].1].tenant.clone(), of[0].0.clone())).collect()
    }

    /// Resolves it. The notes are those of its persons, in the order in which they were asked.
    pub fn resolve(&self, notes: &[State], partitions: Partitions) -> Resolved {
        let mut resolved = Resolved::default();
        for (of, notes) in self.of_persons().zip(notes) {
            if notes.flag(notes::ERASED) {
                resolved.counts.erased += 1;
                continue;
            }
            let (tenant, person) = (&self.ways[of[0].1].tenant, &of[0].0);
            let (partition, full) = (partitions.of_person(tenant, person), full_day(notes));
            for of_day in of.chunk_by(|a, b| self.ways[a.1].day() == self.ways[b.1].day()) {
                let day = self.ways[of_day[0].1].day();
                let rows = self.rows_of(of_day, |_| true);
                // Only that very day: a late event for an earlier one still has room there.
                let full = full == Some(day);
                let announcement = self.announcement(of_day, person, full);
                if full {
                    resolved.counts.full += rows.len() as u64;
                } else {
                    resolved.counts.rows += rows.len() as u64;
                    let key = DayKey { tenant: tenant.clone(), person: person.clone(), day };
                    resolved.rows.push(DayRows { key, rows });
                }
                let announced = announcement.map(|announcement| Announced {
                    partition,
                    tenant: tenant.clone(),
                    announcement,
                });
                resolved.announced.extend(announced);
            }
        }
        resolved
    }

    /// What there is of each person, once it is in order.
    fn of_persons(&self) -> impl Iterator<Item = &[(Person, usize)]> {
        let same = |a: &(Person, usize), b: &(Person, usize)| {
            a.0 == b.0 && (a.1 == b.1 || self.ways[a.1].tenant == self.ways[b.1].tenant)
        };
        self.found.chunk_by(same)
    }

    /// What is said of a day of a person, if anything is. A replay counts no rows, for they were counted the
    /// first time; where the day is full it has nothing to say, for nothing was written.
    fn announcement(&self, found: &[(Person, usize)], person: &Person, full: bool) -> Option<Announcement> {
        let is_told = |again: Option<&Again>| again.is_none_or(|again| !again.is_quiet && !full);
        let (kinds, windows) = (self.kinds_of(found, is_told), self.windows_of(found, is_told));
        let rows = self.rows_of(found, |again| again.is_none()).len();
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let day = self.ways[found.first()?.1].day();
        (!kinds.is_empty()).then(|| Announcement { person: person.clone(), day, rows, kinds, windows, full })
    }

    /// Those that were found in such a way.
    fn ways_of<'a>(
        &'a self,
        found: &'a [(Person, usize)],
        such: impl Fn(Option<&Again>) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Way> {
        let ways = found.iter().map(|(_, way)| &self.ways[*way]);
        ways.filter(move |way| such(way.again.as_ref()))
    }

    fn windows_of(&self, found: &[(Person, usize)], such: impl Fn(Option<&Again>) -> bool) -> Vec<Wanted> {
        let mut windows: Vec<Wanted> =
            self.ways_of(found, such).flat_map(|way| way.windows.clone()).collect();
        windows.sort_unstable();
        windows.dedup();
        windows
    }

    fn rows_of(&self, found: &[(Person, usize)], such: impl Fn(Option<&Again>) -> bool) -> Vec<Row> {
        let mut rows: Vec<Row> = self.ways_of(found, such).map(|way| Row::Entry(way.entry.clone())).collect();
        if rows.len() > 1 {
            // Found twice for one reason is one row.
            rows.sort_unstable();
            rows.dedup();
        }
        rows
    }

    fn kinds_of(&self, found: &[(Person, usize)], such: impl Fn(Option<&Again>) -> bool) -> Vec<Kind> {
        let mut kinds: Vec<Kind> =
            self.ways_of(found, such).map(|way| way.entry.reason.kind.clone()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// Persons in order, and what there is of each by days.
fn order<'a>(ways: &'a [Way], (person, place): &'a (Person, usize)) -> (&'a Tenant, &'a Person, Day, usize) {
    (&ways[*place].tenant, person, ways[*place].day(), *place)
}

impl Way {
    fn day(&self) -> Day {
        self.entry.key.day()
    }
}

/// Records of many announcements each, for one partition and tenant.
pub fn announce(mut announced: Vec<Announced>) -> Vec<(u32, Pending)> {
    announced.sort_by(|a, b| (a.partition, &a.tenant).cmp(&(b.partition, &b.tenant)));
    let mut records: Vec<(u32, Pending)> = Vec::new();
    for Announced { partition, tenant, announcement } in announced {
        match records.last_mut() {
            Some((of, pending))
                if *of == partition
                    && pending.tenant == tenant
                    && pending.announcements.len() < ANNOUNCED_MAX =>
            {
                pending.announcements.push(announcement);
            }
            _ => records.push((partition, Pending { tenant, announcements: vec![announcement] })),
        }
    }
    records
}

/// The latest day of which the person's owner said that it is full.
#[allow(
    clippy::cast_possible_truncation,
    reason = "casts of floats saturate, and a day is far from the edge"
)]
fn full_day(notes: &State) -> Option<Day> {
    match notes.get(notes::FULL_DAY)? {
        Value::Number(days) => Some(Day(*days as i32)),
        _ => None,
    }
}
