//! The rules by which a channel holds and releases entries: what the catalogue's `plans:` mean.

use std::collections::BTreeMap;

use crate::{
    id::{Kind, PlanName},
    mark::Channel,
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
    /// At a local time each day.
    Daily { at: LocalTime, zone: ZoneRule, spread_ms: i64 },
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

/// What is said only once in a digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OncePer {
    Event,
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
}
