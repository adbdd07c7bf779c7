//! A folder of mails: the courier that needs nothing and can always say what it sent.
//!
//! A mail is accepted when its file is there for good, in `mail/<two digits>/<its id>.eml`; a mail that is
//! there already is accepted again and not written again. Each acceptance is a line of `accepted.log`, so
//! that a mail that was handed over twice can be seen, whoever did it. Mails that come together are made
//! durable together. Several processes may have the folder open at a time: each can say what became of a
//! mail that another one handed over, and lists it. The one thing they cannot see is what another has been
//! allowed to write and has not written yet; that is why a claim on a message lasts for minutes.

mod folder;
mod index;
mod log;
mod mail;

use std::{
    collections::HashSet,
    fmt, io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use model::{Channel, Millis, ReadyId, erase::Erase};
use runtime::room;
use tokio::{
    sync::{Mutex as Turns, oneshot},
    task::spawn_blocking,
};

pub use log::Accepted;
pub use mail::Mail;

use crate::{
    mime::{self, Written},
    port::{Courier, CourierError, Gate, Handed, Message, Outcome, Whose},
};
use folder::{Folder, Placed};
use index::Index;
use log::Log;

/// Mails that are made durable together.
const TOGETHER_MAX: usize = 256;

/// A folder of mails.
pub struct Outbox {
    shared: Arc<Shared>,
    /// Held by the one that writes; those who come meanwhile find their mails written when it is theirs.
    turn: Arc<Turns<()>>,
}

struct Shared {
    folder: Folder,
    index: Mutex<Index>,
    log: Mutex<Log>,
    /// As long as there are callers: each waits for its own.
    queue: Mutex<Vec<Job>>,
}

struct Job {
    written: Written,
    ready: ReadyId,
    done: oneshot::Sender<Result<Handed, CourierError>>,
}

/// A mail in a list.
#[derive(Clone, PartialEq, Eq)]
pub struct Summary {
    pub message_id: String,
    pub headline: String,
    pub to: String,
    pub date: Millis,
    pub bytes: u64,
    pub ready: Option<ReadyId>,
}

// An address never reaches a log by accident.
impl fmt::Debug for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Summary").field("message_id", &self.message_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("folder", &self.shared.folder).finish_non_exhaustive()
    }
}

impl Outbox {
    /// Opens a folder, makes it if need be, and reads the headers of those mails in it that it does not know
    /// yet.
    pub fn open(path: &Path) -> Result<Self, CourierError> {
        let folder = Folder::open(path).map_err(|error| broken(&error))?;
        let index = Index::read(path, &folder).map_err(|error| broken(&error))?;
        let log = Log::open(path).map_err(|error| broken(&error))?;
        let shared = Shared { folder, index: index.into(), log: log.into(), queue: Mutex::default() };
        Ok(Self { shared: Arc::new(shared), turn: Arc::default() })
    }

    /// The newest mails by their date, newest first.
    pub fn list(&self, most: usize) -> Vec<Summary> {
        self.index().newest(most)
    }

    /// The mails of some Readys.
    pub fn of_readys(&self, readys: &HashSet<ReadyId>) -> Vec<Summary> {
        self.index().those(|summary| summary.ready.is_some_and(|ready| readys.contains(&ready)))
    }

    /// How many mails there are.
    pub fn len(&self) -> usize {
        self.index().len()
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        let mut index = lock(&self.shared.index);
        // What this process sent is known all the same.
        let _as_far_as_can_be = index.refresh();
        index
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One mail, read back from its file.
    pub async fn read(&self, message_id: &str) -> Result<Option<Mail>, CourierError> {
        let Some(id) = mime::bare_id(message_id).map(str::to_owned) else { return Ok(None) };
        let shared = Arc::clone(&self.shared);
        let raw = blocking(move || shared.folder.read(&id)).await?;
        Ok(raw.map(Mail::parse))
    }

    /// Every acceptance there was, oldest first.
    pub async fn accepted(&self) -> Result<Vec<Accepted>, CourierError> {
        let shared = Arc::clone(&self.shared);
        blocking(move || lock(&shared.log).read()).await
    }

    /// Puts a mail into the queue and sees to it that the queue is written.
    async fn accept(&self, written: Written, ready: ReadyId) -> Result<Handed, CourierError> {
        let (done, answer) = oneshot::channel();
        lock(&self.shared.queue).push(Job { written, ready, done });
        let turn = Arc::clone(&self.turn).lock_owned().await;
        if !lock(&self.shared.queue).is_empty() {
            let shared = Arc::clone(&self.shared);
            // The turn goes along: it ends when the writing does, also if nobody waits for it any more.
            let writing = spawn_blocking(move || {
                shared.write_queue();
                drop(turn);
            });
            writing.await.map_err(|_| CourierError::Broken("the outbox's writer was stopped".to_owned()))?;
        }
        answer.await.map_err(|_| CourierError::Broken("the outbox's writer gave no answer".to_owned()))?
    }
}

#[async_trait]
impl Courier for Outbox {
    async fn hand(&self, message: &Message, gate: &dyn Gate) -> Result<Handed, CourierError> {
        let written = match mime::write(message) {
            Ok(written) => written,
            Err(unfit) => return Ok(Handed::Refused(unfit.to_string())),
        };
        if !gate.may_go().await {
            return Ok(Handed::Stopped);
        }
        self.accept(written, message.ready).await
    }

