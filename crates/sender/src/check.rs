//! Asked again at the end: does each entry of a Ready still hold?

use std::collections::BTreeSet;

use catalogue::{
    Catalogue,
    truth::{TellableEntry, check_reachable, reasons_that_hold},
};
use model::{
    EndReason, EntryReason, Fate, ReadyId, UtcMillis, WorldSnapshot,
    device::{self, DevicePlatform},
    fault::{self, PlantedFault},
    plan::GENERAL,
    ready::{Ready, ReadyEntry},
};
use store::JournalClaim;

use crate::{facts::SenderFacts, left_out_entries::LeftOutEntries};

/// What is left of a Ready.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckedReady {
    /// Entries that go out, with the reasons that still hold.
    pub told: Vec<ReadyEntry>,
    /// Entries that stay behind, and why.
    pub left: LeftOutEntries,
}

/// Whether this catalogue has the plan, and for each entry one of its kinds. What it does not have may be gone, or may have
/// come with a newer one that this process was not given yet: whoever owns the person decides by theirs.
pub fn is_known(ready: &Ready, catalogue: &Catalogue) -> bool {
    let plan = catalogue.plans.by_name.get(&ready.plan);
    let has_kind = |reason: &EntryReason| catalogue.kinds.contains_key(&reason.kind);
    plan.is_some_and(|plan| plan.channel == ready.channel)
        && ready.entries.iter().all(|entry| entry.reasons.iter().any(has_kind) || entry.reasons.is_empty())
}

/// Checks every entry of a Ready.
pub fn check_ready(
    ready: &Ready,
    facts: &SenderFacts,
    world: &WorldSnapshot,
    catalogue: &Catalogue,
    now: UtcMillis,
) -> CheckedReady {
    let mut checked = CheckedReady::default();
    if fault::is_planted(PlantedFault::UncheckedAtEnd) {
        checked.told.clone_from(&ready.entries);
        return checked;
    }
    let whole = check_whole(ready, facts, catalogue, now);
    for entry in &ready.entries {
        match whole.and_then(|()| check_entry(ready, entry, facts, world, catalogue)) {
            Ok(reasons) => checked.told.push(ReadyEntry { reasons, ..entry.clone() }),
            Err(why) => checked.left.push((entry.key, why)),
        }
    }
    checked
}

/// Entries that a claim did not tell stay behind, for their present reason.
pub fn untold_entries(
    ready: &Ready,
    claim: &JournalClaim,
    facts: Option<&SenderFacts>,
    world: &WorldSnapshot,
    catalogue: &Catalogue,
    now: UtcMillis,
) -> LeftOutEntries {
    let facts = facts.filter(|_| is_known(ready, catalogue));
    let left = facts.map(|facts| check_ready(ready, facts, world, catalogue, now).left).unwrap_or_default();
    let why =
        |key| left.iter().find(|(other, _)| *other == key).map_or(EndReason::NoLongerTrue, |(_, why)| *why);
    let untold = ready.entries.iter().filter(|entry| !claim.told.contains(&entry.key));
    untold.map(|entry| (entry.key, why(entry.key))).collect()
}

/// What concerns the whole Ready.
fn check_whole(
    ready: &Ready,
    facts: &SenderFacts,
    catalogue: &Catalogue,
    now: UtcMillis,
) -> Result<(), EndReason> {
    if now >= ready.expires {
        return Err(EndReason::Expired);
    }
    // A plan that this catalogue does not have says nothing about whom it may reach (`is_known`).
    let stream = catalogue.plans.by_name.get(&ready.plan).map_or(GENERAL, |plan| &*plan.stream);
    check_reachable(&facts.reader(ready), ready.channel, stream, now)
}

/// Whether somebody's app is to show another number, where that is all that a Ready tells. A browser may not be
/// told anything without showing a message, so it is not told this.
pub fn wants_badge(ready: &Ready, facts: &SenderFacts, catalogue: &Catalogue, now: UtcMillis) -> bool {
    ready.is_badge()
        && check_whole(ready, facts, catalogue, now).is_ok()
        && device::read_devices(&facts.profile).iter().any(|device| device.platform != DevicePlatform::Web)
}

fn check_entry(
    ready: &Ready,
    entry: &ReadyEntry,
    facts: &SenderFacts,
    world: &WorldSnapshot,
    catalogue: &Catalogue,
) -> Result<Vec<EntryReason>, EndReason> {
    let seen = facts.view.get(entry.key).ok_or(EndReason::Expired)?;
    // The marks of the Ready in hand are not held against it.
    match seen.fate_without(ready.channel, Some(ready.id)) {
        Fate::Waiting { .. } => {}
        // The first of a window may be told again beside the others; nothing else has been told by its first part.
        Fate::Told { ready: by } if by == first_ready_id(ready) => {}
        Fate::Told { .. } => return Err(EndReason::ToldElsewhere),
        Fate::Read | Fate::Cleared => return Err(EndReason::SeenBefore),
        Fate::Ended(why) => return Err(why),
    }
    let known = |reason: &&EntryReason| catalogue.kinds.contains_key(&reason.kind);
    let reasons: BTreeSet<EntryReason> = entry.reasons.iter().filter(known).cloned().collect();
    if reasons.is_empty() {
        return Err(EndReason::KindGone);
    }
    let told = TellableEntry { subject: &entry.subject, actor: seen.actor(), reasons: &reasons };
    reasons_that_hold(world, &facts.reader(ready), &told, catalogue)
}

/// The Ready that told the first of a window before its others.
fn first_ready_id(ready: &Ready) -> ReadyId {
    let Ready { tenant, person, plan, key, opening, .. } = ready;
    model::ready::derive_ready_id(tenant, person, plan, key, *opening, 0)
}
