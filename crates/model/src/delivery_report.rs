//! What a report of the sender does to a record: what was deferred goes out again, what was left out ends, what failed is given back.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    delivery::{Delivery, DeliveryOutcome},
    due_time,
    entry::EntryKey,
    escalation::{self, FollowTrigger},
    fault::{self, PlantedFault},
    limits::{BACK_WAIT_MS, LIST_KEYS_MAX, WAITING_BYTES_MAX},
    mark::{Channel, EndReason, Mark, MarkAction},
    person::{DeferredReady, OwedMark, PersonRecord},
    plan::{OncePer, Plan},
    ready::{RECALLED, Ready},
    step_context::StepContext,
    time::{Day, UtcMillis},
    window_opening::{WindowAnnouncement, next_opening, open_all_plans, open_window},
};

/// Deferred Readys whose instant has come. Each is kept until there is a report, for it is on its way still.
pub(crate) fn reissue_deferred(record: &mut PersonRecord, now: UtcMillis) -> Vec<Ready> {
    // Of one that was issued and never reported nobody will hear any more.
    record.waiting.retain(|waiting| waiting.at > now || !waiting.is_issued());
    let due = record.waiting.iter_mut().filter(|waiting| waiting.at <= now);
    due.map(|waiting| {
        waiting.at = waiting.ready.expires;
        waiting.ready.clone()
    })
    .collect()
}

/// What became of a Ready: marks are owed, and what came back opens a window in the same turn. One that must be issued again
/// at once is given.
pub(crate) fn apply_report(
    record: &mut PersonRecord,
    delivery: &Delivery,
    at: &StepContext<'_>,
) -> Option<Ready> {
    escalation::apply_follow_report(record, delivery, at);
    if let DeliveryOutcome::Deferred { until, ready } = &delivery.outcome {
        return defer_ready(record, delivery, *until, ready, at);
    }
    record.waiting.retain(|waiting| waiting.ready.id != delivery.ready);
    let (back, left, maybe) = match &delivery.outcome {
        DeliveryOutcome::Sent { left }
        | DeliveryOutcome::Nothing { left }
        | DeliveryOutcome::Refused { left } => (&[][..], &left[..], false),
        DeliveryOutcome::Unknown { back, left } => (&back[..], &left[..], true),
        DeliveryOutcome::Returned { back } => (&back[..], &[][..], false),
        DeliveryOutcome::Deferred { .. } => return None,
    };
    owe_left(record, delivery, left);
    give_back(record, delivery, back, maybe, at);
    let untold: BTreeSet<Day> =
        back.iter().chain(left.iter().map(|(key, _)| key)).map(|key| key.day()).collect();
    if !untold.is_empty() {
        count_no_more(record, delivery, &untold, at);
        hurry_waiting(record, delivery, at);
    }
    None
}

/// Entries that a Ready did not tell do not count as told on other channels, either, so they wait there again.
pub(crate) fn count_no_more(
    record: &mut PersonRecord,
    delivery: &Delivery,
    days: &BTreeSet<Day>,
    at: &StepContext<'_>,
) {
    let Some(plan) = at.plans.by_name.get(&delivery.plan) else { return };
    let opening = next_opening(record, at);
    let counted = |next: &&Plan| next.channel != plan.channel && plan.counts_on.contains(&next.channel);
    for next in at.plans.by_name.values().filter(counted).filter(|next| next.shares_kinds(plan)) {
        // Where windows have keys its closing finds those that are meant.
        let key: Arc<str> = "".into();
        if next.follows.is_some() {
            escalation::offer_to_follower(record, next, &key, days, FollowTrigger::Ended, at);
        } else {
            open_window(
                record,
                next,
                WindowAnnouncement { key, aim: None, days: days.clone(), rows: 0, opening },
                at,
            );
        }
    }
}

/// Entries that waited for the outcome of this Ready, because their subject is told once, need not wait any longer.
pub(crate) fn hurry_waiting(record: &mut PersonRecord, delivery: &Delivery, at: &StepContext<'_>) {
    for window in record.windows.iter_mut().filter(|window| !window.is_kept()) {
        let Some(plan) = at.plans.by_name.get(&window.plan) else { continue };
        let asks = plan.once_per == OncePer::Subject && plan.channel == delivery.channel;
        // Its closing finds when it is due by its own rules; one that follows has no other instant than this.
        if asks && plan.follows.is_none() && !plan.close.is_calendar() {
            window.due = window.due.min(at.now);
        }
    }
}

