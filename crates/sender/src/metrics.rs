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
                "What became of attempts, each counted once: sent, nothing, refused, unknown, returned, deferred where another \
                 one follows, and unsure where one that may have been sent goes out again; `unknown` wants a person's eye.",
                &["channel", "outcome"],
            )?,
            waits_total: metrics.counter(
                "tidings_sender_waits_total",
                "Messages that wait: not now (they were turned away for the time being), away (nobody takes any), busy or no place (too \
                 many go that way), slow (under way for longer than its round), broken (by a fault of ours).",
                &["channel", "what"],
            )?,
            left_out_total: metrics.counter(
                "tidings_sender_left_out_total",
                "Entries left out of a message at the last check, by reason.",
                &["why"],
            )?,
            quarantined_total: metrics.counter(
                "tidings_sender_quarantined_total",
                "Records of ready that could not be read.",
                &[],
            )?,
            hand_over_seconds: metrics.seconds_histogram(
                "tidings_sender_hand_over_seconds",
                "From the start of a hand-over to the courier's answer.",
                &["channel"],
            )?,
            devices_gone_total: metrics.counter(
                "tidings_sender_devices_gone_total",
                "Devices of which a push service says that it reaches them no more; they leave the profile.",
                &["platform"],
            )?,
            hooks_gone_total: metrics.counter(
                "tidings_sender_hooks_gone_total",
                "Addresses of hooks of which whoever answers there says that nobody is; they leave the profile.",
                &["channel"],
            )?,
            came_back_total: metrics.counter(
                "tidings_sender_came_back_total",
                "Mails of which the receiver's server said at once that the address is dead (hard), or takes none now (soft).",
                &["what"],
            )?,
        })
    }
}
