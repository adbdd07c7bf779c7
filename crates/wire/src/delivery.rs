//! The report on one attempt at one Ready, as serde sees it: a part of `inbox`.

use model::{
    Person, PlanName, ReadyId, Tenant, UtcMillis,
    delivery::{Delivery, DeliveryOutcome},
};
use serde::{Deserialize, Serialize};

use crate::{
    bytes::FixedBytes,
    codec::DecodeError,
    list,
    ready::ReadyDto,
    record_parts::{
        ChannelDto, EntryKeyDto, HookDto, WhyDto, WireText, entry_key, entry_keys, join_channel, ready_id,
        split_channel, to_entry_keys,
    },
};

#[derive(Serialize, Deserialize)]
#[serde(rename = "delivery")]
pub(crate) struct DeliveryDto<'a> {
    ready: FixedBytes<16>,
    tenant: WireText<'a>,
    person: WireText<'a>,
    plan: WireText<'a>,
    key: WireText<'a>,
    channel: ChannelDto,
    hook: HookDto,
    attempt: u16,
    at: i64,
    outcome: DeliveryOutcomeDto,
    #[serde(with = "list")]
    left: Vec<LeftOutEntryDto>,
    #[serde(with = "list")]
    back: Vec<EntryKeyDto>,
    until: Option<i64>,
    again: Option<ReadyDto<'a>>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename = "outcome", rename_all = "snake_case")]
enum DeliveryOutcomeDto {
    Sent,
    Nothing,
    Refused,
    Unknown,
    Deferred,
    Returned,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename = "left")]
struct LeftOutEntryDto {
    key: EntryKeyDto,
    why: WhyDto,
}

impl<'a> DeliveryDto<'a> {
    pub(crate) fn from_delivery(delivery: &'a Delivery) -> Self {
        let none: (&[_], &[_]) = (&[], &[]);
        let (outcome, (left, back), deferred) = match &delivery.outcome {
            DeliveryOutcome::Sent { left } => (DeliveryOutcomeDto::Sent, (left.as_slice(), none.1), None),
            DeliveryOutcome::Nothing { left } => {
                (DeliveryOutcomeDto::Nothing, (left.as_slice(), none.1), None)
            }
            DeliveryOutcome::Refused { left } => {
                (DeliveryOutcomeDto::Refused, (left.as_slice(), none.1), None)
            }
            DeliveryOutcome::Unknown { back, left } => {
                (DeliveryOutcomeDto::Unknown, (left.as_slice(), back.as_slice()), None)
            }
            DeliveryOutcome::Returned { back } => {
                (DeliveryOutcomeDto::Returned, (none.0, back.as_slice()), None)
            }
            DeliveryOutcome::Deferred { until, ready } => {
                (DeliveryOutcomeDto::Deferred, none, Some((until.0, ready)))
            }
        };
        let (channel, hook) = split_channel(delivery.channel);
        Self {
            ready: ready_id(delivery.ready),
            tenant: delivery.tenant.as_str().into(),
            person: delivery.person.as_str().into(),
            plan: delivery.plan.as_str().into(),
            key: WireText::Borrowed(&delivery.key),
            channel,
            hook,
            attempt: delivery.attempt,
            at: delivery.at.0,
            outcome,
            left: left
                .iter()
                .map(|(key, why)| LeftOutEntryDto { key: entry_key(*key), why: WhyDto::from_model(*why) })
                .collect(),
            back: entry_keys(back),
            until: deferred.map(|(until, _)| until),
            again: deferred.map(|(_, ready)| ReadyDto::from_ready(ready)),
        }
    }

    pub(crate) fn model(self) -> Result<Delivery, DecodeError> {
        let left = self.left.iter().map(|left| Ok((left.key.model()?, left.why.model())));
        let left = left.collect::<Result<Vec<_>, DecodeError>>()?;
        let back = to_entry_keys(&self.back)?;
        let again = self.again.map(ReadyDto::model).transpose()?;
        let outcome = match (self.outcome, back.is_empty(), self.until, again) {
            (DeliveryOutcomeDto::Sent, true, None, None) => DeliveryOutcome::Sent { left },
            (DeliveryOutcomeDto::Nothing, true, None, None) => DeliveryOutcome::Nothing { left },
            (DeliveryOutcomeDto::Refused, true, None, None) => DeliveryOutcome::Refused { left },
            (DeliveryOutcomeDto::Unknown, _, None, None) => DeliveryOutcome::Unknown { back, left },
            (DeliveryOutcomeDto::Returned, _, None, None) if left.is_empty() => {
                DeliveryOutcome::Returned { back }
            }
            (DeliveryOutcomeDto::Deferred, true, Some(until), Some(ready)) if left.is_empty() => {
                DeliveryOutcome::Deferred { until: UtcMillis(until), ready }
            }
            (outcome, ..) => {
                let reason = format!("a delivery {outcome:?} lacks a part or has one too many");
                return Err(DecodeError::new(reason));
            }
        };
        Ok(Delivery {
            ready: ReadyId(self.ready.0),
            tenant: Tenant::new(&self.tenant)?,
            person: Person::new(&self.person)?,
            plan: PlanName::new(&self.plan)?,
            key: self.key.as_ref().into(),
            channel: join_channel(self.channel, self.hook.as_deref())?,
            attempt: self.attempt,
            at: UtcMillis(self.at),
            outcome,
        })
    }
}
