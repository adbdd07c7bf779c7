//! Loads the world that entries speak of, each thing once: for a closing and for the check before a send.

use std::collections::{BTreeMap, BTreeSet};

use house_facts::recall;
use model::{
    Crowd, Day, DayRow, EntryKey, EventKey, Person, SubjectRef, Tenant, VersionedState, WorldSnapshot,
    id::BadName,
};

use store::{StateKey, Store, StoreError};

/// What a decision wants to know.
#[derive(Clone, Debug, Default)]
pub struct WorldQuery {
    pub subjects: BTreeSet<(Tenant, SubjectRef)>,
    pub follows: BTreeSet<(Tenant, Person, SubjectRef)>,
    /// Persons whose profiles are wanted.
    pub persons: BTreeSet<(Tenant, Person)>,
    /// Entries of whose events it is asked whether they were revoked.
    pub entries: BTreeSet<(Tenant, EntryKey)>,
    pub age: StateAge,
}

/// How old states may be.
#[derive(Clone, Copy, Debug, Default)]
pub enum StateAge {
    /// As they are.
    #[default]
    Now,
    /// As they were a moment ago, for what is only shown.
    Lately,
}

impl StateAge {
    pub async fn read(self, store: &dyn Store, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        match self {
            Self::Now => store.states(keys).await,
            Self::Lately => store.states_lately(keys).await,
        }
    }
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
    let profiles = wanted.age.read(store, &asked).await?;
    for ((tenant, person), profile) in wanted.persons.into_iter().zip(profiles) {
        world.get_or_insert(&tenant).persons.insert(person, profile);
    }
    load_subjects(store, &mut world, wanted.subjects, wanted.age).await?;
    let mut related = BTreeSet::new();
    for (tenant, share) in world.tenants() {
        let referred = share.subjects.values().flat_map(refers_to);
        let unknown = referred.filter(|of| !share.subjects.contains_key(of));
        related.extend(unknown.map(|of| (tenant.clone(), of)));
    }
    load_subjects(store, &mut world, related, wanted.age).await?;
    load_revoked(store, &mut world, wanted.entries).await?;
    Ok(world)
}

/// Loads what was revoked of what the rows of a person's days tell, for whoever needs nothing else of the world.
pub async fn load_revocations(
    store: &dyn Store,
    tenant: &Tenant,
    rows: impl Iterator<Item = &DayRow> + Send,
) -> Result<WorldSnapshot, StoreError> {
    let mut wanted = WorldQuery::default();
    for row in rows {
        if let DayRow::Entry(entry) = row {
            wanted.entries.insert((tenant.clone(), entry.key));
            wanted.subjects.insert((tenant.clone(), entry.subject.clone()));
        }
    }
    load_world(store, wanted, &|_| Vec::new()).await
}

/// Notes which of these entries tell of events that were revoked. First their days are asked whether any was, which is one
/// row for all entries of a day.
async fn load_revoked(
    store: &dyn Store,
    world: &mut WorldSnapshot,
    entries: BTreeSet<(Tenant, EntryKey)>,
) -> Result<(), StoreError> {
    let days: BTreeSet<(Tenant, Day)> =
        entries.iter().map(|(tenant, key)| (tenant.clone(), key.day())).collect();
    let rows = days.iter().map(|(tenant, day)| Ok((tenant.clone(), recall::day_row(*day)?)));
    let rows = store.states(&row_keys(rows)?).await?;
    let by_day: BTreeMap<_, _> = days.into_iter().zip(rows).filter(|(_, row)| !row.is_empty()).collect();
    let is_worth_asking = |(tenant, key): &(Tenant, EntryKey)| {
        let of_day = by_day.get(&(tenant.clone(), key.day()));
        of_day.is_some_and(|of_day| recall::may_be_revoked(of_day, key.event))
    };
    let asked: Vec<(Tenant, EventKey)> =
        entries.into_iter().filter(is_worth_asking).map(|(tenant, key)| (tenant, key.event)).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let rows = asked.iter().map(|(tenant, event)| Ok((tenant.clone(), recall::event_row(*event)?)));
    let rows = store.states(&row_keys(rows)?).await?;
    for ((tenant, event), _) in asked.into_iter().zip(rows).filter(|(_, row)| recall::is_revoked(row)) {
        world.get_or_insert(&tenant).revoked.insert(event);
    }
    Ok(())
}

fn row_keys(
    rows: impl Iterator<Item = Result<(Tenant, SubjectRef), BadName>>,
) -> Result<Vec<StateKey>, StoreError> {
    let key = |row| match row {
        Ok((tenant, row)) => Ok(StateKey::Subject(tenant, row)),
        Err(error) => Err(StoreError::Broken(format!("what was revoked: {error}"))),
    };
    rows.map(key).collect()
}

async fn load_subjects(
    store: &dyn Store,
    world: &mut WorldSnapshot,
    of: BTreeSet<(Tenant, SubjectRef)>,
    age: StateAge,
) -> Result<(), StoreError> {
    let keys: Vec<StateKey> =
        of.iter().map(|(tenant, subject)| StateKey::Subject(tenant.clone(), subject.clone())).collect();
    let states = age.read(store, &keys).await?;
    for ((tenant, subject), state) in of.into_iter().zip(states) {
        world.get_or_insert(&tenant).subjects.insert(subject, state);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::{CrowdEnrolment, UtcMillis, Value, ValueCell};
    use store::{CrowdStore as _, StateStore as _};
    use store_embedded::EmbeddedStore;

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
            ..WorldQuery::default()
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

    #[tokio::test]
    async fn a_world_knows_what_was_revoked_of_what_was_asked() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path()).unwrap();
        let (work, other) = (SubjectRef::new("work:1").unwrap(), SubjectRef::new("work:2").unwrap());
        let key = |at: i64, event: u8| EntryKey { occurred: UtcMillis(at), event: EventKey([event; 16]) };
        let noted = recall::note_revoked(&[key(10, 1)], UtcMillis(50)).unwrap();
        let deleted = (work.clone(), recall::note_deleted(UtcMillis(20)));
        let states = noted.into_iter().chain([deleted]);
        store
            .merge(states.map(|(of, state)| (StateKey::Subject(tenant(), of), state)).collect())
            .await
            .unwrap();
        let wanted = WorldQuery {
            subjects: [&work, &other].map(|of| (tenant(), of.clone())).into(),
            entries: [key(10, 1), key(10, 2), key(20, 3), key(21, 4)].map(|key| (tenant(), key)).into(),
            ..WorldQuery::default()
        };
        let world = load_world(&store, wanted, &|_| Vec::new()).await.unwrap();
        let check = |of: &SubjectRef, key: EntryKey, expected: bool| {
            assert_eq!(world.is_withdrawn(&tenant(), of, key), expected, "{of} {key}");
        };
        check(&other, key(10, 1), true);
        check(&other, key(10, 2), false);
        check(&work, key(20, 3), true);
        check(&work, key(21, 4), false);
        check(&other, key(20, 3), false);
        assert!(!world.is_withdrawn(&Tenant::new("acme").unwrap(), &work, key(10, 1)), "of another tenant");
    }

    fn cell_refs(cell: &ValueCell) -> Vec<SubjectRef> {
        cell.value.as_ref().map_or_else(Vec::new, |value| value.refs().to_vec())
    }
}
