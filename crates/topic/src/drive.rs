//! The one loop. Every room runs in it: wait for what happens, let the room decide a turn, commit it, and
//! only then let the room believe it.
//!
//! Several partitions have their turns in one round: decided one after the other, committed together. So a slow log
//! delays each round once, and not once for each partition.
//!
//! A partition that cannot go on (its state cannot be read, a turn fails, something panics) is held by itself and
//! tried again; the others do not wait for it. Letting go of it would only hand the same records to somebody else.
//!
//! A room that waits for instants (windows that fall due) is woken for them, but it may close nothing that
//! was due at T before its partition has been read up to the ends that its topics had when T came: what a
//! person did a moment before must be seen first, also after an outage.

use std::{collections::BTreeMap, future::pending, pin::Pin, sync::Arc, time::Duration};

use anyhow::Context as _;
use async_trait::async_trait;
use futures::{FutureExt as _, StreamExt as _, future::try_join_all, stream};
use runtime::{Clock, ShutdownSignal, WorkTracker, retry, work_tracker::WorkGuard};

use crate::metrics::GroupTurnMetrics;
use crate::port::{
    CommitError, GroupMembership, Member, MemberEvent, NewRecord, RecordBatch, TopicError, TopicOffsets,
    TopicRecord, Topics, Turn,
};

mod round;
mod stall;
#[cfg(test)]
mod tests;

use stall::{RetryTimers, StallPhase, StalledPartition};

/// How long a position that has moved without a record may wait for a turn that commits it.
const MOVED: Duration = Duration::from_secs(10);
/// How long turns that wrote nothing may go uncommitted while there is more to read, and while there is not.
const UNSETTLED: Duration = Duration::from_secs(1);
const UNSETTLED_AT_REST: Duration = Duration::from_millis(5);
/// How long what there is to read between two rounds of closings may take to come.
const BETWEEN: Duration = Duration::from_millis(100);
/// Partitions whose states are read back at the same time, and kept until the room has taken them.
const RESTORED_AT_ONCE: usize = 4;

/// What a room does in the loop. A room that keeps nothing between turns decides, and that is all.
#[async_trait]
pub trait RoomWork: Send + Sync {
    /// Takes over a partition with its state. Called once for each assignment.
    fn restore(&mut self, _partition: u32, _state: Vec<TopicRecord>) -> anyhow::Result<()> {
        Ok(())
    }

    /// Whether it wants nothing that was appended before a partition was assigned to it: each time it begins where the
    /// partition ends, before it is given the partition.
    fn begins_at_end(&self) -> bool {
        false
    }

    /// Lets go of a partition and all memory of it.
    fn forget(&mut self, _partition: u32) {}

    /// The next instant at which the partition wants a turn without records.
    fn due(&self, _partition: u32) -> Option<i64> {
        None
    }

    /// The next instant at which something wants a turn that goes before whatever else is due.
    fn urgently_due(&self, _partition: u32) -> Option<i64> {
        None
    }

    /// Whether the partition must have been read up to date before what is due may close.
    fn reads_first(&self) -> bool {
        true
    }

    /// Returns when something outside of the log has changed that the room has not taken up.
    async fn outside_change(&self) {
        pending::<()>().await;
    }

    /// Takes up what has changed outside.
    fn take_change(&mut self) {}

    /// How many records it wants in its next round; whoever cannot go on with more leaves them in the log. At least one.
    fn record_limit(&self, usual: usize) -> usize {
        usual
    }

