//! What is noted of a repartition: how far it is, and what there was before. The last one's stays.

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use topic::{NewRecord, Retention, TopicError, TopicName, TopicSpec, Topics};

use super::{Count, patiently};

/// The topic of the note.
pub const TOPIC: &str = "repartition";
/// There is one note, so there is one key.
const KEY: &[u8] = b"note";
/// Records of the topic that are read at most; each repartition writes three or four.
const RECORDS_MAX: usize = 10_000;

/// How far a repartition is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// What is remembered lies where it waits to be put back; topics are being taken away.
    Moving,
    /// It is put back and counted.
    Settled,
    Done,
    /// It was given up before anything was taken away.
    GivenUp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    pub phase: Phase,
    pub from: u32,
    pub to: u32,
    pub kept: Count,
    pub who: String,
    pub at: String,
}

/// The note of a repartition that is not finished.
pub async fn unfinished(log: &dyn Topics) -> anyhow::Result<Option<Note>> {
    let bounds = match patiently(|| log.bounds(TOPIC)).await {
        Ok(bounds) => bounds,
        // There never was one.
        Err(TopicError::Refused(_)) => return Ok(None),
        Err(error) => return Err(error).context("look for the note of a repartition"),
    };
    let first = bounds.first().map_or(0, |(first, _)| *first);
    let records = patiently(|| log.read(TOPIC, 0, first, RECORDS_MAX)).await;
    let records = records.context("read the note of a repartition")?;
    let Some(value) = records.into_iter().rev().find_map(|record| record.value) else { return Ok(None) };
    let note: Note = serde_json::from_slice(&value).context("read the note of a repartition")?;
    Ok(matches!(note.phase, Phase::Moving | Phase::Settled).then_some(note))
}

pub async fn write(log: &dyn Topics, note: &Note) -> anyhow::Result<()> {
    let topic: TopicName = TOPIC.into();
    let spec = TopicSpec { name: topic.clone(), partitions: 1, retention: Retention::Compacted };
    patiently(|| log.declare(std::slice::from_ref(&spec))).await.context("make the topic of the note")?;
    let value = Some(serde_json::to_vec(note)?);
    let record = NewRecord { topic, partition: 0, key: KEY.to_vec(), value, headers: Vec::new() };
    patiently(|| log.append(vec![record.clone()])).await.context("note how far it is")
}
