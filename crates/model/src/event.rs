//! What comes in: events, facts, and whether an event is in time.

use crate::{
    actor::Actor,
    entry::{EntryKey, PersonScore},
    fault::{self, PlantedFault},
    id::{EventKey, Person, SubjectRef, Tenant},
    limits::{AHEAD_MS_MAX, LATE_MS_MAX},
    time::UtcMillis,
    value::VersionedState,
};

/// An admitted change. Its time is the source's own and is never altered.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    pub tenant: Tenant,
    pub key: EventKey,
    /// What happened, by the source's name for it; kinds say which they are `on`.
    pub what: String,
    pub subject: SubjectRef,
    /// Who did it, so that nobody is told of their own doing.
    pub actor: Option<Actor>,
    pub occurred: UtcMillis,
    /// Persons whom the change itself names, each once.
    pub persons: Vec<ListedPerson>,
    /// The fields as the change stated them, for finding the audience as it was then.
    pub state: VersionedState,
}

impl Event {
    pub fn entry_key(&self) -> EntryKey {
        EntryKey { occurred: self.occurred, event: self.key }
    }
}

/// The first statement about an event. An event is named by its source and id, and this time stays its time, however
/// often and with whatever time it is sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstWord {
    pub occurred: UtcMillis,
    /// That of its fields, where the source names none.
    pub version: i64,
}

/// A person whom a change names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedPerson {
    pub person: Person,
    pub score: PersonScore,
}

/// What is true of a person.
#[derive(Clone, PartialEq, Debug)]
pub enum Fact {
    Follow(FollowFact),
    /// Cells of the profile: zone, addresses, language, preferences.
    Profile {
        tenant: Tenant,
        person: Person,
        state: VersionedState,
    },
}

/// That a person follows a subject, or no longer does: a row either way, never a delete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FollowFact {
    pub tenant: Tenant,
    pub person: Person,
    pub target: SubjectRef,
    pub version: i64,
    pub on: bool,
}

/// Why an event's time is not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EventTimeError {
    #[error("occurred at {occurred}, more than 7 days before its record was appended at {appended}")]
    Late { occurred: UtcMillis, appended: UtcMillis },
    #[error("occurred at {occurred}, more than a minute after its record was appended at {appended}")]
    Ahead { occurred: UtcMillis, appended: UtcMillis },
}

/// Law 3: time is accepted or refused, never altered. Judged against the record's own append time, so
/// that the verdict is the same whenever and however often the record is read.
pub fn check_timely(occurred: UtcMillis, appended: UtcMillis) -> Result<(), EventTimeError> {
    if fault::is_planted(PlantedFault::TimeUnchecked) {
        return Ok(());
    }
    if appended.since(occurred) > LATE_MS_MAX {
        return Err(EventTimeError::Late { occurred, appended });
    }
    if occurred.since(appended) > AHEAD_MS_MAX {
        return Err(EventTimeError::Ahead { occurred, appended });
    }
    Ok(())
}
