//! What the checks have in common: names, records, and waiting.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};

use super::TopicsHarness;
use crate::port::{
    CommitError, GroupMembership, Member, MemberEvent, NewRecord, RecordBatch, TopicError, TopicName,
    TopicRecord, TopicRetention, TopicSpec, Topics, Turn, TurnGuarantee,
};

/// Long enough that nothing goes while the list runs.
const KEPT: TopicRetention = TopicRetention::Milliseconds(7 * 86_400_000);
/// How often something is tried again that was refused for being busy.
const TRIES: usize = 100;

/// An engine and the names of one check.
pub struct TopicsBench<'a> {
    harness: &'a dyn TopicsHarness,
    word: String,
    engine: Mutex<Arc<dyn Topics>>,
}

impl<'a> TopicsBench<'a> {
    pub(super) async fn open(harness: &'a dyn TopicsHarness) -> anyhow::Result<Self> {
        let engine = harness.open_fresh().await.context("opening")?;
        Ok(Self { harness, word: harness.word(), engine: Mutex::new(engine) })
    }

    pub(super) fn engine(&self) -> Arc<dyn Topics> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn crash(&self) -> anyhow::Result<()> {
        let engine = self.harness.crash_and_reopen().await.context("opening after a crash")?;
        *self.engine.lock().unwrap_or_else(PoisonError::into_inner) = engine;
        Ok(())
    }

    pub(super) fn patience(&self) -> Duration {
        self.harness.patience()
    }

    pub(super) fn topic_name(&self, base: &str) -> TopicName {
        format!("{}-{base}", self.word).into()
    }

    pub(super) fn topic_spec(&self, base: &str, partitions: u32) -> TopicSpec {
        TopicSpec { name: self.topic_name(base), partitions, retention: KEPT }
    }

    /// A plain topic.
    pub(super) async fn declare_topic(&self, base: &str, partitions: u32) -> anyhow::Result<TopicName> {
        let spec = self.topic_spec(base, partitions);
        self.engine().declare(std::slice::from_ref(&spec)).await.context("declaring")?;
        Ok(spec.name)
    }

    pub(super) async fn declare_compacted(&self, base: &str, partitions: u32) -> anyhow::Result<TopicName> {
        let spec = TopicSpec { retention: TopicRetention::Compacted, ..self.topic_spec(base, partitions) };
        self.engine().declare(std::slice::from_ref(&spec)).await.context("declaring")?;
        Ok(spec.name)
    }

    pub(super) async fn append(&self, records: Vec<NewRecord>) -> anyhow::Result<()> {
        let mut tries = 0;
        loop {
            match self.engine().append(records.clone()).await {
                Err(TopicError::Busy(_)) if tries < TRIES => tries += 1,
                other => return other.context("appending"),
            }
        }
    }

    /// Everything in a partition, read in pieces.
    pub(super) async fn read_all(&self, topic: &str, partition: u32) -> anyhow::Result<Vec<TopicRecord>> {
        let mut out: Vec<TopicRecord> = Vec::new();
        loop {
            let from = out.last().map_or(0, |r| r.offset + 1);
            let piece = self.engine().read(topic, partition, from, 7).await.context("reading")?;
            if piece.is_empty() {
                return Ok(out);
            }
            out.extend(piece);
            ensure!(out.len() < 10_000, "{topic}/{partition} does not end");
        }
    }

    pub(super) fn membership(&self, lead: &TopicName, mode: TurnGuarantee) -> GroupMembership {
        GroupMembership { group: self.group(), lead: lead.clone(), companions: vec![], state: None, mode }
    }

    pub(super) fn group(&self) -> Arc<str> {
        format!("{}-group", self.word).into()
    }

    pub(super) async fn join(&self, membership: GroupMembership) -> anyhow::Result<BenchMember> {
        let member = self.engine().join(membership).await.context("joining")?;
        Ok(BenchMember { member, patience: self.patience(), assigned: BTreeMap::new() })
    }

    /// A plain member of a group that leads with one topic.
    pub(super) async fn join_plain(&self, lead: &TopicName) -> anyhow::Result<BenchMember> {
        self.join(self.membership(lead, TurnGuarantee::Plain)).await
    }

    /// Where the group stands: committed and end, by partition.
    pub(super) async fn standing(&self, topic: &TopicName) -> anyhow::Result<Vec<(u64, u64)>> {
        let standing =
            self.engine().standing(&self.group(), topic).await.context("asking for the standing")?;
        let right = (0..).zip(&standing).all(|(p, s)| s.partition == p && s.topic == *topic);
        ensure!(right, "the standing is not by partition: {standing:?}");
        Ok(standing.into_iter().map(|s| (s.committed, s.end)).collect())
    }
}

/// A member, and what it was told it has.
pub(super) struct BenchMember {
    pub member: Box<dyn Member>,
    patience: Duration,
    pub assigned: BTreeMap<u32, u64>,
}

