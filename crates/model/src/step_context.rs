//! Where and when a step is taken: what every rule is given beside a record.

use crate::{
    civil_time::{Zone, ZoneRules},
    id::{Person, Tenant},
    local_time::{LocalHours, LocalTime},
    plan::PlanSet,
    time::UtcMillis,
};

/// Where and when a step is taken.
#[derive(Clone)]
pub struct StepContext<'a> {
    pub tenant: &'a Tenant,
    pub person: &'a Person,
    pub now: UtcMillis,
    /// The person's own zone.
    pub zone: &'a Zone,
    /// Zones that plans name.
    pub zones: &'a ZoneRules,
    pub plans: &'a PlanSet,
    /// The person's own quiet hours, in their own zone, in place of those that plans have.
    pub quiet: Option<LocalHours>,
    /// Until when the person wants quiet, under every plan.
    pub quiet_until: Option<UtcMillis>,
    /// The full hour that the person has chosen.
    pub hour: Option<LocalTime>,
}
