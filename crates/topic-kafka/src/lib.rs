//! The partitioned log on Apache Kafka.
//!
//! [`Kafka`] is the engine: [`settings`] says how the cluster is reached, [`config`] says it to librdkafka.
//! [`append`] writes, [`look`] reads outside of groups, [`ask`] asks how far things reach, [`declare`] makes
//! topics, [`unfit`] looks at those that others made. [`member`] is a member of a group; what it promises, and how, stands there. [`voice`] is where
//! librdkafka speaks, [`errors`] what its errors ask for, and [`pulse`] finds out when it has nothing to say any more.
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
use runtime::{Clock, clock::Stopwatch};
use topic::port::{
    Member, Membership, NewRecord, Record, Standing, TopicError, TopicName, TopicSpec, Topics,
};

mod append;
mod ask;
mod config;
mod declare;
mod errors;
mod look;
mod member;
mod names;
mod pulse;
pub mod settings;
mod unfit;
mod upkeep;
mod voice;

#[cfg(test)]
mod tests;

pub use settings::Settings;

use ask::{Asker, Groups};
use config::Isolation;
use look::{Lookers, Place};
use member::shared::Shared;
use names::Named;
use voice::Voice;

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
pub struct Kafka {
    inner: Arc<Inner>,
}

/// What clones and members share.
pub(crate) struct Inner {
    settings: Settings,
    clock: Clock,
    voice: Voice,
    asker: Arc<Asker>,
    /// Sees what is not decided yet; made when it is needed first.
    uncommitted: Mutex<Option<Arc<Asker>>>,
    appender: append::Appender,
    lookers: Lookers,
    groups: Groups,
    members: Mutex<Vec<(Weak<Shared>, JoinHandle<()>)>>,
    severed: AtomicBool,
    /// Some client has lost its brokers for good.
    given_up: AtomicBool,
}

/// What a client of one's own has to be told to reach the cluster: for whoever measures what we add.
pub fn client_config(settings: &Settings) -> rdkafka::ClientConfig {
    config::query(settings, Isolation::Committed)
}

impl Kafka {
    /// Takes the settings and prepares clients; whether the cluster answers is found out when it is used.
    pub fn open(settings: Settings, clock: Clock) -> Result<Self, TopicError> {
        let voice = Voice::default();
        let inner = Inner {
            asker: Asker::open(&settings, Isolation::Committed, &voice)?,
            uncommitted: Mutex::default(),
            appender: append::Appender::open(&settings, &voice)?,
            lookers: Lookers::default(),
            groups: Groups::default(),
            members: Mutex::default(),
            severed: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            settings,
            clock,
            voice,
        };
        let inner = Arc::new(inner);
        let started = pulse::start(&inner);
        started.map_err(|error| TopicError::Broken(format!("starting a thread: {error}")))?;
        Ok(Self { inner })
    }

    /// Why the cluster does not let us in, if that is why it does not answer: a password or a certificate.
    pub fn denied(&self) -> Option<String> {
        self.inner.voice.denied()
    }

    /// Ends as a process does that is killed: nothing is committed or aborted, and every call fails. Only
    /// for tests, which have one process.
    #[doc(hidden)]
    pub fn sever(&self) {
        self.inner.severed.store(true, Ordering::Release);
        for (shared, _) in self.inner.members().iter() {
            if let Some(shared) = shared.upgrade() {
                shared.sever();
            }
        }
    }
}

