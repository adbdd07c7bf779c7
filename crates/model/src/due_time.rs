//! When a window closes: all the rules of a plan that say "not before" and "not after", as one instant.
//!
//! The rules only ever move one instant: `close` says where it is at first, `rest` moves it later, so many
//! `entries`, `first` and `alone` move it to what has come, and the last call of the oldest day bounds all of
//! them, so that nothing expires untold.

use crate::{
    civil_time,
    closing_dates::ClosingNumber,
    fault::{self, PlantedFault},
    habit::VisitHabit,
    hold::{self, resolve_zone},
    limits::{LAST_CALL_MS, NEXT_WAIT_MS, UNREPORTED_MS},
    local_time::{LocalHours, LocalTime},
    person::{MessageHistory, PersonRecord, Window},
    plan::{CloseRule, FirstRule, Plan, RestRule, ZoneRule},
    step_context::StepContext,
    time::{Day, UtcMillis},
};

/// When a window closes.
pub(crate) struct DueTime {
    pub at: UtcMillis,
    /// The closing that it then stands for, if its plan keeps to a calendar.
    pub number: Option<ClosingNumber>,
}

/// What was told before under a plan and a key.
#[derive(Clone, Copy)]
pub(crate) struct WindowHistory<'a> {
    /// The last closing that was told under that plan and key.
    pub number: Option<ClosingNumber>,
    pub told: Option<&'a MessageHistory>,
    /// When the person was last seen anywhere.
    pub seen: Option<UtcMillis>,
}

impl<'a> WindowHistory<'a> {
    pub fn from_record(record: &'a PersonRecord, window: &Window) -> Self {
        let same = |told: &&MessageHistory| told.plan == window.plan && told.key == window.key;
        let number = record.told_on.get(&window.plan).map(|told| told.last_number(&window.key));
        Self { number, told: record.told.iter().find(same), seen: record.seen.values().max().copied() }
    }
}

/// When a window closes if `from` has come.
pub(crate) fn decide_due(
    plan: &Plan,
    window: &Window,
    past: WindowHistory<'_>,
    from: UtcMillis,
    at: &StepContext<'_>,
) -> DueTime {
    if plan.follows.is_some() {
        return DueTime { at: window.due.min(last_call(plan, window, at.now)), number: None };
    }
    let sooner = early_due(plan, window, past);
    if let Some(at) = sooner.filter(|at| *at == window.opening) {
        return DueTime { at, number: None };
    }
    let mut due = regular_due(plan, window, past, from, at);
    if let Some(sooner) = sooner.filter(|sooner| *sooner < due.at) {
        // Before its time it does not stand for the date that was to come.
        due = DueTime { at: sooner, number: None };
    }
    let last_call = last_call(plan, window, at.now);
    if last_call < due.at {
        due.at = last_call;
        if let CloseRule::Calendar { zone, times, .. } = &plan.close {
            let zone = resolve_zone(zone, at);
            let (date, time) =
                (civil_time::local_date(last_call, &zone), civil_time::local_time(last_call, &zone));
            due.number = Some(ClosingNumber::new(date, time, times));
        }
    }
    due
}

/// When it closes by `close` and `rest` alone.
fn regular_due(
    plan: &Plan,
    window: &Window,
    past: WindowHistory<'_>,
    from: UtcMillis,
    at: &StepContext<'_>,
) -> DueTime {
    let rested = rest_end(plan, window, past).unwrap_or(UtcMillis(i64::MIN));
    let closes = match &plan.close {
        CloseRule::After { ms } if fault::is_planted(PlantedFault::ClosesEarly) => {
            window.opening.plus(*ms / 2)
        }
        CloseRule::After { ms } => window.opening.plus(*ms),
        CloseRule::Silence { ms, most_ms } => window.last.plus(*ms).min(window.opening.plus(*most_ms)),
        CloseRule::Away { ms } => past.seen.map_or(window.opening, |seen| seen.plus(*ms).max(window.opening)),
        CloseRule::Before { ms, .. } => {
            window.aim.map_or(window.opening, |aim| aim.plus(-ms).max(window.opening))
        }
        CloseRule::Calendar { dates, times, zone, spread_ms, .. } => {
            let zone = resolve_zone(zone, at);
            let best = window.hour.filter(|hour| *hour < 24).map(|hour| [LocalTime { hour, minute: 0 }]);
            let times = best.as_ref().map_or(&times[..], |best| best);
            let (number, instant) =
                civil_time::next_closing(from.max(rested), past.number, (dates, times), &zone);
            return DueTime {
                at: instant.plus(person_spread_ms(plan, *spread_ms, number, at)),
                number: Some(number),
            };
        }
    };
    DueTime { at: closes.max(rested), number: None }
}

