//! `inbox`: all that concerns one person in one order, on the topic of that name: facts, what they did,
//! what became of what was sent to them, what was released or cancelled by hand, where they were seen.

use std::sync::{Arc, LazyLock};

use model::{
    EntryKey, Fact, Follow, Millis, Person, PlanName, SubjectRef, Tenant, delivery::Delivery, person::Act,
};
use serde::{Deserialize, Serialize};

use crate::{
    cell::{CellDto, cells, to_state},
    codec::{Codec, Undecodable, WireError},
    delivery::DeliveryDto,
    list,
    parts::{EntryKeyDto, Text, entry_keys, to_entry_keys, twins},
};

/// One thing that concerns a person.
#[derive(Clone, PartialEq, Debug)]
pub enum Inbox {
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
        at: Millis,
    },
    /// The person was seen on a surface, by its name in the catalogue.
    Seen {
        tenant: Tenant,
        person: Person,
        surface: Arc<str>,
        at: Millis,
    },
    /// The person was erased: what is remembered of them goes.
    Erased {
        tenant: Tenant,
        person: Person,
        at: Millis,
    },
}

/// What a person did to entries. The marks were written before this is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feedback {
    pub tenant: Tenant,
    pub person: Person,
    pub what: Did,
    pub keys: Vec<EntryKey>,
    pub at: Millis,
}

/// What they did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Did {
    Read,
    Cleared,
}

impl Inbox {
    /// Whom it concerns; they give the record's key and partition.
    pub fn whose(&self) -> (&Tenant, &Person) {
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

pub(crate) static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("inbox", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 6] = [
    include_str!("../../../schemas/inbox.avsc"),
    include_str!("../../../schemas/old/inbox.5.avsc"),
    include_str!("../../../schemas/old/inbox.4.avsc"),
    include_str!("../../../schemas/old/inbox.3.avsc"),
    include_str!("../../../schemas/old/inbox.2.avsc"),
    include_str!("../../../schemas/old/inbox.1.avsc"),
];

#[derive(Serialize, Deserialize)]
#[serde(rename = "inbox")]
pub(crate) struct InboxDto<'a> {
    body: BodyDto<'a>,
}

/// The order of the variants is the order of the union. Boxed, for a delivery is large and rare.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BodyDto<'a> {
    Follow(FollowDto<'a>),
    Profile(ProfileDto<'a>),
    Feedback(FeedbackDto<'a>),
    Delivery(Box<DeliveryDto<'a>>),
    Release(ReleaseDto<'a>),
    Seen(SeenDto<'a>),
    Erased(ErasedDto<'a>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "follow")]
struct FollowDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    target: Text<'a>,
    version: i64,
    on: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "profile")]
struct ProfileDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    #[serde(with = "list")]
    state: Vec<CellDto<'a>>,
}

twins!(DidDto = Did as "did": Read, Cleared);

#[derive(Serialize, Deserialize)]
#[serde(rename = "feedback")]
struct FeedbackDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    what: DidDto,
    #[serde(with = "list")]
    keys: Vec<EntryKeyDto>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "release")]
struct ReleaseDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    plan: Text<'a>,
    at: i64,
    key: Option<Text<'a>>,
    cancels: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "seen")]
struct SeenDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    surface: Text<'a>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "erased")]
struct ErasedDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    at: i64,
}

pub fn encode(inbox: &Inbox) -> Result<Vec<u8>, WireError> {
    CODEC.encode(&InboxDto::of(inbox))
}

pub fn decode(bytes: &[u8]) -> Result<Inbox, Undecodable> {
    CODEC.decode::<InboxDto<'_>>(bytes)?.model()
}

