//! A list, how long it lives, and the one that follows it.

use std::{collections::BTreeSet, sync::Arc};

use model::{
    SubjectRef, UtcMillis,
    fault::{self, PlantedFault},
};

/// A mail asks for all of its places within so long of its opening.
pub const OPENING_MS: i64 = 30_000;
/// The clocks of two processes differ by so much at most.
pub const SKEW_MS: i64 = 60_000;

/// What is shown at a place: all of it is decided at once, so a picture leads to what it shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotThing {
    pub subject: SubjectRef,
    pub image: Arc<str>,
    pub link: Arc<str>,
}

/// What the places of one mail show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotList {
    /// Each list that follows counts on.
    pub generation: u32,
    pub made: UtcMillis,
    /// Until then it lives; from a while after it another one may follow.
    pub until: UtcMillis,
    /// No thing twice. A place without one shows what the mail has for such places.
    pub(crate) places: Vec<Option<SlotThing>>,
}

/// How long a list lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListLife {
    /// From its last opening on, at least.
    pub idle_ms: i64,
    /// From the first one on, at most; but for a mail that is just being shown.
    pub most_ms: i64,
}

/// What is done with a list when somebody asks for one of its places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListStep {
    Serve,
    /// It is kept until then before it is served, unless another one stands there by now.
    Keep(UtcMillis),
    /// Another one is made, and put in its place if it still stands there.
    Follow,
}

impl SlotList {
    /// The first list of a mail: the best things first, as many as there are places.
    pub fn first(things: Vec<SlotThing>, places: usize, life: ListLife, now: UtcMillis) -> Self {
        let none = Self { generation: 0, made: now, until: now, places: vec![None; places] };
        Self { generation: 0, ..none.follow_with(things, places, life, now) }
    }

    /// The next list, of so many places. What stays keeps its place, and what is new gets one that is free.
    pub fn follow_with(&self, things: Vec<SlotThing>, places: usize, life: ListLife, now: UtcMillis) -> Self {
        let mut known = BTreeSet::new();
        let things: Vec<SlotThing> =
            things.into_iter().filter(|thing| known.insert(thing.subject.clone())).collect();
        let moves = fault::is_planted(PlantedFault::ThingsMove);
        let kept = &self.places[..places.min(self.places.len())];
        let is_at = |before: &Option<SlotThing>, thing: &SlotThing| {
            before.as_ref().is_some_and(|before| before.subject == thing.subject)
        };
        let stands = |thing: &SlotThing| !moves && kept.iter().any(|before| is_at(before, thing));
        let (stay, new): (Vec<_>, Vec<_>) = things.into_iter().partition(stands);
        let of_place = |before: &Option<SlotThing>| {
            let subject = &before.as_ref()?.subject;
            stay.iter().find(|thing| thing.subject == *subject).cloned()
        };
        let mut next: Vec<Option<SlotThing>> = kept.iter().map(of_place).collect();
        next.resize(places, None);
        let mut new = new.into_iter();
        next.iter_mut().filter(|place| place.is_none()).for_each(|place| *place = new.next());
        let until = now.plus(kept_ms(life).min(life.most_ms).max(served_ms()));
        Self { generation: self.generation.saturating_add(1), made: now, until, places: next }
    }

    /// What stands at a place, counted from 1.
    pub fn at(&self, place: usize) -> Option<&SlotThing> {
        self.places.get(place.checked_sub(1)?)?.as_ref()
    }

    pub fn things(&self) -> impl Iterator<Item = &SlotThing> {
        self.places.iter().flatten()
    }

    /// What is done when somebody asks for a place of it now.
    pub fn find_step(&self, life: ListLife, now: UtcMillis) -> ListStep {
        if now > self.until.plus(skew_ms()) {
            return ListStep::Follow;
        }
        let end = self.made.plus(life.most_ms);
        if now >= end {
            // Whoever is being shown it is shown the rest.
            return ListStep::Serve;
        }
        let until = now.plus(kept_ms(life)).min(end).max(now.plus(served_ms()));
        let enough = now.plus(life.idle_ms).max(now.plus(served_ms())).min(until);
        if self.until >= enough { ListStep::Serve } else { ListStep::Keep(until) }
    }

    /// The same list, which lives until then.
    #[must_use]
    pub fn kept_until(&self, until: UtcMillis) -> Self {
        Self { until, ..self.clone() }
    }

    /// Until when a process may serve it as it read it, by its own clock, without asking whether another one stands there.
    pub fn known_until(&self) -> UtcMillis {
        self.until.plus(-skew_ms())
    }
}

/// A list is kept for half as long again as it has to be, so that not each opening is written.
fn kept_ms(life: ListLife) -> i64 {
    life.idle_ms.saturating_add(life.idle_ms / 2)
}

/// Whatever is served goes on living for so long, on whichever clock: nobody puts another list in its place while a mail that was
/// shown a part of it asks for the rest.
fn served_ms() -> i64 {
    OPENING_MS + skew_ms()
}

fn skew_ms() -> i64 {
    if fault::is_planted(PlantedFault::ClocksAgree) { 0 } else { SKEW_MS }
}
