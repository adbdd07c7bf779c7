//! Promises about states.

use std::sync::Arc;

use house_facts::erasure::EraseMode;
use model::{GeoPoint, UtcMillis, Value, ValueCell, VersionedState};

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_same,
    samples::{person, subject, tenant},
};
use crate::port::{StateKey, Store};

promises! {
    check_durable keeps "states are durable":
        "a state whose merge has returned is there after a crash";
    check_as_written keeps "states come back as written":
        "every sort of value is read as it was merged, in the order asked for, also after a crash";
    check_merge_by_cell keeps "states merge by cell":
        "a merge changes the cells it names and leaves all others alone";
    check_newer_wins keeps "the newer cell wins":
        "of the versions of a cell the highest stands, in whatever order and however often they came";
    check_equal_versions keeps "equal versions are settled by content":
        "of cells with one version the same stands in every order, by the rule of the model";
    check_removal keeps "a removal is a value":
        "a removed cell stays removed when an older value comes later, and a newer one brings it back";
    check_forgotten keeps "a removal can be forgotten":
        "a removal that is forgotten leaves nothing, and what is newer than it stays, also after a crash";
    check_lately keeps "what is shown knows what was written here":
        "states that are read to be shown have all that was merged or forgotten by the same store, however often they are read";
    check_subjects_apart keeps "subjects are not persons":
        "a person and a subject of the same name share no cell";
    check_profile_apart keeps "mutes and notes are no part of the profile":
        "a person's profile, mutes and notes share no cell, each comes back as merged, also after a crash";
    check_merges_at_once keeps "merges at once lose nothing":
        "of many merges at the same time into one owner, every cell's newest stands";
}

fn work_key(id: &str) -> Result<StateKey, BrokenStorePromise> {
    Ok(StateKey::Subject(tenant("main")?, subject(&format!("work:{id}"))?))
}

async fn read_state(store: &Arc<dyn Store>, key: &StateKey) -> Result<VersionedState, BrokenStorePromise> {
    let mut states = store.states(std::slice::from_ref(key)).await?;
    states
        .pop()
        .ok_or_else(|| BrokenStorePromise("a state that was asked for is missing from the answer".into()))
}

async fn merge_cell(
    store: &Arc<dyn Store>,
    key: &StateKey,
    name: &str,
    cell: ValueCell,
) -> StorePromiseResult {
    let mut state = VersionedState::default();
    state.set(name, cell);
    Ok(store.merge(vec![(key.clone(), state)]).await?)
}

fn every_value() -> Result<Vec<Value>, BrokenStorePromise> {
    let refs = |names: &[&str]| names.iter().map(|name| subject(name)).collect::<Result<Vec<_>, _>>();
    Ok(vec![
        Value::from_text(""),
        Value::from_text("a \u{10ffff} \0 text"),
        Value::from_text(&"x".repeat(4096)),
        Value::Number(-0.5),
        Value::Number(f64::MAX),
        Value::Flag(true),
        Value::Flag(false),
        Value::Time(UtcMillis(-1)),
        Value::Time(UtcMillis(i64::MAX)),
        Value::Ref(subject("author:7")?),
        Value::Refs(Vec::new()),
        Value::Refs(refs(&["author:7", "author:8", "author:7"])?),
        Value::Place(GeoPoint { lat: -89.5, lon: 179.99 }),
    ])
}

async fn check_durable(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let mut expected = VersionedState::default();
    for version in 1..4 {
        let part = VersionedState::from_values(
            version,
            [("title", None), (&*format!("field {version}"), Some(Value::Flag(true)))],
        );
        store.merge(vec![(work_key("1")?, part.clone())]).await?;
        expected.merge(&part);
        store = harness.crash(store).await?;
    }
    expect_same("after a crash", &read_state(&store, &work_key("1")?).await?, &expected)
}

async fn check_as_written(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let mut full = VersionedState::default();
    for (n, value) in every_value()?.into_iter().enumerate() {
        full.set(&format!("field {n}"), ValueCell { version: 1_000 + n as i64, value: Some(value) });
    }
    full.set("gone", ValueCell { version: 5, value: None });
    let small = VersionedState::from_values(7, [("title", Some(Value::from_text("Moon")))]);
    store.merge(vec![(work_key("1")?, full.clone()), (work_key("2")?, small.clone())]).await?;
    let mut keys = vec![work_key("2")?, work_key("unknown")?, work_key("1")?, work_key("2")?];
    let mut expected = vec![small.clone(), VersionedState::default(), full, small];
    // More than an engine may read at once.
    keys.extend((0..40).map(|n| work_key(&format!("unknown {n}"))).collect::<Result<Vec<_>, _>>()?);
    expected.resize(keys.len(), VersionedState::default());
    expect_same("at once", &store.states(&keys).await?, &expected)?;
    expect_same("no key", &store.states(&[]).await?, &Vec::new())?;
    store = harness.crash(store).await?;
    expect_same("after a crash", &store.states(&keys).await?, &expected)
}