impl<'a> InboxDto<'a> {
    pub(crate) fn of(inbox: &'a Inbox) -> Self {
        let body = match inbox {
            Inbox::Fact(Fact::Follow(follow)) => BodyDto::Follow(FollowDto::of(follow)),
            Inbox::Fact(Fact::Profile { tenant, person, state }) => BodyDto::Profile(ProfileDto {
                tenant: tenant.as_str().into(),
                person: person.as_str().into(),
                state: cells(state),
            }),
            Inbox::Feedback(feedback) => BodyDto::Feedback(FeedbackDto::of(feedback)),
            Inbox::Delivery(delivery) => BodyDto::Delivery(Box::new(DeliveryDto::of(delivery))),
            Inbox::ByHand { tenant, person, act, plan, key, at } => BodyDto::Release(ReleaseDto {
                tenant: tenant.as_str().into(),
                person: person.as_str().into(),
                plan: plan.as_str().into(),
                at: at.0,
                key: key.as_deref().map(Text::Borrowed),
                cancels: *act == Act::Cancel,
            }),
            Inbox::Seen { tenant, person, surface, at } => BodyDto::Seen(SeenDto {
                tenant: tenant.as_str().into(),
                person: person.as_str().into(),
                surface: Text::Borrowed(surface),
                at: at.0,
            }),
            Inbox::Erased { tenant, person, at } => BodyDto::Erased(ErasedDto {
                tenant: tenant.as_str().into(),
                person: person.as_str().into(),
                at: at.0,
            }),
        };
        Self { body }
    }

    fn model(self) -> Result<Inbox, Undecodable> {
        Ok(match self.body {
            BodyDto::Follow(follow) => Inbox::Fact(Fact::Follow(follow.model()?)),
            BodyDto::Profile(ProfileDto { tenant, person, state }) => Inbox::Fact(Fact::Profile {
                tenant: Tenant::new(&tenant)?,
                person: Person::new(&person)?,
                state: to_state(state)?,
            }),
            BodyDto::Feedback(feedback) => Inbox::Feedback(feedback.model()?),
            BodyDto::Delivery(delivery) => Inbox::Delivery(Box::new(delivery.model()?)),
            BodyDto::Release(ReleaseDto { tenant, person, plan, at, key, cancels }) => Inbox::ByHand {
                tenant: Tenant::new(&tenant)?,
                person: Person::new(&person)?,
                act: if cancels { Act::Cancel } else { Act::Release },
                plan: PlanName::new(&plan)?,
                key: key.as_deref().map(Arc::from),
                at: Millis(at),
            },
            BodyDto::Seen(SeenDto { tenant, person, surface, at }) => Inbox::Seen {
                tenant: Tenant::new(&tenant)?,
                person: Person::new(&person)?,
                surface: surface.as_ref().into(),
                at: Millis(at),
            },
            BodyDto::Erased(ErasedDto { tenant, person, at }) => {
                Inbox::Erased { tenant: Tenant::new(&tenant)?, person: Person::new(&person)?, at: Millis(at) }
            }
        })
    }
}

impl<'a> FollowDto<'a> {
    fn of(follow: &'a Follow) -> Self {
        Self {
            tenant: follow.tenant.as_str().into(),
            person: follow.person.as_str().into(),
            target: follow.target.as_str().into(),
            version: follow.version,
            on: follow.on,
        }
    }

    fn model(&self) -> Result<Follow, Undecodable> {
        Ok(Follow {
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            target: SubjectRef::new(&self.target)?,
            version: self.version,
            on: self.on,
        })
    }
}

impl<'a> FeedbackDto<'a> {
    fn of(feedback: &'a Feedback) -> Self {
        Self {
            tenant: feedback.tenant.as_str().into(),
            person: feedback.person.as_str().into(),
            what: DidDto::of(feedback.what),
            keys: entry_keys(&feedback.keys),
            at: feedback.at.0,
        }
    }

    fn model(&self) -> Result<Feedback, Undecodable> {
        Ok(Feedback {
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            what: self.what.model(),
            keys: to_entry_keys(&self.keys)?,
            at: Millis(self.at),
        })
    }
}