impl BenchMember {
    /// The next happening; it has to come.
    pub async fn next(&mut self, most: usize) -> anyhow::Result<MemberEvent> {
        let mut tries = 0;
        let happening = loop {
            let next = tokio::time::timeout(self.patience, self.member.next(most)).await;
            match next.context("nothing happened for as long as there was patience")? {
                Err(TopicError::Busy(_)) if tries < TRIES => tries += 1,
                other => break other.context("asking for the next happening")?,
            }
        };
        match &happening {
            MemberEvent::Assigned(partitions) => self.assigned.extend(partitions.iter().copied()),
            MemberEvent::Revoked(partitions) => self.assigned.retain(|p, _| !partitions.contains(p)),
            MemberEvent::Records(batch) => {
                let ours = self.assigned.get(&batch.partition) == Some(&batch.generation);
                ensure!(ours, "records of partition {} before it was assigned", batch.partition);
                let strange = batch.records.iter().any(|r| r.partition != batch.partition);
                ensure!(!strange, "records of another partition than {}", batch.partition);
                ensure!(!batch.records.is_empty(), "records that are none");
            }
        }
        Ok(happening)
    }

    /// Goes on until so many partitions are assigned.
    pub async fn own_partitions(&mut self, partitions: usize) -> anyhow::Result<()> {
        while self.assigned.len() < partitions {
            if let MemberEvent::Records(batch) = self.next(1).await? {
                bail!("records of partition {} while waiting for an assignment", batch.partition);
            }
        }
        Ok(())
    }

    /// The next records, whatever happens before.
    pub async fn next_batch(&mut self, most: usize) -> anyhow::Result<RecordBatch> {
        loop {
            if let MemberEvent::Records(batch) = self.next(most).await? {
                return Ok(batch);
            }
        }
    }

    /// So many records, without a commit.
    pub async fn take_records(&mut self, count: usize) -> anyhow::Result<Vec<TopicRecord>> {
        let mut out = Vec::new();
        while out.len() < count {
            let batch =
                self.next_batch(count).await.with_context(|| format!("{} of {count} records", out.len()))?;
            out.extend(batch.records);
        }
        Ok(out)
    }

    /// A turn that commits what was handed out of a partition.
    pub fn turn_for(&self, partition: u32, records: Vec<NewRecord>) -> Turn {
        let generation = self.assigned.get(&partition).copied().unwrap_or_default();
        Turn { partition, generation, offsets: self.member.positions(partition), records }
    }

    pub async fn commit(&mut self, partition: u32, records: Vec<NewRecord>) -> Result<(), CommitError> {
        let turn = self.turn_for(partition, records);
        self.member.commit(turn).await
    }

    pub async fn restore(&mut self, partition: u32) -> anyhow::Result<Vec<TopicRecord>> {
        let restore = tokio::time::timeout(self.patience, self.member.restore(partition)).await;
        restore.context("restoring takes too long")?.context("restoring")
    }
}

pub(super) fn test_record(topic: &TopicName, partition: u32, key: &str, value: &str) -> NewRecord {
    let (topic, key) = (topic.clone(), key.as_bytes().to_vec());
    NewRecord { topic, partition, key, value: Some(value.as_bytes().to_vec()), headers: Vec::new() }
}

pub(super) fn test_tombstone(topic: &TopicName, partition: u32, key: &str) -> NewRecord {
    NewRecord {
        topic: topic.clone(),
        partition,
        key: key.as_bytes().to_vec(),
        value: None,
        headers: Vec::new(),
    }
}

/// Records with the values from one number up to another.
pub(super) fn numbered_records(
    topic: &TopicName,
    partition: u32,
    numbers: std::ops::Range<u32>,
) -> Vec<NewRecord> {
    numbers.map(|n| test_record(topic, partition, "key", &n.to_string())).collect()
}

/// The values as text, one after the other.
pub(super) fn values_text(records: &[TopicRecord]) -> String {
    let value = |r: &TopicRecord| String::from_utf8_lossy(r.value.as_deref().unwrap_or(b"-")).into_owned();
    records.iter().map(value).collect::<Vec<_>>().join(" ")
}

/// Keys and values as text, by key.
pub(super) fn pairs_text(records: &[TopicRecord]) -> String {
    let mut pairs: Vec<String> = records
        .iter()
        .map(|r| format!("{}={}", String::from_utf8_lossy(&r.key), values_text(std::slice::from_ref(r))))
        .collect();
    pairs.sort();
    pairs.join(" ")
}

/// Fails unless two texts are the same.
pub(super) fn check_same(what: &str, found: &str, wanted: &str) -> anyhow::Result<()> {
    ensure!(found == wanted, "{what}: wanted `{wanted}`, found `{found}`");
    Ok(())
}
