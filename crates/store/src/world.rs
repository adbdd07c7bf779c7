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
    world.follows = wanted.follows.into_iter().zip(on).collect();
    let asked: Vec<_> = wanted
        .persons
        .iter()
        .map(|(tenant, person)| StateKey::Person(tenant.clone(), person.clone()))
        .collect();
    let profiles = store.states(&asked).await?;
    world.persons = wanted.persons.into_iter().zip(profiles).collect();
    load_subjects(store, &mut world, wanted.subjects).await?;
    let mut related = BTreeSet::new();
    for ((tenant, _), state) in &world.subjects {
        related.extend(refers_to(state).into_iter().map(|of| (tenant.clone(), of)));
    }
    related.retain(|key| !world.subjects.contains_key(key));
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
    world.subjects.extend(of.into_iter().zip(states));
    Ok(())
}
