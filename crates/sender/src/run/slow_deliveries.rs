//! Deliveries whose rounds did not wait for them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use model::{ReadyId, delivery::Delivery};
use tokio::{sync::watch, task::JoinSet};

/// One delivery; dropped, it ends where it is, as by a crash.
pub(crate) type DeliveryTask = JoinSet<anyhow::Result<Delivery>>;

/// They go on by themselves, and end with the sender.
#[derive(Debug, Default)]
pub(crate) struct SlowDeliveries {
    under_way: Mutex<BTreeMap<ReadyId, DeliveryTask>>,
    /// The turn of each partition that is not committed yet.
    turns: Mutex<BTreeMap<u32, watch::Sender<()>>>,
}

/// Whether a turn has ended.
#[derive(Clone, Debug)]
pub(crate) struct TurnEnd(watch::Receiver<()>);

impl TurnEnd {
    /// Until its turn has ended: what the turn says of a delivery is said before what the delivery says of itself.
    pub async fn wait(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

impl SlowDeliveries {
    pub fn add(&self, ready: ReadyId, one: DeliveryTask) {
        lock_mutex(&self.under_way).insert(ready, one);
    }

    pub fn has(&self, ready: ReadyId) -> bool {
        lock_mutex(&self.under_way).get(&ready).is_some_and(|one| !one.is_empty())
    }

    pub fn take(&self) -> Vec<DeliveryTask> {
        std::mem::take(&mut *lock_mutex(&self.under_way)).into_values().collect()
    }

    pub fn begin_turn(&self, partition: u32) -> TurnEnd {
        let (turn, ended) = watch::channel(());
        lock_mutex(&self.turns).insert(partition, turn);
        TurnEnd(ended)
    }

    pub fn end_turn(&self, partition: u32) {
        lock_mutex(&self.turns).remove(&partition);
    }

    /// Forgets those that ended by themselves.
    pub fn forget_ended(&self) {
        lock_mutex(&self.under_way).retain(|_, one| match one.try_join_next() {
            Some(Ok(Err(error))) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "a slow delivery failed; the journal finds out what became of it");
                false
            }
            Some(Err(_)) => {
                tracing::error!("a slow delivery broke; the journal finds out what became of it");
                false
            }
            Some(Ok(Ok(_))) => false,
            None => true,
        });
    }
}

/// The value is valid even after a panic: every change is a single step.
pub(super) fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
