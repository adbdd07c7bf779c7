//! The one function that decides: `step(record, input, at) -> (record, effects)`.
//!
//! Pure: the person's record goes in, a new one comes out, and time is an argument. Counts kept from
//! announcements are hints; what is told is decided by folding the days at closing ([`crate::closing`]).

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    badge,
    civil::{self, Zone},
    closing::{self, Candidate},
    delivery::{Delivery, Outcome},
    due::{self, Past},
    entry::EntryKey,
    escalate::{self, Came},
    fault::{self, Fault},
    id::{Person, PlanName, Tenant},
    limits::{
        AHEAD_MS_MAX, BACK_WAIT_MS, DAY_MS, DAY_ROWS_FULL, DAY_ROWS_SHUT, HABIT_LIFE_MS, HOUR_MS,
        ID_BYTES_MAX, LATE_MS_MAX, SEEN_EVERY_MS, WAITING_BYTES_MAX, WINDOW_DAYS_MAX, WINDOWS_PER_PERSON_MAX,
    },
    mark::{Channel, Mark, What, Why},
    person::{Act, Owed, PersonRecord, Waiting, Window},
    plan::{Close, Hours, OncePer, Plan, Plans},
    ready::{RECALLED, Ready},
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
    /// The person's own quiet hours, in their own zone, in place of those that plans have.
    pub quiet: Option<Hours>,
}

