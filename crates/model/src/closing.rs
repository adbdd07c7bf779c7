//! A closing, decided once: what is told now, what ended, what is carried over, and the marks that say so.

use std::collections::BTreeSet;

use crate::{
    badge,
    closing_candidate::ClosingCandidate,
    closing_dates::ClosingNumber,
    delivery_report,
    due_time::{self, WindowHistory},
    entry::EntryKey,
    escalation::{self, FollowTrigger},
    fault::{self, PlantedFault},
    hold::{self, WindowGate},
    id::ReadyId,
    leftovers,
    limits::{CLOSING_BYTES_MAX, DAY_MS, RECORD_BYTES_MAX, TOLD_MAX},
    mark::{EndReason, MarkAction},
    person::{Act, HoldCause, MessageHistory, PersonRecord, ToldClosing, Window},
    plan::{Plan, TooFewRule},
    ready::{self, Ready, ReadyEntry},
    sorted_closing::{CandidateGroup, SortedClosing, sort_candidates},
    step_context::StepContext,
    time::{Day, UtcMillis},
    window_opening,
};

/// The closing of a window. Entries that are over have ended by then.
enum ClosingCase {
    /// It is due later by now, or the record has no room for more marks: the store must have some of those that are owed
    /// first.
    NotYet,
    /// Cancelled by hand: all that waits in it ends.
    Cancelled(Vec<ClosingCandidate>),
    /// The person never left in time: the oldest day of the window ends.
    Outlived(Vec<ClosingCandidate>),
    /// The person came after they were told of it elsewhere, and what they were told since waits until then.
    Visited(UtcMillis),
    /// Something holds it until then.
    Held(UtcMillis, HoldCause),
    /// Its first entry goes ahead, and the window stays open for the others.
    First { candidates: Vec<ClosingCandidate>, silent: bool },
    /// It closes, and tells what still holds.
    Closes { candidates: Vec<ClosingCandidate>, silent: bool },
}

/// A window that is asked to close, and what goes with it.
#[derive(Clone, Copy)]
struct ClosingWindow<'a> {
    plan: &'a Plan,
    /// Its place in the record.
    index: usize,
    /// As it was asked, due when it is by now.
    window: &'a Window,
    /// Others of its plan that are told with it.
    joined: &'a [Window],
    /// The closing of its plan's calendar that it stands for.
    number: Option<ClosingNumber>,
}

/// Closes a window; the record loses it, and gains what is owed and what follows.
pub(crate) fn close_window(
    record: &mut PersonRecord,
    window: &Window,
    joined: &[Window],
    mut candidates: Vec<ClosingCandidate>,
    live: Option<bool>,
    at: &StepContext<'_>,
) -> Vec<Ready> {
    let Some(index) = record.windows.iter().position(|open| open == window) else { return Vec::new() };
    let Some(plan) = at.plans.by_name.get(&window.plan) else {
        let days = record.windows.remove(index).days;
        window_opening::open_all_plans(record, &days, at);
        return Vec::new();
    };
    let joined = &learn_days(record, (index, joined), &candidates);
    let is_blocked = !record.owed.is_empty() && record.weight() + CLOSING_BYTES_MAX > RECORD_BYTES_MAX;
    // Derived again at the last moment: the person may have travelled since, and what was heard may have
    // been heard twice.
    let open = &mut record.windows[index];
    open.heard = open.heard.min(count_holding(&candidates));
    open.aim = candidates.iter().filter(|one| one.holds.is_ok()).filter_map(|one| one.aim).min();
    if let Some(asked_for) = find_over(plan, open, at.now) {
        // What is over must not have the rest told before its time.
        let over = (asked_for, at);
        if is_blocked || !leftovers::end_over(record, (index, joined), plan, &mut candidates, over) {
            return Vec::new();
        }
    }
    let window = &record.windows[index].clone();
    let due = due_time::recheck_due(plan, window, WindowHistory::from_record(record, window), at);
    record.windows[index].close_at(due.at, at.now);
    let window = &Window { due: due.at, ..window.clone() };
    let closing = ClosingWindow { plan, index, window, joined, number: due.number };
    match decide_case(record, closing, candidates, is_blocked, live, at) {
        ClosingCase::NotYet => Vec::new(),
        ClosingCase::Cancelled(candidates) => {
            cancel_window(record, index, plan, candidates, at);
            Vec::new()
        }
        ClosingCase::Outlived(mut candidates) => {
            leftovers::end_outlived_day(record, (index, joined), plan, &mut candidates, at);
            Vec::new()
        }
        ClosingCase::Visited(later) => {
            record.windows[index].close_at(later, at.now);
            Vec::new()
        }
        ClosingCase::Held(until, why) => {
            // What is over by then ends at its end, and the others wait on.
            let until = until.min(due_time::first_day_end(plan, window));
            (record.windows[index].due, record.windows[index].held) = (until, Some(why));
            Vec::new()
        }
        ClosingCase::First { candidates, silent } => {
            vec![tell_first(record, index, plan, candidates, silent, at)]
        }
        ClosingCase::Closes { candidates, silent } => {
            tell_window(record, closing, candidates, silent, at).into_iter().collect()
        }
    }
}

