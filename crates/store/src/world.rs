//! Loads the world that entries speak of, each thing once: for a closing and for the check before a send.

use std::collections::BTreeSet;

use model::{Crowd, Person, SubjectRef, Tenant, VersionedState, WorldSnapshot};

use crate::port::{StateKey, Store, StoreError};

/// What a decision wants to know.
#[derive(Clone, Debug, Default)]
pub struct WorldQuery {
    pub subjects: BTreeSet<(Tenant, SubjectRef)>,
    pub follows: BTreeSet<(Tenant, Person, SubjectRef)>,
    /// Persons whose profiles are wanted.
    pub persons: BTreeSet<(Tenant, Person)>,
}

/// Loads what is wanted, and the subjects that those refer to.
pub async fn load_world(
    store: &dyn Store,
    wanted: WorldQuery,
    refers_to: &(dyn Fn(&VersionedState) -> Vec<SubjectRef> + Sync),
) -> Result<WorldSnapshot, StoreError> {
    let mut world = WorldSnapshot::default();
    let asked: Vec<_> = wanted
        .follows
        .iter()
        .map(|(tenant, person, of)| (tenant.clone(), person.clone(), Crowd::Followers(of.clone())))
        .collect();
    let on = store.belongs(&asked).await?;
    for ((tenant, person, target), on) in wanted.follows.into_iter().zip(on) {
        world.get_or_insert(&tenant).set_follow(person, target, on);
    }
    let asked: Vec<_> = wanted
        .persons
        .iter()
        .map(|(tenant, person)| StateKey::Person(tenant.clone(), person.clone()))
        .collect();
    let profiles = store.states(&asked).await?;
    for ((tenant, person), profile) in wanted.persons.into_iter().zip(profiles) {
        world.get_or_insert(&tenant).persons.insert(person, profile);
    }
    load_subjects(store, &mut world, wanted.subjects).await?;
    let mut related = BTreeSet::new();
    for (tenant, share) in world.tenants() {
        let referred = share.subjects.values().flat_map(refers_to);
        let unknown = referred.filter(|of| !share.subjects.contains_key(of));
        related.extend(unknown.map(|of| (tenant.clone(), of)));
    }
    load_subjects(store, &mut world, related).await?;
    Ok(world)
}

async fn load_subjects(
    store: &dyn Store,
    world: &mut WorldSnapshot,
    of: BTreeSet<(Tenant, SubjectRef)>,
) -> Result<(), StoreError> {
    let keys: Vec<StateKey> =
        of.iter().map(|(tenant, subject)| StateKey::Subject(tenant.clone(), subject.clone())).collect();
    let states = store.states(&keys).await?;
    for ((tenant, subject), state) in of.into_iter().zip(states) {
        world.get_or_insert(&tenant).subjects.insert(subject, state);
    }
    Ok(())
}
