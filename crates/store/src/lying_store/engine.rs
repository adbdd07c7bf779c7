//! The wrapper that tells a lie over an honest store.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
};

use model::{
    Crowd, CrowdEnrolment, Day, EventKey, Person, ReadyId, SubjectRef, Tenant, UtcMillis, Value,
    VersionedState, entry::DayKey, place::GlobeCell, returns::Slip,
};

use super::StoreLie;
use crate::port::{DayRows, JournalClaim, JournalRecord, StandingAnswer, StateKey, Store, StoreError};

const CUT: usize = 64;

/// A store that tells one lie.
pub struct LyingStore {
    pub(super) inner: Arc<dyn Store>,
    pub(super) lie: StoreLie,
    /// The write that was acknowledged and not made.
    late: tokio::sync::Mutex<Option<LateWrite>>,
    arrivals: AtomicI64,
    /// The version that each arrival came with.
    pub(super) versions: Mutex<HashMap<i64, i64>>,
    /// What was read of each state to be shown, the first time.
    pub(super) shown: Mutex<HashMap<StateKey, VersionedState>>,
    pub(super) reads: AtomicUsize,
    pub(super) merging: AtomicBool,
    pub(super) hidden_before: Mutex<Option<Day>>,
    /// Days before this one take no rows, as long as this is remembered.
    pub(super) closed_before: Mutex<Option<Day>>,
    /// The day before which all were dropped, and the rows that came for those later.
    pub(super) back: Mutex<(Option<Day>, Vec<DayRows>)>,
    pub(super) records: Mutex<HashMap<(Tenant, ReadyId, u16), JournalRecord>>,
    pub(super) answers: Mutex<HashMap<(Tenant, String), StandingAnswer>>,
    /// All enrolments there were, and who was erased.
    pub(super) enrolments: Mutex<Vec<CrowdEnrolment>>,
    pub(super) erased: Mutex<HashSet<(Tenant, Person)>>,
}

pub(super) enum LateWrite {
    Rows(Vec<DayRows>, UtcMillis),
    States(Vec<(StateKey, VersionedState)>),
    Enrolments(Vec<CrowdEnrolment>),
    Claim(Tenant, JournalClaim),
    Record(Tenant, JournalRecord),
    Answer(Tenant, String, StandingAnswer, UtcMillis),
    Slip(ReadyId, Slip),
}

impl fmt::Debug for LyingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LyingStore({:?}, {:?})", self.lie, self.inner)
    }
}

fn cut_name(name: &str) -> &str {
    &name[..name.floor_char_boundary(CUT)]
}

