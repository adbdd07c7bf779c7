//! A member to which everything happens that may happen to one.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::{RoughTopics, RoughTopicsCrash, RoughTopicsOdds};
use crate::{
    decorator::MemberDecorator,
    port::{
        CommitError, GroupMembership, Member, MemberEvent, RecordBatch, TopicError, TopicOffsets,
        TopicRecord, Turn,
    },
};

pub(super) struct RoughMember {
    rough: RoughTopics,
    inner: Box<dyn Member>,
    membership: GroupMembership,
    assigned: BTreeSet<u32>,
    /// A batch of which it is decided that it is not handed out: the member is replaced before.
    replaced: RoughReplacement,
}

/// How far a replacement is: another member would take over, which here is we ourselves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RoughReplacement {
    No,
    /// The partitions that are left are to be taken away.
    Revoke,
    /// They were taken away; with the next call the old membership ends.
    Rejoin,
}

impl RoughMember {
    pub fn new(rough: RoughTopics, inner: Box<dyn Member>, membership: GroupMembership) -> Self {
        Self { rough, inner, membership, assigned: BTreeSet::new(), replaced: RoughReplacement::No }
    }

    fn draw(&self, what: &'static str, odds: u32, partition: u32) -> bool {
        self.rough.draw(what, odds, &self.membership.group, partition)
    }

    /// Another owner takes over, and we come back as the one after that.
    fn lose(&mut self, partition: u32, how: &str) -> CommitError {
        self.assigned.remove(&partition);
        self.replaced = RoughReplacement::Revoke;
        CommitError::Lost(format!("on purpose, {how}"))
    }

    /// What is left of a replacement that has begun, before anything else happens.
    async fn go_on_replacing(&mut self) -> Result<Option<MemberEvent>, TopicError> {
        if self.replaced == RoughReplacement::Revoke {
            self.replaced = RoughReplacement::Rejoin;
            let revoked: Vec<u32> = std::mem::take(&mut self.assigned).into_iter().collect();
            if !revoked.is_empty() {
                return Ok(Some(MemberEvent::Revoked(revoked)));
            }
        }
        if self.replaced == RoughReplacement::Rejoin {
            // The new one joins before the old one leaves, so a second member is there for a moment.
            let joined = self.rough.inner.join(self.membership.clone());
            self.inner = self.rough.while_alive(joined).await??;
            self.replaced = RoughReplacement::No;
        }
        Ok(None)
    }
}

#[async_trait]
impl MemberDecorator for RoughMember {
    fn inner(&self) -> &dyn Member {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.inner
    }

    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        self.rough.check_alive()?;
        if let Some(revoked) = self.go_on_replacing().await? {
            return Ok(revoked);
        }
        let happening = self.rough.while_alive(self.inner.next(most)).await??;
        // Nothing is awaited from here on: whoever drops this call has not been promised anything yet.
        match &happening {
            MemberEvent::Assigned(partitions) => self.assigned.extend(partitions.iter().map(|(p, _)| *p)),
            MemberEvent::Revoked(partitions) => self.assigned.retain(|p| !partitions.contains(p)),
            MemberEvent::Records(batch) => {
                let crash = self.rough.draw_crash(&self.membership.group, batch.partition)?;
                self.rough.die_here(crash, RoughTopicsCrash::After)?;
                if self.draw("replaced", self.rough.odds.replaced, batch.partition) {
                    // The records come again to whoever is next.
                    self.replaced = RoughReplacement::Rejoin;
                    let revoked = std::mem::take(&mut self.assigned).into_iter().collect();
                    return Ok(MemberEvent::Revoked(revoked));
                }
            }
        }
        Ok(happening)
    }

    async fn take_more(&mut self, but: &[u32], most: usize) -> Result<Option<RecordBatch>, TopicError> {
        self.rough.while_alive(self.inner.take_more(but, most)).await?
    }

    async fn restore(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        let crash = self.rough.draw_crash(&self.membership.group, partition)?;
        self.rough.die_here(crash, RoughTopicsCrash::After)?;
        self.rough.while_alive(self.inner.restore(partition)).await?
    }

    async fn ends(&self, partition: u32) -> Result<TopicOffsets, TopicError> {
        self.rough.check_alive()?;
        self.rough.while_alive(self.inner.ends(partition)).await?
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        let partition = turn.partition;
        let crash = self.rough.draw_crash(&self.membership.group, partition)?;
        if !self.assigned.contains(&partition) && self.replaced != RoughReplacement::No {
            return Err(CommitError::Lost("it was lost before, on purpose".to_owned()));
        }
        let RoughTopicsOdds { aborted, lost_before, lost_after, .. } = self.rough.odds;
        if self.draw("aborted", aborted, partition) {
            self.rough.while_alive(self.inner.rewind(partition)).await??;
            return Err(CommitError::Aborted("on purpose".to_owned()));
        }
        if self.draw("lost, not committed", lost_before, partition) {
            return Err(self.lose(partition, "before"));
        }
        match self.rough.while_alive(self.inner.commit(turn)).await? {
            Err(CommitError::Lost(why)) => {
                self.assigned.remove(&partition);
                return Err(CommitError::Lost(why));
            }
            other => other?,
        }
        self.rough.die_here(crash, RoughTopicsCrash::After)?;
        if self.draw("lost, committed", lost_after, partition) {
            return Err(self.lose(partition, "after"));
        }
        Ok(())
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.rough.check_alive()?;
        self.rough.while_alive(self.inner.rewind(partition)).await?
    }
}
