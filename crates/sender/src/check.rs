//! Asked again at the end: does each entry of a Ready still hold?

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use catalogue::{
    Catalogue,
    bundles::BundleEntry,
    truth::{PersonReach, TellableEntry, reasons_that_hold},
};
use model::{
    Actor, EndReason, EntryKey, EntryReason, EntryView, Fate, Kind, ReadyId, SubjectRef, UtcMillis,
    VersionedState, WorldSnapshot,
    device::{self, DevicePlatform},
    fault::{self, PlantedFault},
    plan::{GENERAL, Plan},
    ready::{Ready, ReadyEntry},
    time::AskedMoment,
};
use store::JournalClaim;

use crate::{badge::IconNews, facts::SenderFacts, left_out_entries::LeftOutEntries};

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
    let reach = find_reach(ready, facts, (catalogue, now));
    for entry in &ready.entries {
        let mut bundles = BTreeMap::new();
        let mut keys: Vec<EntryKey> = entry.keys().collect();
        // The newest that holds stands for the others.
        keys.sort_unstable_by(|a, b| b.cmp(a));
        for key in keys {
            let reasons = reach.keep_reaching(catalogue, reasons_of(entry, key, facts));
            let found = reasons
                .and_then(|reasons| check_entry(ready, (key, &reasons), facts, (world, catalogue), now));
            match found {
                Ok((subject, reasons)) => {
                    let told = ReadyEntry { key, subject, reasons, others: Vec::new(), ..entry.clone() };
                    let bundle = find_bundle(ready, &told, facts, (world, catalogue));
                    let place = checked.told.len();
                    let first = bundle.map_or(place, |bundle| *bundles.entry(bundle).or_insert(place));
                    match checked.told.get_mut(first) {
                        Some(lead) => lead.others.push(key),
                        None => checked.told.push(told),
                    }
                }
                Err(why) => checked.left.push((key, why)),
            }
        }
    }
    checked
}

/// Why an entry of a Ready is told: the one that it names by the reasons that it names, those that it stands for by theirs of
/// the same kinds.
fn reasons_of(entry: &ReadyEntry, key: EntryKey, facts: &SenderFacts) -> Vec<EntryReason> {
    if key == entry.key {
        return entry.reasons.clone();
    }
    let of_bundle = |reason: &&EntryReason| entry.reasons.iter().any(|lead| lead.kind == reason.kind);
    let seen = facts.view.get(key);
    seen.into_iter().flat_map(|seen| &seen.reasons).filter(of_bundle).cloned().collect()
}

/// With what an entry is told as one by now; nothing if its kind, as it is told now, has no bundles.
pub(crate) fn find_bundle(
    ready: &Ready,
    told: &ReadyEntry,
    facts: &SenderFacts,
    (world, catalogue): (&WorldSnapshot, &Catalogue),
) -> Option<(usize, Arc<str>)> {
    static UNKNOWN: VersionedState = VersionedState { cells: BTreeMap::new() };
    let (section, kind) = section_of_entry(catalogue.plans.by_name.get(&ready.plan)?, told)?;
    let seen = facts.view.get(told.key)?;
    let state = world.state(&ready.tenant, &told.subject).unwrap_or(&UNKNOWN);
    let words = BundleEntry { subject: &told.subject, actor: seen.actor(), kept: seen.kept_fields(), state };
    Some((section, catalogue.kinds.get(&kind)?.bundle_of(words)?))
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
    let left: BTreeMap<EntryKey, EndReason> = left.into_iter().collect();
    let why = |key| left.get(&key).copied().unwrap_or(EndReason::NoLongerTrue);
    let told: BTreeSet<EntryKey> = claim.told.iter().copied().collect();
    ready.keys().filter(|key| !told.contains(key)).map(|key| (key, why(key))).collect()
}

/// What concerns the whole Ready.
fn find_reach(ready: &Ready, facts: &SenderFacts, (catalogue, now): (&Catalogue, UtcMillis)) -> PersonReach {
    if now >= ready.expires {
        return PersonReach::ended(EndReason::Expired);
    }
    // A plan that this catalogue does not have says nothing about whom it may reach (`is_known`).
    let stream = catalogue.plans.by_name.get(&ready.plan).map_or(GENERAL, |plan| &*plan.stream);
    PersonReach::find(&facts.reader(ready), (ready.channel, stream), now)
}

