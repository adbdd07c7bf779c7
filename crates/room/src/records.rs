//! The records that rooms write: on which topic, under which key, and in which partition each sort of them lies.

use house_facts::{edition::Edition, erasure::Erasure};
use model::{
    Event, Person, Slice, Tenant, UtcMillis, partition::PartitionCount, person::PersonRecord, ready::Ready,
    trace::TraceParent,
};
use topic::{NewRecord, RecordHeaders};
use wire::{AnnouncementBatch, InboxItem, ReturnNotice, WireError, house_note, replay::ReplayStamp, topics};

/// An event, in the partition of its subject.
pub fn event_record(
    event: &Event,
    headers: RecordHeaders,
    partitions: PartitionCount,
) -> Result<NewRecord, WireError> {
    let Event { tenant, subject, .. } = event;
    Ok(NewRecord {
        headers,
        ..build_record(
            topics::EVENTS,
            partitions.of_subject(tenant, subject),
            wire::key::subject_key(tenant, subject),
            Some(wire::event::encode(event)?),
        )
    })
}

/// A slice. It may lie in any partition: those of one event that are told at the same time lie apart.
pub fn slice_record(
    slice: &Slice,
    again: Option<&ReplayStamp>,
    partition: u32,
    edition: Option<Edition>,
) -> Result<NewRecord, WireError> {
    let Event { tenant, subject, .. } = &slice.event;
    Ok(NewRecord {
        // As quiet as the event itself. Its kinds are those of our catalogue, not of the event's.
        headers: house_note::stamp_headers(again.map(ReplayStamp::headers).unwrap_or_default(), edition),
        ..build_record(
            topics::SLICES,
            partition,
            wire::key::subject_key(tenant, subject),
            Some(wire::slice::encode(slice)?),
        )
    })
}

/// Announcements to persons of one partition.
pub fn pending_record(
    partition: u32,
    announcements: &AnnouncementBatch,
    edition: Option<Edition>,
) -> Result<NewRecord, WireError> {
    Ok(NewRecord {
        headers: house_note::stamp_headers(Vec::new(), edition),
        ..build_record(
            topics::PENDING,
            partition,
            wire::key::partition_key(partition),
            Some(wire::pending::encode(announcements)?),
        )
    })
}

/// What a person's owner is told.
pub fn inbox_record(item: &InboxItem, partitions: PartitionCount) -> Result<NewRecord, WireError> {
    let (tenant, person) = item.owner();
    Ok(person_record(topics::INBOX, (tenant, person), Some(wire::inbox::encode(item)?), partitions))
}

/// The windows of a person; a record that is spent is written as a tombstone.
pub fn window_record(
    (tenant, person): (&Tenant, &Person),
    record: &PersonRecord,
    partitions: PartitionCount,
    now: UtcMillis,
) -> Result<NewRecord, WireError> {
    let value = if record.is_spent(now) { None } else { Some(wire::window::encode(tenant, person, record)?) };
    Ok(person_record(topics::WINDOWS, (tenant, person), value, partitions))
}

/// A Ready on its way to the sender, in the lane of its plan.
pub fn ready_record(
    ready: &Ready,
    is_urgent: bool,
    partitions: PartitionCount,
) -> Result<NewRecord, WireError> {
    let (lane, value) = (topics::ready_lane(is_urgent), wire::ready::encode(ready)?);
    Ok(person_record(lane, (&ready.tenant, &ready.person), Some(value), partitions))
}

/// What came back of a mail. The topic has one partition.
pub fn returned_record(returned: &ReturnNotice) -> Result<NewRecord, WireError> {
    let key = wire::key::person_key(&returned.tenant, &returned.person);
    Ok(build_record(topics::RETURNS, 0, key, Some(wire::returns::encode(returned)?)))
}

/// How far an erasure is, for whoever does it. The topic has one partition.
pub fn erasure_record(erasure: &Erasure) -> Result<NewRecord, WireError> {
    let key = wire::key::person_key(&erasure.tenant, &erasure.person);
    Ok(build_record(topics::ERASURES, 0, key, Some(wire::erasure::encode(erasure)?)))
}

/// A record that comes of a span: whoever reads it goes on in its trace.
pub fn stamp_trace(mut record: NewRecord, parent: Option<&TraceParent>) -> NewRecord {
    if let Some(TraceParent { context, state, .. }) = parent {
        record.headers.extend(wire::trace::parent_headers(*context, state.as_ref()));
    }
    record
}

/// A record of a person lies in the person's partition.
fn person_record(
    topic: &str,
    (tenant, person): (&Tenant, &Person),
    value: Option<Vec<u8>>,
    partitions: PartitionCount,
) -> NewRecord {
    let key = wire::key::person_key(tenant, person);
    build_record(topic, partitions.of_person(tenant, person), key, value)
}

pub(crate) fn build_record(topic: &str, partition: u32, key: Vec<u8>, value: Option<Vec<u8>>) -> NewRecord {
    NewRecord { topic: topic.into(), partition, key, value, headers: Vec::new() }
}
