//! Another partition count for everything that lies by person or subject, while no house runs.
//!
//! The state of each person is copied to the partition that they have under the new count; all other topics keyed by
//! person or subject start empty, because everything in them was read. In this order:
//!
//! 1. the records of `windows` go to [`MOVING`], which has the new count, and are counted there;
//! 2. it is noted that this is under way: no house starts from here on;
//! 3. the topics are taken away and made anew with the new count;
//! 4. the records go from [`MOVING`] to `windows`, and are counted again;
//! 5. [`MOVING`] is taken away, and it is noted that all is done.
//!
//! The same call again goes on after a crash at any place. As long as all topics have the count they had,
//! nothing is lost, `windows` is what counts and it begins at 1; from then on [`MOVING`] is, and it goes on at
//! 3. So there is no moment at which what is remembered lies nowhere whole.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use house::{self, STAGES};
use model::{UtcMillis, partition::PartitionCount};
use runtime::retry;
use serde::Serialize;
use topic::{TopicError, TopicName, TopicRetention, TopicSpec, Topics, port::GroupStanding};
use wire::{replay::ReplayRecord, topics};

use crate::{
    quarantine,
    replay::{self, ReplayError, ReplayService},
};

mod count;
mod note;
#[cfg(test)]
mod tests;

pub use count::RememberedCount;
pub use note::{RepartitionNote, RepartitionPhase};

/// Where the records of `windows` lie meanwhile.
pub const MOVING: &str = "windows-moving";
/// How often a call is tried again that was refused for being busy.
const TRIES: u32 = 12;

/// What a repartition would do, and what stands against it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RepartitionPlan {
    pub from: u32,
    pub to: u32,
    /// Whether it is the rest of one that was interrupted.
    pub is_under_way: bool,
    /// What is remembered, and will be after it.
    pub kept: RememberedCount,
    /// Topics that begin empty, and how many records lie in each.
    pub emptied: BTreeMap<String, u64>,
    /// Why it cannot be done now.
    pub obstacles: Vec<String>,
}

/// Who asks for it, and when; it stands in the note.
#[derive(Clone, Debug)]
pub struct RepartitionOrder {
    pub to: PartitionCount,
    pub who: String,
    pub at: UtcMillis,
}

/// How far things are.
enum RepartitionState {
    /// Nothing was taken away: every topic has so many partitions.
    Whole(PartitionCount),
    /// What is remembered lies in [`MOVING`], as this note says.
    Moving(RepartitionNote),
}

/// Says what a repartition would do. Changes nothing.
pub async fn plan_repartition(log: &dyn Topics, to: PartitionCount) -> anyhow::Result<RepartitionPlan> {
    let mut emptied = BTreeMap::new();
    let from = match find_state(log, to).await? {
        RepartitionState::Whole(from) => from,
        RepartitionState::Moving(RepartitionNote { from, kept, .. }) => {
            let obstacles = find_members(log).await?;
            return Ok(RepartitionPlan {
                from,
                to: to.count(),
                is_under_way: true,
                kept,
                emptied,
                obstacles,
            });
        }
    };
    for name in keyed_topics().into_iter().filter(|name| from != to && &**name != topics::WINDOWS) {
        let bounds = log.bounds(&name).await?;
        emptied.insert(name.to_string(), bounds.iter().map(|(first, end)| end - first).sum());
    }
    let kept = count::count_remembered(log, topics::WINDOWS, from).await?;
    let obstacles = find_obstacles(log).await?;
    Ok(RepartitionPlan { from: from.count(), to: to.count(), is_under_way: false, kept, emptied, obstacles })
}

/// Does it, or the rest of it. `tell` is told each step.
pub async fn execute_repartition(
    log: &dyn Topics,
    order: &RepartitionOrder,
    tell: &(dyn Fn(String) + Sync),
) -> anyhow::Result<RememberedCount> {
    let note = match find_state(log, order.to).await? {
        RepartitionState::Moving(note) => {
            refuse_obstacles(find_members(log).await?)?;
            note
        }
        RepartitionState::Whole(from) if from == order.to => {
            give_up(log, order).await?;
            return count::count_remembered(log, topics::WINDOWS, from).await;
        }
        RepartitionState::Whole(from) => set_aside(log, from, order, tell).await?,
    };
    if note.phase == RepartitionPhase::Moving {
        replace_topics(log, &note, tell).await?;
    }
    remove_copy(log).await?;
    note::write_note(log, &RepartitionNote { phase: RepartitionPhase::Done, ..note.clone() }).await?;
    Ok(note.kept)
}

/// Refuses to work on these topics while a repartition is unfinished.
pub async fn refuse_unfinished(log: &dyn Topics) -> anyhow::Result<()> {
    if let Some(RepartitionNote { from, to, .. }) = note::read_unfinished(log).await? {
        bail!(
            "a repartition from {from} to {to} partitions is unfinished; finish it with `tidings \
            repartition --to {to} --execute`"
        );
    }
    Ok(())
}

