//! All that is remembered of a person between two turns.
//!
//! The record is at most `limits::RECORD_BYTES_MAX` bytes: an open window holds days, counts and
//! instants; only a closing names keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    day_row::DayRow,
    entry::EntryKey,
    habit::VisitHabit,
    id::{PlanName, ReadyId},
    key_list::{self, DayKeyList, KeyList},
    limits::{CLOSING_BYTES_MAX, ID_BYTES_MAX, RECORD_BYTES_MAX, RECORD_KEYS_MAX, ROWS_STEP, TRACES_MAX},
    mark::{EndReason, Mark},
    plan::{Plan, PlanSet},
    ready::{Ready, ReadyEntry},
    time::{Day, UtcMillis},
    trace::EntryTraces,
};

pub use crate::{
    message_history::{MessageHistory, ToldClosing},
    notes, profile,
};

/// Bytes of a key of an entry, at most, when written: its instant and its event.
pub const KEY_BYTES: usize = 26;
/// Bytes of a mark beside the keys that it covers.
pub const MARK_BYTES: usize = 48;

/// Bytes of an open window beside its names and days.
const WINDOW_BYTES: usize = 96;
/// Bytes of a badge beside the name in it.
const BADGE_BYTES: usize = 40;
/// Bytes of what is remembered of a plan's messages, beside its names and instants.
const TOLD_BYTES: usize = 32;
/// Bytes of a Ready that waits, beside its names, days and entries.
const WAITING_BYTES: usize = 128;
/// Bytes of the name of a list.
const LIST_BYTES: usize = 26;
/// Bytes of a reason beside the names in it, with a score.
const REASON_BYTES: usize = 16;

/// What is remembered of one person.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PersonRecord {
    pub windows: Vec<Window>,
    /// Marks that a committed turn named and the store has not acknowledged.
    pub owed: Vec<OwedMark>,
    /// Readys that came back deferred and are issued again at their instant; each until it is reported for good.
    pub waiting: Vec<DeferredReady>,
    /// Windows opened in a later step have a later opening, so that no two windows of a plan are ever the same.
    pub last_opening: UtcMillis,
    /// Each plan's last closing by its calendar: a closing is told once under each key.
    pub told_on: BTreeMap<PlanName, ToldClosing>,
    /// What plans that look back on it told last, by their keys.
    pub told: Vec<MessageHistory>,
    /// When the last messages were that each cap counts, the last one last.
    pub counted: BTreeMap<Arc<str>, Vec<UtcMillis>>,
    /// When the person was last seen on each surface.
    pub seen: BTreeMap<Arc<str>, UtcMillis>,
    /// When the person comes, where a plan asks.
    pub habit: VisitHabit,
    /// By which plan their devices were told something last.
    pub badge: Option<PersonBadge>,
    /// The days of what the person put off, each with when the first of it comes back.
    pub put_off: BTreeMap<Day, UtcMillis>,
    /// Rows announced per day: a hint, counted high when announcements double.
    pub rows: BTreeMap<Day, u32>,
    /// Of which traces it is what may still be told; mostly of none. Nothing is decided by it, and it is not persisted.
    pub traces: EntryTraces,
    /// Until when `told_on`, `told` and `rows` matter; a record with nothing else is dropped then.
    pub keep_until: UtcMillis,
}

/// An open stretch of a person under a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    pub plan: PlanName,
    /// The plan's rules as they were when something was announced to it last.
    pub plan_hash: u64,
    pub key: Arc<str>,
    pub opening: UtcMillis,
    pub due: UtcMillis,
    /// What somebody did to it by hand: it closes now, whatever the clock says.
    pub act: Option<Act>,
    /// The Ready that it follows, where its plan follows another.
    pub after: Option<ReadyId>,
    /// What kept it from being told when it was due.
    pub held: Option<HoldCause>,
    /// Rows that were announced to it: a hint, counted high when announcements double.
    pub heard: u32,
    /// When the last of them was.
    pub last: UtcMillis,
    /// The hour that was best for the person as it opened, where the plan asks for that.
    pub hour: Option<u8>,
    /// The instant that it is about, as far as one knows: the first one that was announced.
    pub aim: Option<UtcMillis>,
    /// The entry that was told before the others, where the plan tells one so.
    pub first: Option<EntryKey>,
    /// The days that announcements named; a closing reads these and no others.
    pub days: BTreeSet<Day>,
}

