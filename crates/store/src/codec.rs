//! Stored values: one byte that says the version, then postcard of a private struct. Model types are
//! never serialised themselves, so changing one cannot change what lies on disks. Bytes that cannot be
//! read are an error, never a panic and never nothing. Rows of days are in [`crate::rows`].

use std::sync::Arc;

use model::{
    Channel, Day, DayLife, EndReason, EntryKey, GeoPoint, Person, PlanName, ReadyId, SubjectRef, Tenant,
    UtcMillis, Value, ValueCell, VersionedState,
    event::FirstWord,
    limits::DAY_MS,
    returns::{AddressHash, Slip},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::port::{JournalClaim, JournalOutcome, JournalRecord, StandingAnswer, StoreError};

const VERSION: u8 = 1;
/// Of rows of days that keep words of their events, of marks that may name a list, and of claims that name their plan.
const WORDS_VERSION: u8 = 2;
pub(crate) const KEY_BYTES: usize = 24;

/// Names have at most 128 bytes, so one byte holds their length.
pub fn push_name(out: &mut Vec<u8>, name: &str) {
    out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(name.as_bytes());
}

/// Bytes as one piece; serde's own way would go through each.
#[derive(Clone, Copy)]
pub(crate) struct BorrowedBytes<'a>(pub(crate) &'a [u8]);

impl Serialize for BorrowedBytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BorrowedBytes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Self)
    }
}

/// All cells of one owner, by name and in order.
#[derive(Serialize, Deserialize)]
struct StoredState<'a> {
    #[serde(borrow)]
    cells: Vec<(&'a str, StoredCell<'a>)>,
}

#[derive(Serialize, Deserialize)]
struct StoredCell<'a> {
    version: i64,
    #[serde(borrow)]
    value: Option<StoredValue<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum StoredValue<'a> {
    Text(&'a str),
    Number(f64),
    Flag(bool),
    Time(i64),
    Ref(&'a str),
    Refs(Vec<&'a str>),
    Place(f64, f64),
}

#[derive(Serialize, Deserialize)]
struct StoredEnrolment {
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
    told: BorrowedBytes<'a>,
}

/// A claim that names its plan.
#[derive(Serialize, Deserialize)]
struct StoredPlanClaim<'a> {
    #[serde(borrow)]
    claim: StoredClaim<'a>,
    #[serde(borrow)]
    plan: Option<&'a str>,
}

impl<'a> From<StoredClaim<'a>> for StoredPlanClaim<'a> {
    fn from(claim: StoredClaim<'a>) -> Self {
        Self { claim, plan: None }
    }
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
    answer: BorrowedBytes<'a>,
}

#[derive(Serialize, Deserialize)]
struct StoredSlip<'a> {
    at: i64,
    tenant: &'a str,
    person: &'a str,
    plan: &'a str,
    stream: &'a str,
    channel: &'a str,
    address: [u8; 16],
}

#[derive(Serialize, Deserialize)]
struct StoredWord {
    at: i64,
    occurred: i64,
    version: i64,
}

/// The error for a row that cannot be read.
pub fn unreadable_error(what: &str) -> StoreError {
    StoreError::Broken(format!("{what} in the store cannot be read"))
}

pub(crate) fn encode<T: Serialize>(what: &str, value: &T) -> Result<Vec<u8>, StoreError> {
    let mut out = Vec::new();
    encode_onto(&mut out, what, value)?;
    Ok(out)
}

/// Appends what `encode` gives.
pub(crate) fn encode_onto<T: Serialize>(out: &mut Vec<u8>, what: &str, value: &T) -> Result<(), StoreError> {
    encode_version(out, VERSION, what, value)
}

/// The same, of what has a second version.
pub(crate) fn encode_second<T: Serialize>(
    out: &mut Vec<u8>,
    what: &str,
    value: &T,
) -> Result<(), StoreError> {
    encode_version(out, WORDS_VERSION, what, value)
}

fn encode_version<T: Serialize>(
    out: &mut Vec<u8>,
    version: u8,
    what: &str,
    value: &T,
) -> Result<(), StoreError> {
    let mut bytes = std::mem::take(out);
    bytes.push(version);
    *out = postcard::to_extend(value, bytes)
        .map_err(|error| StoreError::Broken(format!("{what} cannot be written: {error}")))?;
    Ok(())
}

pub(crate) fn decode<'a, T: Deserialize<'a>>(what: &str, bytes: &'a [u8]) -> Result<T, StoreError> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => decode_whole(what, rest),
        _ => Err(unreadable_error(what)),
    }
}

/// The same, of what has a second version.
pub(crate) fn decode_second<'a, T, O>(what: &str, bytes: &'a [u8]) -> Result<T, StoreError>
where
    T: Deserialize<'a> + From<O>,
    O: Deserialize<'a>,
{
    match bytes.split_first() {
        Some((&WORDS_VERSION, rest)) => decode_whole(what, rest),
        Some((&VERSION, rest)) => decode_whole::<O>(what, rest).map(T::from),
        _ => Err(unreadable_error(what)),
    }
}

