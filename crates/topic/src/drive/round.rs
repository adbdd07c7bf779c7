//! A round: the turns of several partitions, decided one after the other and committed together.

use anyhow::anyhow;
use runtime::{clock::SteadyStopwatch, retry};

use super::{
    DriveLoop, DrivenPartition, RoomWork, TurnDeferredError, UNSETTLED, or_stop,
    stall::{self, StallPhase},
};
use crate::{
    metrics::{RoundPart, TurnOutcome},
    port::{CommitError, NewRecord, RecordBatch, TopicError, TopicOffsets, Topics, Turn, TurnGuarantee},
};

/// Partitions that have a turn in one round. What one of them decided waits for what the others decide.
const AT_ONCE: usize = 16;

impl DriveLoop {
    /// Records have come; what lies ready of other partitions comes along.
    pub(super) async fn read_batch(
        &mut self,
        batch: RecordBatch,
        work: &mut dyn RoomWork,
    ) -> anyhow::Result<()> {
        // Handed out before it was held: what failed comes first, and then this again.
        if self.owned.get(&batch.partition).is_some_and(DrivenPartition::is_waiting) {
            return Ok(());
        }
        let mut left = work.record_limit(self.drive.records_max).saturating_sub(batch.records.len());
        let (mut held, mut round) = (vec![batch.partition], vec![(batch, None)]);
        while left > 0 && round.len() < AT_ONCE {
            let more = or_stop(&self.drive.shutdown, self.member.take_more(&held, left)).await?;
            let Some(batch) = more.flatten() else { break };
            left = left.saturating_sub(batch.records.len());
            held.push(batch.partition);
            round.push((batch, None));
        }
        self.run_round(round, work).await.map(drop)
    }

    /// Closes what was due in partitions by these instants: what is urgent first, then each partition in its turn.
    pub(super) async fn close_due(
        &mut self,
        mut due: Vec<(u32, i64)>,
        work: &mut dyn RoomWork,
    ) -> anyhow::Result<()> {
        due.sort_by_key(|(partition, at)| {
            let is_urgent = work.urgently_due(*partition).is_some_and(|urgent| urgent <= *at);
            (!is_urgent, partition.wrapping_sub(self.closed_last).wrapping_sub(1))
        });
        due.truncate(AT_ONCE);
        let round = due.iter().filter_map(|(partition, at)| Some((self.empty_batch(*partition)?, Some(*at))));
        let committed = self.run_round(round.collect(), work).await?;
        for (partition, at) in &due {
            if committed.contains(partition) && work.due(*partition).is_none_or(|due| due > *at) {
                self.owned.entry(*partition).and_modify(|owned| owned.closing = None);
            }
            self.closed_last = *partition;
        }
        self.closed = true;
        Ok(())
    }

    /// Commits positions that went past what nobody is handed, where no turn has. Or a log that keeps nothing for
    /// ever would take that away as well one quiet day, and the group would stand before its first offset, as if
    /// it had missed something.
    pub(super) async fn commit_moved(&mut self, work: &mut dyn RoomWork) -> anyhow::Result<()> {
        (self.moved, self.unsettled) = (None, false);
        let moved = |partition: &&u32| {
            let committed = self.owned.get(partition).filter(|owned| !owned.is_waiting());
            let committed = committed.map(|owned| &owned.committed);
            committed.is_some_and(|committed| self.member.positions(**partition) != *committed)
        };
        let moved: Vec<u32> = self.owned.keys().filter(moved).copied().collect();
        for some in moved.chunks(AT_ONCE) {
            if self.drive.shutdown.is_started() {
                break;
            }
            let turns = some.iter().filter_map(|partition| self.empty_batch(*partition));
            let turns = turns.map(|batch| self.build_turn(&batch, Vec::new())).collect();
            let outcomes = self.commit_turns(turns).await;
            self.settle_failed(outcomes, |_| StallPhase::Reading, work)?;
        }
        Ok(())
    }

    /// A batch without records, of a partition that is ours.
    fn empty_batch(&self, partition: u32) -> Option<RecordBatch> {
        let generation = self.owned.get(&partition)?.generation;
        Some(RecordBatch { partition, generation, records: Vec::new() })
    }

