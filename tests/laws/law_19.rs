//! Law 19: a mail shows nothing twice and no two lists, whichever processes answer for its places, however their clocks differ,
//! and whatever stalls.

use std::collections::{BTreeMap, BTreeSet};

use model::UtcMillis;
use slot_lists::{
    ListLife, ListStep, SlotList, SlotThing,
    list::{OPENING_MS, SKEW_MS},
};

use crate::{
    names::{HOUR_MS, subject},
    seeds::{LawDice, run_schedules},
};

#[test]
fn law_19_a_mail_shows_nothing_twice() {
    run_schedules(600, |mut dice| {
        let life = dice.pick(&[LIFE, SHORT]);
        // Somebody who looks often keeps a list as long as may be; else it ends in silence.
        let is_busy = dice.once_in_a_hundred(50);
        let mut world = SlotWorld::new(dice, life);
        for _ in 0..40 {
            let within = world.dice.pick(&[10, 1_000, 5_000, HOUR_MS]);
            world.open(within);
            let pauses = [1_000, life.idle_ms / 3, 3 * life.idle_ms];
            let pause = world.dice.pick(&pauses[..if is_busy { 2 } else { 3 }]);
            world.stall(pause);
            if (!is_busy || world.is_last()) && world.dice.once_in_a_hundred(50) {
                world.go_to_edge();
            }
        }
    });
}

#[test]
fn law_19_what_was_shown_is_shown_again() {
    run_schedules(200, |dice| {
        let mut world = SlotWorld::new(dice, LIFE);
        world.open(10);
        let first = places(world.row.as_ref().unwrap());
        while world.now < LIFE.most_ms - 2 * SKEW_MS - OPENING_MS {
            world.open(10);
            assert_eq!(places(world.row.as_ref().unwrap()), first);
            world.stall(HOUR_MS / 3);
        }
    });
}

const PLACES: usize = 4;
const LIFE: ListLife = ListLife { idle_ms: HOUR_MS, most_ms: 6 * HOUR_MS };
/// Shorter than clocks may differ.
const SHORT: ListLife = ListLife { idle_ms: 20_000, most_ms: 10 * 60_000 };

fn places(list: &SlotList) -> Vec<Option<String>> {
    (1..=PLACES).map(|place| Some(list.at(place)?.subject.to_string())).collect()
}

/// What a recommender says at a moment: some of few things, in any order.
fn draw_things(dice: &mut LawDice) -> Vec<SlotThing> {
    let mut pool: Vec<usize> = (0..9).collect();
    dice.shuffle(&mut pool);
    pool.truncate(2 + dice.below(6));
    let thing = |number: usize| {
        let of = |what: &str| format!("{what} {number}").into();
        let subject = subject(&format!("work:{number}"));
        SlotThing { subject, image: of("image"), link: of("link") }
    };
    pool.into_iter().map(thing).collect()
}

/// A process: how its clock differs, and what it remembers of the one mail.
struct SlotProcess {
    ahead_ms: i64,
    known: Option<SlotList>,
}

/// Processes over one row, which is written only in the place of what its writer has read.
struct SlotWorld {
    dice: LawDice,
    life: ListLife,
    now: i64,
    row: Option<SlotList>,
    processes: Vec<SlotProcess>,
    /// What each generation shows, for nobody may see two of one.
    generations: BTreeMap<u32, Vec<Option<String>>>,
}

impl SlotWorld {
    fn new(mut dice: LawDice, life: ListLife) -> Self {
        let process = |dice: &mut LawDice| SlotProcess { ahead_ms: dice.ms(0, SKEW_MS + 1), known: None };
        let processes = (0..3).map(|_| process(&mut dice)).collect();
        Self { dice, life, now: 0, row: None, processes, generations: BTreeMap::new() }
    }

    /// Time passes between any two things, sometimes until long after the reader has given up.
    fn stall(&mut self, most: i64) {
        self.now += self.dice.ms(0, most + 1);
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
                    list.follow_with(things, PLACES, self.life, clock(self))
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
        draw_things(&mut self.dice)
    }

    /// Whether the list that stands is kept for no longer.
    fn is_last(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.until.0 >= row.made.0 + self.life.most_ms)
    }

    /// The moments at which something is decided about the list that stands: one comes soon.
    fn go_to_edge(&mut self) {
        let Some(row) = &self.row else { return };
        let edges =
            [row.until.0 - SKEW_MS, row.until.0, row.until.0 + SKEW_MS, row.made.0 + self.life.most_ms];
        let edge = edges[self.dice.below(4)];
        self.now = self.now.max(edge - SKEW_MS + self.dice.ms(0, SKEW_MS + 1));
    }

    /// Somebody opens the mail: each place is asked for once, of any process.
    fn open(&mut self, within: i64) {
        let mut shown = BTreeSet::new();
        let (mut first, begun) = (None, self.now);
        for place in 1..=PLACES {
            let number = self.dice.below(3);
            // Whoever waits for longer has given up, and whatever is answered then is shown to nobody.
            let is_shown = |world: &Self| world.now - begun <= OPENING_MS;
            let list = self.serve(number, within);
            let stands = self.generations.entry(list.generation).or_insert_with(|| places(&list));
            assert_eq!(*stands, places(&list), "two lists of one generation");
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
