//! Tells the house what happens, in real time: a tick of notes now and again, people who come, dates that are let out
//! early and people who travel, until it was nine and nobody is killed any more.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result};
use runtime::clock::Stopwatch;

use super::{
    cast::{Cast, Comes},
    now,
    script::Script,
    story::{Seen, Story},
};
use crate::house::{House, pause, until};

const TICK: Duration = Duration::from_millis(2_500);
/// Records of one request, and every how many requests are said twice.
const AT_ONCE: usize = 50;
const TWICE: usize = 5;
/// Seconds before nine at which dates are let out, and at which those who travel say so.
const EARLY: i64 = 15_000;
const TRAVEL: i64 = 10_000;
/// What is said until so long after nine could be told by mistake.
const AFTER: i64 = 6_000;
/// Who comes again comes so much later: sooner it is no news to the house.
const AGAIN: i64 = 33_000;
/// How long a window of dates may take to open.
const OPENING: Duration = Duration::from_secs(10);

pub struct Plot<'a> {
    house: &'a House,
    cast: Cast,
    script: Script,
    /// What was said up to now.
    pub story: Story,
    came: Option<i64>,
    is_early: bool,
    has_moved: bool,
}

impl<'a> Plot<'a> {
    pub fn new(house: &'a House, cast: Cast) -> Self {
        let story = Story { people: cast.people.clone(), nine: cast.nine, ..Story::default() };
        Self { house, cast, script: Script::default(), story, came: None, is_early: false, has_moved: false }
    }

    pub fn play(&mut self, killed: &AtomicBool) -> Result<()> {
        let mut tick = 0;
        while now() < self.cast.nine + AFTER || !killed.load(Ordering::SeqCst) {
            let took = Stopwatch::start();
            self.tick(tick)?;
            tick += 1;
            self.come()?;
            let left = self.cast.nine - now();
            if left < EARLY && !self.is_early {
                self.is_early = true;
                self.release_early()?;
            }
            if left < TRAVEL && !self.has_moved {
                self.has_moved = true;
                self.house.say("/v1/facts", &self.cast.moves())?;
            }
            pause(TICK.saturating_sub(took.elapsed()));
        }
        Ok(())
    }

    fn tick(&mut self, tick: u64) -> Result<()> {
        let (records, said) = self.script.tick(tick, self.cast.people.iter(), now());
        for (n, some) in records.chunks(AT_ONCE).enumerate() {
            self.house.say("/v1/changes", some)?;
            if n % TWICE == 0 {
                self.house.say("/v1/changes", some)?;
            }
        }
        self.story.said.extend(said);
        Ok(())
    }

    /// People are seen: all who come at all the first time, later only those who come often.
    fn come(&mut self) -> Result<()> {
        let at = now();
        if self.came.is_some_and(|came| at < came + AGAIN) {
            return Ok(());
        }
        let comes = |comes| comes == Comes::Often || (comes == Comes::Once && self.came.is_none());
        let all = self.cast.people.iter().filter(|(_, who)| comes(who.comes));
        let persons: Vec<&String> = all.map(|(person, _)| person).collect();
        self.house.say("/v1/facts", &Cast::seen(&persons, at))?;
        let known = now();
        let seen = persons.iter().map(|person| Seen { person: (*person).clone(), at, known });
        self.story.seen.extend(seen);
        self.came = Some(at);
        Ok(())
    }

    /// Lets out the dates of some before it is nine: what comes after that waits for tomorrow.
    fn release_early(&self) -> Result<()> {
        for (person, _) in self.cast.people.iter().filter(|(_, who)| who.is_early) {
            let released = || Ok(self.house.release_one(self.cast.plan(), person).unwrap_or_default());
            until(OPENING, &released).with_context(|| format!("{person} has no date"))?;
        }
        Ok(())
    }
}
