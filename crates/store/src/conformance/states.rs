//! Promises about states.

use std::sync::Arc;

use model::{Cell, Millis, Place, State, Value};

use super::{
    Broken, Harness, Kept, Promise, same,
    samples::{person, subject, tenant},
};
use crate::port::{StateKey, Store};

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "states are durable",
        says: "a state whose merge has returned is there after a crash",
        check: |harness| Box::pin(durable(harness)),
    },
    Promise {
        name: "states come back as written",
        says: "every sort of value is read as it was merged, in the order asked for, also after a crash",
        check: |harness| Box::pin(as_written(harness)),
    },
    Promise {
        name: "states merge by cell",
        says: "a merge changes the cells it names and leaves all others alone",
        check: |harness| Box::pin(by_cell(harness)),
    },
    Promise {
        name: "the newer cell wins",
        says: "of the versions of a cell the highest stands, in whatever order and however often they came",
        check: |harness| Box::pin(newer_wins(harness)),
    },
    Promise {
        name: "equal versions are settled by content",
        says: "of cells with one version the same stands in every order, by the rule of the model",
        check: |harness| Box::pin(ties(harness)),
    },
    Promise {
        name: "a removal is a value",
        says: "a removed cell stays removed when an older value comes later, and a newer one brings it back",
        check: |harness| Box::pin(removal(harness)),
    },
    Promise {
        name: "subjects are not persons",
        says: "a person and a subject of the same name share no cell",
        check: |harness| Box::pin(not_persons(harness)),
    },
    Promise {
        name: "mutes and notes are no part of the profile",
        says: "a person's profile, mutes and notes share no cell, each comes back as merged, also after a crash",
        check: |harness| Box::pin(profile_apart(harness)),
    },
    Promise {
        name: "merges at once lose nothing",
        says: "of many merges at the same time into one owner, every cell's newest stands",
        check: |harness| Box::pin(at_once(harness)),
    },
];

fn work(id: &str) -> Result<StateKey, Broken> {
    Ok(StateKey::Subject(tenant("main")?, subject(&format!("work:{id}"))?))
}

async fn state(store: &Arc<dyn Store>, key: &StateKey) -> Result<State, Broken> {
    let mut states = store.states(std::slice::from_ref(key)).await?;
    states.pop().ok_or_else(|| Broken("a state that was asked for is missing from the answer".into()))
}

async fn merge(store: &Arc<dyn Store>, key: &StateKey, name: &str, cell: Cell) -> Kept {
    let mut state = State::default();
    state.set(name, cell);
    Ok(store.merge(vec![(key.clone(), state)]).await?)
}

fn every_value() -> Result<Vec<Value>, Broken> {
    let refs = |names: &[&str]| names.iter().map(|name| subject(name)).collect::<Result<Vec<_>, _>>();
    Ok(vec![
        Value::text(""),
        Value::text("a \u{10ffff} \0 text"),
        Value::text(&"x".repeat(4096)),
        Value::Number(-0.5),
        Value::Number(f64::MAX),
        Value::Flag(true),
        Value::Flag(false),
        Value::Time(Millis(-1)),
        Value::Time(Millis(i64::MAX)),
        Value::Ref(subject("author:7")?),
        Value::Refs(Vec::new()),
        Value::Refs(refs(&["author:7", "author:8", "author:7"])?),
        Value::Place(Place { lat: -89.5, lon: 179.99 }),
    ])
}

async fn durable(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let mut expected = State::default();
    for version in 1..4 {
        let part =
            State::at(version, [("title", None), (&*format!("field {version}"), Some(Value::Flag(true)))]);
        store.merge(vec![(work("1")?, part.clone())]).await?;
        expected.merge(&part);
        store = harness.crash(store).await?;
    }
    same("after a crash", &state(&store, &work("1")?).await?, &expected)
}

async fn as_written(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let mut full = State::default();
    for (n, value) in every_value()?.into_iter().enumerate() {
        full.set(&format!("field {n}"), Cell { version: 1_000 + n as i64, value: Some(value) });
    }
    full.set("gone", Cell { version: 5, value: None });
    let small = State::at(7, [("title", Some(Value::text("Moon")))]);
    store.merge(vec![(work("1")?, full.clone()), (work("2")?, small.clone())]).await?;
    let mut keys = vec![work("2")?, work("unknown")?, work("1")?, work("2")?];
    let mut expected = vec![small.clone(), State::default(), full, small];
    // More than an engine may read at once.
    keys.extend((0..40).map(|n| work(&format!("unknown {n}"))).collect::<Result<Vec<_>, _>>()?);
    expected.resize(keys.len(), State::default());
    same("at once", &store.states(&keys).await?, &expected)?;
    same("no key", &store.states(&[]).await?, &Vec::new())?;
    store = harness.crash(store).await?;
    same("after a crash", &store.states(&keys).await?, &expected)
}

