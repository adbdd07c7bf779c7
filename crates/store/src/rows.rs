//! Rows of a day as bytes: what is in the key makes the row that one and no other, the rest is its value.
//! The same on every engine.

use model::{
    AudienceMatch, Channel, DayRow, EndReason, Entry, EntryKey, EntryReason, Kind, Mark, MarkAction, Person,
    PersonScore, ReadyId, SubjectRef, UtcMillis,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    codec::{
        BorrowedBytes, KEY_BYTES, decode, encode_onto, join_entry_keys, push_name, split_entry_keys,
        unreadable_error,
    },
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
    what: StoredMarkAction<'a>,
    #[serde(borrow)]
    covers: BorrowedBytes<'a>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
enum StoredMarkAction<'a> {
    Taken([u8; 16]),
    Returned([u8; 16], bool),
    Left([u8; 16], &'a str),
    Ended(&'a str),
    Carried([u8; 16]),
    Read,
    Cleared,
}

/// Appends a row's key and its value; whose day it is, the engine knows.
pub fn push_row(key: &mut Vec<u8>, value: &mut Vec<u8>, row: &DayRow) -> Result<(), StoreError> {
    match row {
        DayRow::Entry(entry) => {
            key.push(ENTRY);
            key.extend_from_slice(&entry.key.to_bytes());
            push_name(key, entry.reason.kind.as_str());
            push_because(key, &entry.reason.because);
            let actor = entry.actor.as_ref().map(Person::as_str);
            encode_onto(value, "an entry", &StoredEntry { subject: entry.subject.as_str(), actor })
        }
        DayRow::Mark(mark) => {
            let covers = join_entry_keys(&mark.covers);
            let stored = StoredMark {
                channel: mark.channel.map(Channel::name),
                what: to_stored_action(mark.what),
                covers: BorrowedBytes(&covers),
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
fn push_because(key: &mut Vec<u8>, because: &AudienceMatch) {
    let (tag, named): (u8, &[u8]) = match because {
        AudienceMatch::Follows(target) => (FOLLOWS, target.as_str().as_bytes()),
        AudienceMatch::Near => (NEAR, &[]),
        AudienceMatch::Named => (NAMED, &[]),
        AudienceMatch::Listed(score) => (LISTED, &score.0.to_be_bytes()),
        AudienceMatch::Mutual(other) => (MUTUAL, other.as_str().as_bytes()),
        AudienceMatch::Everyone => (EVERYONE, &[]),
    };
    key.push(tag);
    key.extend_from_slice(named);
}

fn decode_because(key: &[u8]) -> Option<AudienceMatch> {
    let (&tag, named) = key.split_first()?;
    let text = || std::str::from_utf8(named).ok();
    Some(match tag {
        FOLLOWS => AudienceMatch::Follows(SubjectRef::new(text()?).ok()?),
        NEAR if named.is_empty() => AudienceMatch::Near,
        NAMED if named.is_empty() => AudienceMatch::Named,
        LISTED => AudienceMatch::Listed(PersonScore(i64::from_be_bytes(named.try_into().ok()?))),
        MUTUAL => AudienceMatch::Mutual(Person::new(text()?).ok()?),
        EVERYONE if named.is_empty() => AudienceMatch::Everyone,
        _ => return None,
    })
}

/// Reads a row back.
pub fn decode_row(key: &[u8], value: &[u8]) -> Result<DayRow, StoreError> {
    match key.split_first() {
        Some((&ENTRY, rest)) => decode_entry(rest, value).map(DayRow::Entry),
        Some((&MARK, _)) => decode_mark(value).map(DayRow::Mark),
        _ => Err(unreadable_error("a row of a day")),
    }
}

fn decode_entry(key: &[u8], value: &[u8]) -> Result<Entry, StoreError> {
    let stored: StoredEntry<'_> = decode("an entry", value)?;
    let parsed = || {
        let (at, rest) = key.split_at_checked(KEY_BYTES)?;
        let (&length, rest) = rest.split_first()?;
        let (kind, rest) = rest.split_at_checked(usize::from(length))?;
        let reason = EntryReason {
            kind: Kind::new(std::str::from_utf8(kind).ok()?).ok()?,
            because: decode_because(rest)?,
        };
        let actor = stored.actor.map(Person::new).transpose().ok()?;
        let subject = SubjectRef::new(stored.subject).ok()?;
        Some(Entry { key: EntryKey::from_bytes(at)?, reason, subject, actor })
    };
    parsed().ok_or_else(|| unreadable_error("an entry"))
}

fn decode_mark(value: &[u8]) -> Result<Mark, StoreError> {
    let what = "a mark";
    let stored: StoredMark<'_> = decode(what, value)?;
    let channel = match stored.channel {
        Some(name) => Some(Channel::parse(name).ok_or_else(|| unreadable_error(what))?),
        None => None,
    };
    let said = from_stored_action(stored.what).ok_or_else(|| unreadable_error(what))?;
    Ok(Mark {
        channel,
        what: said,
        covers: split_entry_keys(what, stored.covers.0)?,
        at: UtcMillis(stored.at),
    })
}

fn to_stored_action(what: MarkAction) -> StoredMarkAction<'static> {
    match what {
        MarkAction::Taken(ready) => StoredMarkAction::Taken(ready.0),
        MarkAction::Returned { ready, maybe } => StoredMarkAction::Returned(ready.0, maybe),
        MarkAction::Left { ready, why } => StoredMarkAction::Left(ready.0, why.text()),
        MarkAction::Ended(why) => StoredMarkAction::Ended(why.text()),
        MarkAction::Carried(ready) => StoredMarkAction::Carried(ready.0),
        MarkAction::Read => StoredMarkAction::Read,
        MarkAction::Cleared => StoredMarkAction::Cleared,
    }
}

fn from_stored_action(stored: StoredMarkAction<'_>) -> Option<MarkAction> {
    Some(match stored {
        StoredMarkAction::Taken(ready) => MarkAction::Taken(ReadyId(ready)),
        StoredMarkAction::Returned(ready, maybe) => MarkAction::Returned { ready: ReadyId(ready), maybe },
        StoredMarkAction::Left(ready, why) => {
            MarkAction::Left { ready: ReadyId(ready), why: EndReason::parse(why)? }
        }
        StoredMarkAction::Ended(why) => MarkAction::Ended(EndReason::parse(why)?),
        StoredMarkAction::Carried(ready) => MarkAction::Carried(ReadyId(ready)),
        StoredMarkAction::Read => MarkAction::Read,
        StoredMarkAction::Cleared => MarkAction::Cleared,
    })
}
