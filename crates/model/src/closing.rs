//! A closing, decided once: what is told now, what ended, what is carried over, and the marks that say so.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    badge::{self, Unseen},
    due::{self, Past},
    entry::{EntryKey, Reason},
    escalate,
    fault::{self, Fault},
    hold::{self, Gate},
    id::{ReadyId, SubjectRef},
    limits::{
        CARRIED_KEYS_MAX, CLOSING_BYTES_MAX, CLOSING_KEYS_MAX, DAY_MS, LAST_CALL_MS, LAST_MS,
        READY_ENTRIES_MAX, RECORD_BYTES_MAX, TOLD_MAX,
    },
    mark::{What, Why},
    person::{Act, KEY_BYTES, MARK_BYTES, PersonRecord, Told, Window},
    plan::{Below, OncePer, Plan},
    ready::{self, Ready, ReadyEntry},
    time::{Day, Millis},
    window::{self, At, News},
};

/// An entry that still waits, with what was found out about it before the turn.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    pub key: EntryKey,
    pub subject: SubjectRef,
    pub reasons: Vec<Reason>,
    /// Where it stands within its section: greater first.
    pub rank: f64,
    /// Whether it still holds, and if not, why.
    pub holds: Result<(), Why>,
    /// It came back from a Ready that may have been sent.
    pub maybe: bool,
    /// Its subject is said once, by a Ready that waits for another attempt and may yet go out without it: it
    /// waits for what becomes of that one.
    pub awaits: bool,
    /// The instant that it is about, where the plan closes before one.
    pub aim: Option<Millis>,
    /// It was told before the others of its window, by a plan that tells it with them too.
    pub repeated: bool,
    /// When the plan that this one follows told it.
    pub told: Option<Millis>,
}

impl Candidate {
    /// The best section that tells one of its kinds.
    fn section(&self, plan: &Plan) -> Option<usize> {
        self.reasons.iter().filter_map(|reason| plan.section_of(&reason.kind)).min()
    }

    /// Whether a message of the plan would tell it.
    fn is_told_by(&self, plan: &Plan) -> bool {
        self.holds.is_ok() && !self.awaits && !self.repeated && self.section(plan).is_some()
    }
}

/// A candidate and the best section that tells it.
type Placed = (usize, Candidate);

/// What is said once, together: usually one candidate, several where a subject is said once. The best one
/// leads, and all of them stand in its section.
type Group = Vec<Placed>;

/// What a closing came to.
#[derive(Default)]
struct Sorted {
    told: Vec<Group>,
    carried: Vec<Candidate>,
    ended: Vec<(EntryKey, Why)>,
    /// By section, how many things there was no room for.
    more: Vec<u16>,
}

/// Closes a window; the record loses it, and gains what is owed and what follows.
pub(crate) fn close(
    record: &mut PersonRecord,
    window: &Window,
    joined: &[Window],
    mut candidates: Vec<Candidate>,
    live: Option<bool>,
    at: &At<'_>,
) -> Vec<Ready> {
    let Some(index) = record.windows.iter().position(|open| open == window) else { return Vec::new() };
    let Some(plan) = at.plans.by_name.get(&window.plan) else {
        let days = record.windows.remove(index).days;
        window::open_any(record, &days, at);
        return Vec::new();
    };
    // Derived again at the last moment: the person may have travelled since, and what was heard may have
    // been heard twice.
    let open = &mut record.windows[index];
    open.heard = open.heard.min(count(&candidates));
    open.aim = candidates.iter().filter(|one| one.holds.is_ok()).filter_map(|one| one.aim).min();
    let window = &open.clone();
    let due = due::again(plan, window, Past::of(record, window), at);
    record.windows[index].close_at(due.at, at.now);
    if due.at > at.now {
        return Vec::new();
    }
    if !record.owed.is_empty() && record.weight() + CLOSING_BYTES_MAX > RECORD_BYTES_MAX {
        // It stays due: the store must have some of the marks that are owed before there are more.
        return Vec::new();
    }
    let window = &Window { due: due.at, ..window.clone() };
    if window.act == Some(Act::Cancel) {
        cancel(record, index, plan, candidates, at);
        return Vec::new();
    }
    let Past { date: told_on, seen, .. } = Past::of(record, window);
    if !window.is_acted_on() && due::never_left(plan, seen, at) {
        outlive(record, index, plan, candidates, at);
        return Vec::new();
    }
    if let Some(later) = escalate::come_for(plan, window, &mut candidates, seen, at) {
        record.windows[index].close_at(later, at.now);
        return Vec::new();
    }
    let Some(silent) = passes(record, index, plan, &mut candidates, live, at) else { return Vec::new() };
    if due::is_first(plan, window)
        && !window.is_acted_on()
        && candidates.iter().any(|one| one.is_told_by(plan))
    {
        return vec![first(record, index, plan, candidates, silent, at)];
    }
    record.windows.remove(index);
    record.windows.retain(|open| !joined.contains(open));
    let mut sorted = sort(with_repeated(candidates), plan, plan.oldest(window.due));
    // A date is told once, also if the last call of a day comes later on a date that has been told.
    let again = due.date.zip(told_on).is_some_and(|(date, told)| told >= date);
    let few = sorted.told.len() < usize::from(plan.at_least);
    if (again || few) && !window.is_acted_on() {
        put_back(&mut sorted, plan.below == Below::Ended && !again);
    }
    let rest = end(record, plan, &mut sorted, at);
    let told = !sorted.told.is_empty();
    if told {
        let date = due.date.map(|date| told_on.map_or(date, |told| told.max(date)));
        record.told_on.extend(date.map(|date| (plan.name.clone(), date)));
        joined.iter().chain([window]).for_each(|window| remember(record, plan, window, at));
        hold::note(record, plan, at);
    }
    let id = ready_id(window, at);
    // Whoever follows tells what did not reach the person here, and ends with it what ended.
    let ended: BTreeSet<Day> = sorted.ended.iter().map(|(key, _)| key.day()).collect();
    if !ended.is_empty() {
        escalate::after(record, plan, &window.key, &ended, None, at);
    }
    carry(record, plan, window, &sorted.carried, rest, told.then_some(id), at);
    if !told {
        return Vec::new();
    }
    let badge = take(record, plan, window, id, &sorted, at);
    vec![ready(id, (silent, badge), plan, window, sorted, at)]
}

