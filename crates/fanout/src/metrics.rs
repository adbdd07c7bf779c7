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
                "Events read: told to an audience, or expired before they could be. Redelivered ones count again.",
                &["outcome"],
            )?,
            slices: metrics.counter(
                "tidings_fanout_slices_total",
                "Slices of large audiences: begun (an event's audience was larger than is told at once), told, \
                 ended (it was the last of its audience), or expired before they could be told, with all that \
                 was left of their audience.",
                &["outcome"],
            )?,
            rows: metrics.counter(
                "tidings_fanout_rows_total",
                "Rows for persons: written into their day, or only counted because the day is full. Of days that \
                 are full, those that are urgent count again: urgent (they had room of their own), or urgent_full \
                 (that is used up as well, and an alert was not told).",
                &["outcome"],
            )?,
            passed_over: metrics.counter(
                "tidings_fanout_passed_over_total",
                "Persons that were found and not told: they were erased, they came later than an event that \
                 is replayed, or they were looked for near a place and are elsewhere. Many who are elsewhere are \
                 usual: cells are a little larger than the circle.",
                &["because"],
            )?,
            quarantined: metrics.counter(
                "tidings_fanout_quarantined_total",
                "Records of the topics `events` and `slices` that are none and were put into quarantine. \
                 Should stay at zero: only our own rooms write these topics.",
                NO_LABELS,
            )?,
            older: metrics.counter(
                "tidings_fanout_older_total",
                "Events and slices that a newer edition of the catalogue wrote and this process told by its own, \
                 since nobody came with the newer one in time. They lie in quarantine as well: put back, they \
                 tell whom this one did not know.",
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
