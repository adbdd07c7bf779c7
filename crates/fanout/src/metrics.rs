//! What the fan-out counts.

use model::{Event, UtcMillis};
use prometheus::{HistogramVec, IntCounterVec};
use runtime::metrics::{Metrics, begin_counters};

use crate::{
    read::{FanoutBatch, FanoutItem},
    recipient_sheet::SheetCounts,
};

/// The fan-out's metrics. Cheap to clone.
#[derive(Clone)]
pub struct FanoutMetrics {
    events: IntCounterVec,
    slices: IntCounterVec,
    rows: IntCounterVec,
    passed_over: IntCounterVec,
    quarantined: IntCounterVec,
    older: IntCounterVec,
    to_entry_seconds: HistogramVec,
}

const NO_LABELS: &[&str] = &[];

impl FanoutMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let fanout = Self {
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
            to_entry_seconds: metrics.seconds_histogram(
                "tidings_event_to_entry_seconds",
                "Time from an event, by its source's clock, until its first entries are stored; of a large audience the \
                 others are told by slices. Replayed events do not count.",
                NO_LABELS,
            )?,
        };
        fanout.begin();
        Ok(fanout)
    }

    fn begin(&self) {
        begin_counters(&self.events, &[&["told"], &["expired"]]);
        begin_counters(&self.slices, &[&["begun"], &["told"], &["ended"], &["expired"]]);
        begin_counters(&self.rows, &[&["written"], &["full"], &["urgent"], &["urgent_full"]]);
        begin_counters(&self.passed_over, &[&["erased"], &["later"], &["elsewhere"]]);
        begin_counters(&self.quarantined, &[NO_LABELS]);
        begin_counters(&self.older, &[NO_LABELS]);
    }

    /// Events whose first entries are stored.
    pub(crate) fn note_told(&self, events: &[FanoutItem<Event>], now: UtcMillis) {
        for event in events.iter().filter(|event| event.again.is_none()) {
            #[allow(clippy::cast_precision_loss, reason = "a time for people to read")]
            let late = now.since(event.what.occurred).max(0) as f64 / 1_000.0;
            self.to_entry_seconds.with_label_values(NO_LABELS).observe(late);
        }
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
