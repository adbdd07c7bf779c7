//! Promises to one member of a group: what it is handed, and where it stands.

use std::{pin::pin, task::Poll};

use anyhow::{Context as _, bail, ensure};
use futures::FutureExt as _;

use super::{
    TopicsPromiseRow,
    bench::{BenchMember, TopicsBench, check_same, numbered_records, values_text},
};
use crate::port::{MemberEvent, TopicError};

pub(super) const PROMISES: &[TopicsPromiseRow] = &[
    ("assigned, then handed out", "No record of a partition comes before it was assigned.", |b| {
        assigned_then_handed_out(b).boxed()
    }),
    (
        "as many as asked for",
        "A batch has at most as many records as were asked for, all of one partition.",
        |b| as_many_as_asked_for(b).boxed(),
    ),
    ("a commit moves the standing", "After a commit the group stands at the offsets that it named.", |b| {
        a_commit_moves_the_standing(b).boxed()
    }),
    ("a commit is durable", "What was committed before a crash does not come again.", |b| {
        a_commit_is_durable(b).boxed()
    }),
    ("uncommitted comes again", "What was handed out and not committed comes again after a crash.", |b| {
        uncommitted_comes_again(b).boxed()
    }),
    (
        "the standing is true",
        "The standing is what was committed, or the first offset, and the end; also after a crash.",
        |b| the_standing_is_true(b).boxed(),
    ),
    (
        "positions tell",
        "Positions are those of the commit at first, then right after what was handed out.",
        |b| positions_tell(b).boxed(),
    ),
    ("ends are those of now", "The ends of a partition are behind everything that was appended.", |b| {
        ends_are_those_of_now(b).boxed()
    }),
    (
        "rewound to the commit",
        "After rewinding, what was handed out since the commit comes again, and only that.",
        |b| rewound_to_the_commit(b).boxed(),
    ),
    ("dropped half-way", "Asking for the next happening and giving up loses nothing.", |b| {
        dropped_half_way(b).boxed()
    }),
    ("out of range is an error", "A position outside of its partition is an error and never a jump.", |b| {
        out_of_range_is_an_error(b).boxed()
    }),
];

async fn assigned_then_handed_out(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 2).await?;
    bench.append([numbered_records(&topic, 0, 0..2), numbered_records(&topic, 1, 2..4)].concat()).await?;
    let mut hand = bench.join_plain(&topic).await?;
    // The hand itself looks at the order.
    hand.take_records(4).await?;
    ensure!(hand.assigned.len() == 2, "2 partitions, {} assigned", hand.assigned.len());
    Ok(())
}

async fn as_many_as_asked_for(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 2).await?;
    bench.append([numbered_records(&topic, 0, 0..9), numbered_records(&topic, 1, 0..9)].concat()).await?;
    let mut hand = bench.join_plain(&topic).await?;
    let mut count = 0;
    while count < 18 {
        let batch = hand.next_batch(2).await?;
        ensure!(batch.records.len() <= 2, "{} records, 2 were asked for", batch.records.len());
        count += batch.records.len();
    }
    ensure!(count == 18, "18 records were appended, {count} were handed out");
    Ok(())
}

async fn a_commit_moves_the_standing(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 1).await?;
    bench.append(numbered_records(&topic, 0, 0..3)).await?;
    let mut hand = bench.join_plain(&topic).await?;
    hand.take_records(3).await?;
    let before = bench.standing(&topic).await?[0].0;
    hand.commit(0, vec![]).await?;
    let positions = hand.member.positions(0);
    let after = bench.standing(&topic).await?[0].0;
    ensure!(after > before, "stood at {before}, stands at {after} after a commit");
    ensure!(positions == [(topic, after)], "committed {positions:?}, stands at {after}");
    Ok(())
}

async fn a_commit_is_durable(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 1).await?;
    bench.append(numbered_records(&topic, 0, 0..3)).await?;
    let mut hand = bench.join_plain(&topic).await?;
    hand.take_records(3).await?;
    hand.commit(0, vec![]).await?;
    bench.crash().await?;
    drop(hand);
    bench.append(numbered_records(&topic, 0, 3..4)).await?;
    let mut hand = bench.join_plain(&topic).await?;
    check_same("after the commit", &values_text(&hand.take_records(1).await?), "3")
}

async fn uncommitted_comes_again(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 1).await?;
    bench.append(numbered_records(&topic, 0, 0..2)).await?;
    let mut hand = bench.join_plain(&topic).await?;
    hand.take_records(2).await?;
    hand.commit(0, vec![]).await?;
    bench.append(numbered_records(&topic, 0, 2..4)).await?;
    check_same("handed out", &values_text(&hand.take_records(2).await?), "2 3")?;
    bench.crash().await?;
    drop(hand);
    bench.append(numbered_records(&topic, 0, 4..5)).await?;
    let mut hand = bench.join_plain(&topic).await?;
    check_same("after the crash", &values_text(&hand.take_records(3).await?), "2 3 4")
}

