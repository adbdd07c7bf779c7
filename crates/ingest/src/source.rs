//! Sources: rows of others become CloudEvents, as the catalogue says, and go the way of all others.

use catalogue::{BadRow, Row, RowChange, Said, SourceDef, Telling, Tells};
use model::Millis;
use serde_json::Value;
use topic::Record;
use wire::{
    Cloud, replay,
    upstream::{self, Did, Unread},
};

use crate::admit::{FOLLOW, MUTE, PROFILE, Refused, UNFOLLOW, UNMUTE};

/// Why a record brings nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unusable {
    Refused(Refused),
    /// Its schema cannot be asked for now.
    Unreachable(String),
}

impl From<Unread> for Unusable {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Undecodable(error) => Self::Refused(Refused::new("/", error.to_string())),
            Unread::Unreachable(reason) => Self::Unreachable(reason),
        }
    }
}

impl From<BadRow> for Unusable {
    fn from(bad: BadRow) -> Self {
        Self::Refused(Refused::new("/", bad.to_string()))
    }
}

/// What a row of a source says.
pub(crate) fn clouds(
    source: &SourceDef,
    tells: &Tells,
    record: &Record,
    row: &upstream::Row,
    seen: Millis,
) -> Result<Vec<Cloud>, Unusable> {
    let said = tells.tell(Row {
        change: match row.did {
            Did::Insert => RowChange::Insert,
            Did::Update => RowChange::Update,
            Did::Delete => RowChange::Delete,
            Did::Read => RowChange::Read,
            Did::Empty => RowChange::Empty,
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
    let cloud = |Said { what, on, mut attributes }| {
        let what = match what {
            Telling::Event(what) => what,
            Telling::Follow if on => FOLLOW.to_owned(),
            Telling::Follow => UNFOLLOW.to_owned(),
            Telling::Mute if on => MUTE.to_owned(),
            Telling::Mute => UNMUTE.to_owned(),
            Telling::Profile => PROFILE.to_owned(),
        };
        attributes.insert("specversion".to_owned(), "1.0".into());
        attributes.insert("type".to_owned(), what.into());
        attributes.insert("source".to_owned(), source.name.as_str().into());
        // What the expressions do not say, the format does, and where the record lies.
        let place = || replay::place(&record.headers, record.partition, record.offset);
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
        Ok(upstream::cloud(attributes).map_err(Unread::from)?)
    };
    said.into_iter().map(cloud).collect()
}
