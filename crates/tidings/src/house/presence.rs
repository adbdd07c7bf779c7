//! Whether the rooms have joined: the log as they get it, with an eye on what is assigned to them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use topic::{
    CommitError, Happening, Member, Membership, NewRecord, Offsets, Record, TopicError, TopicSpec, Topics,
    Turn,
    port::{Batch, Standing, TopicName},
};

/// The groups that the rooms asked to join, and whether the log has said what is theirs.
#[derive(Clone, Default)]
pub struct Presence(Arc<Mutex<BTreeMap<Arc<str>, bool>>>);

impl Presence {
    /// The groups that wait for their first partitions.
    pub fn awaited(&self) -> Vec<Arc<str>> {
        self.groups().iter().filter(|(_, joined)| !**joined).map(|(group, _)| group.clone()).collect()
    }

    fn groups(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A log whose members are watched.
pub struct Watched {
    pub log: Arc<dyn Topics>,
    pub presence: Presence,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.fmt(f)
    }
}

struct WatchedMember {
    member: Box<dyn Member>,
    group: Arc<str>,
    presence: Presence,
}

#[async_trait]
impl Topics for Watched {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.log.declare(specs).await
    }
    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        self.log.append(records).await
    }
    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<Record>, TopicError> {
        self.log.read(topic, partition, from, most).await
    }
    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        self.log.bounds(topic).await
    }
    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        self.log.since(topic, at).await
    }
    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<Standing>, TopicError> {
        self.log.standing(group, topic).await
    }
    async fn has_members(&self, group: &str) -> Result<bool, TopicError> {
        self.log.has_members(group).await
    }
    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        self.log.remove(topics).await
    }
    async fn join(&self, membership: Membership) -> Result<Box<dyn Member>, TopicError> {
        let (group, presence) = (membership.group.clone(), self.presence.clone());
        presence.groups().insert(group.clone(), false);
        let member = self.log.join(membership).await?;
        Ok(Box::new(WatchedMember { member, group, presence }))
    }
}

#[async_trait]
impl Member for WatchedMember {
    async fn next(&mut self, most: usize) -> Result<Happening, TopicError> {
        let happening = self.member.next(most).await?;
        if let Happening::Assigned(_) = happening {
            self.presence.groups().insert(self.group.clone(), true);
        }
        Ok(happening)
    }
    async fn more(&mut self, but: &[u32], most: usize) -> Result<Option<Batch>, TopicError> {
        self.member.more(but, most).await
    }
    async fn restore(&self, partition: u32) -> Result<Vec<Record>, TopicError> {
        self.member.restore(partition).await
    }
    async fn ends(&self, partition: u32) -> Result<Offsets, TopicError> {
        self.member.ends(partition).await
    }
    fn positions(&self, partition: u32) -> Offsets {
        self.member.positions(partition)
    }
    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        self.member.commit(turn).await
    }
    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        self.member.commit_all(turns).await
    }
    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.member.rewind(partition).await
    }
}
