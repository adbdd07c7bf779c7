//! Promises about answers.

use model::limits::DAY_MS;

use super::{
    Broken, Harness, Kept, Promise, same,
    samples::{NOW, tenant},
};

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "the first answer stands",
        says: "whoever answers later for the same key is given the first answer, also after a crash",
        check: |harness| Box::pin(first_stands(harness)),
    },
    Promise {
        name: "one of many answers stands",
        says: "of many answers for one key at the same time all are given the same one",
        check: |harness| Box::pin(one_stands(harness)),
    },
    Promise {
        name: "an answer is gone after a day",
        says: "an answer stands until it is a day old; then there is none, and the next one is the first",
        check: |harness| Box::pin(gone(harness)),
    },
];

async fn first_stands(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    same("before", &store.answered(&of, "key", NOW).await?, &None)?;
    let long = vec![0xfe; 100_000];
    for (key, answer) in [("key", b"one".to_vec()), ("", Vec::new()), ("key ", vec![0]), ("KEY", long)] {
        same(key, &store.answer(&of, key, answer.clone(), NOW).await?, &answer)?;
        store = harness.crash(store).await?;
        same(key, &store.answer(&of, key, b"two".to_vec(), NOW.plus(5)).await?, &answer)?;
        same(key, &store.answer(&of, key, b"three".to_vec(), NOW.plus(-5)).await?, &answer)?;
        same(key, &store.answered(&of, key, NOW.plus(6)).await?, &Some(answer))?;
    }
    Ok(())
}

async fn one_stands(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let of = tenant("main")?;
    let answers = (0..50_u8).map(|n| store.answer(&of, "key", vec![n], NOW));
    let answers = futures::future::try_join_all(answers).await?;
    let first = answers.first().ok_or_else(|| Broken("no answer".into()))?;
    let agreeing = answers.iter().filter(|answer| *answer == first).count();
    same(format!("agreeing on {first:?}"), &agreeing, &answers.len())?;
    same("later", &store.answered(&of, "key", NOW).await?.as_ref(), &Some(first))
}

async fn gone(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let of = tenant("main")?;
    store.answer(&of, "key", b"one".to_vec(), NOW).await?;
    let last = NOW.plus(DAY_MS - 1);
    same("a millisecond before", &store.answered(&of, "key", last).await?, &Some(b"one".to_vec()))?;
    same("a millisecond before", &store.answer(&of, "key", b"two".to_vec(), last).await?, &b"one".to_vec())?;
    same("at a day", &store.answered(&of, "key", last.plus(1)).await?, &None)?;
    same("a new one", &store.answer(&of, "key", b"three".to_vec(), last.plus(1)).await?, &b"three".to_vec())?;
    same("that one", &store.answered(&of, "key", last.plus(DAY_MS)).await?, &Some(b"three".to_vec()))
}
