//! What librdkafka says by itself: lines for the log, errors of its connections, reports of deliveries.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use rdkafka::{
    ClientContext,
    config::RDKafkaLogLevel,
    consumer::ConsumerContext,
    error::{KafkaError, RDKafkaErrorCode as Code},
    producer::{DeliveryResult, ProducerContext},
};
use tokio::sync::Notify;

use crate::client_registry::ClientRegistry;

/// Words of what goes wrong between two who do not trust each other.
const DENIES: [&str; 3] = ["certificate", "SSL alert", "wrong version number"];

/// What every client of ours is given to speak through. Clones know of each other, so that a cluster that
/// is away is logged once and not by each client each second.
#[derive(Clone, Debug, Default)]
pub struct KafkaClientContext {
    away: Arc<AtomicBool>,
    /// Why the cluster does not let us in, unless it has answered since.
    denied: Arc<Mutex<Option<String>>>,
    pub clients: ClientRegistry,
}

impl KafkaClientContext {
    /// Something was answered.
    pub fn note_answer(&self) {
        if self.away.load(Ordering::Relaxed) && self.away.swap(false, Ordering::Relaxed) {
            *self.denied.lock().unwrap_or_else(PoisonError::into_inner) = None;
            tracing::info!("kafka answers again");
        }
    }

    fn note_away(&self, reason: &str) {
        if !self.away.swap(true, Ordering::Relaxed) {
            tracing::warn!(reason, "kafka does not answer");
        }
    }

    /// Why the cluster does not let us in, if that is so. It may be asked again all the same.
    pub fn denial_reason(&self) -> Option<String> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_denial(&self, reason: &str) {
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        if denied.replace(reason.to_owned()).is_none() {
            tracing::warn!(reason, "kafka rejected our credentials");
        }
        drop(denied);
        self.away.store(true, Ordering::Relaxed);
    }
}

impl ClientContext for KafkaClientContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        match (level, facility) {
            // Connections come and go; that none is left is an error of its own. What fails in a transaction
            // is told by the call that was for it.
            (_, "FAIL" | "ERROR" | "CONFWARN" | "TERMINATE" | "TXNERR" | "GETPID") => {
                tracing::debug!(facility, message, "librdkafka");
            }
            (
                RDKafkaLogLevel::Emerg
                | RDKafkaLogLevel::Alert
                | RDKafkaLogLevel::Critical
                | RDKafkaLogLevel::Error
                | RDKafkaLogLevel::Warning,
                _,
            ) => tracing::warn!(facility, message, "librdkafka"),
            _ => tracing::debug!(facility, message, "librdkafka"),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        match error.rdkafka_error_code() {
            Some(Code::AllBrokersDown) => self.note_away(reason),
            Some(Code::Authentication | Code::SaslAuthenticationFailed) => self.note_denial(reason),
            // Connections that just break off do so with these codes too.
            Some(Code::SSL | Code::BrokerTransportFailure)
                if DENIES.iter().any(|word| reason.contains(word)) =>
            {
                self.note_denial(reason);
            }
            Some(Code::PartitionEOF) => {}
            _ => tracing::debug!(%error, reason, "librdkafka"),
        }
    }
}

impl ConsumerContext for KafkaClientContext {}

impl ProducerContext for KafkaClientContext {
    type DeliveryOpaque = Arc<InFlightRecords>;

    fn delivery(&self, result: &DeliveryResult<'_>, flight: Arc<InFlightRecords>) {
        match result {
            Ok(_) => {
                self.note_answer();
                flight.note_landed(1, None);
            }
            Err((error, _)) => flight.note_landed(1, Some(error)),
        }
    }
}

/// Records on their way. They are counted: a producer's `flush` never takes less than 100 ms.
#[derive(Debug)]
pub struct InFlightRecords {
    left: AtomicUsize,
    failed: Mutex<Option<KafkaError>>,
    done: Notify,
}

impl InFlightRecords {
    pub fn of_count(records: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(records), failed: Mutex::default(), done: Notify::new() })
    }

    /// So many records have been confirmed, or have failed.
    pub fn note_landed(&self, records: usize, error: Option<&KafkaError>) {
        if let Some(error) = error {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert_with(|| error.clone());
        }
        if self.left.fetch_sub(records, Ordering::AcqRel) == records {
            self.done.notify_one();
        }
    }

    pub fn is_over(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    pub async fn wait_until_over(&self) {
        while !self.is_over() {
            self.done.notified().await;
        }
    }

    /// The first failure of all.
    pub fn outcome(&self) -> Result<(), KafkaError> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.clone().map_or(Ok(()), Err)
    }
}
