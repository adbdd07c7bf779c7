//! Whether the registry answers, for monitoring.

use std::time::Duration;

use runtime::{
    ShutdownSignal,
    metrics::{Gauges, Metrics},
    periodic::PeriodicTimer,
};

use crate::SchemaRegistry;

/// How often it is asked.
const EVERY: Duration = Duration::from_secs(30);

/// What is measured of a registry.
#[derive(Clone)]
pub struct RegistryMetrics {
    up: Gauges,
}

impl RegistryMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            up: metrics.gauge(
                "tidings_registry_up",
                "1 while the schema registry answers, asked every 30 s. While it does not, only records with schemas \
                 that were never seen before wait.",
                &[],
            )?,
        })
    }
}

impl SchemaRegistry {
    /// Asks whether it answers, until the shutdown.
    pub async fn watch(self, metrics: RegistryMetrics, shutdown: ShutdownSignal) -> anyhow::Result<()> {
        let mut timer = PeriodicTimer::new(EVERY, shutdown);
        while timer.wait().await {
            if let Some(answers) = timer.run(self.answers()).await {
                metrics.up.with_label_values::<&str>(&[]).set(i64::from(answers));
            }
        }
        Ok(())
    }
}