/// As of which instant a window has days that are over, if it has any. What was due in time is told, however late the
/// house is itself; what was held is over at its end.
fn find_over(plan: &Plan, window: &Window, now: UtcMillis) -> Option<UtcMillis> {
    let asked_for = if window.held.is_some() { now } else { window.due.min(now) };
    let is_over = window.act != Some(Act::Cancel) && due_time::first_day_end(plan, window) <= asked_for;
    is_over.then_some(asked_for)
}

/// The one decision of a closing: nothing is changed here but which of the candidates still hold.
fn decide_case(
    record: &PersonRecord,
    closing: ClosingWindow<'_>,
    mut candidates: Vec<ClosingCandidate>,
    is_blocked: bool,
    live: Option<bool>,
    at: &StepContext<'_>,
) -> ClosingCase {
    let ClosingWindow { plan, window, .. } = closing;
    if window.due > at.now || is_blocked {
        return ClosingCase::NotYet;
    }
    if window.act == Some(Act::Cancel) {
        return ClosingCase::Cancelled(candidates);
    }
    let WindowHistory { seen, .. } = WindowHistory::from_record(record, window);
    if !window.is_acted_on() && due_time::waits_in_vain(plan, window, seen, at) {
        return ClosingCase::Outlived(candidates);
    }
    if let Some(later) = escalation::end_visited(plan, window, &mut candidates, seen, at) {
        return ClosingCase::Visited(later);
    }
    let mut silent = false;
    if !window.is_acted_on() && candidates.iter().any(|one| one.is_told_by(plan)) {
        match hold::decide_gate(plan, record, live, at) {
            WindowGate::Open { silent: is_silent } => silent = is_silent,
            WindowGate::Until(until, why) => return ClosingCase::Held(until, why),
            WindowGate::Ended(why) => end_all(&mut candidates, why),
        }
    }
    let is_first = due_time::is_first(plan, window) && !window.is_acted_on();
    if is_first && candidates.iter().any(|one| one.is_told_by(plan)) {
        return ClosingCase::First { candidates, silent };
    }
    ClosingCase::Closes { candidates, silent }
}

/// Takes a window out of the record, with those that are told with it: tells what holds, ends what does not, and carries
/// over what has no room.
fn tell_window(
    record: &mut PersonRecord,
    closing: ClosingWindow<'_>,
    candidates: Vec<ClosingCandidate>,
    silent: bool,
    at: &StepContext<'_>,
) -> Option<Ready> {
    let ClosingWindow { plan, index, window, joined, number } = closing;
    let WindowHistory { number: last_told, .. } = WindowHistory::from_record(record, window);
    record.windows.remove(index);
    record.windows.retain(|open| !joined.contains(open));
    let mut sorted = sort_candidates(candidates, plan, plan.oldest_day(window.due));
    // A closing is told once, also if the last call of a day comes later on a date that has been told.
    let again = number.zip(last_told).is_some_and(|(number, told)| told >= number);
    let few = sorted.told.len() < usize::from(plan.at_least);
    if (again || few) && !window.is_acted_on() {
        put_back(&mut sorted, plan.below == TooFewRule::Ended && !again);
    }
    let rest = leftovers::owe_ended_marks(record, plan, &mut sorted, at);
    let told = !sorted.told.is_empty();
    if told {
        tell_number(record, (window, joined), number);
        joined.iter().chain([window]).for_each(|window| remember_message(record, plan, window, at));
        hold::count_message(record, plan, at);
    } else {
        escalation::pass_on_ended(record, plan, &[&[window.clone()][..], joined].concat(), &sorted.ended, at);
    }
    let id = ready_id(window, at);
    leftovers::carry_over(record, plan, (window, joined), &sorted.carried, &rest, told.then_some(id), at);
    if !told {
        return None;
    }
    let badge = owe_told_marks(record, plan, (window, joined), id, &sorted, at);
    Some(build_ready(id, (silent, badge), plan, window, sorted, at))
}

