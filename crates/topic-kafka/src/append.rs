//! Records on their way to the brokers: what all appends share, and how a record is put into words.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rdkafka::{
    config::FromClientConfigAndContext as _,
    error::{KafkaError, RDKafkaErrorCode as Code},
    message::{Header, OwnedHeaders},
    producer::{BaseRecord, Producer as _, ThreadedProducer},
};
use topic::port::{NewRecord, TopicError};

use crate::{
    client_context::{InFlightRecords, KafkaClientContext},
    config,
    errors::{error_code, kafka_error},
    metadata_client, names,
    settings::{Settings, StampSource},
};

/// How long to wait for room in a producer's queue before looking again.
const ROOM: Duration = Duration::from_millis(5);

/// The one producer of all appends outside of transactions. It is idempotent, so what it repeats by itself
/// is there once and in order.
pub struct KafkaAppender {
    now: Mutex<Arc<ThreadedProducer<KafkaClientContext>>>,
}

impl KafkaAppender {
    pub fn open(settings: &Settings, voice: &KafkaClientContext) -> Result<Self, TopicError> {
        Ok(Self { now: Mutex::new(open_producer(settings, voice)?) })
    }

    /// The producer; another one if the last has lost count of its sequence numbers, for which there is no cure.
    fn get(
        &self,
        settings: &Settings,
        voice: &KafkaClientContext,
    ) -> Result<Arc<ThreadedProducer<KafkaClientContext>>, TopicError> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((code, why)) = now.client().fatal_error() {
            tracing::warn!(%code, why, "the producer is replaced");
            *now = open_producer(settings, voice)?;
        }
        Ok(now.clone())
    }

    /// All are durable when it returns. The records have been looked at before.
    pub async fn append(
        &self,
        settings: &Settings,
        voice: &KafkaClientContext,
        stamp: Option<i64>,
        records: &[NewRecord],
    ) -> Result<(), TopicError> {
        let producer = self.get(settings, voice)?;
        // One more, so that it is not over before all of them are on their way.
        let flight = InFlightRecords::of_count(records.len() + 1);
        for (sent, record) in records.iter().enumerate() {
            let wire = names::wire_topic(settings, &record.topic);
            let mut asked = false;
            let refused = loop {
                let sent = producer.send(base_record(record, &wire, stamp, flight.clone()));
                let Err((error, _)) = sent else { break None };
                match error_code(&error) {
                    Some(Code::QueueFull) => runtime::retry::wait_real_time(ROOM).await,
                    // It is there, so what the producer knows is old: a topic of that name was taken away.
                    Some(Code::UnknownPartition | Code::UnknownTopic) if !asked => {
                        asked = true;
                        refresh_metadata(producer.clone(), wire.clone()).await;
                    }
                    _ => break Some(error),
                }
            };
            if let Some(error) = refused {
                flight.note_landed(records.len() - sent, Some(&error));
                break;
            }
        }
        flight.note_landed(1, None);
        flight.wait_until_over().await;
        flight.outcome().map_err(|error| kafka_error("appending", &error))
    }
}

async fn refresh_metadata(producer: Arc<ThreadedProducer<KafkaClientContext>>, wire: String) {
    let ask = move || drop(producer.client().fetch_metadata(Some(&wire), metadata_client::PATIENCE));
    // Whether it helped is seen by who sends again.
    drop(tokio::task::spawn_blocking(ask).await);
}

fn open_producer(
    settings: &Settings,
    voice: &KafkaClientContext,
) -> Result<Arc<ThreadedProducer<KafkaClientContext>>, TopicError> {
    let producer: Result<_, KafkaError> =
        ThreadedProducer::from_config_and_context(&config::appender_config(settings), voice.clone());
    let producer = Arc::new(producer.map_err(|error| kafka_error("opening the producer", &error))?);
    voice.clients.add(&producer);
    Ok(producer)
}

/// The time that goes with our records, where the broker does not say it.
pub fn append_stamp(settings: &Settings, clock: &runtime::Clock) -> Option<i64> {
    match settings.stamps {
        StampSource::Broker => None,
        StampSource::Clock => Some(clock.now()),
    }
}

/// A record as librdkafka takes it.
pub fn base_record<'a>(
    record: &'a NewRecord,
    wire: &'a str,
    stamp: Option<i64>,
    flight: Arc<InFlightRecords>,
) -> BaseRecord<'a, [u8], [u8], Arc<InFlightRecords>> {
    let mut out = BaseRecord::with_opaque_to(wire, flight)
        .partition(i32::try_from(record.partition).unwrap_or(i32::MAX))
        .key(record.key.as_slice());
    if let Some(value) = &record.value {
        out = out.payload(value.as_slice());
    }
    if let Some(stamp) = stamp {
        out = out.timestamp(stamp);
    }
    if !record.headers.is_empty() {
        let mut headers = OwnedHeaders::new_with_capacity(record.headers.len());
        for (key, value) in &record.headers {
            headers = headers.insert(Header { key, value: Some(value) });
        }
        out = out.headers(headers);
    }
    out
}
