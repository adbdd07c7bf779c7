//! The one registry of metrics. Each crate declares its own in its `metrics.rs`, with prose for each, and takes them
//! from here; nothing is kept in globals, so two houses in one process do not mix.
//!
//! A metric that is declared again is the same metric: a house that is opened once more in its process counts on.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::ensure;
use prometheus::{
    Encoder, GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder,
    core::Collector,
    process_collector::ProcessCollector,
    proto::{Metric, MetricFamily},
};

pub use prometheus::{
    GaugeVec as Measures, HistogramVec as Histograms, IntCounterVec as Counters, IntGaugeVec as Gauges,
};

/// The upper ends of the buckets of every histogram: from a request to a store up to an outage of an hour, with the
/// bounds that service levels are written on (10 s and 5 min).
const BUCKETS: [f64; 18] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0,
    3_600.0,
];

/// All metrics of one process. Cheap to clone.
#[derive(Clone, Default)]
pub struct Metrics {
    registry: Registry,
    declared: Arc<Mutex<BTreeMap<String, DeclaredMetric>>>,
}

/// A metric as its crate declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MetricSpec {
    pub name: String,
    pub kind: MetricKind,
    pub help: String,
    pub labels: Vec<String>,
}

/// What a metric is to Prometheus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

#[derive(Clone)]
struct DeclaredMetric {
    spec: MetricSpec,
    family: DeclaredFamily,
}

#[derive(Clone)]
enum DeclaredFamily {
    Counter(IntCounterVec),
    Gauge(IntGaugeVec),
    Measure(GaugeVec),
    Histogram(HistogramVec),
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.lock().keys()).finish()
    }
}

impl Metrics {
    /// A counter; the name ends in `_total`.
    pub fn counter(&self, name: &str, help: &str, labels: &[&str]) -> anyhow::Result<IntCounterVec> {
        let spec = new_spec(name, MetricKind::Counter, help, labels);
        let made = || Ok(IntCounterVec::new(Opts::new(name, help), labels)?);
        let same = |family| if let DeclaredFamily::Counter(same) = family { Some(same) } else { None };
        self.declare(spec, made, DeclaredFamily::Counter, same)
    }

    /// A gauge; the name ends in its unit.
    pub fn gauge(&self, name: &str, help: &str, labels: &[&str]) -> anyhow::Result<IntGaugeVec> {
        let spec = new_spec(name, MetricKind::Gauge, help, labels);
        let made = || Ok(IntGaugeVec::new(Opts::new(name, help), labels)?);
        let same = |family| if let DeclaredFamily::Gauge(same) = family { Some(same) } else { None };
        self.declare(spec, made, DeclaredFamily::Gauge, same)
    }

    /// A gauge of what is no whole number; the name ends in its unit.
    pub fn float_gauge(&self, name: &str, help: &str, labels: &[&str]) -> anyhow::Result<GaugeVec> {
        let spec = new_spec(name, MetricKind::Gauge, help, labels);
        let made = || Ok(GaugeVec::new(Opts::new(name, help), labels)?);
        let same = |family| if let DeclaredFamily::Measure(same) = family { Some(same) } else { None };
        self.declare(spec, made, DeclaredFamily::Measure, same)
    }

    /// A histogram of seconds.
    pub fn seconds_histogram(&self, name: &str, help: &str, labels: &[&str]) -> anyhow::Result<HistogramVec> {
        let spec = new_spec(name, MetricKind::Histogram, help, labels);
        let made =
            || Ok(HistogramVec::new(HistogramOpts::new(name, help).buckets(BUCKETS.to_vec()), labels)?);
        let same = |family| if let DeclaredFamily::Histogram(same) = family { Some(same) } else { None };
        self.declare(spec, made, DeclaredFamily::Histogram, same)
    }

    /// Processor time, memory and open files of this process, under the names that all programs have for them.
    pub fn watch_process(&self) -> anyhow::Result<()> {
        Ok(self.registry.register(Box::new(ProcessCollector::for_self()))?)
    }

    /// Everything that was declared so far, by name.
    pub fn list_specs(&self) -> Vec<MetricSpec> {
        self.lock().values().map(|declared| declared.spec.clone()).collect()
    }

