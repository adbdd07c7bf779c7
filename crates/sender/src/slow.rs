//! Deliveries whose rounds did not wait for them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::delivery::Delivery;
use tokio::task::JoinSet;

/// One delivery; dropped, it ends where it is, as by a crash.
pub(crate) type UnderWay = JoinSet<anyhow::Result<Delivery>>;

/// They go on by themselves, and end with the sender.
#[derive(Debug, Default)]
pub(crate) struct Slow(Mutex<Vec<UnderWay>>);

impl Slow {
    pub fn add(&self, one: UnderWay) {
        self.lock().push(one);
    }

    pub fn take(&self) -> Vec<UnderWay> {
        std::mem::take(&mut *self.lock())
    }

    /// Forgets those that ended by themselves.
    pub fn forget_ended(&self) {
        self.lock().retain_mut(|one| match one.try_join_next() {
            Some(Ok(Err(error))) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "a slow delivery failed; the journal finds out what became of it");
                false
            }
            Some(_) => false,
            None => true,
        });
    }

    /// What a panic left behind is still good: every change is one step.
    fn lock(&self) -> MutexGuard<'_, Vec<UnderWay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
