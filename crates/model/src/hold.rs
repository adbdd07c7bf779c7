//! Holds: presence, quiet hours and caps keep a due window from being told.
//!
//! One planner serves all of them: each says until when it holds, and the latest instant is checked by all others
//! again,
//! until none objects. Held entries are told later, and never dropped unless the plan says so.

use crate::{
    civil_time::{self, Zone},
    fault::{self, PlantedFault},
    id::Tenant,
    limits::DAY_MS,
    local_time::LocalHours,
    mark::{Channel, EndReason},
    person::{HoldCause, PersonRecord},
    plan::{CapPeriod, MessageCap, OnlineRule, OnlineSurface, Plan, QuietAction, QuietRule, ZoneRule},
    step_context::StepContext,
    time::UtcMillis,
};

/// Whether a window that is due may be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowGate {
    Open {
        /// Without a sound.
        silent: bool,
    },
    /// Not before this instant, and what holds it.
    Until(UtcMillis, HoldCause),
    /// Not on this channel.
    Ended(EndReason),
}

/// Rounds of asking: a quiet night and a cap may push each other on, but not forever.
const ROUNDS_MAX: usize = 16;

/// Asks all that may hold a plan. Of several that do, the first is named: it is what holds it now.
pub(crate) fn decide_gate(
    plan: &Plan,
    record: &PersonRecord,
    live: Option<bool>,
    at: &StepContext<'_>,
) -> WindowGate {
    if plan.urgent || fault::is_planted(PlantedFault::HeldByNothing) {
        return WindowGate::Open { silent: false };
    }
    if let Some(held) = online_gate(plan, record, live, at) {
        return held;
    }
    let (mut when, mut why, mut silent) = (at.now, None, false);
    for _ in 0..ROUNDS_MAX {
        let before = when;
        silent = false;
        if let Some(until) = at.quiet_until.filter(|until| *until > when) {
            (when, why) = (until, why.or(Some(HoldCause::Quiet)));
        }
        if let Some((until, then)) = quiet_end(plan, when, at) {
            match then {
                // A break ends in the night, and holds whatever the plan does in one.
                QuietAction::End if at.quiet_until != Some(when) => {
                    return WindowGate::Ended(EndReason::QuietHours);
                }
                QuietAction::Hold | QuietAction::End => {
                    (when, why) = (until, why.or(Some(HoldCause::Quiet)));
                }
                QuietAction::Silent => silent = true,
            }
        }
        if let Some(until) = capped_until(plan, record, when, at) {
            (when, why) = (until, why.or(Some(HoldCause::Cap)));
        }
        if when == before {
            break;
        }
    }
    match why {
        Some(why) if when > at.now => WindowGate::Until(when, why),
        _ => WindowGate::Open { silent },
    }
}

/// Whether the person is somewhere they see for themselves, and what the plan makes of it.
fn online_gate(
    plan: &Plan,
    record: &PersonRecord,
    live: Option<bool>,
    at: &StepContext<'_>,
) -> Option<WindowGate> {
    let rule = plan.online?;
    let until = online_until(&at.plans.surfaces, record, live, at.now)?;
    Some(match rule {
        OnlineRule::Hold => WindowGate::Until(until, HoldCause::Online),
        OnlineRule::Postpone { ms } => WindowGate::Until(at.now.plus(ms), HoldCause::Online),
        OnlineRule::End => WindowGate::Ended(EndReason::SeesItself),
    })
}

/// Until when somebody counts as here, as far as one knows now; nothing if they are not. Where a surface asks for
/// a live connection, one that is known not to be there means that they left.
pub fn online_until(
    surfaces: &[OnlineSurface],
    record: &PersonRecord,
    live: Option<bool>,
    now: UtcMillis,
) -> Option<UtcMillis> {
    let here = surfaces.iter().filter_map(|surface| {
        let until = record.seen.get(&surface.name)?.plus(surface.online_ms);
        (until > now && !(surface.asks_live && live == Some(false))).then_some(until)
    });
    here.max()
}

