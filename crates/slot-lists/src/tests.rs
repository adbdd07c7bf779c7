//! Lists as several processes serve them whose clocks differ, with stalls between all that they do; and what is chosen, as data
//! behind one `check`.

use std::collections::{BTreeMap, BTreeSet};

use model::{SubjectRef, UtcMillis};
use proptest::prelude::*;

use crate::{
    list::{ListLife, ListStep, OPENING_MS, SKEW_MS, SlotList, SlotThing},
    selection::{SlotCandidate, SlotSource, choose_things},
};

const PLACES: usize = 4;
const HOUR_MS: i64 = 3_600_000;
const LIFE: ListLife = ListLife { idle_ms: HOUR_MS, most_ms: 6 * HOUR_MS };
/// Shorter than clocks may differ.
const SHORT: ListLife = ListLife { idle_ms: 20_000, most_ms: 10 * 60_000 };

fn subject(number: usize) -> SubjectRef {
    SubjectRef::new(&format!("item:{number}")).unwrap()
}

fn thing(number: usize) -> SlotThing {
    let of = |what: &str| format!("{what} {number}").into();
    SlotThing { subject: subject(number), image: of("image"), link: of("link"), alt: of("alt") }
}

fn numbers(list: &SlotList) -> Vec<Option<String>> {
    (1..=PLACES).map(|place| Some(list.at(place)?.alt.replace("alt ", ""))).collect()
}

/// Numbers that look drawn, always the same of one seed.
struct SlotDice(u64);

impl SlotDice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn ms(&mut self, most: i64) -> i64 {
        self.below(most.unsigned_abs() + 1).cast_signed()
    }

    /// What a recommender says at a moment: some of few things, in any order.
    fn things(&mut self) -> Vec<SlotThing> {
        let mut pool: Vec<usize> = (0..9).collect();
        let count = 2 + usize::try_from(self.below(6)).unwrap();
        let take = |at: usize, pool: &mut Vec<usize>| pool.remove(at % pool.len());
        (0..count).map(|_| take(usize::try_from(self.below(64)).unwrap(), &mut pool)).map(thing).collect()
    }
}

/// A process: how its clock differs, and what it remembers of the one mail.
struct SlotProcess {
    ahead_ms: i64,
    known: Option<SlotList>,
}

/// Processes over one row, which is written only in the place of what its writer has read.
struct SlotWorld {
    dice: SlotDice,
    life: ListLife,
    now: i64,
    row: Option<SlotList>,
    processes: Vec<SlotProcess>,
    /// What each generation shows, for nobody may see two of one.
    generations: BTreeMap<u32, Vec<Option<String>>>,
}

impl SlotWorld {
    fn new(seed: u64, life: ListLife) -> Self {
        let mut dice = SlotDice(seed | 1);
        let process = |dice: &mut SlotDice| SlotProcess { ahead_ms: dice.ms(SKEW_MS), known: None };
        let processes = (0..3).map(|_| process(&mut dice)).collect();
        Self { dice, life, now: 0, row: None, processes, generations: BTreeMap::new() }
    }

    /// Time passes between any two things, sometimes until long after the reader has given up.
    fn stall(&mut self, most: i64) {
        self.now += self.dice.ms(most);
    }

    /// Writes a list in the place of what was read; whether that still stood there.
    fn replace(&mut self, before: Option<&SlotList>, next: &SlotList) -> bool {
        let is_same = self.row.as_ref() == before;
        if is_same {
            self.row = Some(next.clone());
        }
        is_same
    }

