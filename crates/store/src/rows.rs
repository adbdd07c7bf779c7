//! Rows of a day as bytes: what is in the key makes the row that one and no other, the rest is its value.
//! The same on every engine.

use model::{
    Actor, ActorId, AudienceMatch, Channel, DayRow, EndReason, Entry, EntryKey, EntryReason, KeyList,
    KeyListId, Kind, Mark, MarkAction, Person, PersonScore, ReadyId, SubjectRef, UtcMillis,
    actor::AnonymousHash,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    codec::{
        BorrowedBytes, KEY_BYTES, StoredValue, decode, decode_second, encode_onto, encode_second,
        from_stored_value, join_entry_keys, push_name, split_entry_keys, to_stored_value, unreadable_error,
    },
    port::StoreError,
};

/// Lists and marks come first: where a reader stops before the end, it has them all.
const LIST: u8 = 0;
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
    actor: Option<StoredActor<'a>>,
    #[serde(borrow)]
    kept: Vec<(&'a str, StoredValue<'a>)>,
}

#[derive(Serialize, Deserialize)]
struct StoredActor<'a> {
    #[serde(borrow)]
    id: StoredActorId<'a>,
    name: Option<&'a str>,
}

#[derive(Serialize, Deserialize)]
enum StoredActorId<'a> {
    Person(&'a str),
    Anonymous([u8; 16]),
    System,
}

/// The first version, which kept nothing of the event.
#[derive(Deserialize)]
struct PlainStoredEntry<'a> {
    subject: &'a str,
    #[serde(borrow)]
    actor: Option<&'a str>,
}

impl<'a> From<PlainStoredEntry<'a>> for StoredEntry<'a> {
    fn from(PlainStoredEntry { subject, actor }: PlainStoredEntry<'a>) -> Self {
        let actor = actor.map(|person| StoredActor { id: StoredActorId::Person(person), name: None });
        Self { subject, actor, kept: Vec::new() }
    }
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
    list: Option<[u8; 16]>,
}

/// The first version, which named each entry itself.
#[derive(Serialize, Deserialize)]
struct PlainStoredMark<'a> {
    #[serde(borrow)]
    channel: Option<&'a str>,
    #[serde(borrow)]
    what: StoredMarkAction<'a>,
    #[serde(borrow)]
    covers: BorrowedBytes<'a>,
    at: i64,
}

impl<'a> From<PlainStoredMark<'a>> for StoredMark<'a> {
    fn from(PlainStoredMark { channel, what, covers, at }: PlainStoredMark<'a>) -> Self {
        Self { channel, what, covers, at, list: None }
    }
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
    Seen,
    Unread,
    Restored,
    Saved,
    Unsaved,
    Snoozed(i64),
    Withdrawn,
}

/// Appends a row's key and its value; whose day it is, the engine knows.
pub fn push_row(key: &mut Vec<u8>, value: &mut Vec<u8>, row: &DayRow) -> Result<(), StoreError> {
    match row {
        DayRow::Entry(entry) => {
            key.push(ENTRY);
            key.extend_from_slice(&entry.key.to_bytes());
            push_name(key, entry.reason.kind.as_str());
            push_because(key, &entry.reason.because);
            let actor = entry.actor.as_ref().map(to_stored_actor);
            let kept = entry.kept.iter().map(|(name, value)| (&**name, to_stored_value(value))).collect();
            encode_second(value, "an entry", &StoredEntry { subject: entry.subject.as_str(), actor, kept })
        }
        DayRow::Mark(mark) => {
            let start = value.len();
            encode_mark(value, mark)?;
            key.push(MARK);
            key.extend_from_slice(&Sha256::digest(&value[start..])[..16]);
            Ok(())
        }
        DayRow::List(list) => {
            key.push(LIST);
            key.extend_from_slice(&list.id().0);
            encode_onto(value, "a list", &BorrowedBytes(&join_entry_keys(list.keys())))
        }
    }
}

/// A mark without a list is the same row as ever: who repeats it writes no second one.
fn encode_mark(value: &mut Vec<u8>, mark: &Mark) -> Result<(), StoreError> {
    let covers = join_entry_keys(&mark.covers);
    let (channel, what) = (mark.channel.map(Channel::name), to_stored_action(mark.what));
    let (covers, at) = (BorrowedBytes(&covers), mark.at.0);
    match mark.list {
        None => encode_onto(value, "a mark", &PlainStoredMark { channel, what, covers, at }),
        Some(KeyListId(list)) => {
            encode_second(value, "a mark", &StoredMark { channel, what, covers, at, list: Some(list) })
        }
    }
}

