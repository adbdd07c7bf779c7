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
use runtime::clock::SteadyStopwatch;
use topic::port::{TopicError, TopicName, TopicRecord};

use crate::{
    client_context::KafkaClientContext,
    config,
    errors::kafka_error,
    kafka_numbers::{to_i32, to_i64, to_u32, to_u64},
    names,
    settings::Settings,
};

/// Consumers that are kept when nobody looks; each has threads and connections.
const IDLE_MOST: usize = 2;
/// Looking that gets nowhere for so long is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// After so long without a record whoever leads by now is asked for the end once more.
const SETTLED: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// Consumers that belong to no group. Whoever looks has one for itself, so nobody disturbs another.
#[derive(Default)]
pub struct ScanConsumers {
    idle: Mutex<Vec<BaseConsumer<KafkaClientContext>>>,
}

impl ScanConsumers {
    /// Hands over the records from an offset on up to another, until it is told to stop. Blocks.
    pub fn scan_records(
        &self,
        settings: &Settings,
        voice: &KafkaClientContext,
        at: &PartitionRef<'_>,
        stretch: std::ops::Range<u64>,
        mut take: impl FnMut(&BorrowedMessage<'_>) -> bool,
    ) -> Result<(), TopicError> {
        if stretch.is_empty() {
            return Ok(());
        }
        self.with_consumer(settings, voice, |consumer| {
            consumer.assign(&one_position(at.wire, at.partition, stretch.start)?)?;
            let (mut still, mut told_early) = (SteadyStopwatch::start(), false);
            loop {
                match consumer.poll(POLL) {
                    Some(Ok(message)) => {
                        still = SteadyStopwatch::start();
                        let offset = to_u64(message.offset());
                        if offset >= stretch.end || !take(&message) || offset + 1 >= stretch.end {
                            return Ok(());
                        }
                    }
                    // What was left were records of the transactions' own.
                    Some(Err(KafkaError::PartitionEOF(_)))
                        if position_reached(consumer, at.wire, at.partition)? >= stretch.end =>
                    {
                        return Ok(());
                    }
                    Some(Err(KafkaError::PartitionEOF(_))) => told_early = true,
                    // Nothing more came from whoever knows the whole stretch: what is left is nothing to be seen.
                    None if told_early
                        && still.elapsed() > SETTLED
                        && consumer.fetch_watermarks(at.wire, to_i32(at.partition), PATIENCE)?.1
                            >= to_i64(stretch.end) =>
                    {
                        return Ok(());
                    }
                    Some(Err(error)) if still.elapsed() > PATIENCE => return Err(error),
                    Some(Err(KafkaError::MessageConsumptionFatal(code))) => {
                        return Err(KafkaError::MessageConsumptionFatal(code));
                    }
                    None if still.elapsed() > PATIENCE => return Err(timed_out_error()),
                    Some(Err(_)) | None => {}
                }
            }
        })
    }

    /// Which of these partitions hold no record in a stretch, but perhaps the marks of transactions. Blocks.
    pub fn find_bare(
        &self,
        settings: &Settings,
        voice: &KafkaClientContext,
        wire: &str,
        stretches: &[(u32, std::ops::Range<u64>)],
    ) -> Result<BTreeSet<u32>, TopicError> {
        let mut list = TopicPartitionList::new();
        let mut open: BTreeMap<u32, u64> = stretches.iter().map(|(p, stretch)| (*p, stretch.end)).collect();
        let mut bare = BTreeSet::new();
        self.with_consumer(settings, voice, |consumer| {
            for (partition, stretch) in stretches {
                let from = Offset::Offset(to_i64(stretch.start));
                list.add_partition_offset(wire, to_i32(*partition), from)?;
            }
            consumer.assign(&list)?;
            let still = SteadyStopwatch::start();
            while !open.is_empty() {
                match consumer.poll(POLL) {
                    Some(Ok(message)) => {
                        open.remove(&to_u32(message.partition()));
                    }
                    Some(Err(KafkaError::PartitionEOF(partition))) => {
                        let partition = to_u32(partition);
                        let Some(end) = open.get(&partition) else { continue };
                        if position_reached(consumer, wire, partition)? >= *end {
                            open.remove(&partition);
                            bare.insert(partition);
                        }
                    }
                    Some(Err(_)) | None if still.elapsed() > PATIENCE => return Err(timed_out_error()),
                    Some(Err(_)) | None => {}
                }
            }
            Ok(())
        })?;
        Ok(bare)
    }

    fn with_consumer<T>(
        &self,
        settings: &Settings,
        voice: &KafkaClientContext,
        look: impl FnOnce(&BaseConsumer<KafkaClientContext>) -> Result<T, KafkaError>,
    ) -> Result<T, TopicError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let consumer = match idle {
            Some(consumer) => consumer,
            None => {
                let config = config::scan_config(settings, &names::prefixed_name(settings, "looking"));
                BaseConsumer::from_config_and_context(&config, voice.clone())
                    .map_err(|error| kafka_error("opening a consumer", &error))?
            }
        };
        // One that failed is not used again: who knows what it still has in its queue.
        let found = look(&consumer).map_err(|error| kafka_error("looking", &error))?;
        consumer.unassign().map_err(|error| kafka_error("looking", &error))?;
        voice.note_answer();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MOST {
            idle.push(consumer);
        }
        Ok(found)
    }
}

/// A partition of a topic, by the cluster's name.
#[derive(Clone, Copy, Debug)]
pub struct PartitionRef<'a> {
    pub wire: &'a str,
    pub partition: u32,
}

fn one_position(wire: &str, partition: u32, offset: u64) -> Result<TopicPartitionList, KafkaError> {
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(wire, to_i32(partition), Offset::Offset(to_i64(offset)))?;
    Ok(list)
}

/// Up to where a partition was read, marks included.
fn position_reached(
    consumer: &BaseConsumer<KafkaClientContext>,
    wire: &str,
    partition: u32,
) -> Result<u64, KafkaError> {
    let positions = consumer.position()?;
    let offset = positions.find_partition(wire, to_i32(partition)).map(|elem| elem.offset());
    Ok(if let Some(Offset::Offset(offset)) = offset { to_u64(offset) } else { 0 })
}

pub fn timed_out_error() -> KafkaError {
    KafkaError::Global(rdkafka::error::RDKafkaErrorCode::OperationTimedOut)
}

/// A message as the port has it.
pub fn read_record(name: &TopicName, message: &BorrowedMessage<'_>) -> TopicRecord {
    let headers = message.headers().map(|headers| {
        headers.iter().map(|h| (h.key.to_owned(), h.value.unwrap_or_default().to_vec())).collect()
    });
    TopicRecord {
        topic: name.clone(),
        partition: to_u32(message.partition()),
        offset: to_u64(message.offset()),
        appended: message.timestamp().to_millis().unwrap_or_default(),
        key: message.key().unwrap_or_default().to_vec(),
        value: message.payload().map(<[u8]>::to_vec),
        headers: headers.unwrap_or_default(),
    }
}
