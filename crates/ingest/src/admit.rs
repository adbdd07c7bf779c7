//! Whether a CloudEvent is admitted, and as what.
//!
//! Pure: the verdict is a function of the event, of the instant at which it was first seen and of the
//! catalogue, so it is the same however often the event comes again.

use catalogue::{
    BadField, Catalogue,
    problem::{did_you_mean, one_of},
};
use model::{
    EntryKey, Event, EventKey, Follow, Millis, Person, State, SubjectRef, Tenant,
    civil::Zones,
    event::timely,
    id::BadName,
    limits::{DAY_LIFE_MS, ID_BYTES_MAX},
};
use serde_json::{Map, Value};
use wire::{Cloud, Did};

use crate::{
    config::{FEEDBACK_ENTRIES_MAX, QUOTED_CHARS_MAX},
    profile,
};

/// The types of CloudEvents that are ours; every other type is a change.
pub const FOLLOW: &str = "tidings.follow";
pub const UNFOLLOW: &str = "tidings.unfollow";
pub const PROFILE: &str = "tidings.profile";
pub const READ: &str = "tidings.read";
pub const CLEARED: &str = "tidings.cleared";

const OURS: [&str; 5] = [FOLLOW, UNFOLLOW, PROFILE, READ, CLEARED];
const OUR_PREFIX: &str = "tidings.";

/// A CloudEvent that was admitted.
#[derive(Clone, PartialEq, Debug)]
pub enum Admitted {
    Change(Event),
    Follow(Follow),
    /// Cells of a person's profile.
    Profile {
        tenant: Tenant,
        person: Person,
        state: State,
    },
    Feedback {
        tenant: Tenant,
        person: Person,
        what: Did,
        about: About,
        /// When it was first seen: the instant its marks carry.
        at: Millis,
    },
}

/// What feedback is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum About {
    Entries(Vec<EntryKey>),
    /// All entries about a subject up to the instant at which the person did it.
    Subject {
        subject: SubjectRef,
        until: Millis,
    },
}

/// Why a CloudEvent was not admitted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct Refused {
    /// A JSON pointer such as `/time`. Fields of the flat form are pointed to as if they stood in `data`.
    pub at: String,
    pub reason: String,
}

/// What a CloudEvent is, by its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Change,
    Fact,
    Feedback,
}

impl Sort {
    pub const ALL: [Self; 3] = [Self::Change, Self::Fact, Self::Feedback];

    /// The path at which this sort is taken.
    pub fn path(self) -> &'static str {
        match self {
            Self::Change => "/v1/changes",
            Self::Fact => "/v1/facts",
            Self::Feedback => "/v1/feedback",
        }
    }

    /// The types of this sort that have names of ours.
    pub fn types(self) -> impl Iterator<Item = &'static str> {
        OURS.into_iter().filter(move |what| Self::of(what) == Ok(self))
    }

    pub fn of(what: &str) -> Result<Self, Refused> {
        match what {
            FOLLOW | UNFOLLOW | PROFILE => Ok(Self::Fact),
            READ | CLEARED => Ok(Self::Feedback),
            _ if what.starts_with(OUR_PREFIX) => {
                let help = did_you_mean(what, OURS).unwrap_or_else(|| format!("it has {}", one_of(OURS)));
                refuse("/type", format!("tidings has no type `{}`: {help}", quoted(what)))
            }
            _ => Ok(Self::Change),
        }
    }
}

impl Refused {
    pub fn new(at: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { at: at.into(), reason: reason.into() }
    }
}

