//! `pending`: announcements that rows were written into days, on the topic of that name. Many persons of
//! one partition a record; kinds and windows are named once a record, for most persons of a slice have the same.

use std::{collections::BTreeMap, sync::LazyLock};

use model::{Day, Kind, Person, PlanName, Tenant, UtcMillis, window::WindowTarget};
use serde::{Deserialize, Serialize};

use crate::{
    codec::{DecodeError, RecordCodec, WireError},
    list,
    record_parts::WireText,
};

/// Announcements to persons of one partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnnouncementBatch {
    pub tenant: Tenant,
    pub announcements: Vec<DayAnnouncement>,
}

/// That a person's day has new rows. It only wakes: what they are is in the day. One without kinds says that something of
/// it was revoked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DayAnnouncement {
    pub person: Person,
    pub day: Day,
    /// A hint: announcements may double.
    pub rows: u32,
    pub kinds: Vec<Kind>,
    /// The windows that the rows belong to, of the plans that tell several apart or close before an instant. Of
    /// the kinds' other plans it is the one that there is, which goes without saying.
    pub windows: Vec<WindowTarget>,
    /// The day was full: these rows were counted and not written.
    pub full: bool,
}

impl DayAnnouncement {
    /// That something was revoked: nothing is new, and nothing was written.
    pub fn of_nothing(person: Person, day: Day) -> Self {
        Self { person, day, rows: 0, kinds: Vec::new(), windows: Vec::new(), full: true }
    }

    pub fn is_of_nothing(&self) -> bool {
        // Of a day that is to be looked at once more nobody says the kinds either.
        self.kinds.is_empty() && self.full
    }
}

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("pending", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 2] =
    [include_str!("../../../schemas/pending.avsc"), include_str!("../../../schemas/old/pending.1.avsc")];

#[derive(Serialize, Deserialize)]
#[serde(rename = "pending")]
pub(crate) struct AnnouncementBatchDto<'a> {
    tenant: WireText<'a>,
    #[serde(with = "list")]
    kinds: Vec<WireText<'a>>,
    #[serde(with = "list")]
    windows: Vec<WantedWindowDto<'a>>,
    #[serde(with = "list")]
    announcements: Vec<DayAnnouncementDto<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "wanted")]
struct WantedWindowDto<'a> {
    plan: WireText<'a>,
    key: WireText<'a>,
    aim: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "announcement")]
struct DayAnnouncementDto<'a> {
    person: WireText<'a>,
    day: i32,
    rows: u32,
    #[serde(with = "list")]
    kinds: Vec<i32>,
    #[serde(with = "list")]
    windows: Vec<i32>,
    full: bool,
}

pub fn encode(pending: &AnnouncementBatch) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&AnnouncementBatchDto::from_batch(pending))
}

pub fn decode(bytes: &[u8]) -> Result<AnnouncementBatch, DecodeError> {
    CODEC.decode::<AnnouncementBatchDto<'_>>(bytes)?.model()
}

impl<'a> AnnouncementBatchDto<'a> {
    pub(crate) fn from_batch(pending: &'a AnnouncementBatch) -> Self {
        let (mut kinds, mut windows) = (NamePlaces::default(), NamePlaces::default());
        let announcements = pending.announcements.iter().map(|announcement| DayAnnouncementDto {
            person: announcement.person.as_str().into(),
            day: announcement.day.0,
            rows: announcement.rows,
            kinds: announcement.kinds.iter().map(|kind| kinds.place_of(kind)).collect(),
            windows: announcement.windows.iter().map(|window| windows.place_of(window)).collect(),
            full: announcement.full,
        });
        let announcements = announcements.collect();
        Self {
            tenant: pending.tenant.as_str().into(),
            kinds: kinds.all.into_iter().map(|kind| kind.as_str().into()).collect(),
            windows: windows.all.into_iter().map(WantedWindowDto::from_wanted).collect(),
            announcements,
        }
    }

    fn model(self) -> Result<AnnouncementBatch, DecodeError> {
        let kinds: Vec<Kind> = self.kinds.iter().map(|kind| Kind::new(kind)).collect::<Result<_, _>>()?;
        let windows: Vec<WindowTarget> =
            self.windows.iter().map(WantedWindowDto::model).collect::<Result<_, _>>()?;
        let announcements = self.announcements.iter().map(|dto| {
            Ok(DayAnnouncement {
                person: Person::new(&dto.person)?,
                day: Day(dto.day),
                rows: dto.rows,
                kinds: names_at_places(&dto.kinds, &kinds, "kind")?,
                windows: names_at_places(&dto.windows, &windows, "window")?,
                full: dto.full,
            })
        });
        let announcements = announcements.collect::<Result<_, DecodeError>>()?;
        Ok(AnnouncementBatch { tenant: Tenant::new(&self.tenant)?, announcements })
    }
}

impl<'a> WantedWindowDto<'a> {
    fn from_wanted(wanted: &'a WindowTarget) -> Self {
        Self {
            plan: wanted.plan.as_str().into(),
            key: WireText::Borrowed(&wanted.key),
            aim: wanted.aim.map(|aim| aim.0),
        }
    }

    fn model(&self) -> Result<WindowTarget, DecodeError> {
        Ok(WindowTarget {
            plan: PlanName::new(&self.plan)?,
            key: self.key.as_ref().into(),
            aim: self.aim.map(UtcMillis),
        })
    }
}

/// A table of the names in several announcements, each once, with its place.
struct NamePlaces<'a, T> {
    all: Vec<&'a T>,
    by: BTreeMap<&'a T, i32>,
}

impl<T> Default for NamePlaces<'_, T> {
    fn default() -> Self {
        Self { all: Vec::new(), by: BTreeMap::new() }
    }
}

impl<'a, T: Ord> NamePlaces<'a, T> {
    fn place_of(&mut self, one: &'a T) -> i32 {
        *self.by.entry(one).or_insert_with(|| {
            self.all.push(one);
            // Past the bound of a list it is refused, so this never saturates.
            i32::try_from(self.all.len() - 1).unwrap_or(i32::MAX)
        })
    }
}

/// What stands at these places.
fn names_at_places<T: Clone>(places: &[i32], all: &[T], what: &str) -> Result<Vec<T>, DecodeError> {
    let at = |place: &i32| {
        let one = usize::try_from(*place).ok().and_then(|place| all.get(place));
        one.cloned().ok_or_else(|| DecodeError::new(format!("there is no {what} at place {place}")))
    };
    places.iter().map(at).collect()
}
