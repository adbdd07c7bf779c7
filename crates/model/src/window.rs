//! The one function that decides: `step(record, input, at) -> (record, effects)`.
//!
//! Pure: the person's record goes in, a new one comes out, and time is an argument. Counts kept from
//! announcements are hints; what is told is decided by folding the days at closing ([`crate::closing`]).

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    civil::{self, Zone},
    closing::{self, Candidate},
    delivery::{Delivery, Outcome},
    entry::EntryKey,
    fault::{self, Fault},
    id::{Person, PlanName, Tenant},
    limits::{
        AHEAD_MS_MAX, ATTEMPTS_MAX, DAY_MS, DAY_ROWS_FULL, LAST_CALL_MS, LATE_MS_MAX, WAITING_BYTES_MAX,
        WAITING_PER_PERSON_MAX, WINDOW_DAYS_MAX,
    },
    mark::{Channel, Mark, What, Why},
    person::{LocalDate, Owed, PersonRecord, Waiting, Window},
    plan::{Close, Plan, Plans, ZoneRule},
    ready::Ready,
    time::{Day, Millis},
};

/// Where and when a step is taken.
#[derive(Clone)]
pub struct At<'a> {
    pub tenant: &'a Tenant,
    pub person: &'a Person,
    pub now: Millis,
    /// The person's own zone.
    pub zone: &'a Zone,
    /// Zones that plans name.
    pub zones: &'a civil::Zones,
    pub plans: &'a Plans,
}