fn to_stored_actor(actor: &Actor) -> StoredActor<'_> {
    let id = match &actor.id {
        ActorId::Person(person) => StoredActorId::Person(person.as_str()),
        ActorId::Anonymous(AnonymousHash(hash)) => StoredActorId::Anonymous(*hash),
        ActorId::System => StoredActorId::System,
    };
    StoredActor { id, name: actor.name.as_deref() }
}

fn from_stored_actor(stored: StoredActor<'_>) -> Option<Actor> {
    let id = match stored.id {
        StoredActorId::Person(person) => ActorId::Person(Person::new(person).ok()?),
        StoredActorId::Anonymous(hash) => ActorId::Anonymous(AnonymousHash(hash)),
        StoredActorId::System => ActorId::System,
    };
    Some(Actor { id, name: stored.name.map(Into::into) })
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
        Some((&LIST, _)) => decode_list(value).map(DayRow::List),
        _ => Err(unreadable_error("a row of a day")),
    }
}

fn decode_entry(key: &[u8], value: &[u8]) -> Result<Entry, StoreError> {
    let what = "an entry";
    let stored = decode_second::<StoredEntry<'_>, PlainStoredEntry<'_>>(what, value)?;
    let kept =
        stored.kept.into_iter().map(|(name, value)| Ok((name.into(), from_stored_value(what, value)?)));
    let kept = kept.collect::<Result<_, StoreError>>()?;
    let parsed = move || {
        let (at, rest) = key.split_at_checked(KEY_BYTES)?;
        let (&length, rest) = rest.split_first()?;
        let (kind, rest) = rest.split_at_checked(usize::from(length))?;
        let reason = EntryReason {
            kind: Kind::new(std::str::from_utf8(kind).ok()?).ok()?,
            because: decode_because(rest)?,
        };
        let actor = match stored.actor {
            Some(actor) => Some(from_stored_actor(actor)?),
            None => None,
        };
        let subject = SubjectRef::new(stored.subject).ok()?;
        Some(Entry { key: EntryKey::from_bytes(at)?, reason, subject, actor, kept })
    };
    parsed().ok_or_else(|| unreadable_error(what))
}

fn decode_list(value: &[u8]) -> Result<KeyList, StoreError> {
    let stored: BorrowedBytes<'_> = decode("a list", value)?;
    split_entry_keys("a list", stored.0).map(KeyList::new)
}

fn decode_mark(value: &[u8]) -> Result<Mark, StoreError> {
    let what = "a mark";
    let stored = decode_second::<StoredMark<'_>, PlainStoredMark<'_>>(what, value)?;
    let channel = match stored.channel {
        Some(name) => Some(Channel::parse(name).ok_or_else(|| unreadable_error(what))?),
        None => None,
    };
    let said = from_stored_action(stored.what).ok_or_else(|| unreadable_error(what))?;
    Ok(Mark {
        channel,
        what: said,
        covers: split_entry_keys(what, stored.covers.0)?,
        list: stored.list.map(KeyListId),
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
        MarkAction::Seen => StoredMarkAction::Seen,
        MarkAction::Unread => StoredMarkAction::Unread,
        MarkAction::Restored => StoredMarkAction::Restored,
        MarkAction::Saved => StoredMarkAction::Saved,
        MarkAction::Unsaved => StoredMarkAction::Unsaved,
        MarkAction::Snoozed(until) => StoredMarkAction::Snoozed(until.0),
        MarkAction::Withdrawn => StoredMarkAction::Withdrawn,
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
        StoredMarkAction::Seen => MarkAction::Seen,
        StoredMarkAction::Unread => MarkAction::Unread,
        StoredMarkAction::Restored => MarkAction::Restored,
        StoredMarkAction::Saved => MarkAction::Saved,
        StoredMarkAction::Unsaved => MarkAction::Unsaved,
        StoredMarkAction::Snoozed(until) => MarkAction::Snoozed(UtcMillis(until)),
        StoredMarkAction::Withdrawn => MarkAction::Withdrawn,
    })
}