/// The topics that lie by person or subject: those whose partitions are as many as is asked for.
fn keyed_topics() -> Vec<TopicName> {
    let (few, many) = (
        topics::all_topics(PartitionCount::from_topic_count(1)),
        topics::all_topics(PartitionCount::from_topic_count(2)),
    );
    let differ = few.iter().zip(&many).filter(|(few, many)| few.1 != many.1 && few.0 != topics::CHANGES);
    differ.map(|(topic, _)| topic.0.into()).collect()
}

async fn find_state(log: &dyn Topics, to: PartitionCount) -> anyhow::Result<RepartitionState> {
    let mut found = BTreeMap::new();
    for name in keyed_topics() {
        found.insert(name.to_string(), read_partitions(log, &name).await?);
    }
    let first = found.values().next().copied().flatten();
    let whole = first.filter(|_| found.values().all(|count| *count == first));
    match (whole, note::read_unfinished(log).await?) {
        (Some(whole), Some(note)) if whole.count() == note.from => {
            // Who gives it up says by that how things are to be.
            let is_right =
                whole == to || count::count_remembered(log, topics::WINDOWS, whole).await? == note.kept;
            ensure!(is_right, explain_changed_topic(&note));
            Ok(RepartitionState::Whole(whole))
        }
        (Some(whole), None) => Ok(RepartitionState::Whole(whole)),
        (_, Some(note)) => {
            let RepartitionNote { from, to: noted, .. } = note;
            ensure!(
                noted == to.count(),
                "a repartition from {from} to {noted} partitions is under way; finish it with `tidings \
                repartition --to {noted} --execute`"
            );
            Ok(RepartitionState::Moving(note))
        }
        (None, None) => {
            let count = |count: &Option<PartitionCount>| count.map_or(0, PartitionCount::count);
            let said = found.iter().map(|(name, found)| format!("{name} {}", count(found)));
            bail!("the topics differ in their number of partitions: {}", said.collect::<Vec<_>>().join(", "))
        }
    }
}

async fn read_partitions(log: &dyn Topics, topic: &str) -> anyhow::Result<Option<PartitionCount>> {
    match retry_while_busy(|| log.bounds(topic)).await {
        Ok(bounds) => Ok(Some(PartitionCount::from_topic_count(bounds.len()))),
        Err(TopicError::Refused(_)) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read the bounds of {topic}")),
    }
}

fn explain_changed_topic(RepartitionNote { from, to, kept, .. }: &RepartitionNote) -> String {
    format!(
        "`{}` has changed since a repartition to {to} partitions began with {kept}: if it is right as it \
        is now, give the repartition up with `tidings repartition --to {from} --execute`; if it was \
        created again by hand, delete it and run `tidings repartition --to {to} --execute`, which restores \
        it from `{MOVING}`",
        topics::WINDOWS
    )
}

/// What stands against taking anything away.
async fn find_obstacles(log: &dyn Topics) -> anyhow::Result<Vec<String>> {
    let mut obstacles = find_members(log).await?;
    let keyed = keyed_topics();
    for (group, topic) in own_readings(&keyed) {
        let standing = retry_while_busy(|| log.standing(group, topic)).await?;
        let lag: u64 = standing.iter().map(GroupStanding::lag).sum();
        if lag > 0 {
            obstacles.push(format!(
                "group `{group}` has {lag} unread records of `{topic}`: run the house without intake until \
                no stage lags"
            ));
        }
    }
    let mut held: BTreeMap<String, u64> = BTreeMap::new();
    for item in quarantine::load_waiting(log).await?.into_values() {
        *held.entry(item.topic).or_default() += 1;
    }
    let moves = |name: &str| keyed.iter().any(|moved| **moved == *name);
    for replay in list_replays(log).await?.iter().filter(|r| r.state.is_open() && moves(&r.topic)) {
        obstacles.push(format!("the replay {} has not ended: resume or stop it first", replay.id));
    }
    for (name, held) in held.into_iter().filter(|(name, _)| moves(name)) {
        obstacles.push(format!(
            "the quarantine holds {held} records of `{name}`, which could not be retried afterwards: retry \
            or drop them first"
        ));
    }
    Ok(obstacles)
}

/// Everything in the book of replays: what has not ended names offsets.
async fn list_replays(log: &dyn Topics) -> anyhow::Result<Vec<ReplayRecord>> {
    let said =
        replay::answer_order(&ReplayService::default(), log, replay::ReplayOrder::List, UtcMillis(0), None)
            .await;
    match said {
        Ok(all) => Ok(serde_json::from_value(all)?),
        Err(ReplayError::Refused(why)) => bail!(why),
        Err(ReplayError::Failed(error)) => Err(error),
    }
}

/// Which group reads which of these topics; what others read stays, and is read on afterwards.
fn own_readings(keyed: &[TopicName]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = STAGES.iter().flat_map(|stage| stage.topics.iter().map(|topic| (stage.group, *topic)));
    all.filter(|(_, topic)| keyed.iter().any(|name| **name == **topic))
}

