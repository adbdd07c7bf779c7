//! `window`: all that is remembered of one person, on the compacted topic `windows`.

mod quick;

use std::sync::LazyLock;

use model::{
    Day, Millis, Person, PlanName, ReadyId, Tenant,
    badge::Badge,
    habit::Habit,
    hold::Held,
    person::{Act, Owed, PersonRecord, Told, ToldDate, Waiting, Window},
};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Fixed,
    codec::{Codec, Undecodable, WireError},
    list,
    mark::MarkDto,
    parts::{EntryKeyDto, Text, entry_key, ready_id, twins},
    ready::{ReadyDto, UnseenDto},
};

pub(crate) static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("window", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 5] = [
    include_str!("../../../schemas/window.avsc"),
    include_str!("../../../schemas/old/window.4.avsc"),
    include_str!("../../../schemas/old/window.3.avsc"),
    include_str!("../../../schemas/old/window.2.avsc"),
    include_str!("../../../schemas/old/window.1.avsc"),
];

#[derive(Serialize, Deserialize)]
#[serde(rename = "window")]
pub(crate) struct WindowDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    #[serde(with = "list")]
    windows: Vec<OpenDto<'a>>,
    #[serde(with = "list")]
    owed: Vec<OwedDto>,
    #[serde(with = "list")]
    waiting: Vec<WaitingDto<'a>>,
    last_opening: i64,
    #[serde(with = "list")]
    told_on: Vec<DateDto<'a>>,
    #[serde(with = "list")]
    told: Vec<ToldDto<'a>>,
    #[serde(with = "list")]
    counted: Vec<CountedDto<'a>>,
    #[serde(with = "list")]
    seen: Vec<SeenDto<'a>>,
    #[serde(with = "list")]
    habit: Vec<VisitsDto>,
    badge: Option<BadgeDto<'a>>,
    #[serde(with = "list")]
    rows: Vec<RowsDto>,
    keep_until: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "open_window")]
struct OpenDto<'a> {
    plan: Text<'a>,
    /// The same 64 bits; Avro has no unsigned number.
    plan_hash: i64,
    key: Text<'a>,
    opening: i64,
    due: i64,
    released: bool,
    cancelled: bool,
    after: Option<Fixed<16>>,
    held: Option<HeldDto>,
    heard: u32,
    /// None is the opening: so it is small where nothing came since, and what was written before it was there
    /// has an instant.
    last: Option<i64>,
    hour: Option<u8>,
    aim: Option<i64>,
    first: Option<EntryKeyDto>,
    #[serde(with = "list")]
    days: Vec<i32>,
}

twins!(HeldDto = Held as "held": Online, Quiet, Cap);

#[derive(Serialize, Deserialize)]
#[serde(rename = "visits")]
struct VisitsDto {
    hour: u8,
    count: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "badge")]
struct BadgeDto<'a> {
    plan: Text<'a>,
    unseen: UnseenDto,
    told: i64,
    due: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "owed")]
struct OwedDto {
    day: i32,
    mark: MarkDto,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "waiting")]
struct WaitingDto<'a> {
    at: i64,
    ready: ReadyDto<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "told")]
struct DateDto<'a> {
    plan: Text<'a>,
    date: i32,
    #[serde(with = "list")]
    keys: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "last_told")]
struct ToldDto<'a> {
    plan: Text<'a>,
    key: Text<'a>,
    #[serde(with = "list")]
    at: Vec<i64>,
    heard: i64,
    row: u8,
    until: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "counted")]
struct CountedDto<'a> {
    cap: Text<'a>,
    #[serde(with = "list")]
    at: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "last_seen")]
struct SeenDto<'a> {
    surface: Text<'a>,
    at: i64,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename = "day_rows")]
struct RowsDto {
    day: i32,
    rows: u32,
}

pub fn encode(tenant: &Tenant, person: &Person, record: &PersonRecord) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&WindowDto::of(tenant, person, record))
}

pub fn decode(bytes: &[u8]) -> Result<(Tenant, Person, PersonRecord), Undecodable> {
    decode_usual(bytes).map_or_else(|| decode_any(bytes), Ok)
}

/// Without the library, if it is a usual one.
pub(crate) fn decode_usual(bytes: &[u8]) -> Option<(Tenant, Person, PersonRecord)> {
    quick::read(bytes, CODEC.header().ok()?)
}

/// By the library alone.
pub(crate) fn decode_any(bytes: &[u8]) -> Result<(Tenant, Person, PersonRecord), Undecodable> {
    CODEC.decode::<WindowDto<'_>>(bytes)?.model()
}

impl<'a> WindowDto<'a> {
    pub(crate) fn of(tenant: &'a Tenant, person: &'a Person, record: &'a PersonRecord) -> Self {
        let (dates, rows) = (record.told_on.iter(), record.rows.iter());
        let (counted, seen) = (record.counted.iter(), record.seen.iter());
        Self {
            tenant: tenant.as_str().into(),
            person: person.as_str().into(),
            windows: record.windows.iter().map(OpenDto::of).collect(),
            owed: record.owed.iter().map(OwedDto::of).collect(),
            waiting: record.waiting.iter().map(WaitingDto::of).collect(),
            last_opening: record.last_opening.0,
            told_on: dates.map(|(plan, told)| DateDto::of(plan, told)).collect(),
            told: record.told.iter().map(ToldDto::of).collect(),
            counted: counted
                .map(|(cap, at)| CountedDto { cap: Text::Borrowed(cap), at: numbers(at) })
                .collect(),
            seen: seen.map(|(surface, at)| SeenDto { surface: Text::Borrowed(surface), at: at.0 }).collect(),
            habit: record.habit.visits().map(|(hour, count)| VisitsDto { hour, count }).collect(),
            badge: record.badge.as_ref().map(BadgeDto::of),
            rows: rows.map(|(day, rows)| RowsDto { day: day.0, rows: *rows }).collect(),
            keep_until: record.keep_until.0,
        }
    }

