//! Entries: one event for one person, one row for each reason.

use std::fmt;

use crate::{
    actor::Actor,
    id::{EventKey, Kind, Person, SubjectRef, Tenant},
    kept_fields::KeptFields,
    time::{Day, UtcMillis},
};

/// Names an entry within a person: a pure function of the event. Orders by time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    pub occurred: UtcMillis,
    pub event: EventKey,
}

impl EntryKey {
    pub fn day(self) -> Day {
        Day::from_instant(self.occurred)
    }

    /// 24 bytes that order as the key does.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut out = [0; 24];
        // Flipping the sign bit makes two's complement order as unsigned bytes.
        out[..8].copy_from_slice(&(self.occurred.0 ^ i64::MIN).to_be_bytes());
        out[8..].copy_from_slice(&self.event.0);
        out
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (time, event) = bytes.split_first_chunk::<8>()?;
        Some(Self {
            occurred: UtcMillis(i64::from_be_bytes(*time) ^ i64::MIN),
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
pub enum AudienceMatch {
    /// The person follows this subject.
    Follows(SubjectRef),
    /// The person is near the place of the subject.
    Near,
    /// The subject names the person.
    Named,
    /// The change lists the person, with this score.
    Listed(PersonScore),
    /// The person and this other one are the two parties.
    Mutual(Person),
    /// It is for everyone.
    Everyone,
}

/// How well something suits a person, by whoever listed them: greater is better. In millionths, so that
/// it orders and hashes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PersonScore(pub i64);

impl PersonScore {
    const PARTS: f64 = 1e6;

    /// Rounded to millionths; what is no number is no score.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a cast of a float saturates, and such a score is absurd"
    )]
    pub fn new(score: f64) -> Option<Self> {
        score.is_finite().then(|| Self((score * Self::PARTS).round() as i64))
    }

    #[allow(clippy::cast_precision_loss, reason = "a score only orders")]
    pub fn value(self) -> f64 {
        self.0 as f64 / Self::PARTS
    }
}

impl fmt::Display for AudienceMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Follows(target) => write!(f, "follows {target}"),
            Self::Near => f.write_str("near"),
            Self::Named => f.write_str("named"),
            Self::Listed(PersonScore(0)) => f.write_str("listed"),
            Self::Listed(score) => write!(f, "listed with {}", score.value()),
            Self::Mutual(other) => write!(f, "with {other}"),
            Self::Everyone => f.write_str("everyone"),
        }
    }
}

/// Why an event is for a person: under which kind, and how they were found.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryReason {
    pub kind: Kind,
    pub because: AudienceMatch,
}

/// A row of a day: one event for one person for one reason. Key and reason together are the row's key,
/// and every other column is a function of the event, so writing it again changes nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    pub key: EntryKey,
    pub reason: EntryReason,
    pub subject: SubjectRef,
    /// Who did it.
    pub actor: Option<Actor>,
    /// What its kind keeps of the event's own words.
    pub kept: KeptFields,
}

/// The partition of a person's rows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DayKey {
    pub tenant: Tenant,
    pub person: Person,
    pub day: Day,
}
