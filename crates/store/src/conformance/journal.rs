//! Promises about the journal.

use std::sync::Arc;

use model::{ReadyId, Tenant, Why};

use super::{
    Broken, Harness, Kept, Promise, held, same,
    samples::{NOW, entry_key, ready, tenant, today},
};
use crate::port::{Claim, Claimed, Journalled, Record, Recorded, Store};

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "the first claim stands",
        says: "a later claim of the same attempt is told the whole of the first, also after a crash",
        check: |harness| Box::pin(first_claim(harness)),
    },
    Promise {
        name: "one of many claimers wins",
        says: "of many claims of one attempt at the same time exactly one is told that it is theirs",
        check: |harness| Box::pin(one_wins(harness)),
    },
    Promise {
        name: "a repeated claim is one's own",
        says: "whoever repeats a claim with the same token is told again that it is theirs",
        check: |harness| Box::pin(repeated(harness)),
    },
    Promise {
        name: "attempts are apart",
        says: "claims and records of another attempt or another Ready have nothing to do with each other",
        check: |harness| Box::pin(attempts(harness)),
    },
    Promise {
        name: "the first record stands",
        says: "a second record of an attempt changes nothing and is no error",
        check: |harness| Box::pin(first_record(harness)),
    },
    Promise {
        name: "the journal is complete",
        says: "after a crash every claim and record is there in full, attempts and Readys in order",
        check: |harness| Box::pin(complete(harness)),
    },
];

fn claim(n: u8, attempt: u16, token: u8) -> Claim {
    let told = (0..u16::from(token % 5)).map(|n| entry_key(n, today())).collect();
    Claim {
        ready: ready(n),
        attempt,
        token: [token; 16],
        at: NOW.plus(i64::from(token)),
        deadline: NOW.plus(60_000),
        told,
    }
}

fn record(n: u8, attempt: u16, what: Recorded) -> Record {
    let left = Why::ALL.iter().zip(0..).map(|(why, n)| (entry_key(n, today()), *why)).collect();
    Record { ready: ready(n), attempt, at: NOW.plus(1_000), what, left }
}

async fn journalled(store: &Arc<dyn Store>, of: &Tenant, ready: ReadyId) -> Result<Journalled, Broken> {
    let mut found = store.journalled(of, &[ready]).await?;
    found.pop().ok_or_else(|| Broken("a Ready that was asked for is missing from the answer".into()))
}

async fn first_claim(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    same("the first", &store.claim(&of, claim(1, 0, 4)).await?, &Claimed::Yours)?;
    same("the second", &store.claim(&of, claim(1, 0, 8)).await?, &Claimed::Theirs(claim(1, 0, 4)))?;
    store = harness.crash(store).await?;
    same(
        "the third, after a crash",
        &store.claim(&of, claim(1, 0, 9)).await?,
        &Claimed::Theirs(claim(1, 0, 4)),
    )?;
    same("the journal", &journalled(&store, &of, ready(1)).await?.claims, &vec![claim(1, 0, 4)])
}

async fn one_wins(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let of = tenant("main")?;
    for round in 0..5 {
        let claims = (0..50).map(|token| store.claim(&of, claim(round, 0, token)));
        let answers = futures::future::try_join_all(claims).await?;
        let won: Vec<u8> = (0..50).filter(|token| answers[usize::from(*token)] == Claimed::Yours).collect();
        let [winner] = won[..] else { return Err(Broken(format!("{won:?} all won"))) };
        let told =
            answers.iter().filter(|answer| **answer == Claimed::Theirs(claim(round, 0, winner))).count();
        same("told who won", &told, &49)?;
        same(
            "the journal",
            &journalled(&store, &of, ready(round)).await?.claims,
            &vec![claim(round, 0, winner)],
        )?;
    }
    Ok(())
}

async fn repeated(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    for crashes in 0..3 {
        for _ in 0..2 {
            let answer = store.claim(&of, claim(1, 0, 7)).await?;
            same(format!("one's own after {crashes} crashes"), &answer, &Claimed::Yours)?;
        }
        store = harness.crash(store).await?;
    }
    // Whatever else the repeating differs in, the first claim stands as it was.
    let later = Claim { at: NOW.plus(5_000), told: Vec::new(), ..claim(1, 0, 7) };
    same("one's own, later", &store.claim(&of, later).await?, &Claimed::Yours)?;
    same("the journal", &journalled(&store, &of, ready(1)).await?.claims, &vec![claim(1, 0, 7)])
}

async fn attempts(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let of = tenant("main")?;
    for (n, attempt) in [(1, 0), (1, 1), (2, 0), (1, 256), (1, u16::MAX)] {
        let answer = store.claim(&of, claim(n, attempt, 3)).await?;
        same(format!("attempt {attempt} of Ready {n}"), &answer, &Claimed::Yours)?;
    }
    store.record(&of, record(1, 1, Recorded::NotSent)).await?;
    store.record(&of, record(2, 0, Recorded::Sent)).await?;
    let one = journalled(&store, &of, ready(1)).await?;
    let claims = [0, 1, 256, u16::MAX].map(|attempt| claim(1, attempt, 3)).to_vec();
    same("claims", &one.claims, &claims)?;
    same("records", &one.records, &vec![record(1, 1, Recorded::NotSent)])
}

async fn first_record(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    let first = record(1, 0, Recorded::Unknown);
    store.record(&of, first.clone()).await?;
    store.record(&of, Record { at: NOW, left: Vec::new(), ..record(1, 0, Recorded::Sent) }).await?;
    store = harness.crash(store).await?;
    store.record(&of, record(1, 0, Recorded::Refused)).await?;
    same("records", &journalled(&store, &of, ready(1)).await?.records, &vec![first])
}

async fn complete(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    let of = tenant("main")?;
    let outcomes = [
        Recorded::NotSent,
        Recorded::Away,
        Recorded::Nothing,
        Recorded::Refused,
        Recorded::Returned,
        Recorded::Unsure,
        Recorded::Unknown,
        Recorded::Sent,
    ];
    let mut expected = Journalled::default();
    for (what, attempt) in outcomes.into_iter().zip(0..) {
        same("a claim", &store.claim(&of, claim(1, attempt, 6)).await?, &Claimed::Yours)?;
        store = harness.crash(store).await?;
        store.record(&of, record(1, attempt, what)).await?;
        expected.claims.push(claim(1, attempt, 6));
        expected.records.push(record(1, attempt, what));
    }
    store.record(&of, record(2, 0, Recorded::Nothing)).await?;
    store = harness.crash(store).await?;
    let other = Journalled { claims: Vec::new(), records: vec![record(2, 0, Recorded::Nothing)] };
    let mut keys = vec![ready(2), ready(3), ready(1)];
    keys.extend([ready(4); 30]);
    let found = store.journalled(&of, &keys).await?;
    same("answers", &found.len(), &keys.len())?;
    same("in the order asked for", &found[..3].to_vec(), &vec![other, Journalled::default(), expected])?;
    held("a Ready that is not in the journal", found[3..].iter().all(|one| *one == Journalled::default()))
}