/// What a step answers to.
pub enum Input<'a> {
    /// Rows were written into a day; these windows want them.
    Announced { day: Day, rows: u32, wanted: &'a [Wanted] },
    /// Something changed that instants depend on: the person's zone.
    Moved,
    /// Somebody released or cancelled windows of a plan by hand, the one with this key or all of them, at this
    /// instant: what opened later is not meant.
    ByHand { act: Act, plan: &'a PlanName, key: Option<&'a str>, at: Millis },
    /// A window is due, and this is what its days hold.
    Due {
        window: &'a Window,
        /// Other windows of its plan that are told with it; the days are theirs too.
        joined: &'a [Window],
        candidates: Vec<Candidate>,
        /// Whether the person has a live connection, where somebody was asked.
        live: Option<bool>,
    },
    /// The person was seen on a surface.
    Seen { surface: &'a Arc<str>, at: Millis },
    /// The person read or cleared something.
    Read { at: Millis },
    /// A Ready that was deferred may be issued again, or a badge has to be set right.
    Again,
    /// The sender says what became of a Ready.
    Reported(&'a Delivery),
    /// The store has these marks.
    Acknowledged(&'a [Owed]),
}

/// A window that entries belong to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wanted {
    pub plan: PlanName,
    /// Of the plan's windows the one with this key.
    pub key: Arc<str>,
    /// The instant that it is about, where the plan closes before one.
    pub aim: Option<Millis>,
}

/// What a step wants done, beside the new record.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Effects {
    pub ready: Vec<Ready>,
    /// This day has become full: it has room for what is urgent alone.
    pub full: Option<Day>,
    /// It has room for nothing any more.
    pub shut: Option<Day>,
}

/// One step.
pub fn step(record: &PersonRecord, input: Input<'_>, at: &At<'_>) -> (PersonRecord, Effects) {
    let was_full = is_full(record, at);
    let mut record = record.clone();
    let mut effects = Effects::default();
    match input {
        Input::Announced { day, rows, wanted } => {
            (effects.full, effects.shut) = count(&mut record, day, rows, at.now);
            let opening = next_opening(&record, at);
            for Wanted { plan, key, aim } in wanted {
                let Some(plan) = at.plans.by_name.get(plan).filter(|plan| plan.follows.is_none()) else {
                    continue;
                };
                let news = News { key: key.clone(), aim: *aim, rows, days: [day].into(), opening };
                open(&mut record, plan, news, at);
            }
        }
        Input::Moved => retime(&mut record, at),
        Input::ByHand { act, plan, key, at: when } => by_hand(&mut record, act, (plan, key), when, at.now),
        Input::Due { window, joined, candidates, live } => {
            effects.ready = closing::close(&mut record, window, joined, candidates, live, at);
        }
        Input::Seen { surface, at: when } => seen(&mut record, surface, when, at),
        Input::Read { at: when } => badge::seen(&mut record, when, false, at),
        Input::Again => {
            effects.ready = again(&mut record, at.now);
            effects.ready.extend(badge::ready(&mut record, at));
        }
        Input::Reported(delivery) => effects.ready.extend(reported(&mut record, delivery, at)),
        Input::Acknowledged(owed) => record.owed.retain(|mine| !owed.contains(mine)),
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
fn is_full(record: &PersonRecord, at: &At<'_>) -> bool {
    let takes_one = |window: &&Window| !waits_for_a_place(window, at.plans);
    record.windows.iter().filter(takes_one).count() >= WINDOWS_PER_PERSON_MAX
        || !record.has_room_for(WINDOW_ROOM)
}

/// Whether a window holds what wants windows of its own, and found no place for them.
fn waits_for_a_place(window: &Window, plans: &Plans) -> bool {
    window.key.is_empty() && plans.by_name.get(&window.plan).is_some_and(|plan| !plan.key.is_empty())
}

/// Counts rows of a day, and notices the moments at which the day becomes full, and takes nothing any more.
fn count(record: &mut PersonRecord, day: Day, rows: u32, now: Millis) -> (Option<Day>, Option<Day>) {
    let oldest = Day::of(now.plus(-LATE_MS_MAX - DAY_MS));
    record.rows.retain(|day, _| *day >= oldest);
    let before = record.rows.get(&day).copied().unwrap_or(0);
    let after = before.saturating_add(rows);
    record.rows.insert(day, after);
    record.keep_until = record.keep_until.max(day.start().plus(2 * DAY_MS));
    if fault::planted(Fault::NeverFull) {
        return (None, None);
    }
    let crosses = |limit: u32| (before < limit && after >= limit).then_some(day);
    (crosses(DAY_ROWS_FULL), crosses(DAY_ROWS_SHUT))
}

/// Rows that are announced to a window.
pub(crate) struct News {
    pub key: Arc<str>,
    pub aim: Option<Millis>,
    pub days: BTreeSet<Day>,
    pub rows: u32,
    /// When a window opens that they open.
    pub opening: Millis,
}

/// When windows open that open now. Of one window and the next this strictly increases, so that two opened at one
/// instant are still two; windows of several plans may open together.
pub(crate) fn next_opening(record: &PersonRecord, at: &At<'_>) -> Millis {
    at.now.max(record.last_opening.plus(1))
}

/// Opens the plan's window, or joins the one that is open.
///
/// A person has so many windows and no more. What wants another one waits in the plan's window without a key, until a
/// place is free: its closing finds where it belongs by then. What has found none by its last call is told by it.
pub(crate) fn open(record: &mut PersonRecord, plan: &Plan, mut news: News, at: &At<'_>) {
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
            let hour = due::best_hour(plan, record, at);
            Window { hour, ..Window::new(plan.name.clone(), plan.hash, news.key.clone(), news.opening) }
        }
    };
    let mut window = joined(window, news, plan, record, at);
    if waits && !window.is_acted_on() {
        window.due = found.unwrap_or_else(|| due::last_call(plan, &window, at.now));
    }
    record.windows.push(window);
}

/// A window with what was announced to it.
fn joined(mut window: Window, news: News, plan: &Plan, record: &PersonRecord, at: &At<'_>) -> Window {
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
    let past = Past::of(record, &window);
    let due = if is_changed && !is_new && !window.is_acted_on() {
        due::retimed(plan, &window, past, at)
    } else if is_new || !(window.is_acted_on() || plan.close.is_calendar()) {
        due::due(plan, &window, past, window.opening, at).at
    } else {
        // The instant of a calendar stays, and is asked for its zone when it has come.
        due::sooner(plan, &window, past).map_or(window.due, |sooner| sooner.min(window.due))
    };
    // What is in it may be about another instant by now: that is asked.
    let asks = matches!(plan.close, Close::Before { .. }) && !is_new && plan.follows.is_none();
    let due = if asks { due.min(at.now) } else { due };
    // Until when it is kept its own time may have moved on: that is looked at then.
    if is_changed || !window.is_kept() {
        window.close_at(due, at.now);
    }
    // What is held is so beyond its last call, until there is nothing to tell any more.
    let last = if window.is_kept() { due::end(plan, &window) } else { due::last_call(plan, &window, at.now) };
    window.due = window.due.min(last).max(soonest);
    window
}

/// The plan of these days is not in the catalogue any more: every plan there is looks at them, and tells or
/// ends what is its own.
pub(crate) fn open_any(record: &mut PersonRecord, days: &BTreeSet<Day>, at: &At<'_>) {
    let opening = next_opening(record, at);
    for plan in at.plans.by_name.values() {
        // Of a plan whose windows have keys this is none of them: its closing finds those that are meant.
        open(record, plan, News { key: "".into(), aim: None, days: days.clone(), rows: 0, opening }, at);
    }
}

/// Derives again every due instant that has not come. One that has stays: it closes as soon as its
/// partition is read, and is asked for its zone once more then.
fn retime(record: &mut PersonRecord, at: &At<'_>) {
    let mut windows = std::mem::take(&mut record.windows);
    for window in windows.iter_mut().filter(|window| window.due > at.now && !window.is_acted_on()) {
        let Some(plan) = at.plans.by_name.get(&window.plan) else { continue };
        let due = due::retimed(plan, window, Past::of(record, window), at);
        window.close_at(due, at.now);
    }
    record.windows = windows;
}

/// Notes where the person was. Windows that wait for them to leave are not touched: they ask when they are due.
/// Who is seen again and again is noted once a while: it costs a record each time, and tells hardly more.
fn seen(record: &mut PersonRecord, surface: &Arc<str>, when: Millis, at: &At<'_>) {
    let Some(known) = at.plans.surfaces.iter().find(|known| known.name == *surface) else { return };
    let when = when.min(at.now.plus(AHEAD_MS_MAX));
    badge::seen(record, when, true, at);
    if at.plans.ask_habits() {
        visit(record, when, at);
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
fn visit(record: &mut PersonRecord, when: Millis, at: &At<'_>) {
    let last = record.seen.values().max();
    if last.is_none_or(|last| when.0.div_euclid(HOUR_MS) > last.0.div_euclid(HOUR_MS)) {
        record.habit.note(civil::local_time(when, at.zone));
        record.keep_until = record.keep_until.max(when.plus(HABIT_LIFE_MS));
    }
}

/// Makes the plan's windows due now. Whatever opens from here on opened later than the act, so the same act, read
/// once more, does not mean it.
fn by_hand(
    record: &mut PersonRecord,
    act: Act,
    (plan, key): (&PlanName, Option<&str>),
    when: Millis,
    now: Millis,
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

/// Deferred Readys whose instant has come. Each is kept until there is a report, for it is on its way still.
fn again(record: &mut PersonRecord, now: Millis) -> Vec<Ready> {
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
fn reported(record: &mut PersonRecord, delivery: &Delivery, at: &At<'_>) -> Option<Ready> {
    escalate::reported(record, delivery, at);
    if let Outcome::Deferred { until, ready } = &delivery.outcome {
        return deferred(record, delivery, *until, ready, at);
    }
    record.waiting.retain(|waiting| waiting.ready.id != delivery.ready);
    let (back, left, maybe) = match &delivery.outcome {
        Outcome::Sent { left } | Outcome::Nothing { left } | Outcome::Refused { left } => {
            (&[][..], &left[..], false)
        }
        Outcome::Unknown { back, left } => (&back[..], &left[..], true),
        Outcome::Returned { back } => (&back[..], &[][..], false),
        Outcome::Deferred { .. } => return None,
    };
    owe_left(record, delivery, left);
    give_back(record, delivery, back, maybe, at);
    let untold: BTreeSet<Day> =
        back.iter().chain(left.iter().map(|(key, _)| key)).map(|key| key.day()).collect();
    if !untold.is_empty() {
        count_no_more(record, delivery, &untold, at);
        ask_again(record, delivery, at);
    }
    None
}

/// What a Ready did not tell does not count as told on other channels either, so that it waits there again.
fn count_no_more(record: &mut PersonRecord, delivery: &Delivery, days: &BTreeSet<Day>, at: &At<'_>) {
    let Some(plan) = at.plans.by_name.get(&delivery.plan) else { return };
    let opening = next_opening(record, at);
    let counted = |next: &&Plan| next.channel != plan.channel && plan.counts_on.contains(&next.channel);
    for next in at.plans.by_name.values().filter(counted).filter(|next| next.shares_kinds(plan)) {
        // Where windows have keys its closing finds those that are meant.
        let key: Arc<str> = "".into();
        if next.follows.is_some() {
            escalate::come(record, next, &key, days, Came::Ended, at);
        } else {
            open(record, next, News { key, aim: None, days: days.clone(), rows: 0, opening }, at);
        }
    }
}

/// What waits for what becomes of this Ready, since its subject is said once, need not wait any more.
fn ask_again(record: &mut PersonRecord, delivery: &Delivery, at: &At<'_>) {
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
fn deferred(
    record: &mut PersonRecord,
    delivery: &Delivery,
    until: Millis,
    ready: &Ready,
    at: &At<'_>,
) -> Option<Ready> {
    let attempt = delivery.attempt.saturating_add(1);
    let same = |waiting: &Waiting| waiting.ready.id == ready.id;
    if record.waiting.iter().any(|waiting| same(waiting) && waiting.ready.attempt >= attempt) {
        // The same report again.
        return None;
    }
    record.waiting.retain(|waiting| !same(waiting));
    // Before it expires, so that whoever has it next ends it.
    let until = until.min(ready.expires.plus(-1));
    record.waiting.push(Waiting { at: until, ready: Ready { attempt, ..ready.clone() } });
    if record.waiting_weight() <= WAITING_BYTES_MAX && record.has_room_for(0) {
        return None;
    }
    record.waiting.pop();
    if fault::planted(Fault::BackUnasked) {
        let back: Vec<_> = ready.entries.iter().map(|entry| entry.key).collect();
        give_back(record, delivery, &back, false, at);
        return None;
    }
    Some(Ready { attempt: RECALLED, ..ready.clone() })
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
        Some(plan) => {
            let opening = next_opening(record, at);
            open(record, plan, News { key: delivery.key.clone(), aim: None, days, rows: 0, opening }, at);
            let window = record.windows.last_mut().filter(|window| !maybe && !window.is_acted_on());
            if let Some(window) = window {
                // What could not be sent a moment ago is not told again at once.
                window.due = window.due.max(at.now.plus(BACK_WAIT_MS)).min(due::end(plan, window));
            }
        }
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
