//! The producer of one partition of one group: writes its turns, each as one transaction.
//!
//! Opening it fences the previous owner and aborts its open transaction. So the transactional id, made of group and
//! partition, keeps a replaced owner from committing, whatever the group believes.

use std::{sync::Arc, time::Duration};

use rdkafka::{
    TopicPartitionList,
    config::FromClientConfigAndContext as _,
    consumer::ConsumerGroupMetadata,
    error::{KafkaError, RDKafkaErrorCode as Code},
    producer::{BaseProducer, Producer as _},
};
use runtime::clock::SteadyStopwatch;
use topic::port::{CommitError, NewRecord, TopicError};

use crate::{
    append::base_record,
    client_context::{InFlightRecords, KafkaClientContext},
    config,
    errors::{code_error, error_code, kafka_error},
    names,
    settings::Settings,
};

/// One try of a call that may be tried again.
const TRY: Duration = Duration::from_secs(10);
/// The same of an abort, between which delivery reports are looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How long to wait before it is.
const PAUSE: Duration = Duration::from_millis(50);
/// Between two looks for delivery reports. A `poll` that waits would take all of its time whatever comes, and keep a
/// core busy through the last millisecond.
const LOOK: Duration = Duration::from_millis(1);

/// The member for which a turn is written: it says how to wait, and when everything has ended.
pub trait TurnWaiter {
    /// Whether everything has ended as with a process that is killed.
    fn is_severed(&self) -> bool;

    /// Waits for so long, or less if something was heard. Whether everything ends.
    fn wait(&self, most: Duration) -> bool;
}

/// A producer with a transactional id of its own.
pub struct TransactionProducer {
    producer: BaseProducer<KafkaClientContext>,
    most: Duration,
}

/// What a turn writes.
pub struct TransactionWrite<'a> {
    pub settings: &'a Settings,
    pub records: &'a [NewRecord],
    pub stamp: Option<i64>,
    pub offsets: &'a TopicPartitionList,
    pub metadata: &'a ConsumerGroupMetadata,
}

/// Why a turn was not written.
pub struct TransactionError {
    why: String,
    code: Option<Code>,
    /// What was begun is taken back.
    aborted: bool,
}

impl TransactionError {
    fn lost_partition(why: String) -> Self {
        Self { why, code: None, aborted: false }
    }

    /// Whether it did not happen only because the group knows us under another count by now.
    pub fn is_stale(&self) -> bool {
        let stale = |code| {
            matches!(code, Code::IllegalGeneration | Code::StaleMemberEpoch | Code::RebalanceInProgress)
        };
        self.aborted && self.code.is_some_and(stale)
    }
}

impl From<TransactionError> for CommitError {
    fn from(failure: TransactionError) -> Self {
        let TransactionError { why, code, aborted } = failure;
        if !aborted || code.is_some_and(is_left_out) {
            return Self::Lost(why);
        }
        match code.map(|code| code_error(&why, code)) {
            // It would be refused each time.
            Some(error @ TopicError::Refused(_)) => Self::Engine(error),
            _ => Self::Aborted(why),
        }
    }
}

/// How far a call got.
enum TransactionStep {
    /// It did not happen, and what was begun is to be taken back.
    Abort(String, Option<Code>),
    /// This producer is of no use any more.
    Dead(String),
}

impl TransactionProducer {
    /// Opens it and shuts out its predecessor. Blocks.
    pub fn open(settings: &Settings, voice: &KafkaClientContext, id: &str) -> Result<Self, TopicError> {
        let what = || format!("opening transactions as `{id}`");
        let config = config::transaction_config(settings, id);
        let producer: BaseProducer<KafkaClientContext> =
            BaseProducer::from_config_and_context(&config, voice.clone())
                .map_err(|error| kafka_error(&what(), &error))?;
        producer.init_transactions(TRY).map_err(|error| kafka_error(&what(), &error))?;
        Ok(Self { producer, most: settings.transaction })
    }

    /// The name of the one that writes a partition's turns.
    pub fn transactional_id(settings: &Settings, group: &str, partition: u32) -> String {
        names::prefixed_name(settings, &format!("{group}-{partition}"))
    }

    /// Writes a turn. Blocks. What comes after the end of everything is not done any more: a process that
    /// was killed would not have done it either.
    pub fn commit(
        &self,
        waiter: &impl TurnWaiter,
        write: &TransactionWrite<'_>,
    ) -> Result<(), TransactionError> {
        let began = SteadyStopwatch::start();
        let done = self
            .retry_step(waiter, &began, "beginning", || self.producer.begin_transaction())
            .and_then(|()| self.send_turn(waiter, &began, write))
            .and_then(|()| {
                self.retry_step(waiter, &began, "sending offsets", || {
                    self.producer.send_offsets_to_transaction(write.offsets, write.metadata, TRY)
                })
            })
            .and_then(|()| {
                self.retry_step(waiter, &began, "committing", || self.producer.commit_transaction(TRY))
            });
        let (why, code) = match done {
            Ok(()) => return Ok(()),
            Err(TransactionStep::Dead(why)) => return Err(TransactionError::lost_partition(why)),
            Err(TransactionStep::Abort(why, code)) => (why, code),
        };
        let began = SteadyStopwatch::start();
        match self.retry_step(waiter, &began, "aborting", || self.producer.abort_transaction(LOOK_AGAIN)) {
            Err(TransactionStep::Abort(why, _) | TransactionStep::Dead(why)) => {
                Err(TransactionError::lost_partition(why))
            }
            Ok(()) => Err(TransactionError { why, code, aborted: true }),
        }
    }