    /// A request for some place: the list of which it shows a part. It takes so long at most.
    fn serve(&mut self, number: usize, within: i64) -> SlotList {
        let clock = |world: &Self| UtcMillis(world.now + world.processes[number].ahead_ms);
        let known = self.processes[number].known.clone();
        let (now, life) = (clock(self), self.life);
        let is_served =
            |list: &SlotList| now < list.known_until() && list.find_step(life, now) == ListStep::Serve;
        if let Some(list) = known.filter(is_served) {
            return list;
        }
        loop {
            let before = self.row.clone();
            self.stall(within);
            let now = clock(self);
            let next = match before.as_ref().map(|list| (list, list.find_step(self.life, now))) {
                Some((list, ListStep::Serve)) => list.clone(),
                Some((list, ListStep::Keep(until))) => list.kept_until(until),
                Some((list, ListStep::Follow)) => {
                    let things = self.choose(within);
                    // It lives from when it is written, and not from when it was asked for.
                    list.follow_with(things, self.life, clock(self))
                }
                None => {
                    let things = self.choose(within);
                    SlotList::first(things, PLACES, self.life, clock(self))
                }
            };
            if before.as_ref() == Some(&next) || self.replace(before.as_ref(), &next) {
                self.processes[number].known = Some(next.clone());
                return next;
            }
        }
    }

    /// A recommender takes its time.
    fn choose(&mut self, within: i64) -> Vec<SlotThing> {
        self.stall(within);
        self.dice.things()
    }

    /// The moments at which something is decided about the list that stands: one comes soon.
    fn go_to_edge(&mut self) {
        let Some(row) = &self.row else { return };
        let edges =
            [row.until.0 - SKEW_MS, row.until.0, row.until.0 + SKEW_MS, row.made.0 + self.life.most_ms];
        let edge = edges[usize::try_from(self.dice.below(4)).unwrap()];
        self.now = self.now.max(edge - SKEW_MS + self.dice.ms(SKEW_MS));
    }

