//! Loads the world that entries speak of, each thing once: for a closing and for the check before a send.

use std::collections::BTreeSet;

use model::{Crowd, Person, State, SubjectRef, Tenant, World};

use crate::port::{StateKey, Store, StoreError};

/// What a decision wants to know.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub subjects: BTreeSet<(Tenant, SubjectRef)>,
    pub follows: BTreeSet<(Tenant, Person, SubjectRef)>,
    /// Persons whose profiles are wanted.
    pub persons: BTreeSet<(Tenant, Person)>,
}

/// Loads what is wanted, and the subjects that those refer to.
pub async fn load(
    store: &dyn Store,
    wanted: Wanted,
    refers_to: &(dyn Fn(&State) -> Vec<SubjectRef> + Sync),
) -> Result<World, StoreError> {
    let mut world = World::default();
    let asked: Vec<_> = wanted
        .follows
        .iter()
        .map(|(tenant, person, of)| (tenant.clone(), person.clone(), Crowd::Followers(of.clone())))
        .collect();
    let on = store.belongs(&asked).await?;
    for ((tenant, person, target), on) in wanted.follows.into_iter().zip(on) {
        world.of_mut(&tenant).follow(person, target, on);
    }
    let asked: Vec<_> = wanted
        .persons
        .iter()
        .map(|(tenant, person)| StateKey::Person(tenant.clone(), person.clone()))
        .collect();
    let profiles = store.states(&asked).await?;
    for ((tenant, person), profile) in wanted.persons.into_iter().zip(profiles) {
        world.of_mut(&tenant).persons.insert(person, profile);
    }
    load_subjects(store, &mut world, wanted.subjects).await?;
    let mut related = BTreeSet::new();
    for (tenant, share) in world.shares() {
        let referred = share.subjects.values().flat_map(refers_to);
        let unknown = referred.filter(|of| !share.subjects.contains_key(of));
        related.extend(unknown.map(|of| (tenant.clone(), of)));
    }
    load_subjects(store, &mut world, related).await?;
    Ok(world)
}

async fn load_subjects(
    store: &dyn Store,
    world: &mut World,
    of: BTreeSet<(Tenant, SubjectRef)>,
) -> Result<(), StoreError> {
    let keys: Vec<StateKey> =
        of.iter().map(|(tenant, subject)| StateKey::Subject(tenant.clone(), subject.clone())).collect();
    let states = store.states(&keys).await?;
    for ((tenant, subject), state) in of.into_iter().zip(states) {
        world.of_mut(&tenant).subjects.insert(subject, state);
    }
    Ok(())
}
