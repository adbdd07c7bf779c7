//! Stored values: one byte that says the version, then postcard of a private struct. Model types are
//! never serialised themselves, so changing one cannot change what lies on disks. Bytes that cannot be
//! read are an error, never a panic and never nothing.

use model::{
    Because, Cell, Channel, Entry, EntryKey, Kind, Mark, Millis, Place, Reason, ReadyId, Row, SubjectRef, Value, What,
    Why,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::{keys::push_name, writer::Pair};
use crate::port::{Claim, Record, Recorded, StoreError};

const VERSION: u8 = 1;
const ENTRY: u8 = 1;
const MARK: u8 = 2;
const FOLLOWS: u8 = 1;
const KEY_BYTES: usize = 24;

/// Bytes as one piece; serde's own way would go through each.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Bytes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Self)
    }
}

#[derive(Serialize, Deserialize)]
struct StoredEntry<'a> {
    subject: &'a str,
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

#[derive(Serialize, Deserialize)]
struct StoredCell<'a> {
    version: i64,
    #[serde(borrow)]
    value: Option<StoredValue<'a>>,
}

#[derive(Serialize, Deserialize)]
enum StoredValue<'a> {
    Text(&'a str),
    Number(f64),
    Flag(bool),
    Time(i64),
    Ref(&'a str),
    Refs(Vec<&'a str>),
    Place(f64, f64),
}

#[derive(Serialize, Deserialize)]
struct StoredFollow {
    version: i64,
    on: bool,
}

/// Time first in all that is swept, so that a sweep reads no further.
#[derive(Serialize, Deserialize)]
struct StoredClaim<'a> {
    at: i64,
    deadline: i64,
    token: [u8; 16],
    #[serde(borrow)]
    told: Bytes<'a>,
}

#[derive(Serialize, Deserialize)]
struct StoredRecord<'a> {
    at: i64,
    what: u8,
    #[serde(borrow)]
    left: Vec<([u8; KEY_BYTES], &'a str)>,
}

#[derive(Serialize, Deserialize)]
struct StoredAnswer<'a> {
    at: i64,
    #[serde(borrow)]
    answer: Bytes<'a>,
}

fn bad(what: &str) -> StoreError {
    StoreError::Broken(format!("{what} in the store cannot be read"))
}

fn encode<T: Serialize>(what: &str, value: &T) -> Result<Vec<u8>, StoreError> {
    postcard::to_extend(value, vec![VERSION])
        .map_err(|error| StoreError::Broken(format!("{what} cannot be written: {error}")))
}

fn decode<'a, T: Deserialize<'a>>(what: &str, bytes: &'a [u8]) -> Result<T, StoreError> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => match postcard::take_from_bytes(rest) {
            Ok((value, [])) => Ok(value),
            Ok(_) | Err(_) => Err(bad(what)),
        },
        _ => Err(bad(what)),
    }
}

/// The time at which a row of the journal or an answer was written.
pub(super) fn at(bytes: &[u8]) -> Option<Millis> {
    let (&VERSION, rest) = bytes.split_first()? else { return None };
    postcard::take_from_bytes(rest).ok().map(|(at, _)| Millis(at))
}

fn joined(keys: &[EntryKey]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.bytes()).collect()
}

fn split(what: &str, bytes: &[u8]) -> Result<Vec<EntryKey>, StoreError> {
    let keys = bytes.chunks(KEY_BYTES).map(EntryKey::from_bytes).collect::<Option<_>>();
    keys.ok_or_else(|| bad(what))
}

/// A row's key behind its day's prefix, and its value.
pub(super) fn row(prefix: &[u8], row: &Row) -> Result<Pair, StoreError> {
    let mut key = Vec::with_capacity(prefix.len() + 96);
    key.extend_from_slice(prefix);
    match row {
        Row::Entry(entry) => {
            key.push(ENTRY);
            key.extend_from_slice(&entry.key.bytes());
            push_name(&mut key, entry.reason.kind.as_str());
            match &entry.reason.because {
                Because::Follows(target) => {
                    key.push(FOLLOWS);
                    key.extend_from_slice(target.as_str().as_bytes());
                }
            }
            Ok((key, encode("an entry", &StoredEntry { subject: entry.subject.as_str() })?))
        }
        Row::Mark(mark) => {
            let covers = joined(&mark.covers);
            let stored = StoredMark {
                channel: mark.channel.map(Channel::name),
                what: stored_what(mark.what),
                covers: Bytes(&covers),
                at: mark.at.0,
            };
            let value = encode("a mark", &stored)?;
            key.push(MARK);
            key.extend_from_slice(&Sha256::digest(&value)[..16]);
            Ok((key, value))
        }
    }
}

