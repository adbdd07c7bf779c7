//! The one loop. Every room runs in it: wait for what happens, let the room decide a turn, commit it, and
//! only then let the room believe it.
//!
//! A room that waits for instants (windows that fall due) is woken for them, but it may close nothing that
//! was due at T before its partition has been read up to the ends that its topics had when T came: what a
//! person did a moment before must be seen first, also after an outage.

use std::{collections::BTreeMap, future::pending, pin::Pin, sync::Arc, time::Duration};

use anyhow::Context as _;
use async_trait::async_trait;
use runtime::{Clock, Quiet, Shutdown, quiet::Worker, retry};

use crate::port::{
    Batch, CommitError, Happening, Member, Membership, Mode, NewRecord, Offsets, Record, TopicError, Topics,
    Turn,
};

#[cfg(test)]
mod tests;

/// How long a position that has moved without a record may wait for a turn that commits it.
const MOVED: Duration = Duration::from_secs(10);

/// What a room does in the loop. A room that keeps nothing between turns decides, and that is all.
#[async_trait]
pub trait Work: Send + Sync {
    /// Takes over a partition with its state. Called once for each assignment.
    fn restore(&mut self, _partition: u32, _state: Vec<Record>) -> anyhow::Result<()> {
        Ok(())
    }

    /// Lets go of a partition and all memory of it.
    fn forget(&mut self, _partition: u32) {}

    /// The next instant at which the partition wants a turn without records.
    fn due(&self, _partition: u32) -> Option<i64> {
        None
    }

    /// Whether the partition must have been read up to date before what is due may close.
    fn reads_first(&self) -> bool {
        true
    }

    /// Decides a turn: loads what it needs, decides on a copy, applies what may be repeated, and returns
    /// the records that belong to the turn. `closing` is the instant up to which windows may close.
    async fn turn(&mut self, batch: &Batch, closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>>;

    /// The last turn of this partition is committed: the copy becomes the memory, and what was owed to
    /// others after the commit is done now.
    async fn committed(&mut self, _partition: u32) -> anyhow::Result<()> {
        Ok(())
    }

    /// The last turn of this partition did not happen: the copy is dropped.
    fn aborted(&mut self, _partition: u32) {}
}

/// What a loop needs beside its work.
#[derive(Clone)]
pub struct Drive {
    pub topics: Arc<dyn Topics>,
    pub membership: Membership,
    pub clock: Clock,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    /// Records handed to one turn at most.
    pub records_max: usize,
}

/// Runs a room until the shutdown, or until the engine cannot go on.
pub async fn drive(drive: Drive, work: &mut dyn Work) -> anyhow::Result<()> {
    let group = drive.membership.group.clone();
    let worker = drive.quiet.worker();
    let join = drive.topics.join(drive.membership.clone());
    let joined = or_stop(&drive.shutdown, join).await.with_context(|| format!("{group}: join"))?;
    let Some(member) = joined else { return Ok(()) };
    let (owned, awaiting) = (BTreeMap::new(), true);
    let mut loop_ = Loop { drive, member, worker, owned, awaiting, moved: None, failures: 0 };
    while !loop_.drive.shutdown.started() {
        let happened = loop_.next(work).await.with_context(|| format!("{group}: the log"))?;
        loop_.handle(happened, work).await.with_context(|| format!("{group}: the log"))?;
    }
    Ok(())
}

struct Loop {
    drive: Drive,
    member: Box<dyn Member>,
    worker: Worker,
    owned: BTreeMap<u32, Owned>,
    /// Partitions are about to be assigned: until they are restored this loop is not idle, whatever it has read.
    awaiting: bool,
    /// Positions have moved without a record; when this returns, they are committed.
    moved: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    failures: u32,
}

/// A partition in our hands.
struct Owned {
    generation: u64,
    /// An instant that came, and how far the partition must be read before what was due then may close.
    closing: Option<(i64, Offsets)>,
    /// What was committed last, if it was by us.
    committed: Offsets,
}

enum Woken {
    Happening(Happening),
    /// What was due by this instant may close now.
    Close(u32, i64),
    Due,
    Moved,
    Stop,
}

/// What the log answers, unless everything stops first: a cluster that is away is waited for without end.
async fn or_stop<T>(
    shutdown: &Shutdown,
    answer: impl Future<Output = Result<T, TopicError>>,
) -> Result<Option<T>, TopicError> {
    tokio::select! {
        biased;
        answer = answer => answer.map(Some),
        () = shutdown.wait() => Ok(None),
    }
}

impl Loop {
    async fn next(&mut self, work: &dyn Work) -> Result<Woken, TopicError> {
        if let Some((partition, at)) = self.closable() {
            return Ok(Woken::Close(partition, at));
        }
        let due = self.owned.iter().filter(|(_, owned)| owned.closing.is_none());
        let due = due.filter_map(|(partition, _)| work.due(*partition)).min();
        // Asked before the member is: one that always has records must not keep instants from coming.
        if due.is_some_and(|at| at <= self.drive.clock.now()) {
            return Ok(Woken::Due);
        }
        let Self { drive, member, worker, awaiting, moved, .. } = self;
        let moved = async {
            match moved {
                Some(moved) => moved.await,
                None => pending().await,
            }
        };
        let wake = async {
            match due {
                Some(at) => drive.clock.wake_at(at).await,
                None => pending().await,
            }
        };
        // Polled last, so whoever watches learns that this loop is idle only when it really is.
        let idle = async {
            worker.set(*awaiting);
            pending::<()>().await;
        };
        let (woken, asleep) = tokio::select! {
            biased;
            () = drive.shutdown.wait() => (Woken::Stop, None),
            // Before the member is, for the same reason.
            () = moved => (Woken::Moved, None),
            happening = member.next(drive.records_max) => (Woken::Happening(happening?), None),
            asleep = wake => (Woken::Due, Some(asleep)),
            () = idle => (Woken::Stop, None),
        };
        // At work before it stops being a sleeper: nobody may see it as neither.
        worker.set(true);
        drop(asleep);
        Ok(woken)
    }

