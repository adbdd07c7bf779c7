//! An engine that breaks one promise at a time, to prove that the conformance list notices.
//!
//! It wraps an honest engine, any of them. Each lie is the smallest version of a fault that engines and
//! adapters really have.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use tokio::sync::Mutex;

use crate::{
    decorator::TopicsDecorator,
    port::{
        GroupMembership, GroupStanding, Member, NewRecord, TopicError, TopicName, TopicRecord, TopicSpec,
        Topics,
    },
};

mod member;

#[cfg(test)]
mod tests;

/// What is wrong with an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicsLie {
    /// Takes any partition count for the one there is.
    DeclaresAnything,
    /// Says that records for nowhere were appended.
    SwallowsUnknown,
    /// Says that records are durable while they are still in memory.
    LosesUnsynced,
    /// Appends again what it has appended.
    Doubles,
    /// Turns the order of an append round.
    Reorders,
    /// Gives two records the same offset.
    RepeatsOffsets,
    /// Stamps later records with earlier times.
    TurnsTimeBack,
    /// Reads from before where it was asked to, and more.
    ReadsMore,
    /// Has not heard of the last record.
    ShortBounds,
    /// Looks for what came after an instant, and not at it.
    SinceLater,
    /// Leaves the headers behind.
    DropsHeaders,
    /// Takes a tombstone for nothing.
    ForgetsTombstones,
    /// Says that topics are gone and leaves them.
    KeepsRemoved,
    /// Keeps what groups have committed in a topic for the next one of that name.
    RemembersCommits,
    /// Sees no members, as one does who asks the wrong protocol for them.
    OverlooksMembers,
    /// Ends restoring a record too early, as one does who trusts a lagging end.
    MissesLast,
    /// Says that records are emptied, and leaves them.
    BlanksNothing,
    /// Empties the one behind as well.
    BlanksTheNext,
    /// Tells of half of the time that records stay.
    LivesShort,
    /// Tells of an end of what has none.
    LivesEnd,
    /// Restores what a key was at first.
    RestoresStale,
    /// Restores other partitions' keys as well.
    MixesPartitions,
    /// Says that offsets are committed and keeps them to itself.
    ForgetsCommits,
    /// Commits when it finds the time.
    LosesCommits,
    /// Commits what it hands out, as clients do that commit by themselves.
    CommitsAhead,
    /// Reports a standing from before.
    StandsBack,
    /// Counts one record too many as handed out.
    PositionsAhead,
    /// Asks for the ends once and believes them forever.
    StaleEnds,
    /// Stays where it is when it should go back.
    IgnoresRewind,
    /// Hands out records of a partition that is held.
    IgnoresHold,
    /// Hands out records of partitions that it never assigned.
    SwallowsAssigned,
    /// Hands out more than was asked for.
    HandsOutMore,
    /// Forgets what it was about to hand out when it is dropped.
    LosesDropped,
    /// Goes on at the end when its position is gone.
    JumpsSilently,
    /// Lets every member have everything.
    GivesAllToEach,
    /// Leaves the companions to somebody else.
    StripsCompanions,
    /// Lets go of a partition without asking its owner to.
    SwallowsRevoked,
    /// Tells no assignment from another.
    SameGeneration,
    /// Writes the first half of a turn.
    HalfTurn,
    /// Shows the records of a turn that failed.
    ShowsAborted,
    /// Accepts what a replaced owner commits.
    AcceptsReplaced,
    /// Accepts it if there is nothing in it, as a transaction without offsets is.
    AcceptsEmpty,
    /// Hands out more of a partition whose turn is not over.
    HandsOutHeld,
    /// Tells one turn's outcome as another's.
    MixesOutcomes,
}

