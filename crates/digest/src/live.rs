//! When it matters whether somebody's app is connected.

use model::{
    Millis, PlanName,
    person::PersonRecord,
    plan::{Plans, Surface},
};

/// Whether what is due of a person depends on their connection.
pub(crate) fn matters(record: &PersonRecord, plans: &Plans, closing: Millis, now: Millis) -> bool {
    let asks = |name: &PlanName| plans.by_name.get(name).is_some_and(|plan| plan.online.is_some());
    let due = record.windows.iter().any(|window| window.due <= closing && asks(&window.plan));
    let lately = |surface: &Surface| {
        let seen = record.seen.get(&surface.name);
        surface.asks_live && seen.is_some_and(|seen| seen.plus(surface.online_ms) > now)
    };
    due && plans.surfaces.iter().any(lately)
}
