//! A closing, decided once: what is told now, what ended, what is carried over, and the marks that say so.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    badge::{self, UnseenDays},
    delivery_report,
    due_time::{self, WindowHistory},
    entry::{EntryKey, EntryReason},
    escalation::{self, FollowTrigger},
    fault::{self, PlantedFault},
    hold::{self, WindowGate},
    id::{ReadyId, SubjectRef},
    leftovers,
    limits::{CLOSING_BYTES_MAX, DAY_MS, READY_ENTRIES_MAX, RECORD_BYTES_MAX, TOLD_MAX},
    mark::{EndReason, MarkAction},
    person::{Act, LocalDate, MessageHistory, PersonRecord, ToldDate, Window},
    plan::{OncePer, Plan, TooFewRule},
    ready::{self, Ready, ReadyEntry},
    time::{Day, UtcMillis},
    window::{self, StepContext},
};

/// An entry that still waits, with what was found out about it before the turn.
#[derive(Clone, PartialEq, Debug)]
pub struct ClosingCandidate {
    pub key: EntryKey,
    pub subject: SubjectRef,
    pub reasons: Vec<EntryReason>,
    /// Where it stands within its section: greater first.
    pub rank: f64,
    /// Whether it still holds, and if not, why.
    pub holds: Result<(), EndReason>,
    /// It came back from a Ready that may have been sent.
    pub maybe: bool,
    /// Its subject is said once, by a Ready that is on its way and may yet go out without it: it waits for what becomes of
    /// that one.
    pub awaits: bool,
    /// The instant that it is about, where the plan closes before one.
    pub aim: Option<UtcMillis>,
    /// It was told before the others of its window, by a plan that tells it with them too.
    pub repeated: bool,
    /// When the plan that this one follows told it.
    pub told: Option<UtcMillis>,
    /// The plan that this one follows is still to tell it.
    pub untold: bool,
    /// The keys of the windows that it is of.
    pub keys: BTreeSet<Arc<str>>,
}

impl ClosingCandidate {
    /// The best section that tells one of its kinds.
    fn best_section(&self, plan: &Plan) -> Option<usize> {
        self.reasons.iter().filter_map(|reason| plan.section_of(&reason.kind)).min()
    }

    /// Whether a message of the plan would tell it.
    pub(crate) fn is_told_by(&self, plan: &Plan) -> bool {
        self.holds.is_ok() && !self.awaits && !self.repeated && self.best_section(plan).is_some()
    }
}

/// A candidate and the best section that tells it.
type PlacedCandidate = (usize, ClosingCandidate);

/// What is said once, together: usually one candidate, several where a subject is said once. The best one
/// leads, and all of them stand in its section.
type CandidateGroup = Vec<PlacedCandidate>;

/// What a closing came to.
#[derive(Default)]
pub(crate) struct SortedClosing {
    told: Vec<CandidateGroup>,
    pub carried: Vec<ClosingCandidate>,
    pub ended: Vec<(EntryKey, EndReason)>,
    /// By section, how many things there was no room for.
    more: Vec<u16>,
}

