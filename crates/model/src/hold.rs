//! What keeps a window that is due from being told: the person is here, it is night, it would be one too many.
//!
//! One planner for all of them: each says up to when it holds, and the latest one is asked again by all the
//! others, until nobody objects. What is held is told later and never dropped unseen, unless the plan says so.

use crate::{
    civil::{self, Zone},
    fault::{self, Fault},
    id::Tenant,
    limits::DAY_MS,
    mark::{Channel, Why},
    person::PersonRecord,
    plan::{Cap, Hours, Online, Per, Plan, Quiet, Surface, Then, ZoneRule},
    time::Millis,
    window::At,
};

/// Whether a window that is due may be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    Open {
        /// Without a sound.
        silent: bool,
    },
    /// Not before this instant, and what holds it.
    Until(Millis, Held),
    /// Not on this channel.
    Ended(Why),
}

/// What holds a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    Online,
    Quiet,
    Cap,
}

impl Held {
    /// The fate of what is held until it expires.
    pub fn why(self) -> Why {
        match self {
            Self::Online => Why::SeesItself,
            Self::Quiet => Why::QuietHours,
            Self::Cap => Why::OverCap,
        }
    }
}

/// Rounds of asking: a quiet night and a cap may push each other on, but not for ever.
const ROUNDS_MAX: usize = 16;

/// Asks all that may hold a plan. Of several that do, the first is named: it is what holds it now.
pub(crate) fn gate(plan: &Plan, record: &PersonRecord, live: Option<bool>, at: &At<'_>) -> Gate {
    if plan.urgent || fault::planted(Fault::HeldByNothing) {
        return Gate::Open { silent: false };
    }
    if let Some(held) = online(plan, record, live, at) {
        return held;
    }
    let (mut when, mut why, mut silent) = (at.now, None, false);
    for _ in 0..ROUNDS_MAX {
        let before = when;
        silent = false;
        if let Some((until, then)) = quiet(plan, when, at) {
            match then {
                Then::Hold => (when, why) = (until, why.or(Some(Held::Quiet))),
                Then::Silent => silent = true,
                Then::End => return Gate::Ended(Why::QuietHours),
            }
        }
        if let Some(until) = capped(plan, record, when, at) {
            (when, why) = (until, why.or(Some(Held::Cap)));
        }
        if when == before {
            break;
        }
    }
    match why {
        Some(why) if when > at.now => Gate::Until(when, why),
        _ => Gate::Open { silent },
    }
}

/// Whether the person is somewhere they see for themselves, and what the plan makes of it.
fn online(plan: &Plan, record: &PersonRecord, live: Option<bool>, at: &At<'_>) -> Option<Gate> {
    let rule = plan.online?;
    let until = online_until(&at.plans.surfaces, record, live, at.now)?;
    Some(match rule {
        Online::Hold => Gate::Until(until, Held::Online),
        Online::Postpone { ms } => Gate::Until(at.now.plus(ms), Held::Online),
        Online::End => Gate::Ended(Why::SeesItself),
    })
}

/// Until when somebody counts as here, as far as one knows now; nothing if they are not. Where a surface asks for
/// a live connection, one that is known not to be there means that they left.
pub fn online_until(
    surfaces: &[Surface],
    record: &PersonRecord,
    live: Option<bool>,
    now: Millis,
) -> Option<Millis> {
    let here = surfaces.iter().filter_map(|surface| {
        let until = record.seen.get(&surface.name)?.plus(surface.online_ms);
        (until > now && !(surface.asks_live && live == Some(false))).then_some(until)
    });
    here.max()
}

/// The end of the quiet hours at an instant, and what they do.
fn quiet(plan: &Plan, when: Millis, at: &At<'_>) -> Option<(Millis, Then)> {
    let then = plan.quiet.as_ref().map_or(Then::Hold, |quiet| quiet.then);
    let (hours, zone) = hours_of(plan, at)?;
    Some((quiet_until(hours, &zone, when)?, then))
}

/// The end of these hours, if an instant is one of theirs.
pub fn quiet_until(Hours { from, to }: Hours, zone: &Zone, when: Millis) -> Option<Millis> {
    let date = civil::local_date(when, zone);
    // The night of today, and the one that began yesterday.
    let nights = [date - 1, date].into_iter().filter_map(|date| {
        let end = if to <= from { date + 1 } else { date };
        Some((civil::instant(date, from, zone)?, civil::instant(end, to, zone)?))
    });
    let mut now = nights.filter(|(begin, end)| (*begin..*end).contains(&when));
    now.next().map(|(_, end)| end)
}

/// The quiet hours that count: the person's own, under every plan, or else the plan's.
pub(crate) fn hours_of(plan: &Plan, at: &At<'_>) -> Option<(Hours, Zone)> {
    match (at.quiet, &plan.quiet) {
        (Some(own), _) => Some((own, at.zone.clone())),
        (None, Some(Quiet { hours, zone, .. })) => Some((*hours, whose(zone, at))),
        (None, None) => None,
    }
}

/// When the next message may be told, if there were as many as the caps allow.
fn capped(plan: &Plan, record: &PersonRecord, when: Millis, at: &At<'_>) -> Option<Millis> {
    let caps = at.plans.caps.iter().filter(|cap| cap.counts(plan, at.tenant));
    caps.filter_map(|cap| free(cap, record, when, at)).max()
}

/// When a cap has room again, if it has none.
fn free(cap: &Cap, record: &PersonRecord, when: Millis, at: &At<'_>) -> Option<Millis> {
    let told = record.counted.get(&cap.name)?;
    match &cap.per {
        Per::Day(zone) => {
            let zone = whose(zone, at);
            let date = civil::local_date(when, &zone);
            let today = told.iter().filter(|at| civil::local_date(**at, &zone) == date).count();
            (today >= usize::from(cap.most))
                .then(|| civil::start_of(date + 1, &zone).unwrap_or(when.plus(DAY_MS)))
        }
        Per::Rolling { ms } => {
            let mut lately: Vec<Millis> = told.iter().filter(|at| at.plus(*ms) > when).copied().collect();
            lately.sort_unstable();
            let over = lately.len().checked_sub(usize::from(cap.most))?;
            lately.get(over).map(|at| at.plus(*ms))
        }
    }
}

/// Counts a message that is told now.
pub(crate) fn note(record: &mut PersonRecord, plan: &Plan, at: &At<'_>) {
    for cap in at.plans.caps.iter().filter(|cap| cap.counts(plan, at.tenant)) {
        let told = record.counted.entry(cap.name.clone()).or_default();
        told.push(at.now);
        let most = usize::from(cap.most);
        told.drain(..told.len().saturating_sub(most));
        record.keep_until = record.keep_until.max(at.now.plus(cap.per.length_ms()));
    }
}

impl Cap {
    /// Whether messages of a plan count.
    pub fn counts(&self, plan: &Plan, tenant: &Tenant) -> bool {
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
pub(crate) fn whose(zone: &ZoneRule, at: &At<'_>) -> Zone {
    match zone {
        ZoneRule::Person => at.zone.clone(),
        ZoneRule::Fixed(name) => at.zones.get_or_utc(Some(name)),
    }
}