/// A manual act on a window. If both come, the later variant here wins in any order: a cancelled window is not told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Act {
    /// It tells what it holds.
    Release,
    /// It tells nothing, and what it holds ends.
    Cancel,
}

/// What holds a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HoldCause {
    Online,
    Quiet,
    Cap,
}

impl HoldCause {
    pub const ALL: [Self; 3] = [Self::Online, Self::Quiet, Self::Cap];

    /// For operators.
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Quiet => "quiet",
            Self::Cap => "cap",
        }
    }

    /// The fate of what is held until it expires.
    pub fn end_reason(self) -> EndReason {
        match self {
            Self::Online => EndReason::SeesItself,
            Self::Quiet => EndReason::QuietHours,
            Self::Cap => EndReason::OverCap,
        }
    }
}

impl Window {
    /// A window that opens, with nothing in it.
    pub fn new(plan: PlanName, plan_hash: u64, key: Arc<str>, opening: UtcMillis) -> Self {
        Self {
            plan,
            plan_hash,
            key,
            opening,
            due: opening,
            act: None,
            after: None,
            held: None,
            heard: 0,
            last: opening,
            hour: None,
            aim: None,
            first: None,
            days: BTreeSet::new(),
        }
    }

    /// Whether it differs from what it was by no more than what was heard, which its plan does not count.
    fn differs_by_hints_only(&self, before: &Self, plan: Option<&Plan>) -> bool {
        if plan.is_none_or(|plan| plan.entries.is_some() || plan.rest.is_some()) {
            return self == before;
        }
        // All of it is named here, so that what is added is compared too.
        let Self { plan, plan_hash, key, opening, due, act, after, held, heard: _, last: _, .. } = self;
        let Self { hour, aim, first, days, .. } = self;
        (plan, plan_hash, key, opening) == (&before.plan, &before.plan_hash, &before.key, &before.opening)
            && (due, act, after, held) == (&before.due, &before.act, &before.after, &before.held)
            && (hour, aim, first, days) == (&before.hour, &before.aim, &before.first, &before.days)
    }

    /// Has it close then. Where its own time is still to come nothing holds it any more; where that has come, it stands
    /// for the date it was held on, and all that may hold it are asked again.
    pub fn close_at(&mut self, due: UtcMillis, now: UtcMillis) {
        self.due = due;
        self.held = self.held.filter(|_| due <= now);
    }

    /// Whether it waits for an instant that nothing which comes brings nearer. Who is here may leave before that, so while
    /// they are, it is asked again.
    pub fn is_kept(&self) -> bool {
        matches!(self.held, Some(HoldCause::Quiet | HoldCause::Cap)) && !self.is_acted_on()
    }

    /// Whether it closes now, whatever else would have it wait.
    pub fn is_acted_on(&self) -> bool {
        self.act.is_some()
    }
}

/// What is remembered of a person's badge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersonBadge {
    /// The plan whose push set it last; where no push has a number, the plan whose push was the last.
    pub plan: PlanName,
    /// When a push without words goes out, if the number is not right any more, or something was revoked.
    pub due: Option<UtcMillis>,
}

/// A mark that is owed to a day in the store.
#[derive(Clone, PartialEq, Debug)]
pub struct OwedMark {
    pub day: Day,
    pub mark: Mark,
}

/// A deferred Ready.
#[derive(Clone, PartialEq, Debug)]
pub struct DeferredReady {
    /// When it is issued again; from then on, until it is reported, when it expires.
    pub at: UtcMillis,
    pub ready: Ready,
}

impl DeferredReady {
    /// Whether it was issued again, and is on its way.
    pub fn is_issued(&self) -> bool {
        self.at >= self.ready.expires
    }

