//! Work that is done again and again as long as a process runs.

use std::time::Duration;

use tokio::time::{Interval, interval};

use crate::ShutdownSignal;

/// Says when it is time, until the shutdown.
pub struct PeriodicTimer {
    ticks: Interval,
    shutdown: ShutdownSignal,
}

impl PeriodicTimer {
    pub fn new(every: Duration, shutdown: ShutdownSignal) -> Self {
        Self { ticks: interval(every), shutdown }
    }

    /// Waits until it is time: the first time at once. Returns `false` at the shutdown.
    pub async fn wait(&mut self) -> bool {
        tokio::select! {
            _ = self.ticks.tick() => !self.shutdown.is_started(),
            () = self.shutdown.wait() => false,
        }
    }

    /// Does the work, unless the shutdown cuts it off.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.shutdown.wait() => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn it_is_time_at_once_and_again_until_the_shutdown() {
        let (shutdown, mut times) = (ShutdownSignal::default(), 0);
        let mut timer = PeriodicTimer::new(Duration::from_millis(2), shutdown.clone());
        while timer.wait().await {
            times += 1;
            assert_eq!(timer.run(async { times }).await, Some(times));
            if times == 3 {
                shutdown.start();
            }
        }
        assert_eq!(times, 3);
    }

    #[tokio::test]
    async fn work_that_does_not_end_is_cut_off() {
        let shutdown = ShutdownSignal::default();
        let timer = PeriodicTimer::new(Duration::from_secs(2), shutdown.clone());
        let (done, ()) = tokio::join!(timer.run(pending::<()>()), async {
            tokio::task::yield_now().await;
            shutdown.start();
        });
        assert_eq!(done, None);
    }
}
