//! The report on one attempt at one Ready, as serde sees it: a part of `inbox`.

use model::{
    Millis, Person, PlanName, ReadyId, Tenant,
    delivery::{Delivery, Outcome},
};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Fixed,
    codec::Undecodable,
    list,
    parts::{
        ChannelDto, EntryKeyDto, HookDto, Text, WhyDto, channel, entry_key, entry_keys, ready_id, to_channel,
        to_entry_keys,
    },
    ready::ReadyDto,
};

#[derive(Serialize, Deserialize)]
#[serde(rename = "delivery")]
pub(crate) struct DeliveryDto<'a> {
    ready: Fixed<16>,
    tenant: Text<'a>,
    person: Text<'a>,
    plan: Text<'a>,
    key: Text<'a>,
    channel: ChannelDto,
    hook: HookDto,
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
    Returned,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename = "left")]
struct LeftDto {
    key: EntryKeyDto,
    why: WhyDto,
}

impl<'a> DeliveryDto<'a> {
    pub(crate) fn of(delivery: &'a Delivery) -> Self {
        let none: (&[_], &[_]) = (&[], &[]);
        let (outcome, (left, back), deferred) = match &delivery.outcome {
            Outcome::Sent { left } => (OutcomeDto::Sent, (left.as_slice(), none.1), None),
            Outcome::Nothing { left } => (OutcomeDto::Nothing, (left.as_slice(), none.1), None),
            Outcome::Refused { left } => (OutcomeDto::Refused, (left.as_slice(), none.1), None),
            Outcome::Unknown { back, left } => {
                (OutcomeDto::Unknown, (left.as_slice(), back.as_slice()), None)
            }
            Outcome::Returned { back } => (OutcomeDto::Returned, (none.0, back.as_slice()), None),
            Outcome::Deferred { until, ready } => (OutcomeDto::Deferred, none, Some((until.0, ready))),
        };
        let (channel, hook) = channel(delivery.channel);
        Self {
            ready: ready_id(delivery.ready),
            tenant: delivery.tenant.as_str().into(),
            person: delivery.person.as_str().into(),
            plan: delivery.plan.as_str().into(),
            key: Text::Borrowed(&delivery.key),
            channel,
            hook,
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

    pub(crate) fn model(self) -> Result<Delivery, Undecodable> {
        let left = self.left.iter().map(|left| Ok((left.key.model()?, left.why.model())));
        let left = left.collect::<Result<Vec<_>, Undecodable>>()?;
        let back = to_entry_keys(&self.back)?;
        let again = self.again.map(ReadyDto::model).transpose()?;
        let outcome = match (self.outcome, back.is_empty(), self.until, again) {
            (OutcomeDto::Sent, true, None, None) => Outcome::Sent { left },
            (OutcomeDto::Nothing, true, None, None) => Outcome::Nothing { left },
            (OutcomeDto::Refused, true, None, None) => Outcome::Refused { left },
            (OutcomeDto::Unknown, _, None, None) => Outcome::Unknown { back, left },
            (OutcomeDto::Returned, _, None, None) if left.is_empty() => Outcome::Returned { back },
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
            channel: to_channel(self.channel, self.hook.as_deref())?,
            attempt: self.attempt,
            at: Millis(self.at),
            outcome,
        })
    }
}
