//! Law 12: the tenant is in every key. Whatever two tenants name alike stays apart, in the store and in
//! everything that is made of names.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Crowd, Day, DayRow, EventKey, FollowFact, Person, ReadyId, SubjectRef, Tenant, UtcMillis, Value,
    VersionedState, entry::DayKey, partition::PartitionCount, ready,
};
use proptest::prelude::*;
use store::{
    AnswerStore as _, CrowdStore as _, DayRows, DayStore as _, JournalClaim, JournalClaimOutcome,
    JournalOutcome, JournalRecord, JournalStore as _, StateKey, StateStore as _,
};
use store_embedded::EmbeddedStore;

use crate::{
    names::{a_day, entry_row, plan, ready_id, reason, subject, tenant},
    seeds::{LawDice, check_values, run_waiting_schedules},
};

#[test]
fn law_12_tenant_in_every_key() {
    let name = || "[a-c\u{e4}]{1,3}";
    check_values(300, ((name(), name()), (name(), name()), 0..3_i64), |(one, other, opening)| {
        keys_stay_apart((&one.0, &one.1), (&other.0, &other.1), opening)
    });
    run_waiting_schedules(3, nothing_leaks);
}

/// Different names, different keys: also where the end of one runs into the beginning of the other.
fn keys_stay_apart(one: (&str, &str), other: (&str, &str), opening: i64) -> Result<(), TestCaseError> {
    let person = |(of, who): (&str, &str)| (tenant(of), Person::new(who).unwrap());
    let (a, b) = (person(one), person(other));
    let same = one == other;
    let ready = |(of, who): &(Tenant, Person), opening| {
        ready::derive_ready_id(of, who, &plan("morning"), "", UtcMillis(opening), 0)
    };
    prop_assert_eq!(ready(&a, opening) == ready(&b, opening), same);
    prop_assert_ne!(ready(&a, opening), ready(&a, opening + 1));
    let event = |(of, source): (&str, &str)| EventKey::from_source_id(&tenant(of), source, "1");
    prop_assert_eq!(event(one) == event(other), same);
    prop_assert_eq!(wire::key::person_key(&a.0, &a.1) == wire::key::person_key(&b.0, &b.1), same);
    let back = wire::key::read_person_key(&wire::key::person_key(&a.0, &a.1));
    prop_assert_eq!(back.ok(), Some(a.clone()));
    let about = |(of, id): (&str, &str)| wire::key::subject_key(&tenant(of), &subject(&format!("work:{id}")));
    prop_assert_eq!(about(one) == about(other), same);
    prop_assert_eq!(PartitionCount::USUAL.of_person(&a.0, &a.1), PartitionCount::USUAL.of_person(&a.0, &a.1));
    Ok(())
}

/// Few names for many owners, so that they meet in every way.
const NAMES: [&str; 4] = ["a", "b", "ab", "ba"];

/// Everything is written for owners that look alike; each finds its own and nothing else.
async fn nothing_leaks(mut dice: LawDice) {
    let dir = crate::engine_folder::temp_engine_dir();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    check_days(&store, &mut dice).await;
    check_states_and_follows(&store, &mut dice).await;
    check_journal(&store, &mut dice).await;
}

async fn check_days(store: &EmbeddedStore, dice: &mut LawDice) {
    let now = a_day().plus(2).start();
    let mut written: BTreeMap<DayKey, BTreeSet<DayRow>> = BTreeMap::new();
    for number in 0..60 {
        let day: Day = a_day().plus(i32::try_from(dice.below(2)).unwrap());
        let key = DayKey {
            tenant: tenant(dice.pick(&NAMES)),
            person: Person::new(dice.pick(&NAMES)).unwrap(),
            day,
        };
        let row = entry_row(day, number, reason("made", dice.below(2)));
        store.write(vec![DayRows { key: key.clone(), rows: vec![row.clone()] }], now).await.unwrap();
        written.entry(key).or_default().insert(row);
    }
    for (of, who, later) in owner_pairs() {
        let key = DayKey { tenant: tenant(of), person: Person::new(who).unwrap(), day: a_day().plus(later) };
        let found = store.read(std::slice::from_ref(&key), now).await.unwrap().remove(0);
        let found: BTreeSet<DayRow> = found.into_iter().collect();
        assert_eq!(found, written.get(&key).cloned().unwrap_or_default(), "the rows of {key:?}");
    }
}

fn owner_pairs() -> impl Iterator<Item = (&'static str, &'static str, i32)> {
    let pairs = NAMES.into_iter().flat_map(|of| NAMES.into_iter().map(move |who| (of, who)));
    pairs.flat_map(|(of, who)| (0..2).map(move |later| (of, who, later)))
}