/// Remembers a Ready until it is issued again. Where there is no room for that it is called back, for it may be in somebody's
/// hands: only the journal knows whether another one may tell what it tells.
pub(crate) fn defer_ready(
    record: &mut PersonRecord,
    delivery: &Delivery,
    until: UtcMillis,
    ready: &Ready,
    at: &StepContext<'_>,
) -> Option<Ready> {
    let attempt = delivery.attempt.saturating_add(1);
    let same = |waiting: &DeferredReady| waiting.ready.id == ready.id;
    if record.waiting.iter().any(|waiting| same(waiting) && waiting.ready.attempt >= attempt) {
        // The same report again.
        return None;
    }
    record.waiting.retain(|waiting| !same(waiting));
    // Before it expires, so that whoever has it next ends it.
    let until = until.min(ready.expires.plus(-1));
    let waiting = Ready { attempt, ..ready.clone().without_words() };
    record.waiting.push(DeferredReady { at: until, ready: waiting });
    if record.waiting_weight() <= WAITING_BYTES_MAX && record.has_room_for(0) {
        return None;
    }
    record.waiting.pop();
    if fault::is_planted(PlantedFault::BackUnasked) {
        let back: Vec<_> = ready.keys().collect();
        give_back(record, delivery, &back, false, at);
        return None;
    }
    Some(Ready { attempt: RECALLED, ..ready.clone() })
}

pub(crate) fn owe_left(record: &mut PersonRecord, delivery: &Delivery, left: &[(EntryKey, EndReason)]) {
    let reasons: BTreeSet<EndReason> = left.iter().map(|(_, why)| *why).collect();
    for why in reasons {
        let keys = left.iter().filter(|(_, w)| *w == why).map(|(key, _)| *key);
        owe_marks(
            record,
            delivery.channel,
            MarkAction::Left { ready: delivery.ready, why },
            keys,
            delivery.at,
        );
    }
}

pub(crate) fn give_back(
    record: &mut PersonRecord,
    delivery: &Delivery,
    keys: &[EntryKey],
    maybe: bool,
    at: &StepContext<'_>,
) {
    let what = MarkAction::Returned { ready: delivery.ready, maybe };
    owe_marks(record, delivery.channel, what, keys.iter().copied(), delivery.at);
    if keys.is_empty() {
        return;
    }
    let days: BTreeSet<Day> = keys.iter().map(|key| key.day()).collect();
    match at.plans.by_name.get(&delivery.plan) {
        Some(plan) => {
            let opening = next_opening(record, at);
            open_window(
                record,
                plan,
                WindowAnnouncement { key: delivery.key.clone(), aim: None, days, rows: 0, opening },
                at,
            );
            let window = record.windows.last_mut().filter(|window| !maybe && !window.is_acted_on());
            if let Some(window) = window {
                // What could not be sent a moment ago is not told again at once.
                window.due =
                    window.due.max(at.now.plus(BACK_WAIT_MS)).min(due_time::first_day_end(plan, window));
            }
        }
        None => open_all_plans(record, &days, at),
    }
}

/// Adds marks to what the store is owed, one for each day; more where it has very many.
pub(crate) fn owe_marks(
    record: &mut PersonRecord,
    channel: Channel,
    what: MarkAction,
    keys: impl IntoIterator<Item = EntryKey>,
    at: UtcMillis,
) {
    let mut keys: Vec<EntryKey> = keys.into_iter().collect();
    keys.sort_unstable();
    keys.dedup();
    for of_day in keys.chunk_by(|a, b| a.day() == b.day()).flat_map(|of_day| of_day.chunks(LIST_KEYS_MAX)) {
        let mark = Mark::new(Some(channel), what, of_day.to_vec(), at);
        let owed = OwedMark { day: of_day[0].day(), mark };
        if !record.owed.contains(&owed) {
            record.owed.push(owed);
        }
    }
}
