//! Loads the world that entries speak of, each thing once: for a closing and for the check before a send.

use std::collections::BTreeSet;

use model::{Crowd, Person, SubjectRef, Tenant, VersionedState, WorldSnapshot};

use store::{StateKey, Store, StoreError};

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

#[cfg(test)]
mod tests {
    use model::{CrowdEnrolment, Value, ValueCell};
    use store::{CrowdStore as _, StateStore as _, embedded::EmbeddedStore};

    use super::*;

    fn tenant() -> Tenant {
        Tenant::new("main").unwrap()
    }

    #[tokio::test]
    async fn a_world_has_what_was_wanted_and_what_that_refers_to() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path()).unwrap();
        let (work, author) = (SubjectRef::new("work:1").unwrap(), SubjectRef::new("author:7").unwrap());
        let (ann, bob) = (Person::new("ann").unwrap(), Person::new("bob").unwrap());
        let of_work = VersionedState::from_values(1, [("author", Some(Value::Ref(author.clone())))]);
        let of_author = VersionedState::from_values(1, [("name", Some(Value::from_text("Lem")))]);
        let of_ann = VersionedState::from_values(1, [("name", Some(Value::from_text("Ann")))]);
        let states = vec![
            (StateKey::Subject(tenant(), work.clone()), of_work.clone()),
            (StateKey::Subject(tenant(), author.clone()), of_author.clone()),
            (StateKey::Person(tenant(), ann.clone()), of_ann.clone()),
            (StateKey::Preferences(tenant(), ann.clone()), of_author.clone()),
        ];
        store.merge(states).await.unwrap();
        let crowd = Crowd::Followers(author.clone());
        let enrolment = CrowdEnrolment { tenant: tenant(), person: ann.clone(), crowd, version: 1, on: true };
        store.enrol(vec![enrolment]).await.unwrap();
        let wanted = WorldQuery {
            subjects: [(tenant(), work.clone())].into(),
            follows: [&ann, &bob].map(|who| (tenant(), who.clone(), author.clone())).into(),
            persons: [&ann, &bob].map(|who| (tenant(), who.clone())).into(),
        };
        let refers_to = |state: &VersionedState| state.cells.values().flat_map(cell_refs).collect();
        let world = load_world(&store, wanted, &refers_to).await.unwrap();
        assert_eq!(
            (world.state(&tenant(), &work), world.state(&tenant(), &author)),
            (Some(&of_work), Some(&of_author))
        );
        assert_eq!(
            (world.person(&tenant(), &ann), world.person(&tenant(), &bob)),
            (Some(&of_ann), Some(&VersionedState::default()))
        );
        assert!(world.follows(&tenant(), &ann, &author) && !world.follows(&tenant(), &bob, &author));
    }

    fn cell_refs(cell: &ValueCell) -> Vec<SubjectRef> {
        cell.value.as_ref().map_or_else(Vec::new, |value| value.refs().to_vec())
    }
}
