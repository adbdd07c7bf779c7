//! The stages of the pipeline: which group reads which topics, and how far it is. Lag is what the log says, end minus
//! committed, so it is the same before and after a restart.

use std::collections::BTreeSet;

use catalogue::Catalogue;
use futures::future::try_join_all;
use model::{UtcMillis, partition::PartitionCount};
use schemars::JsonSchema;
use serde::Serialize;
use topic::{TopicError, TopicRetention, TopicSpec, Topics, port::GroupStanding};
use wire::topics::{self, KeepPolicy};

use super::RoomName;

/// One room's reading on the way of the data.
#[derive(Clone, Copy, Debug)]
pub struct RoomStage {
    pub room: RoomName,
    pub name: &'static str,
    pub group: &'static str,
    /// What its group commits: the lead first, then the companions.
    pub topics: &'static [&'static str],
}

const fn new_stage(
    room: RoomName,
    name: &'static str,
    group: &'static str,
    topics: &'static [&'static str],
) -> RoomStage {
    RoomStage { room, name, group, topics }
}

/// Every stage on topics of our own, in the order of the way.
pub const STAGES: [RoomStage; 7] = [
    new_stage(RoomName::Ingest, "ingest", ingest::config::GROUP, &[topics::CHANGES]),
    new_stage(RoomName::Fanout, "fanout", fanout::config::GROUP, &[topics::EVENTS]),
    new_stage(RoomName::Fanout, "slices", fanout::config::SLICES_GROUP, &[topics::SLICES]),
    new_stage(RoomName::Digest, "digest", digest::config::GROUP, &[topics::PENDING, topics::INBOX]),
    new_stage(RoomName::Sender, "sender", sender::config::URGENT_GROUP, &[topics::READY_URGENT]),
    new_stage(RoomName::Sender, "sender", sender::config::GROUP, &[topics::READY]),
    new_stage(RoomName::Keeper, "erasures", crate::erasure::work::GROUP, &[topics::ERASURES]),
];

/// A topic as one stage reads it.
#[derive(Clone, Debug)]
pub struct StageReading {
    pub room: RoomName,
    pub name: String,
    pub group: String,
    pub topic: String,
    /// It belongs to others, and may not be there yet.
    pub is_foreign: bool,
}

/// Everything that is read, in the order of the way; the sources of the catalogue come first.
pub fn list_readings(catalogue: &Catalogue) -> Vec<StageReading> {
    let is_own = |topic: &str| STAGES.iter().any(|stage| stage.topics.contains(&topic));
    let sources = ingest::subscriptions(catalogue).into_iter().filter(|(_, topic)| !is_own(topic));
    let sources = sources.map(|(group, topic)| StageReading {
        room: RoomName::Ingest,
        name: group.clone(),
        group,
        topic,
        is_foreign: true,
    });
    let own = STAGES.into_iter().flat_map(|stage| stage.topics.iter().map(move |topic| (stage, topic)));
    let own = own.map(|(RoomStage { room, name, group, .. }, topic)| StageReading {
        room,
        name: name.to_owned(),
        group: group.to_owned(),
        topic: (*topic).to_owned(),
        is_foreign: false,
    });
    sources.chain(own).collect()
}

/// What a process with these rooms reads under a group of its own, of which this is the feed's. It begins where the log ends,
/// so what it has not read is in nobody's way.
pub fn list_own_readings(rooms: &BTreeSet<RoomName>, group: &str) -> Vec<StageReading> {
    let reading = |topic: &str| StageReading {
        room: RoomName::Feed,
        name: RoomName::Feed.name().to_owned(),
        group: group.to_owned(),
        topic: topic.to_owned(),
        is_foreign: false,
    };
    let topics = [topics::PENDING, topics::INBOX].into_iter().filter(|_| rooms.contains(&RoomName::Feed));
    topics.map(reading).collect()
}

impl StageReading {
    /// Where the group stands; nowhere in a topic of others that is not there yet.
    pub async fn standing(&self, log: &dyn Topics) -> Result<Vec<GroupStanding>, TopicError> {
        match log.standing(&self.group, &self.topic).await {
            Err(TopicError::Refused(_)) if self.is_foreign => Ok(Vec::new()),
            other => other,
        }
    }
}

/// How far a group has read one topic, over all partitions.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StageView {
    pub name: String,
    pub topic: String,
    pub group: String,
    pub committed: u64,
    pub end: u64,
    pub lag: u64,
}

/// One view for each topic that is read.
pub async fn read_stage_views(log: &dyn Topics, readings: &[StageReading]) -> anyhow::Result<Vec<StageView>> {
    let view = async |reading: &StageReading| {
        let standings = reading.standing(log).await?;
        let committed = standings.iter().map(|standing| standing.committed).sum();
        let end = standings.iter().map(|standing| standing.end).sum();
        // Per partition, so that one read ahead never hides one that lags.
        let lag = standings.iter().map(GroupStanding::lag).sum();
        let StageReading { name, topic, group, .. } = reading.clone();
        Ok(StageView { name, topic, group, committed, end, lag })
    };
    try_join_all(readings.iter().map(view)).await
}

/// When the oldest record was appended that its room has not read; `None` if all is read.
pub async fn oldest_unread(log: &dyn Topics, readings: &[StageReading]) -> anyhow::Result<Option<UtcMillis>> {
    let mut oldest = None;
    for reading in readings {
        for at in reading.standing(log).await?.into_iter().filter(|at| at.committed < at.end) {
            let appended = log.appended_at(&reading.topic, at.partition, at.committed).await?.map(UtcMillis);
            oldest = oldest.into_iter().chain(appended).min();
        }
    }
    Ok(oldest)
}

/// Creates the topics that are missing. That of changes may have any count of partitions, if it is there.
pub async fn declare_topics(log: &dyn Topics, partitions: PartitionCount) -> Result<(), TopicError> {
    let mut specs = topic_specs(partitions);
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
pub fn topic_specs(partitions: PartitionCount) -> Vec<TopicSpec> {
    let spec = |(name, partitions, keep): (&str, u32, KeepPolicy)| TopicSpec {
        name: name.into(),
        partitions,
        retention: to_retention(keep),
    };
    topics::all_topics(partitions).into_iter().map(spec).collect()
}

/// Topics of others, where there are no others to make them.
pub fn foreign_topic_specs(names: &BTreeSet<String>) -> Vec<TopicSpec> {
    let spec = |name: &String| TopicSpec {
        name: name.as_str().into(),
        partitions: FOREIGN_PARTITIONS,
        retention: to_retention(KeepPolicy::Millis(topics::REPLAY_MS)),
    };
    names.iter().map(spec).collect()
}

fn to_retention(keep: KeepPolicy) -> TopicRetention {
    match keep {
        KeepPolicy::Millis(ms) => TopicRetention::Milliseconds(ms),
        KeepPolicy::Latest => TopicRetention::Compacted,
    }
}
