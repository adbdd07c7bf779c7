//! Whether traces are recorded, and where they go.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use otlp::{Settings, SpanExporter, exporter::WAITING_MAX};
use runtime::{Clock, metrics::Metrics};
use settings::config::{Config, TracesConfig};
use tokio::task::spawn_blocking;
use traces::{Tracer, metrics::TraceMetrics};

/// How long the last spans may take to leave.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// The tracer of a process, and what takes its spans away.
#[derive(Debug, Default)]
pub struct TraceSetup {
    pub tracer: Tracer,
    exporter: Mutex<Option<SpanExporter>>,
}

impl TraceSetup {
    /// By the configuration; off where it names no receiver.
    pub fn open(config: &Config, clock: &Clock, metrics: &Metrics) -> anyhow::Result<Self> {
        let counts = TraceMetrics::declare(metrics)?;
        let Some(TracesConfig { endpoint, sample, headers, service, ca }) = config.traces.clone() else {
            return Ok(Self::default());
        };
        let (tracer, queue) = Tracer::new(clock.clone(), sample, WAITING_MAX, counts.clone());
        let settings = Settings { endpoint, headers, ca, service };
        tracing::info!(receiver = settings.endpoint, sample = %sample, "traces are recorded");
        let exporter = SpanExporter::start(&settings, queue, counts)?;
        Ok(Self { tracer, exporter: Mutex::new(Some(exporter)) })
    }

    /// The last spans leave, if somebody takes them soon.
    pub async fn close(&self) {
        self.tracer.close();
        let exporter = self.exporter.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(exporter) = exporter {
            // It waits no longer than it may.
            drop(spawn_blocking(move || exporter.wait_for_end(LAST_SPANS)).await);
        }
    }
}
