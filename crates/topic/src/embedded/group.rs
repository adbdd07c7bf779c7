//! The groups of this process. A group lives as long as the process; its members come and go.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::Notify;

use super::{
    book::{Book, Topic, lock},
    share::Share,
};
use crate::port::{Membership, TopicError};

#[derive(Debug, Default)]
pub(super) struct Groups {
    by_name: Mutex<HashMap<Arc<str>, Arc<Group>>>,
}

/// A group and the topics it works on.
#[derive(Debug)]
pub(super) struct Group {
    pub name: Arc<str>,
    /// The lead first, then its companions.
    pub topics: Vec<Arc<Topic>>,
    /// Wakes every member: something was appended, or partitions moved.
    pub changed: Arc<Notify>,
    share: Mutex<Share>,
}

impl Group {
    pub fn lead(&self) -> &Arc<Topic> {
        &self.topics[0]
    }

    pub fn share(&self) -> MutexGuard<'_, Share> {
        lock(&self.share)
    }
}

impl Groups {
    /// The group that a membership names; all its members must work on the same topics.
    pub fn find(&self, book: &Book, membership: &Membership) -> Result<Arc<Group>, TopicError> {
        let topics = topics(book, membership)?;
        let mut by_name = lock(&self.by_name);
        if let Some(group) = by_name.get(&membership.group) {
            let same = topics.iter().map(|t| t.id).eq(group.topics.iter().map(|t| t.id));
            if same {
                return Ok(group.clone());
            }
            if !group.share().is_empty() {
                let name = &membership.group;
                return Err(TopicError::Refused(format!("group `{name}` has members with other topics")));
            }
        }
        let group = Arc::new(Group {
            name: membership.group.clone(),
            share: Mutex::new(Share::new(topics[0].partitions.len())),
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
    pub fn have_members(&self, these: impl Fn(&Group) -> bool) -> bool {
        lock(&self.by_name).values().any(|group| these(group) && !group.share().is_empty())
    }
}

fn topics(book: &Book, membership: &Membership) -> Result<Vec<Arc<Topic>>, TopicError> {
    let mut topics = vec![book.topic(&membership.lead)?];
    for name in &membership.companions {
        let topic = book.topic(name)?;
        if topic.partitions.len() != topics[0].partitions.len() {
            let lead = &membership.lead;
            return Err(TopicError::Refused(format!("`{name}` has not as many partitions as `{lead}`")));
        }
        if topics.iter().any(|t| t.id == topic.id) {
            return Err(TopicError::Refused(format!("`{name}` is named twice")));
        }
        topics.push(topic);
    }
    Ok(topics)
}
