//! Making topics.

use std::time::Duration;

use rdkafka::{
    admin::{AdminClient, AdminOptions, NewTopic, TopicReplication},
    config::FromClientConfigAndContext as _,
    error::RDKafkaErrorCode as Code,
};
use runtime::clock::SteadyStopwatch;
use topic::port::{TopicError, TopicRetention, TopicSpec, describe_other_count};

use crate::{
    client_context::KafkaClientContext,
    config::{self, MESSAGE_MOST, ReadIsolation},
    errors::{code_error, kafka_error},
    kafka_state::KafkaState,
    metadata_client::{self, TopicLookup},
    names,
    settings::{Settings, StampSource},
};

/// How long a topic may take until every broker knows it.
const KNOWN: Duration = Duration::from_secs(30);
/// How long the leaders of new topics may take to know of it: on a busy cluster that is longer.
const LED: Duration = Duration::from_secs(120);
/// A compacted topic keeps one record for each person: segments are small enough that old ones go soon,
/// and a tombstone stays long enough for a slow reader to see it.
const COMPACTED: [(&str, &str); 5] = [
    ("cleanup.policy", "compact"),
    ("min.cleanable.dirty.ratio", "0.3"),
    ("segment.ms", "3600000"),
    ("segment.bytes", "134217728"),
    ("delete.retention.ms", "86400000"),
];

/// A segment goes as a whole, when its last record has had its time: the shorter its own, the nearer to its time each
/// record goes.
const SEGMENT_MS: &str = "86400000";

/// Creates what is missing.
pub async fn declare_topics(
    inner: &std::sync::Arc<KafkaState>,
    specs: &[TopicSpec],
) -> Result<(), TopicError> {
    let wires: Vec<String> =
        specs.iter().map(|spec| names::wire_topic(&inner.settings, &spec.name)).collect();
    let mut missing = Vec::new();
    for (spec, wire) in specs.iter().zip(&wires) {
        match look_up_topic(inner, wire).await? {
            TopicLookup::Count(count) => check_count(spec, count)?,
            // The latter may be about to be, or to go.
            TopicLookup::Nothing | TopicLookup::Leaderless => missing.push((spec, wire)),
        }
    }
    let admin = admin_client(inner)?;
    create_and_wait(inner, &admin, &missing).await
}

/// A client that changes topics and groups.
pub fn admin_client(inner: &KafkaState) -> Result<AdminClient<KafkaClientContext>, TopicError> {
    let config = config::query_config(&inner.settings, ReadIsolation::Committed);
    let admin = AdminClient::from_config_and_context(&config, inner.voice.clone());
    admin.map_err(|error| kafka_error("opening a client", &error))
}

/// What there is of a topic now.
pub async fn look_up_topic(
    inner: &std::sync::Arc<KafkaState>,
    wire: &str,
) -> Result<TopicLookup, TopicError> {
    let wire = wire.to_owned();
    inner.run_blocking(move |inner| inner.asker.look_up(&wire)).await
}

fn check_count(spec: &TopicSpec, count: u32) -> Result<(), TopicError> {
    if count == spec.partitions {
        return Ok(());
    }
    Err(TopicError::Refused(describe_other_count(&spec.name, count, spec.partitions)))
}

/// What is asked of a topic of ours.
pub fn topic_properties(settings: &Settings, spec: &TopicSpec) -> Vec<(&'static str, String)> {
    let mut out: Vec<(&'static str, String)> = match spec.retention {
        TopicRetention::Compacted => {
            COMPACTED.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
        }
        TopicRetention::Milliseconds(ms) => {
            vec![
                ("cleanup.policy", "delete".to_owned()),
                ("retention.ms", ms.max(0).to_string()),
                ("segment.ms", SEGMENT_MS.to_owned()),
            ]
        }
    };
    out.push(("min.insync.replicas", settings.replication.min_insync.to_string()));
    out.push(("max.message.bytes", MESSAGE_MOST.to_string()));
    match settings.stamps {
        StampSource::Broker => out.push(("message.timestamp.type", "LogAppendTime".to_owned())),
        StampSource::Clock => {
            out.push(("message.timestamp.type", "CreateTime".to_owned()));
            // That clock may be far ahead of the brokers', or behind.
            out.push(("message.timestamp.after.max.ms", i64::MAX.to_string()));
            out.push(("message.timestamp.before.max.ms", i64::MAX.to_string()));
        }
    }
    out
}

