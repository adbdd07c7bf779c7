//! The number on an app's icon: what pushes told and the person has not seen. When they see it elsewhere, a push
//! without words sets the number right on all of their devices.
//!
//! Nobody keeps a count, for it would drift. The record keeps the days and the instant from which on something counts;
//! the sender of the push counts in the days themselves.

use std::collections::BTreeSet;

use crate::{
    entry::EntryKey,
    fold::{DayView, EntryView},
    limits::{BADGE_LIFE_MS, BADGE_WAIT_MS, DAY_MS},
    mark::Channel,
    person::{PersonBadge, PersonRecord},
    plan::Plan,
    ready::{self, Ready, UnseenDays},
    step_context::StepContext,
    time::{Day, UtcMillis},
};

/// The part of a Ready's id that no window has.
const PART: u16 = u16::MAX;

/// How many entries of some days a badge counts, but for some.
pub fn count_unseen(view: &DayView, since: UtcMillis, but: impl Fn(EntryKey) -> bool) -> usize {
    let is_news = |entry: &EntryView| !entry.is_seen() && !entry.is_withdrawn() && entry.put_off.is_none();
    let counts = |entry: &EntryView| is_news(entry) && entry.tellers(Channel::Push).any(|(_, at)| at > since);
    view.entries().filter(|(key, entry)| counts(entry) && !but(*key)).count()
}

/// A push of a plan tells something of these days: what it has to count.
pub(crate) fn note_push(
    record: &mut PersonRecord,
    plan: &Plan,
    days: &BTreeSet<Day>,
    at: &StepContext<'_>,
) -> Option<UnseenDays> {
    if !plan.badge {
        return None;
    }
    let mut unseen = record.badge.take().map(|badge| badge.unseen).unwrap_or_default();
    unseen.days.retain(|day| !plan.day_life.is_over(*day, at.now));
    unseen.days.extend(days);
    record.keep_until = record.keep_until.max(at.now.plus(BADGE_LIFE_MS));
    // This push says the number, so none without words is wanted.
    let badge = PersonBadge { plan: plan.name.clone(), unseen: unseen.clone(), told: at.now, due: None };
    record.badge = Some(badge);
    Some(unseen)
}

/// The person was seen somewhere, or read or cleared something: what was told before they came they have seen, and
/// what they read one by one is in its day.
pub(crate) fn note_seen(record: &mut PersonRecord, when: UtcMillis, came: bool, at: &StepContext<'_>) {
    let Some(badge) = record.badge.as_mut().filter(|badge| when > badge.unseen.since) else { return };
    if badge.unseen.days.is_empty() || (came && when < badge.told) {
        return;
    }
    if came {
        badge.unseen = UnseenDays { days: BTreeSet::new(), since: when.min(at.now) };
    }
    // The first of several things sets the time; the push counts them all.
    badge.due = badge.due.or(Some(at.now.plus(BADGE_WAIT_MS)));
}

/// The push without words, when its time has come.
pub(crate) fn issue_badge_push(record: &mut PersonRecord, at: &StepContext<'_>) -> Option<Ready> {
    let badge = record.badge.as_mut()?;
    let due = badge.due.take_if(|due| *due <= at.now)?;
    let (plan, unseen) = (badge.plan.clone(), badge.unseen.clone());
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
        badge: Some(unseen),
    })
}
