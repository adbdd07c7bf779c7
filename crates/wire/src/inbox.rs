//! `inbox`: all that concerns one person in one order, on the topic of that name: facts, what they did,
//! what became of what was sent to them, what was released or cancelled by hand, where they were seen.

use std::sync::{Arc, LazyLock};

use model::{
    EntryKey, Fact, FollowFact, MarkAction, Person, PlanName, SubjectRef, Tenant, UtcMillis,
    delivery::Delivery, person::Act,
};
use serde::{Deserialize, Serialize};

use crate::{
    cell::{CellDto, state_cells, to_state},
    codec::{DecodeError, RecordCodec, WireError},
    delivery::DeliveryDto,
    list,
    record_parts::{EntryKeyDto, WireText, entry_keys, to_entry_keys},
};

/// One thing that concerns a person.
#[derive(Clone, PartialEq, Debug)]
pub enum InboxItem {
    Fact(Fact),
    Feedback(Feedback),
    Delivery(Box<Delivery>),
    /// Somebody released or cancelled the person's windows under a plan by hand.
    ByHand {
        tenant: Tenant,
        person: Person,
        act: Act,
        plan: PlanName,
        /// The one with this key, or all of them.
        key: Option<Arc<str>>,
        at: UtcMillis,
    },
    /// The person was seen on a surface, by its name in the catalogue.
    Seen {
        tenant: Tenant,
        person: Person,
        surface: Arc<str>,
        at: UtcMillis,
    },
    /// The person was erased: what is remembered of them goes.
    Erased {
        tenant: Tenant,
        person: Person,
        at: UtcMillis,
    },
}

/// What a person did to entries. The marks were written before this is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feedback {
    pub tenant: Tenant,
    pub person: Person,
    pub what: FeedbackAction,
    pub keys: Vec<EntryKey>,
    pub at: UtcMillis,
}

/// What they did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeedbackAction {
    Read,
    Cleared,
    /// A visit showed it to them.
    Seen,
    Unread,
    Restored,
    Saved,
    Unsaved,
    /// They put it off until then.
    Snoozed(UtcMillis),
}

impl FeedbackAction {
    /// The mark that it leaves.
    pub fn mark(self) -> MarkAction {
        match self {
            Self::Read => MarkAction::Read,
            Self::Cleared => MarkAction::Cleared,
            Self::Seen => MarkAction::Seen,
            Self::Unread => MarkAction::Unread,
            Self::Restored => MarkAction::Restored,
            Self::Saved => MarkAction::Saved,
            Self::Unsaved => MarkAction::Unsaved,
            Self::Snoozed(until) => MarkAction::Snoozed(until),
        }
    }
}

impl InboxItem {
    /// Whom it concerns; they give the record's key and partition.
    pub fn owner(&self) -> (&Tenant, &Person) {
        match self {
            Self::Fact(Fact::Follow(follow)) => (&follow.tenant, &follow.person),
            Self::Fact(Fact::Profile { tenant, person, .. })
            | Self::ByHand { tenant, person, .. }
            | Self::Seen { tenant, person, .. }
            | Self::Erased { tenant, person, .. } => (tenant, person),
            Self::Feedback(feedback) => (&feedback.tenant, &feedback.person),
            Self::Delivery(delivery) => (&delivery.tenant, &delivery.person),
        }
    }
}

pub(crate) static CODEC: LazyLock<RecordCodec> = LazyLock::new(|| RecordCodec::new("inbox", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 8] = [
    include_str!("../../../schemas/inbox.avsc"),
    include_str!("../../../schemas/old/inbox.7.avsc"),
    include_str!("../../../schemas/old/inbox.6.avsc"),
    include_str!("../../../schemas/old/inbox.5.avsc"),
    include_str!("../../../schemas/old/inbox.4.avsc"),
    include_str!("../../../schemas/old/inbox.3.avsc"),
    include_str!("../../../schemas/old/inbox.2.avsc"),
    include_str!("../../../schemas/old/inbox.1.avsc"),
];

#[derive(Serialize, Deserialize)]
#[serde(rename = "inbox")]
pub(crate) struct InboxItemDto<'a> {
    body: InboxBodyDto<'a>,
}

