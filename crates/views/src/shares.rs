//! What share was told: for each day how many entries there are and what became of them, on each channel and by kind.
//!
//! The numbers are those of the rows, which alone say what became of an entry; nothing is counted on the way. [`count`] reads
//! the rows, in pieces where there are many, and pieces add up. [`due_windows`] says how many windows are due now, and soon.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::Catalogue;
use model::{Day, EntryView, Fate, Person};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::days;

pub mod count;
pub mod due_windows;

#[cfg(test)]
mod tests;

use due_windows::DueWindows;

/// How many days back is looked where nobody says.
pub const DAYS_BACK: i32 = 7;

/// What was counted.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ToldShares {
    /// The first day that was asked for, and the last.
    pub since: String,
    pub until: String,
    /// Rows that were looked at.
    pub rows: u64,
    /// The day in which the count ended, as there are more rows than one count looks at: of that day and of those before it
    /// there is more than is said here. `None` if all was counted.
    pub cut: Option<String>,
    /// Where another count goes on; what it says adds to this.
    pub next: Option<String>,
    /// Of all days.
    pub total: ShareTally,
    /// Newest first; one without entries is there too.
    pub days: Vec<DayShares>,
    /// The windows that are due, now and soon; a count that goes on does not say it again.
    pub due: Option<DueWindows>,
}

#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DayShares {
    /// By UTC.
    pub day: String,
    #[serde(flatten)]
    pub tally: ShareTally,
}

/// Entries, and what became of them.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ShareTally {
    #[serde(flatten)]
    pub share: EntryShare,
    /// An entry counts on each channel on which its kinds are told.
    pub channels: BTreeMap<String, FateCounts>,
    /// An entry of several kinds counts under each.
    pub kinds: BTreeMap<String, EntryShare>,
    /// While a canary is on trial: of the persons who have it, and of all others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arms: BTreeMap<String, EntryShare>,
}

/// What became of entries on any channel: each is told, waits or has ended.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct EntryShare {
    pub entries: u64,
    /// On one channel at least.
    pub told: u64,
    /// Told nowhere, but waiting on one channel at least.
    pub waiting: u64,
    pub ended: u64,
    /// The share told, with one decimal; `None` of no entries.
    /// Of what is settled: what waits may still be told.
    pub told_percent: Option<f64>,
}

/// What became of entries on one channel: the numbers and those of `ended` add up to `entries`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FateCounts {
    pub entries: u64,
    pub told: u64,
    /// Read before it was told.
    pub read: u64,
    pub cleared: u64,
    /// Waiting, and left over by a message already.
    pub carried: u64,
    pub waiting: u64,
    /// By the reason.
    pub ended: BTreeMap<String, u64>,
}

/// The best that became of an entry anywhere; in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BestFate {
    Ended,
    Waiting,
    Told,
}

impl ToldShares {
    /// Nothing counted yet, of days from one to another.
    pub fn new(since: Day, until: Day) -> Self {
        let (since, until) = (since.to_string(), until.to_string());
        let total = ShareTally::default();
        Self { since, until, rows: 0, cut: None, next: None, total, days: Vec::new(), due: None }
    }

    /// Says that a day is looked at, whether or not it has entries.
    fn begin(&mut self, day: Day) {
        let day = day.to_string();
        if self.days.last().is_none_or(|last| last.day != day) {
            self.days.push(DayShares { day, tally: ShareTally::default() });
        }
    }

    /// Counts an entry of the day that was begun last.
    fn add(&mut self, view: &EntryView, person: &Person, catalogue: &Catalogue) {
        self.total.add(view, person, catalogue);
        if let Some(day) = self.days.last_mut() {
            day.tally.add(view, person, catalogue);
        }
    }