    /// Decides a turn: loads what it needs, decides on a copy, applies what may be repeated, and returns
    /// the records that belong to the turn. Turns of other partitions may be decided before this one is
    /// committed, another of this one never. `closing` is the instant up to which windows may close.
    async fn turn(&mut self, batch: &RecordBatch, closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>>;

    /// The turns of a round, in their order. Who waits for others in a turn may do so in all of them at once.
    async fn turns(&mut self, round: &[(RecordBatch, Option<i64>)]) -> Vec<anyhow::Result<Vec<NewRecord>>> {
        let mut decided = Vec::with_capacity(round.len());
        for (batch, closing) in round {
            decided.push(self.turn(batch, *closing).await);
        }
        decided
    }

    /// The last turn of this partition is committed: the copy becomes the memory, and what was owed to
    /// others after the commit is done now.
    async fn after_commit(&mut self, _partition: u32) -> anyhow::Result<()> {
        Ok(())
    }

    /// The last turn of this partition did not happen: the copy is dropped.
    fn after_abort(&mut self, _partition: u32) {}
}

/// Why a turn cannot be decided yet, although nothing is wrong: it is tried again until it can. Who says so has told
/// somebody of it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct TurnDeferredError(pub String);

/// What a loop needs beside its work.
#[derive(Clone)]
pub struct DriveDeps {
    pub topics: Arc<dyn Topics>,
    pub membership: GroupMembership,
    pub clock: Clock,
    pub quiet: WorkTracker,
    pub shutdown: ShutdownSignal,
    /// Records handed to one round at most.
    pub records_max: usize,
    pub metrics: GroupTurnMetrics,
}

/// Runs a room until the shutdown, or until the engine cannot go on.
pub async fn run_room(drive: DriveDeps, work: &mut dyn RoomWork) -> anyhow::Result<()> {
    let group = drive.membership.group.clone();
    let worker = drive.quiet.begin_work();
    let join = drive.topics.join(drive.membership.clone());
    let joined = or_stop(&drive.shutdown, join).await.with_context(|| format!("{group}: join"))?;
    let Some(member) = joined else { return Ok(()) };
    let (owned, awaiting) = (BTreeMap::new(), true);
    let (moved, unsettled, releases) = (None, false, RetryTimers::new());
    let (closed, closed_last) = (false, u32::MAX);
    let mut loop_ =
        DriveLoop { drive, member, worker, owned, awaiting, moved, unsettled, releases, closed, closed_last };
    let ran = loop_.run(work).await.with_context(|| format!("{group}: the log"));
    loop_.note_nothing();
    ran
}

struct DriveLoop {
    drive: DriveDeps,
    member: Box<dyn Member>,
    worker: WorkGuard,
    owned: BTreeMap<u32, DrivenPartition>,
    /// Partitions are about to be assigned: until they are restored this loop is not idle, whatever it has read.
    awaiting: bool,
    /// Positions have moved without a record; when this returns, they are committed.
    moved: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// There are turns among these that wrote nothing and are to be committed soon.
    unsettled: bool,
    /// When partitions that are held are tried again.
    releases: RetryTimers,
    /// The last thing done was a round of closings; and which partition came last in it.
    closed: bool,
    closed_last: u32,
}

/// A partition in our hands.
struct DrivenPartition {
    generation: u64,
    /// An instant that came, and how far the partition must be read before what was due then may close.
    closing: Option<(i64, TopicOffsets)>,
    /// What was committed last, if it was by us.
    committed: TopicOffsets,
    /// What the room believes is not what is committed: turns that wrote nothing, or what a panic left behind.
    unsettled: bool,
    /// It could not go on, and has not since.
    held: Option<StalledPartition>,
}

impl DrivenPartition {
    fn new(generation: u64) -> Self {
        Self { generation, closing: None, committed: TopicOffsets::new(), unsettled: false, held: None }
    }

    /// Whether it waits for its next try.
    fn is_waiting(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.waits)
    }

    /// The next instant for which it is to be noted how far it must be read. Where that was noted already, only what
    /// is urgent and came later is: it must not wait for all that was due before it.
    fn due(&self, partition: u32, work: &dyn RoomWork) -> Option<i64> {
        match &self.closing {
            _ if self.is_waiting() => None,
            None => work.due(partition),
            Some((at, _)) => work.urgently_due(partition).filter(|urgent| urgent > at),
        }
    }
}

enum WakeReason {
    Happening(MemberEvent),
    /// What was due in these partitions by these instants may close now.
    Close(Vec<(u32, i64)>),
    Due,
    Moved,
    /// Something outside of the log has changed.
    Outside,
    /// A partition is to be tried again, if it still has this generation.
    Again(u32, u64),
    Stop,
}

/// What the log answers, unless everything stops first: a cluster that is away is waited for without end.
async fn or_stop<T>(
    shutdown: &ShutdownSignal,
    answer: impl Future<Output = Result<T, TopicError>>,
) -> Result<Option<T>, TopicError> {
    tokio::select! {
        biased;
        answer = answer => answer.map(Some),
        () = shutdown.wait() => Ok(None),
    }
}