impl TopicsLie {
    /// Every lie, with the promises that it breaks for certain; it may break others too.
    pub const ALL: &[(Self, &[&str])] = &[
        (Self::DeclaresAnything, &["declared once"]),
        (Self::SwallowsUnknown, &["unknown is refused"]),
        (Self::LosesUnsynced, &["durable at return"]),
        (Self::Doubles, &["no doubles"]),
        (Self::Reorders, &["in order"]),
        (Self::RepeatsOffsets, &["offsets rise"]),
        (Self::TurnsTimeBack, &["time goes on"]),
        (Self::ReadsMore, &["read as asked"]),
        (Self::ShortBounds, &["bounds hold"]),
        (Self::SinceLater, &["found by time"]),
        (Self::DropsHeaders, &["headers are kept"]),
        (Self::ForgetsTombstones, &["a tombstone takes away"]),
        (Self::KeepsRemoved, &["taken away"]),
        (Self::RemembersCommits, &["begun anew"]),
        (Self::BlanksNothing, &["emptied"]),
        (Self::BlanksTheNext, &["emptied"]),
        (Self::LivesShort, &["lives are told"]),
        (Self::LivesEnd, &["lives are told"]),
        (Self::OverlooksMembers, &["members are known"]),
        (Self::MissesLast, &["state is complete"]),
        (Self::RestoresStale, &["state is the latest"]),
        (Self::MixesPartitions, &["state is per partition"]),
        (Self::ForgetsCommits, &["a commit moves the standing"]),
        (Self::LosesCommits, &["a commit is durable"]),
        (Self::CommitsAhead, &["uncommitted comes again", "passed on"]),
        (Self::StandsBack, &["the standing is true"]),
        (Self::PositionsAhead, &["positions tell"]),
        (Self::StaleEnds, &["ends are those of now"]),
        (Self::IgnoresRewind, &["rewound to the commit"]),
        (Self::IgnoresHold, &["held alone"]),
        (Self::SwallowsAssigned, &["assigned, then handed out"]),
        (Self::HandsOutMore, &["as many as asked for"]),
        (Self::LosesDropped, &["dropped half-way"]),
        (Self::JumpsSilently, &["out of range is an error"]),
        (Self::GivesAllToEach, &["shared out"]),
        (Self::StripsCompanions, &["companions come along"]),
        (Self::SwallowsRevoked, &["revoked, then assigned"]),
        (Self::SameGeneration, &["generations rise"]),
        (
            Self::HalfTurn,
            &["a turn is one", "a turn cut short is whole or nothing", "state follows the turn"],
        ),
        (Self::ShowsAborted, &["a refused turn leaves nothing"]),
        (Self::AcceptsReplaced, &["a replaced owner cannot commit", "nor a plain commit"]),
        (Self::AcceptsEmpty, &["nor an empty turn"]),
        (Self::HandsOutHeld, &["more is of others"]),
        (Self::MixesOutcomes, &["each turn by itself"]),
    ];
}

/// An engine with a lie, or with none, to prove that the wrapping itself breaks nothing.
#[derive(Debug)]
pub struct LyingTopics {
    inner: Arc<dyn Topics>,
    lie: Option<TopicsLie>,
    memory: Arc<LyingTopicsMemory>,
}

/// Topic, partition and key.
type RecordKey = (TopicName, u32, Vec<u8>);

/// What a lie has to remember.
#[derive(Debug, Default)]
struct LyingTopicsMemory {
    held: Mutex<Vec<NewRecord>>,
    first_values: Mutex<HashMap<RecordKey, Vec<u8>>>,
    removed: Mutex<HashSet<TopicName>>,
    members: AtomicUsize,
}

impl LyingTopics {
    pub fn new(inner: Arc<dyn Topics>, lie: Option<TopicsLie>) -> Self {
        Self { inner, lie, memory: Arc::default() }
    }

    fn tells(&self, lie: TopicsLie) -> bool {
        self.lie == Some(lie)
    }

    /// What was said to be durable gets there in the end, unless there was a crash.
    async fn flush(&self) -> Result<(), TopicError> {
        let held = std::mem::take(&mut *self.memory.held.lock().await);
        if held.is_empty() { Ok(()) } else { self.inner.append(held).await }
    }
}

impl LyingTopicsMemory {
    async fn note(&self, records: &[NewRecord]) {
        let mut first = self.first_values.lock().await;
        for record in records {
            if let Some(value) = &record.value {
                let key = (record.topic.clone(), record.partition, record.key.clone());
                first.entry(key).or_insert_with(|| value.clone());
            }
        }
    }
}

