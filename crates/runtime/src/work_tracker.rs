//! Idle detection. Each loop reports whether it is at work; before a virtual clock is moved, one waits here until none
//! is, without sleeping.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use tokio::sync::Notify;

use crate::standstill::StandstillList;

/// Counts who is at work. Cheap to clone.
#[derive(Clone, Default)]
pub struct WorkTracker {
    inner: Arc<WorkCounts>,
}

#[derive(Default)]
struct WorkCounts {
    busy: AtomicI64,
    changes: AtomicU64,
    settled: Notify,
    standstills: StandstillList,
}

impl WorkTracker {
    /// Somebody who may be at work; at work from the start.
    pub fn begin_work(&self) -> WorkGuard {
        self.inner.busy.fetch_add(1, Ordering::SeqCst);
        WorkGuard { quiet: self.clone(), busy: true }
    }

    /// Whether nobody is at work, and how often anybody began or ended so far: the same count twice, with
    /// nobody at work, means that nothing happened between.
    pub fn idle_state(&self) -> (bool, u64) {
        let changes = self.inner.changes.load(Ordering::SeqCst);
        (self.inner.busy.load(Ordering::SeqCst) == 0, changes)
    }

    /// Stopped partitions, which are neither at work nor at rest.
    pub fn standstills(&self) -> &StandstillList {
        &self.inner.standstills
    }

    /// Returns at the next end of somebody's work, or at once if one ended since `changes` was read.
    pub async fn wait_for_change(&self, changes: u64) {
        let settled = self.inner.settled.notified();
        tokio::pin!(settled);
        settled.as_mut().enable();
        if self.inner.changes.load(Ordering::SeqCst) == changes {
            settled.await;
        }
    }
}

/// One loop's word on whether it is at work; dropped, it is not.
pub struct WorkGuard {
    quiet: WorkTracker,
    busy: bool,
}

impl WorkGuard {
    pub fn set_busy(&mut self, busy: bool) {
        if self.busy == busy {
            return;
        }
        self.busy = busy;
        let inner = &self.quiet.inner;
        inner.busy.fetch_add(if busy { 1 } else { -1 }, Ordering::SeqCst);
        inner.changes.fetch_add(1, Ordering::SeqCst);
        inner.settled.notify_waiters();
    }
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.set_busy(false);
    }
}
