//! What a process counts beside its house.

use runtime::metrics::{Counters, Metrics, begin_counters};

/// Reloads.
#[derive(Clone)]
pub struct ReloadMetrics {
    reloads: Counters,
}

impl ReloadMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let reloads = metrics.counter(
            "tidings_reloads_total",
            "Reloads by outcome: taken, also on the way back to the catalogue before, or refused (what is new does not \
             pass its check, or no room begins with it: nothing changed).",
            &["outcome"],
        )?;
        begin_counters(&reloads, &[&["taken"], &["refused"]]);
        Ok(Self { reloads })
    }

    pub(crate) fn count(&self, outcome: &str) {
        self.reloads.with_label_values(&[outcome]).inc();
    }
}
