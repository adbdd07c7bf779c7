//! Records of the topic `windows` by hand: which ones nobody can read, and what to do about one of them.
//!
//! A partition with a record that its owner cannot read stands still, for a person's record is never skipped. It can be
//! written over with one that can be read, from an export, or dropped. Either is done only to a record that cannot be
//! read: then its partition has no owner that would write it too. What is done is noted on the quarantine before it is,
//! with the old bytes, and by whom.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::{
    Day, Millis, Person, Tenant,
    entry::DayKey,
    limits::{DAY_LIFE_MS, DAY_MS},
    partition::Partitions,
};
use serde::{Deserialize, Serialize};
use store::Store;
use topic::{NewRecord, Record, Topics};
use wire::{
    Announcement,
    pending::Pending,
    quarantined::{self, Unusable},
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub partition: u32,
    pub offset: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.partition, self.offset)
    }
}

impl std::str::FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let place = text.split_once('@').and_then(|(partition, offset)| {
            Some(Self { partition: partition.parse().ok()?, offset: offset.parse().ok()? })
        });
        place.ok_or_else(|| "a record is named by its partition and offset, such as 0@18".to_owned())
    }
}

/// A record that nobody here can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    pub place: Place,
    pub since: String,
    /// As text, as far as it is text.
    pub key: String,
    pub bytes: usize,
    pub reason: String,
    /// An earlier record of the same key that can be read and still lies in the log.
    pub before: Option<Place>,
}

/// What lies in the log, whole; binary parts as base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    pub topic: String,
    pub place: Place,
    pub key: String,
    pub value: String,
}

/// What to do with a record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Write this one in its place.
    Repair(Export),
    /// Forget what was known of its person.
    Drop(Place),
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub place: Place,
    /// Whose record it is; nobody's if its key names nobody.
    pub person: Option<String>,
    /// Days of the person that were announced anew, so that what waits in them is told.
    pub days: usize,
}

/// All records that nobody here can read, as they stand, oldest place first.
pub async fn list(log: &dyn Topics) -> anyhow::Result<Vec<Unreadable>> {
    let mut latest: BTreeMap<(u32, Vec<u8>), Record> = BTreeMap::new();
    each(log, |record| {
        let key = (record.partition, record.key.clone());
        if reason(&record).is_some() {
            latest.insert(key, record);
        } else {
            latest.remove(&key);
        }
    })
    .await?;
    let mut before: BTreeMap<(u32, Vec<u8>), Place> = BTreeMap::new();
    if !latest.is_empty() {
        each(log, |record| {
            let place = place(&record);
            let key = (record.partition, record.key);
            let value = record.value.as_deref();
            if latest.contains_key(&key) && value.is_some_and(|value| wire::window::decode(value).is_ok()) {
                before.insert(key, place);
            }
        })
        .await?;
    }
    let mut list: Vec<Unreadable> = latest
        .iter()
        .map(|(key, record)| Unreadable { before: before.get(key).copied(), ..view(record) })
        .collect();
    list.sort_by_key(|one| one.place);
    list.truncate(LISTED_MAX);
    Ok(list)
}

/// A record as it lies in the log, whether it can be read or not.
pub async fn export(log: &dyn Topics, place: Place) -> anyhow::Result<Export> {
    let record = find(log, place).await?;
    let value = record.value.with_context(|| format!("{place} is the end of a record and has no value"))?;
    let (key, value) = (BASE64_STANDARD.encode(&record.key), BASE64_STANDARD.encode(&value));
    Ok(Export { topic: topics::WINDOWS.to_owned(), place, key, value })
}

/// Repairs or drops a record that cannot be read.
pub async fn settle(
    log: &dyn Topics,
    store: &dyn Store,
    deed: &Deed,
    by: &str,
    now: Millis,
) -> anyhow::Result<Done> {
    let (old, value, what) = match deed {
        Deed::Repair(export) => {
            let (key, value) = checked(log, export).await?;
            let old = standing(log, export.place.partition, &key).await?;
            (old.context("nothing stands under its key")?, Some(value), "repaired")
        }
        Deed::Drop(place) => {
            let record = find(log, *place).await?;
            let old = standing(log, place.partition, &record.key).await?;
            let old = old.filter(|old| old.offset == place.offset);
            (old.with_context(|| format!("{place} is not the latest record of its key"))?, None, "dropped")
        }
    };
    let Some(why) = reason(&old) else {
        bail!(
            "{} can be read: whoever has its partition would write over whatever is done to it",
            place(&old)
        );
    };
    let whose = wire::key::to_person(&old.key).ok();
    let is_dropped = value.is_none();
    log.append(vec![noted(&old, &format!("{what} by {by}: {why}"), now)?]).await.context("the note")?;
    let record = NewRecord {
        topic: topics::WINDOWS.into(),
        partition: old.partition,
        key: old.key.clone(),
        value,
        headers: Vec::new(),
    };
    log.append(vec![record]).await.context("the record")?;
    let days = match &whose {
        Some(whose) if is_dropped => announce(log, store, whose, old.partition, now).await?,
        _ => 0,
    };
    Ok(Done { place: place(&old), person: whose.map(|(_, person)| person.to_string()), days })
}

