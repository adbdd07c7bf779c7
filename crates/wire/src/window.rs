//! `window`: all that is remembered of one person, on the compacted topic `windows`.

mod fast_reader;

use std::sync::LazyLock;

use model::{
    Day, Person, PlanName, ReadyId, Tenant, UtcMillis,
    closing_dates::ClosingNumber,
    habit::VisitHabit,
    person::{
        Act, DeferredReady, HoldCause, MessageHistory, OwedMark, PersonBadge, PersonRecord, ToldClosing,
        Window,
    },
    trace::EntryTraces,
};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::FixedBytes,
    codec::{DecodeError, RecordCodec, WireError},
    list,
    mark::MarkDto,
    ready::{ReadyDto, UnseenDaysDto},
    record_parts::{EntryKeyDto, WireText, entry_key, ready_id, twins},
};

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("window", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 7] = [
    include_str!("../../../schemas/window.avsc"),
    include_str!("../../../schemas/old/window.6.avsc"),
    include_str!("../../../schemas/old/window.5.avsc"),
    include_str!("../../../schemas/old/window.4.avsc"),
    include_str!("../../../schemas/old/window.3.avsc"),
    include_str!("../../../schemas/old/window.2.avsc"),
    include_str!("../../../schemas/old/window.1.avsc"),
];

#[derive(Serialize, Deserialize)]
#[serde(rename = "window")]
pub(crate) struct WindowDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    #[serde(with = "list")]
    windows: Vec<OpenWindowDto<'a>>,
    #[serde(with = "list")]
    owed: Vec<OwedMarkDto>,
    #[serde(with = "list")]
    waiting: Vec<WaitingReadyDto<'a>>,
    last_opening: i64,
    #[serde(with = "list")]
    told_on: Vec<ToldDateDto<'a>>,
    #[serde(with = "list")]
    told: Vec<LastToldDto<'a>>,
    #[serde(with = "list")]
    counted: Vec<CapCountDto<'a>>,
    #[serde(with = "list")]
    seen: Vec<LastSeenDto<'a>>,
    #[serde(with = "list")]
    habit: Vec<HourVisitsDto>,
    badge: Option<BadgeDto<'a>>,
    #[serde(with = "list")]
    put_off: Vec<PutOffDayDto>,
    #[serde(with = "list")]
    rows: Vec<DayRowsDto>,
    keep_until: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "open_window")]
struct OpenWindowDto<'a> {
    plan: WireText<'a>,
    /// The same 64 bits; Avro has no unsigned number.
    plan_hash: i64,
    key: WireText<'a>,
    opening: i64,
    due: i64,
    released: bool,
    cancelled: bool,
    after: Option<FixedBytes<16>>,
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

twins!(HeldDto = HoldCause as "held": Online, Quiet, Cap);

#[derive(Serialize, Deserialize)]
#[serde(rename = "visits")]
struct HourVisitsDto {
    hour: u8,
    count: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "badge")]
struct BadgeDto<'a> {
    plan: WireText<'a>,
    /// Asked by nobody any more, and nor is `told`.
    unseen: UnseenDaysDto,
    told: i64,
    due: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "put_off")]
struct PutOffDayDto {
    day: i32,
    until: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "owed")]
struct OwedMarkDto {
    day: i32,
    mark: MarkDto,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "waiting")]
struct WaitingReadyDto<'a> {
    at: i64,
    ready: ReadyDto<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "told")]
struct ToldDateDto<'a> {
    plan: WireText<'a>,
    date: i32,
    #[serde(with = "list")]
    keys: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "last_told")]
struct LastToldDto<'a> {
    plan: WireText<'a>,
    key: WireText<'a>,
    #[serde(with = "list")]
    at: Vec<i64>,
    heard: i64,
    row: u8,
    until: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "counted")]
struct CapCountDto<'a> {
    cap: WireText<'a>,
    #[serde(with = "list")]
    at: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "last_seen")]
struct LastSeenDto<'a> {
    surface: WireText<'a>,
    at: i64,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename = "day_rows")]
struct DayRowsDto {
    day: i32,
    rows: u32,
}

pub fn encode(tenant: &Tenant, person: &Person, record: &PersonRecord) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&WindowDto::from_person_record(tenant, person, record))
}