async fn by_cell(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let key = work("1")?;
    let first = State::at(5, [("title", Some(Value::text("Moon"))), ("published", Some(Value::Flag(true)))]);
    let second = State::at(9, [("title", Some(Value::text("Sun"))), ("score", Some(Value::Number(1.0)))]);
    let older = State::at(3, [("published", Some(Value::Flag(false))), ("place", None)]);
    let mut expected = State::default();
    for part in [first, second, older] {
        store.merge(vec![(key.clone(), part.clone())]).await?;
        expected.merge(&part);
    }
    same("three merges", &state(&store, &key).await?, &expected)
}

async fn newer_wins(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];
    for (n, order) in orders.into_iter().enumerate() {
        let key = work(&n.to_string())?;
        let cell = |version: i64| Cell { version, value: Some(Value::text(&format!("value {version}"))) };
        for version in order {
            merge(&store, &key, "title", cell(version)).await?;
            merge(&store, &key, "title", cell(version)).await?;
        }
        let expected = State::at(3, [("title", Some(Value::text("value 3")))]);
        same(format!("versions in the order {order:?}"), &state(&store, &key).await?, &expected)?;
        // All in one call, twice.
        let key = work(&format!("{n} at once"))?;
        let all = order.map(|version| (key.clone(), State::at(version, [("title", cell(version).value)])));
        store.merge([all.clone(), all].concat()).await?;
        same(format!("versions in the order {order:?} in one call"), &state(&store, &key).await?, &expected)?;
    }
    Ok(())
}

async fn ties(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let values = [Some(Value::text("a")), Some(Value::text("b")), Some(Value::Flag(true)), None];
    for (i, one) in values.iter().enumerate() {
        for (j, other) in values.iter().enumerate() {
            let key = work(&format!("{i}-{j}"))?;
            let mut expected = State::default();
            for value in [one, other] {
                let cell = Cell { version: 5, value: value.clone() };
                expected.set("title", cell.clone());
                merge(&store, &key, "title", cell).await?;
            }
            same(format!("{one:?}, then {other:?}"), &state(&store, &key).await?, &expected)?;
        }
    }
    Ok(())
}

async fn removal(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let key = work("1")?;
    let text = || Some(Value::text("Moon"));
    merge(&store, &key, "title", Cell { version: 5, value: None }).await?;
    merge(&store, &key, "title", Cell { version: 4, value: text() }).await?;
    store = harness.crash(store).await?;
    merge(&store, &key, "title", Cell { version: 3, value: text() }).await?;
    same("removed", &state(&store, &key).await?, &State::at(5, [("title", None)]))?;
    merge(&store, &key, "title", Cell { version: 6, value: text() }).await?;
    same("brought back", &state(&store, &key).await?, &State::at(6, [("title", text())]))
}

async fn not_persons(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let of_subject = work("1")?;
    let of_person = StateKey::Person(tenant("main")?, person("work:1")?);
    merge(&store, &of_subject, "name", Cell { version: 5, value: None }).await?;
    same("the person", &state(&store, &of_person).await?, &State::default())?;
    merge(&store, &of_person, "zone", Cell { version: 1, value: None }).await?;
    same("the subject", &state(&store, &of_subject).await?, &State::at(5, [("name", None)]))
}

async fn profile_apart(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let mut expected: Vec<(StateKey, State)> = Vec::new();
    for n in 0..60 {
        let (of, who) = (tenant("main")?, person(&format!("p{n}"))?);
        let sorts = [StateKey::Person, StateKey::Mutes, StateKey::Notes];
        for (version, key) in (1..).zip(sorts.map(|sort| sort(of.clone(), who.clone()))) {
            same(format!("{key:?} before"), &state(&store, &key).await?, &State::default())?;
            // Some have a note, most have not; those who have can lose it again.
            let kept = match key {
                StateKey::Notes(..) if n % 6 == 0 => {
                    State::at(version, [("erased", Some(Value::Flag(true)))])
                }
                StateKey::Notes(..) if n % 6 == 1 => State::at(version, [("erased", None)]),
                StateKey::Notes(..) => State::default(),
                _ => State::at(version, [("erased", Some(Value::Time(Millis(n))))]),
            };
            store.merge(vec![(key.clone(), kept.clone())]).await?;
            expected.push((key, kept));
        }
    }
    for crashes in 0..2 {
        let keys: Vec<StateKey> = expected.iter().map(|(key, _)| key.clone()).collect();
        for (found, (key, kept)) in store.states(&keys).await?.iter().zip(&expected) {
            same(format!("{key:?} after {crashes} crashes"), found, kept)?;
        }
        store = harness.crash(store).await?;
    }
    Ok(())
}

async fn at_once(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let key = work("1")?;
    let merges = (0..60_i64).map(|n| {
        // Every second is for one field; a step of seven mixes the versions.
        let name = if n % 2 == 0 { "title".to_owned() } else { format!("field {n}") };
        let (store, key) = (&store, &key);
        async move {
            merge(store, key, &name, Cell { version: n * 7 % 60, value: Some(Value::Time(Millis(n))) }).await
        }
    });
    futures::future::try_join_all(merges).await?;
    let found = state(&store, &key).await?;
    same("fields", &found.cells.len(), &31)?;
    let newest = found.cells.get("title").map(|cell| cell.version);
    same("the newest version", &newest, &(0..60).filter(|n| n % 2 == 0).map(|n| n * 7 % 60).max())
}
