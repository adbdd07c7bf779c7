//! Looking at partitions outside any group: a stretch of records, and whether anything lies in a stretch.
//!
//! A broker that leads since a moment ago may believe for another moment that a partition ends earlier than it does.
//! So its word that there is no more counts only where reading has got to where it was to go.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rdkafka::{
    Message as _, Offset, TopicPartitionList,
    config::FromClientConfigAndContext as _,
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaError,
    message::{BorrowedMessage, Headers as _},
};
use runtime::clock::Stopwatch;
use topic::port::{Record, TopicError, TopicName};

use crate::{config, errors::failed, names, settings::Settings, voice::Voice};

/// Consumers that are kept when nobody looks; each has threads and connections.
const IDLE_MOST: usize = 2;
/// Looking that gets nowhere for so long is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// After so long without a record whoever leads by now is asked for the end once more.
const SETTLED: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// Consumers that belong to no group. Whoever looks has one for itself, so nobody disturbs another.
#[derive(Default)]
pub struct Lookers {
    idle: Mutex<Vec<BaseConsumer<Voice>>>,
}

impl Lookers {
    /// Hands over the records from an offset on up to another, until it is told to stop. Blocks.
    pub fn scan(
        &self,
        settings: &Settings,
        voice: &Voice,
        at: &Place<'_>,
        stretch: std::ops::Range<u64>,
        mut take: impl FnMut(&BorrowedMessage<'_>) -> bool,
    ) -> Result<(), TopicError> {
        if stretch.is_empty() {
            return Ok(());
        }
        self.with(settings, voice, |consumer| {
            consumer.assign(&one(at.wire, at.partition, stretch.start)?)?;
            let (mut still, mut told_early) = (Stopwatch::start(), false);
            loop {
                match consumer.poll(POLL) {
                    Some(Ok(message)) => {
                        still = Stopwatch::start();
                        let offset = unsigned(message.offset());
                        if offset >= stretch.end || !take(&message) || offset + 1 >= stretch.end {
                            return Ok(());
                        }
                    }
                    // What was left were records of the transactions' own.
                    Some(Err(KafkaError::PartitionEOF(_)))
                        if reached(consumer, at.wire, at.partition)? >= stretch.end =>
                    {
                        return Ok(());
                    }
                    Some(Err(KafkaError::PartitionEOF(_))) => told_early = true,
                    // Nothing more came from whoever knows the whole stretch: what is left is nothing to be seen.
                    None if told_early
                        && still.elapsed() > SETTLED
                        && consumer.fetch_watermarks(at.wire, signed32(at.partition), PATIENCE)?.1
                            >= signed(stretch.end) =>
                    {
                        return Ok(());
                    }
                    Some(Err(error)) if still.elapsed() > PATIENCE => return Err(error),
                    Some(Err(KafkaError::MessageConsumptionFatal(code))) => {
                        return Err(KafkaError::MessageConsumptionFatal(code));
                    }
                    None if still.elapsed() > PATIENCE => return Err(timed_out()),
                    Some(Err(_)) | None => {}
                }
            }
        })
    }

    /// Which of these partitions hold no record in a stretch, but perhaps the marks of transactions. Blocks.
    pub fn bare(
        &self,
        settings: &Settings,
        voice: &Voice,
        wire: &str,
        stretches: &[(u32, std::ops::Range<u64>)],
    ) -> Result<BTreeSet<u32>, TopicError> {
        let mut list = TopicPartitionList::new();
        let mut open: BTreeMap<u32, u64> = stretches.iter().map(|(p, stretch)| (*p, stretch.end)).collect();
        let mut bare = BTreeSet::new();
        self.with(settings, voice, |consumer| {
            for (partition, stretch) in stretches {
                let from = Offset::Offset(signed(stretch.start));
                list.add_partition_offset(wire, signed32(*partition), from)?;
            }
            consumer.assign(&list)?;
            let still = Stopwatch::start();
            while !open.is_empty() {
                match consumer.poll(POLL) {
                    Some(Ok(message)) => {
                        open.remove(&unsigned32(message.partition()));
                    }
                    Some(Err(KafkaError::PartitionEOF(partition))) => {
                        let partition = unsigned32(partition);
                        let Some(end) = open.get(&partition) else { continue };
                        if reached(consumer, wire, partition)? >= *end {
                            open.remove(&partition);
                            bare.insert(partition);
                        }
                    }
                    Some(Err(_)) | None if still.elapsed() > PATIENCE => return Err(timed_out()),
                    Some(Err(_)) | None => {}
                }
            }
            Ok(())
        })?;
        Ok(bare)
    }

    fn with<T>(
        &self,
        settings: &Settings,
        voice: &Voice,
        look: impl FnOnce(&BaseConsumer<Voice>) -> Result<T, KafkaError>,
    ) -> Result<T, TopicError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let consumer = match idle {
            Some(consumer) => consumer,
            None => {
                let config = config::looker(settings, &names::prefixed(settings, "looking"));
                BaseConsumer::from_config_and_context(&config, voice.clone())
                    .map_err(|error| failed("opening a consumer", &error))?
            }
        };
        // One that failed is not used again: who knows what it still has in its queue.
        let found = look(&consumer).map_err(|error| failed("looking", &error))?;
        consumer.unassign().map_err(|error| failed("looking", &error))?;
        voice.answered();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MOST {
            idle.push(consumer);
        }
        Ok(found)
    }
}

/// A partition of a topic, by the cluster's name.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub wire: &'a str,
    pub partition: u32,
}

fn one(wire: &str, partition: u32, offset: u64) -> Result<TopicPartitionList, KafkaError> {
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(wire, signed32(partition), Offset::Offset(signed(offset)))?;
    Ok(list)
}

/// Up to where a partition was read, marks included.
fn reached(consumer: &BaseConsumer<Voice>, wire: &str, partition: u32) -> Result<u64, KafkaError> {
    let positions = consumer.position()?;
    let offset = positions.find_partition(wire, signed32(partition)).map(|elem| elem.offset());
    Ok(if let Some(Offset::Offset(offset)) = offset { unsigned(offset) } else { 0 })
}

pub fn timed_out() -> KafkaError {
    KafkaError::Global(rdkafka::error::RDKafkaErrorCode::OperationTimedOut)
}

/// A message as the port has it.
pub fn record(name: &TopicName, message: &BorrowedMessage<'_>) -> Record {
    let headers = message.headers().map(|headers| {
        headers.iter().map(|h| (h.key.to_owned(), h.value.unwrap_or_default().to_vec())).collect()
    });
    Record {
        topic: name.clone(),
        partition: unsigned32(message.partition()),
        offset: unsigned(message.offset()),
        appended: message.timestamp().to_millis().unwrap_or_default(),
        key: message.key().unwrap_or_default().to_vec(),
        value: message.payload().map(<[u8]>::to_vec),
        headers: headers.unwrap_or_default(),
    }
}

// Kafka counts in signed numbers, of which it uses no negative ones for what these convert.

pub fn signed(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

pub fn unsigned(offset: i64) -> u64 {
    u64::try_from(offset).unwrap_or_default()
}

pub fn signed32(partition: u32) -> i32 {
    i32::try_from(partition).unwrap_or(i32::MAX)
}

pub fn unsigned32(partition: i32) -> u32 {
    u32::try_from(partition).unwrap_or_default()
}
