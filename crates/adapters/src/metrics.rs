//! The metrics of engines and couriers that belong to no room.

use courier_net::metrics::CourierMetrics;
use house::house_watch::HouseWatch;
use registry::metrics::RegistryMetrics;
use runtime::metrics::Metrics;
use traces::metrics::TraceMetrics;

use crate::engine_setup::OpenedEngines;

/// Declares what engines and traces tell, for the reference.
pub fn declare_engines(metrics: &Metrics) -> anyhow::Result<()> {
    TraceMetrics::declare(metrics)?;
    RegistryMetrics::declare(metrics).map(drop)
}

/// Declares what couriers tell, for the reference.
pub fn declare_couriers(metrics: &Metrics) -> anyhow::Result<()> {
    CourierMetrics::declare(metrics).map(drop)
}

/// Who looks whether the registry answers, if there is one.
pub fn watch_registry(engines: &OpenedEngines, metrics: &Metrics) -> anyhow::Result<Option<HouseWatch>> {
    let Some(registry) = engines.registry().cloned() else { return Ok(None) };
    let metrics = RegistryMetrics::declare(metrics)?;
    Ok(Some(HouseWatch::new("the watch on the registry", move |deps| {
        registry.clone().watch(metrics.clone(), deps.shutdown)
    })))
}
