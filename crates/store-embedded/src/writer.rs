//! The one thread that writes. It drains what waits, decides each request in order against what is there
//! and what the requests before it will have written, commits all in one batch, syncs once, and answers.
//!
//! Callers wait in the channel's room, never on a thread: fjall holds a writer up for long when its
//! memtables pile up, and that must not stop the runtime.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use fjall::{Keyspace, OwnedWriteBatch, PersistMode, UserKey};
use model::{Day, DayLife, UtcMillis};
use store::{StoreError, codec};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{
    chores::WriterChores,
    engine::{DROPPED, EmbeddedStoreEngine, POISONED, StoreTable, map_database_error, poisoned_error},
    rows::StoredPair,
};

/// Rows that may wait for the writer; a request counts as at least `ROWS_PER_REQUEST`.
const ROWS_WAITING_MAX: usize = 32_768;
const ROWS_PER_REQUEST: usize = 8;
/// The writer commits once it has gathered so many rows, whatever else waits.
const GROUP_ROWS_MAX: usize = 16_384;

/// The key under which the store keeps the day before which all are closed.
const CLOSED: &[u8] = b"closed";

type StoreWriterJob = Box<dyn FnOnce(&mut WriteStage) -> StoreWriterReply + Send>;
type StoreWriterReply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

enum StoreWriterRequest {
    /// Decides on the stage, and answers once that is on disk.
    Job { rows: usize, job: StoreWriterJob },
    /// Drops days, after the group it came with.
    Drop { before: Day, answer: oneshot::Sender<Result<u64, StoreError>>, _room: OwnedSemaphorePermit },
}

/// The way to the writer's thread.
pub(super) struct StoreWriter {
    room: Arc<Semaphore>,
    queue: Option<SyncSender<StoreWriterRequest>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreWriter {
    pub(super) fn start(engine: Arc<EmbeddedStoreEngine>, idle: Duration) -> Result<Self, StoreError> {
        // Every request holds room for at least ROWS_PER_REQUEST rows, so the channel is never full.
        let (queue, requests) = sync_channel(ROWS_WAITING_MAX / ROWS_PER_REQUEST);
        let chores = WriterChores::new(engine.clone(), idle);
        let thread = StoreWriterThread { requests, engine, chores, broken: None };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || thread.run())
            .map_err(|error| StoreError::Broken(format!("starting the writer: {error}")))?;
        Ok(Self {
            room: Arc::new(Semaphore::new(ROWS_WAITING_MAX)),
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Has the writer decide, and returns what it decided once that is on disk.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        rows: usize,
        decide: impl FnOnce(&mut WriteStage) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let room = self.acquire_room(rows).await?;
        let (answer, answered) = oneshot::channel();
        let job: StoreWriterJob = Box::new(move |stage| {
            let mark = stage.changes.len();
            let decided = decide(stage);
            if decided.is_err() {
                stage.undo(mark);
            }
            Box::new(move |committed| {
                // Nobody may be waiting any more; the write stands all the same.
                drop(answer.send(committed.and(decided)));
                drop(room);
            })
        });
        self.send(StoreWriterRequest::Job { rows, job })?;
        answered.await.map_err(|_| ended_error())?
    }

    pub(super) async fn drop_before(&self, before: Day) -> Result<u64, StoreError> {
        let room = self.acquire_room(0).await?;
        let (answer, answered) = oneshot::channel();
        self.send(StoreWriterRequest::Drop { before, answer, _room: room })?;
        answered.await.map_err(|_| ended_error())?
    }

    async fn acquire_room(&self, rows: usize) -> Result<OwnedSemaphorePermit, StoreError> {
        let rows = u32::try_from(rows.clamp(ROWS_PER_REQUEST, ROWS_WAITING_MAX)).unwrap_or(u32::MAX);
        self.room.clone().acquire_many_owned(rows).await.map_err(|_| ended_error())
    }

    fn send(&self, request: StoreWriterRequest) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or_else(ended_error)?;
        queue.try_send(request).map_err(|_| ended_error())
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer panicked");
        }
    }
}

fn ended_error() -> StoreError {
    StoreError::Broken("the writer has ended; restart".into())
}

/// What a group of requests will have written.
pub(super) struct WriteStage {
    engine: Arc<EmbeddedStoreEngine>,
    days: Vec<(Keyspace, Vec<StoredPair>)>,
    /// Rows of days that go.
    gone: Vec<(Keyspace, Vec<UserKey>)>,
    changes: Vec<StagedChange>,
    /// Where in `changes` the latest value of a key is.
    latest: [HashMap<Vec<u8>, usize>; StoreTable::ALL.len()],
    heard: Option<UtcMillis>,
}

