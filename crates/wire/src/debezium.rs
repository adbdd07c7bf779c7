//! Change records of Debezium: a row before and after, where the source has it, and when.
//!
//! The envelope may stand in `{"schema", "payload"}`, as Kafka Connect's JSON converter writes it while
//! `schemas.enable` is on. Everything else is as Debezium documents its events.

use model::UtcMillis;
use serde_json::{Map, Value};

use crate::{
    codec::DecodeError,
    upstream_row::{RowOperation, UpstreamRow},
};

/// The placeholder for an unchanged column that the database did not send.
const UNAVAILABLE: &str = "__debezium_unavailable_value";

/// The change in a record; `None` for tombstones and Debezium's own records.
pub(crate) fn read_debezium_row(value: Value, key: Value) -> Result<Option<UpstreamRow>, DecodeError> {
    let mut envelope = match unwrap_payload(value) {
        Value::Object(envelope) => DebeziumEnvelope(envelope),
        Value::Null => return Ok(None),
        _ => return Err(DecodeError::new("it is not a change record: not an object")),
    };
    let did = match envelope.0.get("op").and_then(Value::as_str) {
        Some("c") => RowOperation::Insert,
        Some("u") => RowOperation::Update,
        Some("d") => RowOperation::Delete,
        Some("r") => RowOperation::Read,
        Some("t") => RowOperation::Empty,
        // A message of the database's own, and what marks the bounds of a transaction.
        Some("m") => return Ok(None),
        Some(other) => return Err(DecodeError::new(format!("it is not a change record: op `{other}`"))),
        None if envelope.0.contains_key("status") => return Ok(None),
        None => return Err(DecodeError::new("it is not a change record: there is no `op`")),
    };
    let (before, after) = (envelope.take_row("before"), envelope.take_row("after"));
    let key = unwrap_payload(key);
    let (row, before) = match did {
        RowOperation::Delete => (before.or_else(|| key.as_object().cloned()), None),
        RowOperation::Empty => (Some(Map::new()), None),
        RowOperation::Insert | RowOperation::Update | RowOperation::Read => (after, before),
    };
    let Some(row) = row else {
        return Err(DecodeError::new("it is not a change record: the row is missing"));
    };
    let source = envelope.0.shift_remove("source").unwrap_or_default();
    let position = DebeziumPosition::from_source(&source);
    let at = |value: &Value| value.get("ts_ms").and_then(Value::as_i64).filter(|ms| *ms > 0).map(UtcMillis);
    Ok(Some(UpstreamRow {
        did,
        row: Value::Object(row),
        before: before.map(Value::Object),
        id: position
            .as_ref()
            .filter(|_| !key.is_null())
            .map(|position| position.change_id(&source, did, &key)),
        version: position.map(|position| position.version),
        time: at(&source).or_else(|| at(&Value::Object(envelope.0))),
        key,
        source,
        event: Value::Null,
    }))
}

/// What the JSON converter wraps, while it writes schemas too.
pub(crate) fn unwrap_payload(value: Value) -> Value {
    match value {
        Value::Object(mut outer) if outer.len() == 2 && outer.contains_key("schema") => {
            outer.shift_remove("payload").unwrap_or(Value::Object(outer))
        }
        other => other,
    }
}

struct DebeziumEnvelope(Map<String, Value>);

impl DebeziumEnvelope {
    /// A row, without the columns that were not sent.
    fn take_row(&mut self, name: &str) -> Option<Map<String, Value>> {
        let Some(Value::Object(mut row)) = self.0.shift_remove(name) else { return None };
        row.retain(|_, value| value.as_str() != Some(UNAVAILABLE));
        Some(row)
    }
}

/// Where in its source's log a change stands: later ones have greater versions.
struct DebeziumPosition {
    version: i64,
    at: String,
}

impl DebeziumPosition {
    /// PostgreSQL has one number, MySQL and MariaDB a file and a place in it. Of other sources the commit's
    /// time is the best there is, and nothing says which of two rows of one instant this is.
    fn from_source(source: &Value) -> Option<Self> {
        let whole = |name: &str| source.get(name).and_then(Value::as_i64);
        if let Some(lsn) = whole("lsn") {
            return Some(Self { version: lsn, at: lsn.to_string() });
        }
        let (file, pos) = (source.get("file").and_then(Value::as_str)?, whole("pos")?);
        let number: i64 = file.rsplit('.').next()?.parse().ok()?;
        let version = number.checked_mul(1 << PLACE_BITS)?.checked_add(pos)?;
        Some(Self { version, at: format!("{file}:{pos}:{}", whole("row").unwrap_or_default()) })
    }

    /// Names the change: its table, where it stands, and which of those that stand there it is. Rows that
    /// were written together may stand at one place, and so do the two halves of a change of the key.
    fn change_id(&self, source: &Value, did: RowOperation, key: &Value) -> String {
        let text = |name: &str| source.get(name).and_then(Value::as_str);
        let table = [text("db"), text("schema"), text("table")].into_iter().flatten().collect::<Vec<_>>();
        let half = if did == RowOperation::Delete { "-" } else { "+" };
        format!("{}@{}{half}{key}", table.join("."), self.at)
    }
}

/// Bits of a place in a log file of MySQL.
const PLACE_BITS: u32 = 40;
