//! What a process did in the last hours, for the pictures of the page: its own figures, looked at now and then and kept in
//! memory. Whoever needs more than a few hours, or several processes, has `/metrics`.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use runtime::{Shutdown, clock::Stopwatch, metrics::Metrics};
use tokio::time::interval;

/// Between two looks.
pub const EVERY: Duration = Duration::from_secs(20);
/// Looks that are kept: three hours.
pub const SAMPLES_MAX: usize = 3 * 60 * 3;

/// The figures at one instant.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sample {
    /// Since the process began.
    pub elapsed: Duration,
    /// Events that were admitted so far.
    pub events: f64,
    /// Messages that went out so far.
    pub told: f64,
    /// Windows that are open.
    pub held: f64,
    /// Records that nobody has read.
    pub lag: f64,
}

/// The samples of a process. Cheap to clone.
#[derive(Clone)]
pub struct History {
    metrics: Metrics,
    watch: Arc<Stopwatch>,
    samples: Arc<Mutex<VecDeque<Sample>>>,
}

impl History {
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, watch: Arc::new(Stopwatch::start()), samples: Arc::default() }
    }

    /// Looks at the figures until the shutdown.
    pub async fn run(self, shutdown: Shutdown) -> anyhow::Result<()> {
        let mut looks = interval(EVERY);
        loop {
            tokio::select! {
                _ = looks.tick() => self.keep(self.now()),
                () = shutdown.wait() => return Ok(()),
            }
        }
    }

    /// What was seen, the oldest first, and last what is so now.
    pub fn list(&self) -> Vec<Sample> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.iter().copied().chain([self.now()]).collect()
    }

    fn now(&self) -> Sample {
        let sum = |name, label| self.metrics.sum(name, label);
        Sample {
            elapsed: self.watch.elapsed(),
            events: sum("tidings_ingest_admitted_total", None),
            told: sum("tidings_sender_outcomes_total", Some(("outcome", "sent"))),
            held: sum("tidings_digest_open_windows", None),
            lag: sum("tidings_lag_records", None),
        }
    }

    fn keep(&self, sample: Sample) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() >= SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_samples_make_room() {
        let history = History::new(Metrics::default());
        for at in 0..SAMPLES_MAX + 5 {
            history.keep(Sample { events: f64::from(u32::try_from(at).unwrap()), ..Sample::default() });
        }
        let samples = history.list();
        // And one of now.
        assert_eq!((samples.len(), samples[0].events), (SAMPLES_MAX + 1, 5.0));
    }

    #[test]
    fn figures_are_sums_of_metrics() {
        let metrics = Metrics::default();
        let outcomes =
            metrics.counter("tidings_sender_outcomes_total", "x", &["channel", "outcome"]).unwrap();
        outcomes.with_label_values(&["email", "sent"]).inc_by(2);
        outcomes.with_label_values(&["push", "sent"]).inc_by(3);
        outcomes.with_label_values(&["push", "refused"]).inc_by(5);
        let open = metrics.gauge("tidings_digest_open_windows", "x", &["partition"]).unwrap();
        open.with_label_values(&["0"]).set(4);
        open.with_label_values(&["1"]).set(1);
        let Sample { told, held, events, .. } = History::new(metrics).now();
        assert_eq!((told, held, events), (5.0, 5.0, 0.0));
    }
}
