//! The number on an app's icon: that of the bell, which the sender of a push counts as the feed does. Whatever changes it
//! elsewhere is followed by a push without words, which sets the number right on all of the person's devices.
//!
//! Nobody keeps a count, for it would drift. The record keeps by which plan a push told the number last, and whether it has to
//! be told anew.

use crate::{
    limits::{BADGE_LIFE_MS, BADGE_WAIT_MS, DAY_MS},
    mark::Channel,
    person::{PersonBadge, PersonRecord},
    plan::Plan,
    ready::{self, Ready},
    step_context::StepContext,
};

/// The part of a Ready's id that no window has.
const PART: u16 = u16::MAX;

/// A push of a plan tells something. Gives whether it says the number: then none without words is wanted.
pub(crate) fn note_push(record: &mut PersonRecord, plan: &Plan, at: &StepContext<'_>) -> bool {
    if plan.badge {
        record.keep_until = record.keep_until.max(at.now.plus(BADGE_LIFE_MS));
        record.badge = Some(PersonBadge { plan: plan.name.clone(), due: None });
    }
    plan.badge
}

/// The person did something that may change the number, or something was revoked. The first of several such things sets the
/// time; the push counts them all.
pub(crate) fn note_change(record: &mut PersonRecord, at: &StepContext<'_>) {
    if let Some(badge) = &mut record.badge {
        badge.due = badge.due.or(Some(at.now.plus(BADGE_WAIT_MS)));
    }
}

/// The push without words, when its time has come.
pub(crate) fn issue_badge_push(record: &mut PersonRecord, at: &StepContext<'_>) -> Option<Ready> {
    let badge = record.badge.as_mut()?;
    let due = badge.due.take_if(|due| *due <= at.now)?;
    let plan = badge.plan.clone();
    at.plans.by_name.get(&plan)?;
    Some(Ready {
        id: ready::derive_ready_id(at.tenant, at.person, &plan, "", due, PART),
        silent: true,
        tenant: at.tenant.clone(),
        person: at.person.clone(),
        plan,
        key: "".into(),
        opening: due,
        channel: Channel::Push,
        attempt: 0,
        due,
        expires: due.plus(DAY_MS),
        entries: Vec::new(),
        more: Vec::new(),
        badge: true,
    })
}
