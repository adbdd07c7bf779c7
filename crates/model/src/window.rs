//! The one function that decides: `step(record, input, at) -> (record, effects)`.
//!
//! Pure: the person's record goes in, a new one comes out, and time is an argument. Counts kept from
//! announcements are hints; what is told is decided by folding the days at closing ([`crate::closing`]).

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    badge,
    civil_time::{self, Zone},
    closing::{self, ClosingCandidate},
    delivery::Delivery,
    delivery_report::{apply_report, reissue_deferred},
    due_time::{self, WindowHistory},
    fault::{self, PlantedFault},
    id::{Person, PlanName, Tenant},
    limits::{
        AHEAD_MS_MAX, DAY_MS, DAY_ROWS_FULL, DAY_ROWS_SHUT, HABIT_LIFE_MS, HOUR_MS, ID_BYTES_MAX,
        LATE_MS_MAX, SEEN_EVERY_MS, WINDOW_DAYS_MAX, WINDOWS_PER_PERSON_MAX,
    },
    person::{Act, OwedMark, PersonRecord, Window},
    plan::{CloseRule, LocalHours, Plan, PlanSet},
    ready::Ready,
    time::{Day, UtcMillis},
};

/// Where and when a step is taken.
#[derive(Clone)]
pub struct StepContext<'a> {
    pub tenant: &'a Tenant,
    pub person: &'a Person,
    pub now: UtcMillis,
    /// The person's own zone.
    pub zone: &'a Zone,
    /// Zones that plans name.
    pub zones: &'a civil_time::ZoneRules,
    pub plans: &'a PlanSet,
    /// The person's own quiet hours, in their own zone, in place of those that plans have.
    pub quiet: Option<LocalHours>,
}

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
        /// Whether the person has a live connection, where somebody was asked.
        live: Option<bool>,
    },
    /// The person was seen on a surface.
    Seen { surface: &'a Arc<str>, at: UtcMillis },
    /// The person read or cleared something.
    Read { at: UtcMillis },
    /// A Ready that was deferred may be issued again, or a badge has to be set right.
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
        StepInput::Due { window, joined, candidates, live } => {
            effects.ready = closing::close_window(&mut record, window, joined, candidates, live, at);
        }
        StepInput::Seen { surface, at: when } => note_seen(&mut record, surface, when, at),
        StepInput::Read { at: when } => badge::note_seen(&mut record, when, false, at),
        StepInput::Again => {
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

/// Bytes of the largest window: with what is told and what waits it may not outgrow the record.
const WINDOW_ROOM: usize = 2 * ID_BYTES_MAX + 256;

/// Whether all places for windows are taken, or the record has no room for one more.
fn is_full(record: &PersonRecord, at: &StepContext<'_>) -> bool {
    let takes_one = |window: &&Window| !waits_for_a_place(window, at.plans);
    record.windows.iter().filter(takes_one).count() >= WINDOWS_PER_PERSON_MAX
        || !record.has_room_for(WINDOW_ROOM)
}

/// Whether a window holds what wants windows of its own, and found no place for them.
fn waits_for_a_place(window: &Window, plans: &PlanSet) -> bool {
    window.key.is_empty() && plans.by_name.get(&window.plan).is_some_and(|plan| !plan.key.is_empty())
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

/// Rows that are announced to a window.
pub(crate) struct WindowAnnouncement {
    pub key: Arc<str>,
    pub aim: Option<UtcMillis>,
    pub days: BTreeSet<Day>,
    pub rows: u32,
    /// When a window opens that they open.
    pub opening: UtcMillis,
}

/// When windows open that open now. Of one window and the next this strictly increases, so that two opened at one
/// instant are still two; windows of several plans may open together.
pub(crate) fn next_opening(record: &PersonRecord, at: &StepContext<'_>) -> UtcMillis {
    at.now.max(record.last_opening.plus(1))
}

/// Opens the plan's window, or joins the one that is open.
///
/// A person has so many windows and no more. What wants another one waits in the plan's window without a key, until a
/// place is free: its closing finds where it belongs by then. What has found none by its last call is told by it.
pub(crate) fn open_window(
    record: &mut PersonRecord,
    plan: &Plan,
    mut news: WindowAnnouncement,
    at: &StepContext<'_>,
) {
    let place = |key: &str| record.windows.iter().position(|w| w.plan == plan.name && *w.key == *key);
    let mut place_of = place(&news.key);
    let waits = place_of.is_none() && !news.key.is_empty() && is_full(record, at);
    if waits {
        news.key = "".into();
        place_of = place("");
    }
    let found = place_of.map(|place| record.windows[place].due).filter(|due| *due > at.now);
    let window = match place_of {
        Some(index) => record.windows.remove(index),
        None => {
            record.last_opening = record.last_opening.max(news.opening);
            let hour = due_time::best_hour(plan, record, at);
            Window { hour, ..Window::new(plan.name.clone(), plan.hash, news.key.clone(), news.opening) }
        }
    };
    let mut window = join_window(window, news, plan, record, at);
    if waits && !window.is_acted_on() {
        window.due = found.unwrap_or_else(|| due_time::last_call(plan, &window, at.now));
    }
    record.windows.push(window);
}

/// A window with what was announced to it.
fn join_window(
    mut window: Window,
    news: WindowAnnouncement,
    plan: &Plan,
    record: &PersonRecord,
    at: &StepContext<'_>,
) -> Window {
    let is_new = window.days.is_empty();
    // What comes too late is not due before it came; what was due before that is, however late the house is itself.
    let soonest = if is_new { at.now } else { window.due.min(at.now) };
    // A window goes on under the rules that its plan has by now.
    let is_changed = window.plan_hash != plan.hash;
    window.plan_hash = plan.hash;
    window.days.extend(news.days);
    while window.days.len() > WINDOW_DAYS_MAX {
        window.days.pop_first();
    }
    window.heard = window.heard.saturating_add(news.rows);
    window.last = window.last.max(at.now);
    window.aim = window.aim.into_iter().chain(news.aim).min();
    let past = WindowHistory::from_record(record, &window);
    let due = if is_changed && !is_new && !window.is_acted_on() {
        due_time::recompute_due(plan, &window, past, at)
    } else if is_new || !(window.is_acted_on() || plan.close.is_calendar()) {
        due_time::decide_due(plan, &window, past, window.opening, at).at
    } else {
        // The instant of a calendar stays, and is asked for its zone when it has come.
        due_time::early_due(plan, &window, past).map_or(window.due, |sooner| sooner.min(window.due))
    };
    // What is in it may be about another instant by now: that is asked.
    let asks = matches!(plan.close, CloseRule::Before { .. }) && !is_new && plan.follows.is_none();
    let due = if asks { due.min(at.now) } else { due };
    // Until when it is kept its own time may have moved on: that is looked at then.
    if is_changed || !window.is_kept() {
        window.close_at(due, at.now);
    }
    // What is held is so beyond its last call, until there is nothing to tell any more.
    let last = if window.is_kept() {
        due_time::first_day_end(plan, &window)
    } else {
        due_time::last_call(plan, &window, at.now)
    };
    window.due = window.due.min(last).max(soonest);
    window
}

/// The plan of these days is not in the catalogue any more: every plan there is looks at them, and tells or
/// ends what is its own.
pub(crate) fn open_all_plans(record: &mut PersonRecord, days: &BTreeSet<Day>, at: &StepContext<'_>) {
    let opening = next_opening(record, at);
    for plan in at.plans.by_name.values() {
        // Of a plan whose windows have keys this is none of them: its closing finds those that are meant.
        open_window(
            record,
            plan,
            WindowAnnouncement { key: "".into(), aim: None, days: days.clone(), rows: 0, opening },
            at,
        );
    }
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
    badge::note_seen(record, when, true, at);
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
