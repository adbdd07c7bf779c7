//! Questions to the cluster that concern no record: which partitions there are, how far they reach, and
//! where a group stands.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rdkafka::{
    Offset, TopicPartitionList,
    config::FromClientConfigAndContext as _,
    consumer::{BaseConsumer, Consumer as _},
    error::{KafkaError, RDKafkaErrorCode as Code},
    groups::GroupList,
    metadata::MetadataTopic,
};
use topic::port::TopicError;

use crate::{
    client_context::KafkaClientContext,
    client_registry::BrokerProbe,
    config::{self, ReadIsolation},
    errors::{code_error, error_code, kafka_error},
    kafka_numbers::{to_i32, to_i64, to_u64},
    settings::Settings,
};

/// How long an answer may take.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long a transaction may take to be decided, for who only wants to know where a group stands.
pub const UNDECIDED: Duration = Duration::from_millis(500);

/// The pauses between questions for offsets that a broker cannot tell yet.
const OFFSET_PAUSES_MS: [u64; 7] = [0, 50, 100, 250, 500, 1_000, 2_000];

/// What a client has to tell is heard in parts of so much.
const TOLD_MOST: usize = 64;

/// A client that is only asked. All of its methods block.
pub struct MetadataClient {
    client: BaseConsumer<KafkaClientContext>,
    voice: KafkaClientContext,
    /// How many partitions a topic has. Counts are for life, so they are asked for once.
    counts: Mutex<HashMap<String, u32>>,
}

/// What a cluster says of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicLookup {
    Nothing,
    /// It is there, or about to be or to go, and one of its partitions has no leader now.
    Leaderless,
    /// So many partitions.
    Count(u32),
}

impl MetadataClient {
    pub fn open(
        settings: &Settings,
        isolation: ReadIsolation,
        voice: &KafkaClientContext,
    ) -> Result<Arc<Self>, TopicError> {
        let asker = Arc::new(Self::open_unwatched(settings, isolation, voice)?);
        voice.clients.add(&asker);
        Ok(asker)
    }

    /// One that is not asked for its pulse.
    pub fn open_unwatched(
        settings: &Settings,
        isolation: ReadIsolation,
        voice: &KafkaClientContext,
    ) -> Result<Self, TopicError> {
        let config = config::query_config(settings, isolation);
        let client = BaseConsumer::from_config_and_context(&config, voice.clone())
            .map_err(|error| kafka_error("opening a client", &error))?;
        Ok(Self { client, voice: voice.clone(), counts: Mutex::default() })
    }

    /// How many partitions a topic has; refused if there is no such topic.
    pub fn count_partitions(&self, name: &str, wire: &str) -> Result<u32, TopicError> {
        if let Some(count) = self.known_count(wire) {
            return Ok(count);
        }
        match self.look_up(wire)? {
            TopicLookup::Count(count) => Ok(count),
            TopicLookup::Leaderless => Err(TopicError::Busy(format!("topic `{name}` has no leader yet"))),
            TopicLookup::Nothing => Err(TopicError::Refused(format!("there is no topic `{name}`"))),
        }
    }

