//! Promises about the journal.

use std::sync::Arc;

use model::{EndReason, PlanName, ReadyId, Tenant};

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_holds, expect_same,
    samples::{NOW, entry_key, ready_id, tenant, today},
};
use crate::port::{JournalClaim, JournalClaimOutcome, JournalOutcome, JournalRecord, JournalRows, Store};

promises! {
    check_first_claim keeps "the first claim stands":
        "a later claim of the same attempt is told the whole of the first, also after a crash";
    check_one_claimer keeps "one of many claimers wins":
        "of many claims of one attempt at the same time exactly one is told that it is theirs";
    check_repeated_claim keeps "a repeated claim is one's own":
        "a claim repeated with the same token succeeds again";
    check_attempts_apart keeps "attempts are apart":
        "claims and records of another attempt or another Ready have nothing to do with each other";
    check_first_record keeps "the first record stands":
        "a second record of an attempt changes nothing and is no error";
    check_complete keeps "the journal is complete":
        "after a crash every claim and record is there in full, attempts and Readys in order";
}

fn sample_claim(n: u8, attempt: u16, token: u8) -> JournalClaim {
    let told = (0..u16::from(token % 5)).map(|n| entry_key(n, today())).collect();
    JournalClaim {
        ready: ready_id(n),
        attempt,
        token: [token; 16],
        at: NOW.plus(i64::from(token)),
        deadline: NOW.plus(60_000),
        told,
        // Some name it, others do not.
        plan: (token % 2 == 1).then(|| PlanName::new("soon").ok()).flatten(),
    }
}

fn sample_record(n: u8, attempt: u16, what: JournalOutcome) -> JournalRecord {
    let left = EndReason::ALL.iter().zip(0..).map(|(why, n)| (entry_key(n, today()), *why)).collect();
    JournalRecord { ready: ready_id(n), attempt, at: NOW.plus(1_000), what, left }
}

async fn read_journal(
    store: &Arc<dyn Store>,
    of: &Tenant,
    ready: ReadyId,
) -> Result<JournalRows, BrokenStorePromise> {
    let mut found = store.read_journal(of, &[ready]).await?;
    found
        .pop()
        .ok_or_else(|| BrokenStorePromise("a Ready that was asked for is missing from the answer".into()))
}

async fn check_first_claim(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    expect_same("the first", &store.claim(&of, sample_claim(1, 0, 4)).await?, &JournalClaimOutcome::Yours)?;
    expect_same(
        "the second",
        &store.claim(&of, sample_claim(1, 0, 8)).await?,
        &JournalClaimOutcome::Theirs(sample_claim(1, 0, 4)),
    )?;
    store = harness.crash(store).await?;
    expect_same(
        "the third, after a crash",
        &store.claim(&of, sample_claim(1, 0, 9)).await?,
        &JournalClaimOutcome::Theirs(sample_claim(1, 0, 4)),
    )?;
    expect_same(
        "the journal",
        &read_journal(&store, &of, ready_id(1)).await?.claims,
        &vec![sample_claim(1, 0, 4)],
    )
}

async fn check_one_claimer(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of = tenant("main")?;
    for round in 0..5 {
        let claims = (0..50).map(|token| store.claim(&of, sample_claim(round, 0, token)));
        let answers = futures::future::try_join_all(claims).await?;
        let won: Vec<u8> =
            (0..50).filter(|token| answers[usize::from(*token)] == JournalClaimOutcome::Yours).collect();
        let [winner] = won[..] else { return Err(BrokenStorePromise(format!("{won:?} all won"))) };
        let told = answers
            .iter()
            .filter(|answer| **answer == JournalClaimOutcome::Theirs(sample_claim(round, 0, winner)))
            .count();
        expect_same("told who won", &told, &49)?;
        expect_same(
            "the journal",
            &read_journal(&store, &of, ready_id(round)).await?.claims,
            &vec![sample_claim(round, 0, winner)],
        )?;
    }
    Ok(())
}