impl SortedClosing {
    /// Of a closing that only ends.
    pub fn with_ended(ended: Vec<(EntryKey, EndReason)>) -> Self {
        Self { ended, ..Self::default() }
    }
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
        window::open_all_plans(record, &days, at);
        return Vec::new();
    };
    let joined = &learn_days(record, (index, joined), &candidates);
    let is_blocked = !record.owed.is_empty() && record.weight() + CLOSING_BYTES_MAX > RECORD_BYTES_MAX;
    // Derived again at the last moment: the person may have travelled since, and what was heard may have
    // been heard twice.
    let open = &mut record.windows[index];
    open.heard = open.heard.min(count_holding(&candidates));
    open.aim = candidates.iter().filter(|one| one.holds.is_ok()).filter_map(|one| one.aim).min();
    let is_cancelled = open.act == Some(Act::Cancel);
    // What was due in time is told, however late the house is itself; what was held is over at its end.
    let asked_for = if open.held.is_some() { at.now } else { open.due.min(at.now) };
    if !is_cancelled && due_time::first_day_end(plan, open) <= asked_for {
        // What is over must not have the rest told before its time.
        let over = (asked_for, at);
        if is_blocked || !leftovers::end_over(record, (index, joined), plan, &mut candidates, over) {
            return Vec::new();
        }
    }
    let window = &record.windows[index].clone();
    let due = due_time::recheck_due(plan, window, WindowHistory::from_record(record, window), at);
    record.windows[index].close_at(due.at, at.now);
    if due.at > at.now || is_blocked {
        // Where it is blocked it stays due: the store must have some of the marks that are owed before there are more.
        return Vec::new();
    }
    let window = &Window { due: due.at, ..window.clone() };
    if is_cancelled {
        cancel_window(record, index, plan, candidates, at);
        return Vec::new();
    }
    let WindowHistory { date: told_on, seen, .. } = WindowHistory::from_record(record, window);
    if !window.is_acted_on() && due_time::waits_in_vain(plan, window, seen, at) {
        leftovers::end_outlived_day(record, (index, joined), plan, &mut candidates, at);
        return Vec::new();
    }
    if let Some(later) = escalation::end_visited(plan, window, &mut candidates, seen, at) {
        record.windows[index].close_at(later, at.now);
        return Vec::new();
    }
    let Some(silent) = ask_holds(record, index, plan, &mut candidates, live, at) else { return Vec::new() };
    if due_time::is_first(plan, window)
        && !window.is_acted_on()
        && candidates.iter().any(|one| one.is_told_by(plan))
    {
        return vec![tell_first(record, index, plan, candidates, silent, at)];
    }
    record.windows.remove(index);
    record.windows.retain(|open| !joined.contains(open));
    let mut sorted = sort_candidates(candidates, plan, plan.oldest_day(window.due));
    // A date is told once, also if the last call of a day comes later on a date that has been told.
    let again = due.date.zip(told_on).is_some_and(|(date, told)| told >= date);
    let few = sorted.told.len() < usize::from(plan.at_least);
    if (again || few) && !window.is_acted_on() {
        put_back(&mut sorted, plan.below == TooFewRule::Ended && !again);
    }
    let rest = leftovers::owe_ended_marks(record, plan, &mut sorted, at);
    let told = !sorted.told.is_empty();
    if told {
        tell_date(record, (window, joined), due.date);
        joined.iter().chain([window]).for_each(|window| remember_message(record, plan, window, at));
        hold::count_message(record, plan, at);
    } else {
        escalation::pass_on_ended(record, plan, &[&[window.clone()][..], joined].concat(), &sorted.ended, at);
    }
    let id = ready_id(window, at);
    leftovers::carry_over(record, plan, (window, joined), &sorted.carried, &rest, told.then_some(id), at);
    if !told {
        return Vec::new();
    }
    let badge = owe_told_marks(record, plan, (window, joined), id, &sorted, at);
    vec![build_ready(id, (silent, badge), plan, window, sorted, at)]
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

/// What would be told is not: it ends, or it is carried over.
fn put_back(sorted: &mut SortedClosing, ends: bool) {
    let back = std::mem::take(&mut sorted.told).into_iter().flatten().map(|(_, one)| one);
    let back = back.filter(|one| !one.repeated);
    if ends {
        sorted.ended.extend(back.map(|one| (one.key, EndReason::TooFew)));
    } else {
        sorted.carried.extend(back);
    }
}

