//! Changes as JSON: CloudEvents 1.0 in structured mode, and a flat form that is shorter to write.
//!
//! Structured: `{"specversion":"1.0","id":"1","source":"shop","type":"item.published","subject":"item:7",
//! "time":"2026-11-21T09:00:00Z","data":{"title":"Moon"}}`. Two extension attributes are read, `actor` (who
//! did it) and `version` (a whole number, or the digits of one as text); other extensions are let pass.
//!
//! Flat: the same without `data`. Every attribute that is neither of CloudEvents nor one of the two
//! extensions is a field of the data: `{"id":"1","source":"shop","type":"item.published","title":"Moon"}`.
//! `specversion` may be missing, but is `1.0` if it is there. Without it, `data` beside other fields is an
//! error: nobody can say which of the two was meant.
//!
//! A body is one object, an array of them, or one object a line; the first line that is not blank decides
//! whether it is lines. Names given twice, deep nesting and `data_base64` are refused. Ids and subjects
//! are checked by the room.

use std::ops::Range;

use model::Millis;
use serde_json::{Map, Value, value::RawValue};

use crate::{codec::shortened, json};

/// Bytes of one change.
pub const ITEM_BYTES_MAX: usize = 64 * 1024;
/// Bytes of one body of changes.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Changes of one body.
pub const ITEMS_MAX: usize = 1_000;

/// A change as its source states it. Nothing in it has been looked up or admitted.
#[derive(Clone, PartialEq, Debug)]
pub struct Cloud {
    pub id: String,
    pub source: String,
    /// What happened: the attribute `type`.
    pub what: String,
    pub subject: Option<String>,
    pub time: Option<Millis>,
    pub data: Map<String, Value>,
    /// The extension attribute `actor`.
    pub actor: Option<String>,
    /// The extension attribute `version`.
    pub version: Option<i64>,
}

/// Why something is no change.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct CloudError {
    /// Where: a line and column of the body, or a JSON pointer such as `/3/time`.
    pub at: String,
    pub reason: String,
}

impl CloudError {
    fn new(at: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { at: at.into(), reason: reason.into() }
    }
}

/// Reads a body of one or many changes. Each has its own verdict; a body that cannot be taken apart has
/// one for all.
pub fn parse_many(body: &[u8]) -> Result<Vec<Result<Cloud, CloudError>>, CloudError> {
    if body.len() > BODY_BYTES_MAX {
        let reason = format!("the body has {} bytes, more than {BODY_BYTES_MAX}", body.len());
        return Err(CloudError::new("/", reason));
    }
    let body = text(body)?;
    let parts = match body.trim_ascii_start().as_bytes().first() {
        None => return Err(CloudError::new("line 1 column 1", "the body is empty")),
        Some(b'[') => items(body)?,
        Some(_) if is_lines(body) => lines(body),
        Some(_) => vec![(String::new(), 0..body.len())],
    };
    if parts.len() > ITEMS_MAX {
        let reason = format!("the body has {} changes, more than {ITEMS_MAX}", parts.len());
        return Err(CloudError::new("/", reason));
    }
    // One object that is not even JSON is a body that cannot be taken apart.
    if let [(prefix, range)] = parts.as_slice()
        && prefix.is_empty()
        && let Err(error) = serde_json::from_str::<&RawValue>(&body[range.clone()])
    {
        return Err(syntax(body, 0, &error));
    }
    Ok(parts.into_iter().map(|(prefix, range)| one(body, &prefix, range)).collect())
}

/// Reads one change.
pub fn parse(body: &[u8]) -> Result<Cloud, CloudError> {
    let body = text(body)?;
    one(body, "", 0..body.len())
}

fn text(body: &[u8]) -> Result<&str, CloudError> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    str::from_utf8(body).map_err(|error| {
        let good = &body[..error.valid_up_to()];
        CloudError::new(position(&String::from_utf8_lossy(good), good.len()), "the body is not utf-8")
    })
}

/// The items of an array: what each error begins with, and where the item lies.
fn items(body: &str) -> Result<Vec<(String, Range<usize>)>, CloudError> {
    let items: Vec<&RawValue> = serde_json::from_str(body).map_err(|error| syntax(body, 0, &error))?;
    let place = |(i, item): (usize, &&RawValue)| {
        let start = item.get().as_ptr().addr() - body.as_ptr().addr();
        (format!("/{i}"), start..start + item.get().len())
    };
    Ok(items.iter().enumerate().map(place).collect())
}

/// Whether the first line that is not blank is whole in itself, and not the last.
fn is_lines(body: &str) -> bool {
    let mut lines = body.lines().filter(|line| !line.trim_ascii().is_empty());
    let whole = lines.next().is_some_and(|line| serde_json::from_str::<&RawValue>(line).is_ok());
    whole && lines.next().is_some()
}

