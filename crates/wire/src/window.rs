//! `window`: all that is remembered of one person, on the compacted topic `windows`.

use std::sync::LazyLock;

use model::{
    Day, Mark, Millis, Person, PlanName, ReadyId, Tenant, What,
    person::{Owed, PersonRecord, Waiting, Window},
};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Fixed,
    codec::{Codec, Undecodable, WireError},
    list,
    parts::{ChannelDto, EntryKeyDto, Text, WhyDto, entry_keys, ready_id, to_entry_keys},
    ready::ReadyDto,
};

pub(crate) static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("window", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 2] =
    [include_str!("../../../schemas/window.avsc"), include_str!("../../../schemas/old/window.1.avsc")];

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
    told_on: Vec<ToldDto<'a>>,
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
    #[serde(with = "list")]
    days: Vec<i32>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "owed")]
struct OwedDto {
    day: i32,
    mark: MarkDto,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "mark")]
pub(crate) struct MarkDto {
    channel: Option<ChannelDto>,
    what: WhatDto,
    ready: Option<Fixed<16>>,
    why: Option<WhyDto>,
    maybe: Option<bool>,
    #[serde(with = "list")]
    covers: Vec<EntryKeyDto>,
    at: i64,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "mark_what", rename_all = "snake_case")]
enum WhatDto {
    Taken,
    Returned,
    Left,
    Ended,
    Carried,
    Read,
    Cleared,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "waiting")]
struct WaitingDto<'a> {
    at: i64,
    ready: ReadyDto<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "told")]
struct ToldDto<'a> {
    plan: Text<'a>,
    date: i32,
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
    CODEC.decode::<WindowDto<'_>>(bytes)?.model()
}

impl<'a> WindowDto<'a> {
    pub(crate) fn of(tenant: &'a Tenant, person: &'a Person, record: &'a PersonRecord) -> Self {
        let told = record.told_on.iter();
        let rows = record.rows.iter();
        Self {
            tenant: tenant.as_str().into(),
            person: person.as_str().into(),
            windows: record.windows.iter().map(OpenDto::of).collect(),
            owed: record.owed.iter().map(OwedDto::of).collect(),
            waiting: record.waiting.iter().map(WaitingDto::of).collect(),
            last_opening: record.last_opening.0,
            told_on: told.map(|(plan, date)| ToldDto { plan: plan.as_str().into(), date: *date }).collect(),
            rows: rows.map(|(day, rows)| RowsDto { day: day.0, rows: *rows }).collect(),
            keep_until: record.keep_until.0,
        }
    }

    fn model(self) -> Result<(Tenant, Person, PersonRecord), Undecodable> {
        let told = self.told_on.iter().map(|told| Ok((PlanName::new(&told.plan)?, told.date)));
        let record = PersonRecord {
            windows: self.windows.iter().map(OpenDto::model).collect::<Result<_, _>>()?,
            owed: self.owed.iter().map(OwedDto::model).collect::<Result<_, _>>()?,
            waiting: self.waiting.into_iter().map(WaitingDto::model).collect::<Result<_, _>>()?,
            last_opening: Millis(self.last_opening),
            told_on: told.collect::<Result<_, Undecodable>>()?,
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
            released: window.released,
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
            released: self.released,
            days: self.days.iter().map(|day| Day(*day)).collect(),
        })
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

impl MarkDto {
    pub(crate) fn of(mark: &Mark) -> Self {
        let (what, ready, why, maybe) = match mark.what {
            What::Taken(ready) => (WhatDto::Taken, Some(ready), None, None),
            What::Returned { ready, maybe } => (WhatDto::Returned, Some(ready), None, Some(maybe)),
            What::Left { ready, why } => (WhatDto::Left, Some(ready), Some(why), None),
            What::Ended(why) => (WhatDto::Ended, None, Some(why), None),
            What::Carried(ready) => (WhatDto::Carried, Some(ready), None, None),
            What::Read => (WhatDto::Read, None, None, None),
            What::Cleared => (WhatDto::Cleared, None, None, None),
        };
        Self {
            channel: mark.channel.map(ChannelDto::of),
            what,
            ready: ready.map(ready_id),
            why: why.map(WhyDto::of),
            maybe,
            covers: entry_keys(&mark.covers),
            at: mark.at.0,
        }
    }

    pub(crate) fn model(&self) -> Result<Mark, Undecodable> {
        let ready = self.ready.map(|id| ReadyId(id.0));
        let why = self.why.map(WhyDto::model);
        let what = match (self.what, ready, why, self.maybe) {
            (WhatDto::Taken, Some(ready), None, None) => What::Taken(ready),
            (WhatDto::Returned, Some(ready), None, Some(maybe)) => What::Returned { ready, maybe },
            (WhatDto::Left, Some(ready), Some(why), None) => What::Left { ready, why },
            (WhatDto::Ended, None, Some(why), None) => What::Ended(why),
            (WhatDto::Carried, Some(ready), None, None) => What::Carried(ready),
            (WhatDto::Read, None, None, None) => What::Read,
            (WhatDto::Cleared, None, None, None) => What::Cleared,
            (what, ..) => {
                return Err(Undecodable::new(format!("a mark {what:?} lacks a part or has one too many")));
            }
        };
        let channel = self.channel.map(ChannelDto::model);
        Ok(Mark { channel, what, covers: to_entry_keys(&self.covers)?, at: Millis(self.at) })
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
