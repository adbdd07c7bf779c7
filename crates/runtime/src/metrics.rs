//! The one registry of metrics. Each room declares its own in its `metrics.rs`, with prose for each, and
//! takes them from here; nothing is kept in globals, so two houses in one process do not mix.

use prometheus::{
    Encoder, GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder,
    proto::Metric,
};

pub use prometheus::{GaugeVec as Measures, IntCounterVec as Counters, IntGaugeVec as Gauges};

/// All metrics of one house. Cheap to clone.
#[derive(Clone, Default)]
pub struct Metrics {
    registry: Registry,
}

impl Metrics {
    /// A counter; the name ends in `_total`.
    pub fn counter(&self, name: &str, help: &str, labels: &[&str]) -> anyhow::Result<IntCounterVec> {
        let counter = IntCounterVec::new(Opts::new(name, help), labels)?;
        self.registry.register(Box::new(counter.clone()))?;
        Ok(counter)
    }

    /// A gauge; the name ends in its unit.
    pub fn gauge(&self, name: &str, help: &str, labels: &[&str]) -> anyhow::Result<IntGaugeVec> {
        let gauge = IntGaugeVec::new(Opts::new(name, help), labels)?;
        self.registry.register(Box::new(gauge.clone()))?;
        Ok(gauge)
    }

    /// A gauge of what is no whole number; the name ends in its unit.
    pub fn float_gauge(&self, name: &str, help: &str, labels: &[&str]) -> anyhow::Result<GaugeVec> {
        let gauge = GaugeVec::new(Opts::new(name, help), labels)?;
        self.registry.register(Box::new(gauge.clone()))?;
        Ok(gauge)
    }

    /// A histogram of seconds.
    pub fn seconds_histogram(&self, name: &str, help: &str, labels: &[&str]) -> anyhow::Result<HistogramVec> {
        let buckets = prometheus::exponential_buckets(0.000_5, 2.0, 16)?;
        let histogram = HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets), labels)?;
        self.registry.register(Box::new(histogram.clone()))?;
        Ok(histogram)
    }

    /// The sum of a counter or gauge over all labels, or over those where a label has this value.
    pub fn sum_values(&self, name: &str, label: Option<(&str, &str)>) -> f64 {
        let families = self.registry.gather();
        let of_name = families.iter().filter(|family| family.name() == name);
        let all = of_name.flat_map(|family| family.get_metric());
        let has = |metric: &&Metric| {
            label.is_none_or(|(name, value)| {
                metric.get_label().iter().any(|pair| pair.name() == name && pair.value() == value)
            })
        };
        // One of the two is not there, and counts as 0.
        all.filter(has).map(|metric| metric.get_counter().get_value() + metric.get_gauge().get_value()).sum()
    }

    /// Everything in the Prometheus text format.
    pub fn render_text(&self) -> String {
        let mut out = Vec::new();
        match TextEncoder::new().encode(&self.registry.gather(), &mut out) {
            Ok(()) => String::from_utf8(out).unwrap_or_default(),
            Err(error) => {
                tracing::error!(%error, "metrics could not be written");
                String::new()
            }
        }
    }
}
