//! What upstream services send in formats of their own: a change in any form, or a row of a table.
//!
//! A *change* is one of: our own Avro, alone or in a registry's frame; Avro of any other schema in a frame,
//! whose fields are those of a change; CloudEvents in binary mode (attributes in headers, the data is the
//! value, JSON or framed Avro) or in structured mode; flat JSON. Which it is, is seen.
//!
//! A *row* is a record of a topic of others, for the catalogue to make something of.

use model::Millis;
use serde_json::{Map, Value};

use crate::{
    attributes::Attributes,
    change,
    cloud::{Cloud, ITEM_BYTES_MAX},
    codec::{Undecodable, is_single_object, shortened},
    datum, debezium, framing, json,
    schemas::{NoSchema, Schemas, Writer},
};

/// What stands beside a record's value.
pub type Headers = [(String, Vec<u8>)];

/// Before the names of a CloudEvent's attributes in headers of Kafka, and in those of HTTP.
pub const KAFKA_PREFIX: &str = "ce_";
pub const HTTP_PREFIX: &str = "ce-";

/// A record as it came.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    pub headers: &'a Headers,
    pub key: &'a [u8],
    /// `None` for a tombstone.
    pub value: Option<&'a [u8]>,
}

/// Why a record could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unread {
    /// It never can be.
    #[error(transparent)]
    Undecodable(#[from] Undecodable),
    /// Its schema cannot be asked for now: try again.
    #[error("{0}")]
    Unreachable(String),
}

impl From<NoSchema> for Unread {
    fn from(error: NoSchema) -> Self {
        match error {
            NoSchema::Unknown(reason) => Undecodable::new(reason).into(),
            NoSchema::Unreachable(reason) => Self::Unreachable(reason),
        }
    }
}

/// What happened to a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Did {
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
pub struct Row {
    pub did: Did,
    /// As it is now; of a row that is gone, as it was, or as much of it as its key says.
    pub row: Value,
    /// As it was, if that is said.
    pub before: Option<Value>,
    pub key: Value,
    /// What Debezium says of the source.
    pub source: Value,
    /// The attributes of a CloudEvent.
    pub event: Value,
    /// What the format itself says; whoever reads the record knows something for the rest.
    pub id: Option<String>,
    pub version: Option<i64>,
    pub time: Option<Millis>,
}

/// Reads a change in any form.
pub async fn change(raw: Raw<'_>, schemas: &dyn Schemas) -> Result<Cloud, Unread> {
    if is_binary(raw.headers, KAFKA_PREFIX) {
        return binary(raw.headers, KAFKA_PREFIX, raw.value, schemas).await;
    }
    let value = raw.value.ok_or_else(|| Undecodable::new("the record has no value"))?;
    let Some((id, datum)) = framing::unframed(value) else { return Ok(change::decode(value)?) };
    fits(value)?;
    let writer = schemas.schema(id).await?;
    if change::CODEC.reads(&writer.header()) {
        return Ok(change::decode(&[writer.header().as_slice(), datum].concat())?);
    }
    Ok(flat(&writer, datum)?)
}

/// Whether a value begins as Avro does, in a frame or as a single object.
pub fn is_avro(value: &[u8]) -> bool {
    framing::unframed(value).is_some() || is_single_object(value)
}

/// Whether headers say that this is a CloudEvent in binary mode.
pub fn is_binary(headers: &Headers, prefix: &str) -> bool {
    headers.iter().any(|(name, _)| attribute(name, prefix).is_some_and(|name| name == "specversion"))
}

/// Reads a CloudEvent in binary mode.
pub async fn binary(
    headers: &Headers,
    prefix: &str,
    value: Option<&[u8]>,
    schemas: &dyn Schemas,
) -> Result<Cloud, Unread> {
    let mut attributes = attributes(headers, prefix)?;
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        attributes.insert("data".to_owned(), json(value, schemas).await?);
    }
    Ok(cloud(attributes)?)
}

