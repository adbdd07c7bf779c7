//! What the digest counts.

use prometheus::{IntCounterVec, IntGaugeVec};
use runtime::metrics::Metrics;

/// The digest's metrics.
#[derive(Clone)]
pub struct DigestMetrics {
    pub windows_open: IntGaugeVec,
    pub windows_due: IntGaugeVec,
    pub persons_remembered: IntGaugeVec,
    pub windows_closed_total: IntCounterVec,
    pub readys_total: IntCounterVec,
    pub quarantined_total: IntCounterVec,
    pub idle_closings_total: IntCounterVec,
    pub lateness_seconds: prometheus::HistogramVec,
}

impl DigestMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            windows_open: metrics.gauge(
                "tidings_digest_open_windows",
                "Windows that are open, by person partition; the sum is how many people are waiting to be told something.",
                &["partition"],
            )?,
            windows_due: metrics.gauge(
                "tidings_digest_due_windows",
                "Windows whose instant has come and that are still open, by person partition; of 10,000 persons at most.",
                &["partition"],
            )?,
            persons_remembered: metrics.gauge(
                "tidings_digest_remembered_persons",
                "Persons with a record in memory, by person partition.",
                &["partition"],
            )?,
            windows_closed_total: metrics.counter(
                "tidings_digest_windows_closed_total",
                "Windows closed, with or without something to tell.",
                &[],
            )?,
            readys_total: metrics.counter(
                "tidings_digest_readys_total",
                "Readys handed to the sender, by plan.",
                &["plan"],
            )?,
            quarantined_total: metrics.counter(
                "tidings_digest_quarantined_total",
                "Records of pending and inbox that could not be read.",
                &[],
            )?,
            idle_closings_total: metrics.counter(
                "tidings_digest_idle_closings_total",
                "Closings of a window that closes again and again, tells nothing and ends nothing, by plan; the \
                 person's windows wait up to a minute then. Should stay at zero.",
                &["plan"],
            )?,
            lateness_seconds: metrics.seconds_histogram(
                "tidings_digest_lateness_seconds",
                "How long after its due instant a Ready was decided.",
                &[],
            )?,
        })
    }
}
