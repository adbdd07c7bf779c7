//! What a process measures of its disks.

use runtime::metrics::{Gauges, Metrics};

/// How full the disks are.
#[derive(Clone)]
pub struct DiskMetrics {
    pub free: Gauges,
    pub reserve: Gauges,
}

impl DiskMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            free: metrics.gauge(
                "tidings_disk_free_bytes",
                "Bytes that are free on the disk of the data directory, and on that of the outbox.",
                &["of"],
            )?,
            reserve: metrics.gauge(
                "tidings_disk_reserve_bytes",
                "The setting `disk_reserve`: with fewer free bytes intake answers 507, and the process is not ready.",
                &[],
            )?,
        })
    }
}
