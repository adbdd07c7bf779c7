//! Asked again at the end: does each entry of a Ready still hold?

use std::collections::{BTreeMap, BTreeSet};

use catalogue::{
    Catalogue,
    truth::{Reader, Told, reachable, still},
};
use model::{
    DayView, EntryKey, Fate, Millis, ReadyId, Reason, State, Why, World,
    device::{self, Platform},
    fault::{self, Fault},
    plan::GENERAL,
    ready::{Ready, ReadyEntry},
};
use store::Claim;

/// What was loaded for one Ready.
#[derive(Default, Debug)]
pub struct Facts {
    pub profile: State,
    pub mutes: State,
    pub notes: State,
    pub view: DayView,
}

impl Facts {
    /// The person that a Ready is for.
    fn reader<'a>(&'a self, ready: &'a Ready) -> Reader<'a> {
        let Self { profile, mutes, notes, .. } = self;
        Reader { tenant: &ready.tenant, person: &ready.person, profile, mutes, notes }
    }
}

/// Entries that stay behind, and why.
pub type Left = Vec<(EntryKey, Why)>;

/// What is left of a Ready.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Checked {
    /// Entries that go out, with the reasons that still hold.
    pub told: Vec<ReadyEntry>,
    /// Entries that stay behind, and why.
    pub left: Left,
}

/// Whether this catalogue has the plan, and for each entry one of its kinds. What it does not have may be gone, or may have
/// come with a newer one that this process was not given yet: whoever owns the person decides by theirs.
pub fn is_known(ready: &Ready, catalogue: &Catalogue) -> bool {
    let plan = catalogue.plans.by_name.get(&ready.plan);
    let has_kind = |reason: &Reason| catalogue.kinds.contains_key(&reason.kind);
    plan.is_some_and(|plan| plan.channel == ready.channel)
        && ready.entries.iter().all(|entry| entry.reasons.iter().any(has_kind) || entry.reasons.is_empty())
}

/// Checks every entry of a Ready.
pub fn check(ready: &Ready, facts: &Facts, world: &World, catalogue: &Catalogue, now: Millis) -> Checked {
    let mut checked = Checked::default();
    if fault::planted(Fault::UncheckedAtEnd) {
        checked.told.clone_from(&ready.entries);
        return checked;
    }
    let whole = whole(ready, facts, catalogue, now);
    for entry in &ready.entries {
        match whole.and_then(|()| holds(ready, entry, facts, world, catalogue)) {
            Ok(reasons) => checked.told.push(ReadyEntry { reasons, ..entry.clone() }),
            Err(why) => checked.left.push((entry.key, why)),
        }
    }
    checked
}

/// What a claim did not tell: it stays behind, for the reason that it has now.
pub fn untold(
    ready: &Ready,
    claim: &Claim,
    facts: Option<&Facts>,
    world: &World,
    catalogue: &Catalogue,
    now: Millis,
) -> Left {
    let facts = facts.filter(|_| is_known(ready, catalogue));
    let left = facts.map(|facts| check(ready, facts, world, catalogue, now).left).unwrap_or_default();
    let why = |key| left.iter().find(|(other, _)| *other == key).map_or(Why::NoLongerTrue, |(_, why)| *why);
    let untold = ready.entries.iter().filter(|entry| !claim.told.contains(&entry.key));
    untold.map(|entry| (entry.key, why(entry.key))).collect()
}

/// What concerns the whole Ready.
fn whole(ready: &Ready, facts: &Facts, catalogue: &Catalogue, now: Millis) -> Result<(), Why> {
    if now >= ready.expires {
        return Err(Why::Expired);
    }
    // A plan that this catalogue does not have says nothing about whom it may reach (`is_known`).
    let stream = catalogue.plans.by_name.get(&ready.plan).map_or(GENERAL, |plan| &*plan.stream);
    reachable(&facts.reader(ready), ready.channel, stream, now)
}

/// Whether somebody's app is to show another number, where that is all that a Ready tells. A browser may not be
/// told anything without showing a message, so it is not told this.
pub fn wants_badge(ready: &Ready, facts: &Facts, catalogue: &Catalogue, now: Millis) -> bool {
    ready.is_badge()
        && whole(ready, facts, catalogue, now).is_ok()
        && device::of(&facts.profile).iter().any(|device| device.platform != Platform::Web)
}

fn holds(
    ready: &Ready,
    entry: &ReadyEntry,
    facts: &Facts,
    world: &World,
    catalogue: &Catalogue,
) -> Result<Vec<Reason>, Why> {
    let seen = facts.view.get(entry.key).ok_or(Why::Expired)?;
    // The marks of the Ready in hand are not held against it.
    match seen.fate_but(ready.channel, Some(ready.id)) {
        Fate::Waiting { .. } => {}
        // The first of a window may be told again beside the others; nothing else has been told by its first part.
        Fate::Told { ready: by } if by == first_of(ready) => {}
        Fate::Told { .. } => return Err(Why::ToldElsewhere),
        Fate::Read | Fate::Cleared => return Err(Why::SeenBefore),
        Fate::Ended(why) => return Err(why),
    }
    let known = |reason: &&Reason| catalogue.kinds.contains_key(&reason.kind);
    let reasons: BTreeSet<Reason> = entry.reasons.iter().filter(known).cloned().collect();
    if reasons.is_empty() {
        return Err(Why::KindGone);
    }
    let told = Told { subject: &entry.subject, actor: seen.actor(), reasons: &reasons };
    still(world, &facts.reader(ready), &told, catalogue)
}

/// The Ready that told the first of a window before its others.
fn first_of(ready: &Ready) -> ReadyId {
    let Ready { tenant, person, plan, key, opening, .. } = ready;
    model::ready::id(tenant, person, plan, key, *opening, 0)
}

/// Facts by Ready, in the order of a batch.
pub type FactsOf = BTreeMap<model::ReadyId, Facts>;