struct StagedChange {
    table: StoreTable,
    key: Vec<u8>,
    /// `None` takes the key away.
    value: Option<Vec<u8>>,
    /// The change of the same key before this one.
    before: Option<usize>,
}

impl WriteStage {
    fn new(engine: Arc<EmbeddedStoreEngine>) -> Self {
        Self {
            engine,
            days: Vec::new(),
            gone: Vec::new(),
            changes: Vec::new(),
            latest: Default::default(),
            heard: None,
        }
    }

    /// The present value: what this group wrote, or what is on disk.
    pub(super) fn with_value<T>(
        &self,
        table: StoreTable,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        if let Some(&at) = self.latest[table as usize].get(key) {
            return self.changes[at].value.as_deref().map(read).transpose();
        }
        match self.engine.table(table).get(key) {
            Ok(Some(value)) => read(&value).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(map_database_error("reading before a write", &error)),
        }
    }

    pub(super) fn put(&mut self, table: StoreTable, key: Vec<u8>, value: Vec<u8>) {
        self.stage_change(table, key, Some(value));
    }

    pub(super) fn remove(&mut self, table: StoreTable, key: Vec<u8>) {
        self.stage_change(table, key, None);
    }

    /// Takes rows of a day away, what this group adds to them included.
    pub(super) fn clear_rows(&mut self, day: Day, prefix: &[u8], rows: Vec<UserKey>) {
        let Some(keyspace) = self.engine.bucket(day) else { return };
        for (_, added) in self.days.iter_mut().filter(|(of, _)| of.id() == keyspace.id()) {
            added.retain(|(key, _)| !key.starts_with(prefix));
        }
        self.gone.push((keyspace, rows));
    }

    fn stage_change(&mut self, table: StoreTable, key: Vec<u8>, value: Option<Vec<u8>>) {
        let before = self.latest[table as usize].insert(key.clone(), self.changes.len());
        self.changes.push(StagedChange { table, key, value, before });
    }

    /// Adds rows to a day, unless it is closed. Rows are functions of their keys, so there is nothing else
    /// to decide.
    pub(super) fn add_rows(&mut self, day: Day, rows: Vec<StoredPair>) -> Result<(), StoreError> {
        if self.closed_before()?.is_some_and(|closed| day < closed) {
            return Ok(());
        }
        let keyspace = self
            .engine
            .day_for_writing(day)
            .map_err(|error| map_database_error("beginning a day", &error))?;
        self.days.push((keyspace, rows));
        Ok(())
    }

    /// Closes all days before this one, from the next request on.
    pub(super) fn close_before(&mut self, day: Day) -> Result<(), StoreError> {
        if self.closed_before()?.is_none_or(|closed| closed < day) {
            self.put(StoreTable::Meta, CLOSED.to_vec(), codec::encode_day(day)?);
        }
        Ok(())
    }

    /// Drops them, from when this is on disk.
    fn drop_before(&mut self, day: Day) -> Result<(), StoreError> {
        if self.with_value(StoreTable::Meta, DROPPED, codec::decode_day)?.is_none_or(|dropped| dropped < day)
        {
            self.put(StoreTable::Meta, DROPPED.to_vec(), codec::encode_day(day)?);
        }
        Ok(())
    }

    fn closed_before(&self) -> Result<Option<Day>, StoreError> {
        self.with_value(StoreTable::Meta, CLOSED, codec::decode_day)
    }

    pub(super) fn day_life(&self) -> DayLife {
        self.engine.ring.life()
    }

    /// Sees to it that this owner's notes are looked for.
    pub(super) fn note_owner(&self, owner: &[u8]) {
        self.engine.noted.add(owner);
    }

    /// Takes note of the time that a caller has; what is older than it needs is swept by it.
    pub(super) fn note_time(&mut self, now: UtcMillis) {
        self.heard = self.heard.max(Some(now));
    }

    /// Takes back the changes of a request that could not be decided.
    fn undo(&mut self, mark: usize) {
        while self.changes.len() > mark {
            let Some(change) = self.changes.pop() else { return };
            let latest = &mut self.latest[change.table as usize];
            match change.before {
                Some(before) => latest.insert(change.key, before),
                None => latest.remove(&change.key),
            };
        }
    }

