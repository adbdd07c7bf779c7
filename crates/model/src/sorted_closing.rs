//! The candidates of a closing, sorted: what its message tells, what waits for the next one, and what ends.

use std::{cmp::Ordering, collections::BTreeMap};

use crate::{
    closing_candidate::ClosingCandidate,
    entry::EntryKey,
    fault::{self, PlantedFault},
    id::SubjectRef,
    limits::READY_ENTRIES_MAX,
    mark::EndReason,
    plan::{OncePer, Plan},
    time::Day,
};

/// A candidate and the best section that tells it.
pub(crate) type PlacedCandidate = (usize, ClosingCandidate);

/// Candidates that are told as one: usually one, several if a subject is told once. The best one leads, and all of them
/// are in its section.
pub(crate) type CandidateGroup = Vec<PlacedCandidate>;

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
    let is_repeated = |group: &CandidateGroup| group.iter().all(|(_, one)| one.repeated);
    let (repeated, groups): (Vec<CandidateGroup>, Vec<CandidateGroup>) =
        group_candidates(live, plan.once_per).into_iter().partition(is_repeated);
    let mut used = vec![0_u16; plan.sections.len()];
    sorted.more.clone_from(&used);
    let mut entries_left = READY_ENTRIES_MAX;
    for mut group in groups.into_iter().chain(repeated) {
        let section = group[0].0;
        // One subject never fills more than a Ready; the rest of its entries wait.
        let rest = group.split_off(group.len().min(READY_ENTRIES_MAX));
        sorted.carried.extend(rest.into_iter().map(|(_, candidate)| candidate));
        let within = used[section] < plan.sections[section].most && group.len() <= entries_left;
        if within {
            used[section] += 1;
            entries_left -= group.len();
            sorted.told.push(group);
        } else if !fault::is_planted(PlantedFault::OverflowDropped) && !is_repeated(&group) {
            sorted.more[section] = sorted.more[section].saturating_add(1);
            sorted.carried.extend(group.into_iter().map(|(_, candidate)| candidate));
        }
    }
    if sorted.told.iter().all(is_repeated) {
        sorted.told.clear();
    }
    sorted.told.sort_by(|a, b| compare_placed(&a[0], &b[0]));
    sorted.carried.retain(|one| !one.repeated);
    sorted
}

/// Puts together what is said only once, the best first.
fn group_candidates(live: Vec<PlacedCandidate>, once_per: OncePer) -> Vec<CandidateGroup> {
    let mut groups: Vec<CandidateGroup> = Vec::new();
    let mut of_subject: BTreeMap<SubjectRef, usize> = BTreeMap::new();
    for placed in live {
        let next = groups.len();
        let place = match once_per {
            OncePer::Event => next,
            OncePer::Mail | OncePer::Subject => *of_subject.entry(placed.1.subject.clone()).or_insert(next),
        };
        if place == next {
            groups.push(CandidateGroup::new());
        }
        groups[place].push(placed);
    }
    groups.iter_mut().for_each(|group| group.sort_by(compare_placed));
    groups.sort_by(|a, b| compare_placed(&a[0], &b[0]));
    groups
}

/// The section first: ranks of two sections, a date here and a distance there, do not compare.
fn compare_placed((a_section, a): &PlacedCandidate, (b_section, b): &PlacedCandidate) -> Ordering {
    a_section.cmp(b_section).then(b.rank.total_cmp(&a.rank)).then(b.key.cmp(&a.key))
}
