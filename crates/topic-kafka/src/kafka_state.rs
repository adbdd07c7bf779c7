//! What clones of the log and its members share: the clients, and whether they may still be used.

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rdkafka::Offset;
use runtime::{Clock, clock::SteadyStopwatch};
use topic::port::{GroupStanding, NewRecord, TopicError, TopicRecord};

use crate::{
    append,
    client_context::KafkaClientContext,
    config::ReadIsolation,
    limits::{KEY_MOST, VALUE_MOST},
    member::member_state::KafkaMemberShared,
    metadata_client::{self, GroupClients, MetadataClient},
    names::{self, WireTopic},
    scan::{self, PartitionRef, ScanConsumers},
    settings::Settings,
};

/// Between looks at whether a transaction is decided.
const MARKING: Duration = Duration::from_millis(5);
/// So many offsets may lie between a group and the end for it to be asked whether they are all marks of
/// transactions. Behind each transaction is one, and a group stands behind the last record.
const MARKS_MOST: u64 = 64;

/// What clones and members share.
pub struct KafkaState {
    pub settings: Settings,
    pub clock: Clock,
    pub voice: KafkaClientContext,
    pub asker: Arc<MetadataClient>,
    /// Sees what is not decided yet; made when it is needed first.
    pub uncommitted: Mutex<Option<Arc<MetadataClient>>>,
    pub appender: append::KafkaAppender,
    pub lookers: ScanConsumers,
    pub groups: GroupClients,
    pub members: Mutex<Vec<(Weak<KafkaMemberShared>, JoinHandle<()>)>>,
    pub severed: AtomicBool,
    /// Some client has lost its brokers for good.
    pub given_up: AtomicBool,
}

impl KafkaState {
    /// Prepares clients; nobody is asked yet.
    pub fn open(settings: Settings, clock: Clock) -> Result<Self, TopicError> {
        let voice = KafkaClientContext::default();
        Ok(Self {
            asker: MetadataClient::open(&settings, ReadIsolation::Committed, &voice)?,
            uncommitted: Mutex::default(),
            appender: append::KafkaAppender::open(&settings, &voice)?,
            lookers: ScanConsumers::default(),
            groups: GroupClients::default(),
            members: Mutex::default(),
            severed: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            settings,
            clock,
            voice,
        })
    }