/// Whether somebody's app is to show another number than it was told, or to take a push from the screen, where that is all that a
/// Ready tells. A browser may not be told without words.
pub fn wants_wordless(
    ready: &Ready,
    facts: &SenderFacts,
    (world, catalogue): (&WorldSnapshot, &Catalogue),
    now: UtcMillis,
) -> bool {
    ready.is_wordless()
        && find_reach(ready, facts, (catalogue, now)).by_all.is_ok()
        && device::read_devices(&facts.profile).iter().any(|device| device.platform != DevicePlatform::Web)
        && !IconNews::find(ready, facts, (world, catalogue), now).is_known(facts)
}

fn check_entry(
    ready: &Ready,
    (key, reasons): (EntryKey, &[EntryReason]),
    facts: &SenderFacts,
    (world, catalogue): (&WorldSnapshot, &Catalogue),
    now: UtcMillis,
) -> Result<(SubjectRef, Vec<EntryReason>), EndReason> {
    let seen = facts.view.get(key).ok_or(EndReason::Expired)?;
    let subject = seen.subject().ok_or(EndReason::Expired)?;
    // The marks of the Ready in hand are not held against it.
    match seen.fate_without(ready.channel, Some(ready.teller())) {
        Fate::Waiting { .. } => {}
        // The first of a window may be told again beside the others; nothing else has been told by its first part.
        Fate::Told { ready: by } if by == first_ready_id(ready) => {}
        // What another message told as well is on the screen all the same.
        Fate::Told { .. } if ready.renews.is_some() && is_on_screen(seen) => {}
        Fate::Told { .. } => return Err(EndReason::ToldElsewhere),
        Fate::Read | Fate::Cleared => return Err(EndReason::SeenBefore),
        Fate::PutOff => return Err(EndReason::PutOff),
        Fate::Ended(why) => return Err(why),
    }
    let known = |reason: &&EntryReason| catalogue.kinds.contains_key(&reason.kind);
    let reasons: BTreeSet<EntryReason> = reasons.iter().filter(known).cloned().collect();
    if reasons.is_empty() {
        return Err(EndReason::KindGone);
    }
    let told = TellableEntry {
        subject,
        key,
        actor: seen.actor().and_then(Actor::person),
        reasons: &reasons,
        place: ready.channel.into(),
        moment: AskedMoment { now, due: ready.due },
    };
    Ok((subject.clone(), reasons_that_hold(world, &facts.reader(ready), &told, catalogue)?))
}

/// Whether what a push told is still what the person may see there.
fn is_on_screen(seen: &EntryView) -> bool {
    !seen.is_read_or_cleared() && !seen.is_withdrawn() && seen.put_off().is_none()
}

/// The Ready that told the first of a window before its others.
fn first_ready_id(ready: &Ready) -> ReadyId {
    let Ready { tenant, person, plan, key, opening, .. } = ready;
    model::ready::derive_ready_id(tenant, person, plan, key, *opening, 0)
}

/// The section that says an entry, and the kind in whose words. What no longer holds may have been the
/// reason for its section: then it is said in the first that tells one of the kinds that are left.
pub(crate) fn section_of_entry(plan: &Plan, entry: &ReadyEntry) -> Option<(usize, Kind)> {
    let own = usize::from(entry.section);
    let kinds = || entry.reasons.iter().map(|reason| &reason.kind);
    let told_here = |kind: &&Kind| plan.sections.get(own).is_some_and(|own| own.kinds.contains(kind));
    if let Some(kind) = kinds().find(told_here) {
        return Some((own, kind.clone()));
    }
    let elsewhere = kinds().filter_map(|kind| Some((plan.section_of(kind)?, kind)));
    // A catalogue that changed meanwhile may tell none of them anywhere; its own section still takes it.
    let first = elsewhere.min_by_key(|(section, _)| *section).or_else(|| Some((own, kinds().next()?)));
    first.map(|(section, kind)| (section, kind.clone()))
}
