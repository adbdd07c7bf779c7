//! What upstream services send in formats of their own: a change in any form, or a row of a table.
//!
//! A *change* is one of: our own Avro, alone or in a registry's frame; Avro of any other schema in a frame,
//! whose fields are those of a change; CloudEvents in binary mode (attributes in headers, the data is the
//! value, JSON or framed Avro) or in structured mode; flat JSON. Which it is, is seen.
//!
//! A *row* is a record of a topic of others, for the catalogue to make something of.

use model::UtcMillis;
use serde_json::{Map, Value};

pub use crate::upstream_row::{RowOperation, UpstreamHeaders, UpstreamRow};
use crate::{
    attributes::ChangeAttributes,
    change,
    cloud_change::{CloudChange, ITEM_BYTES_MAX},
    codec::{DecodeError, is_single_object, shorten_text},
    datum, debezium, framing, json,
    schema_source::{SchemaLookupError, SchemaSource, WriterSchema},
};

/// Before the names of a CloudEvent's attributes in headers of Kafka, and in those of HTTP.
pub const KAFKA_PREFIX: &str = "ce_";
pub const HTTP_PREFIX: &str = "ce-";

/// A record as it came.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamRecord<'a> {
    pub headers: &'a UpstreamHeaders,
    pub key: &'a [u8],
    /// `None` for a tombstone.
    pub value: Option<&'a [u8]>,
}

/// Why a record could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UpstreamError {
    /// It never can be.
    #[error(transparent)]
    Undecodable(#[from] DecodeError),
    /// Its schema cannot be asked for now: try again.
    #[error("{0}")]
    Unreachable(String),
}

impl From<SchemaLookupError> for UpstreamError {
    fn from(error: SchemaLookupError) -> Self {
        match error {
            SchemaLookupError::Unknown(reason) => DecodeError::new(reason).into(),
            SchemaLookupError::Unreachable(reason) => Self::Unreachable(reason),
        }
    }
}

/// Reads a change in any form.
pub async fn read_change(
    raw: UpstreamRecord<'_>,
    schemas: &dyn SchemaSource,
) -> Result<CloudChange, UpstreamError> {
    if is_binary(raw.headers, KAFKA_PREFIX) {
        return read_binary_event(raw.headers, KAFKA_PREFIX, raw.value, schemas).await;
    }
    let value = raw.value.ok_or_else(|| DecodeError::new("the record has no value"))?;
    let Some((id, datum)) = framing::split_frame(value) else { return Ok(change::decode(value)?) };
    check_size(value)?;
    let writer = schemas.schema(id).await?;
    if change::CODEC.reads_header(&writer.header()) {
        return Ok(change::decode(&[writer.header().as_slice(), datum].concat())?);
    }
    Ok(read_flat_record(&writer, datum)?)
}

/// Whether a value begins as Avro does, in a frame or as a single object.
pub fn is_avro(value: &[u8]) -> bool {
    framing::split_frame(value).is_some() || is_single_object(value)
}

/// Whether headers say that this is a CloudEvent in binary mode.
pub fn is_binary(headers: &UpstreamHeaders, prefix: &str) -> bool {
    headers.iter().any(|(name, _)| attribute_name(name, prefix).is_some_and(|name| name == "specversion"))
}

/// Reads a CloudEvent in binary mode.
pub async fn read_binary_event(
    headers: &UpstreamHeaders,
    prefix: &str,
    value: Option<&[u8]>,
    schemas: &dyn SchemaSource,
) -> Result<CloudChange, UpstreamError> {
    let mut attributes = read_attributes(headers, prefix)?;
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        attributes.insert("data".to_owned(), read_json(value, schemas).await?);
    }
    Ok(change_from_attributes(attributes)?)
}

/// A row of a table or of a list: the value is JSON or framed Avro, its fields are the row's. A tombstone
/// says that the row of its key is gone.
pub async fn read_row(
    raw: UpstreamRecord<'_>,
    schemas: &dyn SchemaSource,
) -> Result<UpstreamRow, UpstreamError> {
    let key = read_key(raw.key, schemas).await?;
    let (did, row) = match raw.value {
        Some(value) => (RowOperation::Update, debezium::unwrap_payload(read_json(value, schemas).await?)),
        None => (RowOperation::Delete, key.clone()),
    };
    Ok(UpstreamRow {
        did,
        row,
        before: None,
        key,
        source: Value::Null,
        event: Value::Null,
        id: None,
        version: None,
        time: None,
    })
}

/// A change record of Debezium; `None` if it says nothing of a row.
pub async fn read_debezium(
    raw: UpstreamRecord<'_>,
    schemas: &dyn SchemaSource,
) -> Result<Option<UpstreamRow>, UpstreamError> {
    // After each record of a deletion, for logs that are compacted: it has been said.
    let Some(value) = raw.value else { return Ok(None) };
    let value = read_json(value, schemas).await?;
    Ok(debezium::read_debezium_row(value, read_key(raw.key, schemas).await?)?)
}

