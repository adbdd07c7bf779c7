//! Sources: rows of others become CloudEvents, as the catalogue says, and go the way of all others.

use catalogue::{RowError, RowStatement, SourceDef, StatementRule, StatementSort};
use expression::{RowChange, SourceRow};
use model::UtcMillis;
use serde_json::Value;
use topic::TopicRecord;
use wire::{
    CloudChange, replay,
    upstream::{self, RowOperation, UpstreamError},
};

use crate::{
    admission::{FOLLOW, MUTE, PROFILE, UNFOLLOW, UNMUTE},
    admission_error::AdmissionError,
};

/// Why a record brings nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SourceRecordError {
    Refused(AdmissionError),
    /// Its schema cannot be asked for now.
    Unreachable(String),
}

impl From<UpstreamError> for SourceRecordError {
    fn from(unread: UpstreamError) -> Self {
        match unread {
            UpstreamError::Undecodable(error) => Self::Refused(AdmissionError::new("", error.to_string())),
            UpstreamError::Unreachable(reason) => Self::Unreachable(reason),
        }
    }
}

impl From<RowError> for SourceRecordError {
    fn from(bad: RowError) -> Self {
        Self::Refused(AdmissionError::new("", bad.to_string()))
    }
}

/// What a row of a source says.
pub(crate) fn clouds_of_row(
    source: &SourceDef,
    tells: &StatementRule,
    record: &TopicRecord,
    row: &upstream::UpstreamRow,
    seen: UtcMillis,
) -> Result<Vec<CloudChange>, SourceRecordError> {
    let said = tells.tell(SourceRow {
        change: match row.did {
            RowOperation::Insert => RowChange::Insert,
            RowOperation::Update => RowChange::Update,
            RowOperation::Delete => RowChange::Delete,
            RowOperation::Read => RowChange::Read,
            RowOperation::Empty => RowChange::Empty,
        },
        row: &row.row,
        before: row.before.as_ref(),
        key: &row.key,
        source: &row.source,
        event: &row.event,
        topic: &record.topic,
        partition: record.partition,
        offset: record.offset,
        appended: seen,
    })?;
    let cloud = |RowStatement { what, on, mut attributes }| {
        let what = match what {
            StatementSort::Event(what) => what,
            StatementSort::Follow if on => FOLLOW.to_owned(),
            StatementSort::Follow => UNFOLLOW.to_owned(),
            StatementSort::Mute if on => MUTE.to_owned(),
            StatementSort::Mute => UNMUTE.to_owned(),
            StatementSort::Profile => PROFILE.to_owned(),
        };
        attributes.insert("specversion".to_owned(), "1.0".into());
        attributes.insert("type".to_owned(), what.into());
        attributes.insert("source".to_owned(), source.name.as_str().into());
        // What the expressions do not say, the format does, and where the record lies.
        let place = || replay::original_place(&record.headers, record.partition, record.offset);
        let id = || row.id.clone().unwrap_or_else(place);
        let defaults = [
            ("id", Some(Value::String(id()))),
            ("time", Some(Value::String(row.time.unwrap_or(seen).to_string()))),
            ("version", row.version.map(Value::from)),
        ];
        for (name, value) in defaults {
            if let Some(value) = value.filter(|_| !attributes.contains_key(name)) {
                attributes.insert(name.to_owned(), value);
            }
        }
        Ok(upstream::change_from_attributes(attributes).map_err(UpstreamError::from)?)
    };
    said.into_iter().map(cloud).collect()
}