pub(super) fn lock_mutex<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LyingStore {
    pub fn new(inner: Arc<dyn Store>, lie: StoreLie) -> Self {
        Self {
            inner,
            lie,
            late: tokio::sync::Mutex::default(),
            arrivals: AtomicI64::new(1_000),
            versions: Mutex::default(),
            shown: Mutex::default(),
            reads: AtomicUsize::default(),
            merging: AtomicBool::default(),
            hidden_before: Mutex::default(),
            closed_before: Mutex::default(),
            back: Mutex::default(),
            records: Mutex::default(),
            answers: Mutex::default(),
            enrolments: Mutex::default(),
            erased: Mutex::default(),
        }
    }

    pub(super) fn tells(&self, lie: StoreLie) -> bool {
        self.lie == lie
    }

    /// Makes the write that was left over; every operation begins with it, so only a crash loses it.
    pub(super) async fn settle_late_write(&self) -> Result<(), StoreError> {
        let late = self.late.lock().await.take();
        match late {
            Some(LateWrite::Rows(rows, now)) => self.inner.write(rows, now).await,
            Some(LateWrite::States(states)) => self.inner.merge(states).await,
            Some(LateWrite::Enrolments(enrolments)) => self.inner.enrol(enrolments).await,
            Some(LateWrite::Record(tenant, record)) => self.inner.record(&tenant, record).await,
            Some(LateWrite::Claim(tenant, claim)) => self.inner.claim(&tenant, claim).await.map(drop),
            Some(LateWrite::Answer(tenant, key, answer, now)) => {
                self.inner.put_answer(&tenant, &key, None, answer, now).await.map(drop)
            }
            Some(LateWrite::Slip(ready, slip)) => self.inner.keep(ready, slip).await,
            None => Ok(()),
        }
    }

    pub(super) async fn delay_write(&self, late: LateWrite) -> Result<(), StoreError> {
        *self.late.lock().await = Some(late);
        if self.tells(StoreLie::LosesLastWrite) { Ok(()) } else { self.settle_late_write().await }
    }

    pub(super) fn tenant(&self, tenant: &Tenant) -> Tenant {
        let name = match self.lie {
            StoreLie::TenantIgnored => "everybody",
            StoreLie::NamesCut => cut_name(tenant.as_str()),
            _ => return tenant.clone(),
        };
        Tenant::new(name.trim()).unwrap_or_else(|_| tenant.clone())
    }

    pub(super) fn person(&self, person: &Person) -> Person {
        let name = match self.lie {
            StoreLie::PersonIgnored => "somebody",
            StoreLie::NamesCut => cut_name(person.as_str()),
            _ => return person.clone(),
        };
        Person::new(name.trim()).unwrap_or_else(|_| person.clone())
    }

    pub(super) fn subject(&self, subject: &SubjectRef) -> SubjectRef {
        let name =
            if self.tells(StoreLie::NamesCut) { cut_name(subject.as_str()).trim() } else { subject.as_str() };
        SubjectRef::new(name).unwrap_or_else(|_| subject.clone())
    }

    pub(super) fn day_key(&self, key: &DayKey) -> DayKey {
        let mut key =
            DayKey { tenant: self.tenant(&key.tenant), person: self.person(&key.person), day: key.day };
        if self.tells(StoreLie::DateIgnored) {
            key.day = Day(20_778);
        }
        if self.tells(StoreLie::NamesJoined)
            && let Ok(joined) = Person::new(&format!("{}:{}", key.tenant, key.person))
            && let Ok(tenant) = Tenant::new("everybody")
        {
            key = DayKey { tenant, person: joined, day: key.day };
        }
        key
    }

    pub(super) fn crowd(&self, crowd: &Crowd) -> Crowd {
        match crowd {
            _ if self.tells(StoreLie::CrowdIgnored) => Crowd::Everyone,
            Crowd::Cell(cell) if self.tells(StoreLie::CellsCut) => Crowd::Cell(GlobeCell(cell.0 & !0xff)),
            Crowd::Followers(of) => Crowd::Followers(self.subject(of)),
            Crowd::Cell(_) | Crowd::Everyone => crowd.clone(),
        }
    }

    pub(super) fn state_key(&self, key: &StateKey) -> StateKey {
        let (_, tenant, name) = key.parts();
        let person = |sort: fn(Tenant, Person) -> StateKey, is_profile| {
            let sort = if is_profile { StateKey::Person } else { sort };
            Person::new(name)
                .map_or_else(|_| key.clone(), |name| sort(self.tenant(tenant), self.person(&name)))
        };
        match key {
            StateKey::Subject(..) if self.tells(StoreLie::SubjectsArePersons) => {
                person(StateKey::Person, true)
            }
            StateKey::Subject(_, subject) => StateKey::Subject(self.tenant(tenant), self.subject(subject)),
            StateKey::Person(..) => person(StateKey::Person, true),
            StateKey::Preferences(..) => person(StateKey::Preferences, self.tells(StoreLie::MutesInProfile)),
            StateKey::Notes(..) => person(StateKey::Notes, self.tells(StoreLie::NotesInProfile)),
            StateKey::Saved(..) => person(StateKey::Saved, false),
            StateKey::Streams(..) => person(StateKey::Streams, false),
        }
    }

    pub(super) fn attempt(&self, attempt: u16) -> u16 {
        if self.tells(StoreLie::AttemptIgnored) { 0 } else { attempt }
    }

    /// Writes half, lets a reader look, writes the rest.
    pub(super) async fn write_in_halves(&self, rows: Vec<DayRows>, now: UtcMillis) -> Result<(), StoreError> {
        let half =
            |of: &DayRows| DayRows { key: of.key.clone(), rows: of.rows[..of.rows.len() / 2].to_vec() };
        self.inner.write(rows.iter().map(half).collect(), now).await?;
        let reads = self.reads.load(Ordering::SeqCst);
        for _ in 0..1_000 {
            if self.reads.load(Ordering::SeqCst) > reads + 1 {
                break;
            }
            tokio::task::yield_now().await;
        }
        self.inner.write(rows, now).await
    }

    pub(super) fn arrival(&self, version: i64) -> i64 {
        let arrival = self.arrivals.fetch_add(1, Ordering::SeqCst);
        lock_mutex(&self.versions).insert(arrival, version);
        arrival
    }

    /// What of a state gets through.
    pub(super) async fn apply_lie(
        &self,
        key: &StateKey,
        mut state: VersionedState,
    ) -> Result<VersionedState, StoreError> {
        match self.lie {
            StoreLie::OlderWins => {
                state.cells.values_mut().for_each(|cell| cell.version = self.arrival(cell.version));
            }
            StoreLie::RemovalForgotten => state.cells.retain(|_, cell| cell.value.is_some()),
            StoreLie::EverythingIsText => {
                for cell in state.cells.values_mut() {
                    cell.value = cell.value.take().map(|value| Value::from_text(&value.to_string()));
                }
            }
            StoreLie::FirstOfEqual => {
                let present = self.inner.states(std::slice::from_ref(key)).await?;
                let there = |name: &Arc<str>, version| {
                    present
                        .iter()
                        .any(|state| state.cells.get(name).is_some_and(|cell| cell.version == version))
                };
                state.cells.retain(|name, cell| !there(name, cell.version));
            }
            _ => {}
        }
        Ok(state)
    }

    pub(super) async fn is_claimed(&self, tenant: &Tenant, claim: &JournalClaim) -> Result<bool, StoreError> {
        let journalled = self.inner.read_journal(tenant, &[claim.ready]).await?;
        Ok(journalled.iter().flat_map(|found| &found.claims).any(|found| found.attempt == claim.attempt))
    }

    /// Of two Readys that begin alike it keeps one slip.
    pub(super) fn slip_key(&self, ready: ReadyId) -> ReadyId {
        let mut id = ready.0;
        if self.tells(StoreLie::SlipsShared) {
            id[8..].fill(0);
        }
        ReadyId(id)
    }

    /// Of two events that begin alike it keeps one word.
    pub(super) fn event_key(&self, event: EventKey) -> EventKey {
        let mut id = event.0;
        if self.tells(StoreLie::WordsShared) {
            id[8..].fill(0);
        }
        EventKey(id)
    }

    pub(super) fn answer_time(&self, now: UtcMillis) -> UtcMillis {
        if self.tells(StoreLie::AnswersForEver) { UtcMillis(0) } else { now }
    }
}
