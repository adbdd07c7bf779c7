//! The partitioned log on Apache Kafka.
//!
//! [`KafkaTopics`] is the engine: [`settings`] says how the cluster is reached, [`config`] says it to librdkafka.
//! [`append`] writes, [`scan`] reads outside of groups, [`metadata_client`] asks how far things reach, [`declare`] makes
//! topics, [`topic_audit`] looks at those that others made. [`member`] is a member of a group; what it promises, and how, stands there. [`client_context`] is where
//! librdkafka speaks, [`errors`] what its errors ask for, [`client_registry`] lists the clients that are open, and
//! [`liveness`] finds out when one of them has nothing to say any more.
//!
//! librdkafka has threads of its own and its calls block, so ours are made on threads where that harms
//! nobody. A cluster that is away is waited for: members try again until it is back, and everybody else is
//! told [`TopicError::Busy`].

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use async_trait::async_trait;
use rdkafka::Offset;
use runtime::{Clock, clock::SteadyStopwatch};
use topic::port::{
    GroupMembership, GroupStanding, Member, NewRecord, TopicError, TopicName, TopicRecord, TopicSpec, Topics,
};

mod append;
mod client_context;
mod client_registry;
mod config;
mod declare;
mod errors;
mod kafka_numbers;
mod liveness;
mod member;
mod metadata_client;
mod names;
mod scan;
pub mod settings;
mod topic_audit;
mod upkeep;

#[cfg(test)]
mod tests;

pub use settings::Settings;

use client_context::KafkaClientContext;
use config::ReadIsolation;
use member::member_state::KafkaMemberShared;
use metadata_client::{GroupClients, MetadataClient};
use names::WireTopic;
use scan::{PartitionRef, ScanConsumers};

/// What a value and a key may weigh, as every engine has it.
pub const VALUE_MOST: usize = 1 << 20;
pub const KEY_MOST: usize = 32 << 10;

/// Between looks at whether a transaction is decided.
const MARKING: Duration = Duration::from_millis(5);
/// So many offsets may lie between a group and the end for it to be asked whether they are all marks of
/// transactions. Behind each transaction is one, and a group stands behind the last record.
const MARKS_MOST: u64 = 64;

/// The log on a cluster. Cheap to clone; connections end when the last clone and the last member are gone.
#[derive(Clone)]
pub struct KafkaTopics {
    inner: Arc<KafkaState>,
}

/// What clones and members share.
pub(crate) struct KafkaState {
    settings: Settings,
    clock: Clock,
    voice: KafkaClientContext,
    asker: Arc<MetadataClient>,
    /// Sees what is not decided yet; made when it is needed first.
    uncommitted: Mutex<Option<Arc<MetadataClient>>>,
    appender: append::KafkaAppender,
    lookers: ScanConsumers,
    groups: GroupClients,
    members: Mutex<Vec<(Weak<KafkaMemberShared>, JoinHandle<()>)>>,
    severed: AtomicBool,
    /// Some client has lost its brokers for good.
    given_up: AtomicBool,
}

/// What a client of one's own has to be told to reach the cluster: for whoever measures what we add.
pub fn client_config(settings: &Settings) -> rdkafka::ClientConfig {
    config::query_config(settings, ReadIsolation::Committed)
}

impl KafkaTopics {
    /// Takes the settings and prepares clients; whether the cluster answers is found out when it is used.
    pub fn open(settings: Settings, clock: Clock) -> Result<Self, TopicError> {
        let voice = KafkaClientContext::default();
        let inner = KafkaState {
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
        };
        let inner = Arc::new(inner);
        let started = liveness::start(&inner);
        started.map_err(|error| TopicError::Broken(format!("starting a thread: {error}")))?;
        Ok(Self { inner })
    }

    /// Why the cluster does not let us in, if that is why it does not answer: a password or a certificate.
    pub fn denial_reason(&self) -> Option<String> {
        self.inner.voice.denial_reason()
    }

    /// Ends as a process does that is killed: nothing is committed or aborted, and every call fails. Only
    /// for tests, which have one process.
    #[doc(hidden)]
    pub fn sever(&self) {
        self.inner.severed.store(true, Ordering::Release);
        for (shared, _) in self.inner.lock_members().iter() {
            if let Some(shared) = shared.upgrade() {
                shared.sever();
            }
        }
    }
}

