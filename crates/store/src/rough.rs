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
    Crowd, Day, Enrolment, EventKey, Millis, Person, ReadyId, Row, State, SubjectRef, Tenant,
    entry::DayKey,
    erase::{Counts, Erase},
    event::FirstWord,
    returns::Slip,
};

use crate::port::{
    Answers, Claim, Claimed, Crowds, DayPart, DayRows, Days, Erasure, FirstWords, Followed, Journal,
    Journalled, Members, Record, Slips, StateKey, States, Store, StoreError,
};

/// How unpleasant it is.
#[derive(Clone, Copy, Debug)]
pub struct Roughness {
    pub seed: u64,
    /// Of a hundred operations, so many fail before they have an effect.
    pub busy_before_percent: u8,
    /// Of a hundred writes, so many have their effect and fail all the same.
    pub busy_after_percent: u8,
    /// Others go first at most so many times, before and after the effect.
    pub yields_max: u8,
}

impl Roughness {
    /// Rough enough to find what breaks, and not so rough that nothing moves.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, busy_before_percent: 10, busy_after_percent: 10, yields_max: 4 }
    }
}

/// A rough store over any other.
pub struct Rough {
    inner: Arc<dyn Store>,
    roughness: Roughness,
    calls: AtomicU64,
}

impl fmt::Debug for Rough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rough({:?}, {:?})", self.roughness, self.inner)
    }
}

/// What one call meets.
struct Weather {
    busy_before: bool,
    busy_after: bool,
    yields_before: u64,
    yields_after: u64,
}

impl Rough {
    pub fn new(inner: Arc<dyn Store>, roughness: Roughness) -> Self {
        Self { inner, roughness, calls: AtomicU64::new(0) }
    }

    fn weather(&self) -> Weather {
        let Roughness { seed, busy_before_percent, busy_after_percent, yields_max } = self.roughness;
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let dice = |of: u64| mixed(mixed(seed, call), of);
        Weather {
            busy_before: dice(1) % 100 < u64::from(busy_before_percent),
            busy_after: dice(2) % 100 < u64::from(busy_after_percent),
            yields_before: dice(3) % (u64::from(yields_max) + 1),
            yields_after: dice(4) % (u64::from(yields_max) + 1),
        }
    }

    /// A read: fails or not, and has no effect either way.
    async fn look<T>(&self, read: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let weather = self.weather();
        let found = self.sail(&weather, read).await;
        others_first(weather.yields_after).await;
        found
    }

    /// A write: may fail after its effect too.
    async fn change<T>(&self, write: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let weather = self.weather();
        let done = self.sail(&weather, write).await?;
        others_first(weather.yields_after).await;
        if weather.busy_after { Err(StoreError::Busy("no answer came back".into())) } else { Ok(done) }
    }

    async fn sail<T>(
        &self,
        weather: &Weather,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        others_first(weather.yields_before).await;
        if weather.busy_before {
            return Err(StoreError::Busy("it was turned away".into()));
        }
        operation.await
    }
}

async fn others_first(times: u64) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// SplitMix64: every bit of both inputs matters.
fn mixed(seed: u64, with: u64) -> u64 {
    let mut z = seed.wrapping_add(with.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[async_trait]
impl Days for Rough {
    async fn write(&self, rows: Vec<DayRows>, now: Millis) -> Result<(), StoreError> {
        self.change(self.inner.write(rows, now)).await
    }

    async fn read(&self, keys: &[DayKey], now: Millis) -> Result<Vec<Vec<Row>>, StoreError> {
        self.look(self.inner.read(keys, now)).await
    }

    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError> {
        self.look(self.inner.scan(day, from, most)).await
    }

    async fn newest(&self) -> Result<Option<Day>, StoreError> {
        self.look(self.inner.newest()).await
    }

    async fn close_before(&self, day: Day) -> Result<(), StoreError> {
        self.change(self.inner.close_before(day)).await
    }

    /// Never busy after its effect: repeated, it could not tell how many days went.
    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        self.look(self.inner.drop_before(day)).await
    }
}

#[async_trait]
impl States for Rough {
    async fn merge(&self, states: Vec<(StateKey, State)>) -> Result<(), StoreError> {
        self.change(self.inner.merge(states)).await
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<State>, StoreError> {
        self.look(self.inner.states(keys)).await
    }
}

#[async_trait]
impl Crowds for Rough {
    async fn enrol(&self, enrolments: Vec<Enrolment>) -> Result<(), StoreError> {
        self.change(self.inner.enrol(enrolments)).await
    }

    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<Members, StoreError> {
        self.look(self.inner.members(tenant, crowd, from, most)).await
    }

    async fn followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<Followed, StoreError> {
        self.look(self.inner.followed(tenant, person, behind, most)).await
    }

    async fn enrolled(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError> {
        self.look(self.inner.enrolled(of)).await
    }
}

#[async_trait]
impl Journal for Rough {
    async fn claim(&self, tenant: &Tenant, claim: Claim) -> Result<Claimed, StoreError> {
        self.change(self.inner.claim(tenant, claim)).await
    }

    async fn record(&self, tenant: &Tenant, record: Record) -> Result<(), StoreError> {
        self.change(self.inner.record(tenant, record)).await
    }

    async fn journalled(&self, tenant: &Tenant, readys: &[ReadyId]) -> Result<Vec<Journalled>, StoreError> {
        self.look(self.inner.journalled(tenant, readys)).await
    }
}

#[async_trait]
impl Answers for Rough {
    async fn answer(
        &self,
        tenant: &Tenant,
        key: &str,
        answer: Vec<u8>,
        now: Millis,
    ) -> Result<Vec<u8>, StoreError> {
        self.change(self.inner.answer(tenant, key, answer, now)).await
    }

    async fn answered(&self, tenant: &Tenant, key: &str, now: Millis) -> Result<Option<Vec<u8>>, StoreError> {
        self.look(self.inner.answered(tenant, key, now)).await
    }
}

#[async_trait]
impl FirstWords for Rough {
    async fn first_words(
        &self,
        said: &[(EventKey, FirstWord)],
        now: Millis,
    ) -> Result<Vec<FirstWord>, StoreError> {
        self.change(self.inner.first_words(said, now)).await
    }
}

#[async_trait]
impl Slips for Rough {
    async fn keep(&self, ready: ReadyId, slip: Slip) -> Result<(), StoreError> {
        self.change(self.inner.keep(ready, slip)).await
    }

    async fn slip(&self, ready: ReadyId, now: Millis) -> Result<Option<Slip>, StoreError> {
        self.look(self.inner.slip(ready, now)).await
    }
}

#[async_trait]
impl Erasure for Rough {
    /// Never busy after its effect: repeated, it could not tell how much went.
    async fn erase(
        &self,
        tenant: &Tenant,
        person: &Person,
        how: Erase,
        now: Millis,
    ) -> Result<Counts, StoreError> {
        self.look(self.inner.erase(tenant, person, how, now)).await
    }

    async fn scrub(&self) -> Result<Option<&'static str>, StoreError> {
        self.change(self.inner.scrub()).await
    }
}
