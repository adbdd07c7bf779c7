//! Engines that look at what passes through them, give no more persons at once than they are told to, and
//! die at an effect if they are asked to.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use model::{Crowd, Person, Tenant, UtcMillis, VersionedState, entry::DayKey};
use store::{CrowdMembers, DayRows, StateKey, Store, StoreError, decorator::StoreDecorator};
use topic::{
    CommitError, GroupMembership, Member, MemberEvent, NewRecord, TopicError, Topics, Turn,
    decorator::{MemberDecorator, TopicsDecorator},
};
use wire::{DayAnnouncement, topics};

use crate::config::INLINE_PERSONS_MAX;

/// What was seen, and what is to happen. Shared by the engines of a house.
#[derive(Debug)]
pub struct EffectWatch {
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

impl Default for EffectWatch {
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

impl EffectWatch {
    /// It lives, and dies at the n-th effect from now on.
    pub fn lives_for(&self, effects: i64) {
        self.left.store(effects, Ordering::SeqCst);
        self.held.store(0, Ordering::SeqCst);
        self.dead.store(false, Ordering::SeqCst);
    }

    pub fn has_died(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    fn count_effect(&self) -> Result<(), String> {
        if self.left.fetch_sub(1, Ordering::SeqCst) <= 0 {
            self.dead.store(true, Ordering::SeqCst);
        }
        self.check_alive()
    }

    fn check_alive(&self) -> Result<(), String> {
        if self.has_died() { Err("the process died, on purpose".to_owned()) } else { Ok(()) }
    }

    fn count_read_persons(&self, persons: usize) {
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
    pub watch: Arc<EffectWatch>,
}

fn broken_store(why: String) -> StoreError {
    StoreError::Broken(why)
}

#[async_trait]
impl StoreDecorator for WatchedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn write(&self, rows: Vec<DayRows>, now: UtcMillis) -> Result<(), StoreError> {
        self.watch.count_effect().map_err(broken_store)?;
        let told = i64::try_from(rows.iter().map(|of| of.rows.len()).sum::<usize>()).unwrap();
        self.inner.write(rows, now).await?;
        self.watch.held.fetch_sub(told, Ordering::SeqCst);
        self.watch.count_effect().map_err(broken_store)
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        self.watch.check_alive().map_err(broken_store)?;
        self.inner.states(keys).await
    }

    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<CrowdMembers, StoreError> {
        self.watch.count_effect().map_err(broken_store)?;
        let members =
            self.inner.members(tenant, crowd, from, most.min(self.watch.page.load(Ordering::SeqCst))).await?;
        assert!(members.persons.len() <= most, "more than was asked for");
        // The first of a large audience are put back at once: their slices tell them.
        if most > INLINE_PERSONS_MAX || members.next.is_none() {
            self.watch.count_read_persons(members.persons.len());
        }
        Ok(members)
    }
}

/// A log that is watched: it looks at each announcement as it comes.
#[derive(Clone, Debug)]
pub struct FanoutWatchedTopics {
    pub inner: topic::embedded::EmbeddedTopics,
    pub store: Arc<dyn Store>,
    pub watch: Arc<EffectWatch>,
    pub now: UtcMillis,
}

fn broken_topics(why: String) -> TopicError {
    TopicError::Broken(why)
}

impl FanoutWatchedTopics {
    /// Whether the rows that these records announce are there; how many persons they announce.
    async fn check_announced_rows(&self, records: &[NewRecord]) -> usize {
        let mut announced = 0;
        for record in records.iter().filter(|record| &*record.topic == topics::PENDING) {
            let pending = wire::pending::decode(record.value.as_ref().unwrap()).unwrap();
            let written = pending.announcements.iter().filter(|announcement| !announcement.full);
            let key = |a: &DayAnnouncement| DayKey {
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
impl TopicsDecorator for FanoutWatchedTopics {
    fn inner(&self) -> &dyn Topics {
        &self.inner
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        self.watch.count_effect().map_err(broken_topics)?;
        if self.check_announced_rows(&records).await > 0
            && self.watch.busy.fetch_sub(1, Ordering::SeqCst) == 0
        {
            return Err(TopicError::Busy("as asked".to_owned()));
        }
        self.inner.append(records).await?;
        self.watch.count_effect().map_err(broken_topics)
    }

    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        self.watch.check_alive().map_err(broken_topics)?;
        let member = self.inner.join(membership).await?;
        Ok(Box::new(WatchedTopicsMember { member, topics: self.clone() }))
    }
}

struct WatchedTopicsMember {
    member: Box<dyn Member>,
    topics: FanoutWatchedTopics,
}

#[async_trait]
impl MemberDecorator for WatchedTopicsMember {
    fn inner(&self) -> &dyn Member {
        &*self.member
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.member
    }

    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        self.topics.watch.check_alive().map_err(broken_topics)?;
        self.member.next(most).await
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        let watch = self.topics.watch.clone();
        watch.count_effect().map_err(broken_topics)?;
        self.topics.check_announced_rows(&turn.records).await;
        let of_slice = turn.offsets.iter().any(|(topic, _)| &**topic == topics::SLICES);
        self.member.commit(turn).await?;
        watch.slices.fetch_add(usize::from(of_slice), Ordering::SeqCst);
        Ok(watch.count_effect().map_err(broken_topics)?)
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.topics.watch.check_alive().map_err(broken_topics)?;
        self.member.rewind(partition).await
    }
}
