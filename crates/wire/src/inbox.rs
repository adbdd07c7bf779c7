//! `inbox`: all that concerns one person in one order, on the topic of that name: facts, what they did,
//! what became of what was sent to them, what was released for them by hand.

use std::sync::LazyLock;

use model::{
    EntryKey, Fact, Follow, Millis, Person, PlanName, ReadyId, SubjectRef, Tenant,
    delivery::{Delivery, Outcome},
};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Fixed,
    cell::{CellDto, cells, to_state},
    codec::{Codec, Undecodable, WireError},
    list,
    parts::{ChannelDto, EntryKeyDto, Text, WhyDto, entry_key, entry_keys, ready_id, to_entry_keys, twins},
    ready::ReadyDto,
};

/// One thing that concerns a person.
#[derive(Clone, PartialEq, Debug)]
pub enum Inbox {
    Fact(Fact),
    Feedback(Feedback),
    Delivery(Delivery),
    /// Somebody released the person's windows under a plan by hand.
    Release {
        tenant: Tenant,
        person: Person,
        plan: PlanName,
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
            Self::Fact(Fact::Profile { tenant, person, .. }) | Self::Release { tenant, person, .. } => {
                (tenant, person)
            }
            Self::Feedback(feedback) => (&feedback.tenant, &feedback.person),
            Self::Delivery(delivery) => (&delivery.tenant, &delivery.person),
        }
    }
}

pub(crate) static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new("inbox", &SCHEMAS));

/// Ours first, then all that were ours before.
const SCHEMAS: [&str; 2] =
    [include_str!("../../../schemas/inbox.avsc"), include_str!("../../../schemas/old/inbox.1.avsc")];

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
#[serde(rename = "delivery")]
struct DeliveryDto<'a> {
    ready: Fixed<16>,
    tenant: Text<'a>,
    person: Text<'a>,
    plan: Text<'a>,
    key: Text<'a>,
    channel: ChannelDto,
    attempt: u16,
    at: i64,
    outcome: OutcomeDto,
    #[serde(with = "list")]
    left: Vec<LeftDto>,
    #[serde(with = "list")]
    back: Vec<EntryKeyDto>,
    until: Option<i64>,
    again: Option<ReadyDto<'a>>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "outcome", rename_all = "snake_case")]
enum OutcomeDto {
    Sent,
    Nothing,
    Refused,
    Unknown,
    Deferred,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename = "left")]
struct LeftDto {
    key: EntryKeyDto,
    why: WhyDto,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "release")]
struct ReleaseDto<'a> {
    tenant: Text<'a>,
    person: Text<'a>,
    plan: Text<'a>,
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
            Inbox::Release { tenant, person, plan, at } => BodyDto::Release(ReleaseDto {
                tenant: tenant.as_str().into(),
                person: person.as_str().into(),
                plan: plan.as_str().into(),
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
            BodyDto::Delivery(delivery) => Inbox::Delivery(delivery.model()?),
            BodyDto::Release(ReleaseDto { tenant, person, plan, at }) => Inbox::Release {
                tenant: Tenant::new(&tenant)?,
                person: Person::new(&person)?,
                plan: PlanName::new(&plan)?,
                at: Millis(at),
            },
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

impl<'a> DeliveryDto<'a> {
    fn of(delivery: &'a Delivery) -> Self {
        let none: (&[_], &[_]) = (&[], &[]);
        let (outcome, (left, back), deferred) = match &delivery.outcome {
            Outcome::Sent { left } => (OutcomeDto::Sent, (left.as_slice(), none.1), None),
            Outcome::Nothing { left } => (OutcomeDto::Nothing, (left.as_slice(), none.1), None),
            Outcome::Refused { left } => (OutcomeDto::Refused, (left.as_slice(), none.1), None),
            Outcome::Unknown { back, left } => {
                (OutcomeDto::Unknown, (left.as_slice(), back.as_slice()), None)
            }
            Outcome::Deferred { until, ready } => (OutcomeDto::Deferred, none, Some((until.0, ready))),
        };
        Self {
            ready: ready_id(delivery.ready),
            tenant: delivery.tenant.as_str().into(),
            person: delivery.person.as_str().into(),
            plan: delivery.plan.as_str().into(),
            key: Text::Borrowed(&delivery.key),
            channel: ChannelDto::of(delivery.channel),
            attempt: delivery.attempt,
            at: delivery.at.0,
            outcome,
            left: left
                .iter()
                .map(|(key, why)| LeftDto { key: entry_key(*key), why: WhyDto::of(*why) })
                .collect(),
            back: entry_keys(back),
            until: deferred.map(|(until, _)| until),
            again: deferred.map(|(_, ready)| ReadyDto::of(ready)),
        }
    }

    fn model(self) -> Result<Delivery, Undecodable> {
        let left = self.left.iter().map(|left| Ok((left.key.model()?, left.why.model())));
        let left = left.collect::<Result<Vec<_>, Undecodable>>()?;
        let back = to_entry_keys(&self.back)?;
        let again = self.again.map(ReadyDto::model).transpose()?;
        let outcome = match (self.outcome, back.is_empty(), self.until, again) {
            (OutcomeDto::Sent, true, None, None) => Outcome::Sent { left },
            (OutcomeDto::Nothing, true, None, None) => Outcome::Nothing { left },
            (OutcomeDto::Refused, true, None, None) => Outcome::Refused { left },
            (OutcomeDto::Unknown, _, None, None) => Outcome::Unknown { back, left },
            (OutcomeDto::Deferred, true, Some(until), Some(ready)) if left.is_empty() => {
                Outcome::Deferred { until: Millis(until), ready }
            }
            (outcome, ..) => {
                let reason = format!("a delivery {outcome:?} lacks a part or has one too many");
                return Err(Undecodable::new(reason));
            }
        };
        Ok(Delivery {
            ready: ReadyId(self.ready.0),
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            plan: PlanName::new(&self.plan)?,
            key: self.key.as_ref().into(),
            channel: self.channel.model(),
            attempt: self.attempt,
            at: Millis(self.at),
            outcome,
        })
    }
}
