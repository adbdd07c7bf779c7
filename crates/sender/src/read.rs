//! The Readys that a turn read.

use model::{UtcMillis, ready::Ready};
use topic::{NewRecord, TopicRecord};
use wire::{
    quarantine::{UnusableRecord, put_aside},
    topics,
};

use crate::config::GROUP;

/// The Readys of a batch, each once; what cannot be read goes to quarantine.
pub fn read_readys(records: &[TopicRecord], now: UtcMillis) -> anyhow::Result<(Vec<Ready>, Vec<NewRecord>)> {
    let mut readys: Vec<Ready> = Vec::new();
    let mut rejects = Vec::new();
    for record in records {
        match wire::ready::decode(record.value.as_deref().unwrap_or_default()) {
            // Two tries of one Ready in one batch: the later one knows more.
            Ok(ready) => {
                readys.retain(|other| other.id != ready.id);
                readys.push(ready);
            }
            Err(reason) => rejects.push(quarantine_record(record, &reason.to_string(), now)?),
        }
    }
    Ok((readys, rejects))
}

fn quarantine_record(record: &TopicRecord, reason: &str, at: UtcMillis) -> anyhow::Result<NewRecord> {
    let unusable = UnusableRecord {
        topic: &record.topic,
        partition: record.partition,
        offset: record.offset,
        appended: UtcMillis(record.appended),
        key: &record.key,
        value: record.value.as_deref(),
    };
    let quarantined = put_aside(unusable, reason, GROUP, at).with_headers(&record.headers);
    let (key, value) = wire::quarantine::encode_with_key(&quarantined)?;
    Ok(NewRecord {
        topic: topics::QUARANTINE.into(),
        partition: 0,
        key,
        value: Some(value),
        headers: Vec::new(),
    })
}
