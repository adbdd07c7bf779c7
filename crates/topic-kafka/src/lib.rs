//! The partitioned log on Apache Kafka.
//!
//! [`KafkaTopics`] is the engine, [`kafka_state`] what its clones and members share. [`settings`] says how the cluster is
//! reached, [`config`] says it to librdkafka, [`limits`] what a record may weigh. [`append`] writes, [`scan`] reads
//! outside of groups, [`metadata_client`] asks how far things reach, [`declare`] makes topics, [`topic_audit`] looks at
//! those that others made. [`member`] is a member of a group; what it promises, and how, stands there.
//! [`client_context`] is where librdkafka speaks, [`errors`] what its errors ask for, [`client_registry`] lists the
//! clients that are open, and [`liveness`] finds out when one of them has nothing to say any more.
//!
//! librdkafka has threads of its own and its calls block, so ours are made on threads where that harms
//! nobody. A cluster that is away is waited for: members try again until it is back, and everybody else is
//! told [`TopicError::Busy`].

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

use async_trait::async_trait;
use rdkafka::Offset;
use runtime::Clock;
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
mod kafka_state;
mod limits;
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

pub use limits::{KEY_MOST, VALUE_MOST};
pub use settings::Settings;

use config::ReadIsolation;
use kafka_state::KafkaState;
use names::WireTopic;

/// The log on a cluster. Cheap to clone; connections end when the last clone and the last member are gone.
#[derive(Clone)]
pub struct KafkaTopics {
    inner: Arc<KafkaState>,
}

/// The settings by which another client reaches the cluster, for benchmarks of our overhead.
pub fn client_config(settings: &Settings) -> rdkafka::ClientConfig {
    config::query_config(settings, ReadIsolation::Committed)
}

impl KafkaTopics {
    /// Takes the settings and prepares clients; whether the cluster answers is found out when it is used.
    pub fn open(settings: Settings, clock: Clock) -> Result<Self, TopicError> {
        let inner = KafkaState::open(settings, clock)?;
        let inner = Arc::new(inner);
        let started = liveness::start(&inner);
        started.map_err(|error| TopicError::Broken(format!("starting a thread: {error}")))?;
        Ok(Self { inner })
    }

    /// Why the cluster does not let us in, if that is why it does not answer: a password or a certificate.
    pub fn denial_reason(&self) -> Option<String> {
        self.inner.voice.denial_reason()
    }

    /// Where our members of a group stand, in words, for whoever wonders why nothing goes on.
    pub fn describe_members(&self, group: &str) -> Vec<String> {
        let members = self.inner.lock_members();
        let ours = members.iter().filter_map(|(shared, _)| shared.upgrade());
        let ours = ours.filter(|shared| *shared.group == *group);
        ours.map(|shared| shared.lock_state().describe()).collect()
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
