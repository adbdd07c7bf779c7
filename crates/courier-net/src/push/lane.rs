//! How much of a service is used: its pace, and how many requests are on their way to it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use runtime::{clock::Stopwatch, retry};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::pace::{Pace, Wait, Went};

#[derive(Debug)]
pub(super) struct Lane {
    pace: Mutex<Pace>,
    watch: Stopwatch,
    requests: Semaphore,
    /// How long one waits for one's turn.
    wait: Duration,
}

impl Lane {
    pub fn new(per_second: Option<f64>, requests: usize, wait: Duration) -> Arc<Self> {
        let pace = Mutex::new(Pace::new(per_second));
        Arc::new(Self { pace, watch: Stopwatch::start(), requests: Semaphore::new(requests), wait })
    }

    /// Waits where too many went out in this second; a pause is not waited for.
    pub async fn enter(self: &Arc<Self>, spread: u64) -> Result<Turn, String> {
        let begun = self.watch.elapsed();
        loop {
            let taken = self.pace().take(self.now());
            match taken {
                Ok(()) => return Ok(Turn { lane: self.clone(), spread, went: Went::Nowhere }),
                Err(Wait::Pause(ms)) => return Err(format!("it is left alone for {} s", ms.div_ceil(1_000))),
                Err(Wait::Rate(ms)) => {
                    if self.watch.elapsed() - begun > self.wait {
                        return Err("its rate is used up".to_owned());
                    }
                    retry::wait(Duration::from_millis(ms)).await;
                }
            }
        }
    }

    /// Whether it is left alone by now.
    pub fn is_resting(&self) -> bool {
        self.pace().is_resting(self.now())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.watch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What a panic left behind is still good: every change is one step.
    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that was let in. Whatever becomes of it is noted, also if nobody waits for it any more.
#[derive(Debug)]
pub(super) struct Turn {
    lane: Arc<Lane>,
    spread: u64,
    went: Went,
}

impl Turn {
    /// Room for a request, if there is any before long. Who was let in together may have found out meanwhile that
    /// the service wants to be left alone.
    pub async fn room(&self) -> Result<SemaphorePermit<'_>, String> {
        let permit = timeout(self.lane.wait, self.lane.requests.acquire()).await;
        let permit = permit.ok().and_then(Result::ok).ok_or("too many requests wait for it")?;
        if self.lane.is_resting() {
            return Err("it is left alone since a moment ago".to_owned());
        }
        Ok(permit)
    }

    pub fn went(mut self, went: Went) {
        self.went = went;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.lane.pace().note(self.lane.now(), self.went, self.spread);
    }
}
