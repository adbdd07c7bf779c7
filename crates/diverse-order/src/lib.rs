//! The order of a section that is `diverse`: no two things of one subject or actor stand beside each other, where there is
//! such an order.
//!
//! Things come in the order of their rank. At each place stands the first one that is not like the one before it and that
//! leaves an order for the rest. Whether it does is counted: of what has a key in common, each second place holds one at most.
//! For one key that count is the whole truth, so nothing is ever taken back; for subject and actor together it is not, so
//! choices are taken back, within a budget. Where there is no such order, what there is most of comes first.

use std::collections::BTreeMap;

/// How many choices one section may take: those of a section of 60 that never go back are far fewer.
const CHOICES_MAX: usize = 5_000;

/// What two things that are alike have in common: numbers of their subject and their actor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiverseKeys {
    pub subject: usize,
    pub actor: Option<usize>,
}

impl DiverseKeys {
    fn is_alike(self, other: Self) -> bool {
        self.subject == other.subject || (self.actor.is_some() && self.actor == other.actor)
    }
}

/// Which thing stands at each of the first places.
pub fn order_diverse(things: &[DiverseKeys], places: usize) -> Vec<usize> {
    let places = places.min(things.len());
    let mut order = DiverseOrder::new(things, places);
    let mut choices = CHOICES_MAX;
    if order.fill(&mut choices) { order.chosen } else { DiverseOrder::new(things, places).fill_best() }
}

struct DiverseOrder<'a> {
    things: &'a [DiverseKeys],
    places: usize,
    is_chosen: Vec<bool>,
    chosen: Vec<usize>,
    /// How many things are left of each subject, and of each actor.
    subjects: BTreeMap<usize, usize>,
    actors: BTreeMap<usize, usize>,
    /// How many are left of no actor.
    nobody: usize,
}

impl<'a> DiverseOrder<'a> {
    fn new(things: &'a [DiverseKeys], places: usize) -> Self {
        let (mut subjects, mut actors) = (BTreeMap::new(), BTreeMap::new());
        for thing in things {
            *subjects.entry(thing.subject).or_insert(0) += 1;
            if let Some(actor) = thing.actor {
                *actors.entry(actor).or_insert(0) += 1;
            }
        }
        let nobody = things.iter().filter(|thing| thing.actor.is_none()).count();
        let (is_chosen, chosen) = (vec![false; things.len()], Vec::with_capacity(places));
        Self { things, places, is_chosen, chosen, subjects, actors, nobody }
    }

    fn last(&self) -> Option<DiverseKeys> {
        self.chosen.last().map(|last| self.things[*last])
    }

    /// The first things by rank, as far as that leaves no two beside each other; whether there is such an order.
    fn fill(&mut self, choices: &mut usize) -> bool {
        if self.chosen.len() == self.places {
            return true;
        }
        let last = self.last();
        for next in 0..self.things.len() {
            if self.is_chosen[next] || last.is_some_and(|last| last.is_alike(self.things[next])) {
                continue;
            }
            if *choices == 0 {
                return false;
            }
            *choices -= 1;
            self.choose(next);
            if self.has_room() && self.fill(choices) {
                return true;
            }
            self.take_back(next);
        }
        false
    }

    /// Whether what is left can fill the places that are left, by each of the two keys alone.
    fn has_room(&self) -> bool {
        let places = self.places - self.chosen.len();
        let fits = |left: &BTreeMap<usize, usize>, last: Option<usize>, free: usize| {
            let most = |key: usize| if last == Some(key) { places / 2 } else { places.div_ceil(2) };
            free + left.iter().map(|(key, count)| (*count).min(most(*key))).sum::<usize>() >= places
        };
        let last = self.last();
        fits(&self.subjects, last.map(|last| last.subject), 0)
            && fits(&self.actors, last.and_then(|last| last.actor), self.nobody)
    }

    /// What there is most of, behind something that it is not like.
    fn fill_best(mut self) -> Vec<usize> {
        while self.chosen.len() < self.places {
            let last = self.last();
            let weight = |next: usize| {
                let thing = self.things[next];
                let of_actor =
                    thing.actor.and_then(|actor| self.actors.get(&actor)).copied().unwrap_or_default();
                self.subjects.get(&thing.subject).copied().unwrap_or_default().max(of_actor)
            };
            let rank = |next: &usize| {
                let is_alike = last.is_some_and(|last| last.is_alike(self.things[*next]));
                (is_alike, std::cmp::Reverse(weight(*next)), *next)
            };
            let Some(next) = (0..self.things.len()).filter(|next| !self.is_chosen[*next]).min_by_key(rank)
            else {
                break;
            };
            self.choose(next);
        }
        self.chosen
    }

