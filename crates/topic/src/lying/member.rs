//! A member that lies.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;

use super::{Lie, Lying, Memory};
use crate::port::{
    Batch, CommitError, Happening, Member, Membership, NewRecord, Offsets, Record, TopicError, Topics, Turn,
};

pub(super) struct LyingMember {
    inner: Box<dyn Member>,
    engine: Arc<dyn Topics>,
    lie: Option<Lie>,
    memory: Arc<Memory>,
    membership: Membership,
    /// The generations that the honest engine gave.
    assigned: HashMap<u32, u64>,
    ends: tokio::sync::Mutex<HashMap<u32, Offsets>>,
    held: Option<Turn>,
}

impl LyingMember {
    pub fn new(engine: &Lying, inner: Box<dyn Member>, membership: Membership) -> Self {
        Self {
            inner,
            engine: engine.inner.clone(),
            lie: engine.lie,
            memory: engine.memory.clone(),
            membership,
            assigned: HashMap::new(),
            ends: tokio::sync::Mutex::default(),
            held: None,
        }
    }

    fn tells(&self, lie: Lie) -> bool {
        self.lie == Some(lie)
    }

    /// What a happening is made into; nothing, if it is kept secret.
    async fn twist(&mut self, happening: Happening) -> Result<Option<Happening>, TopicError> {
        let same_generation = self.tells(Lie::SameGeneration);
        Ok(Some(match happening {
            Happening::Assigned(mut partitions) => {
                self.assigned.extend(partitions.iter().copied());
                if self.tells(Lie::SwallowsAssigned) {
                    return Ok(None);
                }
                if same_generation {
                    partitions.iter_mut().for_each(|(_, generation)| *generation = 1);
                }
                Happening::Assigned(partitions)
            }
            Happening::Revoked(_) if self.tells(Lie::SwallowsRevoked) => return Ok(None),
            Happening::Revoked(partitions) => Happening::Revoked(partitions),
            Happening::Records(mut batch) => {
                if self.tells(Lie::LosesDropped) {
                    tokio::task::yield_now().await;
                }
                if self.tells(Lie::CommitsAhead) {
                    let (partition, generation) = (batch.partition, batch.generation);
                    let offsets = self.inner.positions(partition);
                    drop(self.inner.commit(Turn { partition, generation, offsets, records: vec![] }).await);
                }
                if same_generation {
                    batch.generation = 1;
                }
                Happening::Records(batch)
            }
        }))
    }

    /// Goes on at the end of every partition.
    async fn jump(&mut self) -> Result<(), TopicError> {
        let ends: Vec<u64> = self.engine.bounds(&self.membership.lead).await?.iter().map(|b| b.1).collect();
        for (partition, generation) in self.assigned.clone() {
            let end = usize::try_from(partition).ok().and_then(|at| ends.get(at)).copied().unwrap_or(0);
            let offsets = vec![(self.membership.lead.clone(), end)];
            drop(self.inner.commit(Turn { partition, generation, offsets, records: vec![] }).await);
            self.inner.rewind(partition).await?;
        }
        Ok(())
    }

    /// Everything that other partitions of the state hold, as if it lay in this one.
    async fn others(&self, partition: u32) -> Result<Vec<Record>, TopicError> {
        let Some(state) = &self.membership.state else { return Ok(vec![]) };
        let mut out = Vec::new();
        for (other, _) in (0..).zip(self.engine.bounds(state).await?).filter(|(at, _)| *at != partition) {
            out.extend(self.engine.read(state, other, 0, 1_000).await?);
        }
        out.iter_mut().for_each(|record| record.partition = partition);
        Ok(out)
    }

    async fn show(&self, records: Vec<NewRecord>) {
        for record in records {
            // Those for nowhere are refused.
            drop(self.engine.append(vec![record]).await);
        }
    }
}

#[async_trait]
impl Member for LyingMember {
    async fn next(&mut self, most: usize) -> Result<Happening, TopicError> {
        if let Some(turn) = self.held.take() {
            drop(self.inner.commit(turn).await);
        }
        let most = if self.tells(Lie::HandsOutMore) { most + 5 } else { most };
        loop {
            match self.inner.next(most).await {
                Ok(happening) => {
                    if let Some(happening) = self.twist(happening).await? {
                        return Ok(happening);
                    }
                }
                Err(TopicError::Refused(_)) if self.tells(Lie::JumpsSilently) => self.jump().await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn more(&mut self, but: &[u32], most: usize) -> Result<Option<Batch>, TopicError> {
        let but = if self.tells(Lie::HandsOutHeld) { but.get(1..).unwrap_or_default() } else { but };
        self.inner.more(but, most).await
    }

    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        let mut outcomes = Vec::with_capacity(turns.len());
        for turn in turns {
            outcomes.push(self.commit(turn).await);
        }
        if self.tells(Lie::MixesOutcomes) {
            outcomes.reverse();
        }
        outcomes
    }

    async fn restore(&self, partition: u32) -> Result<Vec<Record>, TopicError> {
        let mut records = self.inner.restore(partition).await?;
        match self.lie {
            Some(Lie::MissesLast) => drop(records.pop()),
            Some(Lie::MixesPartitions) => records.extend(self.others(partition).await?),
            Some(Lie::RestoresStale) => {
                let first = self.memory.first_values.lock().await;
                for record in &mut records {
                    let key = (record.topic.clone(), record.partition, record.key.clone());
                    record.value = first.get(&key).cloned().or(record.value.take());
                }
            }
            _ => {}
        }
        Ok(records)
    }

    async fn ends(&self, partition: u32) -> Result<Offsets, TopicError> {
        let ends = self.inner.ends(partition).await?;
        if self.tells(Lie::StaleEnds) {
            return Ok(self.ends.lock().await.entry(partition).or_insert(ends).clone());
        }
        Ok(ends)
    }

    fn positions(&self, partition: u32) -> Offsets {
        let mut positions = self.inner.positions(partition);
        if self.tells(Lie::PositionsAhead) {
            positions.iter_mut().for_each(|(_, offset)| *offset += 1);
        }
        positions
    }

    async fn commit(&mut self, mut turn: Turn) -> Result<(), CommitError> {
        self.memory.note(&turn.records).await;
        match self.lie {
            Some(Lie::ForgetsCommits) => return Ok(()),
            Some(Lie::LosesCommits) => {
                self.held = Some(turn);
                return Ok(());
            }
            Some(Lie::HalfTurn) => turn.records.truncate(turn.records.len() / 2),
            Some(Lie::ForgetsTombstones) => turn.records.retain(|r| r.value.is_some()),
            Some(Lie::SameGeneration) => {
                turn.generation = self.assigned.get(&turn.partition).copied().unwrap_or_default();
            }
            _ => {}
        }
        let records = turn.records.clone();
        let outcome = self.inner.commit(turn).await;
        match (&outcome, self.lie) {
            (Err(_), Some(Lie::ShowsAborted)) => self.show(records).await,
            (Err(CommitError::Lost(_)), Some(Lie::AcceptsReplaced)) => {
                self.show(records).await;
                return Ok(());
            }
            (Err(CommitError::Lost(_)), Some(Lie::AcceptsEmpty)) if records.is_empty() => return Ok(()),
            _ => {}
        }
        outcome
    }

    fn hold(&mut self, partition: u32) {
        if !self.tells(Lie::IgnoresHold) {
            self.inner.hold(partition);
        }
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        if self.tells(Lie::IgnoresRewind) { Ok(()) } else { self.inner.rewind(partition).await }
    }
}
