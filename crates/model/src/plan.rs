//! The rules by which a channel holds and releases entries: what the catalogue's `plans:` mean.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    closing_dates::ClosingDates,
    day_life::DayLife,
    entry::EntryReason,
    id::{Kind, PlanName, Tenant},
    limits::{DAY_MS, LAST_CALL_MS, LAST_MS},
    mark::Channel,
    time::{Day, UtcMillis},
};

pub use crate::local_time::{LocalHours, LocalTime, WeekdaySet};

/// The stream of a plan that names none.
pub const GENERAL: &str = "general";

/// One plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    pub name: PlanName,
    /// A hash of the rules; a window names it.
    pub hash: u64,
    pub channel: Channel,
    /// The stream for which a complaint about its mails holds.
    pub stream: Arc<str>,
    /// One window a person for each of these; without any there is one window.
    pub key: Vec<KeyPart>,
    pub close: CloseRule,
    /// So many entries close a window before its time.
    pub entries: Option<u16>,
    pub first: FirstRule,
    /// Messages that need not wait, where little was told lately.
    pub alone: Option<AloneRule>,
    pub rest: Option<RestRule>,
    /// When one of its windows is told, all are.
    pub together: bool,
    /// Windows open when this other plan has told, and not when something comes.
    pub follows: Option<EscalationRule>,
    /// Channels on which what was told here counts as told too.
    pub counts_on: Vec<Channel>,
    /// Nothing holds what is urgent.
    pub urgent: bool,
    pub online: Option<OnlineRule>,
    /// Its pushes carry the number of what they told and nobody has seen.
    pub badge: bool,
    /// Unless the person has hours of their own.
    pub quiet: Option<QuietRule>,
    /// Days back that a digest reads, its own day not counted.
    pub look_back_days: u16,
    /// Of all days, in this house. It is at least two days longer than the look-back.
    pub day_life: DayLife,
    /// With fewer than so many there is no message.
    pub at_least: u16,
    pub below: TooFewRule,
    pub once_per: OncePer,
    pub sections: Vec<PlanSection>,
}

/// When a window closes.
#[derive(Clone, PartialEq, Debug)]
pub enum CloseRule {
    /// At local times of some dates.
    Calendar {
        dates: ClosingDates,
        /// In order, none of them twice; one at least.
        times: Vec<LocalTime>,
        zone: ZoneRule,
        spread_ms: i64,
        /// Of these hours the one in which the person comes most, if one knows them.
        best: Option<LocalHours>,
    },
    /// So long after it opened.
    After { ms: i64 },
    /// When nothing came for so long, but at most so long after it opened.
    Silence { ms: i64, most_ms: i64 },
    /// So long before the instant that a field of the subject names; at once where that has passed.
    Before { field: String, ms: i64 },
    /// So long after the person was last seen anywhere; at once if they never were.
    Away { ms: i64 },
}

/// What windows of one plan are told apart by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyPart {
    Kind,
    Subject,
    Actor,
    /// A field of the subject.
    Field(String),
}

/// What becomes of the first entry of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FirstRule {
    /// It is told with the others.
    #[default]
    Gathered,
    /// It is told at once, and the others when the window closes.
    Alone,
    /// It is told at once, and again with the others.
    Both,
}

/// A window closes as it opens if fewer messages than `most` were told within the time before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AloneRule {
    pub most: u8,
    pub within_ms: i64,
}

/// How long it is quiet after a message: what opens meanwhile closes when the rest is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RestRule {
    /// After the first message in a row.
    pub start_ms: i64,
    /// After each further one so many times longer.
    pub factor: u16,
    pub most_ms: i64,
    /// Each entry that is gathered meanwhile makes it so much longer.
    pub each_ms: i64,
    /// The row begins anew after so long without an entry.
    pub reset_ms: i64,
}

/// Escalation: what some plans told and nobody came for, another tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EscalationRule {
    /// One at least.
    pub plans: Vec<PlanName>,
    /// From the report that it was delivered; if it was not, at once.
    pub wait_ms: i64,
}

/// The rule of a plan while the person is online.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnlineRule {
    /// It waits until they have left.
    Hold,
    /// It looks again after a while.
    Postpone { ms: i64 },
    /// It tells nothing of it.
    End,
}

