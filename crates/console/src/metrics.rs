//! What the paths count.

use runtime::metrics::{Counters, Gauges, Metrics};

/// Who followed the links of mails.
pub fn declare_visits(metrics: &Metrics) -> anyhow::Result<Counters> {
    metrics.counter(
        "tidings_visits_total",
        "Mails opened and links followed, for plans that count them: by a reader, by an image proxy, by a robot.",
        &["plan", "what", "who"],
    )
}

/// When days were archived last.
pub fn declare_archives(metrics: &Metrics) -> anyhow::Result<Gauges> {
    let archived = metrics.gauge(
        "tidings_archive_success_timestamp_seconds",
        "When days were archived last by this process, in seconds since 1970; 0 if they were not.",
        &[],
    )?;
    archived.with_label_values::<&str>(&[]);
    Ok(archived)
}
