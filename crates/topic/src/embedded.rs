//! The engine that needs nothing: a log in one directory, for one process.
//!
//! [`writer`] is the one thread that writes: what waits shares one write and one confirmation of the disk.
//! [`draft`] is such a write, [`declare`], [`remove`] and [`trim`] are the others; [`tables`] and [`layout`] say how
//! it lies on the disk. Readers ask [`book`] how far everything reaches and [`read`] the records.
//! [`group`] holds the groups of the process, [`share`] who of them has what, [`member`] is one of them.
//!
//! It promises what the port asks for and no more; in particular it keeps the order of commits and the
//! shutting out of replaced owners across restarts, and treats a position outside a partition as an
//! error for a person, never as a reason to jump.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use async_trait::async_trait;
use runtime::Clock;
use tokio::sync::{mpsc, oneshot};

use crate::port::{
    GroupMembership, GroupStanding, Member, NewRecord, TopicError, TopicName, TopicRecord, TopicRetention,
    TopicSpec, Topics,
};

mod blank;
mod book;
mod declare;
mod draft;
mod group;
mod layout;
mod member;
mod quota;
mod read;
mod remove;
mod share;
mod tables;
mod trim;
mod writer;

#[cfg(test)]
mod tests;

use book::{TopicBook, lock_mutex};
use draft::PlacedRecord;
use writer::{QUEUE_MOST, TopicWriter, TopicWriterRequest};

/// How long a member may go without asking for its next happening before it counts as gone.
pub const SESSION: Duration = Duration::from_secs(30);
/// As Kafka has it.
pub const VALUE_MOST: usize = 1 << 20;
pub const KEY_MOST: usize = 32 << 10;
/// Names and values together.
pub const HEADERS_MOST: usize = 32 << 10;

/// The embedded engine. Cheap to clone; the directory is let go of by [`EmbeddedTopics::close`], or when the
/// last clone and the last member are gone.
#[derive(Clone)]
pub struct EmbeddedTopics {
    engine: Arc<EmbeddedTopicsEngine>,
}

/// What clones and members share.
struct EmbeddedTopicsEngine {
    dir: PathBuf,
    session: Duration,
    book: Arc<TopicBook>,
    groups: group::MemberGroups,
    requests: Mutex<Option<mpsc::Sender<TopicWriterRequest>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl EmbeddedTopics {
    /// Opens the directory, creating what is missing. Takes well under a second however much it holds, and
    /// blocks for that long.
    pub fn open(dir: &Path, clock: Clock) -> Result<Self, TopicError> {
        Self::open_with(dir, clock, SESSION)
    }

    /// The same with another session.
    pub fn open_with(dir: &Path, clock: Clock, session: Duration) -> Result<Self, TopicError> {
        let book = Arc::new(TopicBook::open(tables::TopicTables::open(dir)?)?);
        let writer = TopicWriter::open(book.clone(), clock)?;
        let (sender, receiver) = mpsc::channel(QUEUE_MOST);
        let thread = std::thread::Builder::new()
            .name("topic writer".to_owned())
            .spawn(move || writer.run(receiver))
            .map_err(|error| TopicError::Broken(format!("starting the writer: {error}")))?;
        let engine = EmbeddedTopicsEngine {
            dir: dir.to_owned(),
            session,
            book,
            groups: group::MemberGroups::default(),
            requests: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
        };
        Ok(Self { engine: Arc::new(engine) })
    }

    /// Writes what waits, ends the writer and lets go of the directory. Every later call fails.
    pub fn close(&self) {
        self.engine.close();
    }
}

impl EmbeddedTopicsEngine {
    fn close(&self) {
        drop(lock_mutex(&self.requests).take());
        if let Some(thread) = lock_mutex(&self.thread).take()
            && thread.join().is_err()
        {
            tracing::error!("the writer of the embedded log panicked");
        }
        self.book.close();
    }

    /// Asks the writer and waits for its answer.
    async fn ask_writer<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> TopicWriterRequest,
    ) -> Result<T, TopicError> {
        self.book.check()?;
        let closed = || TopicError::Broken("the log was closed".to_owned());
        let sender = lock_mutex(&self.requests).clone().ok_or_else(closed)?;
        let (answer, answered) = oneshot::channel();
        sender.send(request(answer)).await.map_err(|_| closed())?;
        drop(sender);
        answered.await.map_err(|_| closed())
    }

