//! What became of a Ready; reported by the sender to the person's inbox, acted on by the owner.

use std::sync::Arc;

use crate::{
    entry::EntryKey,
    id::{Person, PlanName, ReadyId, Tenant},
    mark::{Channel, Why},
    ready::Ready,
    time::Millis,
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
    pub at: Millis,
    pub outcome: Outcome,
}

impl Delivery {
    /// What became of a Ready at an instant, by the attempt that it is.
    pub fn of(ready: &Ready, at: Millis, outcome: Outcome) -> Self {
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
pub enum Outcome {
    /// Accepted by the channel, without those that did not hold any more.
    Sent { left: Vec<(EntryKey, Why)> },
    /// Nothing held any more, so nothing was sent.
    Nothing { left: Vec<(EntryKey, Why)> },
    /// Refused for good; the entries end.
    Refused { left: Vec<(EntryKey, Why)> },
    /// Nobody can say whether it was sent; these come back once, these end.
    Unknown { back: Vec<EntryKey>, left: Vec<(EntryKey, Why)> },
    /// It was not sent, nor will it be, and these come back.
    Returned { back: Vec<EntryKey> },
    /// Not now: the owner re-issues it at this instant. The Ready comes back whole, for the sender
    /// keeps nothing. It may be in somebody's hands and go out yet.
    Deferred { until: Millis, ready: Ready },
}
