//! Roughness breaks no promise, comes out the same for a seed, and a room on it loses and doubles nothing.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use runtime::{Clock, ShutdownSignal, WorkTracker};

use super::{RoughTopics, RoughTopicsOdds};
use crate::{
    conformance::{
        TopicsHarness, all_promises, cut_power,
        tests::{EmbeddedHarness, scratch_dir},
    },
    drive::{DriveDeps, RoomWork, run_room},
    embedded::EmbeddedTopics,
    metrics::GroupTurnMetrics,
    port::{
        GroupMembership, NewRecord, RecordBatch, TopicError, TopicName, TopicRecord, TopicRetention,
        TopicSpec, Topics, TurnGuarantee,
    },
};

struct RoughTopicsHarness {
    inner: EmbeddedHarness,
    odds: RoughTopicsOdds,
}

#[async_trait]
impl TopicsHarness for RoughTopicsHarness {
    async fn open_fresh(&self) -> Result<Arc<dyn Topics>, TopicError> {
        Ok(Arc::new(RoughTopics::new(self.inner.open_fresh().await?, self.odds, 7)))
    }

    async fn crash_and_reopen(&self) -> Result<Arc<dyn Topics>, TopicError> {
        Ok(Arc::new(RoughTopics::new(self.inner.crash_and_reopen().await?, self.odds, 8)))
    }

    fn word(&self) -> String {
        self.inner.word()
    }

    fn patience(&self) -> Duration {
        self.inner.patience()
    }
}