fn lines(body: &str) -> Vec<(String, Range<usize>)> {
    let mut start = 0;
    let mut parts = Vec::new();
    for (i, line) in body.split_inclusive('\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            parts.push((format!("line {} ", i + 1), start..start + line.trim_ascii_end().len()));
        }
        start += line.len();
    }
    parts
}

fn one(body: &str, prefix: &str, range: Range<usize>) -> Result<Cloud, CloudError> {
    let start = range.start;
    let item = &body[range];
    if item.len() > ITEM_BYTES_MAX {
        let reason = format!("the change has {} bytes, more than {ITEM_BYTES_MAX}", item.len());
        return Err(CloudError::new(pointer(prefix, ""), reason));
    }
    match json::strict(item).map_err(|error| syntax(body, start, &error))? {
        Value::Object(attributes) => {
            let cloud = Attributes(attributes).cloud();
            cloud.map_err(|(name, reason)| CloudError::new(pointer(prefix, name), reason))
        }
        _ => Err(CloudError::new(pointer(prefix, ""), "a change is an object")),
    }
}

fn pointer(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", "") => "/".to_owned(),
        (prefix, "") => prefix.trim_ascii_end().to_owned(),
        (prefix, name) => format!("{prefix}/{name}"),
    }
}

/// An error of a piece of the body, at its place in the whole.
fn syntax(body: &str, start: usize, error: &serde_json::Error) -> CloudError {
    let piece = &body[start..];
    let line = piece.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    let at = position(body, start + line + error.column().saturating_sub(1));
    // The error says where within the piece; that is said better here.
    let reason = error.to_string();
    let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
    CloudError::new(at, shortened(reason))
}

/// Line and column, both from 1; a column counts bytes.
fn position(body: &str, offset: usize) -> String {
    let before = &body.as_bytes()[..offset.min(body.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    format!("line {line} column {column}")
}

/// The attributes that have not been read yet.
struct Attributes(Map<String, Value>);

/// The attribute's name and what is wrong with it.
type Wrong = (&'static str, String);

impl Attributes {
    fn cloud(mut self) -> Result<Cloud, Wrong> {
        let versioned = match self.text("specversion")? {
            None => false,
            Some(version) if version == "1.0" => true,
            Some(_) => return Err(("specversion", "only 1.0 is understood".to_owned())),
        };
        let (id, source) = (self.needed("id")?, self.needed("source")?);
        let what = self.needed("type")?;
        let subject = self.text("subject")?;
        let time = match self.text("time")? {
            None => None,
            Some(text) => Some(
                Millis::parse(&text)
                    .ok_or_else(|| ("time", "not a time as in 2026-11-21T09:00:00Z (RFC 3339)".to_owned()))?,
            ),
        };
        let actor = self.text("actor")?;
        let version = self.version()?;
        self.json_only()?;
        let data = self.data(versioned)?;
        Ok(Cloud { id, source, what, subject, time, data, actor, version })
    }

    /// Takes an attribute; null is as good as missing.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &'static str) -> Result<Option<String>, Wrong> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(Value::String(_)) => Err((name, "it is empty".to_owned())),
            Some(_) => Err((name, "it is not a text".to_owned())),
        }
    }

    fn needed(&mut self, name: &'static str) -> Result<String, Wrong> {
        self.text(name)?.ok_or_else(|| (name, "it is missing".to_owned()))
    }

    /// CloudEvents' own whole numbers have 32 bits; longer ones travel as text.
    fn version(&mut self) -> Result<Option<i64>, Wrong> {
        let version = match self.take("version") {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_i64(),
            Some(Value::String(digits)) => digits.parse().ok(),
            Some(_) => None,
        };
        version.map(Some).ok_or_else(|| ("version", "it is not a whole number of 64 bits".to_owned()))
    }

    fn json_only(&mut self) -> Result<(), Wrong> {
        if self.take("data_base64").is_some() {
            return Err(("data_base64", "only JSON is understood".to_owned()));
        }
        let is_json = |text: &str| {
            let essence = text.split(';').next().unwrap_or(text).trim().to_ascii_lowercase();
            essence == "application/json" || essence.ends_with("+json")
        };
        self.text("dataschema")?;
        match self.text("datacontenttype")? {
            Some(text) if !is_json(&text) => Err(("datacontenttype", "only JSON is understood".to_owned())),
            _ => Ok(()),
        }
    }

    fn data(mut self, versioned: bool) -> Result<Map<String, Value>, Wrong> {
        match self.take("data") {
            None => Ok(self.0),
            Some(Value::Object(data)) if versioned => Ok(data),
            Some(Value::Object(data)) => match self.0.keys().next() {
                None => Ok(data),
                Some(other) => {
                    let other = shortened(other);
                    Err(("data", format!("the fields are in `data`, and there is `{other}` beside it")))
                }
            },
            Some(_) => Err(("data", "it is not an object".to_owned())),
        }
    }
}
