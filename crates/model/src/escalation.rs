//! Escalation: entries that were told on one channel, but that the person has not come for, are told on the next.
//!
//! A plan that follows another has no windows of its own accord. One opens when the other plan tells something, waits
//! for the report that it was delivered, and then for the person. A person who comes meanwhile, on any surface, has
//! seen it.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    closing_candidate::ClosingCandidate,
    delivery::{Delivery, DeliveryOutcome},
    due_time,
    entry::EntryKey,
    fault::{self, PlantedFault},
    id::ReadyId,
    limits::UNREPORTED_MS,
    mark::{Channel, EndReason},
    person::{PersonRecord, Window},
    plan::{EscalationRule, Plan},
    step_context::StepContext,
    time::{Day, UtcMillis},
    window_opening::next_opening,
};

/// What a closing came to, for the plans that follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FollowTrigger {
    /// This Ready tells something.
    Told(ReadyId),
    /// The person cannot be reached there, and nobody waits for them to come.
    Unreached,
    /// It ended for another reason. Whoever follows ends it too, or tells it if nothing is against that.
    Ended,
}

/// Entries of some windows of a plan ended untold, for these reasons.
pub(crate) fn pass_on_ended(
    record: &mut PersonRecord,
    plan: &Plan,
    windows: &[Window],
    ended: &[(EntryKey, EndReason)],
    at: &StepContext<'_>,
) {
    let days: BTreeSet<Day> = ended.iter().map(|(key, _)| key.day()).collect();
    let is_unreached =
        fault::is_planted(PlantedFault::HurriedByEnded) || ended.iter().any(|(_, why)| why.is_unreached());
    for window in windows {
        let of_window = window.days.intersection(&days).copied().collect();
        let came = if is_unreached { FollowTrigger::Unreached } else { FollowTrigger::Ended };
        pass_on_closing(record, plan, &window.key, &of_window, came, at);
    }
}

/// A closing of a plan told, or ended, something of these days.
pub(crate) fn pass_on_closing(
    record: &mut PersonRecord,
    plan: &Plan,
    key: &Arc<str>,
    days: &BTreeSet<Day>,
    came: FollowTrigger,
    at: &StepContext<'_>,
) {
    for next in at.plans.by_name.values().filter(|next| next.is_after(plan)) {
        offer_to_follower(record, next, key, days, came, at);
    }
}

/// Entries that a Ready told count as told on other channels: plans that follow a plan of such a channel tell them
/// next, unless they count there, too.
pub(crate) fn pass_on_told(
    record: &mut PersonRecord,
    plan: &Plan,
    days: &BTreeSet<Day>,
    id: ReadyId,
    at: &StepContext<'_>,
) {
    let counts = |channel: Channel| channel == plan.channel || plan.counts_on.contains(&channel);
    let all = at.plans.by_name.values();
    let others: Vec<&Plan> =
        all.clone().filter(|one| one.channel != plan.channel && counts(one.channel)).collect();
    let follows = |next: &&Plan| !next.is_after(plan) && others.iter().any(|one| next.is_after(one));
    for next in all.filter(follows).filter(|next| !counts(next.channel) && next.shares_kinds(plan)) {
        // Where windows have keys its closing finds what has none open.
        offer_to_follower(record, next, &"".into(), days, FollowTrigger::Told(id), at);
    }
}