/// Creates topics and waits until they are known and have leaders. One that is still being removed is in
/// the way for a moment, and created then.
async fn create_and_wait(
    inner: &std::sync::Arc<KafkaState>,
    admin: &AdminClient<KafkaClientContext>,
    missing: &[(&TopicSpec, &String)],
) -> Result<(), TopicError> {
    let waited = SteadyStopwatch::start();
    let made = missing.to_vec();
    let mut missing = missing.to_vec();
    for tries in 0.. {
        if missing.is_empty() {
            return await_leaders(inner, &made).await;
        }
        if waited.elapsed() > KNOWN {
            break;
        }
        create_missing(inner, admin, &missing).await?;
        if tries > 0 {
            runtime::retry::pause_before_retry(tries.min(3), 0).await;
        }
        let mut still = Vec::new();
        for (spec, wire) in missing {
            match look_up_topic(inner, wire).await? {
                TopicLookup::Count(count) => check_count(spec, count)?,
                TopicLookup::Nothing | TopicLookup::Leaderless => still.push((spec, wire)),
            }
        }
        missing = still;
    }
    let wires: Vec<&String> = missing.iter().map(|(_, wire)| *wire).collect();
    Err(TopicError::Busy(format!("the topics {wires:?} were created, but cannot be seen yet")))
}

/// Waits until the leaders of topics that were made just now know that they are: whoever asks them before is turned away.
async fn await_leaders(
    inner: &std::sync::Arc<KafkaState>,
    made: &[(&TopicSpec, &String)],
) -> Result<(), TopicError> {
    let waited = SteadyStopwatch::start();
    for (spec, wire) in made {
        for tries in 0.. {
            let (name, wire) = (spec.name.clone(), (*wire).clone());
            let ask = move |inner: &KafkaState| inner.bounds(&inner.all_partitions(&name, &wire)?);
            match inner.run_blocking(ask).await {
                Ok(_) => break,
                Err(TopicError::Busy(_)) if waited.elapsed() < LED => {
                    runtime::retry::pause_before_retry(tries.min(3), 0).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

async fn create_missing(
    inner: &KafkaState,
    admin: &AdminClient<KafkaClientContext>,
    missing: &[(&TopicSpec, &String)],
) -> Result<(), TopicError> {
    let factor = inner.settings.replication.factor;
    let asked: Vec<_> = missing.iter().map(|(spec, _)| topic_properties(&inner.settings, spec)).collect();
    let topics = missing.iter().zip(&asked).map(|((spec, wire), asked)| {
        let count = i32::try_from(spec.partitions).unwrap_or(i32::MAX);
        let topic = NewTopic::new(wire, count, TopicReplication::Fixed(factor));
        asked.iter().fold(topic, |topic, (name, value)| topic.set(name, value))
    });
    let topics: Vec<NewTopic<'_>> = topics.collect();
    let made = admin.create_topics(&topics, &admin_options()).await;
    for result in made.map_err(|error| kafka_error("creating topics", &error))? {
        match result {
            Ok(_) | Err((_, Code::TopicAlreadyExists)) => {}
            Err((wire, Code::InvalidReplicationFactor)) => {
                return Err(TopicError::Refused(format!(
                    "creating topic `{wire}`: the cluster does not have the {factor} brokers that \
                    `kafka.replication` asks for"
                )));
            }
            Err((wire, code)) => return Err(code_error(&format!("creating topic `{wire}`"), code)),
        }
    }
    Ok(())
}

pub fn admin_options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(metadata_client::PATIENCE))
        .operation_timeout(Some(metadata_client::PATIENCE))
}
