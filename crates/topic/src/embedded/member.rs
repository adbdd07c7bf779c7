//! A member of a group: what is its own, what it is told next, and what it commits.

use std::{collections::BTreeMap, ops::Bound, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::join_all;

use super::{
    EmbeddedTopicsEngine, book::EmbeddedTopic, group::MemberGroup, quota, read, share::MemberId,
    writer::TopicWriterRequest,
};
use crate::port::{
    CommitError, GroupMembership, Member, MemberEvent, RecordBatch, TopicError, TopicName, TopicOffsets,
    TopicRecord, Turn,
};

pub(super) struct EmbeddedMember {
    engine: Arc<EmbeddedTopicsEngine>,
    group: Arc<MemberGroup>,
    state: Option<Arc<EmbeddedTopic>>,
    me: MemberId,
    /// Partitions that this member was told it has.
    owned: BTreeMap<u32, MemberPartition>,
    /// Partitions it was told to let go of; it does so by calling again.
    letting_go: Vec<u32>,
    /// The partition that was looked at last.
    last: u32,
}

struct MemberPartition {
    claim: u64,
    generation: u64,
    /// For each topic of the group, the offset to read next.
    positions: Vec<u64>,
    /// The topic that comes first when there is not room for all.
    first: usize,
    /// Nothing of it is handed out until it is rewound.
    held: bool,
}

/// Says that a member is inside a call, also when the call is dropped half-way.
struct EmbeddedCallGuard<'a>(&'a MemberGroup, MemberId);

impl Drop for EmbeddedCallGuard<'_> {
    fn drop(&mut self) {
        self.0.lock_share().exit(self.1);
    }
}

impl EmbeddedMember {
    pub fn join(engine: Arc<EmbeddedTopicsEngine>, membership: &GroupMembership) -> Result<Self, TopicError> {
        engine.book.check()?;
        let state = membership.state.as_ref().map(|name| engine.book.topic(name)).transpose()?;
        if let Some(topic) = state.as_ref().filter(|topic| !topic.compacted) {
            return Err(TopicError::Refused(format!("the state topic `{}` is not compacted", topic.name)));
        }
        let group = engine.groups.find_or_add(&engine.book, membership)?;
        let me = group.lock_share().join();
        group.changed.notify_waiters();
        let (owned, letting_go) = (BTreeMap::new(), Vec::new());
        Ok(Self { engine, group, state, me, owned, letting_go, last: u32::MAX })
    }

    /// What there is to tell right now, if anything. Whatever it changes in `self` it changes after its
    /// last await, so that nothing is lost when it is dropped.
    async fn next_at_hand(&mut self, most: usize) -> Result<Option<MemberEvent>, TopicError> {
        self.engine.book.check()?;
        if let Some(revoked) = self.take_revoked() {
            return Ok(Some(MemberEvent::Revoked(revoked)));
        }
        let fresh = self.group.lock_share().newly_owned(self.me);
        if !fresh.is_empty() {
            let assigned = self.take_over(fresh).await?;
            return Ok((!assigned.is_empty()).then_some(MemberEvent::Assigned(assigned)));
        }
        let batch = self.fetch(&[], most).await?;
        Ok(batch.map(MemberEvent::Records))
    }

    fn take_revoked(&mut self) -> Option<Vec<u32>> {
        let mut share = self.group.lock_share();
        let mut revoked = share.revoke(self.me);
        self.letting_go.extend_from_slice(&revoked);
        // Those that went elsewhere because we did not call for too long.
        let gone: Vec<u32> = self
            .owned
            .iter()
            .filter(|(partition, owned)| !share.is_ours(self.me, **partition, owned.claim))
            .map(|(partition, _)| *partition)
            .collect();
        drop(share);
        for partition in gone {
            self.owned.remove(&partition);
            revoked.push(partition);
        }
        (!revoked.is_empty()).then_some(revoked)
    }

    /// Shuts out the owner before us, then looks up where to go on: in this order, so that nothing it
    /// still committed is missed.
    async fn take_over(&mut self, fresh: Vec<(u32, u64)>) -> Result<Vec<(u32, u64)>, TopicError> {
        let partitions = fresh.iter().map(|(partition, _)| *partition).collect();
        let (group, lead) = (self.group.name.clone(), self.group.lead().clone());
        let fenced = self
            .engine
            .ask_writer(|answer| TopicWriterRequest::Fence { group, lead, partitions, answer })
            .await??;
        let mut assigned = Vec::new();
        for ((partition, claim), (_, generation)) in fresh.into_iter().zip(fenced) {
            if !self.group.lock_share().announce(self.me, partition, claim) {
                continue;
            }
            let positions = self.committed_positions(partition);
            self.owned
                .insert(partition, MemberPartition { claim, generation, positions, first: 0, held: false });
            assigned.push((partition, generation));
        }
        Ok(assigned)
    }

