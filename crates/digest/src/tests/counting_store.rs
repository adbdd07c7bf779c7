//! A store that counts how often each state is asked for, and how many rows a turn reads. It can swell: a row
//! that comes many times is one row to whoever folds.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use model::{DayRow, UtcMillis, VersionedState, entry::DayKey};
use store::{StateKey, Store, StoreError, decorator::StoreDecorator};

pub struct ReadCountingStore {
    inner: Arc<dyn Store>,
    asked: Mutex<BTreeMap<StateKey, usize>>,
    /// How often each row of a day is handed out.
    times: AtomicUsize,
    rows: Mutex<Vec<usize>>,
}

impl ReadCountingStore {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, asked: Mutex::default(), times: AtomicUsize::new(1), rows: Mutex::default() }
    }

    pub fn ask_count(&self, key: &StateKey) -> usize {
        self.asked.lock().unwrap().get(key).copied().unwrap_or(0)
    }

    pub fn forget(&self) {
        self.asked.lock().unwrap().clear();
        self.rows.lock().unwrap().clear();
    }

    pub fn repeat_rows(&self, times: usize) {
        self.times.store(times, Ordering::SeqCst);
    }

    /// The rows that each closing turn read; it asks for what is muted when it has read its days.
    pub fn rows(&self) -> Vec<usize> {
        let mut rows = self.rows.lock().unwrap().clone();
        assert_eq!(rows.pop().unwrap_or(0), 0, "read for nobody");
        rows
    }
}

impl fmt::Debug for ReadCountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadCountingStore({:?})", self.inner)
    }
}

#[async_trait]
impl StoreDecorator for ReadCountingStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        if keys.iter().any(|key| matches!(key, StateKey::Preferences(..))) {
            self.rows.lock().unwrap().push(0);
        }
        for key in keys {
            *self.asked.lock().unwrap().entry(key.clone()).or_default() += 1;
        }
        self.inner.states(keys).await
    }

    async fn read(&self, keys: &[DayKey], now: UtcMillis) -> Result<Vec<Vec<DayRow>>, StoreError> {
        let times = self.times.load(Ordering::SeqCst);
        let mut days = self.inner.read(keys, now).await?;
        for day in &mut days {
            *day = day.iter().flat_map(|row| std::iter::repeat_n(row.clone(), times)).collect();
        }
        let mut rows = self.rows.lock().unwrap();
        let before = rows.pop().unwrap_or(0);
        rows.push(before + days.iter().map(Vec::len).sum::<usize>());
        Ok(days)
    }
}
