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
use house_facts::erasure::EraseMode;
use model::{Channel, ReadyId, UtcMillis};
use runtime::resource_limits;
use tokio::{
    sync::{Mutex as Turns, oneshot},
    task::spawn_blocking,
};

pub use log::OutboxAcceptance;
pub use mail::OutboxMail;

use crate::{
    mime::{self, MimeMessage},
    port::{Courier, CourierEraseRequest, CourierError, HandoverGate, HandoverOutcome, Message},
};
use folder::{OutboxFolder, OutboxPlacement};
use index::OutboxIndex;
use log::AcceptanceLog;

/// Mails that are made durable together.
const TOGETHER_MAX: usize = 256;

/// A folder of mails.
pub struct OutboxCourier {
    shared: Arc<OutboxState>,
    /// Held by the one that writes; those who come meanwhile find their mails written when it is theirs.
    turn: Arc<Turns<()>>,
}

struct OutboxState {
    folder: OutboxFolder,
    index: Mutex<OutboxIndex>,
    log: Mutex<AcceptanceLog>,
    /// As long as there are callers: each waits for its own.
    queue: Mutex<Vec<OutboxJob>>,
}

struct OutboxJob {
    written: MimeMessage,
    ready: ReadyId,
    done: oneshot::Sender<Result<HandoverOutcome, CourierError>>,
}

/// A mail in a list.
#[derive(Clone, PartialEq, Eq)]
pub struct OutboxSummary {
    pub message_id: String,
    pub headline: String,
    pub to: String,
    pub date: UtcMillis,
    pub bytes: u64,
    pub ready: Option<ReadyId>,
}

// An address never reaches a log by accident.
impl fmt::Debug for OutboxSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxSummary").field("message_id", &self.message_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for OutboxCourier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxCourier").field("folder", &self.shared.folder).finish_non_exhaustive()
    }
}

impl OutboxCourier {
    /// Opens a folder, makes it if need be, and reads the headers of those mails in it that it does not know
    /// yet.
    pub fn open(path: &Path) -> Result<Self, CourierError> {
        let folder = OutboxFolder::open(path).map_err(|error| broken_courier(&error))?;
        let index = OutboxIndex::read(path, &folder).map_err(|error| broken_courier(&error))?;
        let log = AcceptanceLog::open(path).map_err(|error| broken_courier(&error))?;
        let shared = OutboxState { folder, index: index.into(), log: log.into(), queue: Mutex::default() };
        Ok(Self { shared: Arc::new(shared), turn: Arc::default() })
    }

    /// The newest mails by their date, newest first.
    pub fn list_newest(&self, most: usize) -> Vec<OutboxSummary> {
        self.index().newest(most)
    }

    /// The mails of some Readys.
    pub fn list_of_readys(&self, readys: &HashSet<ReadyId>) -> Vec<OutboxSummary> {
        self.index().list_where(|summary| summary.ready.is_some_and(|ready| readys.contains(&ready)))
    }

    /// How many mails there are.
    pub fn len(&self) -> usize {
        self.index().len()
    }

    fn index(&self) -> MutexGuard<'_, OutboxIndex> {
        let mut index = lock_mutex(&self.shared.index);
        // What this process sent is known all the same.
        let _as_far_as_can_be = index.refresh();
        index
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One mail, read back from its file.
    pub async fn read_mail(&self, message_id: &str) -> Result<Option<OutboxMail>, CourierError> {
        let Some(id) = mime::bare_id(message_id).map(str::to_owned) else { return Ok(None) };
        let shared = Arc::clone(&self.shared);
        let raw = run_blocking(move || shared.folder.read(&id)).await?;
        Ok(raw.map(OutboxMail::parse))
    }

    /// Every acceptance there was, oldest first.
    pub async fn read_acceptances(&self) -> Result<Vec<OutboxAcceptance>, CourierError> {
        let shared = Arc::clone(&self.shared);
        run_blocking(move || lock_mutex(&shared.log).read_all()).await
    }

