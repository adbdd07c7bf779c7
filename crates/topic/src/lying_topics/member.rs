//! A member that lies.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;

use super::{LyingTopics, LyingTopicsMemory, TopicsLie};
use crate::{
    decorator::MemberDecorator,
    port::{
        CommitError, GroupMembership, Member, MemberEvent, NewRecord, RecordBatch, TopicError, TopicOffsets,
        TopicRecord, Topics, Turn,
    },
};

pub(super) struct LyingMember {
    inner: Box<dyn Member>,
    engine: Arc<dyn Topics>,
    lie: Option<TopicsLie>,
    memory: Arc<LyingTopicsMemory>,
    membership: GroupMembership,
    /// The generations that the honest engine gave.
    assigned: HashMap<u32, u64>,
    ends: tokio::sync::Mutex<HashMap<u32, TopicOffsets>>,
    held: Option<Turn>,
}

impl LyingMember {
    pub fn new(engine: &LyingTopics, inner: Box<dyn Member>, membership: GroupMembership) -> Self {
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

    fn tells(&self, lie: TopicsLie) -> bool {
        self.lie == Some(lie)
    }

    /// What a happening is made into; nothing, if it is kept secret.
    async fn twist_happening(&mut self, happening: MemberEvent) -> Result<Option<MemberEvent>, TopicError> {
        let same_generation = self.tells(TopicsLie::SameGeneration);
        Ok(Some(match happening {
            MemberEvent::Assigned(mut partitions) => {
                self.assigned.extend(partitions.iter().copied());
                if self.tells(TopicsLie::SwallowsAssigned) {
                    return Ok(None);
                }
                if same_generation {
                    partitions.iter_mut().for_each(|(_, generation)| *generation = 1);
                }
                MemberEvent::Assigned(partitions)
            }
            MemberEvent::Revoked(_) if self.tells(TopicsLie::SwallowsRevoked) => return Ok(None),
            MemberEvent::Revoked(partitions) => MemberEvent::Revoked(partitions),
            MemberEvent::Records(mut batch) => {
                if self.tells(TopicsLie::LosesDropped) {
                    tokio::task::yield_now().await;
                }
                if self.tells(TopicsLie::CommitsAhead) {
                    let (partition, generation) = (batch.partition, batch.generation);
                    let offsets = self.inner.positions(partition);
                    drop(self.inner.commit(Turn { partition, generation, offsets, records: vec![] }).await);
                }
                if same_generation {
                    batch.generation = 1;
                }
                MemberEvent::Records(batch)
            }
        }))
    }

    /// Goes on at the end of every partition.
    async fn jump_to_end(&mut self) -> Result<(), TopicError> {
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
    async fn read_others(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        let Some(state) = &self.membership.state else { return Ok(vec![]) };
        let mut out = Vec::new();
        for (other, _) in (0..).zip(self.engine.bounds(state).await?).filter(|(at, _)| *at != partition) {
            out.extend(self.engine.read(state, other, 0, 1_000).await?);
        }
        out.iter_mut().for_each(|record| record.partition = partition);
        Ok(out)
    }

    async fn append_secretly(&self, records: Vec<NewRecord>) {
        for record in records {
            // Those for nowhere are refused.
            drop(self.engine.append(vec![record]).await);
        }
    }
}

#[async_trait]
impl MemberDecorator for LyingMember {
    fn inner(&self) -> &dyn Member {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.inner
    }

    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        if let Some(turn) = self.held.take() {
            drop(self.inner.commit(turn).await);
        }
        let most = if self.tells(TopicsLie::HandsOutMore) { most + 5 } else { most };
        loop {
            match self.inner.next(most).await {
                Ok(happening) => {
                    if let Some(happening) = self.twist_happening(happening).await? {
                        return Ok(happening);
                    }
                }
                Err(TopicError::Refused(_)) if self.tells(TopicsLie::JumpsSilently) => {
                    self.jump_to_end().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn take_more(&mut self, but: &[u32], most: usize) -> Result<Option<RecordBatch>, TopicError> {
        let but = if self.tells(TopicsLie::HandsOutHeld) { but.get(1..).unwrap_or_default() } else { but };
        self.inner.take_more(but, most).await
    }

    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        let mut outcomes = Vec::with_capacity(turns.len());
        for turn in turns {
            outcomes.push(MemberDecorator::commit(self, turn).await);
        }
        if self.tells(TopicsLie::MixesOutcomes) {
            outcomes.reverse();
        }
        outcomes
    }

    async fn restore(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        let mut records = self.inner.restore(partition).await?;
        match self.lie {
            Some(TopicsLie::MissesLast) => drop(records.pop()),
            Some(TopicsLie::MixesPartitions) => records.extend(self.read_others(partition).await?),
            Some(TopicsLie::RestoresStale) => {
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

    async fn ends(&self, partition: u32) -> Result<TopicOffsets, TopicError> {
        let ends = self.inner.ends(partition).await?;
        if self.tells(TopicsLie::StaleEnds) {
            return Ok(self.ends.lock().await.entry(partition).or_insert(ends).clone());
        }
        Ok(ends)
    }

    fn positions(&self, partition: u32) -> TopicOffsets {
        let mut positions = self.inner.positions(partition);
        if self.tells(TopicsLie::PositionsAhead) {
            positions.iter_mut().for_each(|(_, offset)| *offset += 1);
        }
        positions
    }

    async fn commit(&mut self, mut turn: Turn) -> Result<(), CommitError> {
        self.memory.note(&turn.records).await;
        match self.lie {
            Some(TopicsLie::ForgetsCommits) => return Ok(()),
            Some(TopicsLie::LosesCommits) => {
                self.held = Some(turn);
                return Ok(());
            }
            Some(TopicsLie::HalfTurn) => turn.records.truncate(turn.records.len() / 2),
            Some(TopicsLie::ForgetsTombstones) => turn.records.retain(|r| r.value.is_some()),
            Some(TopicsLie::SameGeneration) => {
                turn.generation = self.assigned.get(&turn.partition).copied().unwrap_or_default();
            }
            _ => {}
        }
        let records = turn.records.clone();
        let outcome = self.inner.commit(turn).await;
        match (&outcome, self.lie) {
            (Err(_), Some(TopicsLie::ShowsAborted)) => self.append_secretly(records).await,
            (Err(CommitError::Lost(_)), Some(TopicsLie::AcceptsReplaced)) => {
                self.append_secretly(records).await;
                return Ok(());
            }
            (Err(CommitError::Lost(_)), Some(TopicsLie::AcceptsEmpty)) if records.is_empty() => return Ok(()),
            _ => {}
        }
        outcome
    }

    fn hold(&mut self, partition: u32) {
        if !self.tells(TopicsLie::IgnoresHold) {
            self.inner.hold(partition);
        }
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        if self.tells(TopicsLie::IgnoresRewind) { Ok(()) } else { self.inner.rewind(partition).await }
    }
}
