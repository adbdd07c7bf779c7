//! The candidates of a closing, sorted: what its message tells, what waits for the next one, and what ends.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use diverse_order::{DiverseKeys, order_diverse};

use crate::{
    closing_candidate::ClosingCandidate,
    entry::EntryKey,
    fault::{self, PlantedFault},
    id::SubjectRef,
    limits::READY_ENTRIES_MAX,
    mark::EndReason,
    plan::{OncePer, Plan, SectionOrder},
    time::Day,
};

/// A candidate and the best section that tells it.
pub(crate) type PlacedCandidate = (usize, ClosingCandidate);

/// Candidates that are told as one: usually one, several if a subject is told once or if they are a bundle. The best one leads,
/// and all of them are in its section.
pub(crate) struct CandidateGroup {
    /// The first stands for all of them.
    pub is_bundle: bool,
    pub members: Vec<PlacedCandidate>,
}

impl CandidateGroup {
    fn lead(&self) -> &PlacedCandidate {
        &self.members[0]
    }

    pub fn section(&self) -> usize {
        self.members[0].0
    }

    /// How many entries of a Ready it makes.
    fn entries(&self) -> usize {
        if self.is_bundle { 1 } else { self.members.len() }
    }

    fn is_repeated(&self) -> bool {
        self.members.iter().all(|(_, one)| one.repeated)
    }

    /// Its candidates.
    pub fn into_candidates(self) -> impl Iterator<Item = ClosingCandidate> {
        self.members.into_iter().map(|(_, candidate)| candidate)
    }
}

/// By what candidates are told as one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum GroupKey {
    /// What may have been told before stands apart, for it may come back no further time.
    Bundle(usize, Arc<str>, bool),
    Subject(SubjectRef),
}

/// What a closing came to.
#[derive(Default)]
pub(crate) struct SortedClosing {
    pub told: Vec<CandidateGroup>,
    pub carried: Vec<ClosingCandidate>,
    pub ended: Vec<(EntryKey, EndReason)>,
    /// By section, how many things there was no room for.
    pub more: Vec<u16>,
}

impl SortedClosing {
    /// All that is told.
    pub fn told_keys(&self) -> impl Iterator<Item = EntryKey> {
        self.told.iter().flat_map(|group| &group.members).map(|(_, candidate)| candidate.key)
    }

    /// Of a closing that only ends.
    pub fn with_ended(ended: Vec<(EntryKey, EndReason)>) -> Self {
        Self { ended, ..Self::default() }
    }
}

/// Sorts candidates into sections, by rank, within the budgets; what lies before the look-back ends. What was told first
/// has been told, whatever becomes of it here: it has the room that the others leave, and is told beside one of them.
pub(crate) fn sort_candidates(candidates: Vec<ClosingCandidate>, plan: &Plan, oldest: Day) -> SortedClosing {
    let mut sorted = SortedClosing::default();
    let mut live = Vec::new();
    for candidate in candidates {
        let is_past = candidate.key.day() < oldest;
        match (candidate.holds, candidate.best_section(plan)) {
            (Ok(()), Some(section)) if !is_past && !candidate.awaits => live.push((section, candidate)),
            _ if candidate.repeated => {}
            (Ok(()), Some(_)) if is_past => sorted.ended.push((candidate.key, EndReason::Expired)),
            (Ok(()), Some(_)) => sorted.carried.push(candidate),
            (Ok(()), None) => sorted.ended.push((candidate.key, EndReason::KindGone)),
            (Err(why), _) => sorted.ended.push((candidate.key, why)),
        }
    }
    let (repeated, mut groups): (Vec<CandidateGroup>, Vec<CandidateGroup>) =
        group_candidates(live, plan.once_per).into_iter().partition(CandidateGroup::is_repeated);
    diversify_sections(&mut groups, plan);
    let mut used = vec![0_u16; plan.sections.len()];
    sorted.more.clone_from(&used);
    let mut entries_left = READY_ENTRIES_MAX;
    for mut group in groups.into_iter().chain(repeated) {
        let section = group.section();
        if !group.is_bundle {
            // One subject never fills more than a Ready; the rest of its entries wait.
            let rest = group.members.split_off(group.members.len().min(READY_ENTRIES_MAX));
            sorted.carried.extend(rest.into_iter().map(|(_, candidate)| candidate));
        }
        let within = used[section] < plan.sections[section].most && group.entries() <= entries_left;
        if within {
            used[section] += 1;
            entries_left -= group.entries();
            sorted.told.push(group);
        } else if !fault::is_planted(PlantedFault::OverflowDropped) && !group.is_repeated() {
            sorted.more[section] = sorted.more[section].saturating_add(1);
            sorted.carried.extend(group.into_candidates());
        }
    }
    if sorted.told.iter().all(CandidateGroup::is_repeated) {
        sorted.told.clear();
    }
    sorted.told.sort_by(|a, b| compare_placed(a.lead(), b.lead()));
    // What was told first came behind the others, and has found its place among them.
    diversify_sections(&mut sorted.told, plan);
    sorted.carried.retain(|one| !one.repeated);
    sorted
}