    /// The same without asking anybody.
    pub fn known_count(&self, wire: &str) -> Option<u32> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(wire).copied()
    }

    /// Some topic that there is.
    pub fn any_topic(&self) -> Option<String> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).keys().next().cloned()
    }

    /// Asks the cluster.
    pub fn look_up(&self, wire: &str) -> Result<TopicLookup, TopicError> {
        let what = || format!("asking for topic `{wire}`");
        let metadata = self.note_answer(self.client.fetch_metadata(Some(wire), PATIENCE));
        let metadata = metadata.map_err(|error| kafka_error(&what(), &error))?;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.remove(wire);
        let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == wire) else {
            return Ok(TopicLookup::Nothing);
        };
        match topic.error().map(Code::from) {
            None => {}
            Some(Code::UnknownTopicOrPartition | Code::UnknownTopic) => return Ok(TopicLookup::Nothing),
            Some(Code::LeaderNotAvailable) => return Ok(TopicLookup::Leaderless),
            Some(code) => return Err(code_error(&what(), code)),
        }
        if topic.partitions().is_empty() || topic.partitions().iter().any(|p| p.leader() < 0) {
            return Ok(TopicLookup::Leaderless);
        }
        let count = partition_count(topic);
        counts.insert(wire.to_owned(), count);
        Ok(TopicLookup::Count(count))
    }

    /// By how many brokers each partition of a topic is kept at least; nothing of one that is not there.
    pub fn replicas(&self, wire: &str) -> Result<Option<usize>, TopicError> {
        let metadata = self.note_answer(self.client.fetch_metadata(Some(wire), PATIENCE));
        let metadata =
            metadata.map_err(|error| kafka_error(&format!("asking for topic `{wire}`"), &error))?;
        let topic = metadata.topics().iter().find(|topic| topic.name() == wire);
        Ok(topic.and_then(|topic| topic.partitions().iter().map(|part| part.replicas().len()).min()))
    }

    /// All topics that we may see, with their partition counts.
    pub fn topics(&self) -> Result<Vec<(String, u32)>, TopicError> {
        let metadata = self.note_answer(self.client.fetch_metadata(None, PATIENCE));
        let metadata = metadata.map_err(|error| kafka_error("asking for topics", &error))?;
        let there = metadata.topics().iter().filter(|topic| topic.error().is_none());
        Ok(there.map(|topic| (topic.name().to_owned(), partition_count(topic))).collect())
    }

    /// What the brokers say about a group; an empty list if nobody knows it.
    pub fn groups(&self, wire: &str) -> Result<GroupList, TopicError> {
        let groups = self.note_answer(self.client.fetch_group_list(Some(wire), PATIENCE));
        groups.map_err(|error| kafka_error("asking for a group", &error))
    }

    /// The first and the next offset of partitions.
    pub fn bounds(&self, places: &[(&str, u32)]) -> Result<Vec<(u64, u64)>, TopicError> {
        let first = self.offsets(places, Offset::Beginning)?;
        let next = self.offsets(places, Offset::End)?;
        Ok(first.into_iter().zip(next).map(|(first, next)| (first, next.max(first))).collect())
    }

    /// One offset of each partition: the first, the next, or the first at an instant or later, for which
    /// the instant is given as an offset. All in one request to each broker.
    pub fn offsets(&self, places: &[(&str, u32)], which: Offset) -> Result<Vec<u64>, TopicError> {
        let mut found = self.try_offsets(places, which);
        let mut wires: Vec<&str> = places.iter().map(|(wire, _)| *wire).collect();
        wires.dedup();
        for pause_ms in OFFSET_PAUSES_MS {
            let Err(TopicError::Busy(_)) = &found else { break };
            // Nothing is read with this client: it listens for as long as this and has nothing to do.
            drop(self.client.poll(Duration::from_millis(pause_ms)));
            // Most likely a partition is led by another broker now, or by one that does not know it yet. That
            // is not looked up before it is asked for.
            for wire in &wires {
                let TopicLookup::Count(_) = self.look_up(wire)? else { return found };
            }
            found = self.try_offsets(places, which);
        }
        found
    }

    fn try_offsets(&self, places: &[(&str, u32)], which: Offset) -> Result<Vec<u64>, TopicError> {
        let found =
            self.note_answer(self.times(places, which)).map_err(|error| match error_code(&error) {
                Some(code) => later_error("asking for offsets", code),
                None => kafka_error("asking for offsets", &error),
            })?;
        found
            .iter()
            .zip(places)
            .map(|(offset, (wire, partition))| match offset {
                Ok(offset) => Ok(*offset),
                Err(code) => {
                    Err(later_error(&format!("asking for the offsets of {wire}/{partition}"), *code))
                }
            })
            .collect()
    }

    fn times(&self, places: &[(&str, u32)], which: Offset) -> Result<Vec<Result<u64, Code>>, KafkaError> {
        let mut list = TopicPartitionList::with_capacity(places.len());
        for (wire, partition) in places {
            list.add_partition_offset(wire, to_i32(*partition), which)?;
        }
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.client.offsets_for_times(list, PATIENCE)?;
        let mut ends = None;
        let mut out = Vec::with_capacity(places.len());
        for (at, (wire, partition)) in places.iter().enumerate() {
            let elem = found.find_partition(wire, to_i32(*partition));
            let elem = elem.ok_or(KafkaError::OffsetFetch(Code::UnknownPartition))?;
            out.push(match (elem.error(), elem.offset()) {
                (Err(error), _) => Err(error.rdkafka_error_code().unwrap_or(Code::Unknown)),
                (Ok(()), Offset::Offset(offset)) => Ok(to_u64(offset)),
                // Nothing was appended at that instant or later.
                (Ok(()), Offset::End) if matches!(which, Offset::Offset(_)) => {
                    if ends.is_none() {
                        ends = Some(self.times(places, Offset::End)?);
                    }
                    ends.as_ref().and_then(|ends| ends.get(at)).copied().unwrap_or(Err(Code::Unknown))
                }
                (Ok(()), _) => Err(Code::Unknown),
            });
        }
        Ok(out)
    }

    /// What was answered. The client's own lines and errors are told only when it is polled.
    fn note_answer<T>(&self, answer: Result<T, KafkaError>) -> Result<T, KafkaError> {
        for _ in 0..TOLD_MOST {
            if self.client.poll(Duration::ZERO).is_none() {
                break;
            }
        }
        if answer.is_ok() {
            self.voice.note_answer();
        }
        answer
    }
}

