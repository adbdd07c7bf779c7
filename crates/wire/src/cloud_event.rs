//! Changes as JSON: CloudEvents 1.0 in structured mode, and a flat form that is shorter to write.
//!
//! Structured: `{"specversion":"1.0","id":"1","source":"shop","type":"item.published","subject":"item:7",
//! "time":"2026-11-21T09:00:00Z","data":{"title":"Moon"}}`. Six extension attributes are read: `actor` (who
//! did it), `actorname` (what to call them), `actorkind` (`person`, `anonymous` or `system`), `version` (a whole number, or the digits of one as text), `subjects` (a list of what it is about,
//! instead of `subject`) and `persons` (a list of whom it names, each an id or, with how well it suits them,
//! `{"person":"ann","score":0.93}`). Other extensions are let pass; an empty list is as good as none.
//!
//! Flat: the same without `data`. Every attribute that is neither of CloudEvents nor one of the six
//! extensions is a field of the data: `{"id":"1","source":"shop","type":"item.published","title":"Moon"}`.
//! `specversion` may be missing, but is `1.0` if it is there. Without it, `data` beside other fields is an
//! error: nobody can say which of the two was meant.
//!
//! A body is one object, an array of them, or one object a line; the first line that is not blank decides
//! whether it is lines. Names given twice, deep nesting and `data_base64` are refused. Ids and subjects
//! are checked by the room.

use std::ops::Range;

use serde_json::{Value, value::RawValue};

pub use crate::cloud_change::{CloudChange, CloudPerson, ITEM_BYTES_MAX};
use crate::{attributes::ChangeAttributes, codec::shorten_text, json};

/// Bytes of one body of changes.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Changes of one body.
pub const ITEMS_MAX: usize = 1_000;

/// Why something is no change.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", join_place(.at, .reason))]
pub struct CloudError {
    /// Where: a line and column of the body, or a JSON pointer such as `/3/time`; empty for the whole of it.
    pub at: String,
    pub reason: String,
}

impl CloudError {
    fn new(at: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { at: at.into(), reason: reason.into() }
    }
}

/// A reason behind its place; what is about the whole has none.
pub fn join_place(at: &str, reason: &str) -> String {
    if at.is_empty() { reason.to_owned() } else { format!("{at}: {reason}") }
}

/// Reads a body of one or many changes. Each has its own verdict; a body that cannot be taken apart has
/// one for all.
pub fn parse_changes(body: &[u8]) -> Result<Vec<Result<CloudChange, CloudError>>, CloudError> {
    if body.len() > BODY_BYTES_MAX {
        let reason = format!("the body has {} bytes, more than {BODY_BYTES_MAX}", body.len());
        return Err(CloudError::new("", reason));
    }
    let body = body_text(body)?;
    let parts = match body.trim_ascii_start().as_bytes().first() {
        None => return Err(CloudError::new("line 1 column 1", "the body is empty")),
        Some(b'[') => split_array(body)?,
        Some(_) if is_lines(body) => split_lines(body),
        Some(_) => vec![(String::new(), 0..body.len())],
    };
    if parts.len() > ITEMS_MAX {
        let reason = format!("the body has {} changes, more than {ITEMS_MAX}", parts.len());
        return Err(CloudError::new("", reason));
    }
    // One object that is not even JSON is a body that cannot be taken apart.
    if let [(prefix, range)] = parts.as_slice()
        && prefix.is_empty()
        && let Err(error) = serde_json::from_str::<&RawValue>(&body[range.clone()])
    {
        return Err(syntax_error(body, 0, &error));
    }
    Ok(parts.into_iter().map(|(prefix, range)| parse_item(body, &prefix, range)).collect())
}

/// Reads one change.
pub fn parse_change(body: &[u8]) -> Result<CloudChange, CloudError> {
    let body = body_text(body)?;
    parse_item(body, "", 0..body.len())
}

fn body_text(body: &[u8]) -> Result<&str, CloudError> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    str::from_utf8(body).map_err(|error| {
        let good = &body[..error.valid_up_to()];
        CloudError::new(text_position(&String::from_utf8_lossy(good), good.len()), "the body is not UTF-8")
    })
}

/// The items of an array: what each error begins with, and where the item lies.
fn split_array(body: &str) -> Result<Vec<(String, Range<usize>)>, CloudError> {
    let items: Vec<&RawValue> = serde_json::from_str(body).map_err(|error| syntax_error(body, 0, &error))?;
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

fn split_lines(body: &str) -> Vec<(String, Range<usize>)> {
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

fn parse_item(body: &str, prefix: &str, range: Range<usize>) -> Result<CloudChange, CloudError> {
    let start = range.start;
    let item = &body[range];
    if item.len() > ITEM_BYTES_MAX {
        let reason = format!("the change has {} bytes, more than {ITEM_BYTES_MAX}", item.len());
        return Err(CloudError::new(error_pointer(prefix, ""), reason));
    }
    match json::parse_strict(item).map_err(|error| syntax_error(body, start, &error))? {
        Value::Object(attributes) => {
            let cloud = ChangeAttributes(attributes).into_change();
            cloud.map_err(|(name, reason)| CloudError::new(error_pointer(prefix, &name), reason))
        }
        _ => Err(CloudError::new(error_pointer(prefix, ""), "a change must be an object")),
    }
}

fn error_pointer(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        (prefix, "") => prefix.trim_ascii_end().to_owned(),
        (prefix, name) => format!("{prefix}/{name}"),
    }
}

/// An error of a piece of the body, at its place in the whole.
fn syntax_error(body: &str, start: usize, error: &serde_json::Error) -> CloudError {
    let piece = &body[start..];
    let line = piece.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    let at = text_position(body, start + line + error.column().saturating_sub(1));
    // The error says where within the piece; that is said better here.
    let reason = error.to_string();
    let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
    CloudError::new(at, shorten_text(reason))
}

/// Line and column, both from 1; a column counts bytes.
fn text_position(body: &str, offset: usize) -> String {
    let before = &body.as_bytes()[..offset.min(body.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    format!("line {line} column {column}")
}
