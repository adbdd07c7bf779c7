//! What a process counts beside its house.

use model::UtcMillis;
use runtime::metrics::{Counters, Gauges, Metrics, begin_counters};

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

/// The keys of the logins whose tokens say who a person is.
#[derive(Clone)]
pub struct PersonKeyMetrics {
    loads: Counters,
}

impl PersonKeyMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let loads = metrics.counter(
            "tidings_person_keys_loads_total",
            "Looks at the keys of `person_tokens` by outcome: taken (newer keys are in use), unchanged, or failed (those \
             before stay in use).",
            &["outcome"],
        )?;
        begin_counters(&loads, &[&["taken"], &["unchanged"], &["failed"]]);
        Ok(Self { loads })
    }

    pub(crate) fn count(&self, outcome: &str) {
        self.loads.with_label_values(&[outcome]).inc();
    }
}

/// Databases of IP addresses.
#[derive(Clone)]
pub struct AddressMetrics {
    loads: Counters,
    built: Gauges,
}

impl AddressMetrics {
    pub fn declare(metrics: &Metrics) -> anyhow::Result<Self> {
        let loads = metrics.counter(
            "tidings_address_database_loads_total",
            "Files of `geoip.database` that were read, by outcome: taken, or refused (the one before stays in use).",
            &["outcome"],
        )?;
        begin_counters(&loads, &[&["taken"], &["refused"]]);
        let built = metrics.gauge(
            "tidings_address_database_built_timestamp_seconds",
            "When the database of IP addresses that is in use was made, in seconds since 1970. Its maker publishes a \
             newer one every few days.",
            &[],
        )?;
        Ok(Self { loads, built })
    }

    pub(crate) fn count(&self, outcome: &str) {
        self.loads.with_label_values(&[outcome]).inc();
    }

    /// Nothing is shown where there is no database.
    pub(crate) fn note_built(&self, built: Option<UtcMillis>) {
        self.built.reset();
        if let Some(built) = built {
            self.built.with_label_values::<&str>(&[]).set(built.0 / 1_000);
        }
    }
}
