//! A store that counts how often each state is asked for.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use model::{Crowd, Day, Enrolment, Millis, Person, ReadyId, Row, State, Tenant, entry::DayKey};
use store::{
    Answers, Claim, Claimed, Crowds, DayPart, DayRows, Days, Journal, Journalled, Members, Record, StateKey,
    States, Store, StoreError,
};

pub struct Counting {
    inner: Arc<dyn Store>,
    asked: Mutex<BTreeMap<StateKey, usize>>,
}

impl Counting {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, asked: Mutex::default() }
    }

    pub fn asked(&self, key: &StateKey) -> usize {
        self.asked.lock().unwrap().get(key).copied().unwrap_or(0)
    }

    pub fn forget(&self) {
        self.asked.lock().unwrap().clear();
    }
}

impl fmt::Debug for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counting({:?})", self.inner)
    }
}

#[async_trait]
impl States for Counting {
    async fn merge(&self, states: Vec<(StateKey, State)>) -> Result<(), StoreError> {
        self.inner.merge(states).await
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<State>, StoreError> {
        for key in keys {
            *self.asked.lock().unwrap().entry(key.clone()).or_default() += 1;
        }
        self.inner.states(keys).await
    }
}

#[async_trait]
impl Days for Counting {
    async fn write(&self, rows: Vec<DayRows>, now: Millis) -> Result<(), StoreError> {
        self.inner.write(rows, now).await
    }

    async fn read(&self, keys: &[DayKey], now: Millis) -> Result<Vec<Vec<Row>>, StoreError> {
        self.inner.read(keys, now).await
    }

    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError> {
        self.inner.scan(day, from, most).await
    }

    async fn close_before(&self, day: Day) -> Result<(), StoreError> {
        self.inner.close_before(day).await
    }

    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        self.inner.drop_before(day).await
    }
}

#[async_trait]
impl Crowds for Counting {
    async fn enrol(&self, enrolments: Vec<Enrolment>) -> Result<(), StoreError> {
        self.inner.enrol(enrolments).await
    }

    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<Members, StoreError> {
        self.inner.members(tenant, crowd, from, most).await
    }

    async fn belongs(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<bool>, StoreError> {
        self.inner.belongs(of).await
    }
}

#[async_trait]
impl Journal for Counting {
    async fn claim(&self, tenant: &Tenant, claim: Claim) -> Result<Claimed, StoreError> {
        self.inner.claim(tenant, claim).await
    }

    async fn record(&self, tenant: &Tenant, record: Record) -> Result<(), StoreError> {
        self.inner.record(tenant, record).await
    }

    async fn journalled(&self, tenant: &Tenant, readys: &[ReadyId]) -> Result<Vec<Journalled>, StoreError> {
        self.inner.journalled(tenant, readys).await
    }
}

#[async_trait]
impl Answers for Counting {
    async fn answer(
        &self,
        tenant: &Tenant,
        key: &str,
        answer: Vec<u8>,
        now: Millis,
    ) -> Result<Vec<u8>, StoreError> {
        self.inner.answer(tenant, key, answer, now).await
    }

    async fn answered(&self, tenant: &Tenant, key: &str, now: Millis) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.answered(tenant, key, now).await
    }
}
