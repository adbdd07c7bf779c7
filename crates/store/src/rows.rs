//! Rows of a day as bytes: what is in the key makes the row that one and no other, the rest is its value.
//! The same on every engine.

use model::{
    Because, Channel, Entry, EntryKey, Kind, Mark, Millis, Person, ReadyId, Reason, Row, Score, SubjectRef,
    What, Why,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    codec::{Bytes, KEY_BYTES, bad, decode, encode_onto, joined, push_name, split},
    port::StoreError,
};

/// Marks come first: where a reader stops before the end, it has them all.
const MARK: u8 = 1;
const ENTRY: u8 = 2;

// How somebody was found: a byte, and whom or what it names.
const FOLLOWS: u8 = 1;
const NEAR: u8 = 2;
const NAMED: u8 = 3;
const LISTED: u8 = 4;
const MUTUAL: u8 = 5;
const EVERYONE: u8 = 6;

#[derive(Serialize, Deserialize)]
struct StoredEntry<'a> {
    subject: &'a str,
    #[serde(borrow)]
    actor: Option<&'a str>,
}

#[derive(Serialize, Deserialize)]
struct StoredMark<'a> {
    #[serde(borrow)]
    channel: Option<&'a str>,
    #[serde(borrow)]
    what: StoredWhat<'a>,
    #[serde(borrow)]
    covers: Bytes<'a>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
enum StoredWhat<'a> {
    Taken([u8; 16]),
    Returned([u8; 16], bool),
    Left([u8; 16], &'a str),
    Ended(&'a str),
    Carried([u8; 16]),
    Read,
    Cleared,
}

/// Appends a row's key and its value; whose day it is, the engine knows.
pub fn push_row(key: &mut Vec<u8>, value: &mut Vec<u8>, row: &Row) -> Result<(), StoreError> {
    match row {
        Row::Entry(entry) => {
            key.push(ENTRY);
            key.extend_from_slice(&entry.key.bytes());
            push_name(key, entry.reason.kind.as_str());
            push_because(key, &entry.reason.because);
            let actor = entry.actor.as_ref().map(Person::as_str);
            encode_onto(value, "an entry", &StoredEntry { subject: entry.subject.as_str(), actor })
        }
        Row::Mark(mark) => {
            let covers = joined(&mark.covers);
            let stored = StoredMark {
                channel: mark.channel.map(Channel::name),
                what: stored_what(mark.what),
                covers: Bytes(&covers),
                at: mark.at.0,
            };
            let start = value.len();
            encode_onto(value, "a mark", &stored)?;
            key.push(MARK);
            key.extend_from_slice(&Sha256::digest(&value[start..])[..16]);
            Ok(())
        }
    }
}

/// The last part of a key, so what it names needs no length.
fn push_because(key: &mut Vec<u8>, because: &Because) {
    let (tag, named): (u8, &[u8]) = match because {
        Because::Follows(target) => (FOLLOWS, target.as_str().as_bytes()),
        Because::Near => (NEAR, &[]),
        Because::Named => (NAMED, &[]),
        Because::Listed(score) => (LISTED, &score.0.to_be_bytes()),
        Because::Mutual(other) => (MUTUAL, other.as_str().as_bytes()),
        Because::Everyone => (EVERYONE, &[]),
    };
    key.push(tag);
    key.extend_from_slice(named);
}

fn because_back(key: &[u8]) -> Option<Because> {
    let (&tag, named) = key.split_first()?;
    let text = || std::str::from_utf8(named).ok();
    Some(match tag {
        FOLLOWS => Because::Follows(SubjectRef::new(text()?).ok()?),
        NEAR if named.is_empty() => Because::Near,
        NAMED if named.is_empty() => Because::Named,
        LISTED => Because::Listed(Score(i64::from_be_bytes(named.try_into().ok()?))),
        MUTUAL => Because::Mutual(Person::new(text()?).ok()?),
        EVERYONE if named.is_empty() => Because::Everyone,
        _ => return None,
    })
}

/// Reads a row back.
pub fn row_back(key: &[u8], value: &[u8]) -> Result<Row, StoreError> {
    match key.split_first() {
        Some((&ENTRY, rest)) => entry_back(rest, value).map(Row::Entry),
        Some((&MARK, _)) => mark_back(value).map(Row::Mark),
        _ => Err(bad("a row of a day")),
    }
}

fn entry_back(key: &[u8], value: &[u8]) -> Result<Entry, StoreError> {
    let stored: StoredEntry<'_> = decode("an entry", value)?;
    let parsed = || {
        let (at, rest) = key.split_at_checked(KEY_BYTES)?;
        let (&length, rest) = rest.split_first()?;
        let (kind, rest) = rest.split_at_checked(usize::from(length))?;
        let reason =
            Reason { kind: Kind::new(std::str::from_utf8(kind).ok()?).ok()?, because: because_back(rest)? };
        let actor = stored.actor.map(Person::new).transpose().ok()?;
        let subject = SubjectRef::new(stored.subject).ok()?;
        Some(Entry { key: EntryKey::from_bytes(at)?, reason, subject, actor })
    };
    parsed().ok_or_else(|| bad("an entry"))
}

fn mark_back(value: &[u8]) -> Result<Mark, StoreError> {
    let what = "a mark";
    let stored: StoredMark<'_> = decode(what, value)?;
    let channel = match stored.channel {
        Some(name) => Some(Channel::parse(name).ok_or_else(|| bad(what))?),
        None => None,
    };
    let said = what_back(stored.what).ok_or_else(|| bad(what))?;
    Ok(Mark { channel, what: said, covers: split(what, stored.covers.0)?, at: Millis(stored.at) })
}

fn stored_what(what: What) -> StoredWhat<'static> {
    match what {
        What::Taken(ready) => StoredWhat::Taken(ready.0),
        What::Returned { ready, maybe } => StoredWhat::Returned(ready.0, maybe),
        What::Left { ready, why } => StoredWhat::Left(ready.0, why.text()),
        What::Ended(why) => StoredWhat::Ended(why.text()),
        What::Carried(ready) => StoredWhat::Carried(ready.0),
        What::Read => StoredWhat::Read,
        What::Cleared => StoredWhat::Cleared,
    }
}

fn what_back(stored: StoredWhat<'_>) -> Option<What> {
    Some(match stored {
        StoredWhat::Taken(ready) => What::Taken(ReadyId(ready)),
        StoredWhat::Returned(ready, maybe) => What::Returned { ready: ReadyId(ready), maybe },
        StoredWhat::Left(ready, why) => What::Left { ready: ReadyId(ready), why: Why::parse(why)? },
        StoredWhat::Ended(why) => What::Ended(Why::parse(why)?),
        StoredWhat::Carried(ready) => What::Carried(ReadyId(ready)),
        StoredWhat::Read => What::Read,
        StoredWhat::Cleared => What::Cleared,
    })
}
