//! Engines that look at what passes through them, give no more persons at once than they are told to, and
//! die at an effect if they are asked to.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use model::{Crowd, Day, Enrolment, Millis, Person, State, SubjectRef, Tenant, entry::DayKey};
use store::{Crowds, DayPart, DayRows, Days, Followed, Members, StateKey, States, Store, StoreError};
use topic::{
    CommitError, Happening, Member, Membership, NewRecord, Offsets, Record, TopicError, TopicSpec, Topics,
    Turn, port::Standing,
};
use wire::{Announcement, topics};

use crate::config::INLINE_PERSONS_MAX;

/// What was seen, and what is to happen. Shared by the engines of a house.
#[derive(Debug)]
pub struct Watch {
    /// A store gives at most so many persons of a crowd at once, and is allowed to.
    pub page: AtomicUsize,
    /// Persons, once for each event, that were read from crowds and whose rows are not written: now and at most.
    held: AtomicI64,
    pub held_most: AtomicI64,
    /// Persons that were read from crowds in all.
    pub read: AtomicUsize,
    /// Announcements made before their rows could be read.
    pub early: AtomicUsize,
    /// Slices that were committed, and how many there were when this person was announced.
    pub slices: AtomicUsize,
    pub awaited: std::sync::Mutex<Option<(Person, Option<usize>)>>,
    /// Effects until it dies, one before and one after each call that matters.
    left: AtomicI64,
    dead: AtomicBool,
    /// The append to `pending`, counted down, that finds the log busy.
    pub busy: AtomicI64,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            page: AtomicUsize::new(usize::MAX),
            held: AtomicI64::default(),
            held_most: AtomicI64::default(),
            read: AtomicUsize::default(),
            early: AtomicUsize::default(),
            slices: AtomicUsize::default(),
            awaited: std::sync::Mutex::default(),
            left: AtomicI64::new(i64::MAX),
            dead: AtomicBool::default(),
            busy: AtomicI64::new(-1),
        }
    }
}

impl Watch {
    /// It lives, and dies at the n-th effect from now on.
    pub fn lives_for(&self, effects: i64) {
        self.left.store(effects, Ordering::SeqCst);
        self.held.store(0, Ordering::SeqCst);
        self.dead.store(false, Ordering::SeqCst);
    }

    pub fn has_died(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    fn effect(&self) -> Result<(), String> {
        if self.left.fetch_sub(1, Ordering::SeqCst) <= 0 {
            self.dead.store(true, Ordering::SeqCst);
        }
        self.alive()
    }

    fn alive(&self) -> Result<(), String> {
        if self.has_died() { Err("the process died, on purpose".to_owned()) } else { Ok(()) }
    }

    fn hold(&self, persons: usize) {
        let persons = i64::try_from(persons).unwrap();
        self.read.fetch_add(usize::try_from(persons).unwrap(), Ordering::SeqCst);
        let held = self.held.fetch_add(persons, Ordering::SeqCst) + persons;
        self.held_most.fetch_max(held, Ordering::SeqCst);
    }
}

/// A store that is watched.
#[derive(Debug)]
pub struct WatchedStore {
    pub inner: Arc<dyn Store>,
    pub watch: Arc<Watch>,
}

fn broken(why: String) -> StoreError {
    StoreError::Broken(why)
}

store::forward!(WatchedStore: Journal, Answers, FirstWords, Slips, Erasure);

#[async_trait]
impl Days for WatchedStore {
    async fn write(&self, rows: Vec<DayRows>, now: Millis) -> Result<(), StoreError> {
        self.watch.effect().map_err(broken)?;
        let told = i64::try_from(rows.iter().map(|of| of.rows.len()).sum::<usize>()).unwrap();
        self.inner.write(rows, now).await?;
        self.watch.held.fetch_sub(told, Ordering::SeqCst);
        self.watch.effect().map_err(broken)
    }

    async fn read(&self, keys: &[DayKey], now: Millis) -> Result<Vec<Vec<model::Row>>, StoreError> {
        self.inner.read(keys, now).await
    }

    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError> {
        self.inner.scan(day, from, most).await
    }

    async fn newest(&self) -> Result<Option<Day>, StoreError> {
        self.inner.newest().await
    }

    async fn close_before(&self, day: Day) -> Result<(), StoreError> {
        self.inner.close_before(day).await
    }

    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        self.inner.drop_before(day).await
    }
}

