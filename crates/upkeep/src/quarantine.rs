//! The quarantine: what could not be used, and what became of it.
//!
//! The topic is its own book: an item is settled by a record of the same sort that names the item where
//! it names a record elsewhere. So what was decided is as durable as the item, and on every engine.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use model::UtcMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topic::{NewRecord, TopicRecord, Topics};
use wire::{QuarantineCause, QuarantinedRecord, topics};

/// Records of the topic that are read at once.
const PAGE: usize = 1_000;
/// Items that are listed at most; the oldest come first, and there are more when these are settled.
pub const LISTED_MAX: usize = 1_000;
/// Who settles.
pub(crate) const ROOM: &str = "operator";

/// An item that waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct QuarantineItemView {
    /// Names the item: its offset in the topic.
    pub number: u64,
    pub reason: String,
    /// What sort of reason it is: `unreadable`, `refused`, `newer catalogue`, `too large` or `other`.
    pub cause: String,
    pub room: String,
    pub at: String,
    /// Where the record lies.
    pub topic: String,
    pub partition: u32,
    pub offset: u64,
    /// As text, as far as it is text.
    pub key: String,
    pub value: Option<String>,
    /// Whether key, value or reason are only the beginning.
    pub cut: bool,
}

/// What to do with items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuarantineVerdict {
    /// Put it back where it came from.
    Retry,
    /// Leave it at that.
    Drop,
}

impl QuarantineVerdict {
    fn outcome_word(self) -> &'static str {
        match self {
            Self::Retry => "retried",
            Self::Drop => "dropped",
        }
    }
}

/// The items that wait, oldest first.
pub async fn list_items(log: &dyn Topics) -> anyhow::Result<Vec<QuarantineItemView>> {
    let waiting = load_waiting(log).await?;
    Ok(waiting.into_iter().take(LISTED_MAX).map(|(number, item)| view(number, item)).collect())
}

/// How many wait.
pub async fn count_items(log: &dyn Topics) -> anyhow::Result<usize> {
    Ok(load_waiting(log).await?.len())
}

/// Settles items, or all that wait; returns how many.
pub async fn settle_items(
    log: &dyn Topics,
    numbers: Option<&[u64]>,
    verdict: QuarantineVerdict,
    now: UtcMillis,
) -> anyhow::Result<usize> {
    let mut waiting = load_waiting(log).await?;
    let wanted = match numbers {
        None => waiting,
        Some(numbers) => {
            let mut wanted = BTreeMap::new();
            for number in numbers {
                let item = waiting.remove(number);
                let item = item.with_context(|| format!("there is no item {number} in the quarantine"))?;
                wanted.insert(*number, item);
            }
            wanted
        }
    };
    if verdict == QuarantineVerdict::Retry {
        let mut records = Vec::new();
        for item in wanted.values() {
            records.push(original(log, item).await?);
        }
        // First this: put back twice after a crash is harmless, settled without being put back is not.
        log.append(records).await?;
    }
    let book = wanted.iter().map(|(number, item)| verdict_record(*number, item, verdict, now));
    log.append(book.collect::<anyhow::Result<_>>()?).await?;
    Ok(wanted.len())
}

pub async fn load_waiting(log: &dyn Topics) -> anyhow::Result<BTreeMap<u64, QuarantinedRecord>> {
    let mut waiting = WaitingItems::default();
    waiting.update(log).await?;
    Ok(waiting.items)
}

/// The items that wait, as far as the topic was read.
#[derive(Debug, Default)]
pub struct WaitingItems {
    next: u64,
    items: BTreeMap<u64, QuarantinedRecord>,
}

impl WaitingItems {
    /// Reads what came since the last call. What the log has dropped by now nobody can settle.
    pub async fn update(&mut self, log: &dyn Topics) -> anyhow::Result<()> {
        let bounds = log.bounds(topics::QUARANTINE).await?;
        let (first, end) = bounds.first().copied().unwrap_or_default();
        self.items = self.items.split_off(&first);
        self.next = self.next.max(first);
        while self.next < end {
            let records = log.read(topics::QUARANTINE, 0, self.next, PAGE).await?;
            let Some(last) = records.last() else { break };
            self.next = last.offset + 1;
            for record in records {
                note(&mut self.items, record);
            }
        }
        Ok(())
    }

    pub fn items(&self) -> impl Iterator<Item = &QuarantinedRecord> {
        self.items.values()
    }
}

fn note(waiting: &mut BTreeMap<u64, QuarantinedRecord>, record: TopicRecord) {
    let value = record.value.as_deref().unwrap_or_default();
    match wire::quarantine::decode(value) {
        Ok(item) if item.topic == topics::QUARANTINE => {
            waiting.remove(&item.offset);
        }
        Ok(item) => {
            let cause = QuarantineCause::read(&record.headers);
            waiting.insert(record.offset, QuarantinedRecord { cause, ..item });
        }
        Err(error) => {
            tracing::error!(offset = record.offset, %error, "a quarantine record cannot be read");
        }
    }
}

/// The record as it was; where only its beginning was kept, as it still lies in its topic.
async fn original(log: &dyn Topics, item: &QuarantinedRecord) -> anyhow::Result<NewRecord> {
    if item.topic == topics::WINDOWS {
        bail!("the person has a newer record: write one back from an export with `tidings state repair`");
    }
    let (key, value, headers) = if item.cut {
        let found = log.read(&item.topic, item.partition, item.offset, 1).await?;
        let Some(record) = found.into_iter().find(|record| record.offset == item.offset) else {
            bail!("{}[{}] at offset {} is gone by now", item.topic, item.partition, item.offset);
        };
        (record.key, record.value, record.headers)
    } else {
        (item.key.clone(), item.value.clone(), item.headers.clone())
    };
    // Put back twice it must not become two events.
    let headers = wire::replay::put_back_headers(headers, item.partition, item.offset);
    Ok(NewRecord { topic: item.topic.as_str().into(), partition: item.partition, key, value, headers })
}

fn verdict_record(
    number: u64,
    item: &QuarantinedRecord,
    verdict: QuarantineVerdict,
    now: UtcMillis,
) -> anyhow::Result<NewRecord> {
    let settled = QuarantinedRecord {
        topic: topics::QUARANTINE.to_owned(),
        partition: 0,
        offset: number,
        appended: item.at,
        key: item.key.clone(),
        value: None,
        headers: Vec::new(),
        cut: item.cut,
        reason: verdict.outcome_word().to_owned(),
        cause: item.cause,
        at: now,
        room: ROOM.to_owned(),
    };
    note_record(&settled)
}

/// A record of the quarantine's own topic.
pub(crate) fn note_record(note: &QuarantinedRecord) -> anyhow::Result<NewRecord> {
    let (key, value) = wire::quarantine::encode_with_key(note)?;
    Ok(NewRecord {
        topic: topics::QUARANTINE.into(),
        partition: 0,
        key,
        value: Some(value),
        headers: note.cause.headers(),
    })
}

fn view(number: u64, item: QuarantinedRecord) -> QuarantineItemView {
    QuarantineItemView {
        number,
        reason: item.reason,
        cause: item.cause.name().to_owned(),
        room: item.room,
        at: item.at.to_string(),
        topic: item.topic,
        partition: item.partition,
        offset: item.offset,
        key: String::from_utf8_lossy(&item.key).into_owned(),
        value: item.value.map(|value| String::from_utf8_lossy(&value).into_owned()),
        cut: item.cut,
    }
}
