//! Partitions that cannot go on: each is held by itself, tried again after a pause that grows, and told of once.

use std::{any::Any, panic::AssertUnwindSafe};

use anyhow::{Context as _, anyhow};
use futures::{FutureExt as _, future::BoxFuture, stream::FuturesUnordered};
use runtime::{retry, standstill::PartitionStandstill};

use super::{DriveLoop, RoomWork, TurnDeferredError, or_stop};
use crate::port::{NewRecord, RecordBatch, TopicRecord};

/// Who has failed so often in a row is told of: an engine that is busy is back long before.
const FAILURES_UNTOLD: u32 = 12;

/// When partitions are tried again: partition and generation.
pub(super) type RetryTimers = FuturesUnordered<BoxFuture<'static, (u32, u64)>>;

/// What a turn came to.
pub(super) type DriveDecision = anyhow::Result<Vec<NewRecord>>;

/// A partition that could not go on.
pub(super) struct StalledPartition {
    failures: u32,
    /// It waits for its next try; else that is under way.
    pub waits: bool,
    /// It cannot go on by itself, as far as one can tell: what it is given is wrong, and not an engine.
    for_good: bool,
    at: StallPhase,
}

/// At what a partition failed; it goes on once the same has been done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StallPhase {
    Reading,
    Closing,
    /// No turn failed, but what the room remembers is wrong.
    Remembering,
}

impl StallPhase {
    pub fn of_closing(closing: Option<i64>) -> Self {
        if closing.is_some() { Self::Closing } else { Self::Reading }
    }
}

impl StalledPartition {
    /// Whether whoever waits for rest has to wait for this one.
    pub fn may_pass(&self) -> bool {
        self.waits && !self.for_good
    }
}

/// Something panicked: what it left behind is not to be believed.
#[derive(Debug, thiserror::Error)]
#[error("it panicked: {0}")]
pub(super) struct WorkPanicError(String);

fn describe_panic(payload: &(dyn Any + Send)) -> WorkPanicError {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    WorkPanicError(
        text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned()),
    )
}

/// What an answer of a room comes to that may panic.
async fn catch_panic<T>(answer: impl Future<Output = T>) -> Result<T, WorkPanicError> {
    AssertUnwindSafe(answer).catch_unwind().await.map_err(|payload| describe_panic(&*payload))
}

/// Gives a room the state of a partition.
pub(super) fn restore_work(
    work: &mut dyn RoomWork,
    partition: u32,
    state: Vec<TopicRecord>,
) -> anyhow::Result<()> {
    let restored = std::panic::catch_unwind(AssertUnwindSafe(|| work.restore(partition, state)));
    let restored = restored.unwrap_or_else(|payload| Err(describe_panic(&*payload).into()));
    restored.with_context(|| format!("restore partition {partition}"))
}

/// The turns of a round. If one of them panics nobody can tell whose fault it is: then each is decided by itself.
pub(super) async fn decide_round(
    work: &mut dyn RoomWork,
    round: &[(RecordBatch, Option<i64>)],
) -> Vec<DriveDecision> {
    match catch_panic(work.turns(round)).await {
        Ok(decided) => return decided,
        Err(panicked) if round.len() == 1 => return vec![Err(panicked.into())],
        Err(_) => {}
    }
    let mut decided = Vec::with_capacity(round.len());
    for one in round {
        work.after_abort(one.0.partition);
        let turn = catch_panic(work.turns(std::slice::from_ref(one))).await;
        decided.push(match turn {
            Ok(mut turn) => turn.pop().unwrap_or_else(|| Err(anyhow!("a turn came to nothing"))),
            Err(panicked) => Err(panicked.into()),
        });
    }
    decided
}

