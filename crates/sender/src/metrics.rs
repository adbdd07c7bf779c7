//! What the sender counts.

use house_facts::pause::PausedPlans;
use model::{
    Channel, EndReason, UtcMillis, device::DevicePlatform, hook::Hook, ready::Ready, returns::ReturnSort,
};
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};
use runtime::metrics::{Metrics, begin_counters};

use crate::report::OUTCOME_NAMES;

/// Why messages wait.
const WAITS: [&str; 6] = ["not now", "away", "busy", "no place", "slow", "broken"];

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
    pub in_flight: IntGaugeVec,
    due_to_told: HistogramVec,
    event_to_told: HistogramVec,
}

impl SenderMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let sender = Self {
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
                "Records of the topics `ready-urgent` and `ready` that could not be read.",
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
            in_flight: metrics.gauge(
                "tidings_sender_in_flight_messages",
                "Messages that are being handed over now.",
                &["channel"],
            )?,
            due_to_told: metrics.seconds_histogram(
                "tidings_due_to_told_seconds",
                "Time from the instant at which a message was due until a server or provider had accepted it; without \
                 urgent plans. What waits is not in it: look at the lag and at the windows that are due.",
                &["channel"],
            )?,
            event_to_told: metrics.seconds_histogram(
                "tidings_event_to_told_seconds",
                "Time from an event, by its source's clock, until the message of an urgent plan about it had been \
                 accepted; of several events, from the earliest.",
                &["channel"],
            )?,
        };
        sender.begin();
        Ok(sender)
    }

    fn begin(&self) {
        for channel in Channel::ALL.map(Channel::name) {
            for outcome in OUTCOME_NAMES {
                begin_counters(&self.outcomes_total, &[&[channel, outcome]]);
            }
            for wait in WAITS {
                begin_counters(&self.waits_total, &[&[channel, wait]]);
            }
            self.in_flight.with_label_values(&[channel]).set(0);
            self.due_to_told.with_label_values(&[channel]);
            self.event_to_told.with_label_values(&[channel]);
        }
        for why in EndReason::ALL {
            begin_counters(&self.left_out_total, &[&[why.text()]]);
        }
        for platform in DevicePlatform::ALL {
            begin_counters(&self.devices_gone_total, &[&[platform.name()]]);
        }
        for hook in Hook::ALL {
            begin_counters(&self.hooks_gone_total, &[&[hook.name()]]);
        }
        for what in [ReturnSort::Hard, ReturnSort::Soft] {
            begin_counters(&self.came_back_total, &[&[what.name()]]);
        }
        begin_counters(&self.quarantined_total, &[&[]]);
    }

    /// How late a message was accepted.
    pub(crate) fn note_told(&self, ready: &Ready, is_urgent: bool, paused: &PausedPlans, now: UtcMillis) {
        let (times, since) = if is_urgent {
            let first = ready.keys().map(|key| key.occurred).min();
            (&self.event_to_told, first.unwrap_or(ready.due))
        } else {
            (&self.due_to_told, ready.due)
        };
        // Nobody is late for what an operator had stopped.
        let since = paused.count_from(&ready.tenant, &ready.plan, since);
        #[allow(clippy::cast_precision_loss, reason = "a time for people to read")]
        let late = now.since(since).max(0) as f64 / 1_000.0;
        times.with_label_values(&[ready.channel.name()]).observe(late);
    }
}