async fn check_states_and_follows(store: &EmbeddedStore, dice: &mut LawDice) {
    let mut states: BTreeMap<StateKey, VersionedState> = BTreeMap::new();
    let mut follows: BTreeSet<(Tenant, SubjectRef, Person)> = BTreeSet::new();
    for version in 1..40 {
        let (of, name) = (tenant(dice.pick(&NAMES)), dice.pick(&NAMES));
        let key = match dice.below(4) {
            0 => StateKey::Subject(of.clone(), subject(&format!("{name}:{name}"))),
            1 => StateKey::Preferences(of.clone(), Person::new(name).unwrap()),
            2 => StateKey::Notes(of.clone(), Person::new(name).unwrap()),
            _ => StateKey::Person(of.clone(), Person::new(name).unwrap()),
        };
        let state = VersionedState::from_values(version, [(dice.pick(&NAMES), Some(Value::from_text(name)))]);
        store.merge(vec![(key.clone(), state.clone())]).await.unwrap();
        states.entry(key).or_default().merge(&state);
        let target = subject(&format!("author:{}", dice.pick(&NAMES)));
        let person = Person::new(name).unwrap();
        let follow = FollowFact {
            tenant: of.clone(),
            person: person.clone(),
            target: target.clone(),
            version,
            on: true,
        };
        store.enrol(vec![follow.into()]).await.unwrap();
        follows.insert((of, target, person));
    }
    for (of, name, _) in owner_pairs() {
        for key in [
            StateKey::Subject(tenant(of), subject(&format!("{name}:{name}"))),
            StateKey::Person(tenant(of), Person::new(name).unwrap()),
            StateKey::Preferences(tenant(of), Person::new(name).unwrap()),
            StateKey::Notes(tenant(of), Person::new(name).unwrap()),
        ] {
            let found = store.states(std::slice::from_ref(&key)).await.unwrap().remove(0);
            assert_eq!(found, states.get(&key).cloned().unwrap_or_default(), "the state of {key:?}");
        }
        let (of, target) = (tenant(of), subject(&format!("author:{name}")));
        let crowd = Crowd::Followers(target.clone());
        let found = store.members(&of, &crowd, None, 100).await.unwrap();
        let found: BTreeSet<Person> = found.persons.into_iter().collect();
        let ours = follows.iter().filter(|(tenant, followed, _)| *tenant == of && *followed == target);
        assert_eq!(
            found,
            ours.map(|(_, _, person)| person.clone()).collect(),
            "who follows {target} of {of}"
        );
    }
}

async fn check_journal(store: &EmbeddedStore, dice: &mut LawDice) {
    let mut first: BTreeMap<(Tenant, ReadyId), JournalClaim> = BTreeMap::new();
    // What was claimed long before anything else was written has expired, and is swept on a busy machine.
    let now = a_day().plus(2).start();
    for number in 0..30 {
        let of = tenant(dice.pick(&NAMES));
        let ready = ready_id(u8::try_from(dice.below(3)).unwrap());
        let token = [number; 16];
        let (told, plan) = (Vec::new(), None);
        let claim = JournalClaim { ready, attempt: 0, token, at: now, deadline: now.plus(1), told, plan };
        let claimed = store.claim(&of, claim.clone()).await.unwrap();
        match first.get(&(of.clone(), ready)) {
            Some(standing) => {
                assert_eq!(claimed, JournalClaimOutcome::Theirs(standing.clone()), "another tenant's claim");
            }
            None => assert_eq!(claimed, JournalClaimOutcome::Yours),
        }
        first.entry((of.clone(), ready)).or_insert(claim);
        let key = number.to_string();
        store.answer(&of, &key, of.as_str().into(), now).await.unwrap();
        for name in NAMES {
            let found = store.find_answer(&tenant(name), &key, now).await.unwrap();
            assert_eq!(found.is_some(), name == of.as_str(), "an answer of {of} for {name}");
        }
    }
    let (of, ready) = first.keys().next().unwrap().clone();
    let record =
        JournalRecord { ready, attempt: 0, at: now.plus(2), what: JournalOutcome::Sent, left: Vec::new() };
    store.record(&of, record).await.unwrap();
    for name in NAMES {
        let found = store.read_journal(&tenant(name), &[ready]).await.unwrap().remove(0);
        assert_eq!(!found.records.is_empty(), name == of.as_str(), "a record of {of} for {name}");
    }
}
