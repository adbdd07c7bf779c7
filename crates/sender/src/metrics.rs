//! What the sender counts.

use prometheus::{HistogramVec, IntCounterVec};
use runtime::metrics::Metrics;

/// The sender's metrics.
#[derive(Clone)]
pub struct SenderMetrics {
    pub outcomes_total: IntCounterVec,
    pub waits_total: IntCounterVec,
    pub left_out_total: IntCounterVec,
    pub quarantined_total: IntCounterVec,
    pub hand_over_seconds: HistogramVec,
    pub devices_gone_total: IntCounterVec,
    pub hooks_gone_total: IntCounterVec,
    pub came_back_total: IntCounterVec,
}

impl SenderMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            outcomes_total: metrics.counter(
                "tidings_sender_outcomes_total",
                "Attempts by outcome, each counted once: sent, nothing, refused, unknown, returned, deferred \
                 (another attempt follows) and unsure (one that may have been sent goes out again). Look into \
                 `unknown`.",
                &["channel", "outcome"],
            )?,
            waits_total: metrics.counter(
                "tidings_sender_waits_total",
                "Messages that wait, by reason: not now (turned away for now), away (no server or provider takes \
                 any), busy or no place (too many at once), slow (in flight for longer than a round), broken (a \
                 fault of ours).",
                &["channel", "what"],
            )?,
            left_out_total: metrics.counter(
                "tidings_sender_left_out_total",
                "Entries left out of a message at the last check, by reason.",
                &["why"],
            )?,
            quarantined_total: metrics.counter(
                "tidings_sender_quarantined_total",
                "Records of the topic `ready` that could not be read.",
                &[],
            )?,
            hand_over_seconds: metrics.seconds_histogram(
                "tidings_sender_hand_over_seconds",
                "Time from the start of a hand-over to the answer of the server or provider.",
                &["channel"],
            )?,
            devices_gone_total: metrics.counter(
                "tidings_sender_devices_gone_total",
                "Devices that a push service reported as gone; they are removed from the profile.",
                &["platform"],
            )?,
            hooks_gone_total: metrics.counter(
                "tidings_sender_hooks_gone_total",
                "Webhook addresses that answered that they are gone; they are removed from the profile.",
                &["channel"],
            )?,
            came_back_total: metrics.counter(
                "tidings_sender_came_back_total",
                "Mails refused at once because the address is dead (hard) or takes none now (soft).",
                &["what"],
            )?,
        })
    }
}
