//! What is known of subjects and follows at the moment of asking: what conditions and texts look at.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    id::{Person, SubjectRef, Tenant},
    value::VersionedState,
};

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