/// Why a closing leaves something to the next one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum LeftoverReason {
    /// The message had no room for it, or the record none to say that it ended.
    NoRoom,
    /// It is for what becomes of a message that is on its way.
    Awaits,
    /// There were too few for a message.
    TooFew,
}

/// When a window closes that holds only what a closing left, as long as nothing comes to it. Never as it opens, or
/// closings would follow each other without end: what had no room goes a whole window later, what awaits a
/// report is asked again should none come, and what was too few waits for more. What comes has it close as its plan says.
pub(crate) fn due_after_closing(
    plan: &Plan,
    window: &Window,
    left: LeftoverReason,
    past: WindowHistory<'_>,
    at: &StepContext<'_>,
) -> UtcMillis {
    if fault::is_planted(PlantedFault::DueAsLeft) {
        return window.opening;
    }
    let by_plan = match (&plan.follows, left) {
        (None, _) if plan.close.is_calendar() => regular_due(plan, window, past, window.opening, at).at,
        (_, LeftoverReason::TooFew) => UtcMillis(i64::MAX),
        (_, LeftoverReason::Awaits) => at.now.plus(UNREPORTED_MS),
        (Some(follows), LeftoverReason::NoRoom) => window.opening.plus(follows.wait_ms),
        (None, LeftoverReason::NoRoom) => {
            let whole = match &plan.close {
                CloseRule::After { ms } | CloseRule::Silence { ms, .. } | CloseRule::Away { ms } => *ms,
                CloseRule::Before { .. } | CloseRule::Calendar { .. } => 0,
            };
            window
                .opening
                .plus(whole.max(NEXT_WAIT_MS))
                .max(regular_due(plan, window, past, window.opening, at).at)
        }
    };
    let call = window.days.first().map_or(UtcMillis(i64::MAX), |day| plan.last_call(*day));
    let last = match &plan.follows {
        Some(_) => earliest_last_call(plan, window, at.now.plus(1)),
        None if call > at.now => call,
        // After the last call there is only the end.
        None => first_day_end(plan, window),
    };
    by_plan.min(last).max(window.opening)
}

/// The hour that somebody has chosen, where a plan closes once on a date by their own clock; else the hour that is best for them, of
/// those that a plan allows and that are not quiet. It is chosen as a window opens and stays: an hour that moved while it waits could
/// step over a date.
pub(crate) fn best_hour(plan: &Plan, record: &PersonRecord, at: &StepContext<'_>) -> Option<u8> {
    let CloseRule::Calendar { best, times, zone, .. } = &plan.close else { return None };
    if let (Some(chosen), [_], ZoneRule::Person) = (at.hour, &times[..], zone) {
        return Some(chosen.hour);
    }
    let within = (*best)?;
    // Quiet hours by another clock are left to the hold.
    let quiet = hold::quiet_hours(plan, at).filter(|(_, zone)| zone == at.zone).map(|(hours, _)| hours);
    choose_visit_hour(&record.habit, within, quiet).map(|time| time.hour)
}

