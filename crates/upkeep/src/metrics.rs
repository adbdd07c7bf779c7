//! What waits for an operator, and how far replays are: read from the log now and then, by the process that keeps house.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use house::house_watch::WatchDeps;
use model::PlanName;
use runtime::{
    metrics::{Counters, Gauges, Measures, Metrics, begin_counters},
    periodic::PeriodicTimer,
};
use topic::Topics;
use wire::{QuarantineCause, topics};

use crate::{quarantine::WaitingItems, replay::ReplayBook};

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(15);

/// What is measured of upkeep.
#[derive(Clone)]
pub struct UpkeepMetrics {
    waiting: Gauges,
    replays: Gauges,
    remaining: Gauges,
    replayed: Counters,
}

impl UpkeepMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let upkeep = Self {
            waiting: metrics.gauge(
                "tidings_quarantine_waiting_records",
                "Records in quarantine that nobody has settled, by the room that could not use them, the topic in which \
                 they lie and the sort of reason: unreadable, refused (what it says is not admitted), newer catalogue (nobody \
                 came with the one that wrote it), too large, or other. `tidings quarantine list` has the reason of each. Counted every 15 \
                 seconds.",
                &["room", "topic", "because"],
            )?,
            replays: metrics.gauge(
                "tidings_replay_open_replays",
                "Replays that are planned, run or wait to be resumed.",
                &[],
            )?,
            remaining: metrics.gauge(
                "tidings_replay_remaining_records",
                "Records that open replays have not looked at yet.",
                &[],
            )?,
            replayed: metrics.counter(
                "tidings_replay_records_total",
                "Records that replays appended once more.",
                &[],
            )?,
        };
        begin_counters(&upkeep.replayed, &[&[]]);
        for (room, topic, cause) in PLACES {
            upkeep.waiting.with_label_values(&[room, topic, cause.name()]).set(0);
        }
        Ok(upkeep)
    }

    /// Looks until the shutdown. A log that does not answer is asked again.
    pub async fn watch(self, deps: WatchDeps) -> anyhow::Result<()> {
        let WatchDeps { topics: log, shutdown } = deps;
        let (mut timer, mut seen) = (PeriodicTimer::new(EVERY, shutdown), SeenUpkeep::default());
        while timer.wait().await {
            if let Some(Err(error)) = timer.run(self.refresh(&mut seen, &*log)).await {
                tracing::debug!(error = format!("{error:#}"), "quarantine and replays cannot be read now");
            }
        }
        Ok(())
    }

    async fn refresh(&self, seen: &mut SeenUpkeep, log: &dyn Topics) -> anyhow::Result<()> {
        seen.waiting.update(log).await.context("the quarantine")?;
        let mut counts: BTreeMap<(&str, &str, QuarantineCause), i64> =
            PLACES.into_iter().map(|place| (place, 0)).collect();
        for item in seen.waiting.items() {
            *counts.entry((&item.room, &item.topic, item.cause)).or_default() += 1;
        }
        self.waiting.reset();
        for ((room, topic, cause), count) in counts {
            self.waiting.with_label_values(&[room, topic, cause.name()]).set(count);
        }
        seen.replays.update(log).await.context("the replays")?;
        let (mut open, mut remaining, mut appended) = (0, 0, 0);
        for replay in seen.replays.all() {
            appended += replay.appended;
            if replay.state.is_open() {
                open += 1;
                remaining += replay.parts.iter().map(|part| part.remaining()).sum::<u64>();
            }
        }
        self.replays.with_label_values::<&str>(&[]).set(open);
        self.remaining.with_label_values::<&str>(&[]).set(i64::try_from(remaining).unwrap_or(i64::MAX));
        // What was there at the first look was counted by somebody else.
        let more = seen.appended.map_or(0, |before: u64| appended.saturating_sub(before));
        self.replayed.with_label_values::<&str>(&[]).inc_by(more);
        seen.appended = Some(appended);
        Ok(())
    }
}

/// Which shares of mails come back.
#[derive(Clone)]
pub struct ReturnMetrics {
    share: Measures,
}

impl ReturnMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            share: metrics.float_gauge(
                "tidings_returns_ratio",
                "The share of a plan's mails of the last hour that came back for good (hard) or was reported as spam \
                 (complaint). Above `limits.bounces` or `limits.complaints` the plan pauses itself.",
                &["plan", "what"],
            )?,
        })
    }

    pub(crate) fn clear(&self) {
        self.share.reset();
    }

    #[allow(clippy::cast_precision_loss, reason = "a share for people to read")]
    pub(crate) fn note(&self, plan: &PlanName, sent: u64, back: [(&str, u64); 2]) {
        for (what, back) in back {
            let share = back as f64 / sent.max(1) as f64;
            self.share.with_label_values(&[plan.as_str(), what]).set(share);
        }
    }
}

/// The rooms that put records aside, of which topics and why: they are told from the start.
const PLACES: [(&str, &str, QuarantineCause); 12] = [
    ("ingest", topics::CHANGES, QuarantineCause::Unreadable),
    ("ingest", topics::CHANGES, QuarantineCause::Refused),
    ("fanout", topics::EVENTS, QuarantineCause::Unreadable),
    ("fanout", topics::EVENTS, QuarantineCause::NewerCatalogue),
    ("fanout", topics::SLICES, QuarantineCause::Unreadable),
    ("fanout", topics::SLICES, QuarantineCause::NewerCatalogue),
    ("digest", topics::PENDING, QuarantineCause::Unreadable),
    ("digest", topics::INBOX, QuarantineCause::Unreadable),
    ("digest", topics::READY_URGENT, QuarantineCause::TooLarge),
    ("digest", topics::READY, QuarantineCause::TooLarge),
    ("sender", topics::READY_URGENT, QuarantineCause::Unreadable),
    ("sender", topics::READY, QuarantineCause::Unreadable),
];

/// What was read so far.
#[derive(Default)]
struct SeenUpkeep {
    waiting: WaitingItems,
    replays: ReplayBook,
    appended: Option<u64>,
}
