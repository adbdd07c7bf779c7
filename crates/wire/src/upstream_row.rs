//! A row of a topic of others, and what stands beside a record: what each format is read into.

use model::UtcMillis;
use serde_json::Value;

/// What stands beside a record's value.
pub type UpstreamHeaders = [(String, Vec<u8>)];

/// What happened to a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowOperation {
    Insert,
    Update,
    Delete,
    /// It was there when its source was first read.
    Read,
    /// All rows of its table went at once.
    Empty,
}

/// A row of a topic of others, and what its format says of it.
#[derive(Clone, PartialEq, Debug)]
pub struct UpstreamRow {
    pub did: RowOperation,
    /// As it is now; of a row that is gone, as it was, or as much of it as its key says.
    pub row: Value,
    /// As it was, if that is said.
    pub before: Option<Value>,
    pub key: Value,
    /// What Debezium says of the source.
    pub source: Value,
    /// The attributes of a CloudEvent.
    pub event: Value,
    /// The metadata of the format itself; the reader of the record adds the rest.
    pub id: Option<String>,
    pub version: Option<i64>,
    pub time: Option<UtcMillis>,
}
