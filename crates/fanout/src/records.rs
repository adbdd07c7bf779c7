//! Records that the room writes.

use model::{Event, Slice, edition::Edition, partition::Partitions};
use topic::NewRecord;
use wire::{note, replay::Again, topics};

use crate::sheet::{Announced, announce};

pub(crate) fn pending_records(
    announced: Vec<Announced>,
    edition: Option<Edition>,
) -> anyhow::Result<Vec<NewRecord>> {
    let record = |(partition, pending)| {
        let value = Some(wire::pending::encode(&pending)?);
        let key = wire::key::partition(partition);
        Ok(NewRecord {
            topic: topics::PENDING.into(),
            partition,
            key,
            value,
            headers: note::stamped(Vec::new(), edition),
        })
    };
    announce(announced).into_iter().map(record).collect()
}

/// A slice lies in the partition of its subject, like the event that it is of.
pub(crate) fn slice_record(
    slice: &Slice,
    again: Option<&Again>,
    (partitions, edition): (Partitions, Option<Edition>),
) -> anyhow::Result<NewRecord> {
    let Event { tenant, subject, .. } = &slice.event;
    let partition = partitions.of_subject(tenant, subject);
    let value = Some(wire::slice::encode(slice)?);
    Ok(NewRecord {
        topic: topics::SLICES.into(),
        partition,
        key: wire::key::subject(tenant, subject),
        value,
        // As quiet as the event itself. Its kinds are those of our catalogue, not of the event's.
        headers: note::stamped(again.map(Again::headers).unwrap_or_default(), edition),
    })
}
