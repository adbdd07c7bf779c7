//! How windows open, and what is announced to one that is open.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    due_time::{self, WindowHistory},
    limits::{ID_BYTES_MAX, WINDOW_DAYS_MAX, WINDOWS_PER_PERSON_MAX},
    person::{PersonRecord, Window},
    plan::{CloseRule, Plan, PlanSet},
    step_context::StepContext,
    time::{Day, UtcMillis},
};

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
    window.days.extend(news.days);
    while window.days.len() > WINDOW_DAYS_MAX {
        window.days.pop_first();
    }
    window.heard = window.heard.saturating_add(news.rows);
    window.last = window.last.max(at.now);
    window.aim = window.aim.into_iter().chain(news.aim).min();
    let past = WindowHistory::from_record(record, &window);
    let due = if is_changed && !is_new && !window.is_acted_on() {
        match due_time::retime_changed(plan, &window, past, at) {
            Some(due) => {
                window.plan_hash = plan.hash;
                due
            }
            None => window.due,
        }
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

/// Bytes of the largest window: with what is told and what waits it may not outgrow the record.
const WINDOW_ROOM: usize = 2 * ID_BYTES_MAX + 256;

/// Whether all places for windows are taken, or the record has no room for one more.
pub(crate) fn is_full(record: &PersonRecord, at: &StepContext<'_>) -> bool {
    let takes_one = |window: &&Window| !waits_for_a_place(window, at.plans);
    record.windows.iter().filter(takes_one).count() >= WINDOWS_PER_PERSON_MAX
        || !record.has_room_for(WINDOW_ROOM)
}

/// Whether a window holds what wants windows of its own, and found no place for them.
pub(crate) fn waits_for_a_place(window: &Window, plans: &PlanSet) -> bool {
    window.key.is_empty() && plans.by_name.get(&window.plan).is_some_and(|plan| !plan.key.is_empty())
}