/// Where a person may be seen, and for how long they count as being there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnlineSurface {
    pub name: Arc<str>,
    pub online_ms: i64,
    /// Whether somebody who holds live connections is asked before one believes it.
    pub asks_live: bool,
}

/// Hours in which nobody is disturbed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuietRule {
    pub hours: LocalHours,
    pub zone: ZoneRule,
    pub then: QuietAction,
}

/// What quiet hours do to what is due in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuietAction {
    Hold,
    /// It is told without a sound.
    Silent,
    End,
}

/// So many messages and no more; what is over waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageCap {
    pub name: Arc<str>,
    pub most: u8,
    pub per: CapPeriod,
    /// Counted on this channel, or on all.
    pub channel: Option<Channel>,
    /// Counted where a plan tells one of these kinds, or any.
    pub kinds: Vec<Kind>,
    /// Counted for persons of these tenants, or of all.
    pub tenants: Vec<Tenant>,
}

/// The stretch of time for which a cap counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CapPeriod {
    /// A date on somebody's calendar.
    Day(ZoneRule),
    Rolling {
        ms: i64,
    },
}

impl CapPeriod {
    /// For how long a message counts, at most.
    pub fn length_ms(&self) -> i64 {
        match self {
            Self::Day(_) => 2 * DAY_MS,
            Self::Rolling { ms } => *ms,
        }
    }
}

/// What becomes of entries that are too few for a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TooFewRule {
    /// They wait for the next closing.
    #[default]
    Carried,
    /// They are not told on this channel.
    Ended,
}

impl RestRule {
    /// The rest after so many messages in a row, with nothing gathered.
    pub fn rest_after(&self, row: u8) -> i64 {
        let times = (1..row).fold(1_i64, |times, _| times.saturating_mul(i64::from(self.factor)));
        self.start_ms.saturating_mul(times).min(self.most_ms)
    }
}

impl CloseRule {
    /// Whether windows close at times of day.
    pub fn is_calendar(&self) -> bool {
        matches!(self, Self::Calendar { .. })
    }
}

/// The zone of a local time.
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
pub struct PlanSection {
    pub title: String,
    pub kinds: Vec<Kind>,
    pub most: u16,
    pub order: SectionOrder,
    /// The field of its subjects by which what it tells stands together under one head.
    pub group: Option<String>,
}

/// How entries of a section are ranked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SectionOrder {
    Newest,
    Oldest,
    /// By the priority of its kind, the smallest number first.
    Priority,
    /// The newest first, but no two of one subject or of one actor beside each other while there are others.
    Diverse,
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
pub struct PlanSet {
    pub by_name: BTreeMap<PlanName, Plan>,
    pub surfaces: Vec<OnlineSurface>,
    pub caps: Vec<MessageCap>,
}

impl PlanSet {
    /// The plans at the beginning of those that follow each other, which kinds name; of one that follows none it is
    /// itself.
    pub fn leading_plans<'a>(&'a self, plan: &'a Plan) -> Vec<&'a Plan> {
        let mut firsts = vec![plan];
        // A circle is a slip that no catalogue is loaded with; this ends all the same.
        for _ in 0..self.by_name.len() {
            if firsts.iter().all(|first| first.follows.is_none()) {
                break;
            }
            let before = |plan: &'a Plan| match &plan.follows {
                Some(follows) => follows.plans.iter().filter_map(|name| self.by_name.get(name)).collect(),
                None => vec![plan],
            };
            firsts = firsts.into_iter().flat_map(before).collect();
        }
        firsts
    }

    /// Of each channel one plan whose windows open of their own accord, where it has any; another one's end with these.
    pub fn one_per_channel(&self) -> impl Iterator<Item = &Plan> {
        let of_channel = |channel| {
            self.by_name.values().find(move |plan: &&Plan| plan.channel == channel && plan.follows.is_none())
        };
        Channel::ALL.into_iter().filter_map(of_channel)
    }

    /// Whether a plan asks when somebody comes.
    pub fn ask_habits(&self) -> bool {
        let asks = |plan: &Plan| matches!(plan.close, CloseRule::Calendar { best: Some(_), .. });
        self.by_name.values().any(asks)
    }

    /// Whether a plan's pushes carry a number.
    pub fn have_badges(&self) -> bool {
        self.by_name.values().any(|plan| plan.badge)
    }

    /// Whether a plan has pushes.
    pub fn have_pushes(&self) -> bool {
        self.by_name.values().any(|plan| plan.channel == Channel::Push)
    }

    /// The longest absence that a plan waits for.
    pub fn away_ms(&self) -> i64 {
        let away = |plan: &Plan| if let CloseRule::Away { ms } = plan.close { ms } else { 0 };
        self.by_name.values().map(away).max().unwrap_or(0)
    }
}

