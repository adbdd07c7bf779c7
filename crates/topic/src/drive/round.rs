//! A round: the turns of several partitions, decided one after the other and committed together.

use anyhow::Context as _;
use runtime::retry;

use super::{Loop, UNSETTLED, Work, or_stop};
use crate::port::{Batch, CommitError, Mode, NewRecord, Offsets, TopicError, Topics, Turn};

/// Partitions that have a turn in one round. What one of them decided waits for what the others decide.
const AT_ONCE: usize = 16;

impl Loop {
    /// Records have come; what lies ready of other partitions comes along.
    pub(super) async fn read(&mut self, batch: Batch, work: &mut dyn Work) -> anyhow::Result<()> {
        let mut left = self.drive.records_max.saturating_sub(batch.records.len());
        let (mut held, mut round) = (vec![batch.partition], vec![(batch, None)]);
        while left > 0 && round.len() < AT_ONCE {
            let more = or_stop(&self.drive.shutdown, self.member.more(&held, left)).await?;
            let Some(batch) = more.flatten() else { break };
            left = left.saturating_sub(batch.records.len());
            held.push(batch.partition);
            round.push((batch, None));
        }
        self.round(round, work).await.map(drop)
    }

    /// Closes what was due in partitions by these instants.
    pub(super) async fn close(&mut self, due: &[(u32, i64)], work: &mut dyn Work) -> anyhow::Result<()> {
        let some = due.get(..AT_ONCE.min(due.len())).unwrap_or_default();
        let round = some.iter().filter_map(|(partition, at)| Some((self.nothing(*partition)?, Some(*at))));
        let committed = self.round(round.collect(), work).await?;
        for (partition, at) in some {
            if committed.contains(partition) && work.due(*partition).is_none_or(|due| due > *at) {
                self.owned.entry(*partition).and_modify(|owned| owned.closing = None);
            }
        }
        Ok(())
    }

    /// Commits positions that went past what nobody is handed, where no turn has. Or a log that keeps nothing for
    /// ever would take that away as well one quiet day, and the group would stand before its first offset, as if
    /// it had missed something.
    pub(super) async fn commit_moved(&mut self, work: &mut dyn Work) -> anyhow::Result<()> {
        (self.moved, self.unsettled) = (None, false);
        let moved = |partition: &&u32| {
            let committed = self.owned.get(partition).map(|owned| &owned.committed);
            committed.is_some_and(|committed| self.member.positions(**partition) != *committed)
        };
        let moved: Vec<u32> = self.owned.keys().filter(moved).copied().collect();
        for some in moved.chunks(AT_ONCE) {
            if self.drive.shutdown.started() {
                break;
            }
            let turns = some.iter().filter_map(|partition| self.nothing(*partition));
            let turns = turns.map(|batch| self.turn(&batch, Vec::new())).collect();
            let outcomes = self.commit(turns).await;
            self.settle(outcomes, Vec::new(), work).await?;
        }
        Ok(())
    }

    /// A batch without records, of a partition that is ours.
    fn nothing(&self, partition: u32) -> Option<Batch> {
        let generation = self.owned.get(&partition)?.generation;
        Some(Batch { partition, generation, records: Vec::new() })
    }