impl DriveLoop {
    /// A partition failed: nothing of it is handed out until it is tried again.
    pub(super) fn stall_partition(
        &mut self,
        partition: u32,
        error: &anyhow::Error,
        at: StallPhase,
        work: &mut dyn RoomWork,
    ) {
        let has_panicked = error.is::<WorkPanicError>();
        work.after_abort(partition);
        let Some(owned) = self.owned.get_mut(&partition) else { return };
        let failures = owned.held.as_ref().map_or(0, |held| held.failures).saturating_add(1);
        let for_good = at == StallPhase::Remembering || has_panicked;
        owned.unsettled |= for_good;
        owned.closing = None;
        owned.held = Some(StalledPartition { failures, waits: true, for_good, at });
        let generation = owned.generation;
        self.member.hold(partition);
        let salt = u64::from(partition);
        let pause = if for_good {
            retry::long_retry_delay(failures, salt)
        } else {
            retry::retry_delay(failures - 1, salt)
        };
        self.releases.push(Box::pin(async move {
            retry::wait_real_time(pause).await;
            (partition, generation)
        }));
        let (group, why) = (self.drive.membership.group.clone(), format!("{error:#}"));
        if error.is::<TurnDeferredError>() {
            tracing::debug!(%group, partition, why, "a turn waits");
            return;
        }
        if !for_good && failures < FAILURES_UNTOLD {
            tracing::warn!(%group, partition, error = why, "a turn failed; retrying");
            return;
        }
        let standstill = PartitionStandstill { group: group.clone(), partition, why: why.clone(), for_good };
        if self.drive.quiet.standstills().note(standstill) {
            tracing::error!(%group, partition, error = why, "a partition is stopped; the others go on");
        }
    }

    /// The pause of a partition is over: it goes back to what is committed, and is handed out again.
    pub(super) async fn try_again(
        &mut self,
        partition: u32,
        generation: u64,
        work: &mut dyn RoomWork,
    ) -> anyhow::Result<()> {
        let Some(owned) = self.owned.get_mut(&partition).filter(|owned| owned.generation == generation)
        else {
            return Ok(());
        };
        let (Some(held), must_restore) = (owned.held.as_mut(), owned.unsettled) else { return Ok(()) };
        held.waits = false;
        let failed_at = held.at;
        if or_stop(&self.drive.shutdown, self.member.rewind(partition)).await?.is_none() {
            return Ok(());
        }
        // What is read again must not be believed twice.
        if must_restore {
            if self.drive.membership.state.is_some() {
                let state = or_stop(&self.drive.shutdown, self.member.restore(partition)).await?;
                let Some(state) = state else { return Ok(()) };
                if let Err(error) = restore_work(work, partition, state) {
                    self.stall_partition(partition, &error, StallPhase::Remembering, work);
                    return Ok(());
                }
            }
            self.owned.entry(partition).and_modify(|owned| owned.unsettled = false);
        }
        // Where nothing is due any more there is no closing to show that it goes on.
        let is_due = work.due(partition).is_some_and(|due| due <= self.drive.clock.now());
        if failed_at == StallPhase::Remembering || failed_at == StallPhase::Closing && !is_due {
            self.clear_stall(partition, failed_at);
        }
        Ok(())
    }

    /// Tells a room that its turn is committed, so that it believes it.
    pub(super) async fn confirm_commit(&mut self, partition: u32, work: &mut dyn RoomWork) {
        match catch_panic(work.after_commit(partition)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let group = &self.drive.membership.group;
                tracing::warn!(%group, partition, error = format!("{error:#}"), "owed work failed; retrying");
            }
            Err(panicked) => self.stall_partition(partition, &panicked.into(), StallPhase::Remembering, work),
        }
    }

    /// This was done of a partition. If it had failed at that, whatever was wrong is not any more.
    pub(super) fn clear_stall(&mut self, partition: u32, done: StallPhase) {
        let Some(owned) = self.owned.get_mut(&partition) else { return };
        if owned.held.take_if(|held| held.at == done).is_some() {
            let group = &self.drive.membership.group;
            if self.drive.quiet.standstills().clear(group, partition) {
                tracing::info!(%group, partition, "a stopped partition goes on");
            }
        }
    }

    /// Forgets a partition that is not ours any more.
    pub(super) fn forget_partition(&mut self, partition: u32, work: &mut dyn RoomWork) {
        self.owned.remove(&partition);
        self.drive.quiet.standstills().clear(&self.drive.membership.group, partition);
        work.forget(partition);
    }

    /// Nothing is ours any more.
    pub(super) fn note_nothing(&self) {
        for partition in self.owned.keys() {
            self.drive.quiet.standstills().clear(&self.drive.membership.group, *partition);
        }
    }
}
