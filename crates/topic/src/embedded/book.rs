//! What every reader needs to know at once: the topics, how far each partition reaches, and what each
//! group has committed. The writer alone changes it, after what it says is on the disk.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock, Weak,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;

use super::{
    layout::{self, PartitionExtent},
    tables::{TopicTables, garbled_bytes, tables_fault},
};
use crate::port::{GroupStanding, TopicError, TopicName, TopicRetention};

/// A topic as this process knows it.
#[derive(Debug)]
pub(super) struct EmbeddedTopic {
    pub id: u32,
    pub name: TopicName,
    pub compacted: bool,
    /// In milliseconds; without meaning for a compacted topic.
    pub retention: AtomicI64,
    pub partitions: Vec<PartitionReach>,
    /// The groups to wake when something is appended.
    watchers: Mutex<Vec<Weak<Notify>>>,
}

/// How far a partition reaches: what of it may be read.
#[derive(Debug, Default)]
pub(super) struct PartitionReach {
    first: AtomicU64,
    end: AtomicU64,
}

impl PartitionReach {
    pub fn get(&self) -> (u64, u64) {
        // The end first: should both move in between, the range is too short and never wrong.
        let end = self.end.load(Ordering::Acquire);
        let first = self.first.load(Ordering::Acquire);
        (first, end.max(first))
    }

    pub fn set(&self, extent: &PartitionExtent) {
        self.first.store(extent.first, Ordering::Release);
        self.end.store(extent.end, Ordering::Release);
    }
}

impl EmbeddedTopic {
    pub fn new(id: u32, name: TopicName, partitions: u32, retention: TopicRetention) -> Self {
        let (compacted, ms) = match retention {
            TopicRetention::Milliseconds(ms) => (false, ms.max(0)),
            TopicRetention::Compacted => (true, 0),
        };
        Self {
            id,
            name,
            compacted,
            retention: AtomicI64::new(ms),
            partitions: (0..partitions).map(|_| PartitionReach::default()).collect(),
            watchers: Mutex::default(),
        }
    }

    pub fn retention(&self) -> TopicRetention {
        if self.compacted {
            TopicRetention::Compacted
        } else {
            TopicRetention::Milliseconds(self.retention.load(Ordering::Relaxed))
        }
    }

    pub fn partition_count(&self) -> u32 {
        u32::try_from(self.partitions.len()).unwrap_or(u32::MAX)
    }

    pub fn reach(&self, partition: u32) -> Result<&PartitionReach, TopicError> {
        usize::try_from(partition).ok().and_then(|at| self.partitions.get(at)).ok_or_else(|| {
            let (name, count) = (&self.name, self.partition_count());
            TopicError::Refused(format!("topic `{name}` has no partition {partition}; it has {count}"))
        })
    }

    pub fn watch(&self, watcher: &Arc<Notify>) {
        let mut watchers = lock_mutex(&self.watchers);
        watchers.retain(|w| w.strong_count() > 0);
        watchers.push(Arc::downgrade(watcher));
    }

    pub fn wake(&self) {
        for watcher in lock_mutex(&self.watchers).iter() {
            if let Some(watcher) = watcher.upgrade() {
                watcher.notify_waiters();
            }
        }
    }
}

/// Of one group, by topic and partition.
type CommittedOffsets = HashMap<(u32, u32), u64>;

/// Shared by the readers and the writer.
#[derive(Default)]
pub(super) struct TopicBook {
    /// Empty once the engine is closed.
    tables: RwLock<Option<TopicTables>>,
    topics: RwLock<HashMap<TopicName, Arc<EmbeddedTopic>>>,
    committed: RwLock<HashMap<Arc<str>, CommittedOffsets>>,
    broken: OnceLock<TopicError>,
}

impl TopicBook {
    /// Reads everything but the records; how many there are does not matter.
    pub fn open(tables: TopicTables) -> Result<Self, TopicError> {
        let book = Self::default();
        let mut by_id = HashMap::new();
        for item in tables.meta.prefix([layout::TOPIC]) {
            let (key, value) = item.into_inner().map_err(|error| tables_fault("reading topics", &error))?;
            let name = std::str::from_utf8(&key[1..]).map_err(|_| garbled_bytes("a topic's name"))?;
            let (id, partitions, retention) =
                layout::parse_topic(&value).ok_or_else(|| garbled_bytes(name))?;
            let topic = Arc::new(EmbeddedTopic::new(id, name.into(), partitions, retention));
            by_id.insert(id, topic.clone());
            book.add_topic(topic);
        }
        for seat in read_seats(&tables, layout::BOUNDS)? {
            let extent =
                layout::parse_extent(&seat.value).ok_or_else(|| garbled_bytes("a partition's extent"))?;
            if let Some(topic) = by_id.get(&seat.topic) {
                topic.reach(seat.partition)?.set(&extent);
            }
        }
        for seat in read_seats(&tables, layout::COMMITTED)? {
            let offset =
                layout::parse_number(&seat.value).ok_or_else(|| garbled_bytes("a committed offset"))?;
            book.set_committed(&seat.group, seat.topic, seat.partition, offset);
        }
        *book.tables.write().unwrap_or_else(PoisonError::into_inner) = Some(tables);
        Ok(book)
    }

