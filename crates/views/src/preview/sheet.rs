//! What a preview rests on: what is known of a person, and what a message is to tell them.

use std::{collections::BTreeSet, sync::Arc};

use model::{
    DayView, Person, VersionedState, WorldSnapshot,
    limits::DAY_MS,
    person::PersonRecord,
    plan::Plan,
    ready::{self, Ready, ReadyEntry},
};

use super::{LookupContext, PreviewOrder, PreviewSource};

/// What is known of a person.
pub struct LoadedPerson {
    pub profile: VersionedState,
    pub preferences: VersionedState,
    pub notes: VersionedState,
    pub view: DayView,
    pub record: Option<PersonRecord>,
    /// Who did what the person's entries tell and was erased since.
    pub erased: BTreeSet<Person>,
}

/// What a message is to tell, and of which world.
pub struct PreviewSheet {
    pub of: PreviewSource,
    pub entries: Vec<ReadyEntry>,
    /// By section, what there is no room for.
    pub more: Vec<u16>,
    pub key: Arc<str>,
    pub world: WorldSnapshot,
    /// The person's days, with what is only supposed.
    pub view: DayView,
}

impl LoadedPerson {
    pub fn is_nobody(&self) -> bool {
        self.profile.is_empty() && self.view.is_empty() && self.record.is_none()
    }
}

impl PreviewSheet {
    /// What the digest would hand on.
    pub fn build_ready(&self, order: &PreviewOrder<'_>, plan: &Plan, at: LookupContext<'_>) -> Ready {
        let (tenant, person, now) = (at.tenant.clone(), order.person.clone(), at.now);
        Ready {
            id: ready::derive_ready_id(&tenant, &person, &plan.name, &self.key, now, 0),
            tenant,
            person,
            plan: plan.name.clone(),
            key: self.key.clone(),
            opening: now,
            channel: plan.channel,
            silent: false,
            attempt: 0,
            due: now,
            expires: now.plus(DAY_MS),
            entries: self.entries.clone(),
            more: self.more.clone(),
            badge: false,
            renews: None,
        }
    }
}
