//! Topics that fail when told to, and count how often they were asked.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use topic::{NewRecord, TopicError, Topics, decorator::TopicsDecorator, port::GroupStanding};

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
impl TopicsDecorator for FailingTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.topics
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

    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<GroupStanding>, TopicError> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        // As an engine elsewhere would: others go on meanwhile.
        tokio::task::yield_now().await;
        self.topics.standing(group, topic).await
    }
}
