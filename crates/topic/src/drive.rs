//! The one loop. Every room runs in it: wait for what happens, let the room decide a turn, commit it, and
//! only then let the room believe it.
//!
//! Several partitions that have something to do have their turns in one round: decided one after the other, committed
//! together. So a log whose answers are late makes a round late, and not each partition after the other.
//!
//! A room that waits for instants (windows that fall due) is woken for them, but it may close nothing that
//! was due at T before its partition has been read up to the ends that its topics had when T came: what a
//! person did a moment before must be seen first, also after an outage.

use std::{collections::BTreeMap, future::pending, pin::Pin, sync::Arc, time::Duration};

use anyhow::Context as _;
use async_trait::async_trait;
use futures::{StreamExt as _, future::try_join_all, stream};
use runtime::{Clock, Quiet, Shutdown, quiet::Worker, retry};

use crate::port::{Batch, Happening, Member, Membership, NewRecord, Offsets, Record, TopicError, Topics};

mod round;
#[cfg(test)]
mod tests;

/// How long a position that has moved without a record may wait for a turn that commits it.
const MOVED: Duration = Duration::from_secs(10);
/// How long turns that wrote nothing may go uncommitted while there is more to read, and while there is not.
const UNSETTLED: Duration = Duration::from_secs(1);
const UNSETTLED_AT_REST: Duration = Duration::from_millis(5);
/// Partitions whose states are read back at the same time, and held until the room has taken them.
const RESTORED_AT_ONCE: usize = 4;

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
    /// the records that belong to the turn. Turns of other partitions may be decided before this one is
    /// committed, another of this one never. `closing` is the instant up to which windows may close.
    async fn turn(&mut self, batch: &Batch, closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>>;

    /// The turns of a round, in their order. Who waits for others in a turn may do so in all of them at once.
    async fn turns(&mut self, round: &[(Batch, Option<i64>)]) -> Vec<anyhow::Result<Vec<NewRecord>>> {
        let mut decided = Vec::with_capacity(round.len());
        for (batch, closing) in round {
            decided.push(self.turn(batch, *closing).await);
        }
        decided
    }

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
    /// Records handed to one round at most.
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
    let (moved, unsettled) = (None, false);
    let mut loop_ = Loop { drive, member, worker, owned, awaiting, moved, unsettled, failures: 0 };
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
    /// There are turns among these that wrote nothing and are to be committed soon.
    unsettled: bool,
    failures: u32,
}

/// A partition in our hands.
struct Owned {
    generation: u64,
    /// An instant that came, and how far the partition must be read before what was due then may close.
    closing: Option<(i64, Offsets)>,
    /// What was committed last, if it was by us.
    committed: Offsets,
    /// The room believes turns that wrote nothing and are not committed.
    unsettled: bool,
}

enum Woken {
    Happening(Happening),
    /// What was due in these partitions by these instants may close now.
    Close(Vec<(u32, i64)>),
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
        let closable = self.closable();
        if !closable.is_empty() {
            return Ok(Woken::Close(closable));
        }
        let due = self.owned.iter().filter(|(_, owned)| owned.closing.is_none());
        let due = due.filter_map(|(partition, _)| work.due(*partition)).min();
        // Asked before the member is: one that always has records must not keep instants from coming.
        if due.is_some_and(|at| at <= self.drive.clock.now()) {
            return Ok(Woken::Due);
        }
        let Self { drive, member, worker, awaiting, moved, unsettled, .. } = self;
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
            if !*unsettled {
                worker.set(*awaiting);
                pending::<()>().await;
            }
            retry::wait(UNSETTLED_AT_REST).await;
        };
        let (woken, asleep) = tokio::select! {
            biased;
            () = drive.shutdown.wait() => (Woken::Stop, None),
            // Before the member is, for the same reason.
            () = moved => (Woken::Moved, None),
            happening = member.next(drive.records_max) => (Woken::Happening(happening?), None),
            asleep = wake => (Woken::Due, Some(asleep)),
            () = idle => (Woken::Moved, None),
        };
        // At work before it stops being a sleeper: nobody may see it as neither.
        worker.set(true);
        drop(asleep);
        Ok(woken)
    }

    /// Partitions that have been read as far as they must be for their closing.
    fn closable(&self) -> Vec<(u32, i64)> {
        let closable = self.owned.iter().filter_map(|(partition, owned)| {
            let (at, target) = owned.closing.as_ref()?;
            let positions = self.member.positions(*partition);
            let read =
                target.iter().all(|(topic, end)| positions.iter().any(|(t, p)| t == topic && p >= end));
            read.then_some((*partition, *at))
        });
        closable.collect()
    }

    async fn handle(&mut self, woken: Woken, work: &mut dyn Work) -> anyhow::Result<()> {
        match woken {
            Woken::Stop => Ok(()),
            Woken::Due => self.note_due(work).await,
            Woken::Moved => self.commit_moved(work).await,
            Woken::Close(partitions) => self.close(&partitions, work).await,
            Woken::Happening(Happening::Assigned(partitions)) => self.assigned(partitions, work).await,
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
            Woken::Happening(Happening::Records(batch)) => self.read(batch, work).await,
        }
    }

    async fn assigned(&mut self, partitions: Vec<(u32, u64)>, work: &mut dyn Work) -> anyhow::Result<()> {
        let Self { drive, member, owned, .. } = self;
        let keeps = drive.membership.state.is_some();
        let (member, shutdown) = (&**member, &drive.shutdown);
        let states = stream::iter(partitions).map(|(partition, generation)| async move {
            let state = async { if keeps { member.restore(partition).await } else { Ok(Vec::new()) } };
            (partition, generation, or_stop(shutdown, state).await)
        });
        let mut states = states.buffered(RESTORED_AT_ONCE);
        while let Some((partition, generation, state)) = states.next().await {
            let Some(state) = state? else { return Ok(()) };
            work.restore(partition, state).with_context(|| format!("restore partition {partition}"))?;
            let (closing, committed, unsettled) = (None, Offsets::new(), false);
            owned.insert(partition, Owned { generation, closing, committed, unsettled });
        }
        self.awaiting = false;
        Ok(())
    }

    /// Instants have come: notes for each partition how far it must be read first.
    async fn note_due(&mut self, work: &dyn Work) -> anyhow::Result<()> {
        let now = self.drive.clock.now();
        let is_due = |(partition, owned): (&u32, &Owned)| {
            let due = work.due(*partition).is_some_and(|due| due <= now);
            (owned.closing.is_none() && due).then_some(*partition)
        };
        let due: Vec<u32> = self.owned.iter().filter_map(is_due).collect();
        let member = &*self.member;
        let ends = try_join_all(due.iter().map(|partition| async {
            if work.reads_first() { member.ends(*partition).await } else { Ok(Offsets::new()) }
        }));
        let Some(ends) = or_stop(&self.drive.shutdown, ends).await? else { return Ok(()) };
        for (partition, ends) in due.into_iter().zip(ends) {
            self.owned.entry(partition).and_modify(|owned| owned.closing = Some((now, ends)));
        }
        Ok(())
    }
}
