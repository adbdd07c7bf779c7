//! What the intake counts.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};
use runtime::metrics::Metrics;

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
        Ok(Self {
            items: metrics.counter(
                "tidings_ingest_admitted_total",
                "Changes, facts and feedback that were admitted and are durable; \
                 `ignored` ones are about persons who were erased, or come behind a later word on that.",
                &["way", "sort", "outcome"],
            )?,
            refused: metrics.counter(
                "tidings_ingest_refused_total",
                "What was refused with a reason: over HTTP in the answer, by topic into quarantine.",
                &["way"],
            )?,
            requests: metrics.counter(
                "tidings_ingest_requests_total",
                "HTTP requests by path and status; 429 means that the house is behind, 507 that its disk is nearly full.",
                &["path", "status"],
            )?,
            seconds: metrics.seconds_histogram(
                "tidings_ingest_request_seconds",
                "How long a request took until its answer; what it brought was durable by then.",
                &["path"],
            )?,
            returns: metrics.counter(
                "tidings_ingest_returns_total",
                "What came back of mails: hard, soft, complaint; unknown is of no mail of ours, nothing and no_report end nothing.",
                &["way", "what"],
            )?,
        })
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

/// What an admitted thing is called in the metrics.
pub(crate) fn sort_of(admitted: &AdmittedItem) -> &'static str {
    match admitted {
        AdmittedItem::Change(_) => "change",
        AdmittedItem::Follow(_) => "follow",
        AdmittedItem::Profile { .. } => "profile",
        AdmittedItem::Mute(_) => "mute",
        AdmittedItem::Erase { .. } => "erase",
        AdmittedItem::Seen { .. } => "seen",
        AdmittedItem::Feedback { .. } => "feedback",
    }
}
