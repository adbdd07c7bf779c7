//! Creating topics. All of a call's topics are created, or none.

use std::sync::{Arc, atomic::Ordering};

use fjall::PersistMode;

use super::{
    book::{EmbeddedTopic, TopicBook},
    layout,
    tables::TopicTables,
};
use crate::port::{TopicError, TopicRetention, TopicSpec, describe_other_count};

/// More partitions than this is a mistake in a configuration.
const PARTITIONS_MOST: u32 = 4_096;
const NAME_MOST: usize = 249;

/// What a declaration adds or changes.
pub(super) struct TopicDeclaration {
    created: Vec<Arc<EmbeddedTopic>>,
    kept_for: Vec<(Arc<EmbeddedTopic>, i64)>,
    pub next_topic: u32,
}

pub(super) fn plan_declaration(
    book: &TopicBook,
    specs: &[TopicSpec],
    next_topic: u32,
) -> Result<TopicDeclaration, TopicError> {
    book.check()?;
    let mut fresh = TopicDeclaration { created: Vec::new(), kept_for: Vec::new(), next_topic };
    for TopicSpec { name, partitions, retention } in specs {
        if name.is_empty() || name.len() > NAME_MOST || *partitions == 0 || *partitions > PARTITIONS_MOST {
            return refuse_declaration(format!(
                "topic `{name}` cannot be created with {partitions} partitions"
            ));
        }
        let here = fresh.created.iter().find(|t| t.name == *name).cloned();
        let Some(topic) = here.or_else(|| book.topic(name).ok()) else {
            let topic = EmbeddedTopic::new(fresh.next_topic, name.clone(), *partitions, *retention);
            fresh.created.push(Arc::new(topic));
            fresh.next_topic += 1;
            continue;
        };
        let count = topic.partition_count();
        if count != *partitions {
            return refuse_declaration(describe_other_count(name, count, *partitions));
        }
        match (topic.compacted, *retention) {
            (true, TopicRetention::Compacted) => {}
            (false, TopicRetention::Milliseconds(ms)) => fresh.kept_for.push((topic, ms.max(0))),
            (true, TopicRetention::Milliseconds(_)) => {
                return refuse_declaration(format!("topic `{name}` is compacted"));
            }
            (false, TopicRetention::Compacted) => {
                return refuse_declaration(format!("topic `{name}` is not compacted"));
            }
        }
    }
    fresh.kept_for.retain(|(topic, ms)| topic.retention.load(Ordering::Relaxed) != *ms);
    Ok(fresh)
}

pub(super) fn write_declaration(tables: &TopicTables, fresh: &TopicDeclaration) -> Result<(), TopicError> {
    let mut batch = tables.db.batch().durability(Some(PersistMode::SyncData));
    for topic in &fresh.created {
        let value = layout::topic_value(topic.id, topic.partition_count(), topic.retention());
        batch.insert(&tables.meta, layout::topic_key(&topic.name), value);
    }
    for (topic, ms) in &fresh.kept_for {
        let value = layout::topic_value(topic.id, topic.partition_count(), TopicRetention::Milliseconds(*ms));
        batch.insert(&tables.meta, layout::topic_key(&topic.name), value);
    }
    batch.commit().map_err(|error| tables.write_fault("declaring topics", &error))
}

impl TopicDeclaration {
    pub fn publish(self, book: &TopicBook) {
        for (topic, ms) in self.kept_for {
            topic.retention.store(ms, Ordering::Relaxed);
        }
        for topic in self.created {
            book.add_topic(topic);
        }
    }
}

fn refuse_declaration<T>(why: String) -> Result<T, TopicError> {
    Err(TopicError::Refused(why))
}
