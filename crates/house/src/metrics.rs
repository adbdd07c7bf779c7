//! What a house counts and measures beside its rooms.

use std::sync::Arc;

use model::civil_time::{ZoneOrigin, ZoneRules};
use runtime::metrics::{Counters, Gauges, Histograms, Measures, Metrics, begin_counters};
use store::decorator::STORE_OPERATIONS;
use topic::{decorator::TOPICS_OPERATIONS, metrics::TurnMetrics};

use crate::{RoomName, stages::StageReading};

/// Groups and topics as the cluster calls them, so that our metrics join those of its exporters.
#[derive(Clone, Debug, Default)]
pub struct ClusterNames {
    /// What stands before the names of our own groups and topics.
    pub prefix: Arc<str>,
}

impl ClusterNames {
    pub fn group(&self, group: &str) -> String {
        format!("{}{group}", self.prefix)
    }

    pub fn topic(&self, reading: &StageReading) -> String {
        if reading.is_foreign { reading.topic.clone() } else { format!("{}{}", self.prefix, reading.topic) }
    }
}

/// What this process is.
pub fn declare_infos(metrics: &Metrics, zones: &ZoneOrigin) -> anyhow::Result<()> {
    let build =
        metrics.gauge("tidings_build_info", "The program of this process: always 1.", &["version"])?;
    build.with_label_values(&[settings::version::version()]).set(1);
    let zone_data = metrics.gauge(
        "tidings_zone_data_info",
        "By which rules local times become instants: the newer of the machine's and of those that were built in. \
         Always 1.",
        &["version", "place"],
    )?;
    zone_data.with_label_values(&[zones.version.as_str(), &zones.describe_place()]).set(1);
    Ok(())
}

/// What is paused.
pub fn declare_pauses(metrics: &Metrics) -> anyhow::Result<Gauges> {
    metrics.gauge(
        "tidings_pause_info",
        "1 for each plan, channel or tenant that an operator has paused; nothing where none is.",
        &["what", "name"],
    )
}

/// How far groups are behind.
#[derive(Clone)]
pub struct LagMetrics {
    pub records: Gauges,
    pub seconds: Measures,
    pub unknown: Gauges,
}

impl LagMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            records: metrics.gauge(
                "tidings_consumergroup_lag",
                "Records of a partition that a group has not committed yet. Each process of a room tells it of all \
                 partitions, and `ingest` and `keeper` of all groups: take the greatest, not the sum.",
                &["consumergroup", "topic", "partition"],
            )?,
            seconds: metrics.float_gauge(
                "tidings_consumergroup_lag_seconds",
                "Age of the oldest record of a partition that a group has not committed yet; 0 if there is none.",
                &["consumergroup", "topic", "partition"],
            )?,
            unknown: metrics.gauge(
                "tidings_consumergroup_lag_unknown",
                "1 while the lag of a group is unknown because the log does not answer; its lag is then missing.",
                &["consumergroup", "topic"],
            )?,
        })
    }
}

/// Which partitions this process has.
#[derive(Clone)]
pub struct PresenceMetrics {
    pub assigned: Gauges,
    pub changes: Counters,
    pub standing_still: Gauges,
}

impl PresenceMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            assigned: metrics.gauge(
                "tidings_consumergroup_assigned_partitions",
                "Partitions that are this process's. If the sum over processes is less than the number of \
                 partitions, nobody has the others.",
                &["consumergroup"],
            )?,
            changes: metrics.counter(
                "tidings_consumergroup_assignments_total",
                "How often partitions were given to this process (`assigned`), taken from it (`revoked`), or lost \
                 because another process had them already (`lost`). The log says which partitions.",
                &["consumergroup", "what"],
            )?,
            standing_still: metrics.gauge(
                "tidings_consumergroup_standstill_partitions",
                "Partitions that this process has and that stand still; the log says why.",
                &["consumergroup"],
            )?,
        })
    }
}

/// Which catalogue is in use.
#[derive(Clone)]
pub struct EditionMetrics {
    pub info: Gauges,
    pub behind: Gauges,
    pub awaited: Gauges,
    pub canary: Measures,
}