    /// Writes and syncs everything; returns the keyspaces that were written to.
    fn commit(self) -> Result<Vec<Keyspace>, fjall::Error> {
        let gone = self.gone.iter().map(|(_, rows)| rows.len()).sum::<usize>();
        let rows = self.days.iter().map(|(_, rows)| rows.len()).sum::<usize>() + gone + self.changes.len();
        if rows == 0 {
            return Ok(Vec::new());
        }
        let mut touched = BTreeMap::new();
        let mut batch = OwnedWriteBatch::with_capacity(self.engine.db.clone(), rows);
        // Before what is added: a row that comes again in one group with its removal is there.
        for (keyspace, rows) in self.gone {
            for key in rows {
                batch.remove(&keyspace, key);
            }
            touched.insert(keyspace.id(), keyspace);
        }
        for (keyspace, rows) in self.days {
            for (key, value) in rows {
                batch.insert(&keyspace, key, value);
            }
            touched.insert(keyspace.id(), keyspace);
        }
        for change in self.changes {
            let keyspace = self.engine.table(change.table);
            match change.value {
                Some(value) => batch.insert(keyspace, change.key, value),
                None => batch.remove(keyspace, change.key),
            }
            touched.entry(keyspace.id()).or_insert_with(|| keyspace.clone());
        }
        batch.commit()?;
        self.engine.db.persist(PersistMode::SyncData)?;
        self.engine.publish();
        Ok(touched.into_values().collect())
    }
}

struct StoreWriterThread {
    requests: Receiver<StoreWriterRequest>,
    engine: Arc<EmbeddedStoreEngine>,
    chores: WriterChores,
    /// The error of every request after the first failed write, because the state of the disk is unknown then. A full
    /// disk is a case of its own, because it is the only reason that can go away.
    broken: Option<StoreError>,
}

impl StoreWriterThread {
    fn run(mut self) {
        loop {
            match self.requests.recv_timeout(super::chores::PAUSE) {
                Ok(first) => self.run_group(first),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.broken.is_none()
                && let Err(error) = self.chores.run()
            {
                tracing::error!(%error, "the store's background work failed");
                self.broken = Some(self.lasting_error(&error));
            }
        }
    }

    /// One request and all that wait behind it.
    fn run_group(&mut self, first: StoreWriterRequest) {
        let mut stage = WriteStage::new(self.engine.clone());
        let (mut replies, mut drops) = (Vec::new(), Vec::new());
        let (mut gathered, mut next) = (0, Some(first));
        while let Some(request) = next {
            match request {
                StoreWriterRequest::Job { rows, job } => {
                    gathered += rows.max(1);
                    replies.push(job(&mut stage));
                }
                StoreWriterRequest::Drop { before, answer, _room } => {
                    let closed = stage.close_before(before).and_then(|()| stage.drop_before(before));
                    drops.push((before, closed, answer, _room));
                }
            }
            next = if gathered < GROUP_ROWS_MAX { self.requests.try_recv().ok() } else { None };
        }
        self.chores.note_time(stage.heard);
        let committed = match &self.broken {
            Some(cause) => Err(cause.clone()),
            None => stage.commit().map_err(|error| self.write_error(error)),
        };
        match committed {
            Ok(touched) => {
                self.chores.note_written(touched);
                replies.into_iter().for_each(|reply| reply(Ok(())));
            }
            Err(error) => {
                if self.broken.is_none() {
                    tracing::error!(%error, "a store write failed; the store accepts no more writes");
                    self.broken = Some(self.lasting_error(&error));
                }
                replies.into_iter().for_each(|reply| reply(Err(error.clone())));
            }
        }
        for (before, closed, answer, _room) in drops {
            let dropped = match &self.broken {
                Some(cause) => Err(cause.clone()),
                None => closed.and_then(|()| self.drop_before(before)),
            };
            drop(answer.send(dropped));
        }
    }

    /// A failure in the background poisons the database silently.
    fn write_error(&self, error: fjall::Error) -> StoreError {
        let error = match error {
            fjall::Error::Poisoned => self.engine.room_error().unwrap_or(error),
            error => error,
        };
        map_database_error("writing", &error)
    }

    /// What is said from now on.
    fn lasting_error(&self, error: &StoreError) -> StoreError {
        let is_full = matches!(error, StoreError::Full(_)) || self.engine.room_error().is_some();
        if is_full { StoreError::Full(POISONED.into()) } else { poisoned_error() }
    }

    fn drop_before(&mut self, day: Day) -> Result<u64, StoreError> {
        let gone = self.engine.held_days()?.into_iter().filter(|held| *held < day).count();
        let dropped =
            self.engine.drop_before(day).map_err(|error| map_database_error("dropping days", &error))?;
        self.chores.forget(&dropped);
        Ok(gone as u64)
    }
}
