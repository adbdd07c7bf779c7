//! Entries: one event for one person, one row for each reason.

use std::fmt;

use crate::{
    id::{EventKey, Kind, Person, SubjectRef, Tenant},
    mark::Mark,
    time::{Day, Millis},
};

/// Names an entry within a person: a pure function of the event. Orders by time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    pub occurred: Millis,
    pub event: EventKey,
}

impl EntryKey {
    pub fn day(self) -> Day {
        Day::of(self.occurred)
    }

    /// 24 bytes that order as the key does.
    pub fn bytes(self) -> [u8; 24] {
        let mut out = [0; 24];
        // Flipping the sign bit makes two's complement order as unsigned bytes.
        out[..8].copy_from_slice(&(self.occurred.0 ^ i64::MIN).to_be_bytes());
        out[8..].copy_from_slice(&self.event.0);
        out
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (time, event) = bytes.split_first_chunk::<8>()?;
        Some(Self {
            occurred: Millis(i64::from_be_bytes(*time) ^ i64::MIN),
            event: EventKey(event.try_into().ok()?),
        })
    }
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.occurred, self.event)
    }
}

impl fmt::Debug for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How the audience found this person.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Because {
    /// The person follows this subject.
    Follows(SubjectRef),
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Follows(target) => write!(f, "follows {target}"),
        }
    }
}

/// Why an event is for a person: under which kind, and how they were found.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reason {
    pub kind: Kind,
    pub because: Because,
}

/// A row of a day: one event for one person for one reason. Key and reason together are the row's key,
/// and every other column is a function of the event, so writing it again changes nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    pub key: EntryKey,
    pub reason: Reason,
    pub subject: SubjectRef,
}

/// One immutable row of a day.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Row {
    Entry(Entry),
    Mark(Mark),
}

/// The partition of a person's rows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DayKey {
    pub tenant: Tenant,
    pub person: Person,
    pub day: Day,
}
