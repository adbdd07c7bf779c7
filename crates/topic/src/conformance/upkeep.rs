//! Promises for maintenance: knowing members of groups, and removing topics.

use anyhow::{bail, ensure};
use futures::FutureExt as _;

use super::{
    TopicsPromiseRow,
    bench::{TopicsBench, check_same, numbered_records, test_record, values_text},
};
use crate::port::{TopicError, TopicName, TopicRetention, TopicSpec};

pub(super) const PROMISES: &[TopicsPromiseRow] = &[
    ("members are known", "A group has members from when the first joins to when the last has left.", |b| {
        members_are_known(b).boxed()
    }),
    (
        "taken away",
        "What was removed is gone, also after a crash, and nothing else; removing it again is no error.",
        |b| check_taken_away(b).boxed(),
    ),
    (
        "emptied",
        "Records that were emptied are handed to nobody, also after a crash, and all others are, at their offsets; or the \
         log says that it cannot empty any.",
        |b| check_emptied(b).boxed(),
    ),
    (
        "lives are told",
        "A log says no age at which records are gone that is less than what was asked for, and none where age takes none away.",
        |b| lives_are_told(b).boxed(),
    ),
    (
        "begun anew",
        "A topic that was removed begins empty, with any partition count, and no group stands in it.",
        |b| check_begun_anew(b).boxed(),
    ),
];

async fn members_are_known(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("lead", 2).await?;
    let group = bench.group();
    ensure!(!bench.engine().has_members(&group).await?, "nobody joined, yet there are members");
    let mut first = bench.join_plain(&topic).await?;
    first.own_partitions(2).await?;
    ensure!(bench.engine().has_members(&group).await?, "one has joined and is not seen");
    let second = bench.join_plain(&topic).await?;
    drop(first);
    // On a cluster joining takes a moment, too.
    wait_for_members(bench, true).await?;
    drop(second);
    wait_until_all_left(bench).await
}

async fn check_taken_away(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let (plain, state) = (bench.declare_topic("plain", 2).await?, bench.declare_compacted("state", 1).await?);
    let other = bench.declare_topic("other", 1).await?;
    bench.append(vec![test_record(&plain, 1, "k", "v"), test_record(&state, 0, "k", "v")]).await?;
    bench.append(numbered_records(&other, 0, 0..3)).await?;
    let gone = [plain, state, bench.topic_name("nowhere")];
    bench.engine().remove(&gone).await?;
    for when in ["before", "after"] {
        for topic in &gone {
            let found = bench.engine().bounds(topic).await;
            ensure!(matches!(found, Err(TopicError::Refused(_))), "{topic} {when} a crash: {found:?}");
        }
        check_same("what was not removed", &values_text(&bench.read_all(&other, 0).await?), "0 1 2")?;
        bench.engine().remove(&gone).await?;
        if when == "before" {
            bench.crash().await?;
        }
    }
    Ok(())
}

async fn check_emptied(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let topic = bench.declare_topic("log", 2).await?;
    bench.append(numbered_records(&topic, 1, 0..9)).await?;
    let all = bench.read_all(&topic, 1).await?;
    ensure!(all.len() == 9, "9 records were appended, {} are there", all.len());
    let some: Vec<_> = [0, 3, 4, 5].map(|n: usize| (topic.clone(), 1, all[n].offset)).into();
    if !bench.engine().blank(&some).await? {
        return check_same(
            "of a log that empties none",
            &values_text(&bench.read_all(&topic, 1).await?),
            "0 1 2 3 4 5 6 7 8",
        );
    }
    for when in ["before", "after"] {
        let left = bench.read_all(&topic, 1).await?;
        check_same(&format!("{when} a crash"), &values_text(&left), "1 2 6 7 8")?;
        ensure!(left[2].offset == all[6].offset, "offsets have moved {when} a crash");
        // A page of nothing but emptied ones is not the end, however few the next one has.
        let page = bench.engine().read(&topic, 1, all[3].offset, 2).await?;
        check_same("a page from an emptied one on", &values_text(&page[..page.len().min(1)]), "6")?;
        if when == "before" {
            bench.crash().await?;
        }
    }
    let mut hand = bench.join_plain(&topic).await?;
    check_same("handed out", &values_text(&hand.take_records(5).await?), "1 2 6 7 8")?;
    bench.engine().blank(&some).await.map(drop).map_err(Into::into)
}

