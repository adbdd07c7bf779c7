//! When somebody comes: how often in each hour of their own day, so that a plan may choose the hour in which they
//! read.

use std::collections::BTreeMap;

use crate::plan::{LocalHours, LocalTime};

/// Fewer visits than these say nothing of somebody.
const ENOUGH: u32 = 5;
/// When an hour has so many, all count half from there on: what somebody did lately says more.
const FULL: u8 = 40;

/// Visits by the hour; those long ago count less.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VisitHabit {
    /// Only hours that have some.
    visits: BTreeMap<u8, u8>,
}

impl VisitHabit {
    /// As it was written; what no day has is left out.
    pub fn from_visits(visits: impl IntoIterator<Item = (u8, u8)>) -> Self {
        Self { visits: visits.into_iter().filter(|(hour, count)| *hour < 24 && *count > 0).collect() }
    }

    pub fn visits(&self) -> impl ExactSizeIterator<Item = (u8, u8)> + '_ {
        self.visits.iter().map(|(hour, count)| (*hour, *count))
    }

    pub fn is_empty(&self) -> bool {
        self.visits.is_empty()
    }

    /// Notes a visit.
    pub(crate) fn note_visit(&mut self, at: LocalTime) {
        let count = self.visits.entry(at.hour).or_default();
        *count = count.saturating_add(1);
        if *count >= FULL {
            self.visits.values_mut().for_each(|count| *count /= 2);
            self.visits.retain(|_, count| *count > 0);
        }
    }

    /// The hour in which they come most, of those that are allowed and not quiet, and of several the earliest.
    /// Nothing for whom one hardly knows.
    pub(crate) fn best_hour(&self, within: LocalHours, quiet: Option<LocalHours>) -> Option<LocalTime> {
        if self.visits.values().copied().map(u32::from).sum::<u32>() < ENOUGH {
            return None;
        }
        let hour = |(hour, count): (&u8, &u8)| (LocalTime { hour: *hour, minute: 0 }, *count);
        let allowed =
            |(time, _): &(LocalTime, u8)| within.has(*time) && !quiet.is_some_and(|quiet| quiet.has(*time));
        let best = self.visits.iter().map(hour).filter(allowed).rev().max_by_key(|(_, count)| *count);
        best.map(|(time, _)| time)
    }
}