/// Windows that are told together read each other's days, and find entries in days that their own window has not heard
/// of: it hears of them, for whatever follows it. Gives those that are told with the one at this place.
fn learn_days(
    record: &mut PersonRecord,
    (index, joined): (usize, &[Window]),
    candidates: &[ClosingCandidate],
) -> Vec<Window> {
    let mut learned = Vec::new();
    for (place, open) in record.windows.iter_mut().enumerate() {
        let is_joined = joined.contains(open);
        if is_joined || place == index {
            let own = candidates.iter().filter(|one| one.keys.contains(&open.key));
            open.days.extend(own.map(|one| one.key.day()));
        }
        if is_joined {
            learned.push(open.clone());
        }
    }
    learned
}

/// Entries that would be told are not: they end, or are carried over.
fn put_back(sorted: &mut SortedClosing, ends: bool) {
    let back = std::mem::take(&mut sorted.told).into_iter().flat_map(CandidateGroup::into_candidates);
    let back = back.filter(|one| !one.repeated);
    if ends {
        sorted.ended.extend(back.map(|one| (one.key, EndReason::TooFew)));
    } else {
        sorted.carried.extend(back);
    }
}

/// Closes a window that tells nothing: whatever waits in it ends. What one closing has no room to name stays in it,
/// and ends at the next one, for in another window it would be told.
fn cancel_window(
    record: &mut PersonRecord,
    index: usize,
    plan: &Plan,
    mut candidates: Vec<ClosingCandidate>,
    at: &StepContext<'_>,
) {
    candidates.iter_mut().for_each(|one| one.awaits = false);
    end_all(&mut candidates, EndReason::Cancelled);
    let mut window = record.windows.remove(index);
    let mut sorted = sort_candidates(candidates, plan, Day(i32::MIN));
    window.days = leftovers::owe_ended_marks(record, plan, &mut sorted, at);
    if !window.days.is_empty() {
        record.windows.push(window);
    }
}

/// Tells the first entry of a window, which stays open for the others.
fn tell_first(
    record: &mut PersonRecord,
    index: usize,
    plan: &Plan,
    candidates: Vec<ClosingCandidate>,
    silent: bool,
    at: &StepContext<'_>,
) -> Ready {
    let window = record.windows[index].clone();
    let told = candidates.into_iter().filter(|one| one.is_told_by(plan)).min_by_key(|one| one.key);
    let sorted = sort_candidates(told.into_iter().collect(), plan, Day(i32::MIN));
    let key = sorted.told_keys().next();
    let id = ready_id(&window, at);
    let badge = owe_told_marks(record, plan, (&window, &[]), id, &sorted, at);
    remember_message(record, plan, &window, at);
    hold::count_message(record, plan, at);
    let mut open = Window { first: key, ..window.clone() };
    let due =
        due_time::decide_due(plan, &open, WindowHistory::from_record(record, &open), open.opening, at).at;
    open.close_at(due, at.now);
    // After this turn, also if all that comes after is due already: what it tells is a message of its own.
    open.due = due.max(at.now.plus(1));
    record.windows[index] = open;
    build_ready(id, (silent, badge), plan, &window, sorted, at)
}

/// Owes the marks of what is told, on every channel on which it counts, and tells those who follow. Gives whether it says
/// the number on the app's icon.
fn owe_told_marks(
    record: &mut PersonRecord,
    plan: &Plan,
    (window, joined): (&Window, &[Window]),
    id: ReadyId,
    sorted: &SortedClosing,
    at: &StepContext<'_>,
) -> bool {
    let mut taken: Vec<EntryKey> = sorted.told_keys().collect();
    if fault::is_planted(PlantedFault::BundleHalfMarked) {
        let marked = |group: &CandidateGroup| if group.is_bundle { 1 } else { group.members.len() };
        let halves = sorted.told.iter().flat_map(|group| group.members.iter().take(marked(group)));
        taken = halves.map(|(_, candidate)| candidate.key).collect();
    }
    let others = plan.counts_on.iter().copied().filter(|channel| *channel != plan.channel);
    for channel in std::iter::once(plan.channel).chain(others) {
        delivery_report::owe_marks(record, channel, MarkAction::Taken(id), taken.iter().copied(), at.now);
    }
    let days = taken.iter().map(|key| key.day()).collect();
    // Whoever follows ends with it what ended.
    let ended = sorted.ended.iter().map(|(key, _)| key.day());
    let followed: BTreeSet<Day> = taken.iter().map(|key| key.day()).chain(ended).collect();
    for window in joined.iter().chain([window]) {
        let of_window = window.days.intersection(&followed).copied().collect();
        escalation::pass_on_closing(record, plan, &window.key, &of_window, FollowTrigger::Told(id), at);
    }
    escalation::pass_on_told(record, plan, &days, id, at);
    badge::note_push(record, plan, at)
}

