//! What is remembered, read and counted: persons, their windows, and every byte of it.

use std::{collections::BTreeMap, fmt, ops::Range};

use anyhow::{Context as _, ensure};
use model::partition::PartitionCount;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use topic::{NewRecord, TopicError, TopicName, TopicRecord, Topics};

use super::retry_while_busy;

/// Records read or written at once: at most 8 MiB, since a record has at most 16 KiB.
const PAGE: usize = 500;

/// How much is remembered.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RememberedCount {
    pub persons: u64,
    pub windows: u64,
    /// Messages that wait for another attempt.
    pub waiting: u64,
    /// The same for the same records, in whatever order and place they lie.
    pub print: String,
}

impl fmt::Display for RememberedCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { persons, windows, waiting, .. } = self;
        write!(
            f,
            "{persons} persons with {windows} open windows and {waiting} messages that wait for another attempt"
        )
    }
}

/// Counts what lies in a topic of records of persons, and looks that each is in their partition.
pub async fn count_remembered(
    log: &dyn Topics,
    topic: &str,
    partitions: PartitionCount,
) -> anyhow::Result<RememberedCount> {
    walk_topic(log, topic, partitions, None).await
}

/// The same, and copies all of it to where it belongs in another topic.
pub async fn copy_remembered(
    log: &dyn Topics,
    (from, of): (&str, PartitionCount),
    (to, by): (&str, PartitionCount),
) -> anyhow::Result<RememberedCount> {
    walk_topic(log, from, of, Some((&to.into(), by))).await
}

async fn walk_topic(
    log: &dyn Topics,
    topic: &str,
    partitions: PartitionCount,
    to: Option<(&TopicName, PartitionCount)>,
) -> anyhow::Result<RememberedCount> {
    let mut counting = RememberedCounter::default();
    for (partition, bounds) in (0..).zip(retry_while_busy(|| log.bounds(topic)).await?) {
        let latest = latest_values(log, topic, partition, bounds).await?;
        let mut copies = Vec::new();
        for (key, value) in latest {
            let (tenant, person) = wire::key::read_person_key(&key)?;
            let home = partitions.of_person(&tenant, &person);
            ensure!(home == partition, "{person} belongs to partition {home} of {topic}, not to {partition}");
            counting.add(&key, &value).with_context(|| format!("{topic}[{partition}] about {person}"))?;
            if let Some((topic, by)) = to {
                let (topic, partition) = (topic.clone(), by.of_person(&tenant, &person));
                copies.push(NewRecord { topic, partition, key, value: Some(value), headers: Vec::new() });
            }
        }
        for page in copies.chunks(PAGE) {
            retry_while_busy(|| log.append(page.to_vec())).await.context("copy the state of people")?;
        }
    }
    Ok(counting.finish())
}

/// The latest value of each key of a partition. Its owner holds as much in memory.
async fn latest_values(
    log: &dyn Topics,
    topic: &str,
    partition: u32,
    (mut from, end): (u64, u64),
) -> anyhow::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut latest = BTreeMap::new();
    while from < end {
        let records = retry_while_busy(|| read_page(log, topic, partition, from..end)).await;
        let records = records.with_context(|| format!("read {topic}[{partition}]"))?;
        let Some(last) = records.last() else { break };
        from = last.offset + 1;
        for record in records {
            match record.value {
                Some(value) => latest.insert(record.key, value),
                None => latest.remove(&record.key),
            };
        }
    }
    Ok(latest)
}

/// The next records of a stretch; none if none is left in it. A log that has just changed its leader may not know all
/// of it yet.
async fn read_page(
    log: &dyn Topics,
    topic: &str,
    partition: u32,
    stretch: Range<u64>,
) -> Result<Vec<TopicRecord>, TopicError> {
    let records = log.read(topic, partition, stretch.start, PAGE).await?;
    if !records.is_empty() {
        return Ok(records);
    }
    let known = log.bounds(topic).await?.get(partition as usize).map_or(0, |(_, end)| *end);
    if known < stretch.end {
        let end = stretch.end;
        return Err(TopicError::Busy(format!(
            "{topic}[{partition}] should reach to {end}, but ends at {known}"
        )));
    }
    // It may have been known since a moment ago only.
    log.read(topic, partition, stretch.start, PAGE).await
}

#[derive(Default)]
struct RememberedCounter {
    count: RememberedCount,
    print: [u8; 32],
}

impl RememberedCounter {
    fn add(&mut self, key: &[u8], value: &[u8]) -> anyhow::Result<()> {
        let (tenant, person, record) = wire::window::decode(value)?;
        ensure!(wire::key::person_key(&tenant, &person) == key, "the record belongs to {person}");
        self.count.persons += 1;
        self.count.windows += record.windows.len() as u64;
        self.count.waiting += record.waiting.len() as u64;
        // Each key comes once, so what differs cannot cancel out.
        let hash = Sha256::new().chain_update((key.len() as u64).to_be_bytes()).chain_update(key);
        let hash = hash.chain_update(value).finalize();
        self.print.iter_mut().zip(hash).for_each(|(print, byte)| *print ^= byte);
        Ok(())
    }

    fn finish(self) -> RememberedCount {
        RememberedCount { print: self.print.map(|byte| format!("{byte:02x}")).concat(), ..self.count }
    }
}

#[cfg(test)]
mod tests {
    use runtime::{Clock, retry};
    use topic::{TopicRetention, TopicSpec, embedded::EmbeddedTopics};

    use super::*;

    #[tokio::test]
    async fn an_end_that_is_not_known_yet_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let log = EmbeddedTopics::open(dir.path(), Clock::still(1_000)).unwrap();
        let topic: TopicName = "windows".into();
        let spec = TopicSpec { name: topic.clone(), partitions: 1, retention: TopicRetention::Compacted };
        log.declare(&[spec]).await.unwrap();
        let append = async |key: u8| {
            let (topic, key, value) = (topic.clone(), vec![key], Some(vec![key]));
            log.append(vec![NewRecord { topic, partition: 0, key, value, headers: vec![] }]).await.unwrap();
        };
        append(1).await;
        let later = async {
            retry::pause_before_retry(1, 0).await;
            append(2).await;
        };
        let (found, ()) = tokio::join!(latest_values(&log, &topic, 0, (0, 2)), later);
        assert_eq!(found.unwrap().into_keys().collect::<Vec<_>>(), [vec![1], vec![2]]);
    }
}
