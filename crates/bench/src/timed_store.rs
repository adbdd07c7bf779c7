//! A store around another that says for how long days were being written, and since when states are asked for.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use model::{UtcMillis, VersionedState};
use runtime::clock::SteadyStopwatch;
use store::{DayRows, StateKey, Store, StoreError, decorator::StoreDecorator};
use tokio::sync::Notify;

pub struct TimedStore {
    inner: Arc<dyn Store>,
    stage: Mutex<WritingStage>,
    wrote: Notify,
    begun: OnceLock<SteadyStopwatch>,
}

/// The stage of writing.
#[derive(Clone, Copy, Default)]
struct WritingStage {
    /// Writes that are under way, and since when there are any.
    open: usize,
    since: Option<SteadyStopwatch>,
    /// How long there were any, and the rows of those that ended well.
    took: Duration,
    rows: usize,
}

impl TimedStore {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, stage: Mutex::default(), wrote: Notify::new(), begun: OnceLock::new() }
    }

    fn with_stage<T>(&self, with: impl FnOnce(&mut WritingStage) -> T) -> T {
        with(&mut self.stage.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Since when states are asked for: whoever decides about persons asks for them first.
    pub fn first_state_read(&self) -> Option<SteadyStopwatch> {
        self.begun.get().copied()
    }

    /// Waits until so many rows are written, and says for how long there was a write under way. Begins anew.
    pub async fn await_rows(&self, rows: usize) -> Duration {
        loop {
            let wrote = self.wrote.notified();
            let done = |stage: &mut WritingStage| {
                (stage.rows >= rows && stage.open == 0).then(|| std::mem::take(stage))
            };
            if let Some(stage) = self.with_stage(done) {
                return stage.took;
            }
            wrote.await;
        }
    }
}

impl fmt::Debug for TimedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimedStore({:?})", self.inner)
    }
}

#[async_trait]
impl StoreDecorator for TimedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn write(&self, rows: Vec<DayRows>, now: UtcMillis) -> Result<(), StoreError> {
        let count: usize = rows.iter().map(|of| of.rows.len()).sum();
        self.with_stage(|stage| {
            stage.open += 1;
            stage.since.get_or_insert_with(SteadyStopwatch::start);
        });
        let written = self.inner.write(rows, now).await;
        self.with_stage(|stage| {
            stage.open -= 1;
            stage.rows += if written.is_ok() { count } else { 0 };
            if stage.open == 0 {
                stage.took += stage.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            }
        });
        self.wrote.notify_one();
        written
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        self.begun.get_or_init(SteadyStopwatch::start);
        self.inner.states(keys).await
    }
}
