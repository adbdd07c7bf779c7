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
use model::{
    Crowd, CrowdEnrolment, Day, DayRow, EventKey, Person, ReadyId, SubjectRef, Tenant, UtcMillis,
    VersionedState,
    entry::DayKey,
    erasure::{EraseMode, HoldingCounts},
    event::FirstWord,
    returns::Slip,
};

use crate::port::{
    AnswerStore, CrowdMembers, CrowdStore, DayPart, DayRows, DayStore, ErasureStore, FirstWordStore,
    FollowedSubjects, JournalClaim, JournalClaimOutcome, JournalRecord, JournalRows, JournalStore, SlipStore,
    StateKey, StateStore, Store, StoreError,
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

    /// A read: fails or not, and has no effect either way.
    async fn run_read<T>(&self, read: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let weather = self.next_weather();
        let found = self.run_operation(&weather, read).await;
        yield_times(weather.yields_after).await;
        found
    }

    /// A write: may fail after its effect too.
    async fn run_write<T>(
        &self,
        write: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let weather = self.next_weather();
        let done = self.run_operation(&weather, write).await?;
        yield_times(weather.yields_after).await;
        if weather.busy_after { Err(StoreError::Busy("no answer came back".into())) } else { Ok(done) }
    }

    async fn run_operation<T>(
        &self,
        weather: &RoughCallWeather,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        yield_times(weather.yields_before).await;
        if weather.busy_before {
            return Err(StoreError::Busy("it was turned away".into()));
        }
        operation.await
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
impl DayStore for RoughStore {
    async fn write(&self, rows: Vec<DayRows>, now: UtcMillis) -> Result<(), StoreError> {
        self.run_write(self.inner.write(rows, now)).await
    }

    async fn read(&self, keys: &[DayKey], now: UtcMillis) -> Result<Vec<Vec<DayRow>>, StoreError> {
        self.run_read(self.inner.read(keys, now)).await
    }

    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError> {
        self.run_read(self.inner.scan(day, from, most)).await
    }

    async fn newest(&self) -> Result<Option<Day>, StoreError> {
        self.run_read(self.inner.newest()).await
    }

    async fn close_before(&self, day: Day) -> Result<(), StoreError> {
        self.run_write(self.inner.close_before(day)).await
    }

    /// Never busy after its effect: repeated, it could not tell how many days went.
    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        self.run_read(self.inner.drop_before(day)).await
    }
}

#[async_trait]
impl StateStore for RoughStore {
    async fn merge(&self, states: Vec<(StateKey, VersionedState)>) -> Result<(), StoreError> {
        self.run_write(self.inner.merge(states)).await
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        self.run_read(self.inner.states(keys)).await
    }
}

#[async_trait]
impl CrowdStore for RoughStore {
    async fn enrol(&self, enrolments: Vec<CrowdEnrolment>) -> Result<(), StoreError> {
        self.run_write(self.inner.enrol(enrolments)).await
    }

    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<CrowdMembers, StoreError> {
        self.run_read(self.inner.members(tenant, crowd, from, most)).await
    }

    async fn list_followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<FollowedSubjects, StoreError> {
        self.run_read(self.inner.list_followed(tenant, person, behind, most)).await
    }

    async fn enrolled_since(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError> {
        self.run_read(self.inner.enrolled_since(of)).await
    }
}

#[async_trait]
impl JournalStore for RoughStore {
    async fn claim(&self, tenant: &Tenant, claim: JournalClaim) -> Result<JournalClaimOutcome, StoreError> {
        self.run_write(self.inner.claim(tenant, claim)).await
    }

    async fn record(&self, tenant: &Tenant, record: JournalRecord) -> Result<(), StoreError> {
        self.run_write(self.inner.record(tenant, record)).await
    }

    async fn read_journal(
        &self,
        tenant: &Tenant,
        readys: &[ReadyId],
    ) -> Result<Vec<JournalRows>, StoreError> {
        self.run_read(self.inner.read_journal(tenant, readys)).await
    }
}

#[async_trait]
impl AnswerStore for RoughStore {
    async fn answer(
        &self,
        tenant: &Tenant,
        key: &str,
        answer: Vec<u8>,
        now: UtcMillis,
    ) -> Result<Vec<u8>, StoreError> {
        self.run_write(self.inner.answer(tenant, key, answer, now)).await
    }

    async fn find_answer(
        &self,
        tenant: &Tenant,
        key: &str,
        now: UtcMillis,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.run_read(self.inner.find_answer(tenant, key, now)).await
    }
}

#[async_trait]
impl FirstWordStore for RoughStore {
    async fn first_words(
        &self,
        said: &[(EventKey, FirstWord)],
        now: UtcMillis,
    ) -> Result<Vec<FirstWord>, StoreError> {
        self.run_write(self.inner.first_words(said, now)).await
    }
}

#[async_trait]
impl SlipStore for RoughStore {
    async fn keep(&self, ready: ReadyId, slip: Slip) -> Result<(), StoreError> {
        self.run_write(self.inner.keep(ready, slip)).await
    }

    async fn slip(&self, ready: ReadyId, now: UtcMillis) -> Result<Option<Slip>, StoreError> {
        self.run_read(self.inner.slip(ready, now)).await
    }
}

#[async_trait]
impl ErasureStore for RoughStore {
    /// Never busy after its effect: repeated, it could not tell how much went.
    async fn erase(
        &self,
        tenant: &Tenant,
        person: &Person,
        how: EraseMode,
        now: UtcMillis,
    ) -> Result<HoldingCounts, StoreError> {
        self.run_read(self.inner.erase(tenant, person, how, now)).await
    }

    async fn scrub(&self) -> Result<Option<&'static str>, StoreError> {
        self.run_write(self.inner.scrub()).await
    }
}
