//! The Readys that a turn read.

use std::collections::BTreeMap;

use model::{ReadyId, UtcMillis, ready::Ready, trace::TraceParent};
use room::quarantine::quarantine_record;
use topic::{NewRecord, TopicRecord};
use wire::{QuarantineCause, trace};

use crate::config::GROUP;

/// What a turn read.
#[derive(Debug, Default)]
pub struct ReadyBatch {
    /// Each once.
    pub readys: Vec<Ready>,
    /// The traces of those that are of one.
    pub parents: BTreeMap<ReadyId, TraceParent>,
    /// Records that could not be read, on their way to quarantine.
    pub rejects: Vec<NewRecord>,
}

/// The Readys of a batch.
pub fn read_readys(records: &[TopicRecord], now: UtcMillis) -> anyhow::Result<ReadyBatch> {
    let ReadyBatch { mut readys, mut parents, mut rejects } = ReadyBatch::default();
    for record in records {
        match wire::ready::decode(record.value.as_deref().unwrap_or_default()) {
            // Two tries of one Ready in one batch: the later one knows more.
            Ok(ready) => {
                readys.retain(|other: &Ready| other.id != ready.id);
                parents.extend(trace::read_parent(&record.headers).map(|parent| (ready.id, parent)));
                readys.push(ready);
            }
            Err(reason) => rejects.push(quarantine_record(
                record,
                (QuarantineCause::Unreadable, reason.to_string()),
                GROUP,
                now,
            )?),
        }
    }
    Ok(ReadyBatch { readys, parents, rejects })
}