    /// When it is issued again; `None` if it was, and is tried now.
    pub fn next_try(&self) -> Option<UtcMillis> {
        (!self.is_issued()).then_some(self.at)
    }
}

/// How many bytes a window takes at most when written.
pub fn window_bytes(plan: &PlanName, key: &str, days: usize) -> usize {
    WINDOW_BYTES + plan.as_str().len() + key.len() + 5 * days
}

impl PersonRecord {
    /// Whether nothing is left to remember at `now`, so that the record can go.
    pub fn is_spent(&self, now: UtcMillis) -> bool {
        let is_due = self.badge.as_ref().is_some_and(|badge| badge.due.is_some());
        self.windows.is_empty()
            && self.owed.is_empty()
            && self.waiting.is_empty()
            && self.put_off.is_empty()
            && !is_due
            && now >= self.keep_until
    }

    /// The next instant at which this record wants a turn of its own.
    pub fn next_due(&self) -> Option<UtcMillis> {
        self.next_due_of(|_| true)
    }

    /// The same, where some windows may not close now.
    pub fn next_due_of(&self, may_close: impl Fn(&Window) -> bool) -> Option<UtcMillis> {
        let windows = self.windows.iter().filter(|window| may_close(window)).map(|window| window.due);
        let waiting = self.waiting.iter().map(|waiting| waiting.at);
        let badge = self.badge.iter().filter_map(|badge| badge.due);
        let back = self.put_off.values().copied();
        let next = windows.chain(waiting).chain(badge).chain(back).min();
        // Nothing open: wake once more, to be forgotten.
        let is_spent = self.windows.is_empty() && self.owed.is_empty() && self.keep_until > UtcMillis(0);
        next.or_else(|| is_spent.then_some(self.keep_until))
    }

    /// Whether it differs from what it was by no more than hints: how much was heard lately, and how many rows a day has,
    /// but for each hundredth. They need not be kept where a crash may lose them, and so an announcement to a window
    /// that is open costs no record.
    pub fn differs_by_hints_only(&self, before: &Self, plans: &PlanSet) -> bool {
        let Self { windows, owed, waiting, last_opening, told_on, told, .. } = self;
        let Self { counted, seen, habit, badge, put_off, rows, keep_until, .. } = self;
        let steps = |rows: &BTreeMap<Day, u32>| -> Vec<(Day, u32)> {
            rows.iter().map(|(day, rows)| (*day, rows / ROWS_STEP)).collect()
        };
        let was = |window: &Window| {
            before
                .windows
                .iter()
                .any(|before| window.differs_by_hints_only(before, plans.by_name.get(&window.plan)))
        };
        windows.len() == before.windows.len()
            && windows.iter().all(was)
            && (owed, waiting, last_opening) == (&before.owed, &before.waiting, &before.last_opening)
            && (told_on, told, counted) == (&before.told_on, &before.told, &before.counted)
            && (seen, habit, badge) == (&before.seen, &before.habit, &before.badge)
            && put_off == &before.put_off
            && keep_until == &before.keep_until
            && steps(rows) == steps(&before.rows)
    }

    /// How many bytes this takes at most when written; the record's limit is kept by this.
    pub fn weight(&self) -> usize {
        let keys: usize = self.owed.iter().map(|owed| owed.mark.covers.len()).sum();
        // As they are written: none names more than a list.
        let named = if keys > RECORD_KEYS_MAX { self.owed.len() } else { keys };
        let lists = self.owed.iter().filter(|owed| owed.mark.list.is_some()).count();
        self.lasting_weight() + MARK_BYTES * self.owed.len() + KEY_BYTES * (named + lists)
    }

