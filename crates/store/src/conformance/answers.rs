//! Promises about answers.

use model::limits::DAY_MS;

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_same,
    samples::{NOW, tenant},
};

promises! {
    check_first_answer keeps "the first answer stands":
        "later answers for the same key get the first one, also after a crash";
    check_one_of_many keeps "one of many answers stands":
        "of many answers for one key at the same time all are given the same one";
    check_answer_expires keeps "an answer is gone after a day":
        "an answer stands until it is a day old; then there is none, and the next one is the first";
}

async fn check_first_answer(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    expect_same("before", &store.find_answer(&of, "key", NOW).await?, &None)?;
    let long = vec![0xfe; 100_000];
    for (key, answer) in [("key", b"one".to_vec()), ("", Vec::new()), ("key ", vec![0]), ("KEY", long)] {
        expect_same(key, &store.answer(&of, key, answer.clone(), NOW).await?, &answer)?;
        store = harness.crash(store).await?;
        expect_same(key, &store.answer(&of, key, b"two".to_vec(), NOW.plus(5)).await?, &answer)?;
        expect_same(key, &store.answer(&of, key, b"three".to_vec(), NOW.plus(-5)).await?, &answer)?;
        expect_same(key, &store.find_answer(&of, key, NOW.plus(6)).await?, &Some(answer))?;
    }
    Ok(())
}

async fn check_one_of_many(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of = tenant("main")?;
    let answers = (0..50_u8).map(|n| store.answer(&of, "key", vec![n], NOW));
    let answers = futures::future::try_join_all(answers).await?;
    let first = answers.first().ok_or_else(|| BrokenStorePromise("no answer".into()))?;
    let agreeing = answers.iter().filter(|answer| *answer == first).count();
    expect_same(format!("agreeing on {first:?}"), &agreeing, &answers.len())?;
    expect_same("later", &store.find_answer(&of, "key", NOW).await?.as_ref(), &Some(first))
}

async fn check_answer_expires(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of = tenant("main")?;
    store.answer(&of, "key", b"one".to_vec(), NOW).await?;
    let last = NOW.plus(DAY_MS - 1);
    expect_same("a millisecond before", &store.find_answer(&of, "key", last).await?, &Some(b"one".to_vec()))?;
    expect_same(
        "a millisecond before",
        &store.answer(&of, "key", b"two".to_vec(), last).await?,
        &b"one".to_vec(),
    )?;
    expect_same("at a day", &store.find_answer(&of, "key", last.plus(1)).await?, &None)?;
    expect_same(
        "a new one",
        &store.answer(&of, "key", b"three".to_vec(), last.plus(1)).await?,
        &b"three".to_vec(),
    )?;
    expect_same(
        "that one",
        &store.find_answer(&of, "key", last.plus(DAY_MS)).await?,
        &Some(b"three".to_vec()),
    )
}
