//! Manual repair of the topic `windows`: lists records that cannot be read, and repairs or drops one.
//!
//! A partition with a record that its owner cannot read stands still, for a person's record is never skipped. It can be
//! written over with one that can be read, from an export, or dropped. Either is done only to a record that cannot be
//! read: then its partition has no owner that would write it too. What is done is noted on the quarantine before it is,
//! with the old bytes, and by whom.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::{Person, Tenant, UtcMillis, entry::DayKey, partition::PartitionCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Store;
use topic::{NewRecord, TopicRecord, Topics};
use wire::{
    DayAnnouncement, QuarantineCause,
    pending::AnnouncementBatch,
    quarantine::{UnusableRecord, put_aside},
    topics,
};

use crate::quarantine;

#[cfg(test)]
mod tests;

/// Records of the topic that are read at once.
const PAGE: usize = 1_000;
/// Records that are listed at most; when these are settled the others are.
pub const LISTED_MAX: usize = 100;

/// Where a record lies, written as `PARTITION@OFFSET`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct StatePlace {
    pub partition: u32,
    pub offset: u64,
}

impl std::fmt::Display for StatePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.partition, self.offset)
    }
}

impl std::str::FromStr for StatePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let place = text.split_once('@').and_then(|(partition, offset)| {
            Some(Self { partition: partition.parse().ok()?, offset: offset.parse().ok()? })
        });
        place.ok_or_else(|| "a record is named by its partition and offset, such as 0@18".to_owned())
    }
}

/// A record that nobody here can read.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UnreadableRecord {
    pub place: StatePlace,
    pub since: String,
    /// As text, as far as it is text.
    pub key: String,
    pub bytes: usize,
    pub reason: String,
    /// An earlier record of the same key that can be read and still lies in the log.
    pub before: Option<StatePlace>,
}

/// What lies in the log, whole; binary parts as base64.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordExport {
    pub topic: String,
    pub place: StatePlace,
    pub key: String,
    pub value: String,
}

/// What to do with a record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordAction {
    /// Write this one in its place.
    Repair(RecordExport),
    /// Forget what was known of its person.
    Drop(StatePlace),
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RecordActionReport {
    pub place: StatePlace,
    /// The person of the record; null if its key names no person.
    pub person: Option<String>,
    /// Days of the person that were announced anew, so that what waits in them is told.
    pub days: usize,
}

/// All records that nobody here can read, as they stand, oldest place first.
pub async fn list_unreadable(log: &dyn Topics) -> anyhow::Result<Vec<UnreadableRecord>> {
    let mut latest: BTreeMap<(u32, Vec<u8>), TopicRecord> = BTreeMap::new();
    for_each_record(log, |record| {
        let key = (record.partition, record.key.clone());
        if unreadable_reason(&record).is_some() {
            latest.insert(key, record);
        } else {
            latest.remove(&key);
        }
    })
    .await?;
    let mut before: BTreeMap<(u32, Vec<u8>), StatePlace> = BTreeMap::new();
    if !latest.is_empty() {
        for_each_record(log, |record| {
            let place = place_of_record(&record);
            let key = (record.partition, record.key);
            let value = record.value.as_deref();
            if latest.contains_key(&key) && value.is_some_and(|value| wire::window::decode(value).is_ok()) {
                before.insert(key, place);
            }
        })
        .await?;
    }
    let mut list: Vec<UnreadableRecord> = latest
        .iter()
        .map(|(key, record)| UnreadableRecord { before: before.get(key).copied(), ..view_record(record) })
        .collect();
    list.sort_by_key(|one| one.place);
    list.truncate(LISTED_MAX);
    Ok(list)
}

/// A record as it lies in the log, whether it can be read or not.
pub async fn export_record(log: &dyn Topics, place: StatePlace) -> anyhow::Result<RecordExport> {
    let record = find_record(log, place).await?;
    let value = record.value.with_context(|| format!("{place} is a tombstone and has no value"))?;
    let (key, value) = (BASE64_STANDARD.encode(&record.key), BASE64_STANDARD.encode(&value));
    Ok(RecordExport { topic: topics::WINDOWS.to_owned(), place, key, value })
}

/// Repairs or drops a record that cannot be read.
pub async fn settle_record(
    log: &dyn Topics,
    store: &dyn Store,
    deed: &RecordAction,
    by: &str,
    now: UtcMillis,
) -> anyhow::Result<RecordActionReport> {
    let (old, value, what) = match deed {
        RecordAction::Repair(export) => {
            let (key, value) = decode_export(log, export).await?;
            let old = latest_record(log, export.place.partition, &key).await?;
            (old.context("there is no record under its key")?, Some(value), "repaired")
        }
        RecordAction::Drop(place) => {
            let record = find_record(log, *place).await?;
            let old = latest_record(log, place.partition, &record.key).await?;
            let old = old.filter(|old| old.offset == place.offset);
            (old.with_context(|| format!("{place} is not the latest record of its key"))?, None, "dropped")
        }
    };
    let Some(why) = unreadable_reason(&old) else {
        bail!("{} can be read: the owner of its partition would overwrite any change", place_of_record(&old));
    };
    let whose = wire::key::read_person_key(&old.key).ok();
    let is_dropped = value.is_none();
    log.append(vec![action_note(&old, &format!("{what} by {by}: {why}"), now)?])
        .await
        .context("write the note")?;
    let record = NewRecord {
        topic: topics::WINDOWS.into(),
        partition: old.partition,
        key: old.key.clone(),
        value,
        headers: Vec::new(),
    };
    log.append(vec![record]).await.context("the record")?;
    let days = match &whose {
        Some(whose) if is_dropped => announce_days(log, store, whose, old.partition, now).await?,
        _ => 0,
    };
    Ok(RecordActionReport {
        place: place_of_record(&old),
        person: whose.map(|(_, person)| person.to_string()),
        days,
    })
}

