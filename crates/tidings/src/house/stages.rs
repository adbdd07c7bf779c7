//! The stages of the way: who reads what, and how far they are. Lag is what the log says, end minus
//! committed, so it is the same before and after a restart.

use std::collections::BTreeSet;

use catalogue::Catalogue;
use futures::future::try_join_all;
use model::{Millis, partition::Partitions};
use serde::Serialize;
use topic::{Retention, TopicError, TopicSpec, Topics, port::Standing};
use wire::topics::{self, Keep};

use super::Room;

/// One room's reading on the way of the data.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    pub room: Room,
    pub name: &'static str,
    pub group: &'static str,
    /// What its group commits: the lead first, then the companions.
    pub topics: &'static [&'static str],
}

const fn stage(
    room: Room,
    name: &'static str,
    group: &'static str,
    topics: &'static [&'static str],
) -> Stage {
    Stage { room, name, group, topics }
}

/// Every stage on topics of our own, in the order of the way.
pub const STAGES: [Stage; 6] = [
    stage(Room::Ingest, "ingest", ingest::config::GROUP, &[topics::CHANGES]),
    stage(Room::Fanout, "fanout", fanout::config::GROUP, &[topics::EVENTS]),
    stage(Room::Fanout, "slices", fanout::config::SLICES_GROUP, &[topics::SLICES]),
    stage(Room::Digest, "digest", digest::config::GROUP, &[topics::PENDING, topics::INBOX]),
    stage(Room::Sender, "sender", sender::config::GROUP, &[topics::READY]),
    stage(Room::Keeper, "erasures", crate::erase::work::GROUP, &[topics::ERASURES]),
];

/// A topic as one stage reads it.
#[derive(Clone, Debug)]
pub struct Reading {
    pub room: Room,
    pub name: String,
    pub group: String,
    pub topic: String,
    /// It belongs to others, and may not be there yet.
    pub is_foreign: bool,
}

/// Everything that is read, in the order of the way; the sources of the catalogue come first.
pub fn readings(catalogue: &Catalogue) -> Vec<Reading> {
    let is_own = |topic: &str| STAGES.iter().any(|stage| stage.topics.contains(&topic));
    let sources = ingest::reads(catalogue).into_iter().filter(|(_, topic)| !is_own(topic));
    let sources = sources.map(|(group, topic)| Reading {
        room: Room::Ingest,
        name: group.clone(),
        group,
        topic,
        is_foreign: true,
    });
    let own = STAGES.into_iter().flat_map(|stage| stage.topics.iter().map(move |topic| (stage, topic)));
    let own = own.map(|(Stage { room, name, group, .. }, topic)| Reading {
        room,
        name: name.to_owned(),
        group: group.to_owned(),
        topic: (*topic).to_owned(),
        is_foreign: false,
    });
    sources.chain(own).collect()
}

impl Reading {
    /// Where the group stands; nowhere in a topic of others that is not there yet.
    pub async fn standing(&self, log: &dyn Topics) -> Result<Vec<Standing>, TopicError> {
        match log.standing(&self.group, &self.topic).await {
            Err(TopicError::Refused(_)) if self.is_foreign => Ok(Vec::new()),
            other => other,
        }
    }
}

/// How far a group has read one topic, over all partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageView {
    pub name: String,
    pub topic: String,
    pub group: String,
    pub committed: u64,
    pub end: u64,
    pub lag: u64,
}

/// One view for each topic that is read.
pub async fn views(log: &dyn Topics, readings: &[Reading]) -> anyhow::Result<Vec<StageView>> {
    let view = async |reading: &Reading| {
        let standings = reading.standing(log).await?;
        let committed = standings.iter().map(|standing| standing.committed).sum();
        let end = standings.iter().map(|standing| standing.end).sum();
        // Per partition, so that one read ahead never hides one that lags.
        let lag = standings.iter().map(Standing::lag).sum();
        let Reading { name, topic, group, .. } = reading.clone();
        Ok(StageView { name, topic, group, committed, end, lag })
    };
    try_join_all(readings.iter().map(view)).await
}

/// When the oldest record was appended that its room has not read; `None` if all is read.
pub async fn oldest_unread(log: &dyn Topics, readings: &[Reading]) -> anyhow::Result<Option<Millis>> {
    let mut oldest = None;
    for reading in readings {
        for at in reading.standing(log).await?.into_iter().filter(|at| at.committed < at.end) {
            let appended = log.appended(&reading.topic, at.partition, at.committed).await?.map(Millis);
            oldest = oldest.into_iter().chain(appended).min();
        }
    }
    Ok(oldest)
}

/// Creates the topics that are missing. That of changes may have any count of partitions, if it is there.
pub async fn declare(log: &dyn Topics, partitions: Partitions) -> Result<(), TopicError> {
    let mut specs = specs(partitions);
    for spec in specs.iter_mut().filter(|spec| &*spec.name == topics::CHANGES) {
        if let Ok(found) = log.bounds(topics::CHANGES).await
            && !found.is_empty()
        {
            spec.partitions = u32::try_from(found.len()).unwrap_or(spec.partitions);
        }
    }
    log.declare(&specs).await
}

/// Partitions of topics of others, where there are no others to make them.
const FOREIGN_PARTITIONS: u32 = 8;

/// Every topic of a house.
pub fn specs(partitions: Partitions) -> Vec<TopicSpec> {
    let spec = |(name, partitions, keep): (&str, u32, Keep)| TopicSpec {
        name: name.into(),
        partitions,
        retention: retention(keep),
    };
    topics::all(partitions).into_iter().map(spec).collect()
}

/// Topics of others, where there are no others to make them.
pub fn foreign_specs(names: &BTreeSet<String>) -> Vec<TopicSpec> {
    let spec = |name: &String| TopicSpec {
        name: name.as_str().into(),
        partitions: FOREIGN_PARTITIONS,
        retention: retention(Keep::Millis(topics::REPLAY_MS)),
    };
    names.iter().map(spec).collect()
}

fn retention(keep: Keep) -> Retention {
    match keep {
        Keep::Millis(ms) => Retention::Milliseconds(ms),
        Keep::Latest => Retention::Compacted,
    }
}
