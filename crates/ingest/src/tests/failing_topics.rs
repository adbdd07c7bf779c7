//! Topics that fail when told to, and count how often they were asked.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use topic::{
    GroupMembership, Member, NewRecord, TopicError, TopicRecord, TopicSpec, Topics, port::GroupStanding,
};

/// A topic engine that fails its appends when told to.
#[derive(Debug)]
pub(super) struct FailingTopics {
    pub topics: Box<dyn Topics>,
    pub busy: AtomicBool,
    pub full: AtomicBool,
    /// How often it was asked where a group stands.
    pub looks: AtomicUsize,
}

#[async_trait]
impl Topics for FailingTopics {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.topics.declare(specs).await
    }
    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        if self.busy.load(Ordering::SeqCst) {
            return Err(TopicError::Busy("sick".to_owned()));
        }
        if self.full.load(Ordering::SeqCst) {
            return Err(TopicError::Full("sick".to_owned()));
        }
        self.topics.append(records).await
    }
    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<TopicRecord>, TopicError> {
        self.topics.read(topic, partition, from, most).await
    }
    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        self.topics.bounds(topic).await
    }
    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        self.topics.since(topic, at).await
    }
    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<GroupStanding>, TopicError> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        // As an engine elsewhere would: others go on meanwhile.
        tokio::task::yield_now().await;
        self.topics.standing(group, topic).await
    }
    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        self.topics.join(membership).await
    }
}
