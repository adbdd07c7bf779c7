//! What is known of subjects and follows at the moment of asking: what conditions and texts look at.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    id::{Person, SubjectRef, Tenant},
    value::State,
};

/// What is known, by tenant: who decides or writes for one looks at that tenant's share as it is, and at no other.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct World(BTreeMap<Tenant, Share>);

/// Subjects with their states, who follows what, and persons that entries speak of.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Share {
    pub subjects: BTreeMap<SubjectRef, State>,
    /// What is not known is not followed.
    pub follows: BTreeMap<Person, BTreeSet<SubjectRef>>,
    pub persons: BTreeMap<Person, State>,
}

impl World {
    pub fn of(&self, tenant: &Tenant) -> Option<&Share> {
        self.0.get(tenant)
    }

    pub fn of_mut(&mut self, tenant: &Tenant) -> &mut Share {
        self.0.entry(tenant.clone()).or_default()
    }

    pub fn shares(&self) -> impl Iterator<Item = (&Tenant, &Share)> {
        self.0.iter()
    }

    pub fn state(&self, tenant: &Tenant, subject: &SubjectRef) -> Option<&State> {
        self.of(tenant)?.subjects.get(subject)
    }

    /// The profile of a person that an entry speaks of.
    pub fn person(&self, tenant: &Tenant, person: &Person) -> Option<&State> {
        self.of(tenant)?.persons.get(person)
    }

    pub fn follows(&self, tenant: &Tenant, person: &Person, target: &SubjectRef) -> bool {
        let own = self.of(tenant).and_then(|share| share.follows.get(person));
        own.is_some_and(|own| own.contains(target))
    }
}

impl Share {
    /// Notes whether a person follows a subject.
    pub fn follow(&mut self, person: Person, target: SubjectRef, on: bool) {
        let own = self.follows.entry(person).or_default();
        if on {
            own.insert(target)
        } else {
            own.remove(&target)
        };
    }
}
