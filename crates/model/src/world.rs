//! What is known of subjects and follows at the moment of asking: what conditions and texts look at.

use std::collections::BTreeMap;

use crate::{
    id::{Person, SubjectRef, Tenant},
    value::State,
};

/// Subjects with their states, and who follows what.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct World {
    pub subjects: BTreeMap<(Tenant, SubjectRef), State>,
    pub follows: BTreeMap<(Tenant, Person, SubjectRef), bool>,
}

impl World {
    pub fn state(&self, tenant: &Tenant, subject: &SubjectRef) -> Option<&State> {
        self.subjects.get(&(tenant.clone(), subject.clone()))
    }

    /// Whether a person follows a subject; what is not known is not followed.
    pub fn follows(&self, tenant: &Tenant, person: &Person, target: &SubjectRef) -> bool {
        self.follows.get(&(tenant.clone(), person.clone(), target.clone())).copied().unwrap_or(false)
    }
}
