//! `pending`: announcements that rows were written into days, on the topic of that name. Many persons of
//! one partition a record; kinds and windows are named once a record, for most persons of a slice have the same.

use std::{collections::BTreeMap, sync::LazyLock};

use model::{Day, Kind, Millis, Person, PlanName, Tenant, window::Wanted};
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
    /// The windows that the rows belong to, of the plans that tell several apart or close before an instant. Of
    /// the kinds' other plans it is the one that there is, which goes without saying.
    pub windows: Vec<Wanted>,
    /// The day was full: these rows were counted and not written.
    pub full: bool,
}

pub(crate) static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("pending", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 2] =
    [include_str!("../../../schemas/pending.avsc"), include_str!("../../../schemas/old/pending.1.avsc")];

#[derive(Serialize, Deserialize)]
#[serde(rename = "pending")]
pub(crate) struct PendingDto<'a> {
    tenant: Text<'a>,
    #[serde(with = "list")]
    kinds: Vec<Text<'a>>,
    #[serde(with = "list")]
    windows: Vec<WantedDto<'a>>,
    #[serde(with = "list")]
    announcements: Vec<AnnouncementDto<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "wanted")]
struct WantedDto<'a> {
    plan: Text<'a>,
    key: Text<'a>,
    aim: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "announcement")]
struct AnnouncementDto<'a> {
    person: Text<'a>,
    day: i32,
    rows: u32,
    #[serde(with = "list")]
    kinds: Vec<i32>,
    #[serde(with = "list")]
    windows: Vec<i32>,
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
        let (mut kinds, mut windows) = (Places::default(), Places::default());
        let announcements = pending.announcements.iter().map(|announcement| AnnouncementDto {
            person: announcement.person.as_str().into(),
            day: announcement.day.0,
            rows: announcement.rows,
            kinds: announcement.kinds.iter().map(|kind| kinds.of(kind)).collect(),
            windows: announcement.windows.iter().map(|window| windows.of(window)).collect(),
            full: announcement.full,
        });
        let announcements = announcements.collect();
        Self {
            tenant: pending.tenant.as_str().into(),
            kinds: kinds.all.into_iter().map(|kind| kind.as_str().into()).collect(),
            windows: windows.all.into_iter().map(WantedDto::of).collect(),
            announcements,
        }
    }

    fn model(self) -> Result<Pending, Undecodable> {
        let kinds: Vec<Kind> = self.kinds.iter().map(|kind| Kind::new(kind)).collect::<Result<_, _>>()?;
        let windows: Vec<Wanted> = self.windows.iter().map(WantedDto::model).collect::<Result<_, _>>()?;
        let announcements = self.announcements.iter().map(|dto| {
            Ok(Announcement {
                person: Person::new(&dto.person)?,
                day: Day(dto.day),
                rows: dto.rows,
                kinds: named(&dto.kinds, &kinds, "kind")?,
                windows: named(&dto.windows, &windows, "window")?,
                full: dto.full,
            })
        });
        let announcements = announcements.collect::<Result<_, Undecodable>>()?;
        Ok(Pending { tenant: Tenant::new(&self.tenant)?, announcements })
    }
}

impl<'a> WantedDto<'a> {
    fn of(wanted: &'a Wanted) -> Self {
        Self {
            plan: wanted.plan.as_str().into(),
            key: Text::Borrowed(&wanted.key),
            aim: wanted.aim.map(|aim| aim.0),
        }
    }

    fn model(&self) -> Result<Wanted, Undecodable> {
        Ok(Wanted {
            plan: PlanName::new(&self.plan)?,
            key: self.key.as_ref().into(),
            aim: self.aim.map(Millis),
        })
    }
}

/// What several announcements name, each once, and where it stands.
struct Places<'a, T> {
    all: Vec<&'a T>,
    by: BTreeMap<&'a T, i32>,
}

impl<T> Default for Places<'_, T> {
    fn default() -> Self {
        Self { all: Vec::new(), by: BTreeMap::new() }
    }
}

impl<'a, T: Ord> Places<'a, T> {
    fn of(&mut self, one: &'a T) -> i32 {
        *self.by.entry(one).or_insert_with(|| {
            self.all.push(one);
            // Past the bound of a list it is refused, so this never saturates.
            i32::try_from(self.all.len() - 1).unwrap_or(i32::MAX)
        })
    }
}

/// What stands at these places.
fn named<T: Clone>(places: &[i32], all: &[T], what: &str) -> Result<Vec<T>, Undecodable> {
    let at = |place: &i32| {
        let one = usize::try_from(*place).ok().and_then(|place| all.get(place));
        one.cloned().ok_or_else(|| Undecodable::new(format!("there is no {what} at place {place}")))
    };
    places.iter().map(at).collect()
}
