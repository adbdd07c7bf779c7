//! Promises of a turn: all or nothing, and never from an owner that was replaced.

use anyhow::{Context as _, ensure};
use futures::FutureExt as _;

use super::{
    TopicsPromiseRow,
    bench::{
        BenchMember, TopicsBench, check_same, numbered_records, pairs_text, test_record, test_tombstone,
        values_text,
    },
};
use crate::port::{CommitError, GroupMembership, TopicName, Turn, TurnGuarantee};

pub(super) const PROMISES: &[TopicsPromiseRow] = &[
    (
        "a turn is one",
        "Offsets and records of a turn are all visible when it returns, and all there after a crash.",
        |b| a_turn_is_one(b).boxed(),
    ),
    (
        "a turn cut short is whole or nothing",
        "After a crash in the middle of turns each is there as a whole or not at all.",
        |b| a_turn_cut_short(b).boxed(),
    ),
    (
        "a refused turn leaves nothing",
        "Of a turn that failed no record is ever read, and its offsets do not count.",
        |b| a_refused_turn_leaves_nothing(b).boxed(),
    ),
    (
        "a replaced owner cannot commit",
        "A turn of an owner that was replaced is lost, with all its records.",
        |b| a_replaced_owner_cannot_commit(b).boxed(),
    ),
    ("nor an empty turn", "So is a turn of a replaced owner that has read and written nothing.", |b| {
        nor_an_empty_turn(b).boxed()
    }),
    ("nor a plain commit", "So are the plainly committed offsets of a replaced owner.", |b| {
        nor_a_plain_commit(b).boxed()
    }),
];

struct TurnTopics {
    lead: TopicName,
    out: TopicName,
    state: TopicName,
}

impl TurnTopics {
    async fn declare(bench: &TopicsBench<'_>) -> anyhow::Result<Self> {
        let lead = bench.declare_topic("lead", 1).await?;
        Ok(Self {
            lead,
            out: bench.declare_topic("out", 2).await?,
            state: bench.declare_compacted("state", 1).await?,
        })
    }

    async fn join(&self, bench: &TopicsBench<'_>, mode: TurnGuarantee) -> anyhow::Result<BenchMember> {
        let state = Some(self.state.clone());
        bench.join(GroupMembership { state, ..bench.membership(&self.lead, mode) }).await
    }
}

async fn a_turn_is_one(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topics = TurnTopics::declare(bench).await?;
    bench.append(vec![test_record(&topics.state, 0, "gone", "v")]).await?;
    bench.append(numbered_records(&topics.lead, 0, 0..3)).await?;
    let mut hand = topics.join(bench, TurnGuarantee::Atomic).await?;
    hand.take_records(3).await?;
    let records = vec![
        test_record(&topics.out, 0, "k", "a"),
        test_record(&topics.state, 0, "here", "1"),
        test_tombstone(&topics.state, 0, "gone"),
        test_record(&topics.out, 1, "k", "b"),
        test_record(&topics.out, 0, "k", "c"),
    ];
    hand.commit(0, records).await?;
    let committed = hand.member.positions(0)[0].1;
    for when in ["before a crash", "after a crash"] {
        check_same(when, &values_text(&bench.read_all(&topics.out, 0).await?), "a c")?;
        check_same(when, &values_text(&bench.read_all(&topics.out, 1).await?), "b")?;
        let standing = bench.standing(&topics.lead).await?[0].0;
        ensure!(standing == committed, "{when}: committed {committed}, stands at {standing}");
        bench.crash().await?;
        hand = topics.join(bench, TurnGuarantee::Atomic).await?;
        hand.own_partitions(1).await?;
        check_same("restored", &pairs_text(&hand.restore(0).await?), "here=1")?;
    }
    Ok(())
}

async fn a_turn_cut_short(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topics = TurnTopics::declare(bench).await?;
    for life in 0..3 {
        bench.append(numbered_records(&topics.lead, 0, life * 40..(life + 1) * 40)).await?;
        let mut hand = topics.join(bench, TurnGuarantee::Atomic).await?;
        hand.own_partitions(1).await?;
        hand.restore(0).await?;
        let (lead, out, state) = (topics.lead.clone(), topics.out.clone(), topics.state.clone());
        // Before the first turn: where asking takes long, they may all be done by the time of the answer.
        let (mut waited, started) = (0, bench.standing(&lead).await?);
        let turns = tokio::spawn(async move {
            // One record a turn, said in all three places.
            while let Ok(batch) = hand.next_batch(1).await {
                let n = values_text(&batch.records);
                let records = vec![
                    test_record(&out, 0, "k", &n),
                    test_record(&state, 0, "last", &n),
                    test_record(&out, 1, "k", &n),
                ];
                if hand.commit(0, records).await.is_err() {
                    return;
                }
            }
        });
        while bench.standing(&lead).await? == started && waited < 100_000 {
            waited += 1;
            tokio::task::yield_now().await;
        }
        bench.crash().await?;
        turns.abort();
        // Whether it ended by itself or was cut short is all the same.
        drop(turns.await);
        let done = bench.standing(&topics.lead).await?[0].0;
        let read = bench.engine().read(&topics.lead, 0, 0, 200).await?;
        let told = values_text(&read.into_iter().filter(|r| r.offset < done).collect::<Vec<_>>());
        check_same(
            "records of the turns that are committed",
            &values_text(&bench.read_all(&topics.out, 0).await?),
            &told,
        )?;
        check_same("their other records", &values_text(&bench.read_all(&topics.out, 1).await?), &told)?;
        let mut hand = topics.join(bench, TurnGuarantee::Atomic).await?;
        hand.own_partitions(1).await?;
        let last = told.rsplit(' ').next().filter(|n| !n.is_empty());
        let wanted = last.map(|n| format!("last={n}")).unwrap_or_default();
        check_same("their state", &pairs_text(&hand.restore(0).await?), &wanted)?;
    }
    Ok(())
}