/// Judges a CloudEvent. `first_seen` is when its record was appended, or when its request was first heard.
pub fn admit(
    cloud: Cloud,
    tenant: &Tenant,
    first_seen: Millis,
    catalogue: &Catalogue,
    zones: &Zones,
) -> Result<Admitted, Refused> {
    let sort = Sort::of(&cloud.what)?;
    let occurred = cloud.time.unwrap_or(first_seen);
    // A fact or feedback may be told late, but not ahead: nothing could ever override it.
    let judged = if sort == Sort::Change { occurred } else { occurred.max(first_seen) };
    timely(judged, first_seen).map_err(|untimely| Refused::new("/time", untimely.to_string()))?;
    if sort == Sort::Change {
        return change(cloud, tenant, occurred, catalogue).map(Admitted::Change);
    }
    let data = Data(&cloud.data);
    let version = cloud.version.unwrap_or(occurred.0);
    let person = data.named("person", Person::new)?;
    let tenant = tenant.clone();
    match cloud.what.as_str() {
        what @ (FOLLOW | UNFOLLOW) => {
            data.only(&["person", "target"])?;
            let target = data.named("target", SubjectRef::new)?;
            declared(&target, "/data/target", catalogue)?;
            Ok(Admitted::Follow(Follow { tenant, person, target, version, on: what == FOLLOW }))
        }
        PROFILE => {
            let state = profile::cells(&cloud.data, version, zones)?;
            Ok(Admitted::Profile { tenant, person, state })
        }
        what => {
            let what = if what == READ { Did::Read } else { Did::Cleared };
            let about = about(data, occurred, first_seen, catalogue)?;
            Ok(Admitted::Feedback { tenant, person, what, about, at: first_seen })
        }
    }
}

fn change(cloud: Cloud, tenant: &Tenant, occurred: Millis, catalogue: &Catalogue) -> Result<Event, Refused> {
    for (name, text) in [("/id", &cloud.id), ("/source", &cloud.source), ("/type", &cloud.what)] {
        if text.trim().is_empty() {
            return refuse(name, "it is empty");
        }
    }
    if cloud.what.len() > ID_BYTES_MAX || cloud.what.chars().any(char::is_control) {
        return refuse("/type", format!("it has more than {ID_BYTES_MAX} bytes or a control character"));
    }
    let subject = cloud.subject.ok_or_else(|| Refused::new("/subject", "it is missing"))?;
    let subject = SubjectRef::new(&subject).map_err(|bad| Refused::new("/subject", named_wrong(&bad)))?;
    declared(&subject, "/subject", catalogue)?;
    fits(&cloud.what, &subject, catalogue)?;
    let actor = cloud.actor.map(|actor| Person::new(&actor)).transpose();
    let actor = actor.map_err(|bad| Refused::new("/actor", named_wrong(&bad)))?;
    let version = cloud.version.unwrap_or(occurred.0);
    let state = catalogue.state(&subject, &cloud.data, version).map_err(|bad| match &bad {
        BadField::Subject { .. } => Refused::new("/subject", bad.to_string()),
        BadField::Field { field, .. } => Refused::new(pointer(field), bad.to_string()),
    })?;
    let key = EventKey::of(tenant, &cloud.source, &cloud.id);
    Ok(Event { tenant: tenant.clone(), key, what: cloud.what, subject, actor, occurred, state })
}

/// The subjects that events of this name are about are those of its kinds; other names are free.
fn fits(what: &str, subject: &SubjectRef, catalogue: &Catalogue) -> Result<(), Refused> {
    match catalogue.kinds_on(what).find(|kind| kind.subject() != subject.kind()) {
        None => Ok(()),
        Some(kind) => {
            refuse("/subject", format!("`{what}` is about `{}:id`, not `{subject}`", kind.subject()))
        }
    }
}

/// Refuses a subject of no declared type, with the one that was probably meant.
fn declared(subject: &SubjectRef, at: &str, catalogue: &Catalogue) -> Result<(), Refused> {
    match catalogue.state(subject, &Map::new(), 0) {
        Ok(_) => Ok(()),
        Err(bad) => refuse(at, bad.to_string()),
    }
}

fn about(
    data: Data<'_>,
    occurred: Millis,
    first_seen: Millis,
    catalogue: &Catalogue,
) -> Result<About, Refused> {
    data.only(&["person", "subject", "entries"])?;
    match (data.0.get("subject"), data.0.get("entries")) {
        (Some(_), None) => {
            let subject = data.named("subject", SubjectRef::new)?;
            declared(&subject, "/data/subject", catalogue)?;
            Ok(About::Subject { subject, until: occurred })
        }
        (None, Some(entries)) => entries_of(entries, first_seen).map(About::Entries),
        _ => refuse("/data", "it must have `subject` or `entries`, and not both"),
    }
}