/// What would be told is not: it ends, or it is carried over.
fn put_back(sorted: &mut Sorted, ends: bool) {
    let back = std::mem::take(&mut sorted.told).into_iter().flatten().map(|(_, one)| one);
    if ends {
        sorted.ended.extend(back.map(|one| (one.key, Why::TooFew)));
    } else {
        sorted.carried.extend(back);
    }
}

/// Ends the oldest day of a window that waited in vain for the person to leave; its other days wait on.
fn outlive(record: &mut PersonRecord, index: usize, plan: &Plan, candidates: Vec<Candidate>, at: &At<'_>) {
    let mut window = record.windows.remove(index);
    let oldest = window.days.pop_first();
    let old = candidates.into_iter().filter(|one| Some(one.key.day()) == oldest && !one.awaits);
    let ended = old.map(|one| (one.key, one.holds.err().unwrap_or(Why::SeesItself))).collect();
    let rest = end(record, plan, &mut Sorted { ended, ..Sorted::default() }, at);
    window.days.extend(rest);
    if !window.days.is_empty() {
        let due = due::due(plan, &window, Past::of(record, &window), window.opening, at).at;
        window.close_at(due.max(at.now.plus(1)), at.now);
        record.windows.push(window);
    }
}

/// Asks all that may hold a window: whether it is told without a sound, or nothing if it waits on.
fn passes(
    record: &mut PersonRecord,
    index: usize,
    plan: &Plan,
    candidates: &mut [Candidate],
    live: Option<bool>,
    at: &At<'_>,
) -> Option<bool> {
    let window = &record.windows[index];
    if window.is_acted_on() || !candidates.iter().any(|one| one.is_told_by(plan)) {
        return Some(false);
    }
    match hold::gate(plan, record, live, at) {
        Gate::Open { silent } => return Some(silent),
        Gate::Until(until, why) if until < last_instant(window) => {
            (record.windows[index].due, record.windows[index].held) = (until, Some(why));
            return None;
        }
        // There is no later instant for it.
        Gate::Until(_, why) => end_all(candidates, why.why()),
        Gate::Ended(why) => end_all(candidates, why),
    }
    Some(false)
}

/// Closes a window that tells nothing: whatever waits in it ends. What one closing has no room to name stays in it,
/// and ends at the next one, for in another window it would be told.
fn cancel(record: &mut PersonRecord, index: usize, plan: &Plan, mut candidates: Vec<Candidate>, at: &At<'_>) {
    candidates.iter_mut().for_each(|one| one.awaits = false);
    end_all(&mut candidates, Why::Cancelled);
    let mut window = record.windows.remove(index);
    let mut sorted = sort(with_repeated(candidates), plan, Day(i32::MIN));
    window.days = end(record, plan, &mut sorted, at);
    if !window.days.is_empty() {
        record.windows.push(window);
    }
}