async fn check_repeated_claim(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    for crashes in 0..3 {
        for _ in 0..2 {
            let answer = store.claim(&of, sample_claim(1, 0, 7)).await?;
            expect_same(format!("one's own after {crashes} crashes"), &answer, &JournalClaimOutcome::Yours)?;
        }
        store = harness.crash(store).await?;
    }
    // Whatever else the repeating differs in, the first claim stands as it was.
    let later = JournalClaim { at: NOW.plus(5_000), told: Vec::new(), ..sample_claim(1, 0, 7) };
    expect_same("one's own, later", &store.claim(&of, later).await?, &JournalClaimOutcome::Yours)?;
    expect_same(
        "the journal",
        &read_journal(&store, &of, ready_id(1)).await?.claims,
        &vec![sample_claim(1, 0, 7)],
    )
}

async fn check_attempts_apart(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of = tenant("main")?;
    for (n, attempt) in [(1, 0), (1, 1), (2, 0), (1, 256), (1, u16::MAX)] {
        let answer = store.claim(&of, sample_claim(n, attempt, 3)).await?;
        expect_same(format!("attempt {attempt} of Ready {n}"), &answer, &JournalClaimOutcome::Yours)?;
    }
    store.record(&of, sample_record(1, 1, JournalOutcome::NotSent)).await?;
    store.record(&of, sample_record(2, 0, JournalOutcome::Sent)).await?;
    let one = read_journal(&store, &of, ready_id(1)).await?;
    let claims = [0, 1, 256, u16::MAX].map(|attempt| sample_claim(1, attempt, 3)).to_vec();
    expect_same("claims", &one.claims, &claims)?;
    expect_same("records", &one.records, &vec![sample_record(1, 1, JournalOutcome::NotSent)])
}

async fn check_first_record(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    let first = sample_record(1, 0, JournalOutcome::Unknown);
    store.record(&of, first.clone()).await?;
    store
        .record(&of, JournalRecord { at: NOW, left: Vec::new(), ..sample_record(1, 0, JournalOutcome::Sent) })
        .await?;
    store = harness.crash(store).await?;
    store.record(&of, sample_record(1, 0, JournalOutcome::Refused)).await?;
    expect_same("records", &read_journal(&store, &of, ready_id(1)).await?.records, &vec![first])
}

async fn check_complete(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    let outcomes = [
        JournalOutcome::NotSent,
        JournalOutcome::Away,
        JournalOutcome::Nothing,
        JournalOutcome::Refused,
        JournalOutcome::Returned,
        JournalOutcome::Unsure,
        JournalOutcome::Unknown,
        JournalOutcome::Sent,
    ];
    let mut expected = JournalRows::default();
    for (what, attempt) in outcomes.into_iter().zip(0..) {
        expect_same(
            "a claim",
            &store.claim(&of, sample_claim(1, attempt, 6)).await?,
            &JournalClaimOutcome::Yours,
        )?;
        store = harness.crash(store).await?;
        store.record(&of, sample_record(1, attempt, what)).await?;
        expected.claims.push(sample_claim(1, attempt, 6));
        expected.records.push(sample_record(1, attempt, what));
    }
    store.record(&of, sample_record(2, 0, JournalOutcome::Nothing)).await?;
    store = harness.crash(store).await?;
    let other =
        JournalRows { claims: Vec::new(), records: vec![sample_record(2, 0, JournalOutcome::Nothing)] };
    let mut keys = vec![ready_id(2), ready_id(3), ready_id(1)];
    keys.extend([ready_id(4); 30]);
    let found = store.read_journal(&of, &keys).await?;
    expect_same("answers", &found.len(), &keys.len())?;
    expect_same(
        "in the order asked for",
        &found[..3].to_vec(),
        &vec![other, JournalRows::default(), expected],
    )?;
    expect_holds(
        "a Ready that is not in the journal",
        found[3..].iter().all(|one| *one == JournalRows::default()),
    )
}
