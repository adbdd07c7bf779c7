//! Promises about answers.

use model::{Tenant, UtcMillis, limits::DAY_MS};

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_same,
    samples::{NOW, tenant},
};
use crate::port::{StandingAnswer, Store, StoreError};

promises! {
    check_first_answer keeps "the first answer stands":
        "later answers for the same key get the first one, also after a crash";
    check_one_of_many keeps "one of many answers stands":
        "of many answers for one key at the same time all are given the same one";
    check_answer_expires keeps "an answer is gone after a day":
        "an answer stands until it is a day old; then there is none, and the next one is the first";
    check_answer_has_its_time keeps "an answer stands for its own time":
        "an answer is found until the instant that it names, be that in a minute or in a month, and not after it";
    check_answer_gives_way keeps "an answer gives way to whoever has read it":
        "another answer takes its place where the one that was read still stands, or none does, and is told to all who come later, also after a crash";
    check_newer_answer_stands keeps "an answer gives way to nobody else":
        "who has read an answer that does not stand any more, be it in a byte or a millisecond, is told the one that does";
    check_one_follows keeps "one of many answers follows":
        "of many who put another answer into the place of the same one at the same time, one does, and all are told which";
}

/// An answer that stands for so long from now on.
fn standing(body: &[u8], ms: i64) -> StandingAnswer {
    StandingAnswer { body: body.to_vec(), until: NOW.plus(ms) }
}

async fn find_body(
    store: &dyn Store,
    of: &Tenant,
    key: &str,
    now: UtcMillis,
) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(store.find_answer(of, key, now).await?.map(|found| found.body))
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
        expect_same(key, &find_body(&*store, &of, key, NOW.plus(6)).await?, &Some(answer))?;
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
    expect_same("later", &find_body(&*store, &of, "key", NOW).await?.as_ref(), &Some(first))
}

async fn check_answer_expires(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of = tenant("main")?;
    store.answer(&of, "key", b"one".to_vec(), NOW).await?;
    let last = NOW.plus(DAY_MS - 1);
    expect_same(
        "a millisecond before",
        &find_body(&*store, &of, "key", last).await?,
        &Some(b"one".to_vec()),
    )?;
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
        &find_body(&*store, &of, "key", last.plus(DAY_MS)).await?,
        &Some(b"three".to_vec()),
    )
}

async fn check_answer_has_its_time(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of = tenant("main")?;
    for (key, ms) in [("a minute", 60_000), ("a month", 31 * DAY_MS), ("an instant", 1)] {
        let answer = standing(key.as_bytes(), ms);
        let stands = store.put_answer(&of, key, None, answer.clone(), NOW).await?;
        expect_same(key, &stands, &answer)?;
        let last = NOW.plus(ms - 1);
        expect_same(
            format!("{key}, right before"),
            &store.find_answer(&of, key, last).await?,
            &Some(answer),
        )?;
        expect_same(format!("{key}, then"), &store.find_answer(&of, key, last.plus(1)).await?, &None)?;
    }
    Ok(())
}

async fn check_answer_gives_way(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    let mut before = None;
    for (n, ms) in [(1, 10 * DAY_MS), (2, 2 * DAY_MS), (3, 2 * DAY_MS), (4, 90 * DAY_MS)] {
        let next = standing(&vec![n; usize::from(n) * 1_000], ms);
        for again in 0..2 {
            let stands = store.put_answer(&of, "key", before.as_ref(), next.clone(), NOW).await?;
            expect_same(format!("{n}, try {again}"), &stands, &next)?;
        }
        store = harness.crash(store).await?;
        expect_same(n, &store.find_answer(&of, "key", NOW).await?.as_ref(), &Some(&next))?;
        before = Some(next);
    }
    // Where the one that was read is over, or there never was one, the next is the first.
    let (over, next) = (standing(b"over", 5), standing(b"next", 2 * DAY_MS));
    store.put_answer(&of, "over", None, over.clone(), NOW).await?;
    for key in ["over", "never"] {
        let stands = store.put_answer(&of, key, Some(&over), next.clone(), NOW.plus(5)).await?;
        expect_same(key, &stands, &next)?;
    }
    Ok(())
}

async fn check_newer_answer_stands(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    let (first, second) = (standing(b"first", DAY_MS), standing(b"second", DAY_MS));
    store.put_answer(&of, "key", None, first.clone(), NOW).await?;
    store.put_answer(&of, "key", Some(&first), second.clone(), NOW).await?;
    store = harness.crash(store).await?;
    let near = [
        first,
        standing(b"second", DAY_MS + 1),
        standing(b"second", DAY_MS - 1),
        standing(b"secone", DAY_MS),
    ];
    for before in near.iter().map(Some).chain([None]) {
        let late = standing(b"late", 2 * DAY_MS);
        let stands = store.put_answer(&of, "key", before, late, NOW).await?;
        expect_same(format!("after {before:?}"), &stands, &second)?;
    }
    expect_same("at last", &store.find_answer(&of, "key", NOW).await?, &Some(second))
}

async fn check_one_follows(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of = tenant("main")?;
    let mut before = standing(b"first", DAY_MS);
    store.put_answer(&of, "key", None, before.clone(), NOW).await?;
    for round in 0..5_u8 {
        let next = (0..20_u8).map(|n| {
            let next = standing(&[round, n], DAY_MS + i64::from(n % 3));
            store.put_answer(&of, "key", Some(&before), next, NOW)
        });
        let told = futures::future::try_join_all(next).await?;
        let stands = store.find_answer(&of, "key", NOW).await?;
        let stands = stands.ok_or_else(|| BrokenStorePromise("no answer".into()))?;
        let agreeing = told.iter().filter(|told| **told == stands).count();
        expect_same(format!("agreeing on {stands:?}"), &agreeing, &told.len())?;
        expect_same("of this round", &stands.body.first(), &Some(&round))?;
        before = stands;
    }
    Ok(())
}
