//! Promises to one who takes the turns of several partitions at once.

use anyhow::ensure;
use futures::FutureExt as _;

use super::{
    TopicsPromiseRow,
    bench::{BenchMember, TopicsBench, check_same, numbered_records, test_record, values_text},
};
use crate::port::{CommitError, TopicName, Turn, TurnGuarantee};

pub(super) const PROMISES: &[TopicsPromiseRow] = &[
    (
        "more is of others",
        "What more there is comes from partitions of which nothing is held, and no record comes twice.",
        |b| more_is_of_others(b).boxed(),
    ),
    (
        "each turn by itself",
        "Of turns that are committed together one that is lost takes no other along, and each is told what became of it.",
        |b| each_turn_by_itself(b).boxed(),
    ),
    (
        "held alone",
        "Of a partition that is held nothing is handed out until it is rewound; the others go on.",
        |b| held_alone(b).boxed(),
    ),
];

const PARTITIONS: u32 = 3;

async fn own_all(
    bench: &TopicsBench<'_>,
    lead: &TopicName,
    mode: TurnGuarantee,
) -> anyhow::Result<BenchMember> {
    for partition in 0..PARTITIONS {
        bench.append(numbered_records(lead, partition, 0..2)).await?;
    }
    let mut hand = bench.join(bench.membership(lead, mode)).await?;
    hand.own_partitions(3).await?;
    Ok(hand)
}

async fn more_is_of_others(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let lead = bench.declare_topic("lead", PARTITIONS).await?;
    let mut hand = own_all(bench, &lead, TurnGuarantee::Plain).await?;
    let mut seen = Vec::new();
    while seen.len() < 6 {
        let first = hand.next_batch(1).await?;
        let mut held = vec![first.partition];
        seen.extend(first.records);
        while let Some(more) = hand.member.take_more(&held, 1).await? {
            ensure!(!held.contains(&more.partition), "partition {} is held already", more.partition);
            ensure!(hand.assigned.get(&more.partition) == Some(&more.generation), "of another's: {more:?}");
            ensure!(more.records.len() == 1, "{} records, and one was asked for", more.records.len());
            held.push(more.partition);
            seen.extend(more.records);
        }
    }
    let mut places: Vec<(u32, u64)> = seen.iter().map(|record| (record.partition, record.offset)).collect();
    places.sort_unstable();
    places.dedup();
    ensure!(places.len() == 6, "some record came twice: {seen:?}");
    Ok(())
}

async fn each_turn_by_itself(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let (lead, out) =
        (bench.declare_topic("lead", PARTITIONS).await?, bench.declare_topic("out", PARTITIONS).await?);
    let mut hand = own_all(bench, &lead, TurnGuarantee::Atomic).await?;
    hand.take_records(6).await?;
    let told = |partition: u32| vec![test_record(&out, partition, "k", "told")];
    let mut turns: Vec<Turn> =
        (0..PARTITIONS).map(|partition| hand.turn_for(partition, told(partition))).collect();
    // As if it had been polled under an ownership that is over.
    if let Some(first) = turns.first_mut() {
        first.generation -= 1;
    }
    let outcomes = hand.member.commit_all(turns).await;
    let as_wanted = matches!(outcomes.as_slice(), [Err(CommitError::Lost(_)), Ok(()), Ok(())]);
    ensure!(as_wanted, "of three turns, the first an old one's, came {outcomes:?}");
    let standing = bench.standing(&lead).await?;
    let moved: Vec<bool> = standing.iter().map(|(committed, _)| *committed > 0).collect();
    ensure!(moved == [false, true, true], "the group stands at {standing:?}");
    for (partition, wanted) in [(0, ""), (1, "told"), (2, "told")] {
        check_same("records of the turns", &values_text(&bench.read_all(&out, partition).await?), wanted)?;
    }
    Ok(())
}

async fn held_alone(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let lead = bench.declare_topic("lead", PARTITIONS).await?;
    let mut hand = own_all(bench, &lead, TurnGuarantee::Plain).await?;
    let held = hand.next_batch(1).await?.partition;
    hand.member.hold(held);
    for partition in 0..PARTITIONS {
        bench.append(numbered_records(&lead, partition, 2..4)).await?;
    }
    let of_others = usize::try_from(PARTITIONS - 1)? * 4;
    let others = hand.take_records(of_others).await?;
    ensure!(others.iter().all(|record| record.partition != held), "partition {held} is held: {others:?}");
    let more = hand.member.take_more(&[], 9).await?;
    ensure!(more.is_none(), "partition {held} is held, and there is more: {more:?}");
    hand.member.rewind(held).await?;
    let own = hand.take_records(4).await?;
    ensure!(own.iter().all(|record| record.partition == held), "only {held} has records: {own:?}");
    check_same("after the hold", &values_text(&own), "0 1 2 3")
}