/// The hour in which somebody comes most, of those that are allowed and not quiet, and of several the earliest.
/// Nothing for somebody whom one hardly knows.
pub(crate) fn choose_visit_hour(
    habit: &VisitHabit,
    within: LocalHours,
    quiet: Option<LocalHours>,
) -> Option<LocalTime> {
    if habit.visits().map(|(_, count)| u32::from(count)).sum::<u32>() < VISITS_MIN {
        return None;
    }
    let hour = |(hour, count): (u8, u8)| (LocalTime { hour, minute: 0 }, count);
    let allowed =
        |(time, _): &(LocalTime, u8)| within.has(*time) && !quiet.is_some_and(|quiet| quiet.has(*time));
    // Of equals the last one is the greatest, so the earliest comes last.
    let best = habit.visits().map(hour).filter(allowed).rev().max_by_key(|(_, count)| *count);
    best.map(|(time, _)| time)
}

/// Fewer visits than these say nothing of somebody.
const VISITS_MIN: u32 = 5;

/// Rules that close a window early: entries that are told at once, or a number of entries.
pub(crate) fn early_due(plan: &Plan, window: &Window, past: WindowHistory<'_>) -> Option<UtcMillis> {
    if is_first(plan, window) || goes_alone(plan, window, past) {
        return Some(window.opening);
    }
    // Fewer than a message needs close nothing, and a rest is over when it is over.
    let enough = u32::from(plan.entries?.max(plan.at_least));
    let rested = rest_end(plan, window, past).unwrap_or(window.last);
    (window.heard >= enough).then_some(window.last.max(rested))
}

/// When a window that is about to close would close under the zone of this moment, and as which closing. A sending
/// hour that began within its spread is still that hour.
pub(crate) fn recheck_due(
    plan: &Plan,
    window: &Window,
    past: WindowHistory<'_>,
    at: &StepContext<'_>,
) -> DueTime {
    let spread_ms = spread_length_ms(plan);
    if window.held.is_some() {
        // What was held still stands for the date that had come.
        let regular = decide_due(plan, window, past, window.opening, at);
        let later = if window.is_acted_on() { window.due } else { regular.at.max(window.due) };
        return DueTime { at: later, ..regular };
    }
    if !window.is_acted_on() {
        // Under other rules than those by which it is due, its time may have passed already: then it is told now, and not
        // a day or a week later.
        let is_changed = window.plan_hash != plan.hash;
        let soonest = if is_changed { window.opening } else { window.due.plus(-spread_ms) };
        return decide_due(plan, window, past, window.opening.max(soonest), at);
    }
    // What was acted on is due. It stands for the date that it came before, so that this date has no second
    // one; but not for a later date than today, for what is released on Wednesday does not take Monday's place.
    let regular = decide_due(plan, window, past, window.opening.max(at.now.plus(-spread_ms)), at);
    let today = match &plan.close {
        CloseRule::Calendar { zone, times, .. } => {
            let date = civil_time::local_date(at.now, &resolve_zone(zone, at));
            ClosingNumber::new(date, LocalTime::LAST, times)
        }
        _ => ClosingNumber(i32::MAX),
    };
    DueTime { at: window.due, number: regular.number.map(|number| number.min(today)) }
}

/// Where a window stands under rules that its plan did not have when it was timed. Nothing if its time has passed under
/// them: then it keeps the time that it had.
pub(crate) fn retime_changed(
    plan: &Plan,
    window: &Window,
    past: WindowHistory<'_>,
    at: &StepContext<'_>,
) -> Option<UtcMillis> {
    let due = recompute_due(plan, window, past, at);
    let has_passed = decide_due(plan, window, past, window.opening, at).at <= at.now;
    (due <= window.due || !has_passed).then_some(due)
}

/// Where a window stands after something changed that its due instant depends on.
pub(crate) fn recompute_due(
    plan: &Plan,
    window: &Window,
    past: WindowHistory<'_>,
    at: &StepContext<'_>,
) -> UtcMillis {
    let from = match &plan.close {
        // What is held has had its date, and keeps it.
        CloseRule::Calendar { spread_ms, .. } if window.held.is_none() => {
            window.opening.max(at.now.plus(-spread_ms))
        }
        _ => window.opening,
    };
    decide_due(plan, window, past, from, at).at
}

