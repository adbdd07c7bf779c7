//! Other words for a push of which a part was revoked: what the journal says it told, without that part. It goes out as a Ready of
//! the sender's own, which the journal decides as any other, under the tag of the push that it replaces. Its id is that of
//! the push and of how much was revoked, and what was revoked stays so: each revocation makes one at most, whoever comes to it
//! how often.

use std::sync::Arc;

use catalogue::Catalogue;
use model::{
    Channel, EntryKey, EntryReason, ReadyId, UtcMillis, WorldSnapshot,
    fold::EntryView,
    limits::REVOCABLE_MS,
    plan::Plan,
    ready::{self, Ready, ReadyEntry},
};
use store::{JournalOutcome, JournalRows};

use crate::{check, facts::SenderFacts};

/// The Ready that puts a push into other words; nothing if it was not sent, is too old, or has no other words. The Ready without
/// words on whose occasion it is made has the facts.
pub(crate) fn build_renewal(
    occasion: &Ready,
    (push, journalled): (ReadyId, &JournalRows),
    facts: &SenderFacts,
    (world, catalogue): (&WorldSnapshot, &Catalogue),
    now: UtcMillis,
) -> Option<Ready> {
    let sent = journalled.records.iter().find(|record| record.what == JournalOutcome::Sent)?;
    let claim = journalled.claims.iter().find(|claim| claim.attempt == sent.attempt)?;
    let plan = catalogue.plans.by_name.get(claim.plan.as_ref()?)?;
    let is_revoked = |key: &EntryKey| facts.view.get(*key).is_some_and(EntryView::is_withdrawn);
    let (revoked, rest): (Vec<EntryKey>, Vec<EntryKey>) = claim.told.iter().copied().partition(is_revoked);
    let is_over = now.since(sent.at) > REVOCABLE_MS || plan.channel != Channel::Push;
    if is_over || revoked.is_empty() || rest.is_empty() {
        return None;
    }
    let part = u16::try_from(revoked.len()).unwrap_or(u16::MAX);
    let Ready { tenant, person, due, .. } = occasion;
    let day_ends = rest.iter().map(|key| plan.day_life.expiry(key.day()));
    let mut renewal = Ready {
        id: ready::derive_ready_id(tenant, person, &plan.name, &push.to_string(), sent.at, part),
        plan: plan.name.clone(),
        opening: sent.at,
        silent: true,
        attempt: 0,
        due: *due,
        expires: day_ends.min()?.min(occasion.expires),
        entries: Vec::new(),
        more: vec![0; plan.sections.len()],
        badge: plan.badge,
        renews: Some(push),
        ..occasion.clone()
    };
    renewal.entries = list_entries(&renewal, &rest, plan, facts, (world, catalogue));
    (!renewal.entries.is_empty()).then_some(renewal)
}

/// What is left, in the order in which it was told; what is told as one is one again.
fn list_entries(
    renewal: &Ready,
    rest: &[EntryKey],
    plan: &Plan,
    facts: &SenderFacts,
    of: (&WorldSnapshot, &Catalogue),
) -> Vec<ReadyEntry> {
    let mut entries: Vec<ReadyEntry> = Vec::new();
    let mut bundles: Vec<Option<(usize, Arc<str>)>> = Vec::new();
    for key in rest {
        let Some(entry) = build_entry(*key, plan, facts) else { continue };
        let bundle = check::find_bundle(renewal, &entry, facts, of);
        let same = bundles.iter().position(|other| bundle.is_some() && *other == bundle);
        match entries.get_mut(same.unwrap_or(bundles.len())) {
            Some(lead) => lead.others.push(*key),
            None => {
                entries.push(entry);
                bundles.push(bundle);
            }
        }
    }
    entries
}

fn build_entry(key: EntryKey, plan: &Plan, facts: &SenderFacts) -> Option<ReadyEntry> {
    let seen = facts.view.get(key)?;
    let told = seen.reasons.iter().filter(|reason| plan.section_of(&reason.kind).is_some());
    let reasons: Vec<EntryReason> = told.cloned().collect();
    let (section, _) = plan.told_kind(&reasons)?;
    let section = u16::try_from(section).ok()?;
    Some(ReadyEntry { section, ..ReadyEntry::new(key, seen.subject()?.clone(), reasons) })
}
