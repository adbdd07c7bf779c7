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
    Crowd, Day, Enrolment, EventKey, Millis, Person, ReadyId, State, SubjectRef, Tenant, Value,
    entry::DayKey, place::Cell, returns::Slip,
};

use super::Lie;
use crate::port::{Claim, DayRows, Record, StateKey, Store, StoreError};

const CUT: usize = 64;

/// A store that tells one lie.
pub struct Lying {
    pub(super) inner: Arc<dyn Store>,
    pub(super) lie: Lie,
    /// The write that was acknowledged and not made.
    late: tokio::sync::Mutex<Option<Late>>,
    arrivals: AtomicI64,
    /// The version that each arrival came with.
    pub(super) versions: Mutex<HashMap<i64, i64>>,
    pub(super) reads: AtomicUsize,
    pub(super) merging: AtomicBool,
    pub(super) hidden_before: Mutex<Option<Day>>,
    /// Days before this one take no rows, as long as this is remembered.
    pub(super) closed_before: Mutex<Option<Day>>,
    /// The day before which all were dropped, and the rows that came for those later.
    pub(super) back: Mutex<(Option<Day>, Vec<DayRows>)>,
    pub(super) records: Mutex<HashMap<(Tenant, ReadyId, u16), Record>>,
    pub(super) answers: Mutex<HashMap<(Tenant, String), Vec<u8>>>,
    /// All enrolments there were, and who was erased.
    pub(super) enrolments: Mutex<Vec<Enrolment>>,
    pub(super) erased: Mutex<HashSet<(Tenant, Person)>>,
}

pub(super) enum Late {
    Rows(Vec<DayRows>, Millis),
    States(Vec<(StateKey, State)>),
    Enrolments(Vec<Enrolment>),
    Claim(Tenant, Claim),
    Record(Tenant, Record),
    Answer(Tenant, String, Vec<u8>, Millis),
    Slip(ReadyId, Slip),
}

impl fmt::Debug for Lying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lying({:?}, {:?})", self.lie, self.inner)
    }
}

fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(CUT)]
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lying {
    pub fn new(inner: Arc<dyn Store>, lie: Lie) -> Self {
        Self {
            inner,
            lie,
            late: tokio::sync::Mutex::default(),
            arrivals: AtomicI64::new(1_000),
            versions: Mutex::default(),
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

    pub(super) fn tells(&self, lie: Lie) -> bool {
        self.lie == lie
    }

    /// Makes the write that was left over; every operation begins with it, so only a crash loses it.
    pub(super) async fn settle(&self) -> Result<(), StoreError> {
        let late = self.late.lock().await.take();
        match late {
            Some(Late::Rows(rows, now)) => self.inner.write(rows, now).await,
            Some(Late::States(states)) => self.inner.merge(states).await,
            Some(Late::Enrolments(enrolments)) => self.inner.enrol(enrolments).await,
            Some(Late::Record(tenant, record)) => self.inner.record(&tenant, record).await,
            Some(Late::Claim(tenant, claim)) => self.inner.claim(&tenant, claim).await.map(drop),
            Some(Late::Answer(tenant, key, answer, now)) => {
                self.inner.answer(&tenant, &key, answer, now).await.map(drop)
            }
            Some(Late::Slip(ready, slip)) => self.inner.keep(ready, slip).await,
            None => Ok(()),
        }
    }

    pub(super) async fn put_off(&self, late: Late) -> Result<(), StoreError> {
        *self.late.lock().await = Some(late);
        if self.tells(Lie::LosesLastWrite) { Ok(()) } else { self.settle().await }
    }

    pub(super) fn tenant(&self, tenant: &Tenant) -> Tenant {
        let name = match self.lie {
            Lie::TenantIgnored => "everybody",
            Lie::NamesCut => cut(tenant.as_str()),
            _ => return tenant.clone(),
        };
        Tenant::new(name.trim()).unwrap_or_else(|_| tenant.clone())
    }

    pub(super) fn person(&self, person: &Person) -> Person {
        let name = match self.lie {
            Lie::PersonIgnored => "somebody",
            Lie::NamesCut => cut(person.as_str()),
            _ => return person.clone(),
        };
        Person::new(name.trim()).unwrap_or_else(|_| person.clone())
    }

    pub(super) fn subject(&self, subject: &SubjectRef) -> SubjectRef {
        let name = if self.tells(Lie::NamesCut) { cut(subject.as_str()).trim() } else { subject.as_str() };
        SubjectRef::new(name).unwrap_or_else(|_| subject.clone())
    }

    pub(super) fn key(&self, key: &DayKey) -> DayKey {
        let mut key =
            DayKey { tenant: self.tenant(&key.tenant), person: self.person(&key.person), day: key.day };
        if self.tells(Lie::DateIgnored) {
            key.day = Day(20_778);
        }
        if self.tells(Lie::NamesJoined)
            && let Ok(joined) = Person::new(&format!("{}:{}", key.tenant, key.person))
            && let Ok(tenant) = Tenant::new("everybody")
        {
            key = DayKey { tenant, person: joined, day: key.day };
        }
        key
    }

    pub(super) fn crowd(&self, crowd: &Crowd) -> Crowd {
        match crowd {
            _ if self.tells(Lie::CrowdIgnored) => Crowd::Everyone,
            Crowd::Cell(cell) if self.tells(Lie::CellsCut) => Crowd::Cell(Cell(cell.0 & !0xff)),
            Crowd::Followers(of) => Crowd::Followers(self.subject(of)),
            Crowd::Cell(_) | Crowd::Everyone => crowd.clone(),
        }
    }

    pub(super) fn state_key(&self, key: &StateKey) -> StateKey {
        match key {
            StateKey::Subject(tenant, subject) => {
                let same = Person::new(subject.as_str()).ok().filter(|_| self.tells(Lie::SubjectsArePersons));
                match same {
                    Some(person) => StateKey::Person(self.tenant(tenant), person),
                    None => StateKey::Subject(self.tenant(tenant), self.subject(subject)),
                }
            }
            StateKey::Person(tenant, person) => StateKey::Person(self.tenant(tenant), self.person(person)),
            StateKey::Mutes(tenant, person) if self.tells(Lie::MutesInProfile) => {
                StateKey::Person(tenant.clone(), person.clone())
            }
            StateKey::Notes(tenant, person) if self.tells(Lie::NotesInProfile) => {
                StateKey::Person(tenant.clone(), person.clone())
            }
            StateKey::Mutes(tenant, person) => StateKey::Mutes(self.tenant(tenant), self.person(person)),
            StateKey::Notes(tenant, person) => StateKey::Notes(self.tenant(tenant), self.person(person)),
        }
    }

    pub(super) fn attempt(&self, attempt: u16) -> u16 {
        if self.tells(Lie::AttemptIgnored) { 0 } else { attempt }
    }

    /// Writes half, lets a reader look, writes the rest.
    pub(super) async fn write_in_halves(&self, rows: Vec<DayRows>, now: Millis) -> Result<(), StoreError> {
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
        lock(&self.versions).insert(arrival, version);
        arrival
    }

    /// What of a state gets through.
    pub(super) async fn lied(&self, key: &StateKey, mut state: State) -> Result<State, StoreError> {
        match self.lie {
            Lie::OlderWins => {
                state.cells.values_mut().for_each(|cell| cell.version = self.arrival(cell.version));
            }
            Lie::RemovalForgotten => state.cells.retain(|_, cell| cell.value.is_some()),
            Lie::EverythingIsText => {
                for cell in state.cells.values_mut() {
                    cell.value = cell.value.take().map(|value| Value::text(&value.to_string()));
                }
            }
            Lie::FirstOfEqual => {
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

    pub(super) async fn is_claimed(&self, tenant: &Tenant, claim: &Claim) -> Result<bool, StoreError> {
        let journalled = self.inner.journalled(tenant, &[claim.ready]).await?;
        Ok(journalled.iter().flat_map(|found| &found.claims).any(|found| found.attempt == claim.attempt))
    }

    /// Of two Readys that begin alike it keeps one slip.
    pub(super) fn slip_of(&self, ready: ReadyId) -> ReadyId {
        let mut id = ready.0;
        if self.tells(Lie::SlipsShared) {
            id[8..].fill(0);
        }
        ReadyId(id)
    }

    /// Of two events that begin alike it keeps one word.
    pub(super) fn event(&self, event: EventKey) -> EventKey {
        let mut id = event.0;
        if self.tells(Lie::WordsShared) {
            id[8..].fill(0);
        }
        EventKey(id)
    }

    pub(super) fn asked_at(&self, now: Millis) -> Millis {
        if self.tells(Lie::AnswersForEver) { Millis(0) } else { now }
    }
}
