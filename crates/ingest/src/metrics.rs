//! What the intake counts.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};
use runtime::metrics::{Metrics, begin_counters};

use crate::{admission::AdmittedItem, effects::IntakeVerdict};

/// The intake's metrics. Cheap to clone.
#[derive(Clone)]
pub struct IngestMetrics {
    items: IntCounterVec,
    refused: IntCounterVec,
    requests: IntCounterVec,
    seconds: HistogramVec,
    returns: IntCounterVec,
}

/// By which way something came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntakeWay {
    Topic,
    Http,
}

impl IntakeWay {
    fn name(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Http => "http",
        }
    }
}

impl IngestMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let intake = Self {
            items: metrics.counter(
                "tidings_ingest_admitted_total",
                "Changes, facts and feedback that were admitted and stored; `ignored` ones concern erased people, \
                 or are older than what is known of an erasure.",
                &["way", "sort", "outcome"],
            )?,
            refused: metrics.counter(
                "tidings_ingest_refused_total",
                "Changes, facts and feedback refused with a reason: in the answer over HTTP, into quarantine on a \
                 topic.",
                &["way"],
            )?,
            requests: metrics.counter(
                "tidings_ingest_requests_total",
                "HTTP requests by path and status; 429 means that the house is behind, 507 that its disk is \
                 nearly full.",
                &["path", "status"],
            )?,
            seconds: metrics.seconds_histogram(
                "tidings_ingest_request_seconds",
                "Time from a request to its answer; what it brought is durable by then.",
                &["path"],
            )?,
            returns: metrics.counter(
                "tidings_ingest_returns_total",
                "Returned mails by what they report: hard, soft, complaint; unknown (of no mail of ours), nothing \
                 and no_report have no effect.",
                &["way", "what"],
            )?,
        };
        for way in [IntakeWay::Topic, IntakeWay::Http] {
            begin_counters(&intake.refused, &[&[way.name()]]);
            for sort in SORTS {
                begin_counters(
                    &intake.items,
                    &[&[way.name(), sort, "taken"], &[way.name(), sort, "ignored"]],
                );
            }
        }
        Ok(intake)
    }

    pub(crate) fn count_verdict(&self, way: IntakeWay, sort: &str, verdict: &IntakeVerdict) {
        match verdict {
            IntakeVerdict::Taken => self.items.with_label_values(&[way.name(), sort, "taken"]).inc(),
            IntakeVerdict::Ignored => self.items.with_label_values(&[way.name(), sort, "ignored"]).inc(),
            IntakeVerdict::Refused(_) => self.count_refused(way, 1),
        }
    }

    pub(crate) fn count_refused(&self, way: IntakeWay, many: usize) {
        self.refused.with_label_values(&[way.name()]).inc_by(many as u64);
    }

    pub(crate) fn count_answer(&self, path: &str, status: &str, took: Duration) {
        self.requests.with_label_values(&[path, status]).inc();
        self.seconds.with_label_values(&[path]).observe(took.as_secs_f64());
    }

    /// By which way something came back, and what it was.
    pub(crate) fn count_return(&self, way: &str, what: &str) {
        self.returns.with_label_values(&[way, what]).inc();
    }
}

/// All of them.
const SORTS: [&str; 8] = ["change", "revoke", "follow", "profile", "preference", "erase", "seen", "feedback"];

/// What an admitted thing is called in the metrics.
pub(crate) fn sort_of(admitted: &AdmittedItem) -> &'static str {
    match admitted {
        AdmittedItem::Change(_) => "change",
        AdmittedItem::Revocation(_) => "revoke",
        AdmittedItem::Follow(_) => "follow",
        AdmittedItem::Profile { .. } => "profile",
        AdmittedItem::Preference(_) => "preference",
        AdmittedItem::Erase { .. } => "erase",
        AdmittedItem::Seen { .. } => "seen",
        AdmittedItem::Feedback { .. } => "feedback",
    }
}