/// Groups that somebody works in, in lines for whoever has to stop the house.
pub async fn find_members(log: &dyn Topics) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for stage in STAGES {
        if retry_while_busy(|| log.has_members(stage.group)).await? {
            found.push(format!(
                "group `{}` has members: stop the house; a killed process leaves the group when its \
                session times out",
                stage.group
            ));
        }
    }
    Ok(found)
}

fn refuse_obstacles(obstacles: Vec<String>) -> anyhow::Result<()> {
    ensure!(obstacles.is_empty(), "{}", obstacles.join("\n"));
    Ok(())
}

/// Steps 1 and 2.
async fn set_aside(
    log: &dyn Topics,
    from: PartitionCount,
    order: &RepartitionOrder,
    tell: &(dyn Fn(String) + Sync),
) -> anyhow::Result<RepartitionNote> {
    refuse_obstacles(find_obstacles(log).await?)?;
    let to = order.to;
    // What an earlier try has left is of no use.
    remove_copy(log).await?;
    let spec =
        TopicSpec { name: MOVING.into(), partitions: to.count(), retention: TopicRetention::Compacted };
    retry_while_busy(|| log.declare(std::slice::from_ref(&spec)))
        .await
        .with_context(|| format!("create {MOVING}"))?;
    let kept = count::copy_remembered(log, (topics::WINDOWS, from), (MOVING, to)).await?;
    let copied = count::count_remembered(log, MOVING, to).await?;
    ensure!(copied == kept, "there were {kept}, but {MOVING} has {copied}; nothing was deleted");
    tell(format!("copied {kept}"));
    let (who, at) = (order.who.clone(), order.at.to_string());
    let note = RepartitionNote {
        phase: RepartitionPhase::Moving,
        from: from.count(),
        to: to.count(),
        kept,
        who,
        at,
    };
    note::write_note(log, &note).await?;
    // A house that came in before it was noted is seen now; one that comes later is refused.
    refuse_obstacles(find_obstacles(log).await?)?;
    Ok(note)
}

async fn remove_copy(log: &dyn Topics) -> anyhow::Result<()> {
    let copy: TopicName = MOVING.into();
    retry_while_busy(|| log.remove(std::slice::from_ref(&copy)))
        .await
        .with_context(|| format!("delete {MOVING}"))
}

/// Steps 3 and 4.
async fn replace_topics(
    log: &dyn Topics,
    note: &RepartitionNote,
    tell: &(dyn Fn(String) + Sync),
) -> anyhow::Result<()> {
    let to = PartitionCount::from_topic_count(note.to as usize);
    let copied = count::count_remembered(log, MOVING, to)
        .await
        .with_context(|| format!("count the records of {MOVING}"))?;
    ensure!(copied == note.kept, "{} were copied, but {MOVING} has {copied}", note.kept);
    let keyed = keyed_topics();
    retry_while_busy(|| log.remove(&keyed)).await.context("delete the topics")?;
    retry_while_busy(|| house::declare_topics(log, to)).await.context("create the topics again")?;
    wait_for_fresh_groups(log, &keyed).await?;
    tell(format!("{} topics were created again with {} partitions", keyed.len(), note.to));
    let put_back = count::copy_remembered(log, (MOVING, to), (topics::WINDOWS, to)).await?;
    let found = count::count_remembered(log, topics::WINDOWS, to).await?;
    ensure!(
        found == note.kept && put_back == note.kept,
        "{} were copied, but {found} were put back; all are still in {MOVING}",
        note.kept
    );
    tell(format!("put back {found}"));
    note::write_note(log, &RepartitionNote { phase: RepartitionPhase::Settled, ..note.clone() }).await
}

/// Waits until nothing is left of what groups had committed: a cluster forgets it a moment later, and a
/// group that stood beyond the end of a new topic could not work.
async fn wait_for_fresh_groups(log: &dyn Topics, keyed: &[TopicName]) -> anyhow::Result<()> {
    for (group, topic) in own_readings(keyed) {
        let mut tries = 0;
        while retry_while_busy(|| log.standing(group, topic)).await?.iter().any(|at| at.committed != at.end) {
            ensure!(tries < TRIES, "group `{group}` still stands where it was in the old `{topic}`");
            retry::pause_before_retry(tries, 0).await;
            tries += 1;
        }
    }
    Ok(())
}

/// The count that there is already: what was begun and has taken nothing away is forgotten.
async fn give_up(log: &dyn Topics, order: &RepartitionOrder) -> anyhow::Result<()> {
    remove_copy(log).await?;
    if let Some(note) = note::read_unfinished(log).await? {
        let (who, at) = (order.who.clone(), order.at.to_string());
        note::write_note(log, &RepartitionNote { phase: RepartitionPhase::GivenUp, who, at, ..note }).await?;
    }
    Ok(())
}

/// Tries again what was refused for being busy.
async fn retry_while_busy<T, F: Future<Output = Result<T, TopicError>>>(
    mut call: impl FnMut() -> F,
) -> Result<T, TopicError> {
    let mut tries = 0;
    loop {
        match call().await {
            Err(TopicError::Busy(_)) if tries < TRIES => {
                retry::pause_before_retry(tries, 0).await;
                tries += 1;
            }
            other => return other,
        }
    }
}