/// The row of a CloudEvent is its data.
pub async fn read_cloud_row(
    raw: UpstreamRecord<'_>,
    schemas: &dyn SchemaSource,
) -> Result<UpstreamRow, UpstreamError> {
    let cloud = read_change(raw, schemas).await?;
    let mut event = Map::new();
    let texts = [("id", Some(cloud.id.clone())), ("source", Some(cloud.source)), ("type", Some(cloud.what))];
    for (name, text) in texts.into_iter().chain([("subject", cloud.subject), ("actor", cloud.actor)]) {
        event.extend(text.map(|text| (name.to_owned(), Value::String(text))));
    }
    Ok(UpstreamRow {
        did: RowOperation::Update,
        row: Value::Object(cloud.data),
        before: None,
        key: read_key(raw.key, schemas).await?,
        source: Value::Null,
        event: Value::Object(event),
        id: Some(cloud.id),
        version: cloud.version,
        time: cloud.time,
    })
}

/// A value in JSON or in framed Avro.
pub async fn read_json(value: &[u8], schemas: &dyn SchemaSource) -> Result<Value, UpstreamError> {
    check_size(value)?;
    match framing::split_frame(value) {
        Some((id, datum)) => Ok(datum::datum_to_json(&*schemas.schema(id).await?, datum)?),
        None => Ok(parse_json_text(value)?),
    }
}

/// A key in JSON or in framed Avro; one that is neither is a text, and one that is none is not there.
async fn read_key(key: &[u8], schemas: &dyn SchemaSource) -> Result<Value, UpstreamError> {
    if framing::split_frame(key).is_some() {
        return read_json(key, schemas).await;
    }
    let text = str::from_utf8(key).ok().filter(|text| !text.is_empty());
    let of = |text: &str| json::parse_strict(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    Ok(debezium::unwrap_payload(text.map_or(Value::Null, of)))
}

fn parse_json_text(value: &[u8]) -> Result<Value, DecodeError> {
    let text = str::from_utf8(value).map_err(|_| DecodeError::new("it is neither Avro nor text in UTF-8"))?;
    json::parse_strict(text).map_err(|error| DecodeError::new(format!("it is not JSON: {error}")))
}

fn check_size(value: &[u8]) -> Result<(), DecodeError> {
    match value.len() {
        0..=ITEM_BYTES_MAX => Ok(()),
        more => Err(DecodeError::new(format!("{more} bytes, more than {ITEM_BYTES_MAX}"))),
    }
}

/// The name of an attribute, if a header has one.
fn attribute_name(name: &str, prefix: &str) -> Option<String> {
    let (start, rest) = name.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| rest.to_ascii_lowercase())
}

/// The attributes in headers. They are texts; the two that are lists are lists in JSON.
fn read_attributes(headers: &UpstreamHeaders, prefix: &str) -> Result<Map<String, Value>, DecodeError> {
    let mut attributes = Map::new();
    for (header, value) in headers {
        let Some(name) = attribute_name(header, prefix) else { continue };
        let text = str::from_utf8(value)
            .map_err(|_| DecodeError::new(format!("header `{}` is not UTF-8", shorten_text(header))))?;
        let value = match name.as_str() {
            "subjects" | "persons" => parse_json_text(text.as_bytes())
                .map_err(|error| DecodeError::new(format!("header `{header}`: {error}")))?,
            // The value is the data, whatever somebody says beside it.
            "data" | "data_base64" | "datacontenttype" => continue,
            _ => Value::String(text.to_owned()),
        };
        if let Some(_twice) = attributes.insert(name, value) {
            return Err(DecodeError::new(format!("header `{}` is given twice", shorten_text(header))));
        }
    }
    Ok(attributes)
}

/// A record of somebody else's schema that has the fields of a change.
fn read_flat_record(writer: &WriterSchema, datum: &[u8]) -> Result<CloudChange, DecodeError> {
    match datum::datum_to_json(writer, datum)? {
        Value::Object(mut fields) => {
            // A time that its schema does not call one.
            if let Some(ms) = fields.get("time").and_then(Value::as_i64) {
                fields.insert("time".to_owned(), UtcMillis(ms).to_string().into());
            }
            change_from_attributes(fields)
        }
        _ => Err(DecodeError::new("a change must be a record")),
    }
}

/// The change that these attributes are.
pub fn change_from_attributes(attributes: Map<String, Value>) -> Result<CloudChange, DecodeError> {
    ChangeAttributes(attributes)
        .into_change()
        .map_err(|(name, reason)| DecodeError::new(format!("/{name}: {reason}")))
}
