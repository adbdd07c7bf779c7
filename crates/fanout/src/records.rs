//! Records that the room writes.

use house_facts::edition::Edition;
use room::records::pending_record;
use topic::NewRecord;
use wire::trace;

use crate::recipient_sheet::{PackedAnnouncements, PartitionAnnouncement, pack_announcements};

/// The announcements of persons, many in a record.
pub(crate) fn pending_records(
    announced: Vec<PartitionAnnouncement>,
    edition: Option<Edition>,
) -> anyhow::Result<Vec<NewRecord>> {
    let record = |(partition, pending, traces): PackedAnnouncements| {
        let mut record = pending_record(partition, &pending, edition)?;
        record.headers.extend(trace::entry_headers(&traces));
        Ok(record)
    };
    pack_announcements(announced).into_iter().map(record).collect()
}
