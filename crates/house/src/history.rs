//! What a process did in the last hours, for the pictures of the page: its own figures, looked at now and then and kept
//! in memory. `/metrics` covers longer times and several processes.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use runtime::{ShutdownSignal, clock::SteadyStopwatch, metrics::Metrics, periodic::PeriodicTimer};

/// Between two looks.
pub const EVERY: Duration = Duration::from_secs(20);
/// Looks that are kept: three hours.
pub const SAMPLES_MAX: usize = 3 * 60 * 3;

/// The figures at one instant.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MetricSample {
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
pub struct MetricHistory {
    metrics: Metrics,
    watch: Arc<SteadyStopwatch>,
    samples: Arc<Mutex<VecDeque<MetricSample>>>,
}

impl MetricHistory {
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, watch: Arc::new(SteadyStopwatch::start()), samples: Arc::default() }
    }

    /// Looks at the figures until the shutdown.
    pub async fn run(self, shutdown: ShutdownSignal) -> anyhow::Result<()> {
        let mut timer = PeriodicTimer::new(EVERY, shutdown);
        while timer.wait().await {
            self.push_sample(self.take_sample());
        }
        Ok(())
    }

    /// What was seen, the oldest first, and last what is so now.
    pub fn list(&self) -> Vec<MetricSample> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.iter().copied().chain([self.take_sample()]).collect()
    }

    fn take_sample(&self) -> MetricSample {
        let sum = |name, label| self.metrics.sum_values(name, label);
        MetricSample {
            elapsed: self.watch.elapsed(),
            events: sum("tidings_ingest_admitted_total", None),
            told: sum("tidings_sender_outcomes_total", Some(("outcome", "sent"))),
            held: sum("tidings_digest_open_windows", None),
            lag: sum("tidings_consumergroup_lag", None),
        }
    }

    fn push_sample(&self, sample: MetricSample) {
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
        let history = MetricHistory::new(Metrics::default());
        for at in 0..SAMPLES_MAX + 5 {
            history.push_sample(MetricSample {
                events: f64::from(u32::try_from(at).unwrap()),
                ..MetricSample::default()
            });
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
        let MetricSample { told, held, events, .. } = MetricHistory::new(metrics).take_sample();
        assert_eq!((told, held, events), (5.0, 5.0, 0.0));
    }
}
