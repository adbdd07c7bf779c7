//! What holds a message: nobody is told in quiet hours, over a cap, or of what they see for themselves.

use model::{
    UtcMillis,
    civil_time::{self, Zone},
    person::profile,
    plan::{CapPeriod, LocalHours, MessageCap, Plan, QuietAction, ZoneRule},
    ready::Ready,
};

use super::oracle::{PlanOracle, TellingMoment};
use crate::names::tenant;

/// Visits may be noted so late.
pub const NOTED_MS: i64 = 30_000;

pub fn check_holds(
    oracle: &PlanOracle,
    ready: &Ready,
    plan: &Plan,
    acted: bool,
    world: &TellingMoment<'_>,
) -> Result<(), String> {
    if acted || plan.urgent {
        return Ok(());
    }
    if plan.online.is_some() && is_here(oracle, world) {
        return Err("tells who is here and sees for themselves".to_owned());
    }
    match quiet_rule(plan, world) {
        Some(QuietAction::Silent) if ready.silent => {}
        Some(then) => return Err(format!("comes in quiet hours, which say {then:?}")),
        None => {}
    }
    let caps = oracle.catalogue.plans.caps.iter().filter(|cap| cap.counts_plan(plan, &tenant("main")));
    for cap in caps {
        let told = count_told(oracle, cap, world);
        if told >= usize::from(cap.most) {
            return Err(format!("is one more than the cap {}, which had {told}", cap.name));
        }
    }
    Ok(())
}

fn is_here(oracle: &PlanOracle, world: &TellingMoment<'_>) -> bool {
    oracle.catalogue.plans.surfaces.iter().any(|surface| {
        let seen = oracle.visits.iter().filter(|(on, _)| **on == *surface.name).map(|(_, at)| *at).max();
        let is_gone = surface.asks_live && world.live == Some(false);
        seen.is_some_and(|seen| seen.plus(surface.online_ms - NOTED_MS) > world.now) && !is_gone
    })
}

/// The hours that the person states count before those of the plan; where it has none they hold all the same.
fn quiet_rule(plan: &Plan, world: &TellingMoment<'_>) -> Option<QuietAction> {
    let own = world.profile.text(profile::QUIET).and_then(LocalHours::parse);
    let (hours, rule, then) = match (own, &plan.quiet) {
        (Some(own), quiet) => {
            (own, &ZoneRule::Person, quiet.as_ref().map_or(QuietAction::Hold, |quiet| quiet.then))
        }
        (None, Some(quiet)) => (quiet.hours, &quiet.zone, quiet.then),
        (None, None) => return None,
    };
    hours.has(civil_time::local_time(world.now, &rule_zone(rule, world))).then_some(then)
}

/// The messages that a cap counts by now.
fn count_told(oracle: &PlanOracle, cap: &MessageCap, world: &TellingMoment<'_>) -> usize {
    let plans = &oracle.catalogue.plans.by_name;
    let counts =
        |ready: &Ready| plans.get(&ready.plan).is_some_and(|plan| cap.counts_plan(plan, &tenant("main")));
    let within = |at: UtcMillis| match &cap.per {
        CapPeriod::Day(rule) => {
            let zone = rule_zone(rule, world);
            civil_time::local_date(at, &zone) == civil_time::local_date(world.now, &zone)
        }
        CapPeriod::Rolling { ms } => at.plus(*ms) > world.now,
    };
    oracle.messages.iter().filter(|told| counts(&told.ready) && within(told.at)).count()
}

pub fn rule_zone(rule: &ZoneRule, world: &TellingMoment<'_>) -> Zone {
    match rule {
        ZoneRule::Person => world.zones.get_or_utc(world.profile.text(profile::ZONE)),
        ZoneRule::Fixed(name) => world.zones.get_or_utc(Some(name)),
    }
}
