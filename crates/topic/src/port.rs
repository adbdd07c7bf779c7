//! The contract of a partitioned log. It speaks of keys, bytes and offsets and knows no record of ours.
//!
//! It is drawn so that Apache Kafka can keep it (docs/adapters.md, "The Kafka adapter"): a group subscribes
//! to one topic and is given its companions of the same number along with it; a turn is one transaction;
//! an owner that was replaced is told so at its next commit and never before it is too late.

use std::{fmt, sync::Arc};

use async_trait::async_trait;

/// A topic's name.
pub type TopicName = Arc<str>;

/// What a topic is like. Its partition count is for as long as the topic lives; another one is another topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSpec {
    pub name: TopicName,
    pub partitions: u32,
    pub retention: TopicRetention,
}

/// What a topic keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicRetention {
    /// Records go once they are older than this.
    Milliseconds(i64),
    /// The latest record of each key stays; a record without value takes its key away.
    Compacted,
}

/// What stands beside a record's value: names and bytes, in order. A name may come twice.
pub type RecordHeaders = Vec<(String, Vec<u8>)>;

/// A record to be appended. The partition is always given; no client's partitioner is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    pub topic: TopicName,
    pub partition: u32,
    pub key: Vec<u8>,
    /// `None` is a tombstone: in a compacted topic it takes its key away, elsewhere it says what its source
    /// means by it.
    pub value: Option<Vec<u8>>,
    /// Kept by plain topics; a compacted one may drop them.
    pub headers: RecordHeaders,
}

/// A record as it lies in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRecord {
    pub topic: TopicName,
    pub partition: u32,
    pub offset: u64,
    /// When it was appended, by the engine's clock, in UTC milliseconds.
    pub appended: i64,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
    pub headers: RecordHeaders,
}

/// How a group works.
#[derive(Clone, Debug)]
pub struct GroupMembership {
    pub group: Arc<str>,
    /// The topic that decides who owns which partition.
    pub lead: TopicName,
    /// Topics whose partition of the same number comes with the lead's.
    pub companions: Vec<TopicName>,
    /// The compacted topic that holds the owner's state; read back before a partition is worked.
    pub state: Option<TopicName>,
    pub mode: TurnGuarantee,
}

/// What a turn promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnGuarantee {
    /// Records first, offsets after; a crash between the two repeats the records. For idempotent rooms.
    Plain,
    /// Records and offsets become visible together or not at all, and an owner that was replaced cannot
    /// commit.
    Atomic,
}

/// Positions in the topics of one partition number: topic, and the offset to go on with.
pub type TopicOffsets = Vec<(TopicName, u64)>;

/// Records polled together, all of one partition number, from the lead and its companions; in each
/// topic in order.
#[derive(Clone, Debug)]
pub struct RecordBatch {
    pub partition: u32,
    /// The ownership under which it was polled; the commit names the same.
    pub generation: u64,
    pub records: Vec<TopicRecord>,
}

/// One commit: positions and records of one partition number.
#[derive(Clone, Debug)]
pub struct Turn {
    pub partition: u32,
    /// As the batch gave it, never fetched anew.
    pub generation: u64,
    /// The lead and every companion, also those of which nothing was read.
    pub offsets: TopicOffsets,
    pub records: Vec<NewRecord>,
}

/// What a member's `next` comes back with.
#[derive(Clone, Debug)]
pub enum MemberEvent {
    /// These partitions are ours from now on; for each, the generation. Restore them, then go on. A log may say of
    /// a group that has more members than partitions that there are none for us.
    Assigned(Vec<(u32, u64)>),
    /// These are not ours any more. Whoever asks for the next happening has let go of them. With none of them
    /// nothing was taken away, but a position moved without a record: whoever waits for one looks again.
    Revoked(Vec<u32>),
    Records(RecordBatch),
}

/// Where a group stands in one partition of one topic: lag is `end - committed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupStanding {
    pub topic: TopicName,
    pub partition: u32,
    pub committed: u64,
    pub end: u64,
}

impl GroupStanding {
    /// Offsets that the group has not read.
    pub fn lag(&self) -> u64 {
        self.end.saturating_sub(self.committed)
    }
}

/// Why a topic cannot have so many partitions as are asked for.
pub fn describe_other_count(name: &str, found: u32, asked: u32) -> String {
    format!(
        "topic `{name}` has {found} partitions, and the configuration says {asked}: set `partitions: {found}`, \
        since the count decides which partition a person belongs to, and only `tidings repartition` can change it"
    )
}

/// Why an operation failed; each asks for something else.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TopicError {
    /// Try again: nothing is wrong with the request.
    #[error("the log is busy: {0}")]
    Busy(String),
    /// There is no room on the disk, or no file can be opened: it goes away by itself.
    #[error("the log has no room: {0}")]
    Full(String),
    /// The request itself is wrong: an unknown topic, a different partition count.
    #[error("{0}")]
    Refused(String),
    /// The engine cannot go on.
    #[error("the log is broken: {0}")]
    Broken(String),
}

