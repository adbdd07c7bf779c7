//! What the feed counts.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};
use runtime::metrics::{Metrics, begin_counters};

/// The feed's metrics. Cheap to clone.
#[derive(Clone)]
pub struct FeedMetrics {
    requests: HistogramVec,
    shelves: IntCounterVec,
    days: IntCounterVec,
    marks: IntCounterVec,
    records: IntCounterVec,
    live: IntGaugeVec,
    live_events: IntCounterVec,
}

const NO_LABELS: &[&str] = &[];

impl FeedMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let feed = Self {
            requests: metrics.seconds_histogram(
                "tidings_feed_request_seconds",
                "Time until the answer to a request for a feed was ready, by path (feed, bundle, counts, marks, \
                 entries) and status.",
                &["path", "status"],
            )?,
            shelves: metrics.counter(
                "tidings_feed_reads_total",
                "How the days of a person were had: kept (in memory, and nothing changed), renewed (only what changed \
                 was read), read (all of them), or unkept (read, and not kept, since the log is not read yet).",
                &["how"],
            )?,
            days: metrics.counter(
                "tidings_feed_days_read_total",
                "Days of persons asked of the store. Each is a partition there.",
                NO_LABELS,
            )?,
            marks: metrics.counter(
                "tidings_feed_marks_total",
                "Marks that people made in a feed, by what they did.",
                &["mark"],
            )?,
            records: metrics.counter(
                "tidings_feed_records_total",
                "Records read that say whose days changed.",
                NO_LABELS,
            )?,
            live: metrics.gauge(
                "tidings_feed_live_connections",
                "Connections that wait for news of a feed.",
                NO_LABELS,
            )?,
            live_events: metrics.counter(
                "tidings_feed_live_events_total",
                "Events sent to connections that wait for news.",
                NO_LABELS,
            )?,
        };
        begin_counters(&feed.shelves, &[&["kept"], &["renewed"], &["read"], &["unkept"]]);
        begin_counters(&feed.days, &[NO_LABELS]);
        begin_counters(&feed.records, &[NO_LABELS]);
        begin_counters(&feed.live_events, &[NO_LABELS]);
        Ok(feed)
    }

    pub(crate) fn observe_request(&self, path: &str, status: &str, took: Duration) {
        self.requests.with_label_values(&[path, status]).observe(took.as_secs_f64());
    }

    pub(crate) fn count_shelf(&self, how: &str) {
        self.shelves.with_label_values(&[how]).inc();
    }

    pub(crate) fn count_days(&self, days: usize) {
        self.days.with_label_values(NO_LABELS).inc_by(days as u64);
    }

    pub(crate) fn count_mark(&self, mark: &str) {
        self.marks.with_label_values(&[mark]).inc();
    }

    pub(crate) fn count_records(&self, records: usize) {
        self.records.with_label_values(NO_LABELS).inc_by(records as u64);
    }

    pub(crate) fn add_live(&self, connections: i64) {
        self.live.with_label_values(NO_LABELS).add(connections);
    }

    pub(crate) fn count_live_event(&self) {
        self.live_events.with_label_values(NO_LABELS).inc();
    }
}