    /// Checks records and finds their topics.
    fn place_records(&self, records: Vec<NewRecord>) -> Result<Vec<PlacedRecord>, TopicError> {
        let mut placed: Vec<PlacedRecord> = Vec::with_capacity(records.len());
        for record in records {
            let topic = match placed.last() {
                Some(last) if last.topic.name == record.topic => last.topic.clone(),
                _ => self.book.topic(&record.topic)?,
            };
            topic.reach(record.partition)?;
            let name = &topic.name;
            let (key, value) = (record.key.len(), record.value.as_ref().map_or(0, Vec::len));
            let headers: usize = record.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
            if key > KEY_MOST || value > VALUE_MOST || headers > HEADERS_MOST {
                let bytes = format!("{key} + {headers} + {value}");
                return Err(TopicError::Refused(format!("a record of {bytes} bytes for `{name}`")));
            }
            placed.push(PlacedRecord { topic, record });
        }
        Ok(placed)
    }
}

impl Drop for EmbeddedTopicsEngine {
    fn drop(&mut self) {
        self.close();
    }
}

#[async_trait]
impl Topics for EmbeddedTopics {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        let specs = specs.to_vec();
        self.engine.ask_writer(|answer| TopicWriterRequest::Declare { specs, answer }).await?
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        let records = self.engine.place_records(records)?;
        self.engine.ask_writer(|answer| TopicWriterRequest::Append { records, answer }).await?
    }

    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<TopicRecord>, TopicError> {
        let topic = self.engine.book.topic(topic)?;
        // Whoever looks, from wherever, sees what there is.
        let (first, end) = topic.reach(partition)?.get();
        let mut from = from.max(first);
        loop {
            let stretch = read::read_stretch(&self.engine.book, &topic, partition, from, most).await?;
            // Where all were emptied it goes on behind them: nothing would mean the end.
            if !stretch.records.is_empty() || stretch.next >= end || stretch.next == from {
                return Ok(stretch.records);
            }
            from = stretch.next;
        }
    }

    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        self.engine.book.check()?;
        let topic = self.engine.book.topic(topic)?;
        Ok(topic.partitions.iter().map(book::PartitionReach::get).collect())
    }

    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        self.engine.book.check()?;
        let topic = self.engine.book.topic(topic)?;
        read::offsets_since(&self.engine.book, &topic, at).await
    }

    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<GroupStanding>, TopicError> {
        self.engine.book.check()?;
        let topic = self.engine.book.topic(topic)?;
        Ok(self.engine.book.standing(group, &topic))
    }

    async fn has_members(&self, group: &str) -> Result<bool, TopicError> {
        self.engine.book.check()?;
        Ok(self.engine.groups.have_members(|found| &*found.name == group))
    }

    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        let works =
            |group: &group::MemberGroup| group.topics.iter().any(|topic| topics.contains(&topic.name));
        if self.engine.groups.have_members(works) {
            let why = format!("a group that reads one of {topics:?} has members");
            return Err(TopicError::Refused(why));
        }
        let topics = topics.to_vec();
        self.engine.ask_writer(|answer| TopicWriterRequest::Remove { topics, answer }).await?
    }

    async fn blank(&self, records: &[(TopicName, u32, u64)]) -> Result<bool, TopicError> {
        if records.is_empty() {
            return Ok(true);
        }
        let mut places = Vec::with_capacity(records.len());
        for (topic, partition, offset) in records {
            places.push((self.engine.book.topic(topic)?, *partition, *offset));
        }
        self.engine.ask_writer(|answer| TopicWriterRequest::Blank { places, answer }).await??;
        let tables = self.engine.book.tables()?;
        let scrubbed = tokio::task::spawn_blocking(move || blank::scrub_files(&tables)).await;
        scrubbed.unwrap_or_else(|error| Err(TopicError::Broken(format!("a writer ended: {error}"))))?;
        Ok(true)
    }

    async fn life(&self, topic: &str) -> Result<Option<i64>, TopicError> {
        Ok(match self.engine.book.topic(topic)?.retention() {
            TopicRetention::Compacted => None,
            TopicRetention::Milliseconds(ms) => Some(ms.saturating_add(trim::EVERY_MS)),
        })
    }

    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        let member = member::EmbeddedMember::join(self.engine.clone(), &membership)?;
        Ok(Box::new(member))
    }
}

impl fmt::Debug for EmbeddedTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedTopics").field("dir", &self.engine.dir).finish_non_exhaustive()
    }
}
