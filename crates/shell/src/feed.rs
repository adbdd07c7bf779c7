//! Feeds CloudEvents to a running house, in pieces: changes, facts and feedback, each to its own path, in
//! the order in which they come.

use std::{
    borrow::Cow,
    fmt,
    io::{BufRead, Read as _},
};

use anyhow::Context as _;
use runtime::retry;
use serde_json::{Value, value::RawValue};
use wire::cloud_event::join_place;

use crate::{
    client::{HouseClient, HouseResponse},
    datadir::random_hex,
    failure::CommandError,
};

/// Items of one request, and about how many bytes of them: well below what the intake takes.
const PIECE_ITEMS_MAX: usize = 500;
const PIECE_BYTES_MAX: usize = 512 * 1024;
/// A line that is longer is no event; nothing is gained by reading on.
const LINE_BYTES_MAX: u64 = 1024 * 1024;
/// An array is read whole; a longer one is better written as lines.
const ARRAY_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Tries before giving up on a house that is behind: with the pauses between them, some minutes.
const TRIES_MAX: u32 = 40;

/// One thing to feed, and what names it to whoever wrote it: its line, or its place in the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedItem {
    pub place: FeedPlace,
    pub text: String,
    /// Its line is not UTF-8: the text has other characters in place of some bytes, and is not sent.
    pub is_garbled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedPlace {
    /// Lines count from one, as editors do.
    Line(u64),
    /// Items count from zero, as programs do.
    Item(u64),
}

impl fmt::Display for FeedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Item(number) => write!(f, "item {number}"),
        }
    }
}

/// What became of a feeding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedReport {
    pub accepted: u64,
    pub refused: u64,
}

/// Reads items from an array, or from one object a line; the first character that is not blank decides.
pub fn read_items<R: BufRead + 'static>(
    mut reader: R,
) -> anyhow::Result<Box<dyn Iterator<Item = anyhow::Result<FeedItem>>>> {
    let first = loop {
        let Some(byte) = reader.fill_buf()?.first().copied() else { break None };
        if !byte.is_ascii_whitespace() || byte == b'\n' {
            break Some(byte);
        }
        reader.consume(1);
    };
    if first == Some(b'[') {
        let mut bytes = Vec::new();
        reader.take(ARRAY_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        anyhow::ensure!(
            bytes.len() as u64 <= ARRAY_BYTES_MAX,
            "this array is too long: write one item a line"
        );
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
            let line = good.filter(|byte| **byte == b'\n').count() + 1;
            anyhow::anyhow!("line {line} is not UTF-8; save the file in this encoding")
        })?;
        let list: Vec<&RawValue> = serde_json::from_str(&text)?;
        let items: Vec<_> = (0..)
            .zip(list)
            .map(|(place, item)| {
                let (place, text) = (FeedPlace::Item(place), join_lines(item.get()));
                Ok(FeedItem { place, text, is_garbled: false })
            })
            .collect();
        return Ok(Box::new(items.into_iter()));
    }
    Ok(Box::new(FeedLines { reader, number: 0 }))
}

/// An object of several lines, on one.
fn join_lines(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

struct FeedLines<R> {
    reader: R,
    number: u64,
}

impl<R: BufRead> Iterator for FeedLines<R> {
    type Item = anyhow::Result<FeedItem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.number += 1;
            let mut line = Vec::new();
            match self.reader.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(read) if read as u64 > LINE_BYTES_MAX => {
                    return Some(Err(anyhow::anyhow!(
                        "line {} is longer than {LINE_BYTES_MAX} bytes",
                        self.number
                    )));
                }
                Ok(_) => {
                    let text = String::from_utf8_lossy(&line);
                    let is_garbled = matches!(text, Cow::Owned(_));
                    if !text.trim().is_empty() {
                        let (place, text) = (FeedPlace::Line(self.number), text.trim().to_owned());
                        return Some(Ok(FeedItem { place, text, is_garbled }));
                    }
                }
                Err(error) => return Some(Err(error).with_context(|| format!("line {}", self.number))),
            }
        }
    }
}

