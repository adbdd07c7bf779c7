//! Promises to several members of a group: how partitions are assigned and handed over.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, ensure};
use futures::FutureExt as _;

use super::{
    TopicsPromiseRow,
    bench::{BenchMember, TopicsBench, numbered_records},
};
use crate::port::{CommitError, GroupMembership, MemberEvent, TopicName, TopicRecord, Turn, TurnGuarantee};

pub(super) const PROMISES: &[TopicsPromiseRow] = &[
    ("shared out", "Two members share the partitions, and every record is committed once.", |b| {
        check_shared_out(b).boxed()
    }),
    ("companions come along", "The lead and its companions of one number have the same owner.", |b| {
        companions_come_along(b).boxed()
    }),
    (
        "revoked, then assigned",
        "A partition is assigned to another member only when its owner has let go of it; a turn in flight is committed before.",
        |b| revoked_then_assigned(b).boxed(),
    ),
    ("passed on", "When a member leaves, another one gets what it had, from what it had committed.", |b| {
        check_passed_on(b).boxed()
    }),
    (
        "generations rise",
        "Every assignment of a partition has a higher generation, also across a crash.",
        |b| generations_rise(b).boxed(),
    ),
];

/// Lets two members work until both have something and all partitions are given out.
async fn settle_members(
    one: &mut BenchMember,
    two: &mut BenchMember,
    partitions: usize,
) -> anyhow::Result<()> {
    let done = |one: &BenchMember, two: &BenchMember| {
        let (one, two) = (one.assigned.len(), two.assigned.len());
        one > 0 && two > 0 && one + two == partitions
    };
    while !done(one, two) {
        // Whoever waits in vain is given up, which loses nothing.
        let happening = tokio::select! {
            happening = one.next(1) => happening,
            happening = two.next(1) => happening,
        };
        let happening = happening.context("while partitions are shared out")?;
        if let MemberEvent::Records(batch) = happening {
            anyhow::bail!("unexpected records of partition {}", batch.partition);
        }
    }
    Ok(())
}

async fn check_shared_out(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 6).await?;
    let (mut one, mut two) = (bench.join_plain(&topic).await?, bench.join_plain(&topic).await?);
    settle_members(&mut one, &mut two, 6).await?;
    let mut both = one.assigned.keys().chain(two.assigned.keys()).copied().collect::<Vec<_>>();
    both.sort_unstable();
    ensure!(both == [0, 1, 2, 3, 4, 5], "6 partitions, owned are {both:?}");
    for partition in 0..6 {
        bench.append(numbered_records(&topic, partition, 0..5)).await?;
    }
    let seen = Mutex::new(BTreeMap::<(u32, u64), usize>::new());
    let total = || seen.lock().unwrap_or_else(PoisonError::into_inner).values().sum::<usize>();
    let work = async |hand: &mut BenchMember| {
        while total() < 30 {
            if let MemberEvent::Records(batch) = hand.next(2).await? {
                match hand.commit(batch.partition, vec![]).await {
                    Ok(()) => note_records(&seen, &batch.records),
                    Err(CommitError::Lost(_)) => drop(hand.assigned.remove(&batch.partition)),
                    Err(CommitError::Aborted(_)) => {}
                    Err(error @ CommitError::Engine(_)) => return Err(error.into()),
                }
            }
        }
        anyhow::Ok(())
    };
    run_either(work(&mut one), work(&mut two)).await?;
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let twice: Vec<_> = seen.iter().filter(|(_, n)| **n > 1).collect();
    ensure!(twice.is_empty(), "committed more than once: {twice:?}");
    Ok(())
}

fn note_records(seen: &Mutex<BTreeMap<(u32, u64), usize>>, records: &[TopicRecord]) {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    for record in records {
        *seen.entry((record.partition, record.offset)).or_default() += 1;
    }
}

