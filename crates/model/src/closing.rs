//! A closing, decided once: what is told now, what ended, what is carried over, and the marks that say so.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    entry::{EntryKey, Reason},
    fault::{self, Fault},
    id::{ReadyId, SubjectRef},
    limits::{
        CARRIED_KEYS_MAX, CLOSING_BYTES_MAX, CLOSING_KEYS_MAX, DAY_MS, LAST_CALL_MS, READY_ENTRIES_MAX,
        RECORD_BYTES_MAX,
    },
    mark::{What, Why},
    person::{KEY_BYTES, MARK_BYTES, PersonRecord, Window},
    plan::{OncePer, Plan},
    ready::{self, Ready, ReadyEntry},
    time::Day,
    window::{self, At},
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
}

impl Candidate {
    /// The best section that tells one of its kinds.
    fn section(&self, plan: &Plan) -> Option<usize> {
        self.reasons.iter().filter_map(|reason| plan.section_of(&reason.kind)).min()
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
    candidates: Vec<Candidate>,
    at: &At<'_>,
) -> Vec<Ready> {
    let Some(index) = record.windows.iter().position(|open| open == window) else { return Vec::new() };
    let Some(plan) = at.plans.by_name.get(&window.plan) else {
        let days = record.windows.remove(index).days;
        window::open_any(record, &days, at);
        return Vec::new();
    };
    // Derived again at the last moment: the person may have travelled since.
    let told_on = record.told_on.get(&plan.name).copied();
    let due = window::due_again(plan, window, told_on, at);
    if due.at > at.now {
        record.windows[index].due = due.at;
        return Vec::new();
    }
    if !record.owed.is_empty() && record.weight() + CLOSING_BYTES_MAX > RECORD_BYTES_MAX {
        // It stays due: the store must have some of the marks that are owed before there are more.
        return Vec::new();
    }
    record.windows.remove(index);
    let mut sorted = sort(candidates, plan, plan.oldest(window.due));
    // A date is told once, also if the last call of a day comes later on a date that has been told.
    let again = due.date.zip(told_on).is_some_and(|(date, told)| told >= date);
    let held = again || sorted.told.len() < usize::from(plan.at_least);
    if held && !window.released {
        sorted.carried.extend(std::mem::take(&mut sorted.told).into_iter().flatten().map(|(_, one)| one));
    }
    let rest = end(record, plan, &mut sorted, at);
    let told = !sorted.told.is_empty();
    if told {
        if let Some(date) = due.date {
            record.told_on.insert(plan.name.clone(), told_on.map_or(date, |told| told.max(date)));
        }
        record.keep_until = record.keep_until.max(at.now.plus(2 * DAY_MS));
    }
    let id = ready::id(at.tenant, at.person, &plan.name, &window.key, window.opening, 0);
    carry(record, plan, &sorted.carried, rest, told.then_some(id), at);
    if !told {
        return Vec::new();
    }
    let taken = sorted.told.iter().flatten().map(|(_, candidate)| candidate.key);
    window::owe(record, plan.channel, What::Taken(id), taken, at.now);
    vec![ready(id, plan, window, sorted, at)]
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
    window::open(record, plan, days, at);
}

fn ready(id: ReadyId, plan: &Plan, window: &Window, sorted: Sorted, at: &At<'_>) -> Ready {
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
    }
}
