//! Looks for words in every column of every table and in every record of every topic of a house, with clients that know
//! nothing of it.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result, ensure};
use futures::TryStreamExt as _;
use model::UtcMillis;
use rdkafka::{
    ClientConfig, Message as _, Offset, TopicPartitionList,
    admin::{AdminClient, AdminOptions, ResourceSpecifier},
    client::DefaultClientContext,
    consumer::{BaseConsumer, Consumer as _},
    message::Headers as _,
};
use runtime::clock::SteadyStopwatch;
use scylla::{
    client::{session::Session, session_builder::SessionBuilder},
    value::{CqlValue, Row},
};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::now_ms;
use crate::house::EngineAddresses;

const ANSWER: Duration = Duration::from_secs(30);
const QUIET: Duration = Duration::from_millis(200);
const READING: Duration = Duration::from_secs(120);

/// A word, and where it was.
#[derive(Debug)]
pub struct FoundWord {
    /// A table or a topic, by the name that the house knows it by.
    pub place: String,
    pub word: String,
    /// Of a record, when it was appended.
    appended: Option<i64>,
}

pub struct HouseSearch {
    kafka: ClientConfig,
    prefix: String,
    session: Session,
    keyspaces: [String; 2],
    runtime: Runtime,
}

impl HouseSearch {
    pub fn new(engines: &EngineAddresses<'_>) -> Result<Self> {
        let runtime = Runtime::new()?;
        let session = runtime.block_on(SessionBuilder::new().known_node(engines.cql).build())?;
        let mut kafka = ClientConfig::new();
        kafka.set("bootstrap.servers", engines.kafka).set("group.id", format!("{}-search", engines.name));
        // Also what no transaction has ended, and what compaction has left.
        kafka.set("isolation.level", "read_uncommitted").set("enable.auto.commit", "false");
        kafka.set("enable.partition.eof", "false");
        let keyspaces = [engines.name.to_owned(), format!("{}_journal", engines.name)];
        Ok(Self { kafka, prefix: engines.prefix(), session, keyspaces, runtime })
    }

    /// Everywhere.
    pub fn find_everywhere(&self, words: &[&str]) -> Result<Vec<FoundWord>> {
        let mut found = self.runtime.block_on(self.tables(words))?;
        for topic in self.names()? {
            found.extend(self.topic(&topic, words)?);
        }
        Ok(found)
    }

