//! An engine that does whatever a real one is allowed to do, on purpose and by a seed.
//!
//! It wraps any engine and breaks no promise: appends that come twice, answers that say *busy* when it was
//! done or was not, turns that are aborted, turns whose outcome nobody can tell, owners that are replaced,
//! and a crash between any two effects. Whatever runs on it must come out the same.
//!
//! What happens is drawn from the seed, the place (group or topic, partition) and how often the same was
//! drawn there before; so rooms that run side by side do not change each other's luck.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::{
    decorator::TopicsDecorator,
    port::{GroupMembership, Member, NewRecord, TopicError, TopicName, Topics},
};

mod dice;
mod member;

#[cfg(test)]
mod tests;

use dice::TopicsDice;

/// How often each thing happens, out of a thousand calls at which it could.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoughTopicsOdds {
    /// An append is done twice.
    pub repeated: u32,
    /// An append is refused as busy, and was not done.
    pub busy_before: u32,
    /// An append is answered as busy, although it was done.
    pub busy_after: u32,
    /// A turn is aborted.
    pub aborted: u32,
    /// A partition is lost with a turn that was not committed.
    pub lost_before: u32,
    /// A partition is lost with a turn that was committed.
    pub lost_after: u32,
    /// All partitions of a member are taken away and assigned anew.
    pub replaced: u32,
    /// The process dies, before or after the effect of any call.
    pub crash: u32,
}

impl RoughTopicsOdds {
    /// Nothing ever happens.
    pub const CALM: Self = Self {
        repeated: 0,
        busy_before: 0,
        busy_after: 0,
        aborted: 0,
        lost_before: 0,
        lost_after: 0,
        replaced: 0,
        crash: 0,
    };

    /// Often enough that a short scenario meets everything but crashes, which need somebody who starts
    /// again what died.
    pub const ROUGH: Self = Self {
        repeated: 100,
        busy_before: 50,
        busy_after: 50,
        aborted: 50,
        lost_before: 30,
        lost_after: 50,
        replaced: 30,
        crash: 0,
    };
}

/// A rough engine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RoughTopics {
    inner: Arc<dyn Topics>,
    odds: RoughTopicsOdds,
    dice: Arc<TopicsDice>,
    calm: Arc<AtomicBool>,
    crashed: Arc<watch::Sender<bool>>,
}

/// Whether the effect of a call takes place before the process dies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RoughTopicsCrash {
    No,
    Before,
    After,
}

impl RoughTopics {
    pub fn new(inner: Arc<dyn Topics>, odds: RoughTopicsOdds, seed: u64) -> Self {
        let (dice, crashed) = (Arc::new(TopicsDice::new(seed)), Arc::new(watch::Sender::new(false)));
        Self { inner, odds, dice, calm: Arc::default(), crashed }
    }

    /// Whether the process died. Every call fails from then on, also those that wait.
    pub fn is_crashed(&self) -> bool {
        *self.crashed.borrow()
    }

    /// Returns when the process dies.
    pub async fn wait_for_crash(&self) {
        let mut receiver = self.crashed.subscribe();
        // The sender lives in `self`, so the channel cannot close before.
        drop(receiver.wait_for(|crashed| *crashed).await);
    }

    /// Lets it die now.
    pub fn crash_now(&self) {
        self.crashed.send_replace(true);
    }

    /// The next life, on what the crash left; the luck goes on where it was.
    pub fn reopen_on(&self, inner: Arc<dyn Topics>) -> Self {
        let crashed = Arc::new(watch::Sender::new(false));
        Self { inner, odds: self.odds, dice: self.dice.clone(), calm: self.calm.clone(), crashed }
    }

    /// From now on nothing happens any more, in this life and the next: what runs can come to its end.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    /// What happened so far and how often.
    pub fn happened_counts(&self) -> BTreeMap<&'static str, u64> {
        self.dice.happened_counts()
    }

    fn draw(&self, what: &'static str, odds: u32, place: &str, partition: u32) -> bool {
        !self.calm.load(Ordering::SeqCst) && self.dice.draw(what, odds, place, partition)
    }

    /// Whether the process dies in this call, or is dead.
    fn draw_crash(&self, place: &str, partition: u32) -> Result<RoughTopicsCrash, TopicError> {
        self.check_alive()?;
        let crash = if !self.draw("crash", self.odds.crash, place, partition) {
            RoughTopicsCrash::No
        } else if self.dice.flip_coin(place, partition) {
            RoughTopicsCrash::Before
        } else {
            RoughTopicsCrash::After
        };
        self.die_here(crash, RoughTopicsCrash::Before)?;
        Ok(crash)
    }

    /// Dies here, if it was to be here.
    fn die_here(&self, crash: RoughTopicsCrash, here: RoughTopicsCrash) -> Result<(), TopicError> {
        if crash == here {
            self.crash_now();
        }
        self.check_alive()
    }

    fn check_alive(&self) -> Result<(), TopicError> {
        if self.is_crashed() { Err(dead_error()) } else { Ok(()) }
    }

    /// Waits for a call, but not beyond the death of the process.
    async fn while_alive<T>(&self, call: impl Future<Output = T>) -> Result<T, TopicError> {
        tokio::select! {
            biased;
            () = self.wait_for_crash() => Err(dead_error()),
            out = call => Ok(out),
        }
    }
}

fn dead_error() -> TopicError {
    TopicError::Broken("the process died, on purpose".to_owned())
}

#[async_trait]
impl TopicsDecorator for RoughTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        _operation: &'static str,
        call: impl Future<Output = Result<T, TopicError>> + Send,
    ) -> Result<T, TopicError> {
        self.while_alive(call).await?
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        let place = records.first().map_or_else(|| "".into(), |r| r.topic.clone());
        let partition = records.first().map_or(0, |r| r.partition);
        let crash = self.draw_crash(&place, partition)?;
        let RoughTopicsOdds { repeated, busy_before, busy_after, .. } = self.odds;
        if self.draw("busy, not appended", busy_before, &place, partition) {
            return Err(TopicError::Busy("on purpose, before".to_owned()));
        }
        if self.draw("appended twice", repeated, &place, partition) {
            self.inner.append(records.clone()).await?;
        }
        self.inner.append(records).await?;
        self.die_here(crash, RoughTopicsCrash::After)?;
        if self.draw("busy, appended", busy_after, &place, partition) {
            return Err(TopicError::Busy("on purpose, after".to_owned()));
        }
        Ok(())
    }

    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        let crash = self.draw_crash("removal", 0)?;
        self.inner.remove(topics).await?;
        self.die_here(crash, RoughTopicsCrash::After)
    }

    async fn blank(&self, records: &[(TopicName, u32, u64)]) -> Result<bool, TopicError> {
        let crash = self.draw_crash("blank", 0)?;
        let blanked = self.inner.blank(records).await?;
        self.die_here(crash, RoughTopicsCrash::After)?;
        Ok(blanked)
    }

    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        let inner = self.inner.join(membership.clone()).await?;
        Ok(Box::new(member::RoughMember::new(self.clone(), inner, membership)))
    }
}