/// The end of the quiet hours at an instant, and what they do.
fn quiet_end(plan: &Plan, when: UtcMillis, at: &StepContext<'_>) -> Option<(UtcMillis, QuietAction)> {
    let then = plan.quiet.as_ref().map_or(QuietAction::Hold, |quiet| quiet.then);
    let (hours, zone) = quiet_hours(plan, at)?;
    Some((quiet_until(hours, &zone, when)?, then))
}

/// The end of these hours, if an instant is one of theirs.
pub fn quiet_until(LocalHours { from, to }: LocalHours, zone: &Zone, when: UtcMillis) -> Option<UtcMillis> {
    let date = civil_time::local_date(when, zone);
    // The night of today, and the one that began yesterday.
    let nights = [date - 1, date].into_iter().filter_map(|date| {
        let end = if to <= from { date + 1 } else { date };
        Some((civil_time::local_instant(date, from, zone)?, civil_time::local_instant(end, to, zone)?))
    });
    let mut now = nights.filter(|(begin, end)| (*begin..*end).contains(&when));
    now.next().map(|(_, end)| end)
}

/// The quiet hours that count: the person's own, under every plan, or else the plan's.
pub(crate) fn quiet_hours(plan: &Plan, at: &StepContext<'_>) -> Option<(LocalHours, Zone)> {
    match (at.quiet, &plan.quiet) {
        (Some(own), _) => Some((own, at.zone.clone())),
        (None, Some(QuietRule { hours, zone, .. })) => Some((*hours, resolve_zone(zone, at))),
        (None, None) => None,
    }
}

/// When the next message may be told, if there were as many as the caps allow.
fn capped_until(
    plan: &Plan,
    record: &PersonRecord,
    when: UtcMillis,
    at: &StepContext<'_>,
) -> Option<UtcMillis> {
    let caps = at.plans.caps.iter().filter(|cap| cap.counts_plan(plan, at.tenant));
    caps.filter_map(|cap| cap_free_at(cap, record, when, at)).max()
}

/// When a cap has room again, if it has none.
fn cap_free_at(
    cap: &MessageCap,
    record: &PersonRecord,
    when: UtcMillis,
    at: &StepContext<'_>,
) -> Option<UtcMillis> {
    let told = record.counted.get(&cap.name)?;
    match &cap.per {
        CapPeriod::Day(zone) => {
            let zone = resolve_zone(zone, at);
            let date = civil_time::local_date(when, &zone);
            let today = told.iter().filter(|at| civil_time::local_date(**at, &zone) == date).count();
            (today >= usize::from(cap.most))
                .then(|| civil_time::start_of_date(date + 1, &zone).unwrap_or(when.plus(DAY_MS)))
        }
        CapPeriod::Rolling { ms } => {
            let mut lately: Vec<UtcMillis> = told.iter().filter(|at| at.plus(*ms) > when).copied().collect();
            lately.sort_unstable();
            let over = lately.len().checked_sub(usize::from(cap.most))?;
            lately.get(over).map(|at| at.plus(*ms))
        }
    }
}

/// Counts a message that is told now.
pub(crate) fn count_message(record: &mut PersonRecord, plan: &Plan, at: &StepContext<'_>) {
    for cap in at.plans.caps.iter().filter(|cap| cap.counts_plan(plan, at.tenant)) {
        let told = record.counted.entry(cap.name.clone()).or_default();
        told.push(at.now);
        let most = usize::from(cap.most);
        told.drain(..told.len().saturating_sub(most));
        record.keep_until = record.keep_until.max(at.now.plus(cap.per.length_ms()));
    }
}

impl MessageCap {
    /// Whether messages of a plan count.
    pub fn counts_plan(&self, plan: &Plan, tenant: &Tenant) -> bool {
        (self.tenants.is_empty() || self.tenants.contains(tenant))
            && self.channel.is_none_or(|channel: Channel| channel == plan.channel)
            && (self.kinds.is_empty()
                || plan
                    .sections
                    .iter()
                    .flat_map(|section| &section.kinds)
                    .any(|kind| self.kinds.contains(kind)))
    }
}

/// The zone that a rule means.
pub(crate) fn resolve_zone(zone: &ZoneRule, at: &StepContext<'_>) -> Zone {
    match zone {
        ZoneRule::Person => at.zone.clone(),
        ZoneRule::Fixed(name) => at.zones.get_or_utc(Some(name)),
    }
}