    pub fn tables(&self) -> Result<TopicTables, TopicError> {
        self.check()?;
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.clone().ok_or_else(|| TopicError::Broken("the log was closed".to_owned()))
    }

    pub fn close(&self) {
        self.tables.write().unwrap_or_else(PoisonError::into_inner).take();
        self.wake_all();
    }

    /// After this every operation fails, until the directory is opened again.
    pub fn break_down(&self, why: &TopicError) {
        // A disk without room is told apart also later: it is the one reason that goes away by itself.
        let lasting = match why {
            TopicError::Full(why) => TopicError::Full(why.clone()),
            other => TopicError::Broken(other.to_string()),
        };
        if self.broken.set(lasting).is_ok() {
            tracing::error!(error = %why, "the embedded log stops");
        }
        self.wake_all();
    }

    pub fn check(&self) -> Result<(), TopicError> {
        self.broken.get().map_or(Ok(()), |why| Err(why.clone()))
    }

    pub fn topic(&self, name: &str) -> Result<Arc<EmbeddedTopic>, TopicError> {
        let topics = self.topics.read().unwrap_or_else(PoisonError::into_inner);
        let missing = || TopicError::Refused(format!("there is no topic `{name}`"));
        topics.get(name).cloned().ok_or_else(missing)
    }

    pub fn topics(&self) -> Vec<Arc<EmbeddedTopic>> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    pub fn add_topic(&self, topic: Arc<EmbeddedTopic>) {
        self.topics.write().unwrap_or_else(PoisonError::into_inner).insert(topic.name.clone(), topic);
    }

    /// Forgets topics, and what groups have committed in them.
    pub fn forget_topics(&self, gone: &HashSet<u32>) {
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        topics.retain(|_, topic| !gone.contains(&topic.id));
        drop(topics);
        let mut committed = self.committed.write().unwrap_or_else(PoisonError::into_inner);
        for offsets in committed.values_mut() {
            offsets.retain(|(topic, _), _| !gone.contains(topic));
        }
    }

    pub fn committed_offset(&self, group: &str, topic: u32, partition: u32) -> Option<u64> {
        let committed = self.committed.read().unwrap_or_else(PoisonError::into_inner);
        committed.get(group)?.get(&(topic, partition)).copied()
    }

    pub fn set_committed(&self, group: &Arc<str>, topic: u32, partition: u32, offset: u64) {
        let mut committed = self.committed.write().unwrap_or_else(PoisonError::into_inner);
        committed.entry(group.clone()).or_default().insert((topic, partition), offset);
    }

    pub fn standing(&self, group: &str, topic: &EmbeddedTopic) -> Vec<GroupStanding> {
        let one = |(partition, reach): (u32, &PartitionReach)| {
            let (first, end) = reach.get();
            let committed = self.committed_offset(group, topic.id, partition).unwrap_or(first);
            GroupStanding { topic: topic.name.clone(), partition, committed, end }
        };
        (0..).zip(&topic.partitions).map(one).collect()
    }

    fn wake_all(&self) {
        for topic in self.topics() {
            topic.wake();
        }
    }
}

/// What lies under one tag of `meta` for a topic, a partition and perhaps a group.
pub(super) struct MetaSeatRow {
    pub topic: u32,
    pub partition: u32,
    pub group: Arc<str>,
    pub value: fjall::UserValue,
}

pub(super) fn read_seats(tables: &TopicTables, tag: u8) -> Result<Vec<MetaSeatRow>, TopicError> {
    let mut out = Vec::new();
    for item in tables.meta.prefix([tag]) {
        let (key, value) =
            item.into_inner().map_err(|error| tables_fault("reading the log's book", &error))?;
        let (topic, partition, group) =
            layout::parse_seat(&key[1..]).ok_or_else(|| garbled_bytes("a key"))?;
        out.push(MetaSeatRow { topic, partition, group: group.into(), value });
    }
    Ok(out)
}

pub(super) fn lock_mutex<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
