//! Tells the house what happens, in real time: a tick of notes now and again, people who come, dates that are let out
//! early and people who travel, until it was nine and nobody is killed any more.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::Result;
use model::UtcMillis;
use runtime::clock::SteadyStopwatch;
use serde_json::Value;

use super::{
    cast::{CastMember, ComingHabit, StoryCast},
    now_ms,
    script::{NoteScript, SaidNote},
    story::{StorySighting, WindowStory},
};
use crate::house::{RealHouse, pause_for};

const TICK: Duration = Duration::from_millis(2_500);
/// Records of one request, and every how many requests are said twice.
const AT_ONCE: usize = 50;
const TWICE: usize = 5;
/// Seconds before nine at which dates are let out, and at which those who travel say so.
const EARLY: i64 = 15_000;
const TRAVEL: i64 = 10_000;
/// Later than this nobody is let out: the house would hear of it after nine.
const LAST: i64 = 1_000;
/// What is said until so long after nine could be told by mistake.
const AFTER: i64 = 6_000;
/// Who comes again comes so much later: sooner it is no news to the house.
const AGAIN: i64 = 33_000;
/// So long before nine it is looked for whom something waits, also where each answer takes seconds; who was told of so many
/// things has one that is still true.
const LOOK: i64 = 12_000;
const MANY: usize = 5;

pub struct StoryPlot<'a> {
    house: &'a RealHouse,
    cast: StoryCast,
    script: NoteScript,
    /// What was said up to now.
    pub story: WindowStory,
    came: Option<i64>,
    has_moved: bool,
    has_looked: bool,
}

impl<'a> StoryPlot<'a> {
    pub fn new(house: &'a RealHouse, cast: StoryCast) -> Self {
        let story = WindowStory { people: cast.people.clone(), nine: cast.nine, ..WindowStory::default() };
        let (has_moved, has_looked) = Default::default();
        Self { house, cast, script: NoteScript::default(), story, came: None, has_moved, has_looked }
    }

    pub fn play(&mut self, killed: &AtomicBool) -> Result<()> {
        let mut tick = 0;
        while now_ms() < self.cast.nine + AFTER || !killed.load(Ordering::SeqCst) {
            let took = SteadyStopwatch::start();
            self.tick(tick)?;
            tick += 1;
            self.send_presence()?;
            let left = self.cast.nine - now_ms();
            if left < EARLY {
                self.release_early();
            }
            if left < TRAVEL && !self.has_moved {
                self.has_moved = true;
                self.house.say("/v1/facts", &self.cast.move_facts())?;
            }
            if left < LOOK && !self.has_looked {
                self.has_looked = true;
                self.look_for_waiting();
            }
            pause_for(TICK.saturating_sub(took.elapsed()));
        }
        Ok(())
    }

    /// Looks for whom something waits for nine, that is still true then, of those who stay and are not let out. Who is asked may
    /// be busy, so all are asked at once.
    fn look_for_waiting(&mut self) {
        let (house, cast, story) = (self.house, &self.cast, &mut self.story);
        let is_due = |window: &Value| {
            window["plan"] == cast.plan()
                && window["due"].as_str().and_then(UtcMillis::parse) == Some(UtcMillis(cast.nine))
        };
        let waits = |person: &str| {
            let windows = house.windows(person).unwrap_or_default();
            windows.iter().any(is_due) && now_ms() < cast.nine
        };
        // A night of their own holds it longer.
        let stays = |who: &CastMember| {
            let is_quiet = who.quiet.as_ref().is_some_and(|quiet| quiet.contains(&cast.nine));
            who.has_nine && !who.is_early && !is_quiet
        };
        let staying = story.people.iter().filter(|(_, who)| stays(who)).map(|(person, _)| person);
        let waiting: Vec<&String> = thread::scope(|scope| {
            let waits = &waits;
            let asked: Vec<_> = staying.map(|person| (person, scope.spawn(move || waits(person)))).collect();
            let waiting =
                asked.into_iter().filter_map(|(person, asked)| asked.join().ok()?.then_some(person));
            waiting.collect()
        });
        for person in waiting {
            let own = |said: &&SaidNote| said.person == *person && said.kind == "dated" && !said.is_gone;
            if story.said.iter().filter(own).count() >= MANY {
                story.awaits.insert(person.clone());
            }
        }
    }

    fn tick(&mut self, tick: u64) -> Result<()> {
        let (records, said) = self.script.tick(tick, self.cast.people.iter(), now_ms());
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
    fn send_presence(&mut self) -> Result<()> {
        let at = now_ms();
        if self.came.is_some_and(|came| at < came + AGAIN) {
            return Ok(());
        }
        let comes =
            |comes| comes == ComingHabit::Often || (comes == ComingHabit::Once && self.came.is_none());
        let all = self.cast.people.iter().filter(|(_, who)| comes(who.comes));
        let persons: Vec<&String> = all.map(|(person, _)| person).collect();
        self.house.say("/v1/facts", &StoryCast::seen_facts(&persons, at))?;
        let known = now_ms();
        let seen = persons.iter().map(|person| StorySighting { person: (*person).clone(), at, known });
        self.story.seen.extend(seen);
        self.came = Some(at);
        Ok(())
    }

    /// Lets out the dates of some before it is nine: what comes after that waits for tomorrow. Who cannot be let out yet
    /// is at the next tick; on a slow machine it is nine before all are.
    fn release_early(&mut self) {
        let plan = self.cast.plan().to_owned();
        let early = self.story.people.iter_mut().filter(|(_, who)| who.is_early && who.released.is_none());
        for (person, who) in early {
            let at = now_ms();
            if at < self.cast.nine - LAST {
                // Where the answer is lost they may have been: asked twice they could be let out twice.
                who.released = self.house.release_one(&plan, person, at).unwrap_or(true).then_some(at);
            }
        }
    }
}