    async fn outcome(&self, _channel: Channel, message_id: &str) -> Result<Outcome, CourierError> {
        let Some(id) = mime::bare_id(message_id).map(str::to_owned) else { return Ok(Outcome::NotSent) };
        let shared = Arc::clone(&self.shared);
        // Who handed it over may have gone away, and it may still be in the queue.
        let turn = Arc::clone(&self.turn).lock_owned().await;
        blocking(move || {
            shared.write_queue();
            drop(turn);
            if !shared.folder.has(&id)? {
                return Ok(Outcome::NotSent);
            }
            // Whoever wrote it may have been killed before this.
            shared.folder.sync(&id)?;
            Ok(Outcome::Sent)
        })
        .await
    }

    /// The files go first and the notes last, which name them: whoever is killed in between finds them again.
    async fn erase(&self, whose: &Whose, how: Erase) -> Result<Option<u64>, CourierError> {
        let (shared, whose) = (Arc::clone(&self.shared), whose.clone());
        let turn = Arc::clone(&self.turn).lock_owned().await;
        blocking(move || {
            shared.write_queue();
            let mut index = lock(&shared.index);
            index.refresh()?;
            let gone = index.those(|summary| is_of(summary, &whose));
            if how == Erase::Remove && !gone.is_empty() {
                for summary in &gone {
                    let id = mime::bare_id(&summary.message_id).unwrap_or(&summary.message_id);
                    shared.folder.remove(id)?;
                }
                index.remove(&gone)?;
            }
            drop(turn);
            Ok(Some(gone.len() as u64))
        })
        .await
    }
}

/// By what it is of, or by whom it went to.
fn is_of(summary: &Summary, whose: &Whose) -> bool {
    let to = || summary.to.split([',', ' ', '<', '>']).filter(|part| !part.is_empty());
    summary.ready.is_some_and(|ready| whose.readys.contains(&ready))
        || whose.addresses.iter().any(|address| to().any(|one| one.eq_ignore_ascii_case(address)))
}

impl Shared {
    /// Writes what is in the queue; only called by the one whose turn it is.
    fn write_queue(&self) {
        loop {
            let jobs = self.take_jobs();
            if jobs.is_empty() {
                return;
            }
            self.write_jobs(jobs);
        }
    }

    /// Takes jobs from the queue, no two with one id.
    fn take_jobs(&self) -> Vec<Job> {
        let mut ids = HashSet::new();
        let mut queue = lock(&self.queue);
        queue
            .extract_if(.., |job| ids.len() < TOGETHER_MAX && ids.insert(job.written.message_id.clone()))
            .collect()
    }

    fn write_jobs(&self, jobs: Vec<Job>) {
        let mails: Vec<&Written> = jobs.iter().map(|job| &job.written).collect();
        let placed = self.folder.place_all(&mails);
        let there: Vec<(&Job, Placed)> = jobs
            .iter()
            .zip(&placed)
            .filter_map(|(job, placed)| placed.as_ref().ok().map(|placed| (job, *placed)))
            .collect();
        for (job, placed) in &there {
            if *placed == Placed::Now {
                let name = self.folder.name(&job.written.message_id);
                let bytes = &job.written.bytes;
                lock(&self.index).add(name, index::summary(bytes, bytes.len() as u64));
            }
        }
        let synced = self.folder.sync_all(there.iter().map(|(job, _)| job.written.message_id.as_str()));
        // The log comes last: it says what is so for good.
        let whole = synced.and_then(|()| {
            lock(&self.log).append(there.iter().map(|(job, placed)| Accepted {
                message_id: job.written.message_id.clone(),
                ready: job.ready,
                again: *placed == Placed::Before,
            }))
        });
        for (job, placed) in jobs.into_iter().zip(placed) {
            // Nobody may be waiting any more; `outcome` still knows.
            let _unheard = job.done.send(verdict(placed, &whole));
        }
    }
}

fn verdict(placed: io::Result<Placed>, whole: &io::Result<()>) -> Result<Handed, CourierError> {
    match (placed, whole) {
        (Ok(_), Ok(())) => Ok(Handed::Accepted),
        // It is visible and may be lost again.
        (Ok(_), Err(error)) => Ok(Handed::Unknown(format!("the outbox cannot be made durable: {error}"))),
        (Err(error), _) if room::is_out(&error) => {
            Ok(Handed::Away(format!("the outbox has no room: {}", error.kind())))
        }
        (Err(error), _) => Err(broken(&error)),
    }
}

fn broken(error: &io::Error) -> CourierError {
    CourierError::Broken(format!("the outbox: {error}"))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, CourierError> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| broken(&error)),
        Err(_) => Err(CourierError::Broken("the outbox's work was stopped".to_owned())),
    }
}

/// What a panic left behind is still good: every change is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
