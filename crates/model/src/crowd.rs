//! Crowds: the sets of persons that a store can list, a part at a time. What a person does or where they are
//! enrols them; an audience is found in one or several crowds.

use std::fmt;

use crate::{
    event::{Event, FollowFact},
    id::{Kind, Person, SubjectRef, Tenant},
    kept_fields::KeptFields,
    limits::LEFT_LIFE_MS,
    place::GlobeCell,
};

/// A set of persons of a tenant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Crowd {
    /// Who follows this subject.
    Followers(SubjectRef),
    /// Whose place is in this cell.
    Cell(GlobeCell),
    /// Everybody who has a profile.
    Everyone,
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Followers(of) => write!(f, "followers of {of}"),
            Self::Cell(GlobeCell(cell)) => write!(f, "people in cell {cell:x}"),
            Self::Everyone => f.write_str("everyone"),
        }
    }
}

/// That a person belongs to a crowd, or no longer does: a row either way, never a delete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CrowdEnrolment {
    pub tenant: Tenant,
    pub person: Person,
    pub crowd: Crowd,
    pub version: i64,
    pub on: bool,
}

impl CrowdEnrolment {
    /// How long an ended enrolment is kept; `None` is forever. A place forgets persons who left it, or each search
    /// would read everybody who was ever there; a late enrolment in an old place tells nothing, because the distance is
    /// checked. An unfollow is kept.
    pub fn life_ms(&self) -> Option<i64> {
        (!self.on && matches!(self.crowd, Crowd::Cell(_))).then_some(LEFT_LIFE_MS)
    }

    /// Whether this one wins over another of the same person and crowd; at one version the end wins, since
    /// telling somebody who left is the worse mistake.
    pub fn wins_over(&self, other: &Self) -> bool {
        (self.version, !self.on) > (other.version, !other.on)
    }
}

/// A follow enrols its person among the followers of the subject.
impl From<FollowFact> for CrowdEnrolment {
    fn from(FollowFact { tenant, person, target, version, on }: FollowFact) -> Self {
        Self { tenant, person, crowd: Crowd::Followers(target), version, on }
    }
}

/// A slice of a large audience: an event, and where in its crowds to go on. It names no persons, so it is as
/// small for a million as for a thousand.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice {
    /// Without the persons it lists: who is listed is told at once.
    pub event: Event,
    /// The kinds under which these crowds are told.
    pub kinds: Vec<Kind>,
    /// What these kinds may keep of the event's own words.
    pub kept: KeptFields,
    /// The crowds that are left, the first one begun.
    pub crowds: Vec<Crowd>,
    /// Where in the first one to go on; the store that gave it understands it.
    pub from: Option<Vec<u8>>,
}