/// Reads a row back; `key` is what stands behind the day's prefix.
pub(super) fn row_back(key: &[u8], value: &[u8]) -> Result<Row, StoreError> {
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
        let (&FOLLOWS, target) = rest.split_first()? else { return None };
        let because = Because::Follows(SubjectRef::new(std::str::from_utf8(target).ok()?).ok()?);
        let reason = Reason { kind: Kind::new(std::str::from_utf8(kind).ok()?).ok()?, because };
        Some(Entry { key: EntryKey::from_bytes(at)?, reason, subject: SubjectRef::new(stored.subject).ok()? })
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

pub(super) fn cell(cell: &Cell) -> Result<Vec<u8>, StoreError> {
    let value = cell.value.as_ref().map(|value| match value {
        Value::Text(text) => StoredValue::Text(text),
        Value::Number(number) => StoredValue::Number(*number),
        Value::Flag(flag) => StoredValue::Flag(*flag),
        Value::Time(at) => StoredValue::Time(at.0),
        Value::Ref(subject) => StoredValue::Ref(subject.as_str()),
        Value::Refs(subjects) => StoredValue::Refs(subjects.iter().map(SubjectRef::as_str).collect()),
        Value::Place(Place { lat, lon }) => StoredValue::Place(*lat, *lon),
    });
    encode("a cell", &StoredCell { version: cell.version, value })
}

pub(super) fn cell_back(bytes: &[u8]) -> Result<Cell, StoreError> {
    let stored: StoredCell<'_> = decode("a cell", bytes)?;
    let subject = |text: &str| SubjectRef::new(text).map_err(|_| bad("a cell"));
    let value = match stored.value {
        None => None,
        Some(StoredValue::Text(text)) => Some(Value::text(text)),
        Some(StoredValue::Number(number)) => Some(Value::Number(number)),
        Some(StoredValue::Flag(flag)) => Some(Value::Flag(flag)),
        Some(StoredValue::Time(at)) => Some(Value::Time(Millis(at))),
        Some(StoredValue::Ref(text)) => Some(Value::Ref(subject(text)?)),
        Some(StoredValue::Refs(texts)) => Some(Value::Refs(texts.into_iter().map(subject).collect::<Result<_, _>>()?)),
        Some(StoredValue::Place(lat, lon)) => Some(Value::Place(Place { lat, lon })),
    };
    Ok(Cell { version: stored.version, value })
}

pub(super) fn follow(version: i64, on: bool) -> Result<Vec<u8>, StoreError> {
    encode("a follow", &StoredFollow { version, on })
}

/// The version of a follow, and whether it is on.
pub(super) fn follow_back(bytes: &[u8]) -> Result<(i64, bool), StoreError> {
    let stored: StoredFollow = decode("a follow", bytes)?;
    Ok((stored.version, stored.on))
}

pub(super) fn claim(claim: &Claim) -> Result<Vec<u8>, StoreError> {
    let told = joined(&claim.told);
    let Claim { token, at, deadline, .. } = claim;
    encode("a claim", &StoredClaim { at: at.0, deadline: deadline.0, token: *token, told: Bytes(&told) })
}

pub(super) fn claim_back(ready: ReadyId, attempt: u16, bytes: &[u8]) -> Result<Claim, StoreError> {
    let stored: StoredClaim<'_> = decode("a claim", bytes)?;
    let told = split("a claim", stored.told.0)?;
    let (at, deadline) = (Millis(stored.at), Millis(stored.deadline));
    Ok(Claim { ready, attempt, token: stored.token, at, deadline, told })
}

fn recorded_code(what: Recorded) -> u8 {
    match what {
        Recorded::Sent => 1,
        Recorded::Nothing => 2,
        Recorded::Refused => 3,
        Recorded::NotSent => 4,
        Recorded::Unknown => 5,
    }
}

pub(super) fn record(record: &Record) -> Result<Vec<u8>, StoreError> {
    let left = record.left.iter().map(|(key, why)| (key.bytes(), why.text())).collect();
    encode("a record", &StoredRecord { at: record.at.0, what: recorded_code(record.what), left })
}

pub(super) fn record_back(ready: ReadyId, attempt: u16, bytes: &[u8]) -> Result<Record, StoreError> {
    const ALL: [Recorded; 5] =
        [Recorded::Sent, Recorded::Nothing, Recorded::Refused, Recorded::NotSent, Recorded::Unknown];
    let stored: StoredRecord<'_> = decode("a record", bytes)?;
    let what = ALL.into_iter().find(|what| recorded_code(*what) == stored.what);
    let left = stored.left.iter().map(|(key, why)| Some((EntryKey::from_bytes(key)?, Why::parse(why)?))).collect();
    match (what, left) {
        (Some(what), Some(left)) => Ok(Record { ready, attempt, at: Millis(stored.at), what, left }),
        _ => Err(bad("a record")),
    }
}

pub(super) fn answer(at: Millis, answer: &[u8]) -> Result<Vec<u8>, StoreError> {
    encode("an answer", &StoredAnswer { at: at.0, answer: Bytes(answer) })
}

pub(super) fn answer_back(bytes: &[u8]) -> Result<(Millis, Vec<u8>), StoreError> {
    let stored: StoredAnswer<'_> = decode("an answer", bytes)?;
    Ok((Millis(stored.at), stored.answer.0.to_vec()))
}
