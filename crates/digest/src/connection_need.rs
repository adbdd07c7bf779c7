//! When it matters whether somebody's app is connected.

use model::{
    PlanName, UtcMillis,
    person::PersonRecord,
    plan::{OnlineSurface, PlanSet},
};

/// Whether what is due of a person depends on their connection.
pub(crate) fn connection_matters(
    record: &PersonRecord,
    plans: &PlanSet,
    closing: UtcMillis,
    now: UtcMillis,
) -> bool {
    let asks = |name: &PlanName| plans.by_name.get(name).is_some_and(|plan| plan.online.is_some());
    let due = record.windows.iter().any(|window| window.due <= closing && asks(&window.plan));
    let lately = |surface: &OnlineSurface| {
        let seen = record.seen.get(&surface.name);
        surface.asks_live && seen.is_some_and(|seen| seen.plus(surface.online_ms) > now)
    };
    due && plans.surfaces.iter().any(lately)
}
