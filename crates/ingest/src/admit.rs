//! Whether a CloudEvent is admitted, and as what.
//!
//! Pure: the verdict is a function of the event, of the instant at which it was first seen and of the
//! catalogue, so it is the same however often the event comes again.

use std::sync::Arc;

use catalogue::{
    Catalogue,
    problem::{did_you_mean, one_of},
};
use model::{Follow, Millis, Person, State, SubjectRef, Tenant, civil::Zones, event::timely, id::BadName};
use serde_json::{Map, Value};
use wire::{Cloud, Did};

use crate::{
    device,
    {
        change::{self, Change},
        config::QUOTED_CHARS_MAX,
        feedback::{self, About},
        mute::{self, Mute},
        profile,
    },
};

/// The types of CloudEvents that are ours; every other type is a change.
pub const FOLLOW: &str = "tidings.follow";
pub const UNFOLLOW: &str = "tidings.unfollow";
pub const PROFILE: &str = "tidings.profile";
pub const MUTE: &str = "tidings.mute";
pub const UNMUTE: &str = "tidings.unmute";
pub const DEVICE: &str = "tidings.device";
pub const ERASE: &str = "tidings.erase";
pub const WELCOME: &str = "tidings.welcome";
pub const SEEN: &str = "tidings.seen";
pub const READ: &str = "tidings.read";
pub const CLEARED: &str = "tidings.cleared";

const OURS: [&str; 11] =
    [FOLLOW, UNFOLLOW, PROFILE, DEVICE, MUTE, UNMUTE, ERASE, WELCOME, SEEN, READ, CLEARED];
const OUR_PREFIX: &str = "tidings.";

/// A CloudEvent that was admitted.
#[derive(Clone, PartialEq, Debug)]
pub enum Admitted {
    Change(Change),
    Follow(Follow),
    /// Cells of a person's profile.
    Profile {
        tenant: Tenant,
        person: Person,
        state: State,
    },
    Mute(Mute),
    /// The person is to be erased, or may come back.
    Erase {
        tenant: Tenant,
        person: Person,
        version: i64,
        /// They may be told again: nothing that was removed comes back.
        welcomes: bool,
    },
    /// The person was on a surface.
    Seen {
        tenant: Tenant,
        person: Person,
        surface: Arc<str>,
        at: Millis,
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
            FOLLOW | UNFOLLOW | PROFILE | DEVICE | MUTE | UNMUTE | ERASE | WELCOME | SEEN => Ok(Self::Fact),
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
        return change::judge(cloud, tenant, occurred, catalogue).map(Admitted::Change);
    }
    names_nothing(&cloud)?;
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
            let state = profile::cells(&cloud.data, version, zones, catalogue)?;
            Ok(Admitted::Profile { tenant, person, state })
        }
        DEVICE => Ok(Admitted::Profile { tenant, person, state: device::cells(data, version)? }),
        what @ (MUTE | UNMUTE) => {
            let name = mute::name(data, catalogue)?;
            Ok(Admitted::Mute(Mute { tenant, person, name, version, on: what == MUTE }))
        }
        what @ (ERASE | WELCOME) => {
            data.only(&["person"])?;
            Ok(Admitted::Erase { tenant, person, version, welcomes: what == WELCOME })
        }
        SEEN => {
            data.only(&["person", "surface"])?;
            let surface = surface(data, catalogue)?;
            Ok(Admitted::Seen { tenant, person, surface, at: occurred })
        }
        what => {
            let what = if what == READ { Did::Read } else { Did::Cleared };
            let about = feedback::about(data, occurred, first_seen, catalogue)?;
            Ok(Admitted::Feedback { tenant, person, what, about, at: first_seen })
        }
    }
}

/// What only a change has. Somebody who gives it with a fact means something that would not come of it.
fn names_nothing(cloud: &Cloud) -> Result<(), Refused> {
    let what = &cloud.what;
    if !cloud.persons.is_empty() {
        return refuse("/persons", format!("only a change lists persons: `{what}` is about one `person`"));
    }
    if !cloud.subjects.is_empty() {
        return refuse("/subjects", format!("only a change has several subjects, not `{what}`"));
    }
    Ok(())
}

/// A surface that the catalogue declares.
fn surface(data: Data<'_>, catalogue: &Catalogue) -> Result<Arc<str>, Refused> {
    let text = data.text("surface")?;
    let known = catalogue.plans.surfaces.iter().map(|surface| &*surface.name);
    if let Some(surface) = catalogue.plans.surfaces.iter().find(|surface| *surface.name == *text) {
        return Ok(surface.name.clone());
    }
    let help = match catalogue.plans.surfaces.as_slice() {
        [] => "the catalogue declares no `surfaces`".to_owned(),
        _ => did_you_mean(text, known.clone()).unwrap_or_else(|| format!("there is {}", one_of(known))),
    };
    refuse("/data/surface", format!("there is no surface `{}`: {help}", quoted(text)))
}

/// Refuses a subject of no declared type, with the one that was probably meant.
pub(crate) fn declared(subject: &SubjectRef, at: &str, catalogue: &Catalogue) -> Result<(), Refused> {
    match catalogue.state(subject, &Map::new(), 0) {
        Ok(_) => Ok(()),
        Err(bad) => refuse(at, bad.to_string()),
    }
}

/// The data of a CloudEvent whose fields are ours.
#[derive(Clone, Copy)]
pub(crate) struct Data<'a>(pub &'a Map<String, Value>);

impl<'a> Data<'a> {
    /// A text that must be there.
    pub fn text(self, field: &str) -> Result<&'a str, Refused> {
        match self.0.get(field) {
            Some(Value::String(text)) => Ok(text),
            None | Some(Value::Null) => refuse(pointer(field), "it is missing"),
            Some(_) => refuse(pointer(field), "it is not a text"),
        }
    }

    pub fn named<T>(self, field: &str, new: impl Fn(&str) -> Result<T, BadName>) -> Result<T, Refused> {
        new(self.text(field)?).map_err(|bad| Refused::new(pointer(field), named_wrong(&bad)))
    }

    pub fn only(self, known: &[&str]) -> Result<(), Refused> {
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
pub(crate) fn named_wrong(bad: &BadName) -> String {
    match bad {
        BadName::Form { text } => format!("`{}` is not of the form type:id", quoted(text)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
