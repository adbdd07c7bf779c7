//! What the digest counts.

use catalogue::Catalogue;
use house_facts::pause::PausedPlans;
use model::{PlanName, UtcMillis, person::HoldCause, plan::Plan};
use prometheus::{IntCounterVec, IntGaugeVec};
use runtime::metrics::{Metrics, begin_counters};

use crate::{
    decide::DigestDecision,
    memory::{PartitionMemory, PersonKey},
};

/// The digest's metrics.
#[derive(Clone)]
pub struct DigestMetrics {
    pub windows_open: IntGaugeVec,
    pub windows_due: IntGaugeVec,
    pub windows_held: IntGaugeVec,
    pub messages_waiting: IntGaugeVec,
    pub oldest_waiting: IntGaugeVec,
    pub persons_remembered: IntGaugeVec,
    pub windows_closed_total: IntCounterVec,
    pub readys_total: IntCounterVec,
    pub quarantined_total: IntCounterVec,
    pub idle_closings_total: IntCounterVec,
    pub lateness_seconds: prometheus::HistogramVec,
}

impl DigestMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            windows_open: metrics.gauge(
                "tidings_digest_open_windows",
                "Open windows, by partition; the sum is the number of people waiting for a message.",
                &["partition"],
            )?,
            windows_due: metrics.gauge(
                "tidings_digest_due_windows",
                "Windows that are due and still open, by partition; counted for at most 10,000 people.",
                &["partition"],
            )?,
            windows_held: metrics.gauge(
                "tidings_digest_held_windows",
                "Open windows that were due and are held, by partition and by what holds them: online (the app shows it \
                 already), quiet (the person's quiet hours) or cap (enough was told for now).",
                &["partition", "because"],
            )?,
            messages_waiting: metrics.gauge(
                "tidings_digest_waiting_messages",
                "Messages that were due, could not be handed over yet and wait for another try, by partition; with those \
                 whose delivery is unknown and that go out once more. `tidings_sender_waits_total` counts why.",
                &["partition"],
            )?,
            oldest_waiting: metrics.gauge(
                "tidings_digest_waiting_oldest_timestamp_seconds",
                "When the oldest message that waits for another try was due, by partition, as a Unix time; 0 if none waits.",
                &["partition"],
            )?,
            persons_remembered: metrics.gauge(
                "tidings_digest_remembered_persons",
                "People with a record in memory, by partition.",
                &["partition"],
            )?,
            windows_closed_total: metrics.counter(
                "tidings_digest_windows_closed_total",
                "Windows closed, with or without a message.",
                &[],
            )?,
            readys_total: metrics.counter(
                "tidings_digest_readys_total",
                "Messages handed to the sender, by plan.",
                &["plan"],
            )?,
            quarantined_total: metrics.counter(
                "tidings_digest_quarantined_total",
                "Records of the topics `pending` and `inbox` that could not be read.",
                &[],
            )?,
            idle_closings_total: metrics.counter(
                "tidings_digest_idle_closings_total",
                "Closings that told nothing and ended nothing, of a window that closes again and again, by plan; \
                 the windows of that person then wait up to a minute. Should stay at zero.",
                &["plan"],
            )?,
            lateness_seconds: metrics.seconds_histogram(
                "tidings_digest_lateness_seconds",
                "Time from a window's due instant to the decision on it.",
                &[],
            )?,
        })
    }

    /// Makes what is counted by plan exist.
    pub(crate) fn begin_plans(&self, catalogue: &Catalogue) {
        for counters in [&self.windows_closed_total, &self.quarantined_total] {
            begin_counters(counters, &[&[]]);
        }
        for Plan { name, .. } in catalogue.plans_of_arms() {
            begin_counters(&self.readys_total, &[&[name.as_str()]]);
            begin_counters(&self.idle_closings_total, &[&[name.as_str()]]);
        }
    }

    pub(crate) fn count_decision(&self, decided: &DigestDecision, paused: &PausedPlans, now: UtcMillis) {
        self.windows_closed_total.with_label_values::<&str>(&[]).inc_by(decided.closed as u64);
        for ready in decided.ready.iter().filter(|ready| !ready.is_recalled()) {
            self.readys_total.with_label_values(&[ready.plan.as_str()]).inc();
            let since = paused.count_from(&ready.tenant, &ready.plan, ready.due);
            #[allow(clippy::cast_precision_loss, reason = "a lateness for people to read")]
            let late = now.since(since).max(0) as f64 / 1_000.0;
            self.lateness_seconds.with_label_values::<&str>(&[]).observe(late);
        }
    }

    /// A rule that opens what is due at once, again and again, is a fault of ours: nobody else may feel it.
    pub(crate) fn count_idle_closing(&self, (tenant, person): &PersonKey, plan: &PlanName) {
        self.idle_closings_total.with_label_values(&[plan.as_str()]).inc();
        // Ids of people are not for the log; who looks for one can make the same of theirs.
        let person = wire::key::person_print(tenant, person);
        tracing::warn!(%plan, person, "a window closes again and again and tells nothing; it waits up to a minute now");
    }

    /// What is remembered of a partition; nothing, if it is not ours any more.
    pub(crate) fn set_gauges(
        &self,
        partition: u32,
        mut memory: Option<&mut PartitionMemory>,
        now: UtcMillis,
    ) {
        let (windows, (waiting, oldest), persons) = match &memory {
            Some(memory) => (memory.windows(), memory.waiting(), memory.len()),
            None => Default::default(),
        };
        let partition_label = partition.to_string();
        let set = |gauge: &IntGaugeVec, labels: &[&str], count: usize| {
            gauge.with_label_values(labels).set(i64::try_from(count).unwrap_or(i64::MAX));
        };
        set(&self.windows_open, &[&partition_label], windows.open);
        set(&self.messages_waiting, &[&partition_label], waiting);
        self.oldest_waiting
            .with_label_values(&[&partition_label])
            .set(oldest.map_or(0, |due| due.0.div_euclid(1_000)));
        set(&self.persons_remembered, &[&partition_label], persons);
        for (cause, held) in HoldCause::ALL.into_iter().zip(windows.held) {
            set(&self.windows_held, &[&partition_label, cause.name()], held);
        }
        self.set_due(partition, memory.as_mut().map_or(Some(0), |memory| memory.count_due(now)));
    }

    /// How many windows are due, where that was counted.
    pub(crate) fn set_due(&self, partition: u32, due: Option<usize>) {
        if let Some(due) = due {
            let gauge = self.windows_due.with_label_values(&[partition.to_string()]);
            gauge.set(i64::try_from(due).unwrap_or(i64::MAX));
        }
    }
}
