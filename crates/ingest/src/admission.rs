//! Whether a CloudEvent is admitted, and as what.
//!
//! Pure: the verdict is a function of the event, of the instant at which it was first seen, of the
//! catalogue and of where addresses are, so with the same of these it is the same however often the event comes again.

use std::sync::Arc;

use catalogue::Catalogue;
use house_facts::{KeyScope, recall::REVOKE};
use model::{
    FollowFact, Person, SubjectRef, Tenant, UtcMillis, VersionedState, attention::NOT_PUT_OFF,
    event::check_timely,
};
use source_text::{quote_text, suggest_name};
use wire::{CloudChange, FeedbackAction, token::LinkSecret};

use crate::{
    admission_error::{AdmissionError, refuse_at},
    admission_rules::AdmissionRules,
    change::{self, AdmittedChange},
    device,
    fact_data::{FactData, check_declared},
    feedback::{self, FeedbackTarget},
    preference::{self, PreferenceFact, StatedPreference},
    profile,
    revoke::{self, ChangeRevocation},
};

/// The types of CloudEvents that are ours; every other type is a change.
pub const FOLLOW: &str = "tidings.follow";
pub const UNFOLLOW: &str = "tidings.unfollow";
pub const PROFILE: &str = "tidings.profile";
pub const MUTE: &str = "tidings.mute";
pub const UNMUTE: &str = "tidings.unmute";
pub const PREFERENCE: &str = "tidings.preference";
pub const DEVICE: &str = "tidings.device";
pub const ERASE: &str = "tidings.erase";
pub const WELCOME: &str = "tidings.welcome";
pub const SEEN: &str = "tidings.seen";
pub const READ: &str = "tidings.read";
pub const CLEARED: &str = "tidings.cleared";
/// A visit showed entries; that somebody was on a surface is [`SEEN`].
pub const VIEWED: &str = "tidings.viewed";
pub const UNREAD: &str = "tidings.unread";
pub const RESTORED: &str = "tidings.restored";
pub const SAVED: &str = "tidings.saved";
pub const UNSAVED: &str = "tidings.unsaved";
pub const SNOOZED: &str = "tidings.snoozed";
pub const UNSNOOZED: &str = "tidings.unsnoozed";

const OURS: [&str; 20] = [
    FOLLOW, UNFOLLOW, PROFILE, DEVICE, MUTE, UNMUTE, PREFERENCE, ERASE, WELCOME, SEEN, READ, CLEARED, VIEWED,
    UNREAD, RESTORED, SAVED, UNSAVED, SNOOZED, UNSNOOZED, REVOKE,
];
const OUR_PREFIX: &str = "tidings.";

/// A CloudEvent that was admitted.
#[derive(Clone, PartialEq, Debug)]
pub enum AdmittedItem {
    Change(AdmittedChange),
    Revocation(ChangeRevocation),
    Follow(FollowFact),
    /// Cells of a person's profile.
    Profile {
        tenant: Tenant,
        person: Person,
        state: VersionedState,
    },
    Preference(PreferenceFact),
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
        at: UtcMillis,
    },
    Feedback {
        tenant: Tenant,
        person: Person,
        what: FeedbackAction,
        about: FeedbackTarget,
        /// When it was first seen: the instant its marks carry.
        at: UtcMillis,
    },
}

impl AdmittedItem {
    fn from_preference(
        (tenant, person): (Tenant, Person),
        StatedPreference { name, choice, crowd }: StatedPreference,
        version: i64,
    ) -> Self {
        Self::Preference(PreferenceFact { tenant, person, name, version, choice, crowd })
    }
}

/// What a CloudEvent is, by its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloudEventSort {
    Change,
    Fact,
    Feedback,
}

impl CloudEventSort {
    pub const ALL: [Self; 3] = [Self::Change, Self::Fact, Self::Feedback];

    /// The path at which this sort is taken.
    pub fn path(self) -> &'static str {
        match self {
            Self::Change => "/v1/changes",
            Self::Fact => "/v1/facts",
            Self::Feedback => "/v1/feedback",
        }
    }

    /// What a key must be for to send this sort.
    pub fn scope(self) -> KeyScope {
        match self {
            Self::Change => KeyScope::Changes,
            Self::Fact => KeyScope::Facts,
            Self::Feedback => KeyScope::Feedback,
        }
    }

    /// The types of this sort that have names of ours.
    pub fn types(self) -> impl Iterator<Item = &'static str> {
        OURS.into_iter().filter(move |what| Self::from_type(what) == Ok(self))
    }

    pub fn from_type(what: &str) -> Result<Self, AdmissionError> {
        match what {
            FOLLOW | UNFOLLOW | PROFILE | DEVICE | MUTE | UNMUTE | PREFERENCE | ERASE | WELCOME | SEEN => {
                Ok(Self::Fact)
            }
            READ | CLEARED | VIEWED | UNREAD | RESTORED | SAVED | UNSAVED | SNOOZED | UNSNOOZED => {
                Ok(Self::Feedback)
            }
            REVOKE => Ok(Self::Change),
            _ if what.starts_with(OUR_PREFIX) => {
                let help = suggest_name(what, OURS);
                refuse_at("/type", format!("there is no type `{}`: {help}", quote_text(what)))
            }
            _ => Ok(Self::Change),
        }
    }
}

