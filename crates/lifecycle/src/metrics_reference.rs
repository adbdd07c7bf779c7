//! The page that lists every metric: made of what the crates declare.

use std::fmt::Write as _;

use adapters::metrics as adapter_metrics;
use console::metrics as console_metrics;
use house::{RoomName, metrics as house_metrics};
use runtime::metrics::Metrics;
use shell::metrics::DiskMetrics;
use upkeep::metrics::{ReturnMetrics, UpkeepMetrics};

use crate::metrics::{AddressMetrics, PersonKeyMetrics, ReloadMetrics};

type MetricDeclarer = fn(&Metrics) -> anyhow::Result<()>;

/// Where a metric is told, and who declares it.
const SECTIONS: [(&str, MetricDeclarer); 8] = [
    ("Every process", |metrics| {
        house_metrics::declare_all(metrics)?;
        DiskMetrics::declare(metrics)?;
        ReloadMetrics::declare(metrics)?;
        adapter_metrics::declare_engines(metrics)
    }),
    ("`ingest`", |metrics| {
        house_metrics::declare_room(metrics, RoomName::Ingest)?;
        AddressMetrics::declare(metrics)?;
        console_metrics::declare_visits(metrics)?;
        console_metrics::declare_archives(metrics).map(drop)
    }),
    ("`fanout`", |metrics| house_metrics::declare_room(metrics, RoomName::Fanout)),
    ("`digest`", |metrics| house_metrics::declare_room(metrics, RoomName::Digest)),
    ("`sender`", |metrics| {
        house_metrics::declare_room(metrics, RoomName::Sender)?;
        adapter_metrics::declare_couriers(metrics)
    }),
    ("`feed`", |metrics| {
        house_metrics::declare_room(metrics, RoomName::Feed)?;
        PersonKeyMetrics::declare(metrics).map(drop)
    }),
    ("`slots`", |metrics| house_metrics::declare_room(metrics, RoomName::Slots)),
    ("`keeper`", |metrics| {
        house_metrics::declare_room(metrics, RoomName::Keeper)?;
        UpkeepMetrics::declare(metrics)?;
        ReturnMetrics::declare(metrics).map(drop)
    }),
];

/// The page, in Markdown.
pub fn reference_page() -> anyhow::Result<String> {
    let mut page = "# Reference: the metrics

This page is generated from what the program declares. `/metrics` has them in Prometheus' text format; with `api_keys` it
needs a key or the token. [Operating](../operating.md#metrics) says what to look at when.

- **Names** begin with `tidings_`. Beside them are the usual `process_` metrics: processor time, memory, open files.
- **Groups and topics** are named as the cluster names them, with `kafka.prefix`, in the labels `consumergroup`, `topic`
  and `partition`, as the usual exporters of Kafka have them.
- **Histograms** are of seconds, in buckets from 1 ms to an hour; 10 s and 5 min are bounds of buckets.
- **Labels** take their values from your configuration, your catalogue and lists in the program, never from subjects,
  persons or what callers send. Counters with known labels are there from the start, at 0.
"
    .to_owned();
    for (title, declare) in SECTIONS {
        let metrics = Metrics::default();
        declare(&metrics)?;
        writeln!(page, "\n## {title}\n\n| metric | labels | |\n| --- | --- | --- |")?;
        for spec in metrics.list_specs() {
            let labels: Vec<String> = spec.labels.iter().map(|label| format!("`{label}`")).collect();
            let kind = spec.kind.name();
            writeln!(page, "| `{}`, {kind} | {} | {} |", spec.name, labels.join(", "), spec.help)?;
        }
    }
    Ok(page)
}