    fn model(self) -> Result<(Tenant, Person, PersonRecord), Undecodable> {
        let dates = self.told_on.iter().map(DateDto::model);
        let counted = self.counted.iter().map(|counted| (counted.cap.as_ref().into(), instants(&counted.at)));
        let seen = self.seen.iter().map(|seen| (seen.surface.as_ref().into(), Millis(seen.at)));
        let record = PersonRecord {
            windows: self.windows.iter().map(OpenDto::model).collect::<Result<_, _>>()?,
            owed: self.owed.iter().map(OwedDto::model).collect::<Result<_, _>>()?,
            waiting: self.waiting.into_iter().map(WaitingDto::model).collect::<Result<_, _>>()?,
            last_opening: Millis(self.last_opening),
            told_on: dates.collect::<Result<_, _>>()?,
            told: self.told.iter().map(ToldDto::model).collect::<Result<_, _>>()?,
            counted: counted.collect(),
            seen: seen.collect(),
            habit: Habit::of(self.habit.iter().map(|visits| (visits.hour, visits.count))),
            badge: self.badge.map(BadgeDto::model).transpose()?,
            rows: self.rows.iter().map(|rows| (Day(rows.day), rows.rows)).collect(),
            keep_until: Millis(self.keep_until),
        };
        Ok((Tenant::new(&self.tenant)?, Person::new(&self.person)?, record))
    }
}

impl<'a> OpenDto<'a> {
    fn of(window: &'a Window) -> Self {
        Self {
            plan: window.plan.as_str().into(),
            plan_hash: window.plan_hash.cast_signed(),
            key: Text::Borrowed(&window.key),
            opening: window.opening.0,
            due: window.due.0,
            released: window.act.is_some(),
            cancelled: window.act == Some(Act::Cancel),
            after: window.after.map(ready_id),
            held: window.held.map(HeldDto::of),
            heard: window.heard,
            last: (window.last != window.opening).then_some(window.last.0),
            hour: window.hour,
            aim: window.aim.map(|aim| aim.0),
            first: window.first.map(entry_key),
            days: window.days.iter().map(|day| day.0).collect(),
        }
    }

    fn model(&self) -> Result<Window, Undecodable> {
        Ok(Window {
            plan: PlanName::new(&self.plan)?,
            plan_hash: self.plan_hash.cast_unsigned(),
            key: self.key.as_ref().into(),
            opening: Millis(self.opening),
            due: Millis(self.due),
            act: if self.cancelled { Some(Act::Cancel) } else { self.released.then_some(Act::Release) },
            after: self.after.map(|id| ReadyId(id.0)),
            held: self.held.map(HeldDto::model),
            heard: self.heard,
            last: Millis(self.last.unwrap_or(self.opening)),
            hour: self.hour,
            aim: self.aim.map(Millis),
            first: self.first.map(|key| key.model()).transpose()?,
            days: self.days.iter().map(|day| Day(*day)).collect(),
        })
    }
}

impl<'a> BadgeDto<'a> {
    fn of(badge: &'a Badge) -> Self {
        Self {
            plan: badge.plan.as_str().into(),
            unseen: UnseenDto::of(&badge.unseen),
            told: badge.told.0,
            due: badge.due.map(|due| due.0),
        }
    }

    fn model(self) -> Result<Badge, Undecodable> {
        let (plan, unseen) = (PlanName::new(&self.plan)?, self.unseen.model());
        Ok(Badge { plan, unseen, told: Millis(self.told), due: self.due.map(Millis) })
    }
}

impl OwedDto {
    fn of(owed: &Owed) -> Self {
        Self { day: owed.day.0, mark: MarkDto::of(&owed.mark) }
    }

    fn model(&self) -> Result<Owed, Undecodable> {
        Ok(Owed { day: Day(self.day), mark: self.mark.model()? })
    }
}

impl<'a> WaitingDto<'a> {
    fn of(waiting: &'a Waiting) -> Self {
        Self { at: waiting.at.0, ready: ReadyDto::of(&waiting.ready) }
    }

    fn model(self) -> Result<Waiting, Undecodable> {
        Ok(Waiting { at: Millis(self.at), ready: self.ready.model()? })
    }
}

impl<'a> DateDto<'a> {
    fn of(plan: &'a PlanName, told: &ToldDate) -> Self {
        Self { plan: plan.as_str().into(), date: told.date, keys: told.keys.iter().copied().collect() }
    }

    fn model(&self) -> Result<(PlanName, ToldDate), Undecodable> {
        let keys = self.keys.iter().copied().collect();
        Ok((PlanName::new(&self.plan)?, ToldDate { date: self.date, keys }))
    }
}

impl<'a> ToldDto<'a> {
    fn of(told: &'a Told) -> Self {
        Self {
            plan: told.plan.as_str().into(),
            key: Text::Borrowed(&told.key),
            at: numbers(&told.at),
            heard: told.heard.0,
            row: told.row,
            until: told.until.0,
        }
    }

    fn model(&self) -> Result<Told, Undecodable> {
        Ok(Told {
            plan: PlanName::new(&self.plan)?,
            key: self.key.as_ref().into(),
            at: instants(&self.at),
            heard: Millis(self.heard),
            row: self.row,
            until: Millis(self.until),
        })
    }
}

fn numbers(instants: &[Millis]) -> Vec<i64> {
    instants.iter().map(|at| at.0).collect()
}

fn instants(numbers: &[i64]) -> Vec<Millis> {
    numbers.iter().copied().map(Millis).collect()
}