    fn committed_positions(&self, partition: u32) -> Vec<u64> {
        let book = &self.engine.book;
        let one = |topic: &Arc<EmbeddedTopic>| {
            book.committed_offset(&self.group.name, topic.id, partition).unwrap_or(0)
        };
        self.group.topics.iter().map(one).collect()
    }

    /// The next partition but these that has records, each in its turn.
    async fn fetch(&mut self, but: &[u32], most: usize) -> Result<Option<RecordBatch>, TopicError> {
        let after = self.owned.range((Bound::Excluded(self.last), Bound::Unbounded));
        let around: Vec<u32> =
            after.chain(self.owned.range(..=self.last)).map(|(partition, _)| *partition).collect();
        for partition in around.into_iter().filter(|partition| !but.contains(partition)) {
            let Some(owned) = self.owned.get(&partition).filter(|owned| !owned.held) else { continue };
            let plan = self.plan_quotas(partition, owned, most)?;
            if plan.iter().all(|quota| *quota == 0) {
                continue;
            }
            let (generation, mut positions) = (owned.generation, owned.positions.clone());
            let mut records = Vec::new();
            for ((topic, position), quota) in self.group.topics.iter().zip(&mut positions).zip(plan) {
                if quota == 0 {
                    continue;
                }
                let stretch =
                    read::read_stretch(&self.engine.book, topic, partition, *position, quota).await?;
                // It may have been trimmed since the plan was made.
                self.check_range(topic, partition, *position)?;
                *position = stretch.next;
                records.extend(stretch.records);
            }
            self.last = partition;
            if let Some(owned) = self.owned.get_mut(&partition) {
                owned.positions = positions;
                owned.first = (owned.first + 1) % self.group.topics.len();
            }
            if !records.is_empty() {
                return Ok(Some(RecordBatch { partition, generation, records }));
            }
        }
        Ok(None)
    }

    /// How many records of each topic go into a batch.
    fn plan_quotas(
        &self,
        partition: u32,
        owned: &MemberPartition,
        most: usize,
    ) -> Result<Vec<usize>, TopicError> {
        let mut waiting = Vec::with_capacity(self.group.topics.len());
        for (topic, position) in self.group.topics.iter().zip(&owned.positions) {
            let end = self.check_range(topic, partition, *position)?;
            waiting.push(usize::try_from(end - position).unwrap_or(usize::MAX));
        }
        Ok(quota::split_quotas(&waiting, owned.first, most))
    }

    /// The end of a partition, if the position lies within it. Outside, somebody has to decide what is
    /// lost; jumping would hide it.
    fn check_range(&self, topic: &EmbeddedTopic, partition: u32, position: u64) -> Result<u64, TopicError> {
        let (first, end) = topic.reach(partition)?.get();
        if (first..=end).contains(&position) {
            return Ok(end);
        }
        let (group, name) = (&self.group.name, &topic.name);
        Err(TopicError::Refused(format!(
            "group `{group}` stands at offset {position} of {name}/{partition}, which holds {first} to {end}"
        )))
    }

    /// Waits until something may have changed.
    async fn wait_for_change(&self, changed: tokio::sync::futures::Notified<'_>) {
        let alone = self.group.lock_share().is_alone();
        if alone {
            changed.await;
        } else {
            // Another member may fall silent, and nobody says so.
            let look_again = self.engine.session.max(Duration::from_millis(1));
            drop(tokio::time::timeout(look_again, changed).await);
        }
    }

    fn turn_offsets(&self, turn: &Turn) -> Result<Vec<(Arc<EmbeddedTopic>, u64)>, TopicError> {
        let topics = &self.group.topics;
        let named = |topic: &Arc<EmbeddedTopic>| turn.offsets.iter().find(|(name, _)| *name == topic.name);
        let offsets: Option<Vec<_>> =
            topics.iter().map(|topic| named(topic).map(|(_, offset)| (topic.clone(), *offset))).collect();
        offsets.filter(|offsets| offsets.len() == turn.offsets.len()).ok_or_else(|| {
            let all: Vec<&TopicName> = topics.iter().map(|topic| &topic.name).collect();
            TopicError::Refused(format!(
                "a turn of `{}` must have the offsets of exactly {all:?}",
                self.group.name
            ))
        })
    }

