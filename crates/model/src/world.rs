//! What is known of subjects and follows at the moment of asking: what conditions and texts look at.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    entry::EntryKey,
    fault::{self, PlantedFault},
    id::{EventKey, Person, SubjectRef, Tenant},
    value::VersionedState,
};

/// The field in which a subject has that it was deleted; its version is the instant. No catalogue can declare such a name.
pub const DELETED: &str = "tidings.deleted";

/// The known facts, by tenant: a decision for a tenant sees the facts of that tenant only.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct WorldSnapshot(BTreeMap<Tenant, TenantSnapshot>);

/// Subjects with their states, who follows what, and persons that entries speak of.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct TenantSnapshot {
    pub subjects: BTreeMap<SubjectRef, VersionedState>,
    /// An unknown follow counts as none.
    pub follows: BTreeMap<Person, BTreeSet<SubjectRef>>,
    pub persons: BTreeMap<Person, VersionedState>,
    /// Events that were revoked.
    pub revoked: BTreeSet<EventKey>,
}

impl WorldSnapshot {
    pub fn get(&self, tenant: &Tenant) -> Option<&TenantSnapshot> {
        self.0.get(tenant)
    }

    pub fn get_or_insert(&mut self, tenant: &Tenant) -> &mut TenantSnapshot {
        self.0.entry(tenant.clone()).or_default()
    }

    pub fn tenants(&self) -> impl Iterator<Item = (&Tenant, &TenantSnapshot)> {
        self.0.iter()
    }

    pub fn state(&self, tenant: &Tenant, subject: &SubjectRef) -> Option<&VersionedState> {
        self.get(tenant)?.subjects.get(subject)
    }

    /// The profile of a person that an entry speaks of.
    pub fn person(&self, tenant: &Tenant, person: &Person) -> Option<&VersionedState> {
        self.get(tenant)?.persons.get(person)
    }

    /// Whether what an entry tells of was revoked: its event, or all there was about its subject until then.
    pub fn is_withdrawn(&self, tenant: &Tenant, subject: &SubjectRef, key: EntryKey) -> bool {
        let Some(share) = self.get(tenant).filter(|_| !fault::is_planted(PlantedFault::RevokedTold)) else {
            return false;
        };
        let deleted = share.subjects.get(subject).and_then(|state| state.cells.get(DELETED));
        share.revoked.contains(&key.event) || deleted.is_some_and(|cell| key.occurred.0 <= cell.version)
    }

    pub fn follows(&self, tenant: &Tenant, person: &Person, target: &SubjectRef) -> bool {
        let own = self.get(tenant).and_then(|share| share.follows.get(person));
        own.is_some_and(|own| own.contains(target))
    }
}

impl TenantSnapshot {
    /// Notes whether a person follows a subject.
    pub fn set_follow(&mut self, person: Person, target: SubjectRef, on: bool) {
        let own = self.follows.entry(person).or_default();
        if on {
            own.insert(target)
        } else {
            own.remove(&target)
        };
    }
}