async fn a_refused_turn_leaves_nothing(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topics = TurnTopics::declare(bench).await?;
    bench.append(numbered_records(&topics.lead, 0, 0..3)).await?;
    let mut hand = topics.join(bench, TurnGuarantee::Atomic).await?;
    hand.take_records(3).await?;
    let records = vec![
        test_record(&topics.out, 0, "k", "a"),
        test_record(&topics.state, 0, "k", "a"),
        test_record(&topics.out, 2, "k", "there is no such partition"),
    ];
    let refused = hand.commit(0, records).await;
    ensure!(refused.is_err(), "a turn with a record for nowhere was committed");
    drop(hand);
    let (committed, _) = bench.standing(&topics.lead).await?[0];
    ensure!(committed == 0, "the turn failed, yet the group stands at {committed}");
    check_same("records of the failed turn", &values_text(&bench.read_all(&topics.out, 0).await?), "")?;
    let mut hand = topics.join(bench, TurnGuarantee::Atomic).await?;
    hand.own_partitions(1).await?;
    check_same("state of the failed turn", &pairs_text(&hand.restore(0).await?), "")?;
    check_same("what comes again", &values_text(&hand.take_records(3).await?), "0 1 2")
}

/// An owner with a turn in hand, and another that has taken over meanwhile.
async fn replace_owner(
    bench: &TopicsBench<'_>,
    topics: &TurnTopics,
    mode: TurnGuarantee,
) -> anyhow::Result<(BenchMember, BenchMember, Turn)> {
    bench.append(numbered_records(&topics.lead, 0, 0..3)).await?;
    let mut old = topics.join(bench, mode).await?;
    old.take_records(3).await?;
    let records = vec![test_record(&topics.out, 0, "k", "old"), test_record(&topics.state, 0, "k", "old")];
    let turn = old.turn_for(0, records);
    // The old one falls silent, as if its machine had been stopped.
    let mut new = topics.join(bench, mode).await?;
    new.own_partitions(1).await.context("taking over from an owner that fell silent")?;
    Ok((old, new, turn))
}

/// The turn must be lost, and the successor's work must be all there is.
async fn check_only_the_new(
    bench: &TopicsBench<'_>,
    mode: TurnGuarantee,
    cut: fn(&mut Turn),
) -> anyhow::Result<()> {
    let topics = TurnTopics::declare(bench).await?;
    let (mut old, mut new, mut turn) = replace_owner(bench, &topics, mode).await?;
    cut(&mut turn);
    let first = old.member.commit(turn.clone()).await;
    ensure!(matches!(first, Err(CommitError::Lost(_))), "a replaced owner's commit gave {first:?}");
    let (committed, _) = bench.standing(&topics.lead).await?[0];
    ensure!(committed == 0, "the replaced owner moved the group to {committed}");
    check_same("what the successor is handed", &values_text(&new.take_records(3).await?), "0 1 2")?;
    let records = vec![test_record(&topics.out, 0, "k", "new"), test_record(&topics.state, 0, "k", "new")];
    new.commit(0, records).await.context("the successor's commit")?;
    let again = old.member.commit(turn).await;
    ensure!(again.is_err(), "a replaced owner's commit was accepted the second time");
    if mode == TurnGuarantee::Atomic {
        check_same("records of both", &values_text(&bench.read_all(&topics.out, 0).await?), "new")?;
        check_same("state of both", &pairs_text(&new.restore(0).await?), "k=new")?;
    }
    drop(new);
    // The old one finds out by itself and can come back as a new one.
    old.assigned.clear();
    old.own_partitions(1).await.context("coming back")
}

async fn a_replaced_owner_cannot_commit(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    check_only_the_new(bench, TurnGuarantee::Atomic, |_| {}).await
}

async fn nor_an_empty_turn(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let nothing = |turn: &mut Turn| {
        turn.records.clear();
        turn.offsets.iter_mut().for_each(|(_, offset)| *offset = 0);
    };
    check_only_the_new(bench, TurnGuarantee::Atomic, nothing).await
}

async fn nor_a_plain_commit(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    check_only_the_new(bench, TurnGuarantee::Plain, |turn| turn.records.clear()).await
}
