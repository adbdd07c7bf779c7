//! Law 4: what carries a version ends alike in whatever order it comes, on the engine as in memory: an older
//! one never wins over a newer, and removal is a row.

use std::collections::BTreeMap;

use model::{Crowd, FollowFact, GeoPoint, Value, ValueCell, VersionedState};
use proptest::{collection::vec, prelude::*};
use store::{CrowdStore as _, StateKey, StateStore as _};
use store_embedded::EmbeddedStore;

use crate::{
    names::{person, subject, tenant},
    seeds::{LawDice, check_values, draw_value, run_waiting_schedules},
};

#[test]
fn law_4_newer_wins() {
    check_values(300, (vec(any_state(), 0..8), any::<u64>()), |(states, order)| merges_alike(states, order));
    run_waiting_schedules(4, the_engine_as_memory);
}

/// Few fields and few versions, so that equal versions with different values happen.
fn any_state() -> impl Strategy<Value = VersionedState> {
    let value = prop_oneof![
        "[ab]?".prop_map(|text| Value::from_text(&text)),
        any::<bool>().prop_map(Value::Flag),
        (0..3).prop_map(|n| Value::Number(f64::from(n))),
        Just(Value::Place(GeoPoint { lat: 1.0, lon: 2.0 })),
        Just(Value::Ref(subject("author:1"))),
    ];
    let cell = (0..4_i64, prop::option::weighted(0.8, value))
        .prop_map(|(version, value)| ValueCell { version, value });
    prop::collection::btree_map("[xyz]", cell, 0..3).prop_map(|cells| VersionedState {
        cells: cells.into_iter().map(|(name, cell)| (name.into(), cell)).collect(),
    })
}

fn merge_states<'a>(states: impl IntoIterator<Item = &'a VersionedState>) -> VersionedState {
    let mut all = VersionedState::default();
    states.into_iter().for_each(|state| all.merge(state));
    all
}

fn merges_alike(mut states: Vec<VersionedState>, order: u64) -> Result<(), TestCaseError> {
    let all = merge_states(&states);
    let mut dice = LawDice::new(order);
    let again: Vec<VersionedState> = states.iter().filter(|_| dice.once_in_a_hundred(50)).cloned().collect();
    states.extend(again);
    dice.shuffle(&mut states);
    prop_assert_eq!(&merge_states(&states), &all);
    for (name, cell) in &all.cells {
        let newest = states.iter().filter_map(|state| state.cells.get(name)).map(|cell| cell.version).max();
        prop_assert_eq!(Some(cell.version), newest);
    }
    Ok(())
}

/// The same cells and follows in different orders, one after the other and together, for several owners: the
/// engine has for each what memory has.
async fn the_engine_as_memory(mut dice: LawDice) {
    let dir = crate::engine_folder::temp_engine_dir();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let mut states = draw_value(&mut dice, vec(any_state(), 12));
    let expected = merge_states(&states);
    let target = subject("author:1");
    let mut versions: Vec<(i64, bool)> =
        (0..8).map(|_| (dice.ms(0, 4), dice.once_in_a_hundred(50))).collect();
    // At one version the end of a follow wins.
    let on = versions.iter().max_by_key(|(version, on)| (*version, !*on)).is_some_and(|(_, on)| *on);
    for case in 0..6 {
        dice.shuffle(&mut states);
        dice.shuffle(&mut versions);
        let (of, who) = (tenant("main"), person(&format!("p{case}")));
        let key = StateKey::Person(of.clone(), who.clone());
        let mut left = states.as_slice();
        while !left.is_empty() {
            let (some, rest) = left.split_at(1 + dice.below(left.len().min(4)));
            store.merge(some.iter().map(|state| (key.clone(), state.clone())).collect()).await.unwrap();
            left = rest;
        }
        assert_eq!(
            store.states(&[key]).await.unwrap(),
            std::slice::from_ref(&expected),
            "states in the order {states:?}"
        );
        let follow = |(version, on): &(i64, bool)| FollowFact {
            tenant: of.clone(),
            person: who.clone(),
            target: target.clone(),
            version: *version,
            on: *on,
        };
        for some in versions.chunks(1 + dice.below(3)) {
            store.enrol(some.iter().map(follow).map(Into::into).collect()).await.unwrap();
        }
        let found =
            store.belongs(&[(of.clone(), who.clone(), Crowd::Followers(target.clone()))]).await.unwrap();
        assert_eq!(found, [on], "follows in the order {versions:?}");
        let crowd = Crowd::Followers(target.clone());
        let followers = store.members(&of, &crowd, None, 100).await.unwrap();
        assert_eq!(followers.persons.contains(&who), on, "the list and the question disagree");
    }
    let unknown = StateKey::Subject(tenant("main"), subject("work:1"));
    assert_eq!(store.states(&[unknown]).await.unwrap(), [VersionedState { cells: BTreeMap::new() }]);
}
