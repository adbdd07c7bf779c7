//! Escalation: what was told on one channel and nobody came for is told on the next.
//!
//! A plan that follows another has no windows of its own accord. One opens when the other plan tells something,
//! waits for the report that it was delivered, and then for the person. Whoever comes meanwhile, on any surface,
//! has seen it.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    closing::Candidate,
    delivery::{Delivery, Outcome},
    id::ReadyId,
    limits::UNREPORTED_MS,
    mark::Why,
    person::{PersonRecord, Window},
    plan::{Follows, Plan},
    time::{Day, Millis},
    window::{self, At},
};

/// A plan told something of these days, by a Ready; or it could not, and what follows it need not wait.
pub(crate) fn after(
    record: &mut PersonRecord,
    plan: &Plan,
    key: &Arc<str>,
    days: &BTreeSet<Day>,
    ready: Option<ReadyId>,
    at: &At<'_>,
) {
    let opening = window::next_opening(record, at);
    for next in at.plans.by_name.values() {
        let Some(follows) = next.follows.as_ref().filter(|follows| follows.plans.contains(&plan.name)) else {
            continue;
        };
        // Without a key of its own it gathers what several windows, or several plans, told.
        let key: Arc<str> = if next.key.is_empty() { "".into() } else { key.clone() };
        let is_same = |window: &&mut Window| window.plan == next.name && window.key == key;
        if let Some(open) = record.windows.iter_mut().find(is_same) {
            // What came first says when.
            open.days.extend(days);
            open.due = if ready.is_some() { open.due } else { open.due.min(at.now) };
            continue;
        }
        record.last_opening = record.last_opening.max(opening);
        let wait = if ready.is_some() { follows.wait_ms.saturating_add(UNREPORTED_MS) } else { 0 };
        let mut window = Window::new(next.name.clone(), next.hash, key.clone(), opening);
        (window.after, window.due, window.days) = (ready, window.opening.plus(wait), days.clone());
        record.windows.push(window);
    }
}

/// What a Ready came to is known: who follows it waits from here on, or no longer.
pub(crate) fn reported(record: &mut PersonRecord, delivery: &Delivery, at: &At<'_>) {
    let follows = |window: &Window| at.plans.by_name.get(&window.plan)?.follows.clone();
    for window in record.windows.iter_mut().filter(|window| window.after == Some(delivery.ready)) {
        let Some(Follows { wait_ms, .. }) = follows(window) else { continue };
        let due = match &delivery.outcome {
            Outcome::Sent { .. } => delivery.at.plus(wait_ms),
            // It may have arrived.
            Outcome::Unknown { .. } => at.now.plus(wait_ms),
            Outcome::Nothing { .. } | Outcome::Refused { .. } => at.now,
            // What comes back is told by another one first.
            Outcome::Returned { .. } => at.now.plus(wait_ms.saturating_add(UNREPORTED_MS)),
            Outcome::Deferred { until, .. } => until.plus(wait_ms.saturating_add(UNREPORTED_MS)),
        };
        window.close_at(due, at.now);
    }
}

/// Ends what the person came for after they were told. What they were told since they came has its own wait: gives
/// its end, if that is still ahead. What they were not told yet is then left to the plan that tells it first.
pub(crate) fn come_for(
    plan: &Plan,
    window: &Window,
    candidates: &mut Vec<Candidate>,
    seen: Option<Millis>,
    at: &At<'_>,
) -> Option<Millis> {
    let (follows, seen) = (plan.follows.as_ref()?, seen.filter(|seen| *seen > window.opening)?);
    candidates.retain(|one| one.told.is_some() || one.holds.is_err());
    let since = candidates.iter().filter(|one| one.holds.is_ok()).filter_map(|one| one.told);
    let later = since.filter(|told| *told >= seen).min().map(|told| told.plus(follows.wait_ms));
    if later.is_some_and(|later| later > at.now) {
        return later;
    }
    let came = |one: &&mut Candidate| one.told.is_some_and(|told| seen > told) && one.holds.is_ok();
    candidates.iter_mut().filter(came).for_each(|one| one.holds = Err(Why::SeesItself));
    None
}