fn entries_of(entries: &Value, first_seen: Millis) -> Result<Vec<EntryKey>, Refused> {
    let Some(entries) = entries.as_array().filter(|entries| !entries.is_empty()) else {
        return refuse("/data/entries", "it is not a list with something in it");
    };
    if entries.len() > FEEDBACK_ENTRIES_MAX {
        return refuse(
            "/data/entries",
            format!("{} entries, more than {FEEDBACK_ENTRIES_MAX}", entries.len()),
        );
    }
    let one = |(i, entry): (usize, &Value)| {
        let key = entry.as_str().ok_or_else(|| "it is not a text".to_owned()).and_then(entry_key);
        let key = key.and_then(|key| lives(key, first_seen).map(|()| key));
        key.map_err(|reason| Refused::new(format!("/data/entries/{i}"), reason))
    };
    entries.iter().enumerate().map(one).collect()
}

/// `2026-11-21T09:00:00.000Z/0123456789abcdef0123456789abcdef`, as an entry is printed everywhere.
fn entry_key(text: &str) -> Result<EntryKey, String> {
    let key = text.split_once('/').and_then(|(occurred, event)| {
        Some(EntryKey { occurred: Millis::parse(occurred)?, event: EventKey::parse(event)? })
    });
    key.ok_or_else(|| "it is no entry, as in 2026-11-21T09:00:00.000Z/ and 32 hexadecimal digits".to_owned())
}

/// A mark lives as long as its day, so it may not name a day that is gone or one that is far ahead.
fn lives(key: EntryKey, first_seen: Millis) -> Result<(), String> {
    if first_seen.since(key.day().start()) >= DAY_LIFE_MS {
        return Err("the day of this entry has expired".to_owned());
    }
    timely(key.occurred.max(first_seen), first_seen).map_err(|untimely| untimely.to_string())
}

/// The data of a CloudEvent whose fields are ours.
#[derive(Clone, Copy)]
struct Data<'a>(&'a Map<String, Value>);

impl Data<'_> {
    fn named<T>(self, field: &str, new: impl Fn(&str) -> Result<T, BadName>) -> Result<T, Refused> {
        let at = pointer(field);
        match self.0.get(field) {
            None | Some(Value::Null) => refuse(at, "it is missing"),
            Some(Value::String(text)) => new(text).map_err(|bad| Refused::new(at, named_wrong(&bad))),
            Some(_) => refuse(at, "it is not a text"),
        }
    }

    fn only(self, known: &[&str]) -> Result<(), Refused> {
        match self.0.keys().find(|field| !known.contains(&field.as_str())) {
            None => Ok(()),
            Some(field) => unknown_field(field, known),
        }
    }
}

/// Refuses a field that does not exist, with the one that was probably meant.
pub(crate) fn unknown_field<T>(field: &str, known: &[&str]) -> Result<T, Refused> {
    let known = known.iter().copied();
    let help = did_you_mean(field, known.clone()).unwrap_or_else(|| format!("there is {}", one_of(known)));
    refuse(pointer(&quoted(field)), format!("there is no field `{}`: {help}", quoted(field)))
}

pub(crate) fn refuse<T>(at: impl Into<String>, reason: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::new(at, reason))
}

/// The pointer to a field of the data.
pub(crate) fn pointer(field: &str) -> String {
    format!("/data/{}", field.replace('~', "~0").replace('/', "~1"))
}

/// Somebody else's text, short and printable.
pub(crate) fn quoted(text: &str) -> String {
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(QUOTED_CHARS_MAX).map(printable).collect()
}

/// Why a name is wrong, without quoting all of it.
fn named_wrong(bad: &BadName) -> String {
    match bad {
        BadName::Form { text } => format!("`{}` is not of the form type:id", quoted(text)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
