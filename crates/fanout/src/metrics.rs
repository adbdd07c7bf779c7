//! What the fan-out counts.

use prometheus::IntCounterVec;
use runtime::metrics::Metrics;

use crate::{read::FanoutBatch, recipient_sheet::SheetCounts};

/// The fan-out's metrics. Cheap to clone.
#[derive(Clone)]
pub struct FanoutMetrics {
    events: IntCounterVec,
    slices: IntCounterVec,
    rows: IntCounterVec,
    passed_over: IntCounterVec,
    quarantined: IntCounterVec,
    older: IntCounterVec,
}

const NO_LABELS: &[&str] = &[];

impl FanoutMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            events: metrics.counter(
                "tidings_fanout_events_total",
                "Events read, by outcome: told to an audience, or expired before that. Redelivered events count \
                 again.",
                &["outcome"],
            )?,
            slices: metrics.counter(
                "tidings_fanout_slices_total",
                "Slices of large audiences, by outcome: begun (the audience was too large to tell at once), told, \
                 ended (the last of its audience), or expired with the rest of the audience.",
                &["outcome"],
            )?,
            rows: metrics.counter(
                "tidings_fanout_rows_total",
                "Rows of people, by outcome: written into their day, or full (the day had no room). On full days \
                 urgent rows count again: urgent (there was room kept for them) or urgent_full (that was used up \
                 too, and an alert was not told).",
                &["outcome"],
            )?,
            passed_over: metrics.counter(
                "tidings_fanout_passed_over_total",
                "People found and not told, by reason: erased, later (they followed only after an event that is \
                 replayed), or elsewhere (they are not near the place). Many are usually elsewhere, because the \
                 cells searched are larger than the circle.",
                &["because"],
            )?,
            quarantined: metrics.counter(
                "tidings_fanout_quarantined_total",
                "Records of the topics `events` and `slices` that could not be read and went to quarantine. \
                 Should stay at zero: only Tidings writes these topics.",
                NO_LABELS,
            )?,
            older: metrics.counter(
                "tidings_fanout_older_total",
                "Events and slices written under a newer edition of the catalogue and told under this older one, \
                 because no process with the newer one came in time. They are in quarantine too; a retry tells \
                 the people that this edition did not know of.",
                NO_LABELS,
            )?,
        })
    }

    pub(crate) fn count_events<T>(&self, read: &FanoutBatch<T>) {
        self.events.with_label_values(&["told"]).inc_by(read.told.len() as u64);
        self.events.with_label_values(&["expired"]).inc_by(read.expired);
        self.quarantined.with_label_values(NO_LABELS).inc_by(read.rejects.len() as u64);
    }

    pub(crate) fn count_slices<T>(&self, read: &FanoutBatch<T>) {
        self.slices.with_label_values(&["told"]).inc_by(read.told.len() as u64);
        self.slices.with_label_values(&["expired"]).inc_by(read.expired);
        self.quarantined.with_label_values(NO_LABELS).inc_by(read.rejects.len() as u64);
    }

    pub(crate) fn count_older(&self, records: usize) {
        self.older.with_label_values(NO_LABELS).inc_by(records as u64);
    }

    pub(crate) fn count_begun_slices(&self, slices: usize) {
        self.slices.with_label_values(&["begun"]).inc_by(slices as u64);
    }

    pub(crate) fn count_ended_slice(&self) {
        self.slices.with_label_values(&["ended"]).inc();
    }

    pub(crate) fn count_elsewhere(&self, persons: usize) {
        self.passed_over.with_label_values(&["elsewhere"]).inc_by(persons as u64);
    }

    pub(crate) fn count_latecomers(&self, persons: usize) {
        self.passed_over.with_label_values(&["later"]).inc_by(persons as u64);
    }

    pub(crate) fn count_rows(&self, counts: SheetCounts) {
        self.rows.with_label_values(&["written"]).inc_by(counts.rows);
        self.rows.with_label_values(&["full"]).inc_by(counts.full);
        self.rows.with_label_values(&["urgent"]).inc_by(counts.urgent);
        self.rows.with_label_values(&["urgent_full"]).inc_by(counts.urgent_full);
        self.passed_over.with_label_values(&["erased"]).inc_by(counts.erased);
    }
}