/// Feeds items; tells each one that is refused or noted, with its place, and after each piece how far it is.
pub fn feed_items(
    client: &HouseClient,
    items: impl Iterator<Item = anyhow::Result<FeedItem>>,
    mut told: impl FnMut(&str),
    mut so_far: impl FnMut(FeedReport),
) -> Result<FeedReport, CommandError> {
    let mut fed = FeedReport::default();
    let mut piece = FeedPiece::default();
    for item in items {
        let item = item?;
        if !piece.has_room_for(&item) {
            piece.send(client, &mut fed, &mut told)?;
            so_far(fed);
        }
        piece.add(item);
    }
    piece.send(client, &mut fed, &mut told)?;
    so_far(fed);
    Ok(fed)
}

/// Items that go in one request.
#[derive(Default)]
struct FeedPiece {
    path: Option<&'static str>,
    bytes: usize,
    items: Vec<FeedItem>,
}

impl FeedPiece {
    fn has_room_for(&self, item: &FeedItem) -> bool {
        self.path.is_none_or(|path| path == path_of(&item.text))
            && self.items.len() < PIECE_ITEMS_MAX
            && self.bytes + item.text.len() < PIECE_BYTES_MAX
    }

    fn add(&mut self, item: FeedItem) {
        self.path = Some(path_of(&item.text));
        self.bytes += item.text.len();
        self.items.push(item);
    }

    fn send(
        &mut self,
        client: &HouseClient,
        fed: &mut FeedReport,
        told: &mut impl FnMut(&str),
    ) -> Result<(), CommandError> {
        let Self { path, items, .. } = std::mem::take(self);
        let Some(path) = path else { return Ok(()) };
        let lines: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
        // An array of texts, so that one bad item cannot make the whole body unreadable.
        let mut good = Vec::new();
        for (i, item) in items.iter().enumerate() {
            if item.is_garbled {
                fed.refused += 1;
                told(&format!("{} is not UTF-8; save the file in this encoding", item.place));
                continue;
            }
            match serde_json::from_str::<&RawValue>(&item.text) {
                Ok(_) => good.push(i),
                Err(error) => {
                    fed.refused += 1;
                    told(&format!("{} is not JSON: {}", item.place, describe_json_error(&error)));
                }
            }
        }
        if good.is_empty() {
            return Ok(());
        }
        let body = format!("[{}]", good.iter().map(|i| lines[*i]).collect::<Vec<_>>().join(","));
        let said = post_patiently(client, path, &body)?;
        let Some(list) = said.body["rejected"].as_array() else {
            return said.into_value::<Value>().map(drop);
        };
        fed.accepted += said.body["accepted"].as_u64().unwrap_or(0);
        let item = |of: &Value| {
            let index = of["index"].as_u64().and_then(|i| usize::try_from(i).ok());
            index.and_then(|i| items.get(*good.get(i)?))
        };
        for note in said.body["notes"].as_array().into_iter().flatten() {
            if let Some(item) = item(note) {
                told(&format!("{}: note: {}", item.place, note["note"].as_str().unwrap_or_default()));
            }
        }
        for rejected in list {
            let text = |name: &str| rejected[name].as_str().unwrap_or_default();
            fed.refused += 1;
            if let Some(item) = item(rejected) {
                told(&format!("{}: {}", item.place, join_place(text("at"), text("reason"))));
            }
        }
        Ok(())
    }
}

/// Posts a body, and again while the house is behind; one key, so that nothing is taken twice.
pub fn post_patiently(client: &HouseClient, path: &str, body: &str) -> Result<HouseResponse, CommandError> {
    let key = random_hex(16)?;
    let waiting =
        tokio::runtime::Builder::new_current_thread().enable_time().build().context("start tokio")?;
    let mut tries = 0;
    loop {
        let said = client.post(path, body, Some(&key))?;
        if !matches!(said.status, 429 | 503) || tries >= TRIES_MAX {
            return Ok(said);
        }
        waiting.block_on(retry::pause_before_retry(tries, u64::from(std::process::id())));
        tries += 1;
    }
}