    /// Has marks that cover much name lists. Those lists are to be written before this record.
    pub fn list_owed_keys(&mut self) -> Vec<(DayKeyList, KeyList)> {
        if self.owed_keys().count() <= RECORD_KEYS_MAX {
            return Vec::new();
        }
        let mut lists = Vec::new();
        for owed in self.owed.iter_mut().filter(|owed| owed.mark.covers.len() > 1) {
            // A mark covers no more than one list holds.
            if let Some((named, list)) = key_list::cut_lists(&owed.mark.covers).pop() {
                (owed.mark.covers, owed.mark.list) = (Vec::new(), Some(named.id));
                lists.push((named, list));
            }
        }
        lists
    }

    /// Whether so much more has room beside all that lasts, and beside what a closing adds.
    pub fn has_room_for(&self, more: usize) -> bool {
        self.lasting_weight() + more + CLOSING_BYTES_MAX <= RECORD_BYTES_MAX
    }

    /// The part of it that no store takes off it.
    fn lasting_weight(&self) -> usize {
        let names = 2 * (ID_BYTES_MAX + 3) + 64;
        let windows = self.windows.iter().map(|w| window_bytes(&w.plan, &w.key, w.days.len()));
        let dates = self.told_on.iter().map(|(plan, told)| 16 + plan.as_str().len() + 10 * told.keys.len());
        let told =
            self.told.iter().map(|t| TOLD_BYTES + t.plan.as_str().len() + t.key.len() + 9 * t.at.len());
        let counted = self.counted.iter().map(|(cap, at)| 5 + cap.len() + 10 * at.len());
        let seen = self.seen.keys().map(|surface| 12 + surface.len());
        let badge = self.badge.iter().map(|badge| BADGE_BYTES + badge.plan.as_str().len());
        names
            + windows.sum::<usize>()
            + dates.sum::<usize>()
            + told.sum::<usize>()
            + counted.sum::<usize>()
            + seen.sum::<usize>()
            + badge.sum::<usize>()
            + 3 * self.habit.visits().len()
            + 15 * self.put_off.len()
            + self.waiting_weight()
            + 10 * self.rows.len()
    }

    /// The part of it that Readys which wait for another attempt take.
    pub fn waiting_weight(&self) -> usize {
        let entry = |entry: &ReadyEntry| {
            let reasons = entry
                .reasons
                .iter()
                .map(|r| REASON_BYTES + r.kind.as_str().len() + r.because.to_string().len());
            let others = KEY_BYTES * entry.named_others().len() + LIST_BYTES * entry.lists.len();
            KEY_BYTES + 16 + entry.subject.as_str().len() + reasons.sum::<usize>() + others
        };
        let one = |waiting: &DeferredReady| {
            let entries = waiting.ready.entries.iter().map(entry);
            let Ready { tenant, person, plan, key, .. } = &waiting.ready;
            let names = tenant.as_str().len() + person.as_str().len() + plan.as_str().len() + key.len();
            names + WAITING_BYTES + entries.sum::<usize>()
        };
        self.waiting.iter().map(one).sum()
    }

    /// The marks owed, as rows: whoever folds a day for a decision folds these in as if written.
    pub fn owed_rows(&self) -> impl Iterator<Item = DayRow> {
        self.owed.iter().map(|owed| DayRow::Mark(owed.mark.clone()))
    }

    /// Remembers of which traces it is what was announced. The latest stay.
    pub fn add_traces(&mut self, of: &EntryTraces) {
        self.traces.extend(of);
        while self.traces.len() > TRACES_MAX {
            self.traces.pop_first();
        }
    }

    /// Forgets what nothing that is open, or waits, can still tell.
    pub fn drop_old_traces(&mut self) {
        if self.traces.is_empty() {
            return;
        }
        let (windows, waiting) = (&self.windows, &self.waiting);
        let gathers = |window: &Window, key: EntryKey| window.days.contains(&key.day());
        self.traces.retain(|key, _| {
            windows.iter().any(|window| gathers(window, *key))
                || waiting.iter().any(|one| one.ready.keys().any(|told| told == *key))
        });
    }

    /// Keys that owed marks name.
    pub fn owed_keys(&self) -> impl Iterator<Item = EntryKey> {
        self.owed.iter().flat_map(|owed| owed.mark.covers.iter().copied())
    }
}
