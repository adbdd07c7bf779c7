//! The number on an app's icon: that of the bell, which the sender of a push counts as the feed does. Whatever changes it
//! elsewhere is followed by a push without words, which sets the number right on all of the person's devices.
//!
//! Nobody keeps a count, for it would drift. The record keeps by which plan a push told the number last, and whether it has to
//! be told anew. Where no plan's pushes have a number it keeps which plan told last, for what is revoked.

use crate::{
    limits::{BADGE_LIFE_MS, BADGE_WAIT_MS, DAY_MS, REVOCABLE_MS},
    mark::Channel,
    person::{PersonBadge, PersonRecord},
    plan::Plan,
    ready::{self, Ready},
    step_context::StepContext,
};

/// The part of a Ready's id that no window has.
const PART: u16 = u16::MAX;

/// A push of a plan tells something. Gives whether it says the number.
pub(crate) fn note_push(record: &mut PersonRecord, plan: &Plan, at: &StepContext<'_>) -> bool {
    if plan.badge || (plan.channel == Channel::Push && !says_number(record, at)) {
        let until = at.now.plus(if plan.badge { BADGE_LIFE_MS } else { REVOCABLE_MS });
        record.keep_until = record.keep_until.max(until);
        // Words take nothing away: one without any comes all the same, unless its sender finds that it has nothing to tell.
        let due = record.badge.as_ref().and_then(|badge| badge.due);
        record.badge = Some(PersonBadge { plan: plan.name.clone(), due });
    }
    plan.badge
}

/// The person did something that may change the number, where they have one. The first of several sets the time.
pub(crate) fn note_change(record: &mut PersonRecord, at: &StepContext<'_>) {
    if says_number(record, at) {
        note_revoked(record, at);
    }
}

/// Something was revoked that a push may have told.
pub(crate) fn note_revoked(record: &mut PersonRecord, at: &StepContext<'_>) {
    if let Some(badge) = &mut record.badge {
        badge.due = badge.due.or(Some(at.now.plus(BADGE_WAIT_MS)));
    }
}

fn says_number(record: &PersonRecord, at: &StepContext<'_>) -> bool {
    let plan = |badge: &PersonBadge| at.plans.by_name.get(&badge.plan);
    record.badge.as_ref().and_then(plan).is_some_and(|plan| plan.badge)
}

/// The push without words, when its time has come.
pub(crate) fn issue_badge_push(record: &mut PersonRecord, at: &StepContext<'_>) -> Option<Ready> {
    let badge = record.badge.as_mut()?;
    let due = badge.due.take_if(|due| *due <= at.now)?;
    let plan = at.plans.by_name.get(&badge.plan)?;
    Some(Ready {
        id: ready::derive_ready_id(at.tenant, at.person, &plan.name, "", due, PART),
        silent: true,
        tenant: at.tenant.clone(),
        person: at.person.clone(),
        plan: plan.name.clone(),
        key: "".into(),
        opening: due,
        channel: Channel::Push,
        attempt: 0,
        due,
        expires: due.plus(DAY_MS),
        entries: Vec::new(),
        more: Vec::new(),
        badge: plan.badge,
        renews: None,
    })
}
