//! What became of a Ready; reported by the sender to the person's inbox, acted on by the owner.

use std::sync::Arc;

use crate::{
    entry::EntryKey,
    id::{Person, PlanName, ReadyId, Tenant},
    mark::{Channel, EndReason},
    ready::Ready,
    time::UtcMillis,
};

/// The report on one attempt at one Ready.
#[derive(Clone, PartialEq, Debug)]
pub struct Delivery {
    pub ready: ReadyId,
    pub tenant: Tenant,
    pub person: Person,
    pub plan: PlanName,
    pub key: Arc<str>,
    pub channel: Channel,
    pub attempt: u16,
    pub at: UtcMillis,
    pub outcome: DeliveryOutcome,
}

impl Delivery {
    /// What became of a Ready at an instant, by the attempt that it is.
    pub fn from_ready(ready: &Ready, at: UtcMillis, outcome: DeliveryOutcome) -> Self {
        Self {
            ready: ready.id,
            tenant: ready.tenant.clone(),
            person: ready.person.clone(),
            plan: ready.plan.clone(),
            key: ready.key.clone(),
            channel: ready.channel,
            attempt: ready.attempt,
            at,
            outcome,
        }
    }
}

/// What became of it.
#[derive(Clone, PartialEq, Debug)]
pub enum DeliveryOutcome {
    /// Accepted by the channel, without those that did not hold any more.
    Sent { left: Vec<(EntryKey, EndReason)> },
    /// Nothing held any more, so nothing was sent.
    Nothing { left: Vec<(EntryKey, EndReason)> },
    /// Refused for good; the entries end.
    Refused { left: Vec<(EntryKey, EndReason)> },
    /// Nobody can say whether it was sent; these come back once, these end.
    Unknown { back: Vec<EntryKey>, left: Vec<(EntryKey, EndReason)> },
    /// It was not sent, nor will it be, and these come back.
    Returned { back: Vec<EntryKey> },
    /// Not now: the owner re-issues it at this instant. The Ready comes back whole, for the sender
    /// keeps nothing. It may be in somebody's hands and go out yet.
    Deferred { until: UtcMillis, ready: Ready },
}
