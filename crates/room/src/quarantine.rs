//! The one way into quarantine: what a room cannot use is a value too, so that the records behind it go on.

use model::{UtcMillis, partition::PartitionCount, ready::Ready};
use topic::{NewRecord, TopicRecord};
use wire::{
    WireError,
    quarantine::{self, QuarantineCause, QuarantinedRecord, UnusableRecord},
    topics,
};

use crate::records;

/// A record that a room could not use, on its way to quarantine.
pub fn quarantine_record(
    record: &TopicRecord,
    why: (QuarantineCause, impl Into<String>),
    room: &str,
    now: UtcMillis,
) -> Result<NewRecord, WireError> {
    let unusable = UnusableRecord {
        topic: &record.topic,
        partition: record.partition,
        offset: record.offset,
        appended: UtcMillis(record.appended),
        key: &record.key,
        value: record.value.as_deref(),
    };
    encode_quarantined(&quarantine::put_aside(unusable, why, room, now).with_headers(&record.headers))
}

/// What is put aside of a Ready that could not be written: it lies nowhere, so it cannot be put back.
pub fn quarantine_unwritten_ready(
    (ready, lane): (&Ready, &'static str),
    reason: impl Into<String>,
    room: &str,
    partitions: PartitionCount,
    now: UtcMillis,
) -> Result<NewRecord, WireError> {
    let key = wire::key::person_key(&ready.tenant, &ready.person);
    let nowhere = UnusableRecord {
        topic: lane,
        partition: partitions.of_person(&ready.tenant, &ready.person),
        offset: u64::MAX,
        appended: now,
        key: &key,
        value: None,
    };
    let why = (QuarantineCause::TooLarge, reason);
    encode_quarantined(&QuarantinedRecord { cut: true, ..quarantine::put_aside(nowhere, why, room, now) })
}

fn encode_quarantined(aside: &QuarantinedRecord) -> Result<NewRecord, WireError> {
    let (key, value) = quarantine::encode_with_key(aside)?;
    let record = records::build_record(topics::QUARANTINE, 0, key, Some(value));
    Ok(NewRecord { headers: aside.cause.headers(), ..record })
}