impl EditionMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            info: metrics.gauge(
                "tidings_catalogue_info",
                "The catalogue of this process: always 1.",
                &["name", "hash", "edition"],
            )?,
            behind: metrics.gauge(
                "tidings_catalogue_behind_editions",
                "How many editions of the catalogue are newer than the one of this process; 0 if it has the newest.",
                &[],
            )?,
            canary: metrics.float_gauge(
                "tidings_catalogue_canary_ratio",
                "The share of the persons who have the catalogue of `canary.catalogue`; 0 without one.",
                &[],
            )?,
            awaited: metrics.gauge(
                "tidings_catalogue_awaited_edition",
                "The newer edition of the catalogue that a room of this process waits for; 0 if none does.",
                &[],
            )?,
        })
    }
}

/// How the engines answer.
#[derive(Clone)]
pub struct EngineMetrics {
    pub log_seconds: Histograms,
    pub log_failures: Counters,
    pub store_seconds: Histograms,
    pub store_failures: Counters,
}

impl EngineMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let engines = Self {
            log_seconds: metrics.seconds_histogram(
                "tidings_log_request_seconds",
                "Time from a request to the log until its answer, retries of the client included. What rooms read \
                 as members of a group is not in it, and neither are their commits (`tidings_turn_seconds`).",
                &["operation"],
            )?,
            log_failures: metrics.counter(
                "tidings_log_failures_total",
                "Requests to the log that failed; most are asked again.",
                &["operation"],
            )?,
            store_seconds: metrics.seconds_histogram(
                "tidings_store_request_seconds",
                "Time from a request to the store until its answer: of all rows that were asked for at once.",
                &["operation"],
            )?,
            store_failures: metrics.counter(
                "tidings_store_failures_total",
                "Requests to the store that failed; most are asked again.",
                &["operation"],
            )?,
        };
        for operation in TOPICS_OPERATIONS.iter().filter(|operation| **operation != "join") {
            begin_counters(&engines.log_failures, &[&[operation]]);
        }
        for operation in STORE_OPERATIONS {
            begin_counters(&engines.store_failures, &[&[operation]]);
        }
        Ok(engines)
    }
}

/// What the keeper did.
#[derive(Clone)]
pub struct KeeperMetrics {
    pub dropped: Counters,
    pub failures: Counters,
    pub succeeded: Gauges,
}

impl KeeperMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let keeper = Self {
            dropped: metrics.counter("tidings_keeper_drops_total", "Days that expired and were dropped.", &[])?,
            failures: metrics.counter(
                "tidings_keeper_failures_total",
                "Failed attempts to drop expired days; they are retried.",
                &[],
            )?,
            succeeded: metrics.gauge(
                "tidings_keeper_success_timestamp_seconds",
                "When the keeper last finished its daily work, in seconds since 1970; 0 if it has not yet. It runs \
                 once per UTC day.",
                &[],
            )?,
        };
        begin_counters(&keeper.dropped, &[&[]]);
        begin_counters(&keeper.failures, &[&[]]);
        keeper.succeeded.with_label_values::<&str>(&[]).set(0);
        Ok(keeper)
    }
}

/// Declares everything of a house beside its rooms, for the reference.
pub fn declare_all(metrics: &Metrics) -> anyhow::Result<()> {
    declare_infos(metrics, ZoneRules::load_bundled().origin())?;
    TurnMetrics::declare(metrics, "")?;
    declare_pauses(metrics)?;
    LagMetrics::declare(metrics)?;
    PresenceMetrics::declare(metrics)?;
    EditionMetrics::declare(metrics)?;
    EngineMetrics::declare(metrics)?;
    Ok(())
}

/// Declares everything of a room, for the reference.
pub fn declare_room(metrics: &Metrics, room: RoomName) -> anyhow::Result<()> {
    match room {
        RoomName::Ingest => ingest::IngestMetrics::declare(metrics).map(drop),
        RoomName::Fanout => fanout::FanoutMetrics::declare(metrics).map(drop),
        RoomName::Digest => digest::metrics::DigestMetrics::declare(metrics).map(drop),
        RoomName::Sender => sender::metrics::SenderMetrics::declare(metrics).map(drop),
        RoomName::Feed => feed::metrics::FeedMetrics::declare(metrics).map(drop),
        RoomName::Slots => slots::metrics::SlotMetrics::declare(metrics).map(drop),
        RoomName::Keeper => KeeperMetrics::declare(metrics).map(drop),
    }
}