/// The order of the variants is the order of the union. Boxed, for a delivery is large and rare.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InboxBodyDto<'a> {
    Follow(FollowDto<'a>),
    Profile(ProfileDto<'a>),
    Feedback(FeedbackDto<'a>),
    Delivery(Box<DeliveryDto<'a>>),
    Release(ReleaseDto<'a>),
    Seen(SightingDto<'a>),
    Erased(PersonErasedDto<'a>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "follow")]
struct FollowDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    target: WireText<'a>,
    version: i64,
    on: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "profile")]
struct ProfileDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    #[serde(with = "list")]
    state: Vec<CellDto<'a>>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "did", rename_all = "snake_case")]
enum DidDto {
    Read,
    Cleared,
    Seen,
    Unread,
    Restored,
    Saved,
    Unsaved,
    Snoozed,
}

impl DidDto {
    fn from_action(action: FeedbackAction) -> (Self, Option<UtcMillis>) {
        match action {
            FeedbackAction::Read => (Self::Read, None),
            FeedbackAction::Cleared => (Self::Cleared, None),
            FeedbackAction::Seen => (Self::Seen, None),
            FeedbackAction::Unread => (Self::Unread, None),
            FeedbackAction::Restored => (Self::Restored, None),
            FeedbackAction::Saved => (Self::Saved, None),
            FeedbackAction::Unsaved => (Self::Unsaved, None),
            FeedbackAction::Snoozed(until) => (Self::Snoozed, Some(until)),
        }
    }

    fn action(self, until: Option<UtcMillis>) -> Result<FeedbackAction, DecodeError> {
        Ok(match (self, until) {
            (Self::Read, None) => FeedbackAction::Read,
            (Self::Cleared, None) => FeedbackAction::Cleared,
            (Self::Seen, None) => FeedbackAction::Seen,
            (Self::Unread, None) => FeedbackAction::Unread,
            (Self::Restored, None) => FeedbackAction::Restored,
            (Self::Saved, None) => FeedbackAction::Saved,
            (Self::Unsaved, None) => FeedbackAction::Unsaved,
            (Self::Snoozed, Some(until)) => FeedbackAction::Snoozed(until),
            (what, _) => {
                return Err(DecodeError::new(format!(
                    "feedback {what:?} lacks an instant or has one too many"
                )));
            }
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "feedback")]
struct FeedbackDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    what: DidDto,
    #[serde(with = "list")]
    keys: Vec<EntryKeyDto>,
    until: Option<i64>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "release")]
struct ReleaseDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    plan: WireText<'a>,
    at: i64,
    key: Option<WireText<'a>>,
    cancels: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "seen")]
struct SightingDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    surface: WireText<'a>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "erased")]
struct PersonErasedDto<'a> {
    tenant: WireText<'a>,
    person: WireText<'a>,
    at: i64,
}

pub fn encode(inbox: &InboxItem) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&InboxItemDto::from_item(inbox))
}

pub fn decode(bytes: &[u8]) -> Result<InboxItem, DecodeError> {
    CODEC.decode::<InboxItemDto<'_>>(bytes)?.model()
}

