//! The real room of the sender at work on Readys, with whatever courier: from its first look at a person until the
//! last Ready is committed.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use catalogue::Catalogue;
use courier::{Courier, CourierError, HandoverGate, HandoverOutcome, Message};
use model::{Channel, Person, partition::PartitionCount, ready::Ready};
use render::MessageRenderer;
use runtime::{Clock, metrics::Metrics};
use sender::{Config, config::GROUP, metrics::SenderMetrics};
use store::{JournalOutcome, Store};
use tokio::time::timeout;
use topic::{TopicRetention, TopicSpec, Topics};
use wire::topics;

use crate::{ready_load::ReadyLoad, timed_store::TimedStore};

/// Nothing is put off, or what is measured would not be all of it.
const SLOW: Duration = Duration::from_secs(60);
const LOOK_MS: i64 = 20;
const PATIENCE: Duration = Duration::from_secs(600);
/// Readys asked for at once.
const AT_ONCE: usize = 500;

/// Engines with persons in them, and what they are told by.
pub struct SenderBench {
    pub letters: ReadyLoad,
    catalogue: Arc<Catalogue>,
    topics: Arc<dyn Topics>,
    store: Arc<dyn Store>,
    /// How often something was announced.
    rounds: i64,
}

impl SenderBench {
    pub async fn open(
        letters: ReadyLoad,
        catalogue: Catalogue,
        topics: Arc<dyn Topics>,
        store: Arc<dyn Store>,
    ) -> anyhow::Result<Self> {
        topics.declare(&topic_specs()).await?;
        letters.fill(&*store).await?;
        Ok(Self { letters, catalogue: Arc::new(catalogue), topics, store, rounds: 0 })
    }

    /// Announces something to each of so many persons and has the room tell it; returns for how long the room was at
    /// work, and what it was given.
    pub async fn time_sender(
        &mut self,
        persons: usize,
        courier: Arc<dyn Courier>,
    ) -> anyhow::Result<(Duration, Vec<Ready>)> {
        self.rounds += 1;
        let persons: Vec<Person> = self.letters.persons().iter().take(persons).cloned().collect();
        let readys = self.letters.announce(&*self.topics, &persons, self.rounds).await?;
        let store = Arc::new(TimedStore::new(self.store.clone()));
        let (topics, catalogue) = (self.topics.clone(), self.catalogue.clone());
        let room = room::Deps::for_one_room(topics, store.clone(), catalogue, Clock::real(0));
        let shutdown = room.shutdown.clone();
        let ports = sender::Deps {
            room,
            courier,
            renderer: Arc::new(
                MessageRenderer::new(&self.catalogue).map_err(|wrong| anyhow::anyhow!("{wrong}"))?,
            ),
            metrics: SenderMetrics::declare(&Metrics::default())?,
        };
        let mut run = tokio::spawn(sender::run(ports, Config { patience: SLOW, ..Config::default() }));
        let committed = async {
            let clock = Clock::real(0);
            while !self.has_committed().await? {
                clock.sleep_until(clock.now() + LOOK_MS).await;
            }
            store.first_state_read().context("the room asked for nobody")
        };
        let took = tokio::select! {
            committed = timeout(PATIENCE, committed) => committed.context("not everybody was told")??.elapsed(),
            ended = &mut run => {
                ended.context("the sender")?.context("the sender")?;
                bail!("the sender ended by itself");
            }
        };
        shutdown.start();
        run.await.context("the sender")?.context("the sender")?;
        Ok((took, readys))
    }

    async fn has_committed(&self) -> anyhow::Result<bool> {
        let standings = self.topics.standing(GROUP, topics::READY).await?;
        Ok(standings.iter().all(|one| one.lag() == 0))
    }

    /// Whether the journal has each of these as sent, by one claim.
    pub async fn is_all_sent(&self, readys: &[Ready]) -> anyhow::Result<bool> {
        for some in readys.chunks(AT_ONCE) {
            let ids: Vec<_> = some.iter().map(|ready| ready.id).collect();
            let found = self.store.read_journal(self.letters.tenant(), &ids).await?;
            let is_sent = |journalled: &store::JournalRows| {
                matches!(&*journalled.records, [record] if record.what == JournalOutcome::Sent)
                    && journalled.claims.len() == 1
            };
            if !found.iter().all(is_sent) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Keeps what it is given, and sends nothing.
#[derive(Debug, Default)]
pub struct CollectingCourier(Mutex<Vec<Message>>);

impl CollectingCourier {
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Courier for CollectingCourier {
    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        if !gate.may_go().await {
            return Ok(HandoverOutcome::Stopped);
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message.clone());
        Ok(HandoverOutcome::Accepted)
    }

    async fn was_sent(&self, _: Channel, _: &str) -> Result<Option<bool>, CourierError> {
        Ok(None)
    }
}

/// What the sender reads and writes.
pub(crate) fn topic_specs() -> Vec<TopicSpec> {
    let kept = |name: &str, partitions| TopicSpec {
        name: name.into(),
        partitions,
        retention: TopicRetention::Milliseconds(i64::MAX),
    };
    let many = PartitionCount::USUAL.count();
    vec![
        kept(topics::READY_URGENT, many),
        kept(topics::READY, many),
        kept(topics::INBOX, many),
        kept(topics::QUARANTINE, 1),
    ]
}