    /// One turn for each of several partitions; says whose was committed. A partition whose turn fails is held by
    /// itself, and tried again from the committed offsets.
    async fn run_round(
        &mut self,
        batches: Vec<(RecordBatch, Option<i64>)>,
        work: &mut dyn RoomWork,
    ) -> anyhow::Result<Vec<u32>> {
        let (mut turns, mut committed) = (Vec::new(), Vec::new());
        let doing = |partition| {
            StallPhase::of_closing(
                batches.iter().find(|(batch, _)| batch.partition == partition).and_then(|of| of.1),
            )
        };
        let (metrics, watch) = (self.drive.metrics.clone(), SteadyStopwatch::start());
        let decided = stall::decide_round(work, &batches).await;
        metrics.note_part(RoundPart::Decide, watch.elapsed());
        metrics.count_records(batches.iter().map(|(batch, _)| batch.records.len()).sum());
        for ((batch, closing), decided) in batches.iter().zip(decided) {
            let partition = batch.partition;
            match decided {
                // Read again it says the same again, and so it need not be committed by itself.
                Ok(records) if records.is_empty() && closing.is_none() => {
                    metrics.count_turn(TurnOutcome::Silent);
                    self.leave_unsettled(partition);
                    committed.push(partition);
                }
                Ok(records) => turns.push(self.build_turn(batch, records)),
                Err(error) => {
                    let waits = error.is::<TurnDeferredError>();
                    metrics.count_turn(if waits { TurnOutcome::Deferred } else { TurnOutcome::Failed });
                    self.stall_partition(partition, &error, StallPhase::of_closing(*closing), work);
                }
            }
        }
        let watch = SteadyStopwatch::start();
        let outcomes = if turns.is_empty() { Vec::new() } else { self.commit_turns(turns).await };
        if !outcomes.is_empty() {
            metrics.note_part(RoundPart::Commit, watch.elapsed());
        }
        for (_, outcome) in &outcomes {
            metrics.count_turn(match outcome {
                Ok(()) => TurnOutcome::Committed,
                Err(CommitError::Lost(_)) => TurnOutcome::Lost,
                Err(CommitError::Aborted(_) | CommitError::Engine(_)) => TurnOutcome::Aborted,
            });
        }
        committed.extend(outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).map(|(p, _)| *p));
        let watch = SteadyStopwatch::start();
        for partition in &committed {
            self.clear_stall(*partition, doing(*partition));
            self.confirm_commit(*partition, work).await;
        }
        metrics.note_part(RoundPart::Confirm, watch.elapsed());
        self.settle_failed(outcomes, doing, work)?;
        Ok(committed)
    }

    /// A turn that wrote nothing is believed at once, and committed with the next one that writes, or when there is
    /// rest: a commit of offsets alone costs as much as one that says something.
    fn leave_unsettled(&mut self, partition: u32) {
        self.owned.entry(partition).and_modify(|owned| owned.unsettled = true);
        if !std::mem::replace(&mut self.unsettled, true) {
            self.moved = Some(Box::pin(retry::wait_real_time(UNSETTLED)));
        }
    }

    fn build_turn(&self, batch: &RecordBatch, records: Vec<NewRecord>) -> Turn {
        let RecordBatch { partition, generation, .. } = *batch;
        Turn { partition, generation, offsets: self.member.positions(partition), records }
    }

    /// Commits turns; what became of each.
    async fn commit_turns(&mut self, mut turns: Vec<Turn>) -> Vec<(u32, Result<(), CommitError>)> {
        let partitions: Vec<u32> = turns.iter().map(|turn| turn.partition).collect();
        if self.drive.membership.mode == TurnGuarantee::Plain
            && let Err(error) = announce_records(&*self.drive.topics, &mut turns).await
        {
            let failed = |partition| (partition, Err(append_failure(&error)));
            return partitions.into_iter().map(failed).collect();
        }
        let offsets: Vec<TopicOffsets> = turns.iter().map(|turn| turn.offsets.clone()).collect();
        let outcomes = self.member.commit_all(turns).await;
        for ((partition, offsets), outcome) in partitions.iter().zip(offsets).zip(&outcomes) {
            if outcome.is_ok() {
                self.owned.entry(*partition).and_modify(|owned| {
                    owned.committed = offsets;
                    owned.unsettled = false;
                });
            }
        }
        partitions.into_iter().zip(outcomes).collect()
    }

    /// What becomes of partitions whose turns did not happen: they go back to what is committed, or were lost.
    fn settle_failed(
        &mut self,
        outcomes: Vec<(u32, Result<(), CommitError>)>,
        doing: impl Fn(u32) -> StallPhase,
        work: &mut dyn RoomWork,
    ) -> anyhow::Result<()> {
        for (partition, outcome) in outcomes {
            match outcome {
                Ok(()) => {}
                Err(CommitError::Aborted(reason)) => {
                    let error = anyhow!("the turn was aborted: {reason}");
                    self.stall_partition(partition, &error, doing(partition), work);
                }
                Err(CommitError::Lost(reason)) => {
                    let group = &self.drive.membership.group;
                    tracing::warn!(%group, partition, reason, "a partition was lost");
                    self.forget_partition(partition, work);
                    self.awaiting = true;
                }
                Err(CommitError::Engine(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// What a turn comes to whose records could not be appended.
fn append_failure(error: &TopicError) -> CommitError {
    match error {
        TopicError::Busy(reason) => CommitError::Aborted(reason.clone()),
        other => other.clone().into(),
    }
}

/// Announced before acknowledged: a crash in between announces again, and that is harmless.
async fn announce_records(topics: &dyn Topics, turns: &mut [Turn]) -> Result<(), TopicError> {
    let records: Vec<NewRecord> = turns.iter_mut().flat_map(|turn| turn.records.drain(..)).collect();
    if records.is_empty() { Ok(()) } else { topics.append(records).await }
}
