//! Records that the room writes.

use model::edition::Edition;
use room::records::pending_record;
use topic::NewRecord;

use crate::recipient_sheet::{PartitionAnnouncement, pack_announcements};

/// The announcements of persons, many in a record.
pub(crate) fn pending_records(
    announced: Vec<PartitionAnnouncement>,
    edition: Option<Edition>,
) -> anyhow::Result<Vec<NewRecord>> {
    let record = |(partition, pending)| Ok(pending_record(partition, &pending, edition)?);
    pack_announcements(announced).into_iter().map(record).collect()
}