impl Inner {
    /// Does what blocks where it may.
    async fn blocking<T: Send + 'static>(
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
            return Err(deaf());
        }
        Ok(())
    }

    /// Nothing works any more until the log is opened anew.
    fn give_up(&self) {
        tracing::warn!(
            "a client of kafka has lost all brokers and finds none again; all are to be opened anew"
        );
        self.given_up.store(true, Ordering::Release);
        for shared in self.members().iter().filter_map(|(shared, _)| shared.upgrade()) {
            shared.tell(|state| state.broken.get_or_insert_with(deaf).clone());
        }
    }

    fn members(&self) -> std::sync::MutexGuard<'_, Vec<(Weak<Shared>, JoinHandle<()>)>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client that sees what is not decided yet.
    fn uncommitted(&self) -> Result<Arc<Asker>, TopicError> {
        let mut slot = self.uncommitted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asker) = &*slot {
            return Ok(asker.clone());
        }
        let asker = Asker::open(&self.settings, Isolation::Uncommitted, &self.voice)?;
        Ok(slot.insert(asker).clone())
    }

    /// All partitions of a topic, as questions take them.
    fn places<'a>(&self, name: &str, wire: &'a str) -> Result<Vec<(&'a str, u32)>, TopicError> {
        Ok((0..self.asker.count(name, wire)?).map(|partition| (wire, partition)).collect())
    }

    /// Refuses records that no partition would take, before any of them is on its way. Their topics must
    /// be known.
    fn check_records(&self, records: &[NewRecord]) -> Result<(), TopicError> {
        for record in records {
            let name = &record.topic;
            let count = self.asker.count(name, &names::topic(&self.settings, name))?;
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
    async fn know(self: &Arc<Self>, records: &[NewRecord]) -> Result<(), TopicError> {
        let mut unknown: Vec<Named> = Vec::new();
        for record in records {
            if unknown.last().is_none_or(|last| last.name != record.topic) {
                let named = Named::new(&self.settings, &record.topic);
                if self.asker.known(&named.wire).is_none() {
                    unknown.push(named);
                }
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        self.blocking(move |inner| {
            unknown.iter().try_for_each(|topic| inner.asker.count(&topic.name, &topic.wire).map(drop))
        })
        .await
    }

    /// The first and the next offset of partitions. A commit returns a moment before the marks that make its
    /// records visible are all written, so what is being decided is waited for; but not for long, since a
    /// writer that died is decided about by whoever takes over from it.
    fn bounds(&self, places: &[(&str, u32)]) -> Result<Vec<(u64, u64)>, TopicError> {
        let written = self.uncommitted()?.offsets(places, Offset::End)?;
        let waited = Stopwatch::start();
        loop {
            let bounds = self.asker.bounds(places)?;
            let decided = bounds.iter().zip(&written).all(|((_, end), written)| end >= written);
            if decided || waited.elapsed() > ask::UNDECIDED {
                return Ok(bounds);
            }
            std::thread::park_timeout(MARKING);
        }
    }

    fn read(&self, named: &Named, partition: u32, from: u64, most: usize) -> Result<Vec<Record>, TopicError> {
        let count = self.asker.count(&named.name, &named.wire)?;
        if partition >= count {
            let name = &named.name;
            return Err(TopicError::Refused(format!(
                "topic `{name}` has no partition {partition}, it has {count}"
            )));
        }
        let (first, end) = self.bounds(&[(&*named.wire, partition)])?.first().copied().unwrap_or_default();
        let mut out = Vec::new();
        if most > 0 {
            let place = Place { wire: &named.wire, partition };
            // Whoever looks, from wherever, sees what there is.
            self.lookers.scan(&self.settings, &self.voice, &place, from.max(first)..end, |message| {
                out.push(look::record(&named.name, message));
                out.len() < most
            })?;
        }
        Ok(out)
    }

    fn standing(&self, group: &str, named: &Named) -> Result<Vec<Standing>, TopicError> {
        let places = self.places(&named.name, &named.wire)?;
        let committed = self.groups.committed(&self.settings, &self.voice, group, &places)?;
        let bounds = self.bounds(&places)?;
        let mut out: Vec<Standing> = (0..)
            .zip(bounds)
            .zip(committed)
            .map(|((partition, (first, end)), committed)| Standing {
                topic: named.name.clone(),
                partition,
                committed: committed.unwrap_or(first),
                end,
            })
            .collect();
        let near = |s: &&Standing| (1..=MARKS_MOST).contains(&s.lag());
        let near: Vec<_> = out.iter().filter(near).map(|s| (s.partition, s.committed..s.end)).collect();
        if !near.is_empty() {
            let bare = self.lookers.bare(&self.settings, &self.voice, &named.wire, &near)?;
            for standing in out.iter_mut().filter(|s| bare.contains(&s.partition)) {
                standing.committed = standing.end;
            }
        }
        Ok(out)
    }
}

/// As if the cluster were away: it is waited for, and everything opened anew.
fn deaf() -> TopicError {
    TopicError::Busy("a client of kafka has lost all brokers".to_owned())
}

impl Drop for Inner {
    fn drop(&mut self) {
        // So that nobody waits for a session to end after a shutdown in good order.
        for (_, thread) in self.members().drain(..) {
            if thread.join().is_err() {
                tracing::error!("the thread of a member had panicked");
            }
        }
    }
}

#[async_trait]
impl Topics for Kafka {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.inner.check()?;
        declare::declare(&self.inner, specs).await
    }

    async fn unfit(&self, specs: &[TopicSpec]) -> Result<Vec<String>, TopicError> {
        self.inner.check()?;
        unfit::look(&self.inner, specs).await
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        let inner = &self.inner;
        inner.check()?;
        inner.know(&records).await?;
        inner.check_records(&records)?;
        let stamp = append::stamp(&inner.settings, &inner.clock);
        inner.appender.append(&inner.settings, &inner.voice, stamp, &records).await?;
        inner.check()
    }

    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<Record>, TopicError> {
        let named = Named::new(&self.inner.settings, topic);
        self.inner.blocking(move |inner| inner.read(&named, partition, from, most)).await
    }

    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        let named = Named::new(&self.inner.settings, topic);
        let ask = move |inner: &Inner| inner.bounds(&inner.places(&named.name, &named.wire)?);
        self.inner.blocking(ask).await
    }

    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        let named = Named::new(&self.inner.settings, topic);
        // Negative numbers mean something else to the brokers.
        let at = Offset::Offset(at.max(0));
        let ask = move |inner: &Inner| inner.asker.offsets(&inner.places(&named.name, &named.wire)?, at);
        self.inner.blocking(ask).await
    }

    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<Standing>, TopicError> {
        let named = Named::new(&self.inner.settings, topic);
        let group = names::prefixed(&self.inner.settings, group);
        self.inner.blocking(move |inner| inner.standing(&group, &named)).await
    }

    async fn has_members(&self, group: &str) -> Result<bool, TopicError> {
        upkeep::has_members(&self.inner, group).await
    }

    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        self.inner.check()?;
        upkeep::remove(&self.inner, topics).await
    }

    async fn life(&self, topic: &str) -> Result<Option<i64>, TopicError> {
        self.inner.check()?;
        unfit::life(&self.inner, topic).await
    }

    async fn join(&self, membership: Membership) -> Result<Box<dyn Member>, TopicError> {
        let inner = self.inner.clone();
        let join = move |_: &Inner| member::KafkaMember::join(inner, &membership);
        Ok(Box::new(self.inner.blocking(join).await?))
    }
}

impl fmt::Debug for Kafka {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kafka").field("brokers", &self.inner.settings.brokers).finish_non_exhaustive()
    }
}