/// Asks all that may hold a window: whether it is told without a sound, or nothing if it waits on.
fn ask_holds(
    record: &mut PersonRecord,
    index: usize,
    plan: &Plan,
    candidates: &mut [ClosingCandidate],
    live: Option<bool>,
    at: &StepContext<'_>,
) -> Option<bool> {
    let window = &record.windows[index];
    if window.is_acted_on() || !candidates.iter().any(|one| one.is_told_by(plan)) {
        return Some(false);
    }
    match hold::decide_gate(plan, record, live, at) {
        WindowGate::Open { silent } => return Some(silent),
        // What is over by then ends at its end, and the others wait on.
        WindowGate::Until(until, why) => {
            let until = until.min(due_time::first_day_end(plan, window));
            (record.windows[index].due, record.windows[index].held) = (until, Some(why));
            return None;
        }
        WindowGate::Ended(why) => end_all(candidates, why),
    }
    Some(false)
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
    let key = sorted.told.iter().flatten().map(|(_, one)| one.key).next();
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

/// Owes the marks of what is told, on every channel on which it counts, and tells those who follow. Gives what the
/// number on the app's icon counts by now.
fn owe_told_marks(
    record: &mut PersonRecord,
    plan: &Plan,
    (window, joined): (&Window, &[Window]),
    id: ReadyId,
    sorted: &SortedClosing,
    at: &StepContext<'_>,
) -> Option<UnseenDays> {
    let taken: Vec<EntryKey> = sorted.told.iter().flatten().map(|(_, candidate)| candidate.key).collect();
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
    badge::note_push(record, plan, &days, at)
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

/// Notes that a date was told under the plan and key of each window.
fn tell_date(record: &mut PersonRecord, (window, joined): (&Window, &[Window]), date: Option<LocalDate>) {
    let Some(date) = date else { return };
    for window in joined.iter().chain([window]) {
        let told = record.told_on.entry(window.plan.clone());
        told.and_modify(|told| told.note_date(date, &window.key))
            .or_insert_with(|| ToldDate::new(date, &window.key));
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

/// Sorts candidates into sections, by rank, within the budgets; what lies before the look-back ends. What was told first
/// has been told, whatever becomes of it here: it has the room that the others leave, and is told beside one of them.
fn sort_candidates(candidates: Vec<ClosingCandidate>, plan: &Plan, oldest: Day) -> SortedClosing {
    let mut sorted = SortedClosing::default();
    let mut live = Vec::new();
    for candidate in candidates {
        let is_past = candidate.key.day() < oldest;
        match (candidate.holds, candidate.best_section(plan)) {
            (Ok(()), Some(section)) if !is_past && !candidate.awaits => live.push((section, candidate)),
            _ if candidate.repeated => {}
            (Ok(()), Some(_)) if is_past => sorted.ended.push((candidate.key, EndReason::Expired)),
            (Ok(()), Some(_)) => sorted.carried.push(candidate),
            (Ok(()), None) => sorted.ended.push((candidate.key, EndReason::KindGone)),
            (Err(why), _) => sorted.ended.push((candidate.key, why)),
        }
    }
    let is_repeated = |group: &CandidateGroup| group.iter().all(|(_, one)| one.repeated);
    let (repeated, groups): (Vec<CandidateGroup>, Vec<CandidateGroup>) =
        group_candidates(live, plan.once_per).into_iter().partition(is_repeated);
    let mut used = vec![0_u16; plan.sections.len()];
    sorted.more.clone_from(&used);
    let mut entries_left = READY_ENTRIES_MAX;
    for mut group in groups.into_iter().chain(repeated) {
        let section = group[0].0;
        // One subject never fills more than a Ready; the rest of its entries wait.
        let rest = group.split_off(group.len().min(READY_ENTRIES_MAX));
        sorted.carried.extend(rest.into_iter().map(|(_, candidate)| candidate));
        let within = used[section] < plan.sections[section].most && group.len() <= entries_left;
        if within {
            used[section] += 1;
            entries_left -= group.len();
            sorted.told.push(group);
        } else if !fault::is_planted(PlantedFault::OverflowDropped) && !is_repeated(&group) {
            sorted.more[section] = sorted.more[section].saturating_add(1);
            sorted.carried.extend(group.into_iter().map(|(_, candidate)| candidate));
        }
    }
    if sorted.told.iter().all(is_repeated) {
        sorted.told.clear();
    }
    sorted.told.sort_by(|a, b| compare_placed(&a[0], &b[0]));
    sorted.carried.retain(|one| !one.repeated);
    sorted
}

/// Puts together what is said only once, the best first.
fn group_candidates(live: Vec<PlacedCandidate>, once_per: OncePer) -> Vec<CandidateGroup> {
    let mut groups: Vec<CandidateGroup> = Vec::new();
    let mut of_subject: BTreeMap<SubjectRef, usize> = BTreeMap::new();
    for placed in live {
        let next = groups.len();
        let place = match once_per {
            OncePer::Event => next,
            OncePer::Mail | OncePer::Subject => *of_subject.entry(placed.1.subject.clone()).or_insert(next),
        };
        if place == next {
            groups.push(CandidateGroup::new());
        }
        groups[place].push(placed);
    }
    groups.iter_mut().for_each(|group| group.sort_by(compare_placed));
    groups.sort_by(|a, b| compare_placed(&a[0], &b[0]));
    groups
}

/// The section first: ranks of two sections, a date here and a distance there, do not compare.
fn compare_placed((a_section, a): &PlacedCandidate, (b_section, b): &PlacedCandidate) -> Ordering {
    a_section.cmp(b_section).then(b.rank.total_cmp(&a.rank)).then(b.key.cmp(&a.key))
}

fn build_ready(
    id: ReadyId,
    (silent, badge): (bool, Option<UnseenDays>),
    plan: &Plan,
    window: &Window,
    sorted: SortedClosing,
    at: &StepContext<'_>,
) -> Ready {
    let mut entries = Vec::new();
    for group in sorted.told {
        let section = u16::try_from(group[0].0).unwrap_or(u16::MAX);
        entries.extend(group.into_iter().map(
            |(_, ClosingCandidate { key, subject, reasons, maybe, .. })| ReadyEntry {
                key,
                subject,
                reasons,
                section,
                maybe,
            },
        ));
    }
    let expires = entries.iter().map(|entry| entry.key.day().expires_at()).min().unwrap_or(at.now);
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
    }
}
