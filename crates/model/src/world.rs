//! What is known of subjects and follows at the moment of asking: what conditions and texts look at.

use std::collections::BTreeMap;

use crate::{
    id::{Person, SubjectRef, Tenant},
    value::State,
};

/// Subjects with their states, who follows what, and persons that entries speak of.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct World {
    pub subjects: BTreeMap<(Tenant, SubjectRef), State>,
    pub follows: BTreeMap<(Tenant, Person, SubjectRef), bool>,
    pub persons: BTreeMap<(Tenant, Person), State>,
}

impl World {
    pub fn state(&self, tenant: &Tenant, subject: &SubjectRef) -> Option<&State> {
        self.subjects.get(&(tenant.clone(), subject.clone()))
    }

    /// The profile of a person that an entry speaks of.
    pub fn person(&self, tenant: &Tenant, person: &Person) -> Option<&State> {
        self.persons.get(&(tenant.clone(), person.clone()))
    }

    /// Whether a person follows a subject; what is not known is not followed.
    pub fn follows(&self, tenant: &Tenant, person: &Person, target: &SubjectRef) -> bool {
        self.follows.get(&(tenant.clone(), person.clone(), target.clone())).copied().unwrap_or(false)
    }
}