impl<'a> InboxItemDto<'a> {
    pub(crate) fn from_item(inbox: &'a InboxItem) -> Self {
        let body = match inbox {
            InboxItem::Fact(Fact::Follow(follow)) => InboxBodyDto::Follow(FollowDto::from_follow(follow)),
            InboxItem::Fact(Fact::Profile { tenant, person, state }) => InboxBodyDto::Profile(ProfileDto {
                tenant: tenant.as_str().into(),
                person: person.as_str().into(),
                state: state_cells(state),
            }),
            InboxItem::Feedback(feedback) => InboxBodyDto::Feedback(FeedbackDto::from_feedback(feedback)),
            InboxItem::Delivery(delivery) => {
                InboxBodyDto::Delivery(Box::new(DeliveryDto::from_delivery(delivery)))
            }
            InboxItem::ByHand { tenant, person, act, plan, key, at } => InboxBodyDto::Release(ReleaseDto {
                tenant: tenant.as_str().into(),
                person: person.as_str().into(),
                plan: plan.as_str().into(),
                at: at.0,
                key: key.as_deref().map(WireText::Borrowed),
                cancels: *act == Act::Cancel,
            }),
            InboxItem::Seen { tenant, person, surface, at } => InboxBodyDto::Seen(SightingDto {
                tenant: tenant.as_str().into(),
                person: person.as_str().into(),
                surface: WireText::Borrowed(surface),
                at: at.0,
            }),
            InboxItem::Erased { tenant, person, at } => InboxBodyDto::Erased(PersonErasedDto {
                tenant: tenant.as_str().into(),
                person: person.as_str().into(),
                at: at.0,
            }),
        };
        Self { body }
    }

    fn model(self) -> Result<InboxItem, DecodeError> {
        Ok(match self.body {
            InboxBodyDto::Follow(follow) => InboxItem::Fact(Fact::Follow(follow.model()?)),
            InboxBodyDto::Profile(ProfileDto { tenant, person, state }) => InboxItem::Fact(Fact::Profile {
                tenant: Tenant::new(&tenant)?,
                person: Person::new(&person)?,
                state: to_state(state)?,
            }),
            InboxBodyDto::Feedback(feedback) => InboxItem::Feedback(feedback.model()?),
            InboxBodyDto::Delivery(delivery) => InboxItem::Delivery(Box::new(delivery.model()?)),
            InboxBodyDto::Release(ReleaseDto { tenant, person, plan, at, key, cancels }) => {
                InboxItem::ByHand {
                    tenant: Tenant::new(&tenant)?,
                    person: Person::new(&person)?,
                    act: if cancels { Act::Cancel } else { Act::Release },
                    plan: PlanName::new(&plan)?,
                    key: key.as_deref().map(Arc::from),
                    at: UtcMillis(at),
                }
            }
            InboxBodyDto::Seen(SightingDto { tenant, person, surface, at }) => InboxItem::Seen {
                tenant: Tenant::new(&tenant)?,
                person: Person::new(&person)?,
                surface: surface.as_ref().into(),
                at: UtcMillis(at),
            },
            InboxBodyDto::Erased(PersonErasedDto { tenant, person, at }) => InboxItem::Erased {
                tenant: Tenant::new(&tenant)?,
                person: Person::new(&person)?,
                at: UtcMillis(at),
            },
        })
    }
}

impl<'a> FollowDto<'a> {
    fn from_follow(follow: &'a FollowFact) -> Self {
        Self {
            tenant: follow.tenant.as_str().into(),
            person: follow.person.as_str().into(),
            target: follow.target.as_str().into(),
            version: follow.version,
            on: follow.on,
        }
    }

    fn model(&self) -> Result<FollowFact, DecodeError> {
        Ok(FollowFact {
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            target: SubjectRef::new(&self.target)?,
            version: self.version,
            on: self.on,
        })
    }
}

impl<'a> FeedbackDto<'a> {
    fn from_feedback(feedback: &'a Feedback) -> Self {
        let (what, until) = DidDto::from_action(feedback.what);
        Self {
            tenant: feedback.tenant.as_str().into(),
            person: feedback.person.as_str().into(),
            what,
            keys: entry_keys(&feedback.keys),
            until: until.map(|until| until.0),
            at: feedback.at.0,
        }
    }

    fn model(&self) -> Result<Feedback, DecodeError> {
        Ok(Feedback {
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            what: self.what.action(self.until.map(UtcMillis))?,
            keys: to_entry_keys(&self.keys)?,
            at: UtcMillis(self.at),
        })
    }
}
