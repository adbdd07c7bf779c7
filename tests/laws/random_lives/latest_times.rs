//! When a plan has told at the latest, where nothing that it says or that happens may put it off.

use model::{
    closing_dates::ClosingDates,
    limits::{DAY_MS, READY_ENTRIES_MAX, WINDOWS_PER_PERSON_MAX},
    plan::{CloseRule, OncePer, Plan},
};

use super::oracle::PlanOracle;
use crate::names::{HOUR_MS, tenant};

/// How long after it was announced an entry has its fate, if one can say.
pub fn fate_deadline_ms(oracle: &PlanOracle, plan: &Plan) -> Option<i64> {
    let is_capped = oracle.catalogue.plans.caps.iter().any(|cap| cap.counts_plan(plan, &tenant("main")));
    let is_held = oracle.has_nights(plan) || plan.online.is_some() || is_capped;
    let waits = plan.rest.is_some() || plan.at_least > 1 || plan.once_per == OncePer::Subject;
    let room: usize = plan.sections.iter().map(|section| usize::from(section.most)).min().unwrap_or(0);
    // With many windows some may find no place; and who has room for few leaves the others.
    let is_full = oracle.entries.len() > room.min(WINDOWS_PER_PERSON_MAX / 2).min(READY_ENTRIES_MAX);
    if is_held || waits || is_full || plan.follows.is_some() {
        return None;
    }
    match &plan.close {
        CloseRule::After { ms } | CloseRule::Silence { most_ms: ms, .. } => Some(ms + HOUR_MS),
        CloseRule::Calendar { dates, .. } => {
            let gap = match dates {
                // Those that are drawn; to look through the whole calendar takes long.
                ClosingDates::Monthly(_) => 6,
                ClosingDates::Cron(_) => 1,
                ClosingDates::Weekdays(_) | ClosingDates::Every { .. } => dates.longest_gap()?,
            };
            // A journey may take a day more, and where not each date is told a second one.
            Some((gap + 1 + i64::from(gap > 1)) * DAY_MS)
        }
        CloseRule::Before { .. } | CloseRule::Away { .. } => None,
    }
}
