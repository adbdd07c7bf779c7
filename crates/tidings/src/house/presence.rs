//! Whether the rooms have joined, and what is theirs: the log as they get it, with an eye on what is assigned to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use runtime::metrics::{Counters, Gauges, Metrics};
use topic::{
    CommitError, Happening, Member, Membership, NewRecord, Offsets, Record, TopicError, TopicSpec, Topics,
    Turn,
    port::{Batch, Standing, TopicName},
};

/// What the log has said is ours, by group; nothing before it said anything.
type Held = BTreeMap<Arc<str>, Option<BTreeSet<u32>>>;

/// The groups that the rooms asked to join, and what is theirs.
#[derive(Clone)]
pub struct Presence {
    groups: Arc<Mutex<Held>>,
    assigned: Gauges,
    changes: Counters,
}

impl Presence {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let help = "Partitions that are this process's, by group.";
        let assigned = metrics.gauge("tidings_assigned_partitions", help, &["group"])?;
        let help = "How often partitions were given to this process (`assigned`), taken from it (`revoked`), or lost \
                    because another had them already (`lost`).";
        let changes = metrics.counter("tidings_assignments_total", help, &["group", "what"])?;
        Ok(Self { groups: Arc::default(), assigned, changes })
    }

    /// The groups that wait for their first partitions.
    pub fn awaited(&self) -> Vec<Arc<str>> {
        self.groups().iter().filter(|(_, held)| held.is_none()).map(|(group, _)| group.clone()).collect()
    }

    fn joins(&self, group: &Arc<str>) {
        self.groups().insert(group.clone(), None);
        for what in ["assigned", "revoked", "lost"] {
            self.changes.with_label_values(&[group, what]).inc_by(0);
        }
        self.assigned.with_label_values(&[&**group]).set(0);
    }

    fn changed(&self, group: &Arc<str>, what: &str, partitions: &[u32]) {
        let mut groups = self.groups();
        let held = groups.entry(group.clone()).or_default().get_or_insert_default();
        match what {
            "assigned" => held.extend(partitions),
            _ => held.retain(|partition| !partitions.contains(partition)),
        }
        let now = held.len();
        drop(groups);
        self.assigned.with_label_values(&[&**group]).set(i64::try_from(now).unwrap_or(i64::MAX));
        if !partitions.is_empty() {
            self.changes.with_label_values(&[group, what]).inc();
            tracing::info!(%group, partitions = ranges(partitions), now, "partitions {what}");
        }
    }

    fn groups(&self) -> MutexGuard<'_, Held> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `0-3,7`.
fn ranges(partitions: &[u32]) -> String {
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
    async fn appended(&self, topic: &str, partition: u32, from: u64) -> Result<Option<i64>, TopicError> {
        self.log.appended(topic, partition, from).await
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
    async fn blank(&self, records: &[(TopicName, u32, u64)]) -> Result<bool, TopicError> {
        self.log.blank(records).await
    }
    async fn life(&self, topic: &str) -> Result<Option<i64>, TopicError> {
        self.log.life(topic).await
    }
    async fn join(&self, membership: Membership) -> Result<Box<dyn Member>, TopicError> {
        let (group, presence) = (membership.group.clone(), self.presence.clone());
        presence.joins(&group);
        let member = self.log.join(membership).await?;
        Ok(Box::new(WatchedMember { member, group, presence }))
    }
}

impl WatchedMember {
    fn lost(&self, partition: u32, done: &Result<(), CommitError>) {
        if let Err(CommitError::Lost(_)) = done {
            self.presence.changed(&self.group, "lost", &[partition]);
        }
    }
}

#[async_trait]
impl Member for WatchedMember {
    async fn next(&mut self, most: usize) -> Result<Happening, TopicError> {
        let happening = self.member.next(most).await?;
        match &happening {
            Happening::Assigned(partitions) => {
                let partitions: Vec<u32> = partitions.iter().map(|(partition, _)| *partition).collect();
                self.presence.changed(&self.group, "assigned", &partitions);
            }
            Happening::Revoked(partitions) if !partitions.is_empty() => {
                self.presence.changed(&self.group, "revoked", partitions);
            }
            Happening::Revoked(_) | Happening::Records(_) => {}
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
        let partition = turn.partition;
        let done = self.member.commit(turn).await;
        self.lost(partition, &done);
        done
    }
    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        let partitions: Vec<u32> = turns.iter().map(|turn| turn.partition).collect();
        let done = self.member.commit_all(turns).await;
        partitions.into_iter().zip(&done).for_each(|(partition, done)| self.lost(partition, done));
        done
    }
    fn hold(&mut self, partition: u32) {
        self.member.hold(partition);
    }
    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.member.rewind(partition).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_counted_and_written_short() {
        let metrics = Metrics::default();
        let (presence, group) = (Presence::declare(&metrics).unwrap(), Arc::from("fanout"));
        presence.joins(&group);
        assert_eq!(presence.awaited(), std::slice::from_ref(&group));
        presence.changed(&group, "assigned", &[0, 1, 2, 7]);
        presence.changed(&group, "lost", &[1]);
        presence.changed(&group, "revoked", &[7]);
        assert_eq!(presence.awaited(), Vec::<Arc<str>>::new());
        let text = metrics.text();
        assert!(text.contains("tidings_assigned_partitions{group=\"fanout\"} 2\n"), "{text}");
        for what in ["assigned", "lost", "revoked"] {
            let line = format!("tidings_assignments_total{{group=\"fanout\",what=\"{what}\"}} 1\n");
            assert!(text.contains(&line), "{text}");
        }
        assert_eq!(ranges(&[7, 0, 2, 1, 63]), "0-2,7,63");
        assert_eq!(ranges(&[]), "");
    }
}