#[async_trait]
impl TopicsDecorator for LyingTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        _operation: &'static str,
        call: impl Future<Output = Result<T, TopicError>> + Send,
    ) -> Result<T, TopicError> {
        self.flush().await?;
        call.await
    }

    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        match self.inner.declare(specs).await {
            Err(TopicError::Refused(_)) if self.tells(TopicsLie::DeclaresAnything) => Ok(()),
            other => other,
        }
    }

    async fn append(&self, mut records: Vec<NewRecord>) -> Result<(), TopicError> {
        self.memory.note(&records).await;
        match self.lie {
            Some(TopicsLie::LosesUnsynced) => {
                *self.memory.held.lock().await = records;
                return Ok(());
            }
            Some(TopicsLie::Doubles) => self.inner.append(records.clone()).await?,
            Some(TopicsLie::Reorders) => records.reverse(),
            Some(TopicsLie::DropsHeaders) => records.iter_mut().for_each(|record| record.headers.clear()),
            Some(TopicsLie::ForgetsTombstones) => records.retain(|r| r.value.is_some()),
            _ => {}
        }
        match self.inner.append(records).await {
            Err(TopicError::Refused(_)) if self.tells(TopicsLie::SwallowsUnknown) => Ok(()),
            other => other,
        }
    }

    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<TopicRecord>, TopicError> {
        let more = self.tells(TopicsLie::ReadsMore);
        let (from, most) = if more { (0, most + 1) } else { (from, most) };
        let mut records = self.inner.read(topic, partition, from, most).await?;
        for record in &mut records {
            match self.lie {
                Some(TopicsLie::RepeatsOffsets) => record.offset /= 2,
                Some(TopicsLie::TurnsTimeBack) => {
                    record.appended -= i64::try_from(record.offset).unwrap_or(0);
                }
                _ => {}
            }
        }
        Ok(records)
    }

    async fn appended_at(&self, topic: &str, partition: u32, from: u64) -> Result<Option<i64>, TopicError> {
        let records = TopicsDecorator::read(self, topic, partition, from, 1).await?;
        Ok(records.first().map(|record| record.appended))
    }

    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        let bounds = self.inner.bounds(topic).await?;
        let short = u64::from(self.tells(TopicsLie::ShortBounds));
        Ok(bounds.into_iter().map(|(first, end)| (first, end.saturating_sub(short).max(first))).collect())
    }

    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        let early = self.tells(TopicsLie::SinceLater);
        self.inner.since(topic, if early { at.saturating_add(1) } else { at }).await
    }

    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<GroupStanding>, TopicError> {
        let mut standing = self.inner.standing(group, topic).await?;
        if self.tells(TopicsLie::StandsBack) {
            standing.iter_mut().for_each(|s| s.committed = s.committed.saturating_sub(1));
        }
        if self.memory.removed.lock().await.contains(topic) {
            standing.iter_mut().for_each(|s| s.committed += 1);
        }
        Ok(standing)
    }

    async fn has_members(&self, group: &str) -> Result<bool, TopicError> {
        Ok(!self.tells(TopicsLie::OverlooksMembers) && self.inner.has_members(group).await?)
    }

    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        match self.lie {
            Some(TopicsLie::KeepsRemoved) => return Ok(()),
            Some(TopicsLie::RemembersCommits) => {
                self.memory.removed.lock().await.extend(topics.iter().cloned());
            }
            _ => {}
        }
        self.inner.remove(topics).await
    }

    async fn blank(&self, records: &[(TopicName, u32, u64)]) -> Result<bool, TopicError> {
        match self.lie {
            Some(TopicsLie::BlanksNothing) => return Ok(true),
            Some(TopicsLie::BlanksTheNext) => {
                let next = |(topic, partition, offset): &(TopicName, u32, u64)| {
                    [(topic.clone(), *partition, *offset), (topic.clone(), *partition, offset + 1)]
                };
                return self.inner.blank(&records.iter().flat_map(next).collect::<Vec<_>>()).await;
            }
            _ => {}
        }
        self.inner.blank(records).await
    }

    async fn life(&self, topic: &str) -> Result<Option<i64>, TopicError> {
        match self.lie {
            Some(TopicsLie::LivesShort) => Ok(self.inner.life(topic).await?.map(|life| life / 2)),
            Some(TopicsLie::LivesEnd) => Ok(Some(i64::MAX)),
            _ => self.inner.life(topic).await,
        }
    }

    async fn join(&self, mut membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        match self.lie {
            Some(TopicsLie::GivesAllToEach) => {
                let number = self.memory.members.fetch_add(1, Ordering::Relaxed);
                membership.group = format!("{}-{number}", membership.group).into();
            }
            Some(TopicsLie::StripsCompanions) => membership.companions.clear(),
            _ => {}
        }
        let inner = self.inner.join(membership.clone()).await?;
        let member = member::LyingMember::new(self, inner, membership);
        Ok(Box::new(member))
    }
}