    async fn write_turn(&self, turn: Turn) -> Result<(), CommitError> {
        let offsets = self.turn_offsets(&turn)?;
        let records = self.engine.place_records(turn.records)?;
        let (partition, generation) = (turn.partition, turn.generation);
        if self.owned.get(&partition).is_none_or(|owned| owned.generation != generation) {
            return Err(CommitError::Lost(self.not_ours_reason(partition)));
        }
        let (group, lead) = (self.group.name.clone(), self.group.lead().clone());
        self.engine
            .ask_writer(|answer| TopicWriterRequest::Commit {
                group,
                lead,
                partition,
                generation,
                offsets,
                records,
                answer,
            })
            .await?
    }

    fn lose(&mut self, partition: u32) {
        if let Some(owned) = self.owned.remove(&partition) {
            self.group.lock_share().release(self.me, partition, owned.claim);
            self.group.changed.notify_waiters();
        }
    }

    fn not_ours_reason(&self, partition: u32) -> String {
        format!("partition {partition} of group `{}` does not belong to this member", self.group.name)
    }
}

#[async_trait]
impl Member for EmbeddedMember {
    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        for partition in self.letting_go.drain(..) {
            self.owned.remove(&partition);
        }
        let group = self.group.clone();
        let moved = group.lock_share().enter(self.me);
        let _inside = EmbeddedCallGuard(&group, self.me);
        if moved {
            group.changed.notify_waiters();
        }
        loop {
            let changed = group.changed.notified();
            if group.lock_share().expire(self.engine.session) {
                group.changed.notify_waiters();
            }
            if let Some(happening) = self.next_at_hand(most).await? {
                return Ok(happening);
            }
            self.wait_for_change(changed).await;
        }
    }

    async fn take_more(&mut self, but: &[u32], most: usize) -> Result<Option<RecordBatch>, TopicError> {
        self.fetch(but, most).await
    }

    async fn restore(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        self.group.lock_share().touch(self.me);
        let Some(topic) = &self.state else {
            return Err(TopicError::Refused(format!("group `{}` has no state topic", self.group.name)));
        };
        if !self.owned.contains_key(&partition) {
            return Err(TopicError::Refused(self.not_ours_reason(partition)));
        }
        topic.reach(partition)?;
        read::read_state(&self.engine.book, topic, partition).await
    }

    async fn ends(&self, partition: u32) -> Result<TopicOffsets, TopicError> {
        self.engine.book.check()?;
        let end = |topic: &Arc<EmbeddedTopic>| Ok((topic.name.clone(), topic.reach(partition)?.get().1));
        self.group.topics.iter().map(end).collect()
    }

    fn positions(&self, partition: u32) -> TopicOffsets {
        let Some(owned) = self.owned.get(&partition) else { return TopicOffsets::new() };
        let names = self.group.topics.iter().map(|topic| topic.name.clone());
        names.zip(owned.positions.iter().copied()).collect()
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        let outcome = self.commit_all(vec![turn]).await.pop();
        outcome.unwrap_or_else(|| Err(TopicError::Broken("a turn without an outcome".to_owned()).into()))
    }

    /// All are asked for at once, so they are synced together.
    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        let partitions: Vec<u32> = turns.iter().map(|turn| turn.partition).collect();
        let outcomes = join_all(turns.into_iter().map(|turn| self.write_turn(turn))).await;
        for (partition, outcome) in partitions.into_iter().zip(&outcomes) {
            if let Err(CommitError::Lost(_)) = outcome {
                self.lose(partition);
            }
        }
        outcomes
    }

    fn hold(&mut self, partition: u32) {
        if let Some(owned) = self.owned.get_mut(&partition) {
            owned.held = true;
        }
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.engine.book.check()?;
        let positions = self.committed_positions(partition);
        let Some(owned) = self.owned.get_mut(&partition) else {
            return Err(TopicError::Refused(self.not_ours_reason(partition)));
        };
        (owned.positions, owned.held) = (positions, false);
        Ok(())
    }
}

impl Drop for EmbeddedMember {
    fn drop(&mut self) {
        self.group.lock_share().leave(self.me);
        self.group.changed.notify_waiters();
    }
}