/// Why there is no answer about a partition that is there: a broker that has just started may not know yet.
fn later_error(what: &str, code: Code) -> TopicError {
    match code {
        Code::UnknownTopicOrPartition | Code::UnknownPartition | Code::UnknownTopic => {
            TopicError::Busy(format!("{what}: {code}"))
        }
        _ => code_error(what, code),
    }
}

fn partition_count(topic: &MetadataTopic) -> u32 {
    u32::try_from(topic.partitions().len()).unwrap_or(u32::MAX)
}

/// What a group has committed, with the client of that group; nothing for a partition never committed.
/// A client that reads what is committed waits for transactions that have sent offsets and are not decided
/// yet. Blocks.
pub fn read_committed(
    client: &BaseConsumer<KafkaClientContext>,
    places: &[(&str, u32)],
    patience: Duration,
) -> Result<Vec<Option<u64>>, TopicError> {
    let failed = |error: &KafkaError| match error_code(error) {
        Some(code) => later_error("asking for committed offsets", code),
        None => kafka_error("asking for committed offsets", error),
    };
    let mut list = TopicPartitionList::with_capacity(places.len());
    for (wire, partition) in places {
        list.add_partition(wire, to_i32(*partition));
    }
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let found = client.committed_offsets(list, patience).map_err(|error| failed(&error))?;
    places
        .iter()
        .map(|(wire, partition)| {
            let elem = found.find_partition(wire, to_i32(*partition));
            let elem = elem.ok_or(KafkaError::OffsetFetch(Code::UnknownPartition));
            let elem = elem.map_err(|error| failed(&error))?;
            elem.error().map_err(|error| failed(&error))?;
            Ok(match elem.offset() {
                Offset::Offset(offset) => Some(to_u64(offset)),
                _ => None,
            })
        })
        .collect()
}

/// A list of positions.
pub fn position_list(places: &[(&str, u32, u64)]) -> Result<TopicPartitionList, KafkaError> {
    let mut list = TopicPartitionList::with_capacity(places.len());
    for (wire, partition, offset) in places {
        list.add_partition_offset(wire, to_i32(*partition), Offset::Offset(to_i64(*offset)))?;
    }
    Ok(list)
}

type GroupClient = Arc<BaseConsumer<KafkaClientContext>>;

impl BrokerProbe for MetadataClient {
    fn brokers(&self, topic: &str) -> Result<usize, KafkaError> {
        self.client.brokers(topic)
    }
}

/// Clients of groups that are asked where they stand, one for each.
#[derive(Default)]
pub struct GroupClients {
    clients: Mutex<HashMap<(String, ReadIsolation), GroupClient>>,
}

impl GroupClients {
    /// The client of a group; a few, since a house has few groups.
    pub fn client(
        &self,
        settings: &Settings,
        voice: &KafkaClientContext,
        group: &str,
        isolation: ReadIsolation,
    ) -> Result<GroupClient, TopicError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (group.to_owned(), isolation);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let config = config::group_query_config(settings, group, isolation);
        let client = BaseConsumer::from_config_and_context(&config, voice.clone());
        let client = Arc::new(client.map_err(|error| kafka_error("opening a client", &error))?);
        voice.clients.add(&client);
        clients.insert(key, client.clone());
        Ok(client)
    }

    /// Where a group stands. A turn that is just being written is waited for, but not for long: whoever
    /// wrote it may be dead, and then it is decided when somebody takes over.
    pub fn committed_offsets(
        &self,
        settings: &Settings,
        voice: &KafkaClientContext,
        group: &str,
        places: &[(&str, u32)],
    ) -> Result<Vec<Option<u64>>, TopicError> {
        let client = self.client(settings, voice, group, ReadIsolation::Committed)?;
        match read_committed(&client, places, UNDECIDED) {
            Err(TopicError::Busy(_)) => {
                let client = self.client(settings, voice, group, ReadIsolation::Uncommitted)?;
                read_committed(&client, places, PATIENCE)
            }
            other => other,
        }
    }
}