    /// Does what blocks where it may.
    pub async fn run_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, TopicError> + Send + 'static,
    ) -> Result<T, TopicError> {
        self.check()?;
        let inner = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.map_err(|error| TopicError::Broken(format!("a call to kafka ended early: {error}")))?
    }

    pub fn check(&self) -> Result<(), TopicError> {
        if self.severed.load(Ordering::Acquire) {
            return Err(TopicError::Broken("the log was closed".to_owned()));
        }
        if self.given_up.load(Ordering::Acquire) {
            return Err(deaf_error());
        }
        Ok(())
    }

    /// Nothing works any more until the log is opened anew.
    pub fn give_up(&self) {
        tracing::warn!("a Kafka client has lost all brokers and finds none; all clients will be reopened");
        self.given_up.store(true, Ordering::Release);
        for shared in self.lock_members().iter().filter_map(|(shared, _)| shared.upgrade()) {
            shared.update_for_member(|state| state.broken.get_or_insert_with(deaf_error).clone());
        }
    }

    pub fn lock_members(&self) -> std::sync::MutexGuard<'_, Vec<(Weak<KafkaMemberShared>, JoinHandle<()>)>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client that sees what is not decided yet.
    pub fn uncommitted_client(&self) -> Result<Arc<MetadataClient>, TopicError> {
        let mut slot = self.uncommitted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asker) = &*slot {
            return Ok(asker.clone());
        }
        let asker = MetadataClient::open(&self.settings, ReadIsolation::Uncommitted, &self.voice)?;
        Ok(slot.insert(asker).clone())
    }

    /// All partitions of a topic, as questions take them.
    pub fn all_partitions<'a>(&self, name: &str, wire: &'a str) -> Result<Vec<(&'a str, u32)>, TopicError> {
        Ok((0..self.asker.count_partitions(name, wire)?).map(|partition| (wire, partition)).collect())
    }

    /// Refuses records that no partition would take, before any of them is on its way. Their topics must
    /// be known.
    pub fn check_records(&self, records: &[NewRecord]) -> Result<(), TopicError> {
        for record in records {
            let name = &record.topic;
            let count = self.asker.count_partitions(name, &names::wire_topic(&self.settings, name))?;
            if record.partition >= count {
                let partition = record.partition;
                return Err(TopicError::Refused(format!(
                    "topic `{name}` has no partition {partition}; it has {count}"
                )));
            }
            let (key, value) = (record.key.len(), record.value.as_ref().map_or(0, Vec::len));
            if key > KEY_MOST || value > VALUE_MOST {
                return Err(TopicError::Refused(format!("a record of {key} + {value} bytes for `{name}`")));
            }
        }
        Ok(())
    }

    /// Makes sure that the topics of records are known, so that nobody is asked while they are looked at.
    pub async fn learn_topics(self: &Arc<Self>, records: &[NewRecord]) -> Result<(), TopicError> {
        let mut unknown: Vec<WireTopic> = Vec::new();
        for record in records {
            if unknown.last().is_none_or(|last| last.name != record.topic) {
                let named = WireTopic::new(&self.settings, &record.topic);
                if self.asker.known_count(&named.wire).is_none() {
                    unknown.push(named);
                }
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        self.run_blocking(move |inner| {
            unknown
                .iter()
                .try_for_each(|topic| inner.asker.count_partitions(&topic.name, &topic.wire).map(drop))
        })
        .await
    }

    /// The first and the next offset of partitions. A commit returns a moment before the marks that make its
    /// records visible are all written, so what is being decided is waited for; but not for long, since a
    /// writer that died is decided about by whoever takes over from it.
    pub fn bounds(&self, places: &[(&str, u32)]) -> Result<Vec<(u64, u64)>, TopicError> {
        let written = self.uncommitted_client()?.offsets(places, Offset::End)?;
        let waited = SteadyStopwatch::start();
        loop {
            let bounds = self.asker.bounds(places)?;
            let decided = bounds.iter().zip(&written).all(|((_, end), written)| end >= written);
            if decided || waited.elapsed() > metadata_client::UNDECIDED {
                return Ok(bounds);
            }
            std::thread::park_timeout(MARKING);
        }
    }

    pub fn read(
        &self,
        named: &WireTopic,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<TopicRecord>, TopicError> {
        let count = self.asker.count_partitions(&named.name, &named.wire)?;
        if partition >= count {
            let name = &named.name;
            return Err(TopicError::Refused(format!(
                "topic `{name}` has no partition {partition}; it has {count}"
            )));
        }
        let (first, end) = self.bounds(&[(&*named.wire, partition)])?.first().copied().unwrap_or_default();
        let mut out = Vec::new();
        if most > 0 {
            let place = PartitionRef { wire: &named.wire, partition };
            // Whoever looks, from wherever, sees what there is.
            self.lookers.scan_records(
                &self.settings,
                &self.voice,
                &place,
                from.max(first)..end,
                |message| {
                    out.push(scan::read_record(&named.name, message));
                    out.len() < most
                },
            )?;
        }
        Ok(out)
    }

    pub fn standing(&self, group: &str, named: &WireTopic) -> Result<Vec<GroupStanding>, TopicError> {
        let places = self.all_partitions(&named.name, &named.wire)?;
        let committed = self.groups.committed_offsets(&self.settings, &self.voice, group, &places)?;
        let bounds = self.bounds(&places)?;
        let mut out: Vec<GroupStanding> = (0..)
            .zip(bounds)
            .zip(committed)
            .map(|((partition, (first, end)), committed)| GroupStanding {
                topic: named.name.clone(),
                partition,
                committed: committed.unwrap_or(first),
                end,
            })
            .collect();
        let near = |s: &&GroupStanding| (1..=MARKS_MOST).contains(&s.lag());
        let near: Vec<_> = out.iter().filter(near).map(|s| (s.partition, s.committed..s.end)).collect();
        if !near.is_empty() {
            let bare = self.lookers.find_bare(&self.settings, &self.voice, &named.wire, &near)?;
            for standing in out.iter_mut().filter(|s| bare.contains(&s.partition)) {
                standing.committed = standing.end;
            }
        }
        Ok(out)
    }
}

/// As if the cluster were away: it is waited for, and everything opened anew.
fn deaf_error() -> TopicError {
    TopicError::Busy("a client of kafka has lost all brokers".to_owned())
}

impl Drop for KafkaState {
    fn drop(&mut self) {
        // So that nobody waits for a session to end after a shutdown in good order.
        for (_, thread) in self.lock_members().drain(..) {
            if thread.join().is_err() {
                tracing::error!("the thread of a member panicked");
            }
        }
    }
}
