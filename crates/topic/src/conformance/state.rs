//! Promises of compacted topics: an owner gets back exactly what its predecessor last said of each key.

use anyhow::ensure;
use futures::FutureExt as _;

use super::{
    TopicsPromiseRow,
    bench::{BenchMember, TopicsBench, check_same, pairs_text, test_record, test_tombstone},
};
use crate::port::{GroupMembership, TopicName, TurnGuarantee};

pub(super) const PROMISES: &[TopicsPromiseRow] = &[
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
async fn join_owner(bench: &TopicsBench<'_>) -> anyhow::Result<(TopicName, TopicName, BenchMember)> {
    let (lead, state) = (bench.declare_topic("lead", 2).await?, bench.declare_compacted("state", 2).await?);
    let membership =
        GroupMembership { state: Some(state.clone()), ..bench.membership(&lead, TurnGuarantee::Atomic) };
    let mut hand = bench.join(membership).await?;
    hand.own_partitions(2).await?;
    Ok((lead, state, hand))
}

async fn state_is_complete(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let state = bench.declare_compacted("state", 2).await?;
    let records: Vec<_> = (0..50).map(|n| test_record(&state, 1, &format!("k{n:02}"), "v")).collect();
    for some in records.chunks(7) {
        bench.append(some.to_vec()).await?;
    }
    let (_, _, mut hand) = join_owner(bench).await?;
    let restored = hand.restore(1).await?;
    ensure!(restored.len() == 50, "50 keys were written, {} were restored", restored.len());
    ensure!(restored.iter().all(|r| r.topic == state && r.partition == 1), "restored: {restored:?}");
    ensure!(hand.restore(0).await?.is_empty(), "nothing was written to partition 0");
    drop(hand);
    bench.crash().await?;
    bench.append(vec![test_record(&state, 1, "last", "v")]).await?;
    let (_, _, mut hand) = join_owner(bench).await?;
    let restored = hand.restore(1).await?;
    ensure!(restored.len() == 51, "51 keys were written, {} were restored after a crash", restored.len());
    Ok(())
}

async fn state_is_the_latest(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let state = bench.declare_compacted("state", 2).await?;
    bench.append(vec![test_record(&state, 0, "a", "1"), test_record(&state, 0, "b", "1")]).await?;
    bench.append(vec![test_record(&state, 0, "a", "2"), test_record(&state, 0, "a", "3")]).await?;
    let (_, _, mut hand) = join_owner(bench).await?;
    check_same("restored", &pairs_text(&hand.restore(0).await?), "a=3 b=1")?;
    drop(hand);
    bench.crash().await?;
    let (_, _, mut hand) = join_owner(bench).await?;
    check_same("restored after a crash", &pairs_text(&hand.restore(0).await?), "a=3 b=1")
}

async fn a_tombstone_takes_away(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let state = bench.declare_compacted("state", 2).await?;
    let records = [("a", "1"), ("b", "1"), ("c", "1")].map(|(k, v)| test_record(&state, 0, k, v));
    bench.append(records.to_vec()).await?;
    bench.append(vec![test_tombstone(&state, 0, "a"), test_tombstone(&state, 0, "c")]).await?;
    bench.append(vec![test_record(&state, 0, "c", "2")]).await?;
    let (_, _, mut hand) = join_owner(bench).await?;
    check_same("restored", &pairs_text(&hand.restore(0).await?), "b=1 c=2")?;
    drop(hand);
    bench.crash().await?;
    let (_, _, mut hand) = join_owner(bench).await?;
    check_same("restored after a crash", &pairs_text(&hand.restore(0).await?), "b=1 c=2")
}

async fn state_is_per_partition(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let state = bench.declare_compacted("state", 2).await?;
    bench.append(vec![test_record(&state, 0, "a", "zero"), test_record(&state, 1, "a", "one")]).await?;
    bench.append(vec![test_tombstone(&state, 1, "a"), test_record(&state, 1, "ab", "one")]).await?;
    let (_, _, mut hand) = join_owner(bench).await?;
    check_same("partition 0", &pairs_text(&hand.restore(0).await?), "a=zero")?;
    check_same("partition 1", &pairs_text(&hand.restore(1).await?), "ab=one")
}

async fn state_follows_the_turn(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let (lead, state, mut first) = join_owner(bench).await?;
    for n in 0..3_u32 {
        bench.append(vec![test_record(&lead, 0, "k", "v")]).await?;
        let batch = first.next_batch(10).await?;
        ensure!(batch.partition == 0, "records of partition {}", batch.partition);
        first.commit(0, vec![test_record(&state, 0, "seen", &n.to_string())]).await?;
    }
    drop(first);
    let (_, _, mut second) = join_owner(bench).await?;
    check_same("restored", &pairs_text(&second.restore(0).await?), "seen=2")?;
    let committed = bench.standing(&lead).await?[0].0;
    let positions = second.member.positions(0);
    ensure!(positions == [(lead, committed)], "committed {committed}, but starts at {positions:?}");
    Ok(())
}
