//! The Readys that a turn read.

use model::{UtcMillis, ready::Ready};
use room::quarantine::quarantine_record;
use topic::{NewRecord, TopicRecord};

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
            Err(reason) => rejects.push(quarantine_record(record, reason.to_string(), GROUP, now)?),
        }
    }
    Ok((readys, rejects))
}