/// What would be told is not, for this reason.
fn end_all(candidates: &mut [ClosingCandidate], why: EndReason) {
    for one in candidates.iter_mut().filter(|one| one.holds.is_ok() && !one.awaits) {
        one.holds = Err(why);
    }
}

/// How many candidates still hold.
fn count_holding(candidates: &[ClosingCandidate]) -> u32 {
    u32::try_from(candidates.iter().filter(|one| one.holds.is_ok()).count()).unwrap_or(u32::MAX)
}

/// The id of the Ready by which a window tells next.
fn ready_id(window: &Window, at: &StepContext<'_>) -> ReadyId {
    let part = u16::from(window.first.is_some());
    ready::derive_ready_id(at.tenant, at.person, &window.plan, &window.key, window.opening, part)
}

/// Notes that a closing was told under the plan and key of each window.
fn tell_number(
    record: &mut PersonRecord,
    (window, joined): (&Window, &[Window]),
    number: Option<ClosingNumber>,
) {
    let Some(number) = number else { return };
    for window in joined.iter().chain([window]) {
        let told = record.told_on.entry(window.plan.clone());
        told.and_modify(|told| told.note_number(number, &window.key))
            .or_insert_with(|| ToldClosing::new(number, &window.key));
    }
}

/// Notes a message for the plans that look back on what was told.
fn remember_message(record: &mut PersonRecord, plan: &Plan, window: &Window, at: &StepContext<'_>) {
    record.keep_until = record.keep_until.max(at.now.plus(2 * DAY_MS));
    let memory = plan.memory_ms();
    if memory == 0 {
        return;
    }
    let same = |told: &MessageHistory| told.plan == plan.name && told.key == window.key;
    let before = record.told.iter().position(same).map(|place| record.told.remove(place));
    // What a window opened beside is remembered as long as it is open: it asks again whether it goes alone.
    let is_open = |told: &MessageHistory| {
        record.windows.iter().any(|open| open.plan == told.plan && open.key == told.key)
    };
    record.told.retain(|told| told.until > at.now || is_open(told));
    let is_anew =
        |before: &MessageHistory| plan.rest.is_some_and(|rest| due_time::counts_anew(&rest, window, before));
    let row = before.as_ref().filter(|before| !is_anew(before)).map_or(0, |before| before.row);
    let mut instants = before.map(|before| before.at).unwrap_or_default();
    instants.push(at.now);
    let most = plan.alone.map_or(1, |alone| usize::from(alone.most).max(1));
    instants.drain(..instants.len().saturating_sub(most));
    let until = at.now.plus(memory);
    record.keep_until = record.keep_until.max(until);
    record.told.push(MessageHistory {
        plan: plan.name.clone(),
        key: window.key.clone(),
        at: instants,
        heard: window.last,
        row: row.saturating_add(1),
        until,
    });
    if record.told.len() > TOLD_MAX {
        // Who is forgotten counts as not told lately: a message more, never one less.
        record.told.remove(0);
    }
}

fn build_ready(
    id: ReadyId,
    (silent, badge): (bool, bool),
    plan: &Plan,
    window: &Window,
    sorted: SortedClosing,
    at: &StepContext<'_>,
) -> Ready {
    let expires = sorted.told_keys().map(|key| plan.day_life.expiry(key.day())).min().unwrap_or(at.now);
    let entries = sorted.told.into_iter().flat_map(build_entries).collect();
    Ready {
        id,
        silent,
        tenant: at.tenant.clone(),
        person: at.person.clone(),
        plan: plan.name.clone(),
        key: window.key.clone(),
        opening: window.opening,
        channel: plan.channel,
        attempt: 0,
        due: window.due,
        expires,
        entries,
        more: sorted.more,
        badge,
        renews: None,
    }
}

/// The entries of a Ready that tell what is told as one: a bundle has one, which stands for the others.
fn build_entries(group: CandidateGroup) -> Vec<ReadyEntry> {
    let section = u16::try_from(group.section()).unwrap_or(u16::MAX);
    let is_bundle = group.is_bundle;
    let entry = |ClosingCandidate { key, subject, actor, kept, reasons, maybe, .. }| ReadyEntry {
        key,
        actor,
        kept,
        subject,
        reasons,
        section,
        maybe,
        others: Vec::new(),
        lists: Vec::new(),
    };
    let mut entries: Vec<ReadyEntry> = group.into_candidates().map(entry).collect();
    if is_bundle {
        entries.sort_unstable_by_key(|one| one.key);
        let newest = entries.pop();
        let others = entries.iter().map(|one| one.key).collect();
        return newest.map(|newest| ReadyEntry { others, ..newest }).into_iter().collect();
    }
    entries
}
