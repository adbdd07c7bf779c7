//! What couriers count and measure, by the server or service that a message goes to.

use std::time::Duration;

use courier::HandoverOutcome;
use model::Channel;
use runtime::metrics::{Counters, Gauges, Histograms, Metrics, begin_counters};

/// What a hand-over can come to.
const OUTCOMES: [&str; 7] = ["accepted", "refused", "not_now", "away", "busy", "unknown", "stopped"];

/// The metrics of all couriers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CourierMetrics {
    handovers: Counters,
    seconds: Histograms,
    up: Gauges,
}

impl CourierMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            handovers: metrics.counter(
                "tidings_courier_handovers_total",
                "Hand-overs by channel, provider (the name of a mail server, a push service, a hook, or `outbox`) and \
                 outcome; a push counts once for each device. `away` and `busy` were not asked: another provider or \
                 another time.",
                &["channel", "provider", "outcome"],
            )?,
            seconds: metrics.seconds_histogram(
                "tidings_courier_handover_seconds",
                "Time of a hand-over with one provider, from waiting for its turn to the answer.",
                &["channel", "provider"],
            )?,
            up: metrics.gauge(
                "tidings_courier_provider_up",
                "0 while a provider is left alone, because it did not answer or asked for less; as of the last message \
                 for it.",
                &["channel", "provider"],
            )?,
        })
    }

    /// Makes the series of a provider exist.
    pub fn begin_provider(&self, channel: Channel, provider: &str) {
        for outcome in OUTCOMES {
            begin_counters(&self.handovers, &[&[channel.name(), provider, outcome]]);
        }
        self.seconds.with_label_values(&[channel.name(), provider]);
        self.note_up(channel, provider, true);
    }

    pub fn note_handover(&self, channel: Channel, provider: &str, handed: &HandoverOutcome, took: Duration) {
        let outcome = outcome_name(handed);
        self.handovers.with_label_values(&[channel.name(), provider, outcome]).inc();
        self.seconds.with_label_values(&[channel.name(), provider]).observe(took.as_secs_f64());
    }

    pub fn note_up(&self, channel: Channel, provider: &str, is_up: bool) {
        self.up.with_label_values(&[channel.name(), provider]).set(i64::from(is_up));
    }
}

fn outcome_name(handed: &HandoverOutcome) -> &'static str {
    match handed {
        HandoverOutcome::Accepted => "accepted",
        HandoverOutcome::Refused(_) => "refused",
        HandoverOutcome::NotNow(_) => "not_now",
        HandoverOutcome::Away(_) => "away",
        HandoverOutcome::Busy(_) => "busy",
        HandoverOutcome::Unknown(_) => "unknown",
        HandoverOutcome::Stopped => "stopped",
    }
}
