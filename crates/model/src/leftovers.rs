//! What a closing leaves: the marks of what ended, and what goes on to the next one. When that is, [`due_time::due_after_closing`] says.

use std::collections::BTreeSet;

use crate::{
    closing_candidate::ClosingCandidate,
    delivery_report,
    due_time::{self, LeftoverReason, WindowHistory},
    entry::EntryKey,
    escalation,
    id::ReadyId,
    limits::{CLOSING_BYTES_MAX, RECORD_BYTES_MAX},
    mark::{EndReason, MarkAction},
    person::{HoldCause, KEY_BYTES, MARK_BYTES, PersonRecord, Window},
    plan::{FirstRule, Plan},
    sorted_closing::SortedClosing,
    step_context::StepContext,
    time::{Day, UtcMillis},
    window_opening::{WindowAnnouncement, next_opening, open_window},
};

/// Ends what is over for the plan of a window as of the instant at which it was asked for; the window stays with its
/// other days. Gives whether it did, and may close.
pub(crate) fn end_over(
    record: &mut PersonRecord,
    (index, joined): (usize, &[Window]),
    plan: &Plan,
    candidates: &mut Vec<ClosingCandidate>,
    (asked_for, at): (UtcMillis, &StepContext<'_>),
) -> bool {
    let window = &record.windows[index];
    let (held, opening) = (window.held.map_or(EndReason::Expired, HoldCause::end_reason), window.opening);
    // What came too late was held by nothing.
    let why = |day| if plan.end_of(day) <= opening { EndReason::Expired } else { held };
    end_days(record, (index, joined), plan, candidates, |day| plan.end_of(day) <= asked_for, why, at)
}

/// Ends the oldest day of a window whose person did not leave in time; its other days wait on.
pub(crate) fn end_outlived_day(
    record: &mut PersonRecord,
    (index, joined): (usize, &[Window]),
    plan: &Plan,
    candidates: &mut Vec<ClosingCandidate>,
    at: &StepContext<'_>,
) {
    let oldest = record.windows[index].days.first().copied();
    if end_days(
        record,
        (index, joined),
        plan,
        candidates,
        |day| Some(day) == oldest,
        |_| EndReason::SeesItself,
        at,
    ) {
        let window = &record.windows[index];
        let due = due_time::decide_due(
            plan,
            window,
            WindowHistory::from_record(record, window),
            window.opening,
            at,
        )
        .at;
        record.windows[index].close_at(due.max(at.now.plus(1)), at.now);
    }
}

/// Ends what lies in some days of a window, and of those that are told with it. Gives whether other days are left in it,
/// and none of these.
fn end_days(
    record: &mut PersonRecord,
    (index, joined): (usize, &[Window]),
    plan: &Plan,
    candidates: &mut Vec<ClosingCandidate>,
    is_over: impl Fn(Day) -> bool,
    why: impl Fn(Day) -> EndReason,
    at: &StepContext<'_>,
) -> bool {
    let (over, others) =
        std::mem::take(candidates).into_iter().partition(|one: &ClosingCandidate| is_over(one.key.day()));
    *candidates = others;
    let why = |one: ClosingCandidate| (one.key, one.holds.err().unwrap_or_else(|| why(one.key.day())));
    // What is told with the others once more has been told.
    let ended = Vec::into_iter(over).filter(|one| !one.repeated).map(why).collect();
    let mut sorted = SortedClosing::with_ended(ended);
    let before = record.windows[index].clone();
    record.windows[index].days.retain(|day| !is_over(*day));
    let rest = owe_ended_marks(record, plan, &mut sorted, at);
    record.windows[index].days.extend(&rest);
    let is_left = !record.windows[index].days.is_empty();
    if !is_left {
        record.windows.remove(index);
    }
    escalation::pass_on_ended(record, plan, &[&[before][..], joined].concat(), &sorted.ended, at);
    is_left && rest.is_empty()
}

/// Owes the marks of what ended; days of which there is more than one closing may name are given back.
pub(crate) fn owe_ended_marks(
    record: &mut PersonRecord,
    plan: &Plan,
    sorted: &mut SortedClosing,
    at: &StepContext<'_>,
) -> BTreeSet<Day> {
    // There is no next closing for what would be carried past its end.
    let past = |candidate: &ClosingCandidate| plan.end_of(candidate.key.day()) <= at.now;
    let (gone, carried) = std::mem::take(&mut sorted.carried).into_iter().partition(past);
    sorted.carried = carried;
    sorted
        .ended
        .extend(gone.into_iter().map(|candidate: ClosingCandidate| (candidate.key, EndReason::Expired)));
    // However many keys it covers, a mark takes no more of the record than with one key: it names a list.
    let room =
        RECORD_BYTES_MAX.saturating_sub(record.weight() + CLOSING_BYTES_MAX) / (KEY_BYTES + MARK_BYTES);
    let mut marks = BTreeSet::new();
    let has_room = |(key, why): &&(EntryKey, EndReason)| {
        marks.insert((*why, key.day()));
        marks.len() <= room.max(1)
    };
    let most = sorted.ended.iter().take_while(has_room).count();
    let rest = sorted.ended.split_off(most);
    let reasons: BTreeSet<EndReason> = sorted.ended.iter().map(|(_, why)| *why).collect();
    for why in reasons {
        let keys = sorted.ended.iter().filter(|(_, w)| *w == why).map(|(key, _)| *key);
        delivery_report::owe_marks(record, plan.channel, MarkAction::Ended(why), keys, at.now);
    }
    rest.into_iter().map(|(key, _)| key.day()).collect()
}

/// Entries that are carried over open the next windows in the same turn, one for each window that was closed;
/// so does the rest of the entries that ended, which is found ended again.
pub(crate) fn carry_over(
    record: &mut PersonRecord,
    plan: &Plan,
    (window, joined): (&Window, &[Window]),
    carried: &[ClosingCandidate],
    rest: &BTreeSet<Day>,
    told: Option<ReadyId>,
    at: &StepContext<'_>,
) {
    // The soonest of these says when.
    let waits = |one: &ClosingCandidate| match (one.awaits, told) {
        (true, _) => LeftoverReason::Awaits,
        (false, Some(_)) => LeftoverReason::NoRoom,
        (false, None) => LeftoverReason::TooFew,
    };
    let no_room = (!rest.is_empty()).then_some(LeftoverReason::NoRoom);
    let Some(left) = carried.iter().map(waits).chain(no_room).min() else { return };
    if let Some(id) = told {
        let over = carried.iter().filter(|candidate| !candidate.awaits);
        let keys = over.map(|candidate| candidate.key);
        delivery_report::owe_marks(record, plan.channel, MarkAction::Carried(id), keys, at.now);
    }
    // After this instant, so that the next closing is the next one and not this one again.
    record.last_opening = record.last_opening.max(at.now);
    let opening = next_opening(record, at);
    let aim = carried.iter().filter_map(|one| one.aim).min();
    let days: BTreeSet<Day> = carried.iter().map(|one| one.key.day()).chain(rest.iter().copied()).collect();
    for window in joined.iter().chain([window]) {
        // Whose it is of several that have its day, their next closing finds.
        let days: BTreeSet<Day> = days.intersection(&window.days).copied().collect();
        if days.is_empty() {
            continue;
        }
        let rows = carried.iter().filter(|one| days.contains(&one.key.day())).count();
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        open_window(
            record,
            plan,
            WindowAnnouncement { key: window.key.clone(), aim, days, rows, opening },
            at,
        );
        let is_it = |open: &Window| open.plan == plan.name && open.key == window.key;
        // Where all places are taken, it waits for one.
        let Some(place) = record.windows.iter().position(is_it) else { continue };
        let open = &mut record.windows[place];
        // The first of what was carried is no first one.
        open.first = match (plan.first, told) {
            (FirstRule::Gathered, _) => None,
            (_, None) => window.first,
            (_, Some(_)) => carried.first().map(|one| one.key),
        };
        let open = &record.windows[place];
        let due = due_time::due_after_closing(plan, open, left, WindowHistory::from_record(record, open), at);
        record.windows[place].due = due;
    }
}
