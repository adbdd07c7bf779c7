//! The rules by which a channel holds and releases entries: what the catalogue's `plans:` mean.

use std::collections::BTreeMap;

use crate::{
    id::{Kind, PlanName},
    mark::Channel,
    time::{Day, Millis},
};

/// One plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    pub name: PlanName,
    /// A hash of the rules; a window names it.
    pub hash: u64,
    pub channel: Channel,
    pub close: Close,
    /// Days back that a digest reads, its own day not counted.
    pub look_back_days: u16,
    /// With fewer than so many the window waits for the next closing.
    pub at_least: u16,
    pub once_per: OncePer,
    pub sections: Vec<Section>,
}

/// When a window closes.
#[derive(Clone, PartialEq, Debug)]
pub enum Close {
    /// At a local time on some days of the week.
    Calendar { at: LocalTime, on: Weekdays, zone: ZoneRule, spread_ms: i64 },
    /// So long after it opened.
    After { ms: i64 },
}

/// Days of a week, Monday first; never none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weekdays(u8);

impl Weekdays {
    pub const ALL: Self = Self(0x7f);
    /// Their names, as a catalogue writes them.
    pub const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

    /// From places within the week, Monday being 0; `None` if there is none, or one that no week has.
    pub fn new(days: impl IntoIterator<Item = usize>) -> Option<Self> {
        let mut bits = 0;
        for day in days {
            bits |= 1_u8.checked_shl(u32::try_from(day).ok()?).filter(|_| day < 7)?;
        }
        (bits != 0).then_some(Self(bits))
    }

    /// Whether the day at this place is one of them.
    pub fn has(self, day: usize) -> bool {
        day < 7 && self.0 & (1 << day) != 0
    }
}

/// A time on the wall.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LocalTime {
    pub hour: u8,
    pub minute: u8,
}

/// Whose wall.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ZoneRule {
    /// The person's own zone; UTC for who has none.
    Person,
    /// One IANA zone for all.
    Fixed(String),
}

/// What is said only once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OncePer {
    Event,
    /// A subject once in a message, whatever kinds tell it; again in a later one.
    Mail,
    /// A subject once within the look-back, across kinds, days and messages.
    Subject,
}

/// A part of a message with its own kinds and budget.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    pub title: String,
    pub kinds: Vec<Kind>,
    pub most: u16,
    pub order: Order,
}

/// How entries of a section are ranked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    Newest,
    Oldest,
    /// By a field of the subject that is a time, earliest first.
    Soonest(String),
    /// By a field of the subject that is a number, greatest first.
    Best(String),
    /// By the score with which the person was listed, greatest first.
    Score,
    /// By how far a field of the subject that is a place is from the person.
    Nearest(String),
}

/// All plans, by name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plans {
    pub by_name: BTreeMap<PlanName, Plan>,
}

impl Plan {
    /// The first section that tells this kind.
    pub fn section_of(&self, kind: &Kind) -> Option<usize> {
        self.sections.iter().position(|section| section.kinds.contains(kind))
    }

    /// The first day that a closing at this instant looks back on; what is older has expired.
    pub fn oldest(&self, due: Millis) -> Day {
        Day::of(due).plus(-i32::from(self.look_back_days))
    }
}
