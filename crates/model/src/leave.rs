//! What a closing leaves: the marks of what ended, and what goes on to the next one. When that is, [`due::next`] says.

use std::collections::BTreeSet;

use crate::{
    closing::{Candidate, Sorted},
    due::{self, Left, Past},
    escalate,
    hold::Held,
    id::ReadyId,
    limits::{CARRIED_KEYS_MAX, CLOSING_BYTES_MAX, CLOSING_KEYS_MAX, READY_ENTRIES_MAX, RECORD_BYTES_MAX},
    mark::{What, Why},
    person::{KEY_BYTES, MARK_BYTES, PersonRecord, Window},
    plan::{First, Plan},
    time::{Day, Millis},
    window::{self, At, News},
};

/// Ends what is over for the plan of a window as of the instant at which it was asked for; the window stays with its
/// other days. Gives whether it did, and may close.
pub(crate) fn end_over(
    record: &mut PersonRecord,
    (index, joined): (usize, &[Window]),
    plan: &Plan,
    candidates: &mut Vec<Candidate>,
    (asked_for, at): (Millis, &At<'_>),
) -> bool {
    let window = &record.windows[index];
    let (held, opening) = (window.held.map_or(Why::Expired, Held::why), window.opening);
    // What came too late was held by nothing.
    let why = |day| if plan.end_of(day) <= opening { Why::Expired } else { held };
    end_days(record, (index, joined), plan, candidates, |day| plan.end_of(day) <= asked_for, why, at)
}

/// Ends the oldest day of a window that waited in vain for the person to leave; its other days wait on.
pub(crate) fn outlive(
    record: &mut PersonRecord,
    (index, joined): (usize, &[Window]),
    plan: &Plan,
    candidates: &mut Vec<Candidate>,
    at: &At<'_>,
) {
    let oldest = record.windows[index].days.first().copied();
    if end_days(record, (index, joined), plan, candidates, |day| Some(day) == oldest, |_| Why::SeesItself, at)
    {
        let window = &record.windows[index];
        let due = due::due(plan, window, Past::of(record, window), window.opening, at).at;
        record.windows[index].close_at(due.max(at.now.plus(1)), at.now);
    }
}

/// Ends what lies in some days of a window, and of those that are told with it. Gives whether other days are left in it,
/// and none of these.
fn end_days(
    record: &mut PersonRecord,
    (index, joined): (usize, &[Window]),
    plan: &Plan,
    candidates: &mut Vec<Candidate>,
    is_over: impl Fn(Day) -> bool,
    why: impl Fn(Day) -> Why,
    at: &At<'_>,
) -> bool {
    let (over, others) =
        std::mem::take(candidates).into_iter().partition(|one: &Candidate| is_over(one.key.day()));
    *candidates = others;
    let why = |one: Candidate| (one.key, one.holds.err().unwrap_or_else(|| why(one.key.day())));
    // What is told with the others once more has been told.
    let ended = Vec::into_iter(over).filter(|one| !one.repeated).map(why).collect();
    let mut sorted = Sorted::ended(ended);
    let before = record.windows[index].clone();
    record.windows[index].days.retain(|day| !is_over(*day));
    let rest = end(record, plan, &mut sorted, at);
    record.windows[index].days.extend(&rest);
    let is_left = !record.windows[index].days.is_empty();
    if !is_left {
        record.windows.remove(index);
    }
    escalate::ended(record, plan, &[&[before][..], joined].concat(), &sorted.ended, at);
    is_left && rest.is_empty()
}

/// Owes the marks of what ended; days of which there is more than one closing may name are given back.
pub(crate) fn end(record: &mut PersonRecord, plan: &Plan, sorted: &mut Sorted, at: &At<'_>) -> BTreeSet<Day> {
    // There is no next closing for what would be carried past its end.
    let past = |candidate: &Candidate| plan.end_of(candidate.key.day()) <= at.now;
    let (gone, carried) = std::mem::take(&mut sorted.carried).into_iter().partition(past);
    sorted.carried = carried;
    sorted.ended.extend(gone.into_iter().map(|candidate: Candidate| (candidate.key, Why::Expired)));
    let room =
        RECORD_BYTES_MAX.saturating_sub(record.weight() + CLOSING_BYTES_MAX) / (KEY_BYTES + MARK_BYTES);
    let most = room.clamp(1, CLOSING_KEYS_MAX - READY_ENTRIES_MAX);
    let rest = sorted.ended.split_off(sorted.ended.len().min(most));
    let reasons: BTreeSet<Why> = sorted.ended.iter().map(|(_, why)| *why).collect();
    for why in reasons {
        let keys = sorted.ended.iter().filter(|(_, w)| *w == why).map(|(key, _)| *key);
        window::owe(record, plan.channel, What::Ended(why), keys, at.now);
    }
    rest.into_iter().map(|(key, _)| key.day()).collect()
}

/// What is carried opens the next windows in the same turn, one for each that was closed, and so does the rest of what
/// ended, which is found ended again.
pub(crate) fn carry(
    record: &mut PersonRecord,
    plan: &Plan,
    (window, joined): (&Window, &[Window]),
    carried: &[Candidate],
    rest: &BTreeSet<Day>,
    told: Option<ReadyId>,
    at: &At<'_>,
) {
    // The soonest of these says when.
    let waits = |one: &Candidate| match (one.awaits, told) {
        (true, _) => Left::Awaits,
        (false, Some(_)) => Left::NoRoom,
        (false, None) => Left::TooFew,
    };
    let no_room = (!rest.is_empty()).then_some(Left::NoRoom);
    let Some(left) = carried.iter().map(waits).chain(no_room).min() else { return };
    if let Some(id) = told {
        let over = carried.iter().filter(|candidate| !candidate.awaits);
        let keys = over.map(|candidate| candidate.key).take(CARRIED_KEYS_MAX);
        window::owe(record, plan.channel, What::Carried(id), keys, at.now);
    }
    // After this instant, so that the next closing is the next one and not this one again.
    record.last_opening = record.last_opening.max(at.now);
    let opening = window::next_opening(record, at);
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
        window::open(record, plan, News { key: window.key.clone(), aim, days, rows, opening }, at);
        let is_it = |open: &Window| open.plan == plan.name && open.key == window.key;
        // Where all places are taken, it waits for one.
        let Some(place) = record.windows.iter().position(is_it) else { continue };
        let open = &mut record.windows[place];
        // The first of what was carried is no first one.
        open.first = match (plan.first, told) {
            (First::Gathered, _) => None,
            (_, None) => window.first,
            (_, Some(_)) => carried.first().map(|one| one.key),
        };
        let open = &record.windows[place];
        let due = due::next(plan, open, left, Past::of(record, open), at);
        record.windows[place].due = due;
    }
}