    /// A partition that has been read as far as it must be for its closing.
    fn closable(&self) -> Option<(u32, i64)> {
        self.owned.iter().find_map(|(partition, owned)| {
            let (at, target) = owned.closing.as_ref()?;
            let positions = self.member.positions(*partition);
            let read =
                target.iter().all(|(topic, end)| positions.iter().any(|(t, p)| t == topic && p >= end));
            read.then_some((*partition, *at))
        })
    }

    async fn handle(&mut self, woken: Woken, work: &mut dyn Work) -> anyhow::Result<()> {
        match woken {
            Woken::Stop => Ok(()),
            Woken::Due => self.note_due(work).await,
            Woken::Moved => self.commit_moved(work).await,
            Woken::Close(partition, at) => {
                let Some(generation) = self.owned.get(&partition).map(|owned| owned.generation) else {
                    return Ok(());
                };
                let batch = Batch { partition, generation, records: Vec::new() };
                let closed = self.turn(&batch, Some(at), work).await?;
                if closed && work.due(partition).is_none_or(|due| due > at) {
                    self.owned.entry(partition).and_modify(|owned| owned.closing = None);
                }
                Ok(())
            }
            Woken::Happening(Happening::Assigned(partitions)) => {
                for (partition, generation) in partitions {
                    let state = match self.drive.membership.state {
                        Some(_) => or_stop(&self.drive.shutdown, self.member.restore(partition)).await?,
                        None => Some(Vec::new()),
                    };
                    let Some(state) = state else { return Ok(()) };
                    work.restore(partition, state)
                        .with_context(|| format!("restore partition {partition}"))?;
                    let owned = Owned { generation, closing: None, committed: Offsets::new() };
                    self.owned.insert(partition, owned);
                }
                self.awaiting = false;
                Ok(())
            }
            Woken::Happening(Happening::Revoked(partitions)) => {
                if partitions.is_empty() {
                    self.moved.get_or_insert_with(|| Box::pin(retry::wait(MOVED)));
                }
                for partition in partitions {
                    self.owned.remove(&partition);
                    work.forget(partition);
                }
                Ok(())
            }
            Woken::Happening(Happening::Records(batch)) => self.turn(&batch, None, work).await.map(|_| ()),
        }
    }