    /// Adds what was counted from where this ended.
    pub fn join(&mut self, more: Self) {
        let Self { since, until: _, rows, cut, next, total, days, due: _ } = more;
        // The oldest day may have expired meanwhile.
        (self.since, self.cut, self.next) = (since, cut, next);
        self.rows += rows;
        self.total.join(total);
        for day in days {
            match self.days.last_mut().filter(|last| last.day == day.day) {
                Some(last) => last.tally.join(day.tally),
                None => self.days.push(day),
            }
        }
    }
}

impl ShareTally {
    fn add(&mut self, view: &EntryView, person: &Person, catalogue: &Catalogue) {
        let mut best = None;
        for channel in days::channels(view, Some(catalogue.for_person(person))) {
            let fate = view.fate(channel);
            self.channels.entry(channel.to_string()).or_default().add(fate);
            best = best.max(Some(BestFate::from_fate(fate)));
        }
        // Where nobody knows a channel, nothing can have become of it.
        let best = best.unwrap_or(BestFate::Waiting);
        self.share.add(best);
        let kinds: BTreeSet<&str> = view.reasons.iter().map(|reason| reason.kind.as_str()).collect();
        for kind in kinds {
            self.kinds.entry(kind.to_owned()).or_default().add(best);
        }
        if catalogue.canary.is_some() {
            self.arms.entry(catalogue.arm_of(person).name().to_owned()).or_default().add(best);
        }
    }

    fn join(&mut self, more: Self) {
        let Self { share, channels, kinds, arms } = more;
        self.share.join(&share);
        for (channel, fates) in channels {
            self.channels.entry(channel).or_default().join(fates);
        }
        for (kind, share) in kinds {
            self.kinds.entry(kind).or_default().join(&share);
        }
        for (arm, share) in arms {
            self.arms.entry(arm).or_default().join(&share);
        }
    }
}

impl EntryShare {
    fn add(&mut self, became: BestFate) {
        self.entries += 1;
        let one = match became {
            BestFate::Told => &mut self.told,
            BestFate::Waiting => &mut self.waiting,
            BestFate::Ended => &mut self.ended,
        };
        *one += 1;
        self.told_percent = percent(self.told, self.told.saturating_add(self.ended));
    }

    fn join(&mut self, more: &Self) {
        self.entries += more.entries;
        self.told += more.told;
        self.waiting += more.waiting;
        self.ended += more.ended;
        self.told_percent = percent(self.told, self.told.saturating_add(self.ended));
    }
}

impl FateCounts {
    fn add(&mut self, fate: Fate) {
        self.entries += 1;
        let one = match fate {
            Fate::Told { .. } => &mut self.told,
            Fate::Read => &mut self.read,
            Fate::Cleared => &mut self.cleared,
            Fate::Waiting { carried: true } => &mut self.carried,
            Fate::Waiting { carried: false } | Fate::PutOff => &mut self.waiting,
            Fate::Ended(why) => self.ended.entry(why.text().to_owned()).or_default(),
        };
        *one += 1;
    }

    fn join(&mut self, more: Self) {
        let Self { entries, told, read, cleared, carried, waiting, ended } = more;
        self.entries += entries;
        self.told += told;
        self.read += read;
        self.cleared += cleared;
        self.carried += carried;
        self.waiting += waiting;
        for (why, count) in ended {
            *self.ended.entry(why).or_default() += count;
        }
    }
}

impl BestFate {
    fn from_fate(fate: Fate) -> Self {
        match fate {
            Fate::Told { .. } => Self::Told,
            Fate::Waiting { .. } | Fate::PutOff => Self::Waiting,
            Fate::Read | Fate::Cleared | Fate::Ended(_) => Self::Ended,
        }
    }
}

/// A share in percent, to one decimal. All and nothing are said only of all and nothing.
fn percent(part: u64, of: u64) -> Option<f64> {
    if of == 0 {
        return None;
    }
    let tenths = part.saturating_mul(1_000).saturating_add(of / 2) / of;
    let tenths = match part {
        0 => 0,
        part if part >= of => 1_000,
        _ => tenths.clamp(1, 999),
    };
    Some(f64::from(u32::try_from(tenths).unwrap_or(1_000)) / 10.0)
}