/// Tells the first entry of a window, which stays open for the others.
fn first(
    record: &mut PersonRecord,
    index: usize,
    plan: &Plan,
    candidates: Vec<Candidate>,
    silent: bool,
    at: &At<'_>,
) -> Ready {
    let window = record.windows[index].clone();
    let told = candidates.into_iter().filter(|one| one.is_told_by(plan)).min_by_key(|one| one.key);
    let sorted = sort(told.into_iter().collect(), plan, Day(i32::MIN));
    let key = sorted.told.iter().flatten().map(|(_, one)| one.key).next();
    let id = ready_id(&window, at);
    let badge = take(record, plan, &window, id, &sorted, at);
    remember(record, plan, &window, at);
    hold::note(record, plan, at);
    let mut open = Window { first: key, ..window.clone() };
    let due = due::due(plan, &open, Past::of(record, &open), open.opening, at).at;
    open.close_at(due, at.now);
    // After this turn, also if all that comes after is due already: what it tells is a message of its own.
    open.due = due.max(at.now.plus(1));
    record.windows[index] = open;
    ready(id, (silent, badge), plan, &window, sorted, at)
}

/// Owes the marks of what is told, on every channel on which it counts, and tells those who follow. Gives what the
/// number on the app's icon counts by now.
fn take(
    record: &mut PersonRecord,
    plan: &Plan,
    window: &Window,
    id: ReadyId,
    sorted: &Sorted,
    at: &At<'_>,
) -> Option<Unseen> {
    let taken: Vec<EntryKey> = sorted.told.iter().flatten().map(|(_, candidate)| candidate.key).collect();
    let others = plan.counts_on.iter().copied().filter(|channel| *channel != plan.channel);
    for channel in std::iter::once(plan.channel).chain(others) {
        window::owe(record, channel, What::Taken(id), taken.iter().copied(), at.now);
    }
    let days = taken.iter().map(|key| key.day()).collect();
    escalate::after(record, plan, &window.key, &days, Some(id), at);
    badge::told(record, plan, &days, at)
}

/// Nothing of a window may be told after this.
fn last_instant(window: &Window) -> Millis {
    window.days.first().map_or(Millis(i64::MAX), |day| day.expires().plus(-LAST_MS))
}

/// What would be told is not, for this reason.
fn end_all(candidates: &mut [Candidate], why: Why) {
    for one in candidates.iter_mut().filter(|one| one.holds.is_ok() && !one.awaits) {
        one.holds = Err(why);
    }
}

/// How many candidates still hold.
fn count(candidates: &[Candidate]) -> u32 {
    u32::try_from(candidates.iter().filter(|one| one.holds.is_ok()).count()).unwrap_or(u32::MAX)
}

/// What was told first is told again only beside something else.
fn with_repeated(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    if candidates.iter().all(|one| one.repeated || one.holds.is_err() || one.awaits) {
        candidates.retain(|one| !one.repeated);
    }
    candidates
}

/// The id of the Ready by which a window tells next.
fn ready_id(window: &Window, at: &At<'_>) -> ReadyId {
    let part = u16::from(window.first.is_some());
    ready::id(at.tenant, at.person, &window.plan, &window.key, window.opening, part)
}

