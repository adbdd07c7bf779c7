//! What holds of somebody who says nothing, where it is the same for all that it is about.

use std::collections::BTreeSet;

use catalogue::KindDef;
use model::{
    Channel, PlanName, VersionedState,
    plan::{CloseRule, LocalTime, Plan, ZoneRule},
};
use preferences::PreferenceChoice;

use crate::ReaderState;

impl<'a> ReaderState<'a> {
    /// The time at which what a plan tells once on a date by the person's own clock comes.
    pub fn find_usual_time(&self) -> Option<LocalTime> {
        let time = |plan: &Plan| match &plan.close {
            // Where a plan asks when the person comes most, nobody can say it beforehand.
            CloseRule::Calendar { times, zone: ZoneRule::Person, best, .. } if times.len() == 1 => {
                Some(times.first().copied().filter(|_| best.is_none()))
            }
            _ => None,
        };
        let times: BTreeSet<Option<LocalTime>> =
            self.catalogue.plans.by_name.values().filter_map(time).collect();
        if times.len() == 1 { times.into_iter().next().flatten() } else { None }
    }

    /// The plan of a channel that tells of all kinds among whose plans there is a choice.
    pub fn find_usual_plan(&self, channel: Channel) -> Option<&'a PlanName> {
        let catalogue = self.catalogue;
        let has_choice = |kind: &&KindDef| {
            let plans = kind.offered_plans(&catalogue.plans);
            plans.filter(|plan| plan.channel == channel && plan.follows.is_none()).count() > 1
        };
        let unsaid = VersionedState::default();
        let usual = |kind: &KindDef| {
            // Whoever turns on what is off gets it as all others do.
            let choice = match self.default_of(kind) {
                PreferenceChoice::Digest if !kind.critical => PreferenceChoice::Digest,
                _ => PreferenceChoice::On,
            };
            let plans = catalogue.plans_by_choice(kind, &unsaid, |_| choice);
            plans.into_iter().find(|plan| plan.channel == channel).map(|plan| &plan.name)
        };
        let names: BTreeSet<&PlanName> =
            catalogue.kinds.values().filter(has_choice).filter_map(usual).collect();
        if names.len() == 1 { names.into_iter().next() } else { None }
    }
}