/// A row of a table or of a list: the value is JSON or framed Avro, its fields are the row's. A tombstone
/// says that the row of its key is gone.
pub async fn row(raw: Raw<'_>, schemas: &dyn Schemas) -> Result<Row, Unread> {
    let key = key(raw.key, schemas).await?;
    let (did, row) = match raw.value {
        Some(value) => (Did::Update, debezium::payload(json(value, schemas).await?)),
        None => (Did::Delete, key.clone()),
    };
    Ok(Row {
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
pub async fn debezium(raw: Raw<'_>, schemas: &dyn Schemas) -> Result<Option<Row>, Unread> {
    // After each record of a deletion, for logs that are compacted: it has been said.
    let Some(value) = raw.value else { return Ok(None) };
    let value = json(value, schemas).await?;
    Ok(debezium::read(value, key(raw.key, schemas).await?)?)
}

/// The row of a CloudEvent is its data.
pub async fn cloud_row(raw: Raw<'_>, schemas: &dyn Schemas) -> Result<Row, Unread> {
    let cloud = change(raw, schemas).await?;
    let mut event = Map::new();
    let texts = [("id", Some(cloud.id.clone())), ("source", Some(cloud.source)), ("type", Some(cloud.what))];
    for (name, text) in texts.into_iter().chain([("subject", cloud.subject), ("actor", cloud.actor)]) {
        event.extend(text.map(|text| (name.to_owned(), Value::String(text))));
    }
    Ok(Row {
        did: Did::Update,
        row: Value::Object(cloud.data),
        before: None,
        key: key(raw.key, schemas).await?,
        source: Value::Null,
        event: Value::Object(event),
        id: Some(cloud.id),
        version: cloud.version,
        time: cloud.time,
    })
}

/// A value in JSON or in framed Avro.
pub async fn json(value: &[u8], schemas: &dyn Schemas) -> Result<Value, Unread> {
    fits(value)?;
    match framing::unframed(value) {
        Some((id, datum)) => Ok(datum::json(&*schemas.schema(id).await?, datum)?),
        None => Ok(json_text(value)?),
    }
}

/// A key in JSON or in framed Avro; one that is neither is a text, and one that is none is not there.
async fn key(key: &[u8], schemas: &dyn Schemas) -> Result<Value, Unread> {
    if framing::unframed(key).is_some() {
        return json(key, schemas).await;
    }
    let text = str::from_utf8(key).ok().filter(|text| !text.is_empty());
    let of = |text: &str| json::strict(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    Ok(debezium::payload(text.map_or(Value::Null, of)))
}

fn json_text(value: &[u8]) -> Result<Value, Undecodable> {
    let text = str::from_utf8(value).map_err(|_| Undecodable::new("it is neither avro nor text in utf-8"))?;
    json::strict(text).map_err(|error| Undecodable::new(format!("it is no json: {error}")))
}

fn fits(value: &[u8]) -> Result<(), Undecodable> {
    match value.len() {
        0..=ITEM_BYTES_MAX => Ok(()),
        more => Err(Undecodable::new(format!("{more} bytes, more than {ITEM_BYTES_MAX}"))),
    }
}

/// The name of an attribute, if a header has one.
fn attribute(name: &str, prefix: &str) -> Option<String> {
    let (start, rest) = name.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| rest.to_ascii_lowercase())
}

/// The attributes in headers. They are texts; the two that are lists are lists in JSON.
fn attributes(headers: &Headers, prefix: &str) -> Result<Map<String, Value>, Undecodable> {
    let mut attributes = Map::new();
    for (header, value) in headers {
        let Some(name) = attribute(header, prefix) else { continue };
        let text = str::from_utf8(value)
            .map_err(|_| Undecodable::new(format!("header `{}` is not utf-8", shortened(header))))?;
        let value = match name.as_str() {
            "subjects" | "persons" => json_text(text.as_bytes())
                .map_err(|error| Undecodable::new(format!("header `{header}`: {error}")))?,
            // The value is the data, whatever somebody says beside it.
            "data" | "data_base64" | "datacontenttype" => continue,
            _ => Value::String(text.to_owned()),
        };
        if let Some(_twice) = attributes.insert(name, value) {
            return Err(Undecodable::new(format!("header `{}` is given twice", shortened(header))));
        }
    }
    Ok(attributes)
}

/// A record of somebody else's schema that has the fields of a change.
fn flat(writer: &Writer, datum: &[u8]) -> Result<Cloud, Undecodable> {
    match datum::json(writer, datum)? {
        Value::Object(mut fields) => {
            // A time that its schema does not call one.
            if let Some(ms) = fields.get("time").and_then(Value::as_i64) {
                fields.insert("time".to_owned(), Millis(ms).to_string().into());
            }
            cloud(fields)
        }
        _ => Err(Undecodable::new("a change is a record")),
    }
}

/// The change that these attributes are.
pub fn cloud(attributes: Map<String, Value>) -> Result<Cloud, Undecodable> {
    Attributes(attributes).cloud().map_err(|(name, reason)| Undecodable::new(format!("/{name}: {reason}")))
}