impl DriveLoop {
    async fn run(&mut self, work: &mut dyn RoomWork) -> anyhow::Result<()> {
        while !self.drive.shutdown.is_started() {
            let happened = self.next_wake(work).await?;
            self.handle(happened, work).await?;
        }
        Ok(())
    }

    async fn next_wake(&mut self, work: &dyn RoomWork) -> Result<WakeReason, TopicError> {
        // Closings never keep anybody from reading: what came meanwhile has its turn between two rounds of them.
        if std::mem::take(&mut self.closed)
            && let Some(happening) = self.next_at_hand().await?
        {
            return Ok(WakeReason::Happening(happening));
        }
        let due = self.next_due(work);
        // Asked before the member is: one that always has records must not keep instants from coming.
        if due.is_some_and(|at| at <= self.drive.clock.now()) {
            return Ok(WakeReason::Due);
        }
        let closable = self.closable();
        if !closable.is_empty() {
            return Ok(WakeReason::Close(closable));
        }
        let tries_again =
            self.owned.values().any(|owned| owned.held.as_ref().is_some_and(StalledPartition::may_pass));
        let Self { drive, member, worker, awaiting, moved, unsettled, releases, .. } = self;
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
        let again = async {
            match releases.next().await {
                Some(again) => again,
                None => pending().await,
            }
        };
        // Polled last, so whoever watches learns that this loop is idle only when it really is.
        let idle = async {
            if !*unsettled {
                worker.set_busy(*awaiting || tries_again);
                pending::<()>().await;
            }
            retry::wait_real_time(UNSETTLED_AT_REST).await;
        };
        let (woken, asleep) = tokio::select! {
            biased;
            () = drive.shutdown.wait() => (WakeReason::Stop, None),
            // Before the member is, for the same reason.
            () = moved => (WakeReason::Moved, None),
            () = work.outside_change() => (WakeReason::Outside, None),
            (partition, generation) = again => (WakeReason::Again(partition, generation), None),
            happening = member.next(work.record_limit(drive.records_max).max(1)) => (WakeReason::Happening(happening?), None),
            asleep = wake => (WakeReason::Due, Some(asleep)),
            () = idle => (WakeReason::Moved, None),
        };
        // At work before it stops being a sleeper: nobody may see it as neither.
        worker.set_busy(true);
        drop(asleep);
        Ok(woken)
    }

    /// What has happened by now, without waiting for it.
    async fn next_at_hand(&mut self) -> Result<Option<MemberEvent>, TopicError> {
        let most = self.drive.records_max;
        let more = async {
            tokio::select! {
                biased;
                more = self.member.take_more(&[], most) => more,
                () = retry::wait_real_time(BETWEEN) => Ok(None),
            }
        };
        if let Some(batch) = more.await? {
            return Ok(Some(MemberEvent::Records(batch)));
        }
        // A partition may be about to go elsewhere, too.
        self.member.next(most).now_or_never().transpose()
    }

    /// The next instant for which somebody has to note how far a partition is to be read.
    fn next_due(&self, work: &dyn RoomWork) -> Option<i64> {
        self.owned.iter().filter_map(|(partition, owned)| owned.due(*partition, work)).min()
    }

    /// Partitions that have been read as far as they must be for their closing.
    fn closable(&self) -> Vec<(u32, i64)> {
        let closable =
            self.owned.iter().filter(|(_, owned)| !owned.is_waiting()).filter_map(|(partition, owned)| {
                let (at, target) = owned.closing.as_ref()?;
                let positions = self.member.positions(*partition);
                let read =
                    target.iter().all(|(topic, end)| positions.iter().any(|(t, p)| t == topic && p >= end));
                read.then_some((*partition, *at))
            });
        closable.collect()
    }

    async fn handle(&mut self, woken: WakeReason, work: &mut dyn RoomWork) -> anyhow::Result<()> {
        match woken {
            WakeReason::Stop => Ok(()),
            WakeReason::Outside => {
                work.take_change();
                Ok(())
            }
            WakeReason::Due => self.note_due(work).await,
            WakeReason::Moved => self.commit_moved(work).await,
            WakeReason::Close(partitions) => self.close_due(partitions, work).await,
            WakeReason::Happening(MemberEvent::Assigned(partitions)) => {
                self.take_assigned(partitions, work).await
            }
            WakeReason::Happening(MemberEvent::Revoked(partitions)) => {
                if partitions.is_empty() {
                    self.moved.get_or_insert_with(|| Box::pin(retry::wait_real_time(MOVED)));
                    return Ok(());
                }
                for partition in partitions {
                    self.forget_partition(partition, work);
                }
                // Who has lost all of them, to a session that ended on a busy machine, is not done with them: until the
                // log has said what is theirs now, nobody knows what is due.
                self.awaiting |= self.owned.is_empty();
                Ok(())
            }
            WakeReason::Again(partition, generation) => self.try_again(partition, generation, work).await,
            WakeReason::Happening(MemberEvent::Records(batch)) => self.read_batch(batch, work).await,
        }
    }