    /// The sum of a counter or gauge over all labels, or over those where a label has this value.
    pub fn sum_values(&self, name: &str, label: Option<(&str, &str)>) -> f64 {
        let has = |metric: &&Metric| {
            label.is_none_or(|(name, value)| {
                metric.get_label().iter().any(|pair| pair.name() == name && pair.value() == value)
            })
        };
        // One of the two is not there, and counts as 0.
        let value = |metric: &Metric| metric.get_counter().get_value() + metric.get_gauge().get_value();
        let families = self.collect_family(name);
        families.iter().flat_map(MetricFamily::get_metric).filter(has).map(value).sum()
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

    /// One family by itself: all of them are many in a house of many partitions.
    fn collect_family(&self, name: &str) -> Vec<MetricFamily> {
        let declared = self.lock().get(name).map(|declared| declared.family.clone());
        match declared {
            Some(DeclaredFamily::Counter(family)) => family.collect(),
            Some(DeclaredFamily::Gauge(family)) => family.collect(),
            Some(DeclaredFamily::Measure(family)) => family.collect(),
            Some(DeclaredFamily::Histogram(family)) => family.collect(),
            None => Vec::new(),
        }
    }

    fn declare<T: Clone + Collector + 'static>(
        &self,
        spec: MetricSpec,
        make: impl FnOnce() -> anyhow::Result<T>,
        keep: impl FnOnce(T) -> DeclaredFamily,
        same: impl FnOnce(DeclaredFamily) -> Option<T>,
    ) -> anyhow::Result<T> {
        let mut declared = self.lock();
        if let Some(earlier) = declared.get(&spec.name) {
            ensure!(earlier.spec == spec, "the metric {} is declared twice, and not alike", spec.name);
            let family = same(earlier.family.clone());
            return family.ok_or_else(|| anyhow::anyhow!("the metric {} has another type", spec.name));
        }
        let made = make()?;
        self.registry.register(Box::new(made.clone()))?;
        declared.insert(spec.name.clone(), DeclaredMetric { spec, family: keep(made.clone()) });
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, DeclaredMetric>> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn new_spec(name: &str, kind: MetricKind, help: &str, labels: &[&str]) -> MetricSpec {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    MetricSpec { name: name.to_owned(), kind, help: help.to_owned(), labels }
}

/// Makes the series of a counter with these values of its labels exist: one that is not there before the first event
/// has no rate at that event.
pub fn begin_counters(counters: &Counters, label_values: &[&[&str]]) {
    for values in label_values {
        counters.with_label_values(values).inc_by(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_again_counts_on() {
        let metrics = Metrics::default();
        let declare = || metrics.counter("tidings_a_total", "What is counted.", &["of"]);
        declare().unwrap().with_label_values(&["x"]).inc();
        declare().unwrap().with_label_values(&["x"]).inc();
        assert!(metrics.render_text().contains("tidings_a_total{of=\"x\"} 2\n"));
        assert_eq!(metrics.sum_values("tidings_a_total", Some(("of", "x"))), 2.0);
        let check = |again: anyhow::Result<()>, expected: &str| {
            assert_eq!(again.unwrap_err().to_string(), expected);
        };
        let alike = "the metric tidings_a_total is declared twice, and not alike";
        check(metrics.counter("tidings_a_total", "What is counted.", &[]).map(drop), alike);
        check(metrics.gauge("tidings_a_total", "What is counted.", &["of"]).map(drop), alike);
        metrics.gauge("tidings_b_records", "How many there are.", &[]).unwrap();
        let other = "the metric tidings_b_records has another type";
        check(metrics.float_gauge("tidings_b_records", "How many there are.", &[]).map(drop), other);
        let names: Vec<String> = metrics.list_specs().into_iter().map(|spec| spec.name).collect();
        assert_eq!(names, ["tidings_a_total", "tidings_b_records"]);
    }

    #[test]
    fn histograms_reach_an_hour() {
        let metrics = Metrics::default();
        let late = metrics.seconds_histogram("tidings_late_seconds", "How late it is.", &[]).unwrap();
        late.with_label_values::<&str>(&[]).observe(3_000.0);
        let text = metrics.render_text();
        for line in
            ["tidings_late_seconds_bucket{le=\"300\"} 0\n", "tidings_late_seconds_bucket{le=\"3600\"} 1\n"]
        {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn a_process_has_its_usual_metrics() {
        let metrics = Metrics::default();
        metrics.watch_process().unwrap();
        let text = metrics.render_text();
        for name in ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"] {
            assert!(text.contains(&format!("\n{name} ")), "{text}");
        }
    }
}
