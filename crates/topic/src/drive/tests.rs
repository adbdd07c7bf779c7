//! The loop on a log that does not answer any more.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::time::timeout;

use super::*;
use crate::{
    decorator::{MemberDecorator, TopicsDecorator},
    embedded::EmbeddedTopics,
    port::{CommitError, TopicName, TopicRetention, TopicSpec, Turn, TurnGuarantee},
};

mod at_end;
mod stall;

const PATIENCE: Duration = Duration::from_secs(120);

/// The embedded engine without an answer to one call. Once that is waited for, everything is to stop.
#[derive(Clone)]
struct SilentTopics {
    engine: Arc<dyn Topics>,
    call: &'static str,
    shutdown: ShutdownSignal,
    /// Commits that were asked for.
    commits: Arc<AtomicU32>,
    /// Which of them happens; the others are aborted.
    happens: fn(u32) -> bool,
}

impl SilentTopics {
    async fn wait_for_answer(&self, call: &str) {
        if self.call == call {
            self.shutdown.start();
            pending::<()>().await;
        }
    }
}

impl std::fmt::Debug for SilentTopics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SilentTopics").field("call", &self.call).finish_non_exhaustive()
    }
}

#[async_trait]
impl TopicsDecorator for SilentTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.engine
    }

    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        self.wait_for_answer("join").await;
        let member = self.engine.join(membership).await?;
        Ok(Box::new(SilentMember { member, log: self.clone() }))
    }
}

struct SilentMember {
    member: Box<dyn Member>,
    log: SilentTopics,
}

#[async_trait]
impl MemberDecorator for SilentMember {
    fn inner(&self) -> &dyn Member {
        &*self.member
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.member
    }

    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        self.log.wait_for_answer("next").await;
        if self.log.call == "revokes" {
            match self.log.commits.fetch_add(1, Ordering::SeqCst) {
                0 => {}
                1 => return Ok(MemberEvent::Revoked(vec![0])),
                _ => {
                    self.log.shutdown.start();
                    pending::<()>().await;
                }
            }
        }
        self.member.next(most).await
    }

    async fn restore(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        self.log.wait_for_answer("restore").await;
        self.member.restore(partition).await
    }

    async fn ends(&self, partition: u32) -> Result<TopicOffsets, TopicError> {
        self.log.wait_for_answer("ends").await;
        self.member.ends(partition).await
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        if (self.log.happens)(self.log.commits.fetch_add(1, Ordering::SeqCst)) {
            return self.member.commit(turn).await;
        }
        Err(CommitError::Aborted("the log is away".to_owned()))
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.log.wait_for_answer("rewind").await;
        self.member.rewind(partition).await
    }
}

/// Wants a turn at an instant.
struct DueWork(Option<i64>);

#[async_trait]
impl RoomWork for DueWork {
    fn due(&self, _partition: u32) -> Option<i64> {
        self.0
    }

    async fn turn(&mut self, _batch: &RecordBatch, _closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        Ok(Vec::new())
    }
}

/// A log with some records in its lead, and how a room belongs to it.
async fn open_log(
    dir: &std::path::Path,
    clock: &Clock,
    records: u8,
) -> (Arc<EmbeddedTopics>, GroupMembership) {
    let engine = Arc::new(EmbeddedTopics::open(dir, clock.clone()).unwrap());
    let spec = |name: &str, retention| TopicSpec { name: name.into(), partitions: 1, retention };
    let specs = [spec("lead", TopicRetention::Milliseconds(1_000)), spec("state", TopicRetention::Compacted)];
    engine.declare(&specs).await.unwrap();
    let topic: TopicName = "lead".into();
    let record = |n| {
        let (topic, value) = (topic.clone(), Some(vec![n]));
        NewRecord { topic, partition: 0, key: vec![1], value, headers: vec![] }
    };
    engine.append((1..=records).map(record).collect()).await.unwrap();
    let (group, state, mode) = ("group".into(), Some("state".into()), TurnGuarantee::Atomic);
    (engine, GroupMembership { group, lead: topic, companions: vec![], state, mode })
}

#[tokio::test]
async fn a_log_that_is_away_keeps_nobody_from_stopping() {
    for call in ["join", "next", "restore", "ends", "rewind"] {
        let (dir, clock, shutdown) =
            (tempfile::tempdir().unwrap(), Clock::still(1_000), ShutdownSignal::default());
        let (engine, membership) = open_log(dir.path(), &clock, 1).await;
        let (commits, happens) = (Arc::default(), |_| false);
        let topics = Arc::new(SilentTopics { engine, call, shutdown: shutdown.clone(), commits, happens });
        let mut work = DueWork((call == "ends").then_some(1_000));
        let quiet = WorkTracker::default();
        let drive = run_room(
            DriveDeps {
                topics,
                membership,
                clock,
                quiet,
                shutdown,
                records_max: 9,
                metrics: GroupTurnMetrics::default(),
            },
            &mut work,
        );
        timeout(PATIENCE, drive).await.unwrap_or_else(|_| panic!("{call} is waited for")).unwrap();
    }
}