    async fn take_assigned(
        &mut self,
        partitions: Vec<(u32, u64)>,
        work: &mut dyn RoomWork,
    ) -> anyhow::Result<()> {
        let mut partitions = partitions;
        if work.begins_at_end() {
            let Some(kept) = self.skip_to_ends(partitions).await? else { return Ok(()) };
            partitions = kept;
        }
        let Self { drive, member, owned, .. } = self;
        let keeps = drive.membership.state.is_some();
        let (member, shutdown, mut failed) = (&**member, &drive.shutdown, Vec::new());
        let states = stream::iter(partitions).map(|(partition, generation)| async move {
            let state = async { if keeps { member.restore(partition).await } else { Ok(Vec::new()) } };
            (partition, generation, or_stop(shutdown, state).await)
        });
        let mut states = states.buffered(RESTORED_AT_ONCE);
        while let Some((partition, generation, state)) = states.next().await {
            let Some(state) = state? else { return Ok(()) };
            owned.insert(partition, DrivenPartition::new(generation));
            if let Err(error) = stall::restore_work(work, partition, state) {
                failed.push((partition, error));
            }
        }
        drop(states);
        for (partition, error) in failed {
            self.stall_partition(partition, &error, StallPhase::Remembering, work);
        }
        self.awaiting = false;
        Ok(())
    }

    /// Moves the positions of partitions to their ends, all at once, so that a member with many is not taken for gone
    /// meanwhile. Those that are its own still; nothing if it was asked to stop.
    async fn skip_to_ends(&mut self, partitions: Vec<(u32, u64)>) -> anyhow::Result<Option<Vec<(u32, u64)>>> {
        let Self { drive, member, .. } = self;
        let skip = async {
            let ends = try_join_all(partitions.iter().map(|(partition, _)| member.ends(*partition))).await?;
            let turn = |((partition, generation), offsets): (&(u32, u64), TopicOffsets)| Turn {
                partition: *partition,
                generation: *generation,
                offsets,
                records: Vec::new(),
            };
            let done = member.commit_all(partitions.iter().zip(ends).map(turn).collect()).await;
            let mut kept = Vec::with_capacity(partitions.len());
            for (owned, done) in partitions.into_iter().zip(done) {
                match done {
                    // What was aborted begins where the group was before, with more than is wanted.
                    Ok(()) | Err(CommitError::Aborted(_)) => {}
                    // It is assigned anew.
                    Err(CommitError::Lost(_)) => continue,
                    Err(CommitError::Engine(error)) => return Err(error),
                }
                match member.rewind(owned.0).await {
                    Ok(()) => kept.push(owned),
                    Err(TopicError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(kept)
        };
        Ok(or_stop(&drive.shutdown, skip).await?)
    }

    /// Instants have come: notes for each partition how far it must be read first.
    async fn note_due(&mut self, work: &dyn RoomWork) -> anyhow::Result<()> {
        let now = self.drive.clock.now();
        let is_due = |(partition, owned): (&u32, &DrivenPartition)| {
            owned.due(*partition, work).is_some_and(|due| due <= now).then_some(*partition)
        };
        let due: Vec<u32> = self.owned.iter().filter_map(is_due).collect();
        let member = &*self.member;
        let ends = try_join_all(due.iter().map(|partition| async {
            if work.reads_first() { member.ends(*partition).await } else { Ok(TopicOffsets::new()) }
        }));
        let Some(ends) = or_stop(&self.drive.shutdown, ends).await? else { return Ok(()) };
        for (partition, ends) in due.into_iter().zip(ends) {
            self.owned.entry(partition).and_modify(|owned| owned.closing = Some((now, ends)));
        }
        Ok(())
    }
}
