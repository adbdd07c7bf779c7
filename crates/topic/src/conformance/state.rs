//! Promises of compacted topics: an owner gets back exactly what its predecessor last said of each key.

use anyhow::ensure;
use futures::FutureExt as _;

use super::{
    Row,
    bench::{Bench, Hand, pairs, record, same, tombstone},
};
use crate::port::{Membership, Mode, TopicName};

pub(super) const PROMISES: &[Row] = &[
    (
        "state is complete",
        "A restored partition has every key that was ever written and not taken away.",
        |b| state_is_complete(b).boxed(),
    ),
    ("state is the latest", "A restored partition has the latest record of a key and no other.", |b| {
        state_is_the_latest(b).boxed()
    }),
    (
        "a tombstone takes away",
        "A key whose latest record has no value is not restored, also after a crash.",
        |b| a_tombstone_takes_away(b).boxed(),
    ),
    ("state is per partition", "The same key in another partition is another key.", |b| {
        state_is_per_partition(b).boxed()
    }),
    ("state follows the turn", "A new owner restores what the last turn of its predecessor wrote.", |b| {
        state_follows_the_turn(b).boxed()
    }),
];

/// A member with a lead and a state of two partitions.
async fn owner(bench: &Bench<'_>) -> anyhow::Result<(TopicName, TopicName, Hand)> {
    let (lead, state) = (bench.topic("lead", 2).await?, bench.compacted("state", 2).await?);
    let membership = Membership { state: Some(state.clone()), ..bench.membership(&lead, Mode::Atomic) };
    let mut hand = bench.join(membership).await?;
    hand.own(2).await?;
    Ok((lead, state, hand))
}

async fn state_is_complete(bench: &Bench<'_>) -> anyhow::Result<()> {
    let state = bench.compacted("state", 2).await?;
    let records: Vec<_> = (0..50).map(|n| record(&state, 1, &format!("k{n:02}"), "v")).collect();
    for some in records.chunks(7) {
        bench.append(some.to_vec()).await?;
    }
    let (_, _, mut hand) = owner(bench).await?;
    let restored = hand.restore(1).await?;
    ensure!(restored.len() == 50, "50 keys were written, {} were restored", restored.len());
    ensure!(restored.iter().all(|r| r.topic == state && r.partition == 1), "restored: {restored:?}");
    ensure!(hand.restore(0).await?.is_empty(), "nothing was written to partition 0");
    drop(hand);
    bench.crash().await?;
    bench.append(vec![record(&state, 1, "last", "v")]).await?;
    let (_, _, mut hand) = owner(bench).await?;
    let restored = hand.restore(1).await?;
    ensure!(restored.len() == 51, "51 keys were written, {} were restored after a crash", restored.len());
    Ok(())
}

async fn state_is_the_latest(bench: &Bench<'_>) -> anyhow::Result<()> {
    let state = bench.compacted("state", 2).await?;
    bench.append(vec![record(&state, 0, "a", "1"), record(&state, 0, "b", "1")]).await?;
    bench.append(vec![record(&state, 0, "a", "2"), record(&state, 0, "a", "3")]).await?;
    let (_, _, mut hand) = owner(bench).await?;
    same("restored", &pairs(&hand.restore(0).await?), "a=3 b=1")?;
    drop(hand);
    bench.crash().await?;
    let (_, _, mut hand) = owner(bench).await?;
    same("restored after a crash", &pairs(&hand.restore(0).await?), "a=3 b=1")
}

async fn a_tombstone_takes_away(bench: &Bench<'_>) -> anyhow::Result<()> {
    let state = bench.compacted("state", 2).await?;
    let records = [("a", "1"), ("b", "1"), ("c", "1")].map(|(k, v)| record(&state, 0, k, v));
    bench.append(records.to_vec()).await?;
    bench.append(vec![tombstone(&state, 0, "a"), tombstone(&state, 0, "c")]).await?;
    bench.append(vec![record(&state, 0, "c", "2")]).await?;
    let (_, _, mut hand) = owner(bench).await?;
    same("restored", &pairs(&hand.restore(0).await?), "b=1 c=2")?;
    drop(hand);
    bench.crash().await?;
    let (_, _, mut hand) = owner(bench).await?;
    same("restored after a crash", &pairs(&hand.restore(0).await?), "b=1 c=2")
}

async fn state_is_per_partition(bench: &Bench<'_>) -> anyhow::Result<()> {
    let state = bench.compacted("state", 2).await?;
    bench.append(vec![record(&state, 0, "a", "zero"), record(&state, 1, "a", "one")]).await?;
    bench.append(vec![tombstone(&state, 1, "a"), record(&state, 1, "ab", "one")]).await?;
    let (_, _, mut hand) = owner(bench).await?;
    same("partition 0", &pairs(&hand.restore(0).await?), "a=zero")?;
    same("partition 1", &pairs(&hand.restore(1).await?), "ab=one")
}

async fn state_follows_the_turn(bench: &Bench<'_>) -> anyhow::Result<()> {
    let (lead, state, mut first) = owner(bench).await?;
    for n in 0..3_u32 {
        bench.append(vec![record(&lead, 0, "k", "v")]).await?;
        let batch = first.batch(10).await?;
        ensure!(batch.partition == 0, "records of partition {}", batch.partition);
        first.commit(0, vec![record(&state, 0, "seen", &n.to_string())]).await?;
    }
    drop(first);
    let (_, _, mut second) = owner(bench).await?;
    same("restored", &pairs(&second.restore(0).await?), "seen=2")?;
    let committed = bench.standing(&lead).await?[0].0;
    let positions = second.member.positions(0);
    ensure!(positions == [(lead, committed)], "committed {committed}, but starts at {positions:?}");
    Ok(())
}