async fn check_merge_by_cell(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let key = work_key("1")?;
    let first = VersionedState::from_values(
        5,
        [("title", Some(Value::from_text("Moon"))), ("published", Some(Value::Flag(true)))],
    );
    let second = VersionedState::from_values(
        9,
        [("title", Some(Value::from_text("Sun"))), ("score", Some(Value::Number(1.0)))],
    );
    let older = VersionedState::from_values(3, [("published", Some(Value::Flag(false))), ("place", None)]);
    let mut expected = VersionedState::default();
    for part in [first, second, older] {
        store.merge(vec![(key.clone(), part.clone())]).await?;
        expected.merge(&part);
    }
    expect_same("three merges", &read_state(&store, &key).await?, &expected)
}

async fn check_newer_wins(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];
    for (n, order) in orders.into_iter().enumerate() {
        let key = work_key(&n.to_string())?;
        let cell =
            |version: i64| ValueCell { version, value: Some(Value::from_text(&format!("value {version}"))) };
        for version in order {
            merge_cell(&store, &key, "title", cell(version)).await?;
            merge_cell(&store, &key, "title", cell(version)).await?;
        }
        let expected = VersionedState::from_values(3, [("title", Some(Value::from_text("value 3")))]);
        expect_same(format!("versions in the order {order:?}"), &read_state(&store, &key).await?, &expected)?;
        // All in one call, twice.
        let key = work_key(&format!("{n} at once"))?;
        let all = order.map(|version| {
            (key.clone(), VersionedState::from_values(version, [("title", cell(version).value)]))
        });
        store.merge([all.clone(), all].concat()).await?;
        expect_same(
            format!("versions in the order {order:?} in one call"),
            &read_state(&store, &key).await?,
            &expected,
        )?;
    }
    Ok(())
}

async fn check_equal_versions(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let values = [Some(Value::from_text("a")), Some(Value::from_text("b")), Some(Value::Flag(true)), None];
    for (i, one) in values.iter().enumerate() {
        for (j, other) in values.iter().enumerate() {
            let key = work_key(&format!("{i}-{j}"))?;
            let mut expected = VersionedState::default();
            for value in [one, other] {
                let cell = ValueCell { version: 5, value: value.clone() };
                expected.set("title", cell.clone());
                merge_cell(&store, &key, "title", cell).await?;
            }
            expect_same(format!("{one:?}, then {other:?}"), &read_state(&store, &key).await?, &expected)?;
        }
    }
    Ok(())
}

async fn check_removal(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let key = work_key("1")?;
    let text = || Some(Value::from_text("Moon"));
    merge_cell(&store, &key, "title", ValueCell { version: 5, value: None }).await?;
    merge_cell(&store, &key, "title", ValueCell { version: 4, value: text() }).await?;
    store = harness.crash(store).await?;
    merge_cell(&store, &key, "title", ValueCell { version: 3, value: text() }).await?;
    expect_same(
        "removed",
        &read_state(&store, &key).await?,
        &VersionedState::from_values(5, [("title", None)]),
    )?;
    merge_cell(&store, &key, "title", ValueCell { version: 6, value: text() }).await?;
    expect_same(
        "brought back",
        &read_state(&store, &key).await?,
        &VersionedState::from_values(6, [("title", text())]),
    )
}

async fn check_forgotten(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let mut keys = vec![work_key("1")?];
    for sort in StateKey::OF_PERSONS {
        keys.push(sort(tenant("main")?, person("ann")?));
    }
    let text = || Some(Value::from_text("x"));
    for key in &keys {
        let values = [("gone", None), ("newer", None), ("other", None), ("value", text())];
        store.merge(vec![(key.clone(), VersionedState::from_values(5, values))]).await?;
        merge_cell(&store, key, "newer", ValueCell { version: 6, value: text() }).await?;
        let removed = ["gone", "newer"].map(|name| (Arc::from(name), 5));
        // Who did not hear of the end does it again.
        for _ in 0..2 {
            store.forget_removed(key, &removed).await?;
        }
        store.forget_removed(key, &[]).await?;
    }
    for crashes in 0..2 {
        for key in &keys {
            let mut expected = VersionedState::from_values(5, [("other", None), ("value", text())]);
            expected.merge(&VersionedState::from_values(6, [("newer", text())]));
            let what = format!("{key:?} after {crashes} crashes");
            expect_same(what, &read_state(&store, key).await?, &expected)?;
        }
        store = harness.crash(store).await?;
    }
    for key in &keys {
        merge_cell(&store, key, "gone", ValueCell { version: 7, value: text() }).await?;
        let found = read_state(&store, key).await?;
        expect_same("what comes later", &found.cells.contains_key("gone"), &true)?;
    }
    Ok(())
}