/// Key and value of an export that can take the place of a record.
async fn checked(log: &dyn Topics, export: &Export) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
    ensure!(export.topic == topics::WINDOWS, "this is a record of `{}`, not of the windows", export.topic);
    let key = BASE64_STANDARD.decode(&export.key).context("its key is no base64")?;
    let value = BASE64_STANDARD.decode(&export.value).context("its value is no base64")?;
    let (tenant, person, _) = wire::window::decode(&value).context("this one cannot be read either")?;
    ensure!(wire::key::person(&tenant, &person) == key, "its key names somebody else than its value");
    let partitions = Partitions::found(log.bounds(topics::WINDOWS).await?.len());
    let partition = partitions.of_person(&tenant, &person);
    ensure!(partition == export.place.partition, "it belongs to partition {partition}");
    Ok((key, value))
}

/// Without their record nobody would tell the person what waits in their days: so each day is announced once more.
async fn announce(
    log: &dyn Topics,
    store: &dyn Store,
    (tenant, person): &(Tenant, Person),
    partition: u32,
    now: Millis,
) -> anyhow::Result<usize> {
    let back = i32::try_from(DAY_LIFE_MS / DAY_MS).unwrap_or(i32::MAX);
    let days = (0..=back).map(|back| Day::of(now).plus(1 - back));
    let keys: Vec<DayKey> =
        days.map(|day| DayKey { tenant: tenant.clone(), person: person.clone(), day }).collect();
    let rows = store.read(&keys, now).await.context("the days")?;
    let held = keys.iter().zip(&rows).filter(|(_, rows)| !rows.is_empty());
    // No kinds: which plans care is found out when the first of them closes.
    let announcement = |day| {
        let (kinds, windows) = (Vec::new(), Vec::new());
        Announcement { person: person.clone(), day, rows: 0, kinds, windows, full: false }
    };
    let announcements: Vec<Announcement> = held.map(|(key, _)| announcement(key.day)).collect();
    let days = announcements.len();
    if days > 0 {
        let pending = Pending { tenant: tenant.clone(), announcements };
        let record = NewRecord {
            topic: topics::PENDING.into(),
            partition,
            key: wire::key::partition(partition),
            value: Some(wire::pending::encode(&pending)?),
            headers: Vec::new(),
        };
        log.append(vec![record]).await.context("the announcement")?;
    }
    Ok(days)
}

fn noted(old: &Record, reason: &str, now: Millis) -> anyhow::Result<NewRecord> {
    let unusable = Unusable {
        topic: &old.topic,
        partition: old.partition,
        offset: old.offset,
        appended: Millis(old.appended),
        key: &old.key,
        value: old.value.as_deref(),
    };
    quarantine::note_record(&quarantined::of_record(unusable, reason, quarantine::ROOM, now))
}

/// Why a record cannot be read; a tombstone can, whatever its key is.
fn reason(record: &Record) -> Option<String> {
    let decoded = wire::window::decode(record.value.as_deref()?);
    decoded.err().map(|undecodable| undecodable.to_string())
}

fn place(record: &Record) -> Place {
    Place { partition: record.partition, offset: record.offset }
}

fn view(record: &Record) -> Unreadable {
    Unreadable {
        place: place(record),
        since: Millis(record.appended).to_string(),
        key: String::from_utf8_lossy(&record.key).replace('\0', "/"),
        bytes: record.value.as_ref().map_or(0, Vec::len),
        reason: reason(record).unwrap_or_default(),
        before: None,
    }
}

async fn find(log: &dyn Topics, place: Place) -> anyhow::Result<Record> {
    let Place { partition, offset } = place;
    let found = log.read(topics::WINDOWS, partition, offset, 1).await?;
    let found = found.into_iter().find(|record| record.offset == offset);
    found.with_context(|| format!("no record of `{}` lies at {place}", topics::WINDOWS))
}

/// The latest record of a key.
async fn standing(log: &dyn Topics, partition: u32, key: &[u8]) -> anyhow::Result<Option<Record>> {
    let mut latest = None;
    let bounds = log.bounds(topics::WINDOWS).await?;
    let bounds = bounds.get(partition as usize).copied().unwrap_or_default();
    pages(log, partition, bounds, &mut |record| {
        if record.key == key {
            latest = Some(record);
        }
    })
    .await?;
    Ok(latest)
}

/// All that lies in the topic, partition by partition and in order.
async fn each(log: &dyn Topics, mut of: impl FnMut(Record)) -> anyhow::Result<()> {
    for (partition, bounds) in (0..).zip(log.bounds(topics::WINDOWS).await?) {
        pages(log, partition, bounds, &mut of).await?;
    }
    Ok(())
}

async fn pages(
    log: &dyn Topics,
    partition: u32,
    (mut from, end): (u64, u64),
    of: &mut impl FnMut(Record),
) -> anyhow::Result<()> {
    while from < end {
        let records = log.read(topics::WINDOWS, partition, from, PAGE).await?;
        let Some(last) = records.last() else { break };
        from = last.offset + 1;
        records.into_iter().for_each(&mut *of);
    }
    Ok(())
}
