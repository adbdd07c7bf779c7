//! What a record says, before anybody judges it.

use model::UtcMillis;
use topic::TopicRecord;
use wire::{CloudChange, replay, upstream::UpstreamRecord};

use crate::admission_error::AdmissionError;

/// What one record says: mostly one thing, and nothing of some rows.
pub(crate) type RecordClouds = Result<Vec<CloudChange>, AdmissionError>;

/// A record as the readers of formats see it.
pub(crate) fn raw_record(record: &TopicRecord) -> UpstreamRecord<'_> {
    UpstreamRecord { headers: &record.headers, key: &record.key, value: record.value.as_deref() }
}

/// A copy that a replay made was first seen when its original was. Topics of others may have been given times by
/// whoever wrote to them: what comes from the future was seen now.
pub(crate) fn first_seen(record: &TopicRecord, is_foreign: bool, now: UtcMillis) -> UtcMillis {
    let appended = if is_foreign { record.appended.min(now.0) } else { record.appended };
    replay::first_seen(&record.headers, UtcMillis(appended))
}