fn decode_whole<'a, T: Deserialize<'a>>(what: &str, bytes: &'a [u8]) -> Result<T, StoreError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) | Err(_) => Err(unreadable_error(what)),
    }
}

/// The time at which a row of the journal, an answer or a slip was written.
pub fn read_written_at(bytes: &[u8]) -> Option<UtcMillis> {
    let (&(VERSION | WORDS_VERSION), rest) = bytes.split_first()? else { return None };
    postcard::take_from_bytes(rest).ok().map(|(at, _)| UtcMillis(at))
}

pub(crate) fn join_entry_keys(keys: &[EntryKey]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.to_bytes()).collect()
}

pub(crate) fn split_entry_keys(what: &str, bytes: &[u8]) -> Result<Vec<EntryKey>, StoreError> {
    let keys = bytes.chunks(KEY_BYTES).map(EntryKey::from_bytes).collect::<Option<_>>();
    keys.ok_or_else(|| unreadable_error(what))
}

pub fn encode_state(state: &VersionedState) -> Result<Vec<u8>, StoreError> {
    let cells = state.cells.iter().map(|(name, cell)| (&**name, to_stored_cell(cell))).collect();
    encode("a state", &StoredState { cells })
}

pub fn decode_state(bytes: &[u8]) -> Result<VersionedState, StoreError> {
    let stored: StoredState<'_> = decode("a state", bytes)?;
    let cells = stored.cells.into_iter().map(|(name, cell)| Ok((Arc::from(name), from_stored_cell(cell)?)));
    Ok(VersionedState { cells: cells.collect::<Result<_, StoreError>>()? })
}

fn to_stored_cell(cell: &ValueCell) -> StoredCell<'_> {
    StoredCell { version: cell.version, value: cell.value.as_ref().map(to_stored_value) }
}

pub(crate) fn to_stored_value(value: &Value) -> StoredValue<'_> {
    match value {
        Value::Text(text) => StoredValue::Text(text),
        Value::Number(number) => StoredValue::Number(*number),
        Value::Flag(flag) => StoredValue::Flag(*flag),
        Value::Time(at) => StoredValue::Time(at.0),
        Value::Ref(subject) => StoredValue::Ref(subject.as_str()),
        Value::Refs(subjects) => StoredValue::Refs(subjects.iter().map(SubjectRef::as_str).collect()),
        Value::Place(GeoPoint { lat, lon }) => StoredValue::Place(*lat, *lon),
    }
}

fn from_stored_cell(stored: StoredCell<'_>) -> Result<ValueCell, StoreError> {
    let value = stored.value.map(|value| from_stored_value("a state", value)).transpose()?;
    Ok(ValueCell { version: stored.version, value })
}

pub(crate) fn from_stored_value(what: &str, stored: StoredValue<'_>) -> Result<Value, StoreError> {
    let subject = |text: &str| SubjectRef::new(text).map_err(|_| unreadable_error(what));
    Ok(match stored {
        StoredValue::Text(text) => Value::from_text(text),
        StoredValue::Number(number) => Value::Number(number),
        StoredValue::Flag(flag) => Value::Flag(flag),
        StoredValue::Time(at) => Value::Time(UtcMillis(at)),
        StoredValue::Ref(text) => Value::Ref(subject(text)?),
        StoredValue::Refs(texts) => Value::Refs(texts.into_iter().map(subject).collect::<Result<_, _>>()?),
        StoredValue::Place(lat, lon) => Value::Place(GeoPoint { lat, lon }),
    })
}

pub fn encode_enrolment(version: i64, on: bool) -> Result<Vec<u8>, StoreError> {
    encode("an enrolment", &StoredEnrolment { version, on })
}

/// The version of an enrolment, and whether it is on.
pub fn decode_enrolment(bytes: &[u8]) -> Result<(i64, bool), StoreError> {
    let stored: StoredEnrolment = decode("an enrolment", bytes)?;
    Ok((stored.version, stored.on))
}

pub fn encode_day(day: Day) -> Result<Vec<u8>, StoreError> {
    encode("a day", &day.0)
}

pub fn decode_day(bytes: &[u8]) -> Result<Day, StoreError> {
    decode("a day", bytes).map(Day)
}

/// A claim's value; the Ready and the attempt are its key.
pub fn encode_claim(claim: &JournalClaim) -> Result<Vec<u8>, StoreError> {
    let told = join_entry_keys(&claim.told);
    let JournalClaim { token, at, deadline, plan, .. } = claim;
    let claim = StoredClaim { at: at.0, deadline: deadline.0, token: *token, told: BorrowedBytes(&told) };
    let Some(plan) = plan else { return encode("a claim", &claim) };
    let mut out = Vec::new();
    encode_second(&mut out, "a claim", &StoredPlanClaim { claim, plan: Some(plan.as_str()) })?;
    Ok(out)
}