pub fn decode(bytes: &[u8]) -> Result<(Tenant, Person, PersonRecord), DecodeError> {
    decode_usual(bytes).map_or_else(|| decode_any(bytes), Ok)
}

/// Without the library, if it is a usual one.
pub(crate) fn decode_usual(bytes: &[u8]) -> Option<(Tenant, Person, PersonRecord)> {
    fast_reader::read_usual_record(bytes, CODEC.header().ok()?)
}

/// By the library alone.
pub(crate) fn decode_any(bytes: &[u8]) -> Result<(Tenant, Person, PersonRecord), DecodeError> {
    CODEC.decode::<WindowDto<'_>>(bytes)?.model()
}

impl<'a> WindowDto<'a> {
    pub(crate) fn from_person_record(
        tenant: &'a Tenant,
        person: &'a Person,
        record: &'a PersonRecord,
    ) -> Self {
        let (dates, rows) = (record.told_on.iter(), record.rows.iter());
        let (counted, seen) = (record.counted.iter(), record.seen.iter());
        Self {
            tenant: tenant.as_str().into(),
            person: person.as_str().into(),
            windows: record.windows.iter().map(OpenWindowDto::from_window).collect(),
            owed: record.owed.iter().map(OwedMarkDto::from_owed).collect(),
            waiting: record.waiting.iter().map(WaitingReadyDto::from_waiting).collect(),
            last_opening: record.last_opening.0,
            told_on: dates.map(|(plan, told)| ToldDateDto::from_told_date(plan, told)).collect(),
            told: record.told.iter().map(LastToldDto::from_told).collect(),
            counted: counted
                .map(|(cap, at)| CapCountDto { cap: WireText::Borrowed(cap), at: to_numbers(at) })
                .collect(),
            seen: seen
                .map(|(surface, at)| LastSeenDto { surface: WireText::Borrowed(surface), at: at.0 })
                .collect(),
            habit: record.habit.visits().map(|(hour, count)| HourVisitsDto { hour, count }).collect(),
            badge: record.badge.as_ref().map(BadgeDto::from_badge),
            put_off: record
                .put_off
                .iter()
                .map(|(day, until)| PutOffDayDto { day: day.0, until: until.0 })
                .collect(),
            rows: rows.map(|(day, rows)| DayRowsDto { day: day.0, rows: *rows }).collect(),
            keep_until: record.keep_until.0,
        }
    }

    fn model(self) -> Result<(Tenant, Person, PersonRecord), DecodeError> {
        let dates = self.told_on.iter().map(ToldDateDto::model);
        let counted =
            self.counted.iter().map(|counted| (counted.cap.as_ref().into(), to_instants(&counted.at)));
        let seen = self.seen.iter().map(|seen| (seen.surface.as_ref().into(), UtcMillis(seen.at)));
        let record = PersonRecord {
            windows: self.windows.iter().map(OpenWindowDto::model).collect::<Result<_, _>>()?,
            owed: self.owed.iter().map(OwedMarkDto::model).collect::<Result<_, _>>()?,
            waiting: self.waiting.into_iter().map(WaitingReadyDto::model).collect::<Result<_, _>>()?,
            last_opening: UtcMillis(self.last_opening),
            told_on: dates.collect::<Result<_, _>>()?,
            told: self.told.iter().map(LastToldDto::model).collect::<Result<_, _>>()?,
            counted: counted.collect(),
            seen: seen.collect(),
            habit: VisitHabit::from_visits(self.habit.iter().map(|visits| (visits.hour, visits.count))),
            badge: self.badge.map(BadgeDto::model).transpose()?,
            put_off: self.put_off.iter().map(|one| (Day(one.day), UtcMillis(one.until))).collect(),
            rows: self.rows.iter().map(|rows| (Day(rows.day), rows.rows)).collect(),
            // Only remembered: who restores begins without.
            traces: EntryTraces::new(),
            keep_until: UtcMillis(self.keep_until),
        };
        Ok((Tenant::new(&self.tenant)?, Person::new(&self.person)?, record))
    }
}

