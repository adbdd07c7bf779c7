//! What is paused now, for the rooms of a process. Whoever reads the house's notes sets it; rooms hear of it at once.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicU64, Ordering},
};

use house_facts::pause::PausedPlans;
use tokio::sync::watch;

/// The pauses, and how often they have changed.
type PauseVersion = (u64, Arc<PausedPlans>);

/// The pauses of a process. Cheap to clone.
#[derive(Clone)]
pub struct PauseBoard {
    now: Arc<watch::Sender<PauseVersion>>,
    /// What each listener has taken up.
    taken: Arc<Mutex<Vec<Weak<AtomicU64>>>>,
}

impl Default for PauseBoard {
    fn default() -> Self {
        Self { now: Arc::new(watch::Sender::default()), taken: Arc::default() }
    }
}

impl PauseBoard {
    /// What holds from here on.
    pub fn set(&self, paused: PausedPlans) {
        self.now.send_if_modified(|(version, now)| {
            let is_new = **now != paused;
            if is_new {
                (*version, *now) = (*version + 1, Arc::new(paused));
            }
            is_new
        });
    }

    /// As of now.
    pub fn current(&self) -> Arc<PausedPlans> {
        self.now.borrow().1.clone()
    }

    /// Somebody who is told of changes.
    pub fn listen(&self) -> PauseListener {
        let taken = Arc::new(AtomicU64::new(0));
        self.lock_taken().push(Arc::downgrade(&taken));
        let mut listener = PauseListener { heard: self.now.subscribe(), taken };
        // What was set before is taken with the first question.
        listener.heard.mark_changed();
        listener
    }

    /// Whether everybody who listens has taken up what holds now.
    pub fn is_taken(&self) -> bool {
        let version = self.now.borrow().0;
        self.lock_taken()
            .iter()
            .filter_map(Weak::upgrade)
            .all(|taken| taken.load(Ordering::Acquire) == version)
    }

    fn lock_taken(&self) -> MutexGuard<'_, Vec<Weak<AtomicU64>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who hears of changes.
pub struct PauseListener {
    heard: watch::Receiver<PauseVersion>,
    taken: Arc<AtomicU64>,
}

impl PauseListener {
    /// Returns when there is something that was not taken up.
    pub async fn wait_for_change(&self) {
        let mut heard = self.heard.clone();
        if heard.changed().await.is_err() {
            // Nobody sets anything any more.
            std::future::pending::<()>().await;
        }
    }

    /// What holds now.
    pub fn take_up(&mut self) -> Arc<PausedPlans> {
        let (version, paused) = self.heard.borrow_and_update().clone();
        self.taken.store(version, Ordering::Release);
        paused
    }
}

#[cfg(test)]
mod tests {
    use house_facts::pause::{PauseNote, PauseNotes, PauseScope};
    use model::{PlanName, Tenant, UtcMillis};

    use super::*;

    fn paused_plan(is_paused: bool) -> PausedPlans {
        let scope = PauseScope::Plan(PlanName::new("daily").unwrap());
        let (by, why) = (String::new(), String::new());
        let note = PauseNote { scope: scope.clone(), is_paused, by, why, at: UtcMillis(1) };
        PausedPlans::new(&PauseNotes::from([(scope, note)]), std::iter::empty())
    }

    #[tokio::test]
    async fn who_listens_takes_up_what_was_set() {
        let board = PauseBoard::default();
        assert!(board.is_taken());
        board.set(paused_plan(true));
        let mut listener = board.listen();
        assert!(!board.is_taken(), "it was set before anybody listened");
        listener.wait_for_change().await;
        let (tenant, plan) = (Tenant::new("main").unwrap(), PlanName::new("daily").unwrap());
        assert!(listener.take_up().has(&tenant, &plan));
        assert!(board.is_taken());
        board.set(paused_plan(true));
        assert!(board.is_taken(), "it is the same");
        board.set(paused_plan(false));
        assert!(!board.is_taken());
        listener.wait_for_change().await;
        assert!(!listener.take_up().has(&tenant, &plan));
        board.set(paused_plan(true));
        drop(listener);
        assert!(board.is_taken(), "nobody listens any more");
    }
}