    fn choose(&mut self, next: usize) {
        self.is_chosen[next] = true;
        self.chosen.push(next);
        self.count(next, |count| *count -= 1);
    }

    fn take_back(&mut self, next: usize) {
        self.is_chosen[next] = false;
        self.chosen.pop();
        self.count(next, |count| *count += 1);
    }

    fn count(&mut self, thing: usize, change: impl Fn(&mut usize)) {
        let DiverseKeys { subject, actor } = self.things[thing];
        self.subjects.entry(subject).and_modify(&change);
        match actor {
            Some(actor) => drop(self.actors.entry(actor).and_modify(&change)),
            None => change(&mut self.nobody),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_neighbours(things: &[DiverseKeys], order: &[usize]) -> bool {
        order.windows(2).any(|pair| things[pair[0]].is_alike(things[pair[1]]))
    }

    /// `1a`: of subject 1, by a; `1-` by nobody.
    fn parse_things(text: &str) -> Vec<DiverseKeys> {
        let thing = |word: &str| {
            let (subject, actor) = word.split_at(1);
            let actor = Some(actor).filter(|actor| *actor != "-").and_then(|actor| actor.bytes().next());
            DiverseKeys { subject: subject.parse().unwrap(), actor: actor.map(usize::from) }
        };
        text.split_whitespace().map(thing).collect()
    }

    #[test]
    fn like_things_stand_apart_in_the_order_of_their_rank() {
        let check = |things: &str, places: usize, expected: &str| {
            let words: Vec<&str> = things.split_whitespace().collect();
            let order = order_diverse(&parse_things(things), places);
            let found: Vec<&str> = order.iter().map(|thing| words[*thing]).collect();
            assert_eq!(found.join(" "), expected, "{things}");
        };
        check("", 5, "");
        check("1a 2b 3c", 5, "1a 2b 3c");
        check("3c 1a 2b 2b", 4, "3c 2b 1a 2b");
        check("1a 1b 2a 3c", 4, "1a 3c 1b 2a");
        check("1a 1b 1c 2d 3e", 2, "1a 2d");
        check("1- 2- 3-", 3, "1- 2- 3-");
        // There is no such order; what there is most of comes first, with all between it that there is.
        check("2a 1b 1c 1d 1e", 5, "1b 2a 1c 1d 1e");
        check("1a 1b", 2, "1a 1b");
    }

    #[test]
    fn where_there_is_an_order_without_neighbours_it_is_found() {
        fn exists(things: &[DiverseKeys], order: &mut Vec<usize>, places: usize) -> bool {
            order.len() == places
                || (0..things.len()).any(|next| {
                    let is_free = !order.contains(&next)
                        && order.last().is_none_or(|last| !things[*last].is_alike(things[next]));
                    if !is_free {
                        return false;
                    }
                    order.push(next);
                    let found = exists(things, order, places);
                    order.pop();
                    found
                })
        }
        // Every set of up to six things of three subjects by two actors or nobody, the large ones by lot.
        for (count, step) in [(1_u32, 1), (2, 1), (3, 1), (4, 1), (5, 7), (6, 53)] {
            for number in (0..9_usize.pow(count)).step_by(step) {
                let sort = |place: u32| number / 9_usize.pow(place) % 9;
                let thing = |sort: usize| DiverseKeys { subject: sort / 3, actor: (sort % 3).checked_sub(1) };
                let things: Vec<DiverseKeys> = (0..count).map(|place| thing(sort(place))).collect();
                let places = if number % 5 == 0 { things.len().div_ceil(2) } else { things.len() };
                let order = order_diverse(&things, places);
                let mut known: Vec<usize> = order.clone();
                known.sort_unstable();
                known.dedup();
                assert_eq!(known.len(), places, "each once: {things:?}");
                let wanted = exists(&things, &mut Vec::new(), places);
                assert_eq!(!has_neighbours(&things, &order), wanted, "{things:?} {order:?}");
            }
        }
    }

    #[test]
    fn a_full_section_is_never_too_much() {
        // Two keys, most of them alike, and one key of which there is just enough between.
        let things: Vec<DiverseKeys> =
            (0..2_000).map(|n| DiverseKeys { subject: n % 7 * (n % 3), actor: Some(n / 3 % 5) }).collect();
        assert!(!has_neighbours(&things, &order_diverse(&things, 60)));
        let halves: Vec<DiverseKeys> =
            (0..60).map(|n| DiverseKeys { subject: usize::from(n < 30) * (n + 1), actor: None }).collect();
        let order = order_diverse(&halves, 60);
        assert!(!has_neighbours(&halves, &order), "{order:?}");
    }
}