    /// Puts a mail into the queue and sees to it that the queue is written.
    async fn accept_mail(
        &self,
        written: MimeMessage,
        ready: ReadyId,
    ) -> Result<HandoverOutcome, CourierError> {
        let (done, answer) = oneshot::channel();
        lock_mutex(&self.shared.queue).push(OutboxJob { written, ready, done });
        let turn = Arc::clone(&self.turn).lock_owned().await;
        if !lock_mutex(&self.shared.queue).is_empty() {
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
impl Courier for OutboxCourier {
    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        let written = match mime::write_message(message) {
            Ok(written) => written,
            Err(unfit) => return Ok(HandoverOutcome::Refused(unfit.to_string())),
        };
        if !gate.may_go().await {
            return Ok(HandoverOutcome::Stopped);
        }
        self.accept_mail(written, message.ready).await
    }

    async fn was_sent(&self, _channel: Channel, message_id: &str) -> Result<Option<bool>, CourierError> {
        let Some(id) = mime::bare_id(message_id).map(str::to_owned) else {
            return Ok(Some(false));
        };
        let shared = Arc::clone(&self.shared);
        // Who handed it over may have gone away, and it may still be in the queue.
        let turn = Arc::clone(&self.turn).lock_owned().await;
        run_blocking(move || {
            shared.write_queue();
            drop(turn);
            if !shared.folder.has(&id)? {
                return Ok(Some(false));
            }
            // Whoever wrote it may have been killed before this.
            shared.folder.sync(&id)?;
            Ok(Some(true))
        })
        .await
    }

    /// The files go first and the notes last, which name them: whoever is killed in between finds them again.
    async fn erase(&self, whose: &CourierEraseRequest, how: EraseMode) -> Result<Option<u64>, CourierError> {
        let (shared, whose) = (Arc::clone(&self.shared), whose.clone());
        let turn = Arc::clone(&self.turn).lock_owned().await;
        run_blocking(move || {
            shared.write_queue();
            let mut index = lock_mutex(&shared.index);
            index.refresh()?;
            let gone = index.list_where(|summary| is_of_owner(summary, &whose));
            if how == EraseMode::Remove && !gone.is_empty() {
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
fn is_of_owner(summary: &OutboxSummary, whose: &CourierEraseRequest) -> bool {
    let to = || summary.to.split([',', ' ', '<', '>']).filter(|part| !part.is_empty());
    summary.ready.is_some_and(|ready| whose.readys.contains(&ready))
        || whose.addresses.iter().any(|address| to().any(|one| one.eq_ignore_ascii_case(address)))
}

impl OutboxState {
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
    fn take_jobs(&self) -> Vec<OutboxJob> {
        let mut ids = HashSet::new();
        let mut queue = lock_mutex(&self.queue);
        queue
            .extract_if(.., |job| ids.len() < TOGETHER_MAX && ids.insert(job.written.message_id.clone()))
            .collect()
    }

    fn write_jobs(&self, jobs: Vec<OutboxJob>) {
        let mails: Vec<&MimeMessage> = jobs.iter().map(|job| &job.written).collect();
        let placed = self.folder.place_all(&mails);
        let there: Vec<(&OutboxJob, OutboxPlacement)> = jobs
            .iter()
            .zip(&placed)
            .filter_map(|(job, placed)| placed.as_ref().ok().map(|placed| (job, *placed)))
            .collect();
        for (job, placed) in &there {
            if *placed == OutboxPlacement::Now {
                let name = self.folder.mail_file_name(&job.written.message_id);
                let bytes = &job.written.bytes;
                lock_mutex(&self.index).add(name, index::read_summary(bytes, bytes.len() as u64));
            }
        }
        let synced = self.folder.sync_all(there.iter().map(|(job, _)| job.written.message_id.as_str()));
        // The log comes last: it says what is so for good.
        let whole = synced.and_then(|()| {
            lock_mutex(&self.log).append(there.iter().map(|(job, placed)| OutboxAcceptance {
                message_id: job.written.message_id.clone(),
                ready: job.ready,
                again: *placed == OutboxPlacement::Before,
            }))
        });
        for (job, placed) in jobs.into_iter().zip(placed) {
            // Nobody may be waiting any more; `outcome` still knows.
            let _unheard = job.done.send(verdict_of_placing(placed, &whole));
        }
    }
}

fn verdict_of_placing(
    placed: io::Result<OutboxPlacement>,
    whole: &io::Result<()>,
) -> Result<HandoverOutcome, CourierError> {
    match (placed, whole) {
        (Ok(_), Ok(())) => Ok(HandoverOutcome::Accepted),
        // It is visible and may be lost again.
        (Ok(_), Err(error)) => {
            Ok(HandoverOutcome::Unknown(format!("the outbox cannot be made durable: {error}")))
        }
        (Err(error), _) if resource_limits::is_out_of_room(&error) => {
            Ok(HandoverOutcome::Away(format!("the outbox has no room: {}", error.kind())))
        }
        (Err(error), _) => Err(broken_courier(&error)),
    }
}

fn broken_courier(error: &io::Error) -> CourierError {
    CourierError::Broken(format!("the outbox: {error}"))
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, CourierError> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| broken_courier(&error)),
        Err(_) => Err(CourierError::Broken("the outbox's work was stopped".to_owned())),
    }
}

/// What a panic left behind is still good: every change is one step.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