/// What is wrong in a text of one line; the parser's own "line 1" would be taken for that of the file.
fn describe_json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("{what} at column {}", error.column())
}

/// Where an item goes, by its type.
fn path_of(item: &str) -> &'static str {
    let parsed = serde_json::from_str::<Value>(item).ok();
    match parsed.as_ref().and_then(|item| item["type"].as_str()) {
        Some(
            "tidings.follow" | "tidings.unfollow" | "tidings.profile" | "tidings.mute" | "tidings.unmute",
        ) => "/admin/v1/facts",
        Some("tidings.read" | "tidings.cleared") => "/admin/v1/feedback",
        _ => "/admin/v1/changes",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn read_all(text: &'static str) -> Vec<(String, String)> {
        read_items(Cursor::new(text))
            .unwrap()
            .map(|item| item.unwrap())
            .map(|item| (item.place.to_string(), item.text))
            .collect()
    }

    #[test]
    fn lines_and_arrays_are_read() {
        let one = |place: &str, text: &str| (place.to_owned(), text.to_owned());
        assert_eq!(
            read_all("{\"a\":1}\n\n{\"b\":2}"),
            [one("line 1", "{\"a\":1}"), one("line 3", "{\"b\":2}")]
        );
        assert_eq!(
            read_all("\n {\"a\":1}\nnonsense\n"),
            [one("line 2", "{\"a\":1}"), one("line 3", "nonsense")]
        );
        assert_eq!(read_all("  [{\"a\":\n1}, 2]"), [one("item 0", "{\"a\": 1}"), one("item 1", "2")]);
        assert_eq!(read_all(""), []);
        assert!(read_items(Cursor::new("[1, ")).is_err());
    }

    #[test]
    fn a_line_that_is_not_utf8_is_one_bad_line() {
        let bytes = b"{\"a\":1}\n{\"b\":\"\xE4\"}\n{\"c\":3}\n";
        let items: Vec<FeedItem> = read_items(Cursor::new(&bytes[..])).unwrap().map(Result::unwrap).collect();
        let found: Vec<_> = items.iter().map(|item| (item.place, item.is_garbled)).collect();
        let line = FeedPlace::Line;
        assert_eq!(found, [(line(1), false), (line(2), true), (line(3), false)]);
        // An array is read whole, so its line is all that can be said.
        let error = read_items(Cursor::new(&b"[{},\n{\"b\":\"\xE4\"}]"[..])).err().unwrap();
        assert_eq!(error.to_string(), "line 2 is not UTF-8; save the file in this encoding");
    }

    #[test]
    fn what_is_no_json_is_named_by_its_line_in_the_file() {
        let error = serde_json::from_str::<&RawValue>("nonsense").unwrap_err();
        assert_eq!(describe_json_error(&error), "expected ident at column 2");
    }

    #[test]
    fn each_sort_has_its_path() {
        let check = |item: &str, path: &str| assert_eq!(path_of(item), path, "{item}");
        check(r#"{"type":"tidings.follow"}"#, "/admin/v1/facts");
        check(r#"{"type":"tidings.read"}"#, "/admin/v1/feedback");
        check(r#"{"type":"item.published"}"#, "/admin/v1/changes");
        check("nonsense", "/admin/v1/changes");
    }

    #[test]
    fn a_piece_has_one_path_and_an_end() {
        let item =
            |text: &str| FeedItem { place: FeedPlace::Line(1), text: text.to_owned(), is_garbled: false };
        let mut piece = FeedPiece::default();
        piece.add(item("{}"));
        assert!(piece.has_room_for(&item("{}")));
        assert!(!piece.has_room_for(&item(r#"{"type":"tidings.follow"}"#)));
        assert!(!piece.has_room_for(&item(&"x".repeat(PIECE_BYTES_MAX))));
    }
}