/// The promises that an engine of these odds breaks, of those that apply.
async fn broken_promises(odds: RoughTopicsOdds, applies: fn(&str) -> bool) -> Vec<(&'static str, String)> {
    let harness = RoughTopicsHarness { inner: EmbeddedHarness::new(Duration::from_secs(60)), odds };
    let mut broken = Vec::new();
    for promise in all_promises().into_iter().filter(|p| applies(p.name)) {
        broken.extend(promise.check(&harness).await.err().map(|why| (promise.name, why)));
    }
    broken
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_calm_one_keeps_every_promise() {
    assert_eq!(broken_promises(RoughTopicsOdds::CALM, |_| true).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_busy_keeps_all_that_is_tried_again() {
    let odds = RoughTopicsOdds { busy_before: 300, ..RoughTopicsOdds::CALM };
    assert_eq!(broken_promises(odds, |name| name != "unknown is refused").await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_appends_leave_the_state_as_it_is() {
    let odds = RoughTopicsOdds { repeated: 300, busy_after: 300, ..RoughTopicsOdds::CALM };
    let applies = |name: &str| name.starts_with("state is") || name == "a tombstone takes away";
    assert_eq!(broken_promises(odds, applies).await, []);
}

/// A room that copies its lead and counts, as the digest keeps windows: in the state and in memory.
struct CopyingWork {
    out: TopicName,
    state: TopicName,
    counts: BTreeMap<u32, u64>,
    /// What the turns in flight make of them.
    next: BTreeMap<u32, u64>,
    restored: u64,
}

#[async_trait]
impl RoomWork for CopyingWork {
    fn restore(&mut self, partition: u32, state: Vec<TopicRecord>) -> anyhow::Result<()> {
        let count =
            state.first().and_then(|r| r.value.as_deref()).map(|v| v.try_into().map(u64::from_be_bytes));
        self.counts.insert(partition, count.transpose()?.unwrap_or(0));
        self.restored += 1;
        Ok(())
    }

    fn forget(&mut self, partition: u32) {
        self.counts.remove(&partition);
    }

    fn due(&self, _: u32) -> Option<i64> {
        None
    }

    async fn turn(&mut self, batch: &RecordBatch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let partition = batch.partition;
        let mut count = *self.counts.get(&partition).ok_or_else(|| anyhow::anyhow!("not restored"))?;
        let mut records = Vec::new();
        for record in &batch.records {
            count += 1;
            let (topic, value) = (self.out.clone(), record.value.clone());
            records.push(NewRecord {
                topic,
                partition,
                key: count.to_be_bytes().to_vec(),
                value,
                headers: Vec::new(),
            });
        }
        let (topic, value) = (self.state.clone(), Some(count.to_be_bytes().to_vec()));
        records.push(NewRecord { topic, partition, key: b"count".to_vec(), value, headers: Vec::new() });
        self.next.insert(partition, count);
        Ok(records)
    }

    async fn after_commit(&mut self, partition: u32) -> anyhow::Result<()> {
        let count = self.next.remove(&partition).unwrap();
        self.counts.insert(partition, count);
        Ok(())
    }

    fn after_abort(&mut self, partition: u32) {
        self.next.remove(&partition);
    }
}

const PARTITIONS: u32 = 3;
const RECORDS: u32 = 40;

/// Runs the room through all that a seed has in store, and says what happened.
async fn live_through(seed: u64) -> (BTreeMap<&'static str, u64>, Vec<String>) {
    let mut dir = scratch_dir();
    let clock = Clock::still(1_000);
    let mut engine = Arc::new(EmbeddedTopics::open(dir.path(), clock.clone()).unwrap());
    let topic = |name: &str, retention| TopicSpec { name: name.into(), partitions: PARTITIONS, retention };
    let kept = TopicRetention::Milliseconds(i64::MAX);
    let specs = [topic("lead", kept), topic("out", kept), topic("state", TopicRetention::Compacted)];
    engine.declare(&specs).await.unwrap();
    let all = (0..RECORDS * PARTITIONS).map(|n| {
        let (topic, value) = ("lead".into(), Some(n.to_be_bytes().to_vec()));
        NewRecord { topic, partition: n % PARTITIONS, key: vec![], value, headers: Vec::new() }
    });
    engine.append(all.collect()).await.unwrap();
    let odds = RoughTopicsOdds { crash: 20, ..RoughTopicsOdds::ROUGH };
    let mut rough = RoughTopics::new(engine.clone(), odds, seed);
    loop {
        let shutdown = ShutdownSignal::default();
        let membership = GroupMembership {
            group: "copier".into(),
            lead: "lead".into(),
            companions: vec![],
            state: Some("state".into()),
            mode: TurnGuarantee::Atomic,
        };
        let house = DriveDeps {
            topics: Arc::new(rough.clone()),
            membership,
            clock: clock.clone(),
            quiet: WorkTracker::default(),
            shutdown: shutdown.clone(),
            records_max: 3,
            metrics: GroupTurnMetrics::default(),
        };
        let (out, state) = ("out".into(), "state".into());
        let mut work =
            CopyingWork { out, state, counts: BTreeMap::new(), next: BTreeMap::new(), restored: 0 };
        let (done, ended) = (wait_until_committed(&engine, &shutdown), run_room(house, &mut work));
        let (_, ended) = tokio::join!(
            async {
                tokio::select! { () = done => {}, () = rough.wait_for_crash() => {} }
            },
            ended,
        );
        if !rough.is_crashed() {
            ended.unwrap();
            break;
        }
        assert!(ended.is_err(), "it died, and the loop did not notice");
        let left = scratch_dir();
        cut_power(dir.path(), left.path()).unwrap();
        engine = Arc::new(EmbeddedTopics::open(left.path(), clock.clone()).unwrap());
        rough = rough.reopen_on(engine.clone());
        dir = left;
    }
    (rough.happened_counts(), check_log(&engine).await)
}

/// Ends the room when there is nothing left to do.
async fn wait_until_committed(engine: &EmbeddedTopics, shutdown: &ShutdownSignal) {
    loop {
        let standing = engine.standing("copier", "lead").await.unwrap();
        if standing.iter().all(|s| s.committed == s.end) {
            return shutdown.start();
        }
        tokio::task::yield_now().await;
    }
}

/// What is wrong with what the room wrote.
async fn check_log(engine: &EmbeddedTopics) -> Vec<String> {
    let mut wrong = Vec::new();
    for partition in 0..PARTITIONS {
        let lead = engine.read("lead", partition, 0, 10_000).await.unwrap();
        let out = engine.read("out", partition, 0, 10_000).await.unwrap();
        let state = engine.read("state", partition, 0, 10_000).await.unwrap();
        if !lead.iter().map(|r| &r.value).eq(out.iter().map(|r| &r.value)) {
            wrong.push(format!("partition {partition}: {} records became {}", lead.len(), out.len()));
        }
        let count = u64::from(RECORDS).to_be_bytes().to_vec();
        if state.len() != 1 || state[0].value != Some(count) {
            wrong.push(format!("partition {partition}: counted {state:?}"));
        }
    }
    wrong
}

/// `SEEDS=200 cargo test -p topic a_room_loses` looks longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_loses_and_doubles_nothing() {
    let mut happened = BTreeMap::<&str, u64>::new();
    let seeds = std::env::var("SEEDS").map_or(12, |n| n.parse().unwrap());
    for seed in 0..seeds {
        let (what, wrong) = live_through(seed).await;
        assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
        what.into_iter().for_each(|(name, n)| *happened.entry(name).or_default() += n);
    }
    for what in ["aborted", "lost, not committed", "lost, committed", "replaced", "crash"] {
        assert!(happened.contains_key(what), "it never met `{what}`, only {happened:?}");
    }
}

#[tokio::test]
async fn a_seed_has_the_same_in_store_each_time() {
    assert_eq!(live_through(3).await, live_through(3).await);
}
