//! `pending`: announcements that rows were written into days, on the topic of that name. Many persons of
//! one partition a record; the kinds are named once a record, for a slice mostly has one.

use std::{collections::BTreeMap, sync::LazyLock};

use model::{Day, Kind, Person, Tenant};
use serde::{Deserialize, Serialize};

use crate::{
    codec::{Codec, Undecodable, WireError},
    list,
    parts::Text,
};

/// Announcements to persons of one partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pending {
    pub tenant: Tenant,
    pub announcements: Vec<Announcement>,
}

/// That a person's day has new rows. It only wakes: what they are is in the day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Announcement {
    pub person: Person,
    pub day: Day,
    /// A hint: announcements may double.
    pub rows: u32,
    pub kinds: Vec<Kind>,
    /// The day was full: these rows were counted and not written.
    pub full: bool,
}

pub(crate) static CODEC: LazyLock<Codec> =
    LazyLock::new(|| Codec::new("pending", &[include_str!("../../../schemas/pending.avsc")]));

#[derive(Serialize, Deserialize)]
#[serde(rename = "pending")]
pub(crate) struct PendingDto<'a> {
    tenant: Text<'a>,
    #[serde(with = "list")]
    kinds: Vec<Text<'a>>,
    #[serde(with = "list")]
    announcements: Vec<AnnouncementDto<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "announcement")]
struct AnnouncementDto<'a> {
    person: Text<'a>,
    day: i32,
    rows: u32,
    #[serde(with = "list")]
    kinds: Vec<i32>,
    full: bool,
}

pub fn encode(pending: &Pending) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&PendingDto::of(pending))
}

pub fn decode(bytes: &[u8]) -> Result<Pending, Undecodable> {
    CODEC.decode::<PendingDto<'_>>(bytes)?.model()
}

impl<'a> PendingDto<'a> {
    pub(crate) fn of(pending: &'a Pending) -> Self {
        let mut kinds = Vec::new();
        let mut places: BTreeMap<&str, i32> = BTreeMap::new();
        let mut place = |kind: &'a Kind| {
            *places.entry(kind.as_str()).or_insert_with(|| {
                kinds.push(kind.as_str().into());
                // Past the bound of a list it is refused, so this never saturates.
                i32::try_from(kinds.len() - 1).unwrap_or(i32::MAX)
            })
        };
        let announcements = pending.announcements.iter().map(|announcement| AnnouncementDto {
            person: announcement.person.as_str().into(),
            day: announcement.day.0,
            rows: announcement.rows,
            kinds: announcement.kinds.iter().map(&mut place).collect(),
            full: announcement.full,
        });
        let announcements = announcements.collect();
        Self { tenant: pending.tenant.as_str().into(), kinds, announcements }
    }

    fn model(self) -> Result<Pending, Undecodable> {
        let kinds: Vec<Kind> = self.kinds.iter().map(|kind| Kind::new(kind)).collect::<Result<_, _>>()?;
        let named = |place: &i32| {
            let kind = usize::try_from(*place).ok().and_then(|place| kinds.get(place));
            kind.cloned().ok_or_else(|| Undecodable::new(format!("there is no kind at place {place}")))
        };
        let announcements = self.announcements.iter().map(|dto| {
            Ok(Announcement {
                person: Person::new(&dto.person)?,
                day: Day(dto.day),
                rows: dto.rows,
                kinds: dto.kinds.iter().map(named).collect::<Result<_, Undecodable>>()?,
                full: dto.full,
            })
        });
        let announcements = announcements.collect::<Result<_, Undecodable>>()?;
        Ok(Pending { tenant: Tenant::new(&self.tenant)?, announcements })
    }
}
