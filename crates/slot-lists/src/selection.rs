//! The things of a list, chosen among the candidates of several sources.

use std::collections::{BTreeMap, BTreeSet};

use diverse_order::{DiverseKeys, order_diverse};
use model::SubjectRef;

/// Somebody that may be chosen, and what it should not stand beside another one of, such as a brand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotCandidate {
    pub subject: SubjectRef,
    pub maker: Option<String>,
}

/// What a source suggests, the best first, and how many of a list are its own if it has so many.
#[derive(Clone, Debug)]
pub struct SlotSource {
    pub candidates: Vec<SlotCandidate>,
    pub share: usize,
}

/// Chooses so many things, none twice and none that is excluded: of each source its share, then whatever is best of all, from one
/// source after the other; and puts them into an order in which no two of one maker stand beside each other, where there is one.
pub fn choose_things(
    sources: &[SlotSource],
    excluded: &BTreeSet<SubjectRef>,
    most: usize,
) -> Vec<SubjectRef> {
    let mut known = excluded.clone();
    let mut chosen: Vec<&SlotCandidate> = Vec::new();
    let mut rest: Vec<_> = sources.iter().map(|source| source.candidates.iter()).collect();
    for (source, candidates) in sources.iter().zip(&mut rest) {
        let room = source.share.min(most.saturating_sub(chosen.len()));
        let new = candidates.by_ref().filter(|one| known.insert(one.subject.clone()));
        chosen.extend(new.take(room));
    }
    while chosen.len() < most {
        let before = chosen.len();
        for candidates in &mut rest {
            let new = candidates.find(|one| known.insert(one.subject.clone()));
            chosen.extend(new.filter(|_| chosen.len() < most));
        }
        if chosen.len() == before {
            break;
        }
    }
    order_by_maker(&chosen)
}

fn order_by_maker(chosen: &[&SlotCandidate]) -> Vec<SubjectRef> {
    let mut numbers = BTreeMap::new();
    let mut number_of = |maker: &String| {
        let next = numbers.len();
        *numbers.entry(maker.clone()).or_insert(next)
    };
    let keys: Vec<DiverseKeys> = chosen
        .iter()
        .enumerate()
        .map(|(subject, one)| DiverseKeys { subject, actor: one.maker.as_ref().map(&mut number_of) })
        .collect();
    order_diverse(&keys, chosen.len()).into_iter().map(|at| chosen[at].subject.clone()).collect()
}