    /// Somebody opens the mail: each place is asked for once, of any process.
    fn open(&mut self, within: i64) {
        let mut shown = BTreeSet::new();
        let (mut first, begun) = (None, self.now);
        for place in 1..=PLACES {
            let number = usize::try_from(self.dice.below(3)).unwrap();
            // Whoever waits for longer has given up, and whatever is answered then is shown to nobody.
            let is_shown = |world: &Self| world.now - begun <= OPENING_MS;
            let list = self.serve(number, within);
            let stands = self.generations.entry(list.generation).or_insert_with(|| numbers(&list));
            assert_eq!(*stands, numbers(&list), "two lists of one generation");
            if !is_shown(self) {
                continue;
            }
            // Only a mail that is opened when its list is as old as may be is shown parts of two.
            let first: &SlotList = first.get_or_insert_with(|| list.clone());
            let is_last = begun + SKEW_MS >= first.made.0 + self.life.most_ms;
            assert!(is_last || list.generation == first.generation, "two lists in one opening");
            if let Some(thing) = list.at(place) {
                assert!(shown.insert(thing.subject.clone()), "{} is shown twice", thing.subject);
                assert_eq!(thing.link.replace("link", "image"), *thing.image);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is stalled and however clocks differ.
    #[test]
    fn nothing_is_shown_twice(seed in any::<u64>()) {
        let mut world = SlotWorld::new(seed, if seed % 2 == 0 { LIFE } else { SHORT });
        for _ in 0..40 {
            let within = [10, 1_000, 5_000, HOUR_MS][usize::try_from(world.dice.below(4)).unwrap()];
            world.open(within);
            let pause = [1_000, HOUR_MS / 3, 3 * HOUR_MS][usize::try_from(world.dice.below(3)).unwrap()];
            world.stall(pause);
            if world.dice.below(2) == 0 {
                world.go_to_edge();
            }
        }
    }

    /// A list that is looked at again and again stays as it is, as long as it may.
    #[test]
    fn what_was_shown_is_shown_again(seed in any::<u64>()) {
        let mut world = SlotWorld::new(seed, LIFE);
        world.open(10);
        let first = numbers(world.row.as_ref().unwrap());
        while world.now < LIFE.most_ms - 2 * SKEW_MS - OPENING_MS {
            world.open(10);
            prop_assert_eq!(&numbers(world.row.as_ref().unwrap()), &first);
            world.stall(HOUR_MS / 3);
        }
    }
}

#[test]
fn a_list_lives_from_its_last_opening_up_to_a_most() {
    let minutes = |minutes: i64| UtcMillis(minutes * 60_000);
    let list = SlotList::first(vec![thing(1)], PLACES, LIFE, minutes(0));
    let check = |until: i64, now: i64, expected: ListStep| {
        let list = list.kept_until(minutes(until));
        assert_eq!(list.find_step(LIFE, minutes(now)), expected, "until {until} at {now}");
    };
    check(60, 0, ListStep::Serve);
    check(60, 29, ListStep::Serve);
    check(60, 31, ListStep::Keep(minutes(91)));
    // What is over on one clock is not yet on another.
    check(60, 61, ListStep::Keep(minutes(121)));
    check(60, 62, ListStep::Follow);
    check(330, 320, ListStep::Keep(minutes(360)));
    check(360, 359, ListStep::Keep(UtcMillis(minutes(359).0 + OPENING_MS + SKEW_MS)));
    check(361, 360, ListStep::Serve);
    check(361, 362, ListStep::Serve);
    check(361, 363, ListStep::Follow);
}

#[test]
fn a_list_that_follows_moves_nothing() {
    let check = |before: &[usize], next: &[usize], expected: &str| {
        let things = |numbers: &[usize]| numbers.iter().copied().map(thing).collect::<Vec<_>>();
        let list = SlotList::first(things(before), PLACES, LIFE, UtcMillis(0));
        let list = list.follow_with(things(next), LIFE, UtcMillis(1));
        let shown: Vec<String> = numbers(&list).into_iter().map(|one| one.unwrap_or("-".into())).collect();
        assert_eq!((list.generation, shown.join(" ").as_str()), (1, expected), "{before:?} {next:?}");
    };
    check(&[1, 2, 3, 4], &[1, 2, 3, 4], "1 2 3 4");
    check(&[1, 2, 3, 4], &[4, 3, 2, 1], "1 2 3 4");
    check(&[1, 2, 3, 4], &[5, 1, 3, 4], "1 5 3 4");
    check(&[1, 2, 3, 4], &[5, 6, 3], "5 6 3 -");
    check(&[1, 2, 3, 4], &[], "- - - -");
    check(&[1, 2], &[3, 2, 3, 2, 4], "3 2 4 -");
    check(&[1, 1, 2, 3, 4, 5], &[5, 4], "5 - - 4");
}

#[test]
fn sources_have_their_shares_and_nothing_comes_twice() {
    let source = |candidates: &str, share: usize| {
        let one = |word: &str| {
            let (number, maker) = word.split_once('/').unwrap_or((word, ""));
            let maker = Some(maker.to_owned()).filter(|maker| !maker.is_empty());
            SlotCandidate { subject: subject(number.parse().unwrap()), maker }
        };
        SlotSource {
            candidates: candidates.split(' ').filter(|word| !word.is_empty()).map(one).collect(),
            share,
        }
    };
    let check = |sources: &[SlotSource], excluded: &[usize], most: usize, expected: &str| {
        let excluded = excluded.iter().copied().map(subject).collect();
        let found = choose_things(sources, &excluded, most);
        let found: Vec<&str> = found.iter().map(|one| one.id()).collect();
        assert_eq!(found.join(" "), expected, "{sources:?}");
    };
    let two = [source("1 2 3 4 5", 2), source("2 6 7 8", 1)];
    check(&two, &[], 3, "1 2 6");
    check(&two, &[], 6, "1 2 6 3 7 4");
    check(&two, &[1, 6], 3, "2 3 7");
    check(&two, &[], 99, "1 2 6 3 7 4 8 5");
    check(&two, &[], 1, "1");
    check(&[], &[], 3, "");
    check(&[source("", 2), source("1 1 1", 9)], &[], 3, "1");
    // No two of a maker beside each other, where that can be.
    check(&[source("1/a 2/a 3/b 4/a", 9)], &[], 4, "1 3 2 4");
    check(&[source("1/a 2/a 3/b", 9)], &[], 3, "1 3 2");
    check(&[source("1/a 2/a", 9)], &[], 2, "1 2");
}
