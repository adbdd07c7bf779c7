//! The list against the embedded engine, and the harness that other tests borrow.

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

use super::{TopicsHarness, cut_power, run_promises};
use crate::{
    embedded::EmbeddedTopics,
    port::{TopicError, Topics},
};

/// Short, so that a member that falls silent is replaced soon, but long for a machine under load.
const SESSION: Duration = Duration::from_secs(3);

/// The embedded engine; a crash is a copy of the directory, taken while the engine works.
pub(crate) struct EmbeddedHarness {
    clock: Clock,
    patience: Duration,
    now: Mutex<Option<(TempDir, Arc<dyn Topics>)>>,
    /// Engines that are dead, and whose members do not know yet.
    dead: Mutex<Vec<(TempDir, Arc<dyn Topics>)>>,
    words: AtomicUsize,
}

impl EmbeddedHarness {
    pub fn new(patience: Duration) -> Self {
        let (now, dead) = (Mutex::default(), Mutex::default());
        Self { clock: Clock::still(1_000_000), patience, now, dead, words: AtomicUsize::new(0) }
    }

    fn open(&self, dir: TempDir) -> Result<Arc<dyn Topics>, TopicError> {
        let engine: Arc<dyn Topics> =
            Arc::new(EmbeddedTopics::open_with(dir.path(), self.clock.clone(), SESSION)?);
        // A machine's clock may be anywhere after a crash; here it stands, which is the hardest case.
        let before = self.now.lock().unwrap().replace((dir, engine.clone()));
        self.dead.lock().unwrap().extend(before);
        Ok(engine)
    }
}

#[async_trait]
impl TopicsHarness for EmbeddedHarness {
    async fn open_fresh(&self) -> Result<Arc<dyn Topics>, TopicError> {
        self.dead.lock().unwrap().clear();
        self.open(scratch_dir())
    }

    async fn crash_and_reopen(&self) -> Result<Arc<dyn Topics>, TopicError> {
        let dir = scratch_dir();
        cut_power(self.now.lock().unwrap().as_ref().unwrap().0.path(), dir.path()).unwrap();
        self.open(dir)
    }

    fn word(&self) -> String {
        format!("w{}", self.words.fetch_add(1, Ordering::Relaxed))
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// In memory where that can be had: what is tested is the order of things, not the disk.
pub(crate) fn scratch_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_engine_keeps_every_promise() {
    let harness = EmbeddedHarness::new(Duration::from_secs(60));
    let outcomes = run_promises(&harness).await;
    let broken: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}
