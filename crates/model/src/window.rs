//! The one function that decides: `step(record, input, at) -> (record, effects)`.
//!
//! Pure: the person's record goes in, a new one comes out, and time is an argument. Counts kept from
//! announcements are hints; what is told is decided by folding the days at closing ([`crate::closing`]).

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    badge, civil_time, closing,
    closing_candidate::ClosingCandidate,
    delivery::Delivery,
    delivery_report::{apply_report, reissue_deferred},
    due_time::{self, WindowHistory},
    fault::{self, PlantedFault},
    id::PlanName,
    limits::{
        AHEAD_MS_MAX, DAY_MS, DAY_ROWS_FULL, DAY_ROWS_SHUT, HABIT_LIFE_MS, HOUR_MS, LATE_MS_MAX,
        SEEN_EVERY_MS,
    },
    person::{Act, OwedMark, PersonRecord, Window},
    ready::Ready,
    step_context::StepContext,
    time::{Day, UtcMillis},
    window_opening::{
        WindowAnnouncement, is_full, next_opening, open_all_plans, open_window, waits_for_a_place,
    },
};

/// What a step answers to.
pub enum StepInput<'a> {
    /// Rows were written into a day; these windows want them.
    Announced { day: Day, rows: u32, wanted: &'a [WindowTarget] },
    /// Something changed that instants depend on: the person's zone.
    Moved,
    /// Somebody released or cancelled windows of a plan by hand, the one with this key or all of them, at this
    /// instant: what opened later is not meant.
    ByHand { act: Act, plan: &'a PlanName, key: Option<&'a str>, at: UtcMillis },
    /// A window is due, and this is what its days hold.
    Due {
        window: &'a Window,
        /// Other windows of its plan that are told with it; the days are theirs too.
        joined: &'a [Window],
        candidates: Vec<ClosingCandidate>,
        /// The days of what is put off in them, each with when it comes back.
        put_off: Vec<(Day, UtcMillis)>,
        /// Whether the person has a live connection, where somebody was asked.
        live: Option<bool>,
    },
    /// The person was seen on a surface.
    Seen { surface: &'a Arc<str>, at: UtcMillis },
    /// The number on the icon may be another one: the person did something with an entry.
    NumberChanged,
    /// Something was revoked that they may have been told.
    Revoked,
    /// The person put off something of these days, which comes back then.
    PutOff { back: &'a [(Day, UtcMillis)] },
    /// A Ready that was deferred may be issued again, a badge has to be set right, or what was put off comes back.
    Again,
    /// The sender says what became of a Ready.
    Reported(&'a Delivery),
    /// The store has these marks.
    Acknowledged(&'a [OwedMark]),
}

/// A window that entries belong to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct WindowTarget {
    pub plan: PlanName,
    /// Of the plan's windows the one with this key.
    pub key: Arc<str>,
    /// The instant that it is about, where the plan closes before one.
    pub aim: Option<UtcMillis>,
}

/// What a step wants done, beside the new record.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StepEffects {
    pub ready: Vec<Ready>,
    /// This day has become full: it has room for what is urgent alone.
    pub full: Option<Day>,
    /// It has room for nothing any more.
    pub shut: Option<Day>,
}

/// One step.
pub fn decide_step(
    record: &PersonRecord,
    input: StepInput<'_>,
    at: &StepContext<'_>,
) -> (PersonRecord, StepEffects) {
    let was_full = is_full(record, at);
    let mut record = record.clone();
    let mut effects = StepEffects::default();
    match input {
        StepInput::Announced { day, rows, wanted } => {
            (effects.full, effects.shut) = count_rows(&mut record, day, rows, at.now);
            let opening = next_opening(&record, at);
            for WindowTarget { plan, key, aim } in wanted {
                let Some(plan) = at.plans.by_name.get(plan).filter(|plan| plan.follows.is_none()) else {
                    continue;
                };
                let news =
                    WindowAnnouncement { key: key.clone(), aim: *aim, rows, days: [day].into(), opening };
                open_window(&mut record, plan, news, at);
            }
        }
        StepInput::Moved => retime_windows(&mut record, at),
        StepInput::ByHand { act, plan, key, at: when } => {
            apply_act(&mut record, act, (plan, key), when, at.now);
        }
        StepInput::Due { window, joined, candidates, put_off, live } => {
            note_put_off(&mut record, &put_off);
            effects.ready = closing::close_window(&mut record, window, joined, candidates, live, at);
        }
        StepInput::Seen { surface, at: when } => note_seen(&mut record, surface, when, at),
        StepInput::NumberChanged => badge::note_change(&mut record, at),
        StepInput::Revoked => badge::note_revoked(&mut record, at),
        StepInput::PutOff { back } => note_put_off(&mut record, back),
        StepInput::Again => {
            open_put_off(&mut record, at);
            effects.ready = reissue_deferred(&mut record, at.now);
            effects.ready.extend(badge::issue_badge_push(&mut record, at));
        }
        StepInput::Reported(delivery) => effects.ready.extend(apply_report(&mut record, delivery, at)),
        StepInput::Acknowledged(owed) => record.owed.retain(|mine| !owed.contains(mine)),
    }
    while !record.told.is_empty() && !record.has_room_for(0) {
        // Who is forgotten counts as not told lately: a message more, never one less.
        record.told.remove(0);
    }
    if was_full && !is_full(&record, at) {
        let is_waiting = |window: &&mut Window| waits_for_a_place(window, at.plans);
        record.windows.iter_mut().filter(is_waiting).for_each(|window| window.due = window.due.min(at.now));
    }
    (record, effects)
}

/// Counts rows of a day, and notices the moments at which the day becomes full, and takes nothing any more.
fn count_rows(record: &mut PersonRecord, day: Day, rows: u32, now: UtcMillis) -> (Option<Day>, Option<Day>) {
    let oldest = Day::from_instant(now.plus(-LATE_MS_MAX - DAY_MS));
    record.rows.retain(|day, _| *day >= oldest);
    let before = record.rows.get(&day).copied().unwrap_or(0);
    let after = before.saturating_add(rows);
    record.rows.insert(day, after);
    record.keep_until = record.keep_until.max(day.start().plus(2 * DAY_MS));
    if fault::is_planted(PlantedFault::NeverFull) {
        return (None, None);
    }
    let crosses = |limit: u32| (before < limit && after >= limit).then_some(day);
    (crosses(DAY_ROWS_FULL), crosses(DAY_ROWS_SHUT))
}

/// Derives again every due instant that has not come. One that has stays: it closes as soon as its
/// partition is read, and is asked for its zone once more then.
fn retime_windows(record: &mut PersonRecord, at: &StepContext<'_>) {
    let mut windows = std::mem::take(&mut record.windows);
    for window in windows.iter_mut().filter(|window| window.due > at.now && !window.is_acted_on()) {
        let Some(plan) = at.plans.by_name.get(&window.plan) else { continue };
        let due = due_time::recompute_due(plan, window, WindowHistory::from_record(record, window), at);
        window.close_at(due, at.now);
    }
    record.windows = windows;
}

/// Notes where the person was. Windows that wait for them to leave are not touched: they ask when they are due.
/// Who is seen again and again is noted once a while: it costs a record each time, and tells hardly more.
fn note_seen(record: &mut PersonRecord, surface: &Arc<str>, when: UtcMillis, at: &StepContext<'_>) {
    let Some(known) = at.plans.surfaces.iter().find(|known| known.name == *surface) else { return };
    let when = when.min(at.now.plus(AHEAD_MS_MAX));
    if at.plans.ask_habits() {
        note_visit(record, when, at);
    }
    // Whoever comes for what they were told just now comes for it.
    let is_told = record.windows.iter().any(|window| window.after.is_some());
    if !is_told && record.seen.get(surface).is_some_and(|last| when.since(*last) < SEEN_EVERY_MS) {
        return;
    }
    let last = record.seen.entry(surface.clone()).or_insert(when);
    *last = (*last).max(when);
    // As long as somebody asks how long ago it was.
    record.keep_until = record.keep_until.max(last.plus(known.online_ms.max(at.plans.away_ms())));
}

/// Notes the hour of a visit, of an hour one at most.
fn note_visit(record: &mut PersonRecord, when: UtcMillis, at: &StepContext<'_>) {
    let last = record.seen.values().max();
    if last.is_none_or(|last| when.0.div_euclid(HOUR_MS) > last.0.div_euclid(HOUR_MS)) {
        record.habit.note_visit(civil_time::local_time(when, at.zone));
        record.keep_until = record.keep_until.max(when.plus(HABIT_LIFE_MS));
    }
}

/// Remembers when something of these days comes back. Of each day the first instant is enough: whoever reads the day then
/// finds what comes back later.
fn note_put_off(record: &mut PersonRecord, back: &[(Day, UtcMillis)]) {
    for (day, until) in back {
        let first = record.put_off.entry(*day).or_insert(*until);
        *first = (*first).min(*until);
    }
}

/// Has all plans look at the days of what comes back now.
fn open_put_off(record: &mut PersonRecord, at: &StepContext<'_>) {
    let is_back = |(day, until): (&Day, &UtcMillis)| (*until <= at.now).then_some(*day);
    let days: BTreeSet<Day> = record.put_off.iter().filter_map(is_back).collect();
    record.put_off.retain(|day, _| !days.contains(day));
    if !days.is_empty() {
        open_all_plans(record, &days, at);
    }
}

/// Makes the plan's windows due now. Whatever opens from here on opened later than the act, so the same act, read
/// once more, does not mean it.
fn apply_act(
    record: &mut PersonRecord,
    act: Act,
    (plan, key): (&PlanName, Option<&str>),
    when: UtcMillis,
    now: UtcMillis,
) {
    // Another machine's clock may be ahead, but not by more than events may be.
    let when = when.min(now.plus(AHEAD_MS_MAX));
    let meant = |window: &&mut Window| {
        window.plan == *plan && key.is_none_or(|key| *window.key == *key) && window.opening <= when
    };
    for window in record.windows.iter_mut().filter(meant) {
        window.act = window.act.max(Some(act));
        window.due = window.due.min(now);
        record.last_opening = record.last_opening.max(when);
    }
}
