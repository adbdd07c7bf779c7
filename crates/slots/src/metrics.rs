//! What the room counts.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};
use runtime::metrics::{Metrics, begin_counters};

/// The room's metrics. Cheap to clone.
#[derive(Clone)]
pub struct SlotMetrics {
    requests: HistogramVec,
    lists: IntCounterVec,
}

impl SlotMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let slots = Self {
            requests: metrics.seconds_histogram(
                "tidings_slots_request_seconds",
                "Time until a slot of a mail was answered, by what was asked for (picture, page), by whom (reader, proxy, \
                 robot) and what they were led to (thing, banner).",
                &["asked", "visitor", "shown"],
            )?,
            lists: metrics.counter(
                "tidings_slots_lists_total",
                "Lists that were not in memory: first (none stood), followed (the one that stood was \
                 over), kept (for longer), theirs (another process was first); or for which a banner was shown: crowded \
                 (too many were looked for), failed, late.",
                &["how"],
            )?,
        };
        let lists = ["first", "followed", "kept", "theirs", "crowded", "failed", "late"];
        begin_counters(&slots.lists, &lists.each_ref().map(std::slice::from_ref));
        Ok(slots)
    }

    pub(crate) fn observe_request(&self, (asked, visitor, shown): (&str, &str, &str), took: Duration) {
        self.requests.with_label_values(&[asked, visitor, shown]).observe(took.as_secs_f64());
    }

    pub(crate) fn count_list(&self, how: &str) {
        self.lists.with_label_values(&[how]).inc();
    }
}
