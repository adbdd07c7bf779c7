//! What the fan-out counts.

use prometheus::IntCounterVec;
use runtime::metrics::Metrics;

use crate::resolve::Counts;

/// The fan-out's metrics. Cheap to clone.
#[derive(Clone)]
pub struct FanoutMetrics {
    events: IntCounterVec,
    rows: IntCounterVec,
    passed_over: IntCounterVec,
    quarantined: IntCounterVec,
}

impl FanoutMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            events: metrics.counter(
                "tidings_fanout_events_total",
                "Events read: told to an audience, or expired before they could be. Redelivered ones count again.",
                &["outcome"],
            )?,
            rows: metrics.counter(
                "tidings_fanout_rows_total",
                "Rows for persons: written into their day, or only counted because the day is full.",
                &["outcome"],
            )?,
            passed_over: metrics.counter(
                "tidings_fanout_passed_over_total",
                "Followers that were found and not told because they were erased.",
                &[],
            )?,
            quarantined: metrics.counter(
                "tidings_fanout_quarantined_total",
                "Records of the topic `events` that are no events and were put into quarantine. \
                 Should stay at zero: only our own intake writes that topic.",
                &[],
            )?,
        })
    }

    pub(crate) fn read(&self, events: usize, expired: u64, quarantined: usize) {
        self.events.with_label_values(&["told"]).inc_by(events as u64);
        self.events.with_label_values(&["expired"]).inc_by(expired);
        self.quarantined.with_label_values(&[] as &[&str]).inc_by(quarantined as u64);
    }

    pub(crate) fn told(&self, counts: Counts) {
        self.rows.with_label_values(&["written"]).inc_by(counts.rows);
        self.rows.with_label_values(&["full"]).inc_by(counts.full);
        self.passed_over.with_label_values(&[] as &[&str]).inc_by(counts.erased);
    }
}
