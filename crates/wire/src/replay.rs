//! Replays: what the headers of a record say that was appended once more, and `replay`, what is kept of each
//! replay on the compacted topic `replays`.

use std::sync::{Arc, LazyLock};

use model::UtcMillis;
use serde::{Deserialize, Serialize};

use crate::{
    codec::{DecodeError, RecordCodec, WireError},
    list,
    topics::REPLAY_MS,
};

/// On a record that a replay appended: which.
pub const REPLAY: &str = "tidings-replay";
/// On a record of which nobody is to be told.
pub const QUIET: &str = "tidings-quiet";
/// When the original was appended, in milliseconds.
pub const APPENDED: &str = "tidings-appended";

/// Where a record lay that was put back from the quarantine: what takes its name from its place keeps it.
pub const PLACE: &str = "tidings-place";

/// What stands beside a record's value.
pub type WireHeaders = Vec<(String, Vec<u8>)>;

/// That a record is there once more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayStamp {
    /// The replay that appended it.
    pub replay: Arc<str>,
    /// Nobody is told of what comes of it.
    pub is_quiet: bool,
}

impl ReplayStamp {
    /// What the headers of a record say; nothing of a record that is there for the first time.
    pub fn from_headers(headers: &[(String, Vec<u8>)]) -> Option<Self> {
        // Whoever can write to a topic can write this too, and it goes on with whatever comes of the record.
        let said = find_header(headers, REPLAY)?;
        let replay = String::from_utf8_lossy(said.get(..REPLAY_BYTES_MAX).unwrap_or(said)).into();
        Some(Self { replay, is_quiet: find_header(headers, QUIET).is_some() })
    }

    /// The headers that say so.
    pub fn headers(&self) -> WireHeaders {
        let mut headers = vec![(REPLAY.to_owned(), self.replay.as_bytes().to_vec())];
        if self.is_quiet {
            headers.push((QUIET.to_owned(), b"1".to_vec()));
        }
        headers
    }

    /// The headers of a copy: those of the original, and that it is one.
    pub fn stamp_headers(&self, original: WireHeaders, appended: UtcMillis) -> WireHeaders {
        let mut headers = original;
        headers.extend(self.headers());
        headers.push((APPENDED.to_owned(), appended.0.to_string().into_bytes()));
        headers
    }
}

/// The headers of whatever comes of a record: it is as quiet as the record is.
pub fn carry_headers(headers: &[(String, Vec<u8>)]) -> WireHeaders {
    ReplayStamp::from_headers(headers).map(|again| again.headers()).unwrap_or_default()
}

/// When a record was first seen: a copy is judged as its original was (law 3). Whoever can write to a topic can
/// write headers too, so they are believed within the life of the topic alone.
pub fn first_seen(headers: &[(String, Vec<u8>)], appended: UtcMillis) -> UtcMillis {
    let said = find_header(headers, REPLAY).and_then(|_| find_header(headers, APPENDED));
    let said = said.and_then(|bytes| str::from_utf8(bytes).ok()?.parse().ok()).map(UtcMillis);
    said.filter(|first| (0..=REPLAY_MS).contains(&appended.since(*first))).unwrap_or(appended)
}

/// The headers of a record that is put back: those it had, and where it lay at first.
pub fn put_back_headers(mut headers: WireHeaders, partition: u32, offset: u64) -> WireHeaders {
    if find_header(&headers, PLACE).is_none() {
        headers.push((PLACE.to_owned(), format!("{partition}-{offset}").into_bytes()));
    }
    headers
}

/// The place of a record, or the one at which it lay at first.
pub fn original_place(headers: &[(String, Vec<u8>)], partition: u32, offset: u64) -> String {
    let said = find_header(headers, PLACE).and_then(|bytes| str::from_utf8(bytes).ok());
    let is_place = |text: &&str| {
        !text.is_empty()
            && text.len() <= PLACE_BYTES_MAX
            && text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    };
    said.filter(is_place).map_or_else(|| format!("{partition}-{offset}"), str::to_owned)
}

/// More than any replay's id has.
const REPLAY_BYTES_MAX: usize = 128;
/// Two numbers and what is between them.
const PLACE_BYTES_MAX: usize = 32;

fn find_header<'a>(headers: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a [u8]> {
    headers.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_slice())
}

/// A replay, as far as it is. People see it as the log has it: as JSON its instants are texts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename = "replay")]
pub struct ReplayRecord {
    pub id: String,
    pub by: String,
    #[serde(with = "instant")]
    pub began: UtcMillis,
    pub topic: String,
    /// Which records, as it was asked for.
    pub asked: String,
    pub tells_missing: bool,
    pub per_second: u32,
    pub state: ReplayState,
    /// Why it failed.
    pub why: Option<String>,
    /// Every partition of the topic, in order.
    #[serde(with = "list")]
    pub parts: Vec<ReplayPart>,
    #[serde(with = "count")]
    pub appended: u64,
    /// Copies that an earlier replay had made.
    #[serde(with = "count")]
    pub passed: u64,
    #[serde(with = "count")]
    pub expired: u64,
    /// When this was written; of a replay that has ended, when it did.
    #[serde(with = "instant")]
    pub at: UtcMillis,
}

/// What a replay is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename = "replay_state", rename_all = "snake_case")]
pub enum ReplayState {
    Planned,
    Running,
    Stopped,
    Failed,
    Done,
}