/// Key and value of an export that can take the place of a record.
async fn decode_export(log: &dyn Topics, export: &RecordExport) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
    ensure!(export.topic == topics::WINDOWS, "this is a record of `{}`, not of the windows", export.topic);
    let key = BASE64_STANDARD.decode(&export.key).context("its key is not base64")?;
    let value = BASE64_STANDARD.decode(&export.value).context("its value is not base64")?;
    let (tenant, person, _) =
        wire::window::decode(&value).context("the exported record cannot be read either")?;
    ensure!(wire::key::person_key(&tenant, &person) == key, "its key names another person than its value");
    let partitions = PartitionCount::from_topic_count(log.bounds(topics::WINDOWS).await?.len());
    let partition = partitions.of_person(&tenant, &person);
    ensure!(partition == export.place.partition, "it belongs to partition {partition}");
    Ok((key, value))
}

/// Without their record nobody would tell the person what waits in their days: so each day is announced once more.
async fn announce_days(
    log: &dyn Topics,
    store: &dyn Store,
    (tenant, person): &(Tenant, Person),
    partition: u32,
    now: UtcMillis,
) -> anyhow::Result<usize> {
    let days = store.day_life().living_days(now).rev();
    let keys: Vec<DayKey> =
        days.map(|day| DayKey { tenant: tenant.clone(), person: person.clone(), day }).collect();
    let rows = store.read(&keys, now).await.context("the days")?;
    let held = keys.iter().zip(&rows).filter(|(_, rows)| !rows.is_empty());
    // No kinds: which plans care is found out when the first of them closes.
    let announcement = |day| {
        let (kinds, windows) = (Vec::new(), Vec::new());
        DayAnnouncement { person: person.clone(), day, rows: 0, kinds, windows, full: false }
    };
    let announcements: Vec<DayAnnouncement> = held.map(|(key, _)| announcement(key.day)).collect();
    let days = announcements.len();
    if days > 0 {
        let pending = AnnouncementBatch { tenant: tenant.clone(), announcements };
        let record = NewRecord {
            topic: topics::PENDING.into(),
            partition,
            key: wire::key::partition_key(partition),
            value: Some(wire::pending::encode(&pending)?),
            headers: Vec::new(),
        };
        log.append(vec![record]).await.context("the announcement")?;
    }
    Ok(days)
}

fn action_note(old: &TopicRecord, reason: &str, now: UtcMillis) -> anyhow::Result<NewRecord> {
    let unusable = UnusableRecord {
        topic: &old.topic,
        partition: old.partition,
        offset: old.offset,
        appended: UtcMillis(old.appended),
        key: &old.key,
        value: old.value.as_deref(),
    };
    quarantine::note_record(&put_aside(unusable, (QuarantineCause::Other, reason), quarantine::ROOM, now))
}

/// Why a record cannot be read; a tombstone can, whatever its key is.
fn unreadable_reason(record: &TopicRecord) -> Option<String> {
    let decoded = wire::window::decode(record.value.as_deref()?);
    decoded.err().map(|undecodable| undecodable.to_string())
}

fn place_of_record(record: &TopicRecord) -> StatePlace {
    StatePlace { partition: record.partition, offset: record.offset }
}

fn view_record(record: &TopicRecord) -> UnreadableRecord {
    UnreadableRecord {
        place: place_of_record(record),
        since: UtcMillis(record.appended).to_string(),
        key: String::from_utf8_lossy(&record.key).replace('\0', "/"),
        bytes: record.value.as_ref().map_or(0, Vec::len),
        reason: unreadable_reason(record).unwrap_or_default(),
        before: None,
    }
}

async fn find_record(log: &dyn Topics, place: StatePlace) -> anyhow::Result<TopicRecord> {
    let StatePlace { partition, offset } = place;
    let found = log.read(topics::WINDOWS, partition, offset, 1).await?;
    let found = found.into_iter().find(|record| record.offset == offset);
    found.with_context(|| format!("no record of `{}` lies at {place}", topics::WINDOWS))
}

/// The latest record of a key.
async fn latest_record(log: &dyn Topics, partition: u32, key: &[u8]) -> anyhow::Result<Option<TopicRecord>> {
    let mut latest = None;
    let bounds = log.bounds(topics::WINDOWS).await?;
    let bounds = bounds.get(partition as usize).copied().unwrap_or_default();
    read_pages(log, partition, bounds, &mut |record| {
        if record.key == key {
            latest = Some(record);
        }
    })
    .await?;
    Ok(latest)
}

/// All that lies in the topic, partition by partition and in order.
async fn for_each_record(log: &dyn Topics, mut of: impl FnMut(TopicRecord)) -> anyhow::Result<()> {
    for (partition, bounds) in (0..).zip(log.bounds(topics::WINDOWS).await?) {
        read_pages(log, partition, bounds, &mut of).await?;
    }
    Ok(())
}

async fn read_pages(
    log: &dyn Topics,
    partition: u32,
    (mut from, end): (u64, u64),
    of: &mut impl FnMut(TopicRecord),
) -> anyhow::Result<()> {
    while from < end {
        let records = log.read(topics::WINDOWS, partition, from, PAGE).await?;
        let Some(last) = records.last() else { break };
        from = last.offset + 1;
        records.into_iter().for_each(&mut *of);
    }
    Ok(())
}