/// When the first of its days ends for its plan.
pub(crate) fn first_day_end(plan: &Plan, window: &Window) -> UtcMillis {
    window.days.first().map_or(UtcMillis(i64::MAX), |day| plan.end_of(*day))
}

/// The last instant of a window: nothing may expire untold.
pub(crate) fn last_call(plan: &Plan, window: &Window, now: UtcMillis) -> UtcMillis {
    // What was due in time is, however late the house is itself.
    earliest_last_call(plan, window, window.due.min(now)).max(window.opening)
}

/// The first last call of its days. Of a plan that follows nothing but its window says when, so a day whose last call was
/// before this instant hurries nothing there: it is told or ends with the others, before it expires.
fn earliest_last_call(plan: &Plan, window: &Window, from: UtcMillis) -> UtcMillis {
    let of = |day: &Day| match plan.last_call(*day) {
        call if plan.follows.is_some() && call < from => plan.day_life.expiry(*day).plus(-LAST_CALL_MS),
        call => call,
    };
    window.days.iter().map(of).min().unwrap_or(UtcMillis(i64::MAX))
}

/// Whether it is the last call of a plan that waits for the person to leave, and they are still online.
pub(crate) fn waits_in_vain(
    plan: &Plan,
    window: &Window,
    seen: Option<UtcMillis>,
    at: &StepContext<'_>,
) -> bool {
    let (None, CloseRule::Away { ms }) = (&plan.follows, &plan.close) else { return false };
    last_call(plan, window, at.now) <= at.now && seen.is_some_and(|seen| seen.plus(*ms) > at.now)
}

/// Whether the first entry of a window is told before the others, and was not yet.
pub(crate) fn is_first(plan: &Plan, window: &Window) -> bool {
    plan.first != FirstRule::Gathered && window.first.is_none()
}

/// Whether so little was told before this window opened that it need not wait.
fn goes_alone(plan: &Plan, window: &Window, past: WindowHistory<'_>) -> bool {
    let Some(alone) = &plan.alone else { return false };
    let since = window.opening.plus(-alone.within_ms);
    let lately = past.told.map_or(0, |told| told.at.iter().filter(|at| **at > since).count());
    lately < usize::from(alone.most)
}

/// When the rest after the last message is over, if the window opened during it.
fn rest_end(plan: &Plan, window: &Window, past: WindowHistory<'_>) -> Option<UtcMillis> {
    let (rest, told) = (plan.rest.as_ref()?, past.told?);
    // Where the row begins anew the rest is over sooner, but it is not left out.
    let row = if counts_anew(rest, window, told) { 1 } else { told.row };
    let (last, length) = (*told.at.last()?, rest.rest_after(row));
    if window.opening >= last.plus(length) {
        return None;
    }
    let longer = rest.each_ms.saturating_mul(i64::from(window.heard));
    Some(last.plus(length.saturating_add(longer).min(rest.most_ms)))
}

/// Whether it was silent for so long that messages in a row are counted anew.
pub(crate) fn counts_anew(rest: &RestRule, window: &Window, told: &MessageHistory) -> bool {
    window.opening.since(told.heard) > rest.reset_ms
}

fn spread_length_ms(plan: &Plan) -> i64 {
    match &plan.close {
        CloseRule::Calendar { spread_ms, .. } => *spread_ms,
        _ => 0,
    }
}

/// A person's own place within the spread of a sending hour, the same for the same date.
fn person_spread_ms(plan: &Plan, spread_ms: i64, number: ClosingNumber, at: &StepContext<'_>) -> i64 {
    if spread_ms <= 0 {
        return 0;
    }
    let text = format!("{}\0{}\0{}\0{}", at.tenant, at.person, plan.name, number.0);
    let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes()) >> 1;
    i64::try_from(hash).unwrap_or(0) % spread_ms
}
