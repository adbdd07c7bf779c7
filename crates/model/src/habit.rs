//! The habit of a person: how often they come in each hour of their own day. A plan with `best` closes in the hour in
//! which they read most ([`crate::due_time`]).

use std::collections::BTreeMap;

use crate::local_time::LocalTime;

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

    pub fn visits(&self) -> impl ExactSizeIterator<Item = (u8, u8)> + DoubleEndedIterator + '_ {
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
}