/// Reads a claim back.
pub fn decode_claim(ready: ReadyId, attempt: u16, bytes: &[u8]) -> Result<JournalClaim, StoreError> {
    let StoredPlanClaim { claim, plan } = decode_second::<_, StoredClaim<'_>>("a claim", bytes)?;
    let told = split_entry_keys("a claim", claim.told.0)?;
    let plan = plan.map(PlanName::new).transpose().map_err(|_| unreadable_error("a claim"))?;
    let (at, deadline) = (UtcMillis(claim.at), UtcMillis(claim.deadline));
    Ok(JournalClaim { ready, attempt, token: claim.token, at, deadline, told, plan })
}

fn outcome_code(what: JournalOutcome) -> u8 {
    match what {
        JournalOutcome::Sent => 1,
        JournalOutcome::Nothing => 2,
        JournalOutcome::Refused => 3,
        JournalOutcome::NotSent => 4,
        JournalOutcome::Unknown => 5,
        JournalOutcome::Unsure => 6,
        JournalOutcome::Returned => 7,
        JournalOutcome::Away => 8,
    }
}

/// A record's value; the Ready and the attempt are its key.
pub fn encode_record(record: &JournalRecord) -> Result<Vec<u8>, StoreError> {
    let left = record.left.iter().map(|(key, why)| (key.to_bytes(), why.text())).collect();
    encode("a record", &StoredRecord { at: record.at.0, what: outcome_code(record.what), left })
}

/// Reads a record back.
pub fn decode_record(ready: ReadyId, attempt: u16, bytes: &[u8]) -> Result<JournalRecord, StoreError> {
    const ALL: [JournalOutcome; 8] = [
        JournalOutcome::Sent,
        JournalOutcome::Nothing,
        JournalOutcome::Refused,
        JournalOutcome::NotSent,
        JournalOutcome::Unknown,
        JournalOutcome::Unsure,
        JournalOutcome::Returned,
        JournalOutcome::Away,
    ];
    let stored: StoredRecord<'_> = decode("a record", bytes)?;
    let what = ALL.into_iter().find(|what| outcome_code(*what) == stored.what);
    let left = stored
        .left
        .iter()
        .map(|(key, why)| Some((EntryKey::from_bytes(key)?, EndReason::parse(why)?)))
        .collect();
    match (what, left) {
        (Some(what), Some(left)) => {
            Ok(JournalRecord { ready, attempt, at: UtcMillis(stored.at), what, left })
        }
        _ => Err(unreadable_error("a record")),
    }
}

/// A slip's value; the Ready is its key.
pub fn encode_slip(slip: &Slip) -> Result<Vec<u8>, StoreError> {
    let stored = StoredSlip {
        at: slip.at.0,
        tenant: slip.tenant.as_str(),
        person: slip.person.as_str(),
        plan: slip.plan.as_str(),
        stream: &slip.stream,
        channel: slip.channel.name(),
        address: slip.address.0,
    };
    encode("a slip", &stored)
}

/// Reads a slip back.
pub fn decode_slip(bytes: &[u8]) -> Result<Slip, StoreError> {
    let stored: StoredSlip<'_> = decode("a slip", bytes)?;
    let read = || {
        Some(Slip {
            tenant: Tenant::new(stored.tenant).ok()?,
            person: Person::new(stored.person).ok()?,
            plan: PlanName::new(stored.plan).ok()?,
            stream: stored.stream.into(),
            channel: Channel::parse(stored.channel)?,
            address: AddressHash(stored.address),
            at: UtcMillis(stored.at),
        })
    };
    read().ok_or_else(|| unreadable_error("a slip"))
}

pub fn encode_answer(answer: &StandingAnswer) -> Result<Vec<u8>, StoreError> {
    let StandingAnswer { body, until } = answer;
    encode("an answer", &StoredAnswer { at: answer_written_at(*until).0, answer: BorrowedBytes(body) })
}

pub fn decode_answer(bytes: &[u8]) -> Result<StandingAnswer, StoreError> {
    let stored: StoredAnswer<'_> = decode("an answer", bytes)?;
    let until = answer_stands_until(UtcMillis(stored.at));
    Ok(StandingAnswer { body: stored.answer.0.to_vec(), until })
}

/// Rows of answers say when one was written that stands for a day. Of one that stands for another time they say when that would have
/// been: so each version of the house reads what the other wrote.
pub fn answer_written_at(until: UtcMillis) -> UtcMillis {
    until.plus(-DAY_MS)
}

/// Until when an answer stands that was written then.
pub fn answer_stands_until(at: UtcMillis) -> UtcMillis {
    at.plus(DAY_MS)
}

/// A first word, with when it was said.
pub fn encode_word(at: UtcMillis, word: FirstWord) -> Result<Vec<u8>, StoreError> {
    encode("a first word", &StoredWord { at: at.0, occurred: word.occurred.0, version: word.version })
}

/// The first word that these bytes are, with when it was said, if it still stands.
pub fn decode_standing_word(
    bytes: &[u8],
    now: UtcMillis,
    life: DayLife,
) -> Result<Option<(UtcMillis, FirstWord)>, StoreError> {
    let StoredWord { at, occurred, version } = decode("a first word", bytes)?;
    let (at, word) = (UtcMillis(at), FirstWord { occurred: UtcMillis(occurred), version });
    Ok((now.since(at) < life.first_word_ms()).then_some((at, word)))
}
