//! A store that is allowed everything a real cluster may do, and does it: busy before an effect, busy after
//! it (so that nobody knows whether it happened), slow in any order. It never gives a wrong answer.
//!
//! What it does follows from the seed and the order of calls alone, and it never waits for time: a delay
//! is a number of times that others go first.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;

use crate::{
    decorator::{CallEffect, StoreCall, StoreDecorator},
    port::{Store, StoreError},
};

/// How unpleasant it is.
#[derive(Clone, Copy, Debug)]
pub struct StoreRoughness {
    pub seed: u64,
    /// Of a hundred operations, so many fail before they have an effect.
    pub busy_before_percent: u8,
    /// Of a hundred writes, so many have their effect and fail all the same.
    pub busy_after_percent: u8,
    /// Others go first at most so many times, before and after the effect.
    pub yields_max: u8,
}

impl StoreRoughness {
    /// Rough enough to find what breaks, and not so rough that nothing moves.
    pub fn from_seed(seed: u64) -> Self {
        Self { seed, busy_before_percent: 10, busy_after_percent: 10, yields_max: 4 }
    }
}

/// A rough store over any other.
pub struct RoughStore {
    inner: Arc<dyn Store>,
    roughness: StoreRoughness,
    calls: AtomicU64,
}

impl fmt::Debug for RoughStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RoughStore({:?}, {:?})", self.roughness, self.inner)
    }
}

/// What one call meets.
struct RoughCallWeather {
    busy_before: bool,
    busy_after: bool,
    yields_before: u64,
    yields_after: u64,
}

impl RoughStore {
    pub fn new(inner: Arc<dyn Store>, roughness: StoreRoughness) -> Self {
        Self { inner, roughness, calls: AtomicU64::new(0) }
    }

    fn next_weather(&self) -> RoughCallWeather {
        let StoreRoughness { seed, busy_before_percent, busy_after_percent, yields_max } = self.roughness;
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let dice = |of: u64| mix_seed(mix_seed(seed, call), of);
        RoughCallWeather {
            busy_before: dice(1) % 100 < u64::from(busy_before_percent),
            busy_after: dice(2) % 100 < u64::from(busy_after_percent),
            yields_before: dice(3) % (u64::from(yields_max) + 1),
            yields_after: dice(4) % (u64::from(yields_max) + 1),
        }
    }
}

async fn yield_times(times: u64) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// SplitMix64: every bit of both inputs matters.
fn mix_seed(seed: u64, with: u64) -> u64 {
    let mut z = seed.wrapping_add(with.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[async_trait]
impl StoreDecorator for RoughStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        StoreCall { effect, .. }: StoreCall,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let weather = self.next_weather();
        yield_times(weather.yields_before).await;
        let turned_away = || Err(StoreError::Busy("it was turned away".into()));
        let done = if weather.busy_before { turned_away() } else { operation.await };
        if done.is_err() && effect == CallEffect::Write {
            return done;
        }
        yield_times(weather.yields_after).await;
        // A read has no effect, and one that tells how much went could not tell it again.
        match effect {
            CallEffect::Write if weather.busy_after => Err(StoreError::Busy("no answer came back".into())),
            CallEffect::Read | CallEffect::Write | CallEffect::Removal => done,
        }
    }
}