/// Counts what it hears, and writes down every tenth count.
#[derive(Clone, Default)]
struct CountingWork {
    heard: Arc<AtomicU32>,
    turns: Arc<AtomicU32>,
    decided: u32,
}

#[async_trait]
impl RoomWork for CountingWork {
    fn restore(&mut self, _partition: u32, state: Vec<TopicRecord>) -> anyhow::Result<()> {
        let written = state.last().and_then(|record| record.value.as_ref()?.first().copied());
        self.heard.store(u32::from(written.unwrap_or(0)), Ordering::SeqCst);
        Ok(())
    }

    async fn turn(&mut self, batch: &RecordBatch, _closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let turn = self.turns.fetch_add(1, Ordering::SeqCst);
        anyhow::ensure!(turn != 13, "a turn that cannot be decided");
        let heard = self.heard.load(Ordering::SeqCst) + u32::try_from(batch.records.len())?;
        self.decided = heard;
        if !heard.is_multiple_of(10) {
            return Ok(Vec::new());
        }
        let value = Some(vec![u8::try_from(heard)?]);
        Ok(vec![NewRecord { topic: "state".into(), partition: 0, key: vec![1], value, headers: vec![] }])
    }

    async fn after_commit(&mut self, _partition: u32) -> anyhow::Result<()> {
        self.heard.store(self.decided, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test]
async fn turns_that_write_nothing_share_a_commit_and_are_believed_once() {
    const RECORDS: u8 = 95;
    let (dir, clock, shutdown) =
        (tempfile::tempdir().unwrap(), Clock::still(1_000), ShutdownSignal::default());
    let (engine, membership) = open_log(dir.path(), &clock, RECORDS).await;
    let commits = Arc::<AtomicU32>::default();
    let (call, happens) = ("none", |commit| commit % 3 != 1);
    let topics = SilentTopics { engine: engine.clone(), call, shutdown: shutdown.clone(), commits, happens };
    let (commits, counts, mut work) =
        (topics.commits.clone(), CountingWork::default(), CountingWork::default());
    (work.heard, work.turns) = (counts.heard.clone(), counts.turns.clone());
    let (topics, quiet, stop) = (Arc::new(topics), WorkTracker::default(), shutdown.clone());
    let drive = run_room(
        DriveDeps {
            topics,
            membership,
            clock,
            quiet,
            shutdown,
            records_max: 1,
            metrics: GroupTurnMetrics::default(),
        },
        &mut work,
    );
    let settled = async {
        while engine.standing("group", "lead").await.unwrap()[0].lag() > 0 {
            retry::wait_real_time(Duration::from_millis(1)).await;
        }
        stop.start();
    };
    let (ran, ()) = timeout(PATIENCE, async { tokio::join!(drive, settled) }).await.unwrap();
    ran.unwrap();
    assert_eq!(counts.heard.load(Ordering::SeqCst), u32::from(RECORDS), "what came again was counted once");
    let (turns, commits) = (counts.turns.load(Ordering::SeqCst), commits.load(Ordering::SeqCst));
    assert!(turns > u32::from(RECORDS) && commits < turns / 3, "{commits} commits of {turns} turns");
}

/// A session that ended on a busy machine: until the log says whose the partition is now, its windows are nobody's, and
/// whoever moves a clock must wait for that.
#[tokio::test]
async fn who_lost_all_partitions_is_not_idle() {
    let (dir, clock, shutdown) =
        (tempfile::tempdir().unwrap(), Clock::still(1_000), ShutdownSignal::default());
    let (engine, membership) = open_log(dir.path(), &clock, 0).await;
    let (commits, happens) = (Arc::default(), |_| true);
    let topics =
        Arc::new(SilentTopics { engine, call: "revokes", shutdown: shutdown.clone(), commits, happens });
    let (quiet, mut work) = (WorkTracker::default(), DueWork(None));
    let watched = quiet.clone();
    let drive = DriveDeps {
        topics,
        membership,
        clock,
        quiet,
        shutdown: shutdown.clone(),
        records_max: 9,
        metrics: GroupTurnMetrics::default(),
    };
    let mut room = Box::pin(super::run_room(drive, &mut work));
    let lost = async {
        shutdown.wait().await;
        watched.idle_state().0
    };
    let is_idle = timeout(PATIENCE, async {
        tokio::select! {
            biased;
            is_idle = lost => is_idle,
            ended = &mut room => panic!("the room ended: {ended:?}"),
        }
    });
    assert!(!is_idle.await.unwrap());
}