/// Something of these days is there for a plan that follows.
pub(crate) fn offer_to_follower(
    record: &mut PersonRecord,
    next: &Plan,
    key: &Arc<str>,
    days: &BTreeSet<Day>,
    came: FollowTrigger,
    at: &StepContext<'_>,
) {
    let Some(follows) = next.follows.as_ref().filter(|_| !days.is_empty()) else { return };
    let opening = next_opening(record, at);
    // Until there is a report.
    let unreported = |from: UtcMillis| from.plus(follows.wait_ms.saturating_add(UNREPORTED_MS));
    // Without a key of its own it gathers what several windows, or several plans, told.
    let key: Arc<str> = if next.key.is_empty() { "".into() } else { key.clone() };
    let is_same = |window: &&mut Window| window.plan == next.name && window.key == key;
    if let Some(open) = record.windows.iter_mut().find(is_same) {
        open.days.extend(days);
        match came {
            // Of what was told what came first says when.
            FollowTrigger::Told(id) if open.after.is_none() && !open.is_acted_on() => {
                open.after = Some(id);
                let due = unreported(at.now);
                // What is due already is not told ahead of what it follows.
                let soonest = at.now.plus(1).max(open.opening);
                open.due = if open.due > soonest { open.due.min(due) } else { due };
            }
            FollowTrigger::Unreached => open.due = open.due.min(at.now),
            FollowTrigger::Told(_) | FollowTrigger::Ended => {}
        }
        open.due = open.due.min(due_time::last_call(next, open, at.now));
        return;
    }
    record.last_opening = record.last_opening.max(opening);
    let mut window = Window::new(next.name.clone(), next.hash, key, opening);
    window.days.clone_from(days);
    if let FollowTrigger::Told(id) = came {
        (window.after, window.due) = (Some(id), unreported(opening));
        window.due = window.due.min(due_time::last_call(next, &window, at.now));
    }
    record.windows.push(window);
}

/// The outcome of a Ready is known: the plans that follow it wait from now on, or not at all.
pub(crate) fn apply_follow_report(record: &mut PersonRecord, delivery: &Delivery, at: &StepContext<'_>) {
    let plan_of = |window: &Window| at.plans.by_name.get(&window.plan);
    for window in record.windows.iter_mut().filter(|window| window.after == Some(delivery.ready)) {
        let Some(plan) = plan_of(window) else { continue };
        let Some(EscalationRule { wait_ms, .. }) = plan.follows else { continue };
        let due = match &delivery.outcome {
            DeliveryOutcome::Nothing { left } if left.iter().any(|(_, why)| why.is_unreached()) => at.now,
            DeliveryOutcome::Refused { .. } => at.now,
            // What went out before, or will, has its wait.
            DeliveryOutcome::Sent { .. } | DeliveryOutcome::Nothing { .. } => delivery.at.plus(wait_ms),
            // It may have arrived.
            DeliveryOutcome::Unknown { .. } => at.now.plus(wait_ms),
            // What comes back is told by another one first.
            DeliveryOutcome::Returned { .. } => at.now.plus(wait_ms.saturating_add(UNREPORTED_MS)),
            DeliveryOutcome::Deferred { until, .. } => until.plus(wait_ms.saturating_add(UNREPORTED_MS)),
        };
        window.close_at(due.min(due_time::last_call(plan, window, at.now)), at.now);
    }
}

/// Ends what the person came for after they were told. What they were told since they came has its own wait: gives
/// its end, if that is still ahead. What they were not told yet is then left to the plan that tells it first; and so it
/// is where it would be told alone, and not beside something that the plan before has told or could not tell.
pub(crate) fn end_visited(
    plan: &Plan,
    window: &Window,
    candidates: &mut Vec<ClosingCandidate>,
    seen: Option<UtcMillis>,
    at: &StepContext<'_>,
) -> Option<UtcMillis> {
    let follows = plan.follows.as_ref()?;
    let since = seen.filter(|seen| *seen > window.opening);
    let is_alone = !candidates.iter().any(|one| !one.untold && one.is_told_by(plan));
    if since.is_some() || is_alone && !window.is_acted_on() {
        candidates.retain(|one| !one.untold || one.holds.is_err());
    }
    let told_since =
        |one: &ClosingCandidate| one.told.filter(|told| since.is_some_and(|since| *told >= since));
    let waits = candidates.iter().filter(|one| one.holds.is_ok()).filter_map(told_since);
    let later = waits.min().map(|told| told.plus(follows.wait_ms));
    if later.is_some_and(|later| later > at.now) {
        return later;
    }
    // Also where they came before this window opened, for what came back of the last one.
    let came = |one: &&mut ClosingCandidate| {
        one.holds.is_ok() && one.told.zip(seen).is_some_and(|(told, seen)| seen > told)
    };
    candidates.iter_mut().filter(came).for_each(|one| one.holds = Err(EndReason::SeesItself));
    None
}