/// What a step answers to.
pub enum Input<'a> {
    /// Rows were written into a day; these plans care.
    Announced { day: Day, rows: u32, plans: &'a [PlanName] },
    /// Something changed that instants depend on: the person's zone.
    Moved,
    /// Somebody released the window of a plan by hand, at this instant: what opened later is not meant.
    Released { plan: &'a PlanName, at: Millis },
    /// A window is due, and this is what its days hold.
    Due { window: &'a Window, candidates: Vec<Candidate> },
    /// A Ready that was deferred may be issued again.
    Again,
    /// The sender says what became of a Ready.
    Reported(&'a Delivery),
    /// The store has these marks.
    Acknowledged(&'a [Owed]),
}

/// What a step wants done, beside the new record.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Effects {
    pub ready: Vec<Ready>,
    /// This day has become full.
    pub full: Option<Day>,
}

/// One step.
pub fn step(record: &PersonRecord, input: Input<'_>, at: &At<'_>) -> (PersonRecord, Effects) {
    let mut record = record.clone();
    let mut effects = Effects::default();
    match input {
        Input::Announced { day, rows, plans } => {
            effects.full = count(&mut record, day, rows, at.now);
            for plan in plans.iter().filter_map(|name| at.plans.by_name.get(name)) {
                open(&mut record, plan, [day], at);
            }
        }
        Input::Moved => retime(&mut record, at),
        Input::Released { plan, at: when } => release(&mut record, plan, when, at.now),
        Input::Due { window, candidates } => {
            effects.ready = closing::close(&mut record, window, candidates, at);
        }
        Input::Again => effects.ready = again(&mut record, at.now),
        Input::Reported(delivery) => reported(&mut record, delivery, at),
        Input::Acknowledged(owed) => record.owed.retain(|mine| !owed.contains(mine)),
    }
    (record, effects)
}

/// Counts rows of a day, and notices the moment at which the day becomes full.
fn count(record: &mut PersonRecord, day: Day, rows: u32, now: Millis) -> Option<Day> {
    let oldest = Day::of(now.plus(-LATE_MS_MAX - DAY_MS));
    record.rows.retain(|day, _| *day >= oldest);
    let before = record.rows.get(&day).copied().unwrap_or(0);
    let after = before.saturating_add(rows);
    record.rows.insert(day, after);
    record.keep_until = record.keep_until.max(day.start().plus(2 * DAY_MS));
    if fault::planted(Fault::NeverFull) {
        return None;
    }
    (before < DAY_ROWS_FULL && after >= DAY_ROWS_FULL).then_some(day)
}

/// Opens the plan's window, or joins the one that is open.
pub(crate) fn open(record: &mut PersonRecord, plan: &Plan, days: impl IntoIterator<Item = Day>, at: &At<'_>) {
    let key: Arc<str> = "".into();
    let told = record.told_on.get(&plan.name).copied();
    if let Some(window) =
        record.windows.iter_mut().find(|window| window.plan == plan.name && window.key == key)
    {
        window.days.extend(days);
        while window.days.len() > WINDOW_DAYS_MAX {
            window.days.pop_first();
        }
        window.due = window.due.min(last_call(window));
        return;
    }
    // Strictly increasing, so that two windows opened at one instant are still two.
    let opening = at.now.max(record.last_opening.plus(1));
    record.last_opening = opening;
    let days = days.into_iter().collect();
    let (name, plan_hash) = (plan.name.clone(), plan.hash);
    let mut window = Window { plan: name, plan_hash, key, opening, due: opening, released: false, days };
    window.due = due(plan, &window, told, opening, at).at;
    record.windows.push(window);
}

/// The last instant of a window, before its oldest day expires: nothing may expire untold.
fn last_call(window: &Window) -> Millis {
    let oldest = window.days.first().map_or(Millis(i64::MAX), |day| day.expires().plus(-LAST_CALL_MS));
    oldest.max(window.opening)
}

/// The plan of these days is not in the catalogue any more: every plan there is looks at them, and tells or
/// ends what is its own.
pub(crate) fn open_any(record: &mut PersonRecord, days: &BTreeSet<Day>, at: &At<'_>) {
    for plan in at.plans.by_name.values() {
        open(record, plan, days.iter().copied(), at);
    }
}

/// When a window closes.
pub(crate) struct Due {
    pub at: Millis,
    /// The local date that it then stands for, if its plan keeps to a calendar.
    pub date: Option<LocalDate>,
}

/// When a window closes if `from` has come.
pub(crate) fn due(plan: &Plan, window: &Window, told: Option<LocalDate>, from: Millis, at: &At<'_>) -> Due {
    let last_call = last_call(window);
    match &plan.close {
        Close::After { ms } => Due { at: window.opening.plus(*ms).min(last_call), date: None },
        Close::Calendar { at: time, on, zone, spread_ms } => {
            let zone = whose(zone, at);
            let (date, instant) = civil::next_on(from, told, *time, *on, &zone);
            let instant = instant.plus(spread(plan, *spread_ms, date, at));
            if last_call < instant {
                return Due { at: last_call, date: Some(civil::local_date(last_call, &zone)) };
            }
            Due { at: instant, date: Some(date) }
        }
    }
}

/// When a window that is about to close would close under the zone of this moment, and the date. A sending
/// hour that began within its spread is still that hour.
pub(crate) fn due_again(plan: &Plan, window: &Window, told: Option<LocalDate>, at: &At<'_>) -> Due {
    let spread_ms = match &plan.close {
        Close::Calendar { spread_ms, .. } => *spread_ms,
        Close::After { .. } => 0,
    };
    if !window.released {
        return due(plan, window, told, window.opening.max(window.due.plus(-spread_ms)), at);
    }
    // What was released is due. It stands for the date that it came before, so that this date has no second
    // one; but not for a later date than today, for what is released on Wednesday does not take Monday's place.
    let regular = due(plan, window, told, window.opening.max(at.now.plus(-spread_ms)), at);
    let today = match &plan.close {
        Close::Calendar { zone, .. } => civil::local_date(at.now, &whose(zone, at)),
        Close::After { .. } => LocalDate::MAX,
    };
    Due { at: window.due, date: regular.date.map(|date| date.min(today)) }
}

/// The zone that a plan means.
fn whose(zone: &ZoneRule, at: &At<'_>) -> Zone {
    match zone {
        ZoneRule::Person => at.zone.clone(),
        ZoneRule::Fixed(name) => at.zones.get_or_utc(Some(name)),
    }
}

/// A person's own place within the spread of a sending hour, the same for the same date.
fn spread(plan: &Plan, spread_ms: i64, date: LocalDate, at: &At<'_>) -> i64 {
    if spread_ms <= 0 {
        return 0;
    }
    let text = format!("{}\0{}\0{}\0{date}", at.tenant, at.person, plan.name);
    let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes()) >> 1;
    i64::try_from(hash).unwrap_or(0) % spread_ms
}

/// Derives again every due instant that has not come. One that has stays: it closes as soon as its
/// partition is read, and is asked for its zone once more then.
fn retime(record: &mut PersonRecord, at: &At<'_>) {
    let open = record.windows.iter_mut().filter(|window| window.due > at.now && !window.released);
    for window in open {
        let Some(plan) = at.plans.by_name.get(&window.plan) else { continue };
        let from = match &plan.close {
            Close::Calendar { spread_ms, .. } => window.opening.max(at.now.plus(-spread_ms)),
            Close::After { .. } => window.opening,
        };
        window.due = due(plan, window, record.told_on.get(&window.plan).copied(), from, at).at;
    }
}

/// Makes the plan's window due now. Whatever opens from here on opened later than the release, so the same
/// release, read once more, does not mean it.
fn release(record: &mut PersonRecord, plan: &PlanName, when: Millis, now: Millis) {
    // Another machine's clock may be ahead, but not by more than events may be.
    let when = when.min(now.plus(AHEAD_MS_MAX));
    let meant = |window: &&mut Window| window.plan == *plan && window.opening <= when;
    for window in record.windows.iter_mut().filter(meant) {
        window.released = true;
        window.due = window.due.min(now);
        record.last_opening = record.last_opening.max(when);
    }
}

/// Deferred Readys whose instant has come.
fn again(record: &mut PersonRecord, now: Millis) -> Vec<Ready> {
    let (due, waiting) =
        std::mem::take(&mut record.waiting).into_iter().partition(|waiting| waiting.at <= now);
    record.waiting = waiting;
    due.into_iter().map(|waiting: Waiting| waiting.ready).collect()
}

/// What became of a Ready: marks are owed, and what came back opens a window in the same turn.
fn reported(record: &mut PersonRecord, delivery: &Delivery, at: &At<'_>) {
    let ready = delivery.ready;
    match &delivery.outcome {
        Outcome::Sent { left } | Outcome::Nothing { left } | Outcome::Refused { left } => {
            owe_left(record, delivery, left);
        }
        Outcome::Unknown { back, left } => {
            owe_left(record, delivery, left);
            give_back(record, delivery, back, true, at);
        }
        Outcome::Deferred { until, ready: deferred } => {
            let attempt = delivery.attempt.saturating_add(1);
            if attempt >= ATTEMPTS_MAX || *until >= deferred.expires {
                let left: Vec<_> = deferred.entries.iter().map(|entry| (entry.key, Why::Expired)).collect();
                owe_left(record, delivery, &left);
            } else if record
                .waiting
                .iter()
                .any(|waiting| waiting.ready.id == ready && waiting.ready.attempt >= attempt)
            {
                // The same report again.
            } else {
                let again = Waiting { at: *until, ready: Ready { attempt, ..deferred.clone() } };
                record.waiting.retain(|waiting| waiting.ready.id != ready);
                record.waiting.push(again);
                // Too much to remember: the entries wait in their days instead, for the next digest.
                if record.waiting.len() > WAITING_PER_PERSON_MAX
                    || record.waiting_weight() > WAITING_BYTES_MAX
                {
                    record.waiting.pop();
                    let back: Vec<_> = deferred.entries.iter().map(|entry| entry.key).collect();
                    give_back(record, delivery, &back, false, at);
                }
            }
        }
    }
}

fn owe_left(record: &mut PersonRecord, delivery: &Delivery, left: &[(EntryKey, Why)]) {
    let reasons: BTreeSet<Why> = left.iter().map(|(_, why)| *why).collect();
    for why in reasons {
        let keys = left.iter().filter(|(_, w)| *w == why).map(|(key, _)| *key);
        owe(record, delivery.channel, What::Left { ready: delivery.ready, why }, keys, delivery.at);
    }
}

fn give_back(record: &mut PersonRecord, delivery: &Delivery, keys: &[EntryKey], maybe: bool, at: &At<'_>) {
    let what = What::Returned { ready: delivery.ready, maybe };
    owe(record, delivery.channel, what, keys.iter().copied(), delivery.at);
    if keys.is_empty() {
        return;
    }
    let days: BTreeSet<Day> = keys.iter().map(|key| key.day()).collect();
    match at.plans.by_name.get(&delivery.plan) {
        Some(plan) => open(record, plan, days, at),
        None => open_any(record, &days, at),
    }
}

/// Adds marks to what the store is owed, one for each day.
pub(crate) fn owe(
    record: &mut PersonRecord,
    channel: Channel,
    what: What,
    keys: impl IntoIterator<Item = EntryKey>,
    at: Millis,
) {
    let mut keys: Vec<EntryKey> = keys.into_iter().collect();
    keys.sort_unstable();
    for of_day in keys.chunk_by(|a, b| a.day() == b.day()) {
        let mark = Mark::new(Some(channel), what, of_day.to_vec(), at);
        let owed = Owed { day: of_day[0].day(), mark };
        if !record.owed.contains(&owed) {
            record.owed.push(owed);
        }
    }
}
