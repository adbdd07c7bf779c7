//! Releasing windows by hand: for one person, or for all who have a window of a plan open, some at a time.
//!
//! It only says so on the `inbox`; the owner of the person closes the window, with everything that a closing
//! asks. What opened after the release began is not meant by it.

use std::{collections::BTreeSet, fmt, str::FromStr};

use anyhow::Context as _;
use model::{
    Person, PlanName, Tenant, UtcMillis,
    partition::PartitionCount,
    person::{Act, PersonRecord},
};
use room::records::inbox_record;
use serde::{Deserialize, Serialize};
use topic::{NewRecord, TopicRecord, Topics};
use wire::{InboxItem, topics};

/// Records read at once.
const PAGE: usize = 2_000;
/// Persons that one call releases at most.
pub const PART_MAX: usize = 10_000;

/// What is released.
#[derive(Clone, Debug)]
pub struct WindowRelease {
    pub tenant: Tenant,
    pub plan: PlanName,
    /// When it was asked for: windows that opened later stay open.
    pub at: UtcMillis,
}

/// How far a release for all has come: a place in the log of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReleaseCursor {
    partition: u32,
    offset: u64,
}

/// What one call came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReleaseProgress {
    pub released: usize,
    /// Where to go on; `None` when all were looked at.
    pub next: Option<String>,
}

impl fmt::Display for ReleaseCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.partition, self.offset)
    }
}

impl FromStr for ReleaseCursor {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let parts = text.split_once(':').context("a cursor is written `partition:offset`")?;
        Ok(Self { partition: parts.0.parse()?, offset: parts.1.parse()? })
    }
}

impl WindowRelease {
    /// Whether a record has a window that is meant.
    fn is_meant(&self, record: &PersonRecord) -> bool {
        let meant = |window: &model::person::Window| {
            window.plan == self.plan && window.opening <= self.at && !window.is_acted_on()
        };
        record.windows.iter().any(meant)
    }

    fn record(&self, person: &Person, partitions: PartitionCount) -> anyhow::Result<NewRecord> {
        let Self { tenant, plan, at } = self.clone();
        let (person, act) = (person.clone(), Act::Release);
        let item = InboxItem::ByHand { tenant, person, act, plan, key: None, at };
        Ok(inbox_record(&item, partitions)?)
    }
}

/// Releases one person's window; says whether there is one.
pub async fn release_person(
    log: &dyn Topics,
    release: &WindowRelease,
    person: &Person,
) -> anyhow::Result<bool> {
    let record = house::person_windows::load_person(log, &release.tenant, person).await?;
    if !record.is_some_and(|record| release.is_meant(&record)) {
        return Ok(false);
    }
    let partitions = PartitionCount::from_topic_count(log.bounds(topics::INBOX).await?.len());
    log.append(vec![release.record(person, partitions)?]).await?;
    Ok(true)
}

/// Releases about `most` persons from a place on. What is closed meanwhile is written behind the place and
/// looked at again, but its window is not meant any more.
pub async fn release_batch(
    log: &dyn Topics,
    release: &WindowRelease,
    from: ReleaseCursor,
    most: usize,
) -> anyhow::Result<ReleaseProgress> {
    let bounds = log.bounds(topics::WINDOWS).await?;
    let mut persons = BTreeSet::new();
    let mut next = from;
    while persons.len() < most.min(PART_MAX) {
        let Some((first, end)) = bounds.get(next.partition as usize).copied() else { break };
        next.offset = next.offset.max(first);
        if next.offset >= end {
            next = ReleaseCursor { partition: next.partition + 1, offset: 0 };
            continue;
        }
        let page = PAGE.min(most.saturating_sub(persons.len()).max(1));
        let records = log.read(topics::WINDOWS, next.partition, next.offset, page).await?;
        // What is left up to the end is nothing to be read: it was compacted away, or marks a transaction.
        let last = records.last().filter(|_| records.len() == page);
        next.offset = last.map_or(end, |last| last.offset + 1);
        for record in &records {
            persons.extend(release.find_person(record)?);
        }
    }
    let done = next.partition as usize >= bounds.len();
    let partitions = PartitionCount::from_topic_count(bounds.len());
    let records = persons.iter().map(|person| release.record(person, partitions));
    let records: Vec<NewRecord> = records.collect::<Result<_, _>>()?;
    if !records.is_empty() {
        log.append(records).await?;
    }
    Ok(ReleaseProgress { released: persons.len(), next: (!done).then(|| next.to_string()) })
}

impl WindowRelease {
    /// The person of a record of the log, if their window is meant.
    fn find_person(&self, record: &TopicRecord) -> anyhow::Result<Option<Person>> {
        let Some(value) = &record.value else { return Ok(None) };
        // One that cannot be read keeps nobody else from being released; `tidings state` is about those.
        let Ok((tenant, person, record)) = wire::window::decode(value) else { return Ok(None) };
        Ok((tenant == self.tenant && self.is_meant(&record)).then_some(person))
    }
}
