//! A member to which everything happens that may happen to one.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::{Crash, Odds, Rough};
use crate::port::{Batch, CommitError, Happening, Member, Membership, Offsets, Record, TopicError, Turn};

pub(super) struct RoughMember {
    rough: Rough,
    inner: Box<dyn Member>,
    membership: Membership,
    assigned: BTreeSet<u32>,
    /// A batch of which it is decided that it is not handed out: the member is replaced before.
    replaced: Replaced,
}

/// How far a replacement is: another member would take over, which here is we ourselves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replaced {
    No,
    /// The partitions that are left are to be taken away.
    Revoke,
    /// They were taken away; with the next call the old membership ends.
    Rejoin,
}

impl RoughMember {
    pub fn new(rough: Rough, inner: Box<dyn Member>, membership: Membership) -> Self {
        Self { rough, inner, membership, assigned: BTreeSet::new(), replaced: Replaced::No }
    }

    fn draw(&self, what: &'static str, odds: u32, partition: u32) -> bool {
        self.rough.draw(what, odds, &self.membership.group, partition)
    }

    /// Another owner takes over, and we come back as the one after that.
    fn lose(&mut self, partition: u32, how: &str) -> CommitError {
        self.assigned.remove(&partition);
        self.replaced = Replaced::Revoke;
        CommitError::Lost(format!("on purpose, {how}"))
    }

    /// What is left of a replacement that has begun, before anything else happens.
    async fn replace(&mut self) -> Result<Option<Happening>, TopicError> {
        if self.replaced == Replaced::Revoke {
            self.replaced = Replaced::Rejoin;
            let revoked: Vec<u32> = std::mem::take(&mut self.assigned).into_iter().collect();
            if !revoked.is_empty() {
                return Ok(Some(Happening::Revoked(revoked)));
            }
        }
        if self.replaced == Replaced::Rejoin {
            // The new one joins before the old one leaves, so a second member is there for a moment.
            let joined = self.rough.inner.join(self.membership.clone());
            self.inner = self.rough.while_alive(joined).await??;
            self.replaced = Replaced::No;
        }
        Ok(None)
    }
}

#[async_trait]
impl Member for RoughMember {
    async fn next(&mut self, most: usize) -> Result<Happening, TopicError> {
        self.rough.alive()?;
        if let Some(revoked) = self.replace().await? {
            return Ok(revoked);
        }
        let happening = self.rough.while_alive(self.inner.next(most)).await??;
        // Nothing is awaited from here on: whoever drops this call has not been promised anything yet.
        match &happening {
            Happening::Assigned(partitions) => self.assigned.extend(partitions.iter().map(|(p, _)| *p)),
            Happening::Revoked(partitions) => self.assigned.retain(|p| !partitions.contains(p)),
            Happening::Records(batch) => {
                let crash = self.rough.dies(&self.membership.group, batch.partition)?;
                self.rough.die(crash, Crash::After)?;
                if self.draw("replaced", self.rough.odds.replaced, batch.partition) {
                    // The records come again to whoever is next.
                    self.replaced = Replaced::Rejoin;
                    let revoked = std::mem::take(&mut self.assigned).into_iter().collect();
                    return Ok(Happening::Revoked(revoked));
                }
            }
        }
        Ok(happening)
    }

    async fn more(&mut self, but: &[u32], most: usize) -> Result<Option<Batch>, TopicError> {
        self.rough.while_alive(self.inner.more(but, most)).await?
    }

    async fn restore(&self, partition: u32) -> Result<Vec<Record>, TopicError> {
        let crash = self.rough.dies(&self.membership.group, partition)?;
        self.rough.die(crash, Crash::After)?;
        self.rough.while_alive(self.inner.restore(partition)).await?
    }

    async fn ends(&self, partition: u32) -> Result<Offsets, TopicError> {
        self.rough.alive()?;
        self.rough.while_alive(self.inner.ends(partition)).await?
    }

    fn positions(&self, partition: u32) -> Offsets {
        self.inner.positions(partition)
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        let partition = turn.partition;
        let crash = self.rough.dies(&self.membership.group, partition)?;
        if !self.assigned.contains(&partition) && self.replaced != Replaced::No {
            return Err(CommitError::Lost("it was lost before, on purpose".to_owned()));
        }
        let Odds { aborted, lost_before, lost_after, .. } = self.rough.odds;
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
        self.rough.die(crash, Crash::After)?;
        if self.draw("lost, committed", lost_after, partition) {
            return Err(self.lose(partition, "after"));
        }
        Ok(())
    }

    fn hold(&mut self, partition: u32) {
        self.inner.hold(partition);
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.rough.alive()?;
        self.rough.while_alive(self.inner.rewind(partition)).await?
    }
}