    /// Instants have come: notes for each partition how far it must be read first.
    async fn note_due(&mut self, work: &dyn Work) -> anyhow::Result<()> {
        let now = self.drive.clock.now();
        for (partition, owned) in &mut self.owned {
            if owned.closing.is_none() && work.due(*partition).is_some_and(|due| due <= now) {
                let ends = if work.reads_first() {
                    or_stop(&self.drive.shutdown, self.member.ends(*partition)).await?
                } else {
                    Some(Offsets::new())
                };
                let Some(ends) = ends else { return Ok(()) };
                owned.closing = Some((now, ends));
            }
        }
        Ok(())
    }

    /// Commits positions that went past what nobody is handed, where no turn has. Or a log that keeps nothing for
    /// ever would take that away as well one quiet day, and the group would stand before its first offset, as if
    /// it had missed something.
    async fn commit_moved(&mut self, work: &mut dyn Work) -> anyhow::Result<()> {
        self.moved = None;
        let moved = |(partition, owned): (&u32, &Owned)| {
            (self.member.positions(*partition) != owned.committed).then_some((*partition, owned.generation))
        };
        let moved: Vec<(u32, u64)> = self.owned.iter().filter_map(moved).collect();
        for (partition, generation) in moved {
            if self.drive.shutdown.started() {
                break;
            }
            let nothing = Batch { partition, generation, records: Vec::new() };
            if let Err(error) = self.commit(&nothing, Vec::new()).await {
                self.failed(partition, error, work).await?;
            }
        }
        Ok(())
    }

    /// One turn; says whether it was committed. A turn that fails is tried again from the committed
    /// offsets, after a pause that grows.
    async fn turn(
        &mut self,
        batch: &Batch,
        closing: Option<i64>,
        work: &mut dyn Work,
    ) -> anyhow::Result<bool> {
        let partition = batch.partition;
        let group = self.drive.membership.group.clone();
        let records = match work.turn(batch, closing).await {
            Ok(records) => records,
            Err(error) => {
                tracing::warn!(%group, partition, error = format!("{error:#}"), "a turn failed and is tried again");
                work.aborted(partition);
                self.again(partition).await?;
                return Ok(false);
            }
        };
        match self.commit(batch, records).await {
            Ok(()) => {
                self.failures = 0;
                if let Err(error) = work.committed(partition).await {
                    tracing::warn!(%group, partition, error = format!("{error:#}"), "owed work failed and is tried again");
                }
                Ok(true)
            }
            Err(error) => self.failed(partition, error, work).await.map(|()| false),
        }
    }

    /// What becomes of a partition whose turn was not committed.
    async fn failed(
        &mut self,
        partition: u32,
        error: CommitError,
        work: &mut dyn Work,
    ) -> anyhow::Result<()> {
        let group = &self.drive.membership.group;
        match error {
            CommitError::Aborted(reason) => {
                tracing::warn!(%group, partition, reason, "a turn was aborted and is tried again");
                work.aborted(partition);
                Ok(self.again(partition).await?)
            }
            CommitError::Lost(reason) => {
                tracing::warn!(%group, partition, reason, "a partition was lost");
                self.owned.remove(&partition);
                self.awaiting = true;
                work.forget(partition);
                Ok(())
            }
            CommitError::Engine(error) => Err(error.into()),
        }
    }

    async fn commit(&mut self, batch: &Batch, records: Vec<NewRecord>) -> Result<(), CommitError> {
        let offsets = self.member.positions(batch.partition);
        let mut turn = Turn { partition: batch.partition, generation: batch.generation, offsets, records };
        if self.drive.membership.mode == Mode::Plain && !turn.records.is_empty() {
            // Announced before acknowledged: a crash in between announces again, and that is harmless.
            match self.drive.topics.append(std::mem::take(&mut turn.records)).await {
                Ok(()) => {}
                Err(TopicError::Busy(reason)) => return Err(CommitError::Aborted(reason)),
                Err(error) => return Err(error.into()),
            }
        }
        let offsets = turn.offsets.clone();
        self.member.commit(turn).await?;
        self.owned.entry(batch.partition).and_modify(|owned| owned.committed = offsets);
        Ok(())
    }

    async fn again(&mut self, partition: u32) -> Result<(), TopicError> {
        if or_stop(&self.drive.shutdown, self.member.rewind(partition)).await?.is_none() {
            return Ok(());
        }
        tokio::select! {
            () = retry::pause(self.failures, u64::from(partition)) => {}
            () = self.drive.shutdown.wait() => {}
        }
        self.failures = self.failures.saturating_add(1);
        Ok(())
    }
}
