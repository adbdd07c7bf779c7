//! The stages of the way: who reads what, and how far they are. Lag is what the log says, end minus
//! committed, so it is the same before and after a restart.

use model::{Millis, partition::Partitions};
use serde::Serialize;
use topic::{Retention, TopicError, TopicSpec, Topics};
use wire::topics::{self, Keep};

/// One room's reading on the way of the data.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The room.
    pub name: &'static str,
    pub group: &'static str,
    /// What its group commits: the lead first, then the companions.
    pub topics: &'static [&'static str],
}

/// Every stage, in the order of the way.
pub const STAGES: [Stage; 5] = [
    Stage { name: "ingest", group: ingest::config::GROUP, topics: &[topics::CHANGES] },
    Stage { name: "fanout", group: fanout::config::GROUP, topics: &[topics::EVENTS] },
    Stage { name: "slices", group: fanout::config::SLICES_GROUP, topics: &[topics::SLICES] },
    Stage { name: "digest", group: digest::config::GROUP, topics: &[topics::PENDING, topics::INBOX] },
    Stage { name: "sender", group: sender::config::GROUP, topics: &[topics::READY] },
];

/// How far a group has read one topic, over all partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageView {
    pub name: &'static str,
    pub topic: &'static str,
    pub group: &'static str,
    pub committed: u64,
    pub end: u64,
    pub lag: u64,
}

/// One view for each stage and topic that it reads.
pub async fn views(log: &dyn Topics) -> anyhow::Result<Vec<StageView>> {
    let mut views = Vec::new();
    for Stage { name, group, topics } in STAGES {
        for topic in topics {
            let standings = log.standing(group, topic).await?;
            let committed = standings.iter().map(|standing| standing.committed).sum();
            let end = standings.iter().map(|standing| standing.end).sum();
            // Per partition, so that one read ahead never hides one that lags.
            let lag = standings.iter().map(|standing| standing.end.saturating_sub(standing.committed)).sum();
            views.push(StageView { name, topic, group, committed, end, lag });
        }
    }
    Ok(views)
}

/// When the oldest record was appended that its room has not read; `None` if all is read.
pub async fn oldest_unread(log: &dyn Topics) -> anyhow::Result<Option<Millis>> {
    let mut oldest = None;
    for Stage { group, topics, .. } in STAGES {
        for topic in topics {
            for at in log.standing(group, topic).await?.into_iter().filter(|at| at.committed < at.end) {
                let first = log.read(topic, at.partition, at.committed, 1).await?;
                let appended = first.first().map(|record| Millis(record.appended));
                oldest = oldest.into_iter().chain(appended).min();
            }
        }
    }
    Ok(oldest)
}

/// Creates the topics that are missing.
pub async fn declare(log: &dyn Topics, partitions: Partitions) -> Result<(), TopicError> {
    let specs: Vec<TopicSpec> = topics::all(partitions)
        .into_iter()
        .map(|(name, partitions, keep)| TopicSpec {
            name: name.into(),
            partitions,
            retention: retention(keep),
        })
        .collect();
    log.declare(&specs).await
}

fn retention(keep: Keep) -> Retention {
    match keep {
        Keep::Millis(ms) => Retention::Milliseconds(ms),
        Keep::Latest => Retention::Compacted,
    }
}
