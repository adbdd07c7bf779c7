//! Luck from a seed.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

#[derive(Debug)]
pub(super) struct TopicsDice {
    seed: u64,
    state: Mutex<TopicsDiceState>,
}

#[derive(Debug, Default)]
struct TopicsDiceState {
    /// How often the same was drawn at the same place.
    drawn: HashMap<(&'static str, Arc<str>, u32), u64>,
    happened: BTreeMap<&'static str, u64>,
}

impl TopicsDice {
    pub fn new(seed: u64) -> Self {
        Self { seed, state: Mutex::default() }
    }

    /// Whether something happens that happens so often out of a thousand.
    pub fn draw(&self, what: &'static str, odds: u32, place: &str, partition: u32) -> bool {
        if odds == 0 {
            return false;
        }
        let happens = self.draw_number(what, place, partition) % 1_000 < u64::from(odds);
        if happens {
            *self.lock_state().happened.entry(what).or_default() += 1;
        }
        happens
    }

    pub fn flip_coin(&self, place: &str, partition: u32) -> bool {
        self.draw_number("coin", place, partition).is_multiple_of(2)
    }

    pub fn happened_counts(&self) -> BTreeMap<&'static str, u64> {
        self.lock_state().happened.clone()
    }

    fn draw_number(&self, what: &'static str, place: &str, partition: u32) -> u64 {
        let count = {
            let mut state = self.lock_state();
            let count = state.drawn.entry((what, place.into(), partition)).or_default();
            *count += 1;
            *count
        };
        let text = what.bytes().chain([0]).chain(place.bytes());
        // FNV-1a, then a finisher: the same everywhere and forever, so that a seed can be told on.
        let hash =
            text.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        mix_number(mix_number(mix_number(hash ^ self.seed) ^ u64::from(partition)) ^ count)
    }

    fn lock_state(&self) -> std::sync::MutexGuard<'_, TopicsDiceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The step of splitmix64.
fn mix_number(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