async fn the_standing_is_true(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 2).await?;
    bench.append([numbered_records(&topic, 0, 0..3), numbered_records(&topic, 1, 0..2)].concat()).await?;
    let bounds = bench.engine().bounds(&topic).await?;
    let standing = bench.standing(&topic).await?;
    ensure!(standing == bounds, "nothing is committed: bounds {bounds:?}, standing {standing:?}");
    let mut hand = bench.join_plain(&topic).await?;
    let mut committed = bounds.clone();
    for _ in 0..2 {
        let partition = hand.next_batch(10).await?.partition;
        hand.commit(partition, vec![]).await?;
        committed[usize::try_from(partition)?].0 = hand.member.positions(partition)[0].1;
    }
    bench.append(numbered_records(&topic, 1, 2..4)).await?;
    let ends: Vec<u64> = bench.engine().bounds(&topic).await?.into_iter().map(|(_, end)| end).collect();
    let wanted: Vec<(u64, u64)> = committed.iter().zip(ends).map(|((at, _), end)| (*at, end)).collect();
    for when in ["before", "after"] {
        let standing = bench.standing(&topic).await?;
        ensure!(standing == wanted, "{when} a crash: wanted {wanted:?}, found {standing:?}");
        if when == "before" {
            bench.crash().await?;
        }
    }
    drop(hand);
    Ok(())
}

async fn positions_tell(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 1).await?;
    bench.append(numbered_records(&topic, 0, 0..5)).await?;
    let mut hand = bench.join_plain(&topic).await?;
    hand.own_partitions(1).await?;
    let position = |hand: &BenchMember| hand.member.positions(0).first().map_or(u64::MAX, |(_, at)| *at);
    let (first, end) = bench.engine().bounds(&topic).await?[0];
    ensure!(position(&hand) == first, "never committed, starts at {}", position(&hand));
    let batch = hand.next_batch(3).await?;
    let last = batch.records.last().map_or(0, |r| r.offset);
    let right = position(&hand) > last && position(&hand) <= end;
    ensure!(right, "{last} was handed out, position {}", position(&hand));
    hand.commit(0, vec![]).await?;
    let committed = position(&hand);
    drop(hand);
    let mut hand = bench.join_plain(&topic).await?;
    hand.own_partitions(1).await?;
    ensure!(position(&hand) == committed, "committed {committed}, starts at {}", position(&hand));
    Ok(())
}

async fn ends_are_those_of_now(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 1).await?;
    let mut hand = bench.join_plain(&topic).await?;
    hand.own_partitions(1).await?;
    for n in 0..3 {
        bench.append(numbered_records(&topic, 0, n..n + 1)).await?;
        let end = bench.engine().bounds(&topic).await?[0].1;
        let ends = hand.member.ends(0).await?;
        ensure!(ends == [(topic.clone(), end)], "the end is {end}, found {ends:?}");
    }
    Ok(())
}

async fn rewound_to_the_commit(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 1).await?;
    bench.append(numbered_records(&topic, 0, 0..2)).await?;
    let mut hand = bench.join_plain(&topic).await?;
    hand.take_records(2).await?;
    hand.commit(0, vec![]).await?;
    bench.append(numbered_records(&topic, 0, 2..5)).await?;
    for _ in 0..2 {
        check_same("handed out", &values_text(&hand.take_records(3).await?), "2 3 4")?;
        hand.member.rewind(0).await?;
    }
    check_same("handed out", &values_text(&hand.take_records(3).await?), "2 3 4")
}

async fn dropped_half_way(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 2).await?;
    let mut hand = bench.join_plain(&topic).await?;
    let mut seen = Vec::new();
    for n in 0..30 {
        bench.append(numbered_records(&topic, n % 2, n..n + 1)).await?;
        // Given up at the first place where it waits, and at whatever place it is a moment later.
        for wait in [false, true] {
            let happening = {
                let mut next = pin!(hand.member.next(3));
                match futures::poll!(&mut next) {
                    Poll::Ready(happening) => Some(happening),
                    Poll::Pending if wait => {
                        tokio::time::timeout(std::time::Duration::from_micros(200), next).await.ok()
                    }
                    Poll::Pending => None,
                }
            };
            match happening.transpose()? {
                Some(MemberEvent::Assigned(partitions)) => hand.assigned.extend(partitions),
                Some(MemberEvent::Records(batch)) => seen.extend(batch.records),
                Some(MemberEvent::Revoked(partitions)) => bail!("revoked without reason: {partitions:?}"),
                None => {}
            }
        }
    }
    let missing = 30 - seen.len().min(30);
    seen.extend(hand.take_records(missing).await.context("after giving up often")?);
    for partition in 0..2 {
        let of: Vec<_> = seen.iter().filter(|r| r.partition == partition).cloned().collect();
        let wanted = (0..30).filter(|n| n % 2 == partition).map(|n: u32| n.to_string()).collect::<Vec<_>>();
        check_same("handed out", &values_text(&of), &wanted.join(" "))?;
    }
    Ok(())
}

async fn out_of_range_is_an_error(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 1).await?;
    bench.append(numbered_records(&topic, 0, 0..3)).await?;
    let mut hand = bench.join_plain(&topic).await?;
    hand.take_records(3).await?;
    let mut turn = hand.turn_for(0, vec![]);
    for (_, offset) in &mut turn.offsets {
        *offset += 1_000;
    }
    match hand.member.commit(turn).await {
        // An engine may refuse to be led astray in the first place.
        Err(crate::port::CommitError::Engine(TopicError::Refused(_))) => return Ok(()),
        other => other?,
    }
    drop(hand);
    let mut hand = bench.join_plain(&topic).await?;
    loop {
        match hand.next(10).await {
            Ok(MemberEvent::Records(batch)) => bail!("jumped to {:?}", batch.records),
            Ok(MemberEvent::Assigned(_) | MemberEvent::Revoked(_)) => {}
            Err(error) => match error.downcast_ref::<TopicError>() {
                Some(TopicError::Refused(_)) => return Ok(()),
                _ => return Err(error.context("a position far behind the end")),
            },
        }
    }
}
