//! The Readys that a turn read.

use model::{Millis, ready::Ready};
use topic::{NewRecord, Record};
use wire::{
    quarantined::{Unusable, of_record},
    topics,
};

use crate::config::GROUP;

/// The Readys of a batch, each once; what cannot be read goes to quarantine.
pub fn read(records: &[Record], now: Millis) -> anyhow::Result<(Vec<Ready>, Vec<NewRecord>)> {
    let mut readys: Vec<Ready> = Vec::new();
    let mut rejects = Vec::new();
    for record in records {
        match wire::ready::decode(record.value.as_deref().unwrap_or_default()) {
            // Two tries of one Ready in one batch: the later one knows more.
            Ok(ready) => {
                readys.retain(|other| other.id != ready.id);
                readys.push(ready);
            }
            Err(reason) => rejects.push(quarantined(record, &reason.to_string(), now)?),
        }
    }
    Ok((readys, rejects))
}

fn quarantined(record: &Record, reason: &str, at: Millis) -> anyhow::Result<NewRecord> {
    let unusable = Unusable {
        topic: &record.topic,
        partition: record.partition,
        offset: record.offset,
        appended: Millis(record.appended),
        key: &record.key,
        value: record.value.as_deref(),
    };
    let quarantined = of_record(unusable, reason, GROUP, at).with_headers(&record.headers);
    let (key, value) = wire::quarantined::keyed(&quarantined)?;
    Ok(NewRecord {
        topic: topics::QUARANTINE.into(),
        partition: 0,
        key,
        value: Some(value),
        headers: Vec::new(),
    })
}
