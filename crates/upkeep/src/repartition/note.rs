//! What is noted of a repartition: how far it is, and what there was before. The last one's stays.

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use topic::{NewRecord, TopicError, TopicName, TopicRetention, TopicSpec, Topics};

use super::{RememberedCount, retry_while_busy};

/// The topic of the note.
pub const TOPIC: &str = "repartition";
/// There is one note, so there is one key.
const KEY: &[u8] = b"note";
/// Records of the topic that are read at most; each repartition writes three or four.
const RECORDS_MAX: usize = 10_000;

/// How far a repartition is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepartitionPhase {
    /// The state of people is in the copy, to be put back; topics are being deleted.
    Moving,
    /// It is put back and counted.
    Settled,
    Done,
    /// It was given up before anything was taken away.
    GivenUp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RepartitionNote {
    pub phase: RepartitionPhase,
    pub from: u32,
    pub to: u32,
    pub kept: RememberedCount,
    pub who: String,
    pub at: String,
}

/// The note of a repartition that is not finished.
pub async fn read_unfinished(log: &dyn Topics) -> anyhow::Result<Option<RepartitionNote>> {
    let bounds = match retry_while_busy(|| log.bounds(TOPIC)).await {
        Ok(bounds) => bounds,
        // There never was one.
        Err(TopicError::Refused(_)) => return Ok(None),
        Err(error) => return Err(error).context("read the note of the repartition"),
    };
    let first = bounds.first().map_or(0, |(first, _)| *first);
    let records = retry_while_busy(|| log.read(TOPIC, 0, first, RECORDS_MAX)).await;
    let records = records.context("read the note of the repartition")?;
    let Some(value) = records.into_iter().rev().find_map(|record| record.value) else { return Ok(None) };
    let note: RepartitionNote = serde_json::from_slice(&value).context("read the note of the repartition")?;
    Ok(matches!(note.phase, RepartitionPhase::Moving | RepartitionPhase::Settled).then_some(note))
}

pub async fn write_note(log: &dyn Topics, note: &RepartitionNote) -> anyhow::Result<()> {
    let topic: TopicName = TOPIC.into();
    let spec = TopicSpec { name: topic.clone(), partitions: 1, retention: TopicRetention::Compacted };
    retry_while_busy(|| log.declare(std::slice::from_ref(&spec)))
        .await
        .context("create the topic of the note")?;
    let value = Some(serde_json::to_vec(note)?);
    let record = NewRecord { topic, partition: 0, key: KEY.to_vec(), value, headers: Vec::new() };
    retry_while_busy(|| log.append(vec![record.clone()]))
        .await
        .context("record the progress of the repartition")
}
