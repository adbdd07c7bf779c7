//! Whether the rooms have joined, and what is theirs: the log as they get it, with an eye on what is assigned to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use topic::{
    CommitError, GroupMembership, Member, MemberEvent, RecordBatch, TopicError, Topics, Turn,
    decorator::{MemberDecorator, TopicsDecorator},
};

use crate::metrics::{ClusterNames, PresenceMetrics};

/// The partitions that the log has assigned to this process, by group; none before the first assignment.
type HeldPartitions = BTreeMap<Arc<str>, Option<BTreeSet<u32>>>;

/// The groups that the rooms asked to join, and what is theirs.
#[derive(Clone)]
pub struct RoomPresence {
    groups: Arc<Mutex<HeldPartitions>>,
    metrics: PresenceMetrics,
    names: ClusterNames,
}

impl RoomPresence {
    pub fn new(metrics: PresenceMetrics, names: ClusterNames) -> Self {
        Self { groups: Arc::default(), metrics, names }
    }

    /// The groups that wait for their first partitions.
    pub fn awaited_groups(&self) -> Vec<Arc<str>> {
        self.groups().iter().filter(|(_, held)| held.is_none()).map(|(group, _)| group.clone()).collect()
    }

    fn note_join(&self, group: &Arc<str>) {
        self.groups().insert(group.clone(), None);
        let group = self.names.group(group);
        for what in ["assigned", "revoked", "lost"] {
            self.metrics.changes.with_label_values(&[group.as_str(), what]).inc_by(0);
        }
        self.metrics.assigned.with_label_values(&[group]).set(0);
    }

    fn note_change(&self, group: &Arc<str>, what: &str, partitions: &[u32]) {
        let mut groups = self.groups();
        let held = groups.entry(group.clone()).or_default().get_or_insert_default();
        match what {
            "assigned" => held.extend(partitions),
            _ => held.retain(|partition| !partitions.contains(partition)),
        }
        let now = held.len();
        drop(groups);
        let shown = self.names.group(group);
        self.metrics.assigned.with_label_values(&[&shown]).set(i64::try_from(now).unwrap_or(i64::MAX));
        if !partitions.is_empty() {
            self.metrics.changes.with_label_values(&[shown.as_str(), what]).inc();
            tracing::info!(%group, partitions = format_ranges(partitions), now, "partitions {what}");
        }
    }

    fn groups(&self) -> MutexGuard<'_, HeldPartitions> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `0-3,7`.
fn format_ranges(partitions: &[u32]) -> String {
    let sorted: BTreeSet<u32> = partitions.iter().copied().collect();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for partition in sorted {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == partition => *last = partition,
            _ => runs.push((partition, partition)),
        }
    }
    let text =
        |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.into_iter().map(text).collect::<Vec<_>>().join(",")
}

/// A log whose members are watched.
pub struct PresenceTopics {
    pub log: Arc<dyn Topics>,
    pub presence: RoomPresence,
}

impl fmt::Debug for PresenceTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.fmt(f)
    }
}

struct PresenceMember {
    member: Box<dyn Member>,
    group: Arc<str>,
    presence: RoomPresence,
}

#[async_trait]
impl TopicsDecorator for PresenceTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.log
    }

    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        let (group, presence) = (membership.group.clone(), self.presence.clone());
        presence.note_join(&group);
        let member = self.log.join(membership).await?;
        Ok(Box::new(PresenceMember { member, group, presence }))
    }
}

impl PresenceMember {
    fn note_lost(&self, partition: u32, done: &Result<(), CommitError>) {
        if let Err(CommitError::Lost(_)) = done {
            self.presence.note_change(&self.group, "lost", &[partition]);
        }
    }
}

#[async_trait]
impl MemberDecorator for PresenceMember {
    fn inner(&self) -> &dyn Member {
        &*self.member
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.member
    }

    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        let happening = self.member.next(most).await?;
        match &happening {
            MemberEvent::Assigned(partitions) => {
                let partitions: Vec<u32> = partitions.iter().map(|(partition, _)| *partition).collect();
                self.presence.note_change(&self.group, "assigned", &partitions);
            }
            MemberEvent::Revoked(partitions) if !partitions.is_empty() => {
                self.presence.note_change(&self.group, "revoked", partitions);
            }
            MemberEvent::Revoked(_) | MemberEvent::Records(_) => {}
        }
        Ok(happening)
    }

    async fn take_more(&mut self, but: &[u32], most: usize) -> Result<Option<RecordBatch>, TopicError> {
        self.member.take_more(but, most).await
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        let partition = turn.partition;
        let done = self.member.commit(turn).await;
        self.note_lost(partition, &done);
        done
    }

    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        let partitions: Vec<u32> = turns.iter().map(|turn| turn.partition).collect();
        let done = self.member.commit_all(turns).await;
        partitions.into_iter().zip(&done).for_each(|(partition, done)| self.note_lost(partition, done));
        done
    }
}

#[cfg(test)]
mod tests {
    use runtime::metrics::Metrics;

    use super::*;

    #[test]
    fn what_is_ours_is_counted_and_written_short() {
        let metrics = Metrics::default();
        let names = ClusterNames { prefix: "a.".into() };
        let presence = RoomPresence::new(PresenceMetrics::declare(&metrics).unwrap(), names);
        let group = Arc::from("fanout");
        presence.note_join(&group);
        assert_eq!(presence.awaited_groups(), std::slice::from_ref(&group));
        presence.note_change(&group, "assigned", &[0, 1, 2, 7]);
        presence.note_change(&group, "lost", &[1]);
        presence.note_change(&group, "revoked", &[7]);
        assert_eq!(presence.awaited_groups(), Vec::<Arc<str>>::new());
        let text = metrics.render_text();
        assert!(
            text.contains("tidings_consumergroup_assigned_partitions{consumergroup=\"a.fanout\"} 2\n"),
            "{text}"
        );
        for what in ["assigned", "lost", "revoked"] {
            let line = format!(
                "tidings_consumergroup_assignments_total{{consumergroup=\"a.fanout\",what=\"{what}\"}} 1\n"
            );
            assert!(text.contains(&line), "{text}");
        }
        assert_eq!(format_ranges(&[7, 0, 2, 1, 63]), "0-2,7,63");
        assert_eq!(format_ranges(&[]), "");
    }
}
