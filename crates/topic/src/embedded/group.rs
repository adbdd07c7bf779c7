//! The groups of this process. A group lives as long as the process; its members come and go.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::Notify;

use super::{
    book::{EmbeddedTopic, TopicBook, lock_mutex},
    share::PartitionShare,
};
use crate::port::{GroupMembership, TopicError};

#[derive(Debug, Default)]
pub(super) struct MemberGroups {
    by_name: Mutex<HashMap<Arc<str>, Arc<MemberGroup>>>,
}

/// A group and the topics it works on.
#[derive(Debug)]
pub(super) struct MemberGroup {
    pub name: Arc<str>,
    /// The lead first, then its companions.
    pub topics: Vec<Arc<EmbeddedTopic>>,
    /// Wakes every member: something was appended, or partitions moved.
    pub changed: Arc<Notify>,
    share: Mutex<PartitionShare>,
}

impl MemberGroup {
    pub fn lead(&self) -> &Arc<EmbeddedTopic> {
        &self.topics[0]
    }

    pub fn lock_share(&self) -> MutexGuard<'_, PartitionShare> {
        lock_mutex(&self.share)
    }
}

impl MemberGroups {
    /// The group that a membership names; all its members must work on the same topics.
    pub fn find_or_add(
        &self,
        book: &TopicBook,
        membership: &GroupMembership,
    ) -> Result<Arc<MemberGroup>, TopicError> {
        let topics = group_topics(book, membership)?;
        let mut by_name = lock_mutex(&self.by_name);
        if let Some(group) = by_name.get(&membership.group) {
            let same = topics.iter().map(|t| t.id).eq(group.topics.iter().map(|t| t.id));
            if same {
                return Ok(group.clone());
            }
            if !group.lock_share().is_empty() {
                let name = &membership.group;
                return Err(TopicError::Refused(format!("group `{name}` has members with other topics")));
            }
        }
        let group = Arc::new(MemberGroup {
            name: membership.group.clone(),
            share: Mutex::new(PartitionShare::new(topics[0].partitions.len())),
            changed: Arc::new(Notify::new()),
            topics,
        });
        for topic in &group.topics {
            topic.watch(&group.changed);
        }
        by_name.insert(group.name.clone(), group.clone());
        Ok(group)
    }

    /// Whether any of these groups has members.
    pub fn have_members(&self, these: impl Fn(&MemberGroup) -> bool) -> bool {
        lock_mutex(&self.by_name).values().any(|group| these(group) && !group.lock_share().is_empty())
    }
}

fn group_topics(
    book: &TopicBook,
    membership: &GroupMembership,
) -> Result<Vec<Arc<EmbeddedTopic>>, TopicError> {
    let mut topics = vec![book.topic(&membership.lead)?];
    for name in &membership.companions {
        let topic = book.topic(name)?;
        if topic.partitions.len() != topics[0].partitions.len() {
            let lead = &membership.lead;
            return Err(TopicError::Refused(format!(
                "`{name}` does not have as many partitions as `{lead}`"
            )));
        }
        if topics.iter().any(|t| t.id == topic.id) {
            return Err(TopicError::Refused(format!("`{name}` is given twice")));
        }
        topics.push(topic);
    }
    Ok(topics)
}