impl Plan {
    /// A plan of which nothing is said beside this: it tells no kind yet.
    pub fn new(name: PlanName, channel: Channel, close: CloseRule) -> Self {
        Self {
            name,
            hash: 0,
            channel,
            stream: GENERAL.into(),
            key: Vec::new(),
            close,
            entries: None,
            first: FirstRule::Gathered,
            alone: None,
            rest: None,
            together: false,
            follows: None,
            counts_on: Vec::new(),
            urgent: false,
            online: None,
            badge: false,
            quiet: None,
            look_back_days: 7,
            day_life: DayLife::default(),
            at_least: 1,
            below: TooFewRule::Carried,
            once_per: OncePer::Event,
            sections: Vec::new(),
        }
    }

    /// Whether it gathers, as whoever wants a digest has it: for an hour or more.
    pub fn gathers(&self) -> bool {
        let gathers = match &self.close {
            CloseRule::Calendar { .. } | CloseRule::Away { .. } => true,
            CloseRule::After { ms } | CloseRule::Silence { most_ms: ms, .. } => *ms >= crate::limits::HOUR_MS,
            CloseRule::Before { .. } => false,
        };
        gathers && !self.urgent
    }

    /// For how long after a message it matters when that was.
    pub fn memory_ms(&self) -> i64 {
        let alone = self.alone.map_or(0, |alone| alone.within_ms);
        self.rest.map_or(alone, |rest| alone.max(rest.most_ms.saturating_add(rest.reset_ms)))
    }

    /// The first section that tells this kind.
    pub fn section_of(&self, kind: &Kind) -> Option<usize> {
        self.sections.iter().position(|section| section.kinds.contains(kind))
    }

    /// The best section that tells one of these reasons, and the kind in whose words.
    pub fn told_kind<'r>(&self, reasons: &'r [EntryReason]) -> Option<(usize, &'r Kind)> {
        let placed = reasons.iter().filter_map(|reason| Some((self.section_of(&reason.kind)?, &reason.kind)));
        placed.min_by_key(|(section, _)| *section)
    }

    /// Whether it follows another.
    pub fn is_after(&self, other: &Self) -> bool {
        self.follows.as_ref().is_some_and(|follows| follows.plans.contains(&other.name))
    }

    /// Whether both tell some kind.
    pub fn shares_kinds(&self, other: &Self) -> bool {
        other.sections.iter().flat_map(|section| &section.kinds).any(|kind| self.section_of(kind).is_some())
    }

    /// The first day that a closing at this instant looks back on; what is older has expired.
    pub fn oldest_day(&self, due: UtcMillis) -> Day {
        Day::from_instant(due).plus(-i32::from(self.look_back_days))
    }

    /// From here on nothing of a day is told: the plan looks back no further, or the day is about to expire.
    pub fn end_of(&self, day: Day) -> UtcMillis {
        let looked_back = day.plus(i32::from(self.look_back_days) + 1).start();
        looked_back.min(self.day_life.expiry(day).plus(-LAST_MS))
    }

    /// When what waits in a day is told at the latest, if it may be told at all. A calendar has its own times and no
    /// other: what is left after these ends.
    pub fn last_call(&self, day: Day) -> UtcMillis {
        let before_ms = if self.close.is_calendar() && self.follows.is_none() { 0 } else { LAST_MS };
        self.end_of(day).plus(-before_ms).min(self.day_life.expiry(day).plus(-LAST_CALL_MS))
    }
}