/// Why a commit failed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// It did not happen. Positions have gone back to the committed offsets.
    #[error("the turn was aborted: {0}")]
    Aborted(String),
    /// Another owner has taken over, or nobody can say whether it happened. Memory of the partition is
    /// worthless: let go of it; it is assigned anew and restored.
    #[error("the partition is lost: {0}")]
    Lost(String),
    /// The engine cannot go on.
    #[error(transparent)]
    Engine(#[from] TopicError),
}

/// A partitioned log.
#[async_trait]
pub trait Topics: Send + Sync + fmt::Debug {
    /// Creates what is missing; a topic that exists with another partition count is refused.
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError>;

    /// What topics that are there lack of what our promises rest on, in lines for whoever runs the house: what is
    /// there, what is needed, and how to mend it. Nothing where nobody else can make topics.
    async fn find_unfit(&self, _specs: &[TopicSpec]) -> Result<Vec<String>, TopicError> {
        Ok(Vec::new())
    }

    /// Appends records; all are durable when it returns. Order is kept within a partition.
    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError>;

    /// Records of one partition from an offset on, at most so many, committed ones only. Outside any
    /// group: for looking, and for putting back what was quarantined.
    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<TopicRecord>, TopicError>;

    /// When the first record of a partition from an offset on was appended, if there is one. What it says nobody needs
    /// to be able to read.
    async fn appended_at(&self, topic: &str, partition: u32, from: u64) -> Result<Option<i64>, TopicError> {
        Ok(self.read(topic, partition, from, 1).await?.first().map(|record| record.appended))
    }

    /// The first and the next offset of each partition of a topic.
    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError>;

    /// For each partition the first offset whose record was appended at this instant (UTC milliseconds) or
    /// later; the next offset where there is none.
    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError>;

    /// Where a group stands in a topic; a partition never committed stands at its first offset.
    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<GroupStanding>, TopicError>;

    /// Whether a group has members now, in this process or in any other.
    async fn has_members(&self, group: &str) -> Result<bool, TopicError> {
        Err(TopicError::Refused(format!("this log cannot tell whether group `{group}` has members")))
    }

    /// Takes topics away with all they hold; one that is not there is no error. Declared again a topic
    /// begins empty, with any partition count, and what groups had committed in it is forgotten (a cluster
    /// may need a moment for that). Nobody may work on them. A crash may leave some of them there.
    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        Err(TopicError::Refused(format!("this log cannot remove topics, such as {topics:?}")))
    }

    /// Empties single records, by topic, partition and offset: nobody is handed them any more, and the offsets of all
    /// others stay. When it returns `true`, what they held is in no file any more, and neither is what compaction took
    /// away before. `false`: this log can do no such thing, and they end when their topic's retention ends them. Of a
    /// compacted topic nothing is emptied so: there a key is taken away by a record without value. Of no records at all it
    /// only says whether it can.
    async fn blank(&self, _records: &[(TopicName, u32, u64)]) -> Result<bool, TopicError> {
        Ok(false)
    }

    /// How old a record of a topic may become, in milliseconds, until nobody is handed it and its age has it removed.
    /// Nothing where age removes none, or where the log cannot tell.
    async fn life(&self, _topic: &str) -> Result<Option<i64>, TopicError> {
        Ok(None)
    }

    /// Joins a group.
    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError>;
}

/// One member of a group. Dropping it leaves the group.
#[async_trait]
pub trait Member: Send + Sync {
    /// Waits for the next happening, with at most so many records. Safe to drop half-way: nothing that it
    /// would have returned is lost.
    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError>;

    /// Records of a partition other than these, if some are there already: for one who has just been handed some and
    /// takes several turns at once. A log may always say that there are none. Safe to drop half-way.
    async fn take_more(&mut self, _but: &[u32], _most: usize) -> Result<Option<RecordBatch>, TopicError> {
        Ok(None)
    }

    /// The state of a partition: the latest record of each key, complete up to the end that it had when
    /// its predecessor was shut out.
    async fn restore(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError>;

    /// The ends that the lead and companions of a partition have now.
    async fn ends(&self, partition: u32) -> Result<TopicOffsets, TopicError>;

    /// The positions up to which `next` has handed out the records of a partition.
    fn positions(&self, partition: u32) -> TopicOffsets;

    /// Commits a turn, in the mode of the membership.
    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError>;

    /// Commits turns of different partitions, each by itself; what became of each, in their order. Nobody's outcome
    /// waits for another's where the log can help it.
    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        let mut outcomes = Vec::with_capacity(turns.len());
        for turn in turns {
            outcomes.push(self.commit(turn).await);
        }
        outcomes
    }

    /// Hands out nothing more of a partition that cannot go on for now, until it is rewound. It stays this member's,
    /// and the others go on.
    fn hold(&mut self, partition: u32);

    /// Positions go back to the committed offsets; what was handed out since comes again. Ends a hold.
    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError>;
}
