//! The loop on a log that does not answer any more.

use tokio::time::timeout;

use super::*;
use crate::{
    embedded::Embedded,
    port::{CommitError, Mode, Retention, Standing, TopicName, TopicSpec, Turn},
};

const PATIENCE: Duration = Duration::from_secs(20);

/// The embedded engine without an answer to one call. Once that is waited for, everything is to stop.
#[derive(Clone)]
struct Silent {
    engine: Arc<dyn Topics>,
    call: &'static str,
    shutdown: Shutdown,
}

impl Silent {
    async fn answers(&self, call: &str) {
        if self.call == call {
            self.shutdown.start();
            pending::<()>().await;
        }
    }
}

impl std::fmt::Debug for Silent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Silent").field("call", &self.call).finish_non_exhaustive()
    }
}

#[async_trait]
impl Topics for Silent {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.engine.declare(specs).await
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        self.engine.append(records).await
    }

    async fn read(
        &self,
        topic: &str,
        number: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<Record>, TopicError> {
        self.engine.read(topic, number, from, most).await
    }

    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        self.engine.bounds(topic).await
    }

    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        self.engine.since(topic, at).await
    }

    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<Standing>, TopicError> {
        self.engine.standing(group, topic).await
    }

    async fn join(&self, membership: Membership) -> Result<Box<dyn Member>, TopicError> {
        self.answers("join").await;
        let member = self.engine.join(membership).await?;
        Ok(Box::new(SilentMember { member, log: self.clone() }))
    }
}

struct SilentMember {
    member: Box<dyn Member>,
    log: Silent,
}

#[async_trait]
impl Member for SilentMember {
    async fn next(&mut self, most: usize) -> Result<Happening, TopicError> {
        self.log.answers("next").await;
        self.member.next(most).await
    }

    async fn restore(&self, partition: u32) -> Result<Vec<Record>, TopicError> {
        self.log.answers("restore").await;
        self.member.restore(partition).await
    }

    async fn ends(&self, partition: u32) -> Result<Offsets, TopicError> {
        self.log.answers("ends").await;
        self.member.ends(partition).await
    }

    fn positions(&self, partition: u32) -> Offsets {
        self.member.positions(partition)
    }

    async fn commit(&mut self, _turn: Turn) -> Result<(), CommitError> {
        Err(CommitError::Aborted("the log is away".to_owned()))
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.log.answers("rewind").await;
        self.member.rewind(partition).await
    }
}

/// Wants a turn at an instant.
struct Waits(Option<i64>);

#[async_trait]
impl Work for Waits {
    fn due(&self, _partition: u32) -> Option<i64> {
        self.0
    }

    async fn turn(&mut self, _batch: &Batch, _closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn a_log_that_is_away_keeps_nobody_from_stopping() {
    for call in ["join", "next", "restore", "ends", "rewind"] {
        let (dir, clock, shutdown) = (tempfile::tempdir().unwrap(), Clock::still(1_000), Shutdown::default());
        let engine = Arc::new(Embedded::open(dir.path(), clock.clone()).unwrap());
        let spec = |name: &str, retention| TopicSpec { name: name.into(), partitions: 1, retention };
        let specs = [spec("lead", Retention::Milliseconds(1_000)), spec("state", Retention::Compacted)];
        engine.declare(&specs).await.unwrap();
        let (topic, value): (TopicName, _) = ("lead".into(), Some(vec![1]));
        let record = NewRecord { topic: topic.clone(), partition: 0, key: vec![1], value, headers: vec![] };
        engine.append(vec![record]).await.unwrap();
        let (group, state, mode) = ("group".into(), Some("state".into()), Mode::Atomic);
        let membership = Membership { group, lead: topic, companions: vec![], state, mode };
        let topics = Arc::new(Silent { engine, call, shutdown: shutdown.clone() });
        let mut work = Waits((call == "ends").then_some(1_000));
        let quiet = Quiet::default();
        let drive = drive(Drive { topics, membership, clock, quiet, shutdown, records_max: 9 }, &mut work);
        timeout(PATIENCE, drive).await.unwrap_or_else(|_| panic!("{call} is waited for")).unwrap();
    }
}
