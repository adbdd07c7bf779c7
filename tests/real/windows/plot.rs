//! Tells the house what happens, in real time: a tick of notes now and again, people who come, dates that are let out
//! early and people who travel, until it was nine and nobody is killed any more.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use anyhow::Result;
use model::UtcMillis;
use runtime::clock::SteadyStopwatch;
use serde_json::Value;

use super::{
    cast::{CastMember, ComingHabit, StoryCast},
    now_ms,
    script::NoteScript,
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
/// From so long before nine it is looked for whom something waits, at each tick until somebody was found: where each answer
/// takes seconds, one look finds nobody.
const LOOK: i64 = 20_000;
/// Who was told of so many things so long before nine has one that is still true.
const LONG_SAID: i64 = 12_000;
const MANY: usize = 5;

pub struct StoryPlot<'a> {
    house: &'a RealHouse,
    cast: StoryCast,
    script: NoteScript,
    /// What was said up to now.
    pub story: WindowStory,
    came: Option<i64>,
    has_moved: bool,
    /// How much of that was said long before nine.
    long_said: Option<usize>,
}

/// Whom something waits for at nine, still to be asked: those who stay and are not let out.
struct WaitingLook<'a> {
    house: &'a RealHouse,
    plan: String,
    nine: i64,
    staying: Vec<String>,
}

impl<'a> StoryPlot<'a> {
    pub fn new(house: &'a RealHouse, cast: StoryCast) -> Self {
        let story = WindowStory { people: cast.people.clone(), nine: cast.nine, ..WindowStory::default() };
        let (came, has_moved, long_said) = Default::default();
        Self { house, cast, script: NoteScript::default(), story, came, has_moved, long_said }
    }

    pub fn play(&mut self, killed: &AtomicBool) -> Result<()> {
        thread::scope(|scope| {
            let mut tick = 0;
            // Beside the ticks: an answer may take longer than there is time.
            let mut look: Option<ScopedJoinHandle<'_, Vec<String>>> = None;
            while now_ms() < self.cast.nine + AFTER || !killed.load(Ordering::SeqCst) {
                let took = SteadyStopwatch::start();
                let left = self.play_tick(tick)?;
                tick += 1;
                if let Some(over) = look.take_if(|look| look.is_finished()) {
                    self.note_waiting(&over.join().unwrap_or_default());
                }
                if (1..LOOK).contains(&left) && look.is_none() && self.story.awaits.is_empty() {
                    let asks = self.prepare_look();
                    look = Some(scope.spawn(move || asks.find_waiting()));
                }
                pause_for(TICK.saturating_sub(took.elapsed()));
            }
            if let Some(look) = look {
                self.note_waiting(&look.join().unwrap_or_default());
            }
            Ok(())
        })
    }

    /// What happens at one tick; how long it is until nine after that.
    fn play_tick(&mut self, tick: u64) -> Result<i64> {
        self.tick(tick)?;
        self.send_presence()?;
        let left = self.cast.nine - now_ms();
        if left < EARLY {
            self.release_early();
        }
        if left < TRAVEL && !self.has_moved {
            self.has_moved = true;
            self.house.say("/v1/facts", &self.cast.move_facts())?;
        }
        if left < LONG_SAID {
            self.long_said.get_or_insert(self.story.said.len());
        }
        Ok(left)
    }

    fn prepare_look(&self) -> WaitingLook<'a> {
        let nine = self.cast.nine;
        // A night of their own holds it longer.
        let stays = |who: &CastMember| {
            let is_quiet = who.quiet.as_ref().is_some_and(|quiet| quiet.contains(&nine));
            who.has_nine && !who.is_early && !is_quiet
        };
        let staying = self.story.people.iter().filter(|(_, who)| stays(who));
        let staying = staying.map(|(person, _)| person.clone()).collect();
        WaitingLook { house: self.house, plan: self.cast.plan().to_owned(), nine, staying }
    }

    /// Takes in who was seen waiting. What is said after that makes it no less true: each note is about a thing of its own, so
    /// one that is taken back takes back no other, and what the house hears after nine has a window of its own.
    fn note_waiting(&mut self, seen: &[String]) {
        let WindowStory { said, awaits, .. } = &mut self.story;
        let long_said = said.iter().take(self.long_said.unwrap_or(usize::MAX));
        let true_ones = long_said.filter(|said| said.kind == "dated" && !said.is_gone);
        let has_many =
            |person: &&String| true_ones.clone().filter(|said| said.person == **person).count() >= MANY;
        awaits.extend(seen.iter().filter(has_many).cloned());
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

impl WaitingLook<'_> {
    /// Those with a window that is due at nine, seen before that. Who is asked may be busy, so all are asked at once.
    fn find_waiting(&self) -> Vec<String> {
        let is_due = |window: &Value| {
            window["plan"] == self.plan.as_str()
                && window["due"].as_str().and_then(UtcMillis::parse) == Some(UtcMillis(self.nine))
        };
        let waits = |person: &str| {
            let windows = self.house.windows(person).unwrap_or_default();
            windows.iter().any(is_due) && now_ms() < self.nine
        };
        thread::scope(|scope| {
            let (waits, staying) = (&waits, self.staying.iter());
            let asked: Vec<_> = staying.map(|person| (person, scope.spawn(move || waits(person)))).collect();
            let waiting =
                asked.into_iter().filter_map(|(person, asked)| asked.join().ok()?.then_some(person));
            waiting.cloned().collect()
        })
    }
}