    fn send_turn(
        &self,
        waiter: &impl TurnWaiter,
        began: &SteadyStopwatch,
        write: &TransactionWrite<'_>,
    ) -> Result<(), TransactionStep> {
        let flight = InFlightRecords::of_count(write.records.len());
        for record in write.records {
            let wire = names::wire_topic(write.settings, &record.topic);
            let mut asked = false;
            loop {
                let sent = self.producer.send(base_record(record, &wire, write.stamp, flight.clone()));
                let Err((error, _)) = sent else { break };
                match error_code(&error) {
                    Some(Code::QueueFull) => self.poll_once(waiter, began)?,
                    // It is there, so what the producer knows is old.
                    Some(Code::UnknownPartition | Code::UnknownTopic) if !asked => {
                        asked = true;
                        drop(self.producer.client().fetch_metadata(Some(&wire), TRY));
                    }
                    _ => return Err(step_of_error("sending", &error)),
                }
            }
        }
        while !flight.is_over() {
            self.poll_once(waiter, began)?;
        }
        flight.outcome().map_err(|error| step_of_error("sending", &error))
    }

    /// Waits a moment and serves delivery reports. They all come at last: what is not delivered in time fails.
    fn poll_once(&self, waiter: &impl TurnWaiter, began: &SteadyStopwatch) -> Result<(), TransactionStep> {
        waiter.wait(LOOK);
        self.producer.poll(Duration::ZERO);
        self.check_going_on(waiter, began, "sending")
    }

    fn check_going_on(
        &self,
        waiter: &impl TurnWaiter,
        began: &SteadyStopwatch,
        what: &str,
    ) -> Result<(), TransactionStep> {
        if waiter.is_severed() {
            return Err(TransactionStep::Dead("the log was closed".to_owned()));
        }
        if began.elapsed() > self.most + TRY {
            return Err(TransactionStep::Dead(format!("{what} took too long")));
        }
        Ok(())
    }

    fn retry_step(
        &self,
        waiter: &impl TurnWaiter,
        began: &SteadyStopwatch,
        what: &str,
        mut call: impl FnMut() -> Result<(), KafkaError>,
    ) -> Result<(), TransactionStep> {
        loop {
            self.check_going_on(waiter, began, what)?;
            let Err(error) = call() else { return Ok(()) };
            let again = match &error {
                KafkaError::Transaction(error) => error.is_retriable() && !error.is_fatal(),
                // What is left in flight, before a commit.
                KafkaError::Flush(_) => true,
                _ => false,
            };
            if !again || began.elapsed() > self.most {
                return Err(step_of_error(what, &error));
            }
            // Reports that nobody has looked at count as being in flight, and an abort waits for those.
            self.producer.poll(Duration::ZERO);
            waiter.wait(PAUSE);
        }
    }
}

impl std::fmt::Debug for TransactionProducer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransactionProducer").finish_non_exhaustive()
    }
}

/// Opens one for each of these partitions, several at a time.
pub fn open_all(
    settings: &Settings,
    voice: &KafkaClientContext,
    group: &str,
    partitions: &[u32],
) -> Result<Vec<Arc<TransactionProducer>>, TopicError> {
    /// Each waits for the coordinator's log, which takes them all at once gladly.
    const AT_ONCE: usize = 16;
    let mut out = Vec::with_capacity(partitions.len());
    for some in partitions.chunks(AT_ONCE) {
        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = |partition: &u32| {
                let id = TransactionProducer::transactional_id(settings, group, *partition);
                scope.spawn(move || TransactionProducer::open(settings, voice, &id))
            };
            let threads: Vec<_> = some.iter().map(open).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        for transactor in opened {
            let ended = |_| TopicError::Broken("opening transactions was stopped".to_owned());
            out.push(Arc::new(transactor.map_err(ended)??));
        }
    }
    Ok(out)
}

fn step_of_error(what: &str, error: &KafkaError) -> TransactionStep {
    let (code, why) = (error_code(error), format!("{what}: {error}"));
    let dead = match error {
        KafkaError::Transaction(error) => !error.txn_requires_abort(),
        KafkaError::Flush(_) => true,
        _ => matches!(code, Some(Code::Fatal | Code::Fenced | Code::State | Code::OutOfOrderSequenceNumber)),
    };
    if dead || code.is_some_and(is_fenced) {
        TransactionStep::Dead(why)
    } else {
        TransactionStep::Abort(why, code)
    }
}

fn is_fenced(code: Code) -> bool {
    matches!(code, Code::Fenced | Code::ProducerFenced | Code::InvalidProducerEpoch | Code::Fatal)
}

/// The group does not know us any more, so somebody else has what was ours, or will.
pub fn is_left_out(code: Code) -> bool {
    matches!(code, Code::UnknownMemberId | Code::FencedInstanceId | Code::FencedMemberEpoch)
}