    /// What is there although a receipt does not say so: on other topics than these, in a table, on a topic of which it says
    /// nothing, or longer than it says.
    pub fn check_receipt(&self, receipt: &Value, words: &[&str], topics: &[&str]) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        let mut ends = BTreeMap::new();
        for found in self.find_everywhere(words)? {
            let line = receipt["places"].as_array().into_iter().flatten();
            let Some(topic) = found.place.strip_prefix("topic ") else {
                // That she was erased is noted by her id.
                let is_mark = found.place == "table notes" && words == [super::ID];
                wrong.extend((!is_mark).then(|| format!("{found:?}")));
                continue;
            };
            let line = line.filter(|line| line["place"] == topic).collect::<Vec<_>>();
            let [line] = line[..] else {
                wrong.push(format!("{found:?}, and no line of the receipt"));
                continue;
            };
            if !topics.contains(&topic) || line["stays"].is_null() {
                wrong.push(format!("{found:?}: {line}"));
                continue;
            }
            let Some(life) = self.life(topic)? else {
                // It is compacted: nobody can say when.
                wrong.extend((!line["until"].is_null()).then(|| format!("no end is known: {line}")));
                continue;
            };
            let until = line["until"].as_str().and_then(UtcMillis::parse).context("no end")?;
            let end = found.appended.context("a record without a time")? + life;
            ends.insert(topic.to_owned(), (until, end));
            if end > until.0 {
                wrong.push(format!("{found:?} ends at {}: {line}", UtcMillis(end)));
            }
            ensure!(until.0 > now_ms(), "{line} has ended");
        }
        println!("what stays, by the receipt and by the brokers: {ends:?}");
        Ok(wrong)
    }

    async fn tables(&self, words: &[&str]) -> Result<Vec<FoundWord>> {
        let mut found = Vec::new();
        for keyspace in &self.keyspaces {
            let ask = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?";
            let tables = self.session.query_iter(ask, (keyspace,)).await?.rows_stream::<(String,)>()?;
            let tables: Vec<(String,)> = tables.try_collect().await?;
            ensure!(!tables.is_empty(), "{keyspace} has no tables");
            for (table,) in tables {
                let rows = self.session.query_iter(format!("SELECT * FROM {keyspace}.{table}"), ()).await?;
                let mut rows = rows.rows_stream::<Row>()?;
                while let Some(row) = rows.try_next().await? {
                    for value in row.columns.into_iter().flatten() {
                        let place = format!("table {table}");
                        found.extend(words_in(&bytes_of(&value), words).map(|word| FoundWord {
                            place: place.clone(),
                            word,
                            appended: None,
                        }));
                    }
                }
            }
        }
        Ok(found)
    }

    fn names(&self) -> Result<Vec<String>> {
        let client: BaseConsumer = self.kafka.create()?;
        let metadata = client.fetch_metadata(None, ANSWER)?;
        let topics = metadata.topics().iter().filter_map(|topic| topic.name().strip_prefix(&self.prefix));
        let topics: Vec<String> = topics.map(str::to_owned).collect();
        ensure!(topics.len() == 13, "{topics:?}");
        Ok(topics)
    }

    fn topic(&self, topic: &str, words: &[&str]) -> Result<Vec<FoundWord>> {
        let (client, wire): (BaseConsumer, String) =
            (self.kafka.create()?, format!("{}{topic}", self.prefix));
        let metadata = client.fetch_metadata(Some(&wire), ANSWER)?;
        let partitions = metadata.topics().iter().flat_map(|topic| topic.partitions());
        let (mut from, mut left) = (TopicPartitionList::new(), BTreeMap::new());
        for partition in partitions.map(rdkafka::metadata::MetadataPartition::id) {
            let (first, end) = client.fetch_watermarks(&wire, partition, ANSWER)?;
            if first < end {
                left.insert(partition, end);
                from.add_partition_offset(&wire, partition, Offset::Beginning)?;
            }
        }
        client.assign(&from)?;
        let (mut found, waited) = (Vec::new(), SteadyStopwatch::start());
        while !left.is_empty() {
            ensure!(waited.elapsed() < READING, "{topic} was not read to its end: {left:?}");
            if let Some(record) = client.poll(QUIET) {
                let record = record?;
                let headers = record.headers().into_iter().flat_map(|all| all.iter());
                let headers =
                    headers.flat_map(|one| [one.key.as_bytes(), one.value.unwrap_or_default()].concat());
                let parts = [record.key().unwrap_or_default(), record.payload().unwrap_or_default()];
                let bytes = [&parts.concat()[..], &headers.collect::<Vec<u8>>()].concat();
                let (place, appended) = (format!("topic {topic}"), record.timestamp().to_millis());
                found.extend(words_in(&bytes, words).map(|word| FoundWord {
                    place: place.clone(),
                    word,
                    appended,
                }));
            }
            // The last of a partition may be marks of transactions, which nobody is handed.
            let positions = client.position()?;
            left.retain(|partition, end| {
                let position = positions.find_partition(&wire, *partition).map(|at| at.offset());
                !matches!(position, Some(Offset::Offset(at)) if at >= *end)
            });
        }
        Ok(found)
    }

    /// How old a record may become by what the brokers say of its topic; nothing if it is compacted.
    fn life(&self, topic: &str) -> Result<Option<i64>> {
        let admin: AdminClient<DefaultClientContext> = self.kafka.create()?;
        let wire = format!("{}{topic}", self.prefix);
        let which = ResourceSpecifier::Topic(&wire);
        let options = AdminOptions::new().request_timeout(Some(ANSWER));
        let told = self.runtime.block_on(admin.describe_configs([&which], &options))?;
        let told = told.into_iter().next().context("no answer")?.map_err(|code| anyhow::anyhow!("{code}"))?;
        let value = |name: &str| {
            let found = told.entries.iter().find(|entry| entry.name == name);
            found.and_then(|entry| entry.value.clone()).with_context(|| format!("no {name}"))
        };
        if value("cleanup.policy")? == "compact" {
            return Ok(None);
        }
        let minutes = 10 * 60_000;
        Ok(Some(value("retention.ms")?.parse::<i64>()? + value("segment.ms")?.parse::<i64>()? + minutes))
    }
}

fn words_in<'a>(bytes: &'a [u8], words: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    let has = |word: &str| bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    words.iter().filter(move |word| has(word)).map(|word| (*word).to_owned())
}

fn bytes_of(value: &CqlValue) -> Vec<u8> {
    match value {
        CqlValue::Blob(bytes) => bytes.clone(),
        CqlValue::Text(text) | CqlValue::Ascii(text) => text.clone().into_bytes(),
        other => format!("{other:?}").into_bytes(),
    }
}
