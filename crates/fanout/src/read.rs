//! What a turn read: events that can be told, and records that are no events.

use model::{Event, Millis};
use topic::{NewRecord, Record};
use wire::{Quarantined, WireError, topics};

use crate::config::GROUP;

/// All that a turn read.
#[derive(Debug, Default)]
pub struct Read {
    pub events: Vec<Event>,
    /// Events whose day has expired: they end with that fate, and nothing is written.
    pub expired: u64,
    /// Records that could not be read, on their way to quarantine.
    pub rejects: Vec<NewRecord>,
}

/// Reads a batch. An event that stands there twice is told once: the second would write the same rows.
pub fn read(records: &[Record], now: Millis) -> Result<Read, WireError> {
    let mut read = Read::default();
    for record in records {
        let decoded = match &record.value {
            Some(value) => wire::event::decode(value).map_err(|undecodable| undecodable.to_string()),
            None => Err("the record has no value".to_owned()),
        };
        match decoded {
            Err(reason) => read.rejects.push(quarantined(record, reason, now)?),
            Ok(event) if event.entry_key().day().expires() <= now => read.expired += 1,
            Ok(event) if read.events.contains(&event) => {}
            Ok(event) => read.events.push(event),
        }
    }
    Ok(read)
}

fn quarantined(record: &Record, reason: String, now: Millis) -> Result<NewRecord, WireError> {
    let quarantined = Quarantined {
        topic: record.topic.to_string(),
        partition: record.partition,
        offset: record.offset,
        appended: Millis(record.appended),
        key: record.key.clone(),
        value: record.value.clone(),
        cut: false,
        reason,
        at: now,
        room: GROUP.to_owned(),
    };
    let value = Some(wire::quarantined::encode(&quarantined)?);
    Ok(NewRecord { topic: topics::QUARANTINE.into(), partition: 0, key: record.key.clone(), value })
}