#[async_trait]
impl States for WatchedStore {
    async fn merge(&self, states: Vec<(StateKey, State)>) -> Result<(), StoreError> {
        self.inner.merge(states).await
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<State>, StoreError> {
        self.watch.alive().map_err(broken)?;
        self.inner.states(keys).await
    }
}

#[async_trait]
impl Crowds for WatchedStore {
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
        self.watch.effect().map_err(broken)?;
        let members =
            self.inner.members(tenant, crowd, from, most.min(self.watch.page.load(Ordering::SeqCst))).await?;
        assert!(members.persons.len() <= most, "more than was asked for");
        // The first of a large audience are put back at once: their slices tell them.
        if most > INLINE_PERSONS_MAX || members.next.is_none() {
            self.watch.hold(members.persons.len());
        }
        Ok(members)
    }

    async fn followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<Followed, StoreError> {
        self.inner.followed(tenant, person, behind, most).await
    }

    async fn enrolled(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError> {
        self.inner.enrolled(of).await
    }
}

/// A log that is watched: it looks at each announcement as it comes.
#[derive(Clone, Debug)]
pub struct WatchedTopics {
    pub inner: topic::embedded::Embedded,
    pub store: Arc<dyn Store>,
    pub watch: Arc<Watch>,
    pub now: Millis,
}

fn gone(why: String) -> TopicError {
    TopicError::Broken(why)
}

impl WatchedTopics {
    /// Whether the rows that these records announce are there; how many persons they announce.
    async fn look(&self, records: &[NewRecord]) -> usize {
        let mut announced = 0;
        for record in records.iter().filter(|record| &*record.topic == topics::PENDING) {
            let pending = wire::pending::decode(record.value.as_ref().unwrap()).unwrap();
            let written = pending.announcements.iter().filter(|announcement| !announcement.full);
            let key = |a: &Announcement| DayKey {
                tenant: pending.tenant.clone(),
                person: a.person.clone(),
                day: a.day,
            };
            let days = self.store.read(&written.map(key).collect::<Vec<_>>(), self.now).await.unwrap();
            let early = days.iter().filter(|rows| rows.is_empty()).count();
            self.watch.early.fetch_add(early, Ordering::SeqCst);
            if let Some((person, seen)) = &mut *self.watch.awaited.lock().unwrap()
                && pending.announcements.iter().any(|announcement| announcement.person == *person)
            {
                seen.get_or_insert(self.watch.slices.load(Ordering::SeqCst));
            }
            announced += pending.announcements.len();
        }
        announced
    }
}

#[async_trait]
impl Topics for WatchedTopics {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.inner.declare(specs).await
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        self.watch.effect().map_err(gone)?;
        if self.look(&records).await > 0 && self.watch.busy.fetch_sub(1, Ordering::SeqCst) == 0 {
            return Err(TopicError::Busy("as asked".to_owned()));
        }
        self.inner.append(records).await?;
        self.watch.effect().map_err(gone)
    }

    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<Record>, TopicError> {
        self.inner.read(topic, partition, from, most).await
    }

    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        self.inner.bounds(topic).await
    }

    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        self.inner.since(topic, at).await
    }

    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<Standing>, TopicError> {
        self.inner.standing(group, topic).await
    }

    async fn join(&self, membership: Membership) -> Result<Box<dyn Member>, TopicError> {
        self.watch.alive().map_err(gone)?;
        let member = self.inner.join(membership).await?;
        Ok(Box::new(WatchedMember { member, topics: self.clone() }))
    }
}

struct WatchedMember {
    member: Box<dyn Member>,
    topics: WatchedTopics,
}

#[async_trait]
impl Member for WatchedMember {
    async fn next(&mut self, most: usize) -> Result<Happening, TopicError> {
        self.topics.watch.alive().map_err(gone)?;
        self.member.next(most).await
    }

    async fn restore(&self, partition: u32) -> Result<Vec<Record>, TopicError> {
        self.member.restore(partition).await
    }

    async fn ends(&self, partition: u32) -> Result<Offsets, TopicError> {
        self.member.ends(partition).await
    }

    fn positions(&self, partition: u32) -> Offsets {
        self.member.positions(partition)
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        let watch = self.topics.watch.clone();
        watch.effect().map_err(gone)?;
        self.topics.look(&turn.records).await;
        let of_slice = turn.offsets.iter().any(|(topic, _)| &**topic == topics::SLICES);
        self.member.commit(turn).await?;
        watch.slices.fetch_add(usize::from(of_slice), Ordering::SeqCst);
        Ok(watch.effect().map_err(gone)?)
    }

    fn hold(&mut self, partition: u32) {
        self.member.hold(partition);
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.topics.watch.alive().map_err(gone)?;
        self.member.rewind(partition).await
    }
}
