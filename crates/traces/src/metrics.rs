//! What becomes of spans.

use runtime::metrics::{Counters, Metrics, begin_counters};

/// Counters of spans.
#[derive(Clone)]
pub struct TraceMetrics {
    pub spans_total: Counters,
    pub failures_total: Counters,
}

/// What may become of a span.
pub const SENT: &str = "sent";
/// It found the queue full.
pub const FULL: &str = "full";
/// Its receiver did not take it.
pub const LOST: &str = "lost";

impl TraceMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let spans_total = metrics.counter(
            "tidings_traces_spans_total",
            "Spans that ended, by what became of them: `sent`, `full` (there was no room in the queue), or `lost` (the \
             receiver did not take them). What is dropped is missing in traces, and nowhere else.",
            &["outcome"],
        )?;
        begin_counters(&spans_total, &[&[SENT], &[FULL], &[LOST]]);
        let failures_total = metrics.counter(
            "tidings_traces_failures_total",
            "Requests with spans that the receiver of traces did not answer, or refused.",
            &[],
        )?;
        begin_counters(&failures_total, &[&[]]);
        Ok(Self { spans_total, failures_total })
    }

    /// So many spans, and what became of them.
    pub fn count_spans(&self, outcome: &str, spans: usize) {
        self.spans_total.with_label_values(&[outcome]).inc_by(spans as u64);
    }
}