async fn lives_are_told(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    const DAY_MS: i64 = 86_400_000;
    let (kept, state) = (bench.topic_name("kept"), bench.declare_compacted("state", 1).await?);
    let retention = TopicRetention::Milliseconds(3 * DAY_MS);
    bench.engine().declare(&[TopicSpec { name: kept.clone(), partitions: 1, retention }]).await?;
    let life = bench.engine().life(&kept).await?;
    ensure!(life.is_none_or(|life| life >= 3 * DAY_MS), "kept for three days, {life:?} ms by what is told");
    let life = bench.engine().life(&state).await?;
    ensure!(life.is_none(), "of a compacted topic a life of {life:?} ms is told");
    Ok(())
}

async fn check_begun_anew(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    let (lead, state) = (bench.declare_topic("lead", 3).await?, bench.declare_compacted("state", 1).await?);
    bench.append([numbered_records(&lead, 0, 0..3), numbered_records(&lead, 2, 3..5)].concat()).await?;
    bench.append(vec![test_record(&state, 0, "old", "v")]).await?;
    let mut hand = bench.join_plain(&lead).await?;
    hand.take_records(5).await?;
    for partition in [0, 2] {
        hand.commit(partition, vec![]).await?;
    }
    drop(hand);
    wait_until_all_left(bench).await?;
    // The new one is smaller, so that what was committed cannot be mistaken for its own.
    bench.engine().remove(&[lead.clone(), state]).await?;
    bench.declare_topic("lead", 1).await?;
    let state = bench.declare_compacted("state", 2).await?;
    wait_for_no_standing(bench, &lead).await?;
    check_same("of the old state", &values_text(&bench.read_all(&state, 0).await?), "")?;
    bench.append(numbered_records(&lead, 0, 7..9)).await?;
    bench.append(vec![test_record(&state, 1, "new", "w")]).await?;
    bench.crash().await?;
    check_same("the new topic", &values_text(&bench.read_all(&lead, 0).await?), "7 8")?;
    check_same("the new state", &values_text(&bench.read_all(&state, 1).await?), "w")?;
    let mut hand = bench.join_plain(&lead).await?;
    check_same("handed out", &values_text(&hand.take_records(2).await?), "7 8")
}

/// Waits until nobody is left in the group: on a cluster leaving takes a moment.
async fn wait_until_all_left(bench: &TopicsBench<'_>) -> anyhow::Result<()> {
    wait_for_members(bench, false).await
}

/// Waits until the group has members, or has none.
async fn wait_for_members(bench: &TopicsBench<'_>, members: bool) -> anyhow::Result<()> {
    let group = bench.group();
    let seen = async {
        let mut looks = 0;
        while bench.engine().has_members(&group).await? != members {
            runtime::retry::pause_before_retry(looks.min(2), 0).await;
            looks += 1;
        }
        Ok(())
    };
    match tokio::time::timeout(bench.patience(), seen).await {
        Ok(seen) => seen,
        Err(_) if members => bail!("one is left and is not seen"),
        Err(_) => bail!("everybody has left, yet there are members"),
    }
}

/// Waits until nothing is left of what was committed in a topic of that name: a cluster forgets it a
/// moment after the topic.
async fn wait_for_no_standing(bench: &TopicsBench<'_>, topic: &TopicName) -> anyhow::Result<()> {
    let forgotten = async {
        let mut looks = 0;
        loop {
            let (standing, bounds) = (bench.standing(topic).await?, bench.engine().bounds(topic).await?);
            ensure!(bounds.iter().all(|(first, end)| first == end), "it does not begin empty: {bounds:?}");
            if standing == bounds {
                return Ok(());
            }
            runtime::retry::pause_before_retry(looks.min(2), 0).await;
            looks += 1;
        }
    };
    match tokio::time::timeout(bench.patience(), forgotten).await {
        Ok(forgotten) => forgotten,
        Err(_) => bail!("the group still stands somewhere in a topic that is new"),
    }
}