/// Puts together what is said only once, the best first.
fn group_candidates(live: Vec<PlacedCandidate>, once_per: OncePer) -> Vec<CandidateGroup> {
    let mut groups: Vec<CandidateGroup> = Vec::new();
    let mut places: BTreeMap<GroupKey, usize> = BTreeMap::new();
    for placed in live {
        let (section, candidate) = &placed;
        let key = match (&candidate.bundle, once_per) {
            (Some(bundle), _) => Some(GroupKey::Bundle(*section, bundle.clone(), candidate.maybe)),
            (None, OncePer::Event) => None,
            (None, OncePer::Mail | OncePer::Subject) => Some(GroupKey::Subject(candidate.subject.clone())),
        };
        let (next, is_bundle) = (groups.len(), candidate.bundle.is_some());
        let place = key.map_or(next, |key| *places.entry(key).or_insert(next));
        if place == next {
            groups.push(CandidateGroup { is_bundle, members: Vec::new() });
        }
        groups[place].members.push(placed);
    }
    groups.iter_mut().for_each(|group| group.members.sort_by(compare_placed));
    groups.sort_by(|a, b| compare_placed(a.lead(), b.lead()));
    groups
}

/// Puts what a diverse section has room for into its order. The others keep theirs.
fn diversify_sections(groups: &mut [CandidateGroup], plan: &Plan) {
    for of_section in groups.chunk_by_mut(|a, b| a.section() == b.section()) {
        let section = of_section.first().and_then(|group| plan.sections.get(group.section()));
        let Some(section) = section.filter(|section| section.order == SectionOrder::Diverse) else {
            continue;
        };
        let order = order_diverse(&number_keys(of_section), usize::from(section.most));
        let mut things: Vec<usize> = (0..of_section.len()).collect();
        for (place, next) in order.into_iter().enumerate() {
            if let Some(ahead) = things[place..].iter().position(|thing| *thing == next) {
                things[place..=place + ahead].rotate_right(1);
                of_section[place..=place + ahead].rotate_right(1);
            }
        }
    }
}

/// What the leads of groups have in common, as numbers.
fn number_keys(groups: &[CandidateGroup]) -> Vec<DiverseKeys> {
    let (mut subjects, mut actors) = (BTreeMap::new(), BTreeMap::new());
    let mut keys = Vec::with_capacity(groups.len());
    for (_, lead) in groups.iter().map(CandidateGroup::lead) {
        let next = subjects.len();
        let subject = *subjects.entry(&lead.subject).or_insert(next);
        let actor = lead.actor.as_ref().map(|actor| {
            let next = actors.len();
            *actors.entry(&actor.id).or_insert(next)
        });
        keys.push(DiverseKeys { subject, actor });
    }
    keys
}

/// The section first: ranks of two sections, a date here and a distance there, do not compare.
fn compare_placed((a_section, a): &PlacedCandidate, (b_section, b): &PlacedCandidate) -> Ordering {
    a_section.cmp(b_section).then(b.rank.total_cmp(&a.rank)).then(b.key.cmp(&a.key))
}
