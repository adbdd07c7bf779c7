//! Records that the room writes.

use model::{Event, Slice, edition::Edition, partition::PartitionCount};
use topic::NewRecord;
use wire::{house_note, replay::ReplayStamp, topics};

use crate::recipient_sheet::{PartitionAnnouncement, pack_announcements};

pub(crate) fn pending_records(
    announced: Vec<PartitionAnnouncement>,
    edition: Option<Edition>,
) -> anyhow::Result<Vec<NewRecord>> {
    let record = |(partition, pending)| {
        let value = Some(wire::pending::encode(&pending)?);
        let key = wire::key::partition_key(partition);
        Ok(NewRecord {
            topic: topics::PENDING.into(),
            partition,
            key,
            value,
            headers: house_note::stamp_headers(Vec::new(), edition),
        })
    };
    pack_announcements(announced).into_iter().map(record).collect()
}

/// A slice lies in the partition of its subject, like the event that it is of.
pub(crate) fn slice_record(
    slice: &Slice,
    again: Option<&ReplayStamp>,
    (partitions, edition): (PartitionCount, Option<Edition>),
) -> anyhow::Result<NewRecord> {
    let Event { tenant, subject, .. } = &slice.event;
    let partition = partitions.of_subject(tenant, subject);
    let value = Some(wire::slice::encode(slice)?);
    Ok(NewRecord {
        topic: topics::SLICES.into(),
        partition,
        key: wire::key::subject_key(tenant, subject),
        value,
        // As quiet as the event itself. Its kinds are those of our catalogue, not of the event's.
        headers: house_note::stamp_headers(again.map(ReplayStamp::headers).unwrap_or_default(), edition),
    })
}