impl ReplayState {
    /// Whether it holds its topic.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Planned | Self::Running)
    }
}

/// What a replay does in one partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename = "replay_part")]
pub struct ReplayPart {
    pub partition: u32,
    #[serde(with = "count")]
    pub from: u64,
    /// Behind the last one.
    #[serde(with = "count")]
    pub to: u64,
    /// Where it goes on.
    #[serde(with = "count")]
    pub next: u64,
}

impl ReplayPart {
    pub fn new(partition: u32, from: u64, to: u64) -> Self {
        Self { partition, from, to: to.max(from), next: from }
    }

    /// How many offsets it spans.
    pub fn record_count(self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// How many are left.
    pub fn remaining(self) -> u64 {
        self.to.saturating_sub(self.next)
    }
}

pub(crate) static CODEC: LazyLock<RecordCodec> =
    LazyLock::new(|| RecordCodec::new("replay", &[include_str!("../../../schemas/replay.avsc")]));

pub fn encode(replay: &ReplayRecord) -> Result<Vec<u8>, WireError> {
    CODEC.encode(replay)
}

pub fn decode(bytes: &[u8]) -> Result<ReplayRecord, DecodeError> {
    CODEC.decode(bytes)
}

/// Avro has no unsigned number.
mod count {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _, ser::Error as _};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(i64::try_from(*number).map_err(S::Error::custom)?)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        u64::try_from(i64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Milliseconds for machines, RFC 3339 for people.
mod instant {
    use model::UtcMillis;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(at: &UtcMillis, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(at)
        } else {
            serializer.serialize_i64(at.0)
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UtcMillis, D::Error> {
        if !deserializer.is_human_readable() {
            return i64::deserialize(deserializer).map(UtcMillis);
        }
        let text = String::deserialize(deserializer)?;
        UtcMillis::parse(&text).ok_or_else(|| D::Error::custom("it is not an instant"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::samples;

    #[test]
    fn a_replay_comes_back() {
        let replay = samples::replay();
        assert_eq!(decode(&encode(&replay).unwrap()).unwrap(), replay);
        let json = serde_json::to_value(&replay).unwrap();
        assert_eq!((&json["began"], &json["state"]), (&"2026-11-21T09:00:00.000Z".into(), &"running".into()));
        assert_eq!(serde_json::from_value::<ReplayRecord>(json).unwrap(), replay);
        for state in [ReplayState::Planned, ReplayState::Stopped, ReplayState::Failed, ReplayState::Done] {
            let replay = ReplayRecord { state, why: None, ..samples::replay() };
            assert_eq!(decode(&encode(&replay).unwrap()).unwrap(), replay);
        }
        let whole = encode(&replay).unwrap();
        for end in 0..whole.len() {
            assert!(decode(&whole[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_comes_of_a_copy_is_as_quiet_as_the_copy() {
        let check = |is_quiet: bool| {
            let again = ReplayStamp { replay: "r".into(), is_quiet };
            let others = vec![("ce_id".to_owned(), b"7".to_vec())];
            let copy = again.stamp_headers(others.clone(), UtcMillis(5));
            assert_eq!(copy[0], others[0]);
            assert_eq!(ReplayStamp::from_headers(&copy), Some(again.clone()));
            assert_eq!(ReplayStamp::from_headers(&carry_headers(&copy)), Some(again));
        };
        check(true);
        check(false);
        assert_eq!(ReplayStamp::from_headers(&[("ce_id".to_owned(), vec![])]), None);
    }

    #[test]
    fn what_is_put_back_keeps_its_place() {
        assert_eq!(original_place(&[], 1, 7), "1-7");
        let once = put_back_headers(Vec::new(), 1, 7);
        assert_eq!(original_place(&once, 1, 9), "1-7");
        assert_eq!(
            put_back_headers(once.clone(), 1, 9),
            once,
            "put back again it lies where it lay at first"
        );
        for odd in ["", "1-7; x", &"1".repeat(33)] {
            let headers = [(PLACE.to_owned(), odd.as_bytes().to_vec())];
            assert_eq!(original_place(&headers, 2, 3), "2-3", "{odd}");
        }
        assert_eq!(carry_headers(&[(QUIET.to_owned(), vec![])]), WireHeaders::new());
    }

    #[test]
    fn a_copy_is_as_old_as_its_original_and_no_older_than_the_topic() {
        let now = UtcMillis::parse("2026-11-21T09:00:00Z").unwrap();
        let check = |headers: &[(&str, String)], first: UtcMillis| {
            let headers: WireHeaders = headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone().into_bytes()))
                .collect();
            assert_eq!(first_seen(&headers, now), first, "{headers:?}");
        };
        let replay = (REPLAY, "r".to_owned());
        let at = |ms: i64| (APPENDED, now.plus(ms).0.to_string());
        check(&[], now);
        check(&[replay.clone(), at(-5)], now.plus(-5));
        check(&[replay.clone(), at(-REPLAY_MS)], now.plus(-REPLAY_MS));
        // What somebody made up.
        check(&[at(-5)], now);
        check(&[replay.clone(), at(-REPLAY_MS - 1)], now);
        check(&[replay.clone(), at(1)], now);
        check(&[replay.clone(), (APPENDED, "soon".to_owned())], now);
        check(&[replay, (APPENDED, i64::MIN.to_string())], now);
    }
}