async fn check_lately(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let keys = [work_key("1")?, StateKey::Notes(tenant("main")?, person("ann")?), work_key("2")?];
    let mut expected = vec![VersionedState::default(); 3];
    for version in 1..4 {
        for at in [0, 1] {
            expect_same(format!("before {version}"), &store.states_lately(&keys).await?, &expected)?;
            let part = VersionedState::from_values(version, [("title", Some(Value::Flag(version % 2 == 0)))]);
            let gone = VersionedState::from_values(version, [(format!("gone {version}"), None)]);
            expected[at].merge(&part);
            store.merge(vec![(keys[at].clone(), part), (keys[at].clone(), gone.clone())]).await?;
            let mut shown = expected.clone();
            shown[at].merge(&gone);
            expect_same(format!("a merge of {version}"), &store.states_lately(&keys).await?, &shown)?;
            store.forget_removed(&keys[at], &[(format!("gone {version}").into(), version)]).await?;
        }
    }
    let now = UtcMillis(0);
    store.erase(&tenant("main")?, &person("ann")?, EraseMode::Remove, now).await?;
    let found = store.states_lately(&keys).await?;
    expect_same("an erasure", &found, &store.states(&keys).await?)?;
    expect_same("no key", &store.states_lately(&[]).await?, &Vec::new())
}

async fn check_subjects_apart(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of_subject = work_key("1")?;
    let of_person = StateKey::Person(tenant("main")?, person("work:1")?);
    merge_cell(&store, &of_subject, "name", ValueCell { version: 5, value: None }).await?;
    expect_same("the person", &read_state(&store, &of_person).await?, &VersionedState::default())?;
    merge_cell(&store, &of_person, "zone", ValueCell { version: 1, value: None }).await?;
    expect_same(
        "the subject",
        &read_state(&store, &of_subject).await?,
        &VersionedState::from_values(5, [("name", None)]),
    )
}

async fn check_profile_apart(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let mut expected: Vec<(StateKey, VersionedState)> = Vec::new();
    for n in 0..60 {
        let (of, who) = (tenant("main")?, person(&format!("p{n}"))?);
        for (version, key) in (1..).zip(StateKey::OF_PERSONS.map(|sort| sort(of.clone(), who.clone()))) {
            expect_same(
                format!("{key:?} before"),
                &read_state(&store, &key).await?,
                &VersionedState::default(),
            )?;
            // Some have a note, most have not; those who have can lose it again.
            let kept = match key {
                StateKey::Notes(..) if n % 6 == 0 => {
                    VersionedState::from_values(version, [("erased", Some(Value::Flag(true)))])
                }
                StateKey::Notes(..) if n % 6 == 1 => VersionedState::from_values(version, [("erased", None)]),
                StateKey::Notes(..) => VersionedState::default(),
                _ => VersionedState::from_values(version, [("erased", Some(Value::Time(UtcMillis(n))))]),
            };
            store.merge(vec![(key.clone(), kept.clone())]).await?;
            expected.push((key, kept));
        }
    }
    for crashes in 0..2 {
        let keys: Vec<StateKey> = expected.iter().map(|(key, _)| key.clone()).collect();
        for (found, (key, kept)) in store.states(&keys).await?.iter().zip(&expected) {
            expect_same(format!("{key:?} after {crashes} crashes"), found, kept)?;
        }
        store = harness.crash(store).await?;
    }
    Ok(())
}

async fn check_merges_at_once(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let key = work_key("1")?;
    let merges = (0..60_i64).map(|n| {
        // Every second is for one field; a step of seven mixes the versions.
        let name = if n % 2 == 0 { "title".to_owned() } else { format!("field {n}") };
        let (store, key) = (&store, &key);
        async move {
            merge_cell(
                store,
                key,
                &name,
                ValueCell { version: n * 7 % 60, value: Some(Value::Time(UtcMillis(n))) },
            )
            .await
        }
    });
    futures::future::try_join_all(merges).await?;
    let found = read_state(&store, &key).await?;
    expect_same("fields", &found.cells.len(), &31)?;
    let newest = found.cells.get("title").map(|cell| cell.version);
    expect_same("the newest version", &newest, &(0..60).filter(|n| n % 2 == 0).map(|n| n * 7 % 60).max())
}