impl<'a> OpenWindowDto<'a> {
    fn from_window(window: &'a Window) -> Self {
        Self {
            plan: window.plan.as_str().into(),
            plan_hash: window.plan_hash.cast_signed(),
            key: WireText::Borrowed(&window.key),
            opening: window.opening.0,
            due: window.due.0,
            released: window.act.is_some(),
            cancelled: window.act == Some(Act::Cancel),
            after: window.after.map(ready_id),
            held: window.held.map(HeldDto::from_model),
            heard: window.heard,
            last: (window.last != window.opening).then_some(window.last.0),
            hour: window.hour,
            aim: window.aim.map(|aim| aim.0),
            first: window.first.map(entry_key),
            days: window.days.iter().map(|day| day.0).collect(),
        }
    }

    fn model(&self) -> Result<Window, DecodeError> {
        Ok(Window {
            plan: PlanName::new(&self.plan)?,
            plan_hash: self.plan_hash.cast_unsigned(),
            key: self.key.as_ref().into(),
            opening: UtcMillis(self.opening),
            due: UtcMillis(self.due),
            act: if self.cancelled { Some(Act::Cancel) } else { self.released.then_some(Act::Release) },
            after: self.after.map(|id| ReadyId(id.0)),
            held: self.held.map(HeldDto::model),
            heard: self.heard,
            last: UtcMillis(self.last.unwrap_or(self.opening)),
            hour: self.hour,
            aim: self.aim.map(UtcMillis),
            first: self.first.map(|key| key.model()).transpose()?,
            days: self.days.iter().map(|day| Day(*day)).collect(),
        })
    }
}

impl<'a> BadgeDto<'a> {
    fn from_badge(badge: &'a PersonBadge) -> Self {
        Self {
            plan: badge.plan.as_str().into(),
            unseen: UnseenDaysDto::default(),
            told: 0,
            due: badge.due.map(|due| due.0),
        }
    }

    fn model(self) -> Result<PersonBadge, DecodeError> {
        Ok(PersonBadge { plan: PlanName::new(&self.plan)?, due: self.due.map(UtcMillis) })
    }
}

impl OwedMarkDto {
    fn from_owed(owed: &OwedMark) -> Self {
        Self { day: owed.day.0, mark: MarkDto::from_mark(&owed.mark) }
    }

    fn model(&self) -> Result<OwedMark, DecodeError> {
        Ok(OwedMark { day: Day(self.day), mark: self.mark.model()? })
    }
}

impl<'a> WaitingReadyDto<'a> {
    fn from_waiting(waiting: &'a DeferredReady) -> Self {
        Self { at: waiting.at.0, ready: ReadyDto::from_ready(&waiting.ready) }
    }

    fn model(self) -> Result<DeferredReady, DecodeError> {
        Ok(DeferredReady { at: UtcMillis(self.at), ready: self.ready.model()? })
    }
}

impl<'a> ToldDateDto<'a> {
    fn from_told_date(plan: &'a PlanName, told: &ToldClosing) -> Self {
        Self { plan: plan.as_str().into(), date: told.number.0, keys: told.keys.iter().copied().collect() }
    }

    fn model(&self) -> Result<(PlanName, ToldClosing), DecodeError> {
        let keys = self.keys.iter().copied().collect();
        Ok((PlanName::new(&self.plan)?, ToldClosing { number: ClosingNumber(self.date), keys }))
    }
}

impl<'a> LastToldDto<'a> {
    fn from_told(told: &'a MessageHistory) -> Self {
        Self {
            plan: told.plan.as_str().into(),
            key: WireText::Borrowed(&told.key),
            at: to_numbers(&told.at),
            heard: told.heard.0,
            row: told.row,
            until: told.until.0,
        }
    }

    fn model(&self) -> Result<MessageHistory, DecodeError> {
        Ok(MessageHistory {
            plan: PlanName::new(&self.plan)?,
            key: self.key.as_ref().into(),
            at: to_instants(&self.at),
            heard: UtcMillis(self.heard),
            row: self.row,
            until: UtcMillis(self.until),
        })
    }
}

fn to_numbers(instants: &[UtcMillis]) -> Vec<i64> {
    instants.iter().map(|at| at.0).collect()
}

fn to_instants(numbers: &[i64]) -> Vec<UtcMillis> {
    numbers.iter().copied().map(UtcMillis).collect()
}