async fn companions_come_along(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let (lead, companion) =
        (bench.declare_topic("lead", 4).await?, bench.declare_topic("companion", 4).await?);
    let membership = GroupMembership {
        companions: vec![companion.clone()],
        ..bench.membership(&lead, TurnGuarantee::Plain)
    };
    let (mut one, mut two) = (bench.join(membership.clone()).await?, bench.join(membership).await?);
    settle_members(&mut one, &mut two, 4).await?;
    for partition in 0..4 {
        bench.append(numbered_records(&lead, partition, 0..3)).await?;
        bench.append(numbered_records(&companion, partition, 3..6)).await?;
    }
    // Which member was handed which record.
    let seen = Mutex::new(BTreeMap::<(u32, TopicName, u64), &str>::new());
    let seen = || seen.lock().unwrap_or_else(PoisonError::into_inner);
    let work = async |hand: &mut BenchMember, name| {
        while seen().len() < 24 {
            if let MemberEvent::Records(batch) = hand.next(2).await? {
                let records = batch.records.into_iter().map(|r| ((r.partition, r.topic, r.offset), name));
                seen().extend(records);
                let positions = hand.member.positions(batch.partition);
                let named: BTreeSet<TopicName> = positions.into_iter().map(|(topic, _)| topic).collect();
                let both = BTreeSet::from([lead.clone(), companion.clone()]);
                ensure!(named == both, "positions of {named:?} only");
            }
        }
        anyhow::Ok(())
    };
    run_either(work(&mut one, "one"), work(&mut two, "two")).await?;
    for partition in 0..4 {
        let members: BTreeSet<&str> =
            seen().iter().filter(|((p, _, _), _)| *p == partition).map(|(_, name)| *name).collect();
        ensure!(members.len() == 1, "partition {partition} and its companion went to {members:?}");
    }
    Ok(())
}

/// Runs both until the first is done, since the other may then wait for nothing.
async fn run_either(
    one: impl Future<Output = anyhow::Result<()>>,
    two: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let (one, two) = (pin!(one), pin!(two));
    let (done, _) = futures::future::select(one, two).await.factor_first();
    done
}

async fn revoked_then_assigned(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 4).await?;
    let mut one = bench.join_plain(&topic).await?;
    one.own_partitions(4).await?;
    let mut two = bench.join_plain(&topic).await?;
    let mut generations = one.assigned.clone();
    let held = Mutex::new(one.assigned.keys().copied().collect::<BTreeSet<u32>>());
    let let_go = |partitions: &[u32]| {
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|p| !partitions.contains(p));
    };
    let old = async {
        loop {
            match one.next(1).await {
                Ok(MemberEvent::Revoked(partitions)) => {
                    // The turn in flight takes a moment; only then is it let go of, by asking again.
                    runtime::retry::pause_before_retry(0, 0).await;
                    for partition in &partitions {
                        let turn =
                            Turn { generation: generations[partition], ..one.turn_for(*partition, vec![]) };
                        one.member.commit(turn).await.context("the turn in flight at a revocation")?;
                    }
                    let_go(&partitions);
                }
                // It may have changed its mind.
                Ok(MemberEvent::Assigned(partitions)) => generations.extend(partitions),
                Ok(MemberEvent::Records(_)) => {}
                Err(error) => return Err(error),
            }
        }
    };
    let new = async {
        while two.assigned.len() < 2 {
            two.next(1).await?;
            let held = held.lock().unwrap_or_else(PoisonError::into_inner);
            let early: Vec<_> = two.assigned.keys().filter(|p| held.contains(p)).collect();
            ensure!(early.is_empty(), "assigned elsewhere before it was let go of: {early:?}");
        }
        anyhow::Ok(())
    };
    run_either(old, new).await
}

async fn check_passed_on(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 2).await?;
    let (mut one, mut two) = (bench.join_plain(&topic).await?, bench.join_plain(&topic).await?);
    settle_members(&mut one, &mut two, 2).await?;
    let partition = *one.assigned.keys().next().context("nothing assigned")?;
    bench.append(numbered_records(&topic, partition, 0..2)).await?;
    one.take_records(2).await?;
    one.commit(partition, vec![]).await?;
    bench.append(numbered_records(&topic, partition, 2..4)).await?;
    one.take_records(2).await?;
    drop(one);
    two.own_partitions(2).await?;
    super::bench::check_same(
        "from the commit on",
        &super::bench::values_text(&two.take_records(2).await?),
        "2 3",
    )
}

async fn generations_rise(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 1).await?;
    let mut last = None;
    for life in 0..4 {
        let mut hand = bench.join_plain(&topic).await?;
        hand.own_partitions(1).await?;
        let generation = hand.assigned.get(&0).copied();
        ensure!(generation > last, "generation {generation:?} after {last:?}");
        last = generation;
        if life == 1 {
            bench.crash().await?;
        }
    }
    Ok(())
}