/// Notes a message for the plans that look back on what was told.
fn remember(record: &mut PersonRecord, plan: &Plan, window: &Window, at: &At<'_>) {
    record.keep_until = record.keep_until.max(at.now.plus(2 * DAY_MS));
    let memory = plan.memory_ms();
    if memory == 0 {
        return;
    }
    let same = |told: &Told| told.plan == plan.name && told.key == window.key;
    let before = record.told.iter().position(same).map(|place| record.told.remove(place));
    // What a window opened beside is remembered as long as it is open: it asks again whether it goes alone.
    let is_open =
        |told: &Told| record.windows.iter().any(|open| open.plan == told.plan && open.key == told.key);
    record.told.retain(|told| told.until > at.now || is_open(told));
    let is_anew = |before: &Told| plan.rest.is_some_and(|rest| due::is_anew(&rest, window, before));
    let row = before.as_ref().filter(|before| !is_anew(before)).map_or(0, |before| before.row);
    let mut instants = before.map(|before| before.at).unwrap_or_default();
    instants.push(at.now);
    let most = plan.alone.map_or(1, |alone| usize::from(alone.most).max(1));
    instants.drain(..instants.len().saturating_sub(most));
    let until = at.now.plus(memory);
    record.keep_until = record.keep_until.max(until);
    record.told.push(Told {
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

/// Sorts candidates into sections, by rank, within the budgets; what lies before the look-back ends.
fn sort(candidates: Vec<Candidate>, plan: &Plan, oldest: Day) -> Sorted {
    let mut sorted = Sorted::default();
    let mut live = Vec::new();
    for candidate in candidates {
        match (candidate.holds, candidate.section(plan)) {
            (Ok(()), Some(_)) if candidate.key.day() < oldest => {
                sorted.ended.push((candidate.key, Why::Expired));
            }
            (Ok(()), Some(_)) if candidate.awaits => sorted.carried.push(candidate),
            (Ok(()), Some(section)) => live.push((section, candidate)),
            (Ok(()), None) => sorted.ended.push((candidate.key, Why::KindGone)),
            (Err(why), _) => sorted.ended.push((candidate.key, why)),
        }
    }
    let groups = group(live, plan.once_per);
    let mut used = vec![0_u16; plan.sections.len()];
    sorted.more.clone_from(&used);
    let mut entries_left = READY_ENTRIES_MAX;
    for mut group in groups {
        let section = group[0].0;
        // One subject never fills more than a Ready; the rest of its entries wait.
        let rest = group.split_off(group.len().min(READY_ENTRIES_MAX));
        sorted.carried.extend(rest.into_iter().map(|(_, candidate)| candidate));
        let within = used[section] < plan.sections[section].most && group.len() <= entries_left;
        if within {
            used[section] += 1;
            entries_left -= group.len();
            sorted.told.push(group);
        } else if !fault::planted(Fault::OverflowDropped) {
            sorted.more[section] = sorted.more[section].saturating_add(1);
            sorted.carried.extend(group.into_iter().map(|(_, candidate)| candidate));
        }
    }
    // What was told first has been told, whatever there is room for.
    sorted.carried.retain(|one| !one.repeated);
    sorted
}

/// Puts together what is said only once, the best first.
fn group(live: Vec<Placed>, once_per: OncePer) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut of_subject: BTreeMap<SubjectRef, usize> = BTreeMap::new();
    for placed in live {
        let next = groups.len();
        let place = match once_per {
            OncePer::Event => next,
            OncePer::Mail | OncePer::Subject => *of_subject.entry(placed.1.subject.clone()).or_insert(next),
        };
        if place == next {
            groups.push(Group::new());
        }
        groups[place].push(placed);
    }
    groups.iter_mut().for_each(|group| group.sort_by(better));
    groups.sort_by(|a, b| better(&a[0], &b[0]));
    groups
}

/// The section first: ranks of two sections, a date here and a distance there, do not compare.
fn better((a_section, a): &Placed, (b_section, b): &Placed) -> Ordering {
    a_section.cmp(b_section).then(b.rank.total_cmp(&a.rank)).then(b.key.cmp(&a.key))
}

/// Owes the marks of what ended; days of which there is more than one closing may name are given back.
fn end(record: &mut PersonRecord, plan: &Plan, sorted: &mut Sorted, at: &At<'_>) -> BTreeSet<Day> {
    // Past the last call of its day there is no next closing for what would be carried.
    let past = |candidate: &Candidate| candidate.key.day().expires().plus(-LAST_CALL_MS) <= at.now;
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

/// What is carried opens the next window in the same turn, and so does the rest of what ended, which is
/// found ended again; below the minimum the window simply goes on to its next closing.
fn carry(
    record: &mut PersonRecord,
    plan: &Plan,
    window: &Window,
    carried: &[Candidate],
    rest: BTreeSet<Day>,
    told: Option<ReadyId>,
    at: &At<'_>,
) {
    let days: BTreeSet<Day> = carried.iter().map(|candidate| candidate.key.day()).chain(rest).collect();
    if days.is_empty() {
        return;
    }
    if let Some(id) = told {
        let over = carried.iter().filter(|candidate| !candidate.awaits);
        let keys = over.map(|candidate| candidate.key).take(CARRIED_KEYS_MAX);
        window::owe(record, plan.channel, What::Carried(id), keys, at.now);
    }
    // After this instant, so that the next closing is the next one and not this one again.
    record.last_opening = record.last_opening.max(at.now);
    let rows = u32::try_from(carried.len()).unwrap_or(u32::MAX);
    let aim = carried.iter().filter_map(|one| one.aim).min();
    let opening = window::next_opening(record, at);
    window::open(record, plan, News { key: window.key.clone(), aim, days, rows, opening }, at);
}

fn ready(
    id: ReadyId,
    (silent, badge): (bool, Option<Unseen>),
    plan: &Plan,
    window: &Window,
    sorted: Sorted,
    at: &At<'_>,
) -> Ready {
    let mut entries = Vec::new();
    for group in sorted.told {
        let section = u16::try_from(group[0].0).unwrap_or(u16::MAX);
        entries.extend(group.into_iter().map(|(_, Candidate { key, subject, reasons, maybe, .. })| {
            ReadyEntry { key, subject, reasons, section, maybe }
        }));
    }
    let expires = entries.iter().map(|entry| entry.key.day().expires()).min().unwrap_or(at.now);
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
