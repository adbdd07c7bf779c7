//! All promises of the log, kept by one in frames around the embedded one: every value goes out and comes
//! back as another.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use runtime::Clock;
use tempfile::TempDir;
use topic::{
    TopicError, TopicRecord, Topics,
    conformance::{TopicsHarness, cut_power, run_promises},
    embedded::EmbeddedTopics,
};

use crate::{
    FramedTopics,
    lens::{SchemaHeaderMap, ValueLens},
};

/// Puts a byte before every value, and knows of no schema so many times.
#[derive(Debug, Default)]
pub(super) struct MarkingLens(pub AtomicUsize);

#[async_trait]
impl ValueLens for MarkingLens {
    fn encode_value(&self, _: &str, value: Vec<u8>) -> Vec<u8> {
        [&[7], value.as_slice()].concat()
    }

    async fn prepare(&self, _: &[TopicRecord]) -> Result<SchemaHeaderMap, String> {
        let left = self.0.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left.is_ok() { Err("not now".to_owned()) } else { Ok(SchemaHeaderMap::from([(7, [7; 10])])) }
    }

    fn decode_value(&self, headers: &SchemaHeaderMap, _: &str, value: Vec<u8>) -> Vec<u8> {
        assert!(headers.contains_key(&7), "what was learned is given");
        assert_eq!(value.first(), Some(&7), "what goes out framed comes back framed");
        value[1..].to_vec()
    }
}

struct FramingHarness {
    clock: Clock,
    now: Mutex<Vec<(TempDir, Arc<dyn Topics>)>>,
    words: AtomicUsize,
}

impl FramingHarness {
    fn open(&self, dir: TempDir) -> Result<Arc<dyn Topics>, TopicError> {
        let session = Duration::from_secs(3);
        let engine = Arc::new(EmbeddedTopics::open_with(dir.path(), self.clock.clone(), session)?);
        let engine: Arc<dyn Topics> =
            Arc::new(FramedTopics::with_lens(engine, Arc::new(MarkingLens::default())));
        // Those that are dead stay: their members do not know it yet.
        self.now.lock().unwrap().push((dir, engine.clone()));
        Ok(engine)
    }
}

fn scratch_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

#[async_trait]
impl TopicsHarness for FramingHarness {
    async fn open_fresh(&self) -> Result<Arc<dyn Topics>, TopicError> {
        self.now.lock().unwrap().clear();
        self.open(scratch_dir())
    }

    async fn crash_and_reopen(&self) -> Result<Arc<dyn Topics>, TopicError> {
        let dir = scratch_dir();
        cut_power(self.now.lock().unwrap().last().unwrap().0.path(), dir.path()).unwrap();
        self.open(dir)
    }

    fn word(&self) -> String {
        format!("w{}", self.words.fetch_add(1, Ordering::Relaxed))
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_in_frames_keeps_every_promise() {
    let harness =
        FramingHarness { clock: Clock::still(1_000_000), now: Mutex::default(), words: AtomicUsize::new(0) };
    let outcomes = run_promises(&harness).await;
    assert!(outcomes.len() > 20, "{}", outcomes.len());
    let broken: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}