    /// One turn for each of several partitions; says whose was committed. A turn that fails is tried again from
    /// the committed offsets, after a pause that grows.
    async fn round(
        &mut self,
        batches: Vec<(Batch, Option<i64>)>,
        work: &mut dyn Work,
    ) -> anyhow::Result<Vec<u32>> {
        let group = self.drive.membership.group.clone();
        let (mut turns, mut undecided) = (Vec::new(), Vec::new());
        let mut committed = Vec::new();
        let decided = work.turns(&batches).await;
        for ((batch, closing), decided) in batches.iter().zip(decided) {
            let partition = batch.partition;
            match decided {
                // Read again it says the same again, and so it need not be committed by itself.
                Ok(records) if records.is_empty() && closing.is_none() => {
                    self.leave_unsettled(partition);
                    committed.push(partition);
                }
                Ok(records) => turns.push(self.turn(batch, records)),
                Err(error) => {
                    tracing::warn!(%group, partition, error = format!("{error:#}"), "a turn failed and is tried again");
                    work.aborted(partition);
                    undecided.push(partition);
                }
            }
        }
        let outcomes = if turns.is_empty() { Vec::new() } else { self.commit(turns).await };
        committed.extend(outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).map(|(p, _)| *p));
        for partition in &committed {
            self.failures = 0;
            if let Err(error) = work.committed(*partition).await {
                tracing::warn!(%group, partition, error = format!("{error:#}"), "owed work failed and is tried again");
            }
        }
        self.settle(outcomes, undecided, work).await?;
        Ok(committed)
    }

    /// A turn that wrote nothing is believed at once, and committed with the next one that writes, or when there is
    /// rest: a commit of offsets alone costs as much as one that says something.
    fn leave_unsettled(&mut self, partition: u32) {
        self.owned.entry(partition).and_modify(|owned| owned.unsettled = true);
        if !std::mem::replace(&mut self.unsettled, true) {
            self.moved = Some(Box::pin(retry::wait(UNSETTLED)));
        }
    }

    fn turn(&self, batch: &Batch, records: Vec<NewRecord>) -> Turn {
        let Batch { partition, generation, .. } = *batch;
        Turn { partition, generation, offsets: self.member.positions(partition), records }
    }

    /// Commits turns; what became of each.
    async fn commit(&mut self, mut turns: Vec<Turn>) -> Vec<(u32, Result<(), CommitError>)> {
        let partitions: Vec<u32> = turns.iter().map(|turn| turn.partition).collect();
        if self.drive.membership.mode == Mode::Plain
            && let Err(error) = announce(&*self.drive.topics, &mut turns).await
        {
            let failed = |partition| (partition, Err(failure(&error)));
            return partitions.into_iter().map(failed).collect();
        }
        let offsets: Vec<Offsets> = turns.iter().map(|turn| turn.offsets.clone()).collect();
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
    async fn settle(
        &mut self,
        outcomes: Vec<(u32, Result<(), CommitError>)>,
        undecided: Vec<u32>,
        work: &mut dyn Work,
    ) -> anyhow::Result<()> {
        let (group, mut back) = (&self.drive.membership.group, undecided);
        for (partition, outcome) in outcomes {
            match outcome {
                Ok(()) => {}
                Err(CommitError::Aborted(reason)) => {
                    tracing::warn!(%group, partition, reason, "a turn was aborted and is tried again");
                    work.aborted(partition);
                    back.push(partition);
                }
                Err(CommitError::Lost(reason)) => {
                    tracing::warn!(%group, partition, reason, "a partition was lost");
                    self.owned.remove(&partition);
                    self.awaiting = true;
                    work.forget(partition);
                }
                Err(CommitError::Engine(error)) => return Err(error.into()),
            }
        }
        self.again(&back, work).await
    }

    async fn again(&mut self, partitions: &[u32], work: &mut dyn Work) -> anyhow::Result<()> {
        for partition in partitions {
            if or_stop(&self.drive.shutdown, self.member.rewind(*partition)).await?.is_none() {
                return Ok(());
            }
            // What is read again must not be believed twice.
            if self.owned.get(partition).is_some_and(|owned| owned.unsettled)
                && !self.restore(*partition, work).await?
            {
                return Ok(());
            }
        }
        let Some(first) = partitions.first() else { return Ok(()) };
        tokio::select! {
            () = retry::pause(self.failures, u64::from(*first)) => {}
            () = self.drive.shutdown.wait() => {}
        }
        self.failures = self.failures.saturating_add(1);
        Ok(())
    }

    /// Takes the state of a partition from the log once more; not if everything stops first.
    async fn restore(&mut self, partition: u32, work: &mut dyn Work) -> anyhow::Result<bool> {
        if self.drive.membership.state.is_some() {
            let state = or_stop(&self.drive.shutdown, self.member.restore(partition)).await?;
            let Some(state) = state else { return Ok(false) };
            work.restore(partition, state).with_context(|| format!("restore partition {partition}"))?;
        }
        self.owned.entry(partition).and_modify(|owned| owned.unsettled = false);
        Ok(true)
    }
}

/// What a turn comes to whose records could not be appended.
fn failure(error: &TopicError) -> CommitError {
    match error {
        TopicError::Busy(reason) => CommitError::Aborted(reason.clone()),
        other => other.clone().into(),
    }
}

/// Announced before acknowledged: a crash in between announces again, and that is harmless.
async fn announce(topics: &dyn Topics, turns: &mut [Turn]) -> Result<(), TopicError> {
    let records: Vec<NewRecord> = turns.iter_mut().flat_map(|turn| turn.records.drain(..)).collect();
    if records.is_empty() { Ok(()) } else { topics.append(records).await }
}