/// Judges a CloudEvent. `first_seen` is when its record was appended, or when its request was first heard.
pub fn admit_cloud_event(
    cloud: CloudChange,
    tenant: &Tenant,
    first_seen: UtcMillis,
    rules: AdmissionRules<'_>,
    secret: &LinkSecret,
) -> Result<AdmittedItem, AdmissionError> {
    let catalogue = rules.catalogue;
    let sort = CloudEventSort::from_type(&cloud.what)?;
    let occurred = cloud.time.unwrap_or(first_seen);
    let is_change = sort == CloudEventSort::Change && cloud.what != REVOKE;
    // A fact, feedback or a revocation may be told late, but not ahead: nothing could ever override it.
    let judged = if is_change { occurred } else { occurred.max(first_seen) };
    check_timely(judged, first_seen)
        .map_err(|untimely| AdmissionError::new("/time", untimely.to_string()))?;
    if cloud.what == REVOKE {
        return revoke::judge_revocation(&cloud, tenant, occurred, catalogue).map(AdmittedItem::Revocation);
    }
    if is_change {
        return change::judge_change(cloud, tenant, occurred, catalogue, secret).map(AdmittedItem::Change);
    }
    check_lists_nothing(&cloud)?;
    let data = FactData(&cloud.data);
    let version = cloud.version.unwrap_or(occurred.0);
    let person = data.parse_name("person", Person::new)?;
    let tenant = tenant.clone();
    match cloud.what.as_str() {
        what @ (FOLLOW | UNFOLLOW) => {
            data.check_fields(&["person", "target"])?;
            let target = data.parse_name("target", SubjectRef::new)?;
            check_declared(&target, "/data/target", catalogue)?;
            Ok(AdmittedItem::Follow(FollowFact { tenant, person, target, version, on: what == FOLLOW }))
        }
        PROFILE => {
            let state = profile::profile_cells(&cloud.data, version, rules)?;
            Ok(AdmittedItem::Profile { tenant, person, state })
        }
        DEVICE => Ok(AdmittedItem::Profile { tenant, person, state: device::device_cells(data, version)? }),
        what @ (MUTE | UNMUTE) => {
            let stated = preference::parse_mute(data, what == MUTE, catalogue)?;
            Ok(AdmittedItem::from_preference((tenant, person), stated, version))
        }
        PREFERENCE => {
            // In the flat form these are attributes; without them the preference would be about something else.
            for (attribute, is_there) in
                [("subject", cloud.subject.is_some()), ("actor", cloud.actor.is_some())]
            {
                if is_there {
                    let what =
                        format!("a preference has no attribute `{attribute}`: put `{attribute}` into `data`");
                    return refuse_at(format!("/{attribute}"), what);
                }
            }
            let stated = preference::parse_preference(data, catalogue)?;
            Ok(AdmittedItem::from_preference((tenant, person), stated, version))
        }
        what @ (ERASE | WELCOME) => {
            data.check_fields(&["person"])?;
            Ok(AdmittedItem::Erase { tenant, person, version, welcomes: what == WELCOME })
        }
        SEEN => {
            data.check_fields(&["person", "surface"])?;
            let surface = parse_surface(data, catalogue)?;
            Ok(AdmittedItem::Seen { tenant, person, surface, at: occurred })
        }
        what => {
            let what = parse_action(what, data)?;
            let about = feedback::parse_target(data, what, occurred, first_seen, catalogue)?;
            Ok(AdmittedItem::Feedback { tenant, person, what, about, at: first_seen })
        }
    }
}

/// What the person did, by the type of the CloudEvent.
fn parse_action(what: &str, data: FactData<'_>) -> Result<FeedbackAction, AdmissionError> {
    Ok(match what {
        CLEARED => FeedbackAction::Cleared,
        VIEWED => FeedbackAction::Seen,
        UNREAD => FeedbackAction::Unread,
        RESTORED => FeedbackAction::Restored,
        SAVED => FeedbackAction::Saved,
        UNSAVED => FeedbackAction::Unsaved,
        SNOOZED => FeedbackAction::Snoozed(feedback::parse_until(data)?),
        UNSNOOZED => FeedbackAction::Snoozed(NOT_PUT_OFF),
        _ => FeedbackAction::Read,
    })
}

/// Refuses lists that only a change may have: with a fact they would have no effect.
fn check_lists_nothing(cloud: &CloudChange) -> Result<(), AdmissionError> {
    let what = &cloud.what;
    if !cloud.persons.is_empty() {
        return refuse_at(
            "/persons",
            format!("only a change can list persons; `{what}` is about one `person`"),
        );
    }
    if !cloud.subjects.is_empty() {
        return refuse_at("/subjects", format!("only a change can have several subjects; `{what}` cannot"));
    }
    Ok(())
}

/// A surface that the catalogue declares.
fn parse_surface(data: FactData<'_>, catalogue: &Catalogue) -> Result<Arc<str>, AdmissionError> {
    let text = data.text("surface")?;
    let known = catalogue.plans.surfaces.iter().map(|surface| &*surface.name);
    if let Some(surface) = catalogue.plans.surfaces.iter().find(|surface| *surface.name == *text) {
        return Ok(surface.name.clone());
    }
    let help = match catalogue.plans.surfaces.as_slice() {
        [] => "the catalogue declares no `surfaces`".to_owned(),
        _ => suggest_name(text, known),
    };
    refuse_at("/data/surface", format!("there is no surface `{}`: {help}", quote_text(text)))
}

#[cfg(test)]
mod tests;