impl KafkaState {
    /// Does what blocks where it may.
    async fn run_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, TopicError> + Send + 'static,
    ) -> Result<T, TopicError> {
        self.check()?;
        let inner = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.map_err(|error| TopicError::Broken(format!("a call to kafka ended early: {error}")))?
    }

    fn check(&self) -> Result<(), TopicError> {
        if self.severed.load(Ordering::Acquire) {
            return Err(TopicError::Broken("the log was closed".to_owned()));
        }
        if self.given_up.load(Ordering::Acquire) {
            return Err(deaf_error());
        }
        Ok(())
    }

    /// Nothing works any more until the log is opened anew.
    fn give_up(&self) {
        tracing::warn!(
            "a client of kafka has lost all brokers and finds none again; all are to be opened anew"
        );
        self.given_up.store(true, Ordering::Release);
        for shared in self.lock_members().iter().filter_map(|(shared, _)| shared.upgrade()) {
            shared.update_for_member(|state| state.broken.get_or_insert_with(deaf_error).clone());
        }
    }

    fn lock_members(&self) -> std::sync::MutexGuard<'_, Vec<(Weak<KafkaMemberShared>, JoinHandle<()>)>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client that sees what is not decided yet.
    fn uncommitted_client(&self) -> Result<Arc<MetadataClient>, TopicError> {
        let mut slot = self.uncommitted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asker) = &*slot {
            return Ok(asker.clone());
        }
        let asker = MetadataClient::open(&self.settings, ReadIsolation::Uncommitted, &self.voice)?;
        Ok(slot.insert(asker).clone())
    }

    /// All partitions of a topic, as questions take them.
    fn all_partitions<'a>(&self, name: &str, wire: &'a str) -> Result<Vec<(&'a str, u32)>, TopicError> {
        Ok((0..self.asker.count_partitions(name, wire)?).map(|partition| (wire, partition)).collect())
    }

    /// Refuses records that no partition would take, before any of them is on its way. Their topics must
    /// be known.
    fn check_records(&self, records: &[NewRecord]) -> Result<(), TopicError> {
        for record in records {
            let name = &record.topic;
            let count = self.asker.count_partitions(name, &names::wire_topic(&self.settings, name))?;
            if record.partition >= count {
                let partition = record.partition;
                return Err(TopicError::Refused(format!(
                    "topic `{name}` has no partition {partition}, it has {count}"
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
    async fn learn_topics(self: &Arc<Self>, records: &[NewRecord]) -> Result<(), TopicError> {
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
    fn bounds(&self, places: &[(&str, u32)]) -> Result<Vec<(u64, u64)>, TopicError> {
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

    fn read(
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
                "topic `{name}` has no partition {partition}, it has {count}"
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

    fn standing(&self, group: &str, named: &WireTopic) -> Result<Vec<GroupStanding>, TopicError> {
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
                tracing::error!("the thread of a member had panicked");
            }
        }
    }
}

#[async_trait]
impl Topics for KafkaTopics {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.inner.check()?;
        declare::declare_topics(&self.inner, specs).await
    }

    async fn find_unfit(&self, specs: &[TopicSpec]) -> Result<Vec<String>, TopicError> {
        self.inner.check()?;
        topic_audit::audit_topics(&self.inner, specs).await
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        let inner = &self.inner;
        inner.check()?;
        inner.learn_topics(&records).await?;
        inner.check_records(&records)?;
        let stamp = append::append_stamp(&inner.settings, &inner.clock);
        inner.appender.append(&inner.settings, &inner.voice, stamp, &records).await?;
        inner.check()
    }

    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<TopicRecord>, TopicError> {
        let named = WireTopic::new(&self.inner.settings, topic);
        self.inner.run_blocking(move |inner| inner.read(&named, partition, from, most)).await
    }

    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        let named = WireTopic::new(&self.inner.settings, topic);
        let ask = move |inner: &KafkaState| inner.bounds(&inner.all_partitions(&named.name, &named.wire)?);
        self.inner.run_blocking(ask).await
    }

    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        let named = WireTopic::new(&self.inner.settings, topic);
        // Negative numbers mean something else to the brokers.
        let at = Offset::Offset(at.max(0));
        let ask = move |inner: &KafkaState| {
            inner.asker.offsets(&inner.all_partitions(&named.name, &named.wire)?, at)
        };
        self.inner.run_blocking(ask).await
    }

    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<GroupStanding>, TopicError> {
        let named = WireTopic::new(&self.inner.settings, topic);
        let group = names::prefixed_name(&self.inner.settings, group);
        self.inner.run_blocking(move |inner| inner.standing(&group, &named)).await
    }

    async fn has_members(&self, group: &str) -> Result<bool, TopicError> {
        upkeep::has_members(&self.inner, group).await
    }

    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        self.inner.check()?;
        upkeep::remove_topics(&self.inner, topics).await
    }

    async fn life(&self, topic: &str) -> Result<Option<i64>, TopicError> {
        self.inner.check()?;
        topic_audit::record_life(&self.inner, topic).await
    }

    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        let inner = self.inner.clone();
        let join = move |_: &KafkaState| member::KafkaMember::join(inner, &membership);
        Ok(Box::new(self.inner.run_blocking(join).await?))
    }
}

impl fmt::Debug for KafkaTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaTopics").field("brokers", &self.inner.settings.brokers).finish_non_exhaustive()
    }
}
