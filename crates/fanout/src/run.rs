//! The room at work: reads a turn, asks the store, writes rows, and then announces them.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use catalogue::Catalogue;
use futures::{StreamExt as _, stream};
use model::{
    Event, Millis, State,
    fault::{self, Fault},
};
use runtime::{Clock, Quiet, Shutdown, crash};
use store::{Followers, StateKey, Store, StoreError};
use topic::{
    Batch, Membership, Mode, NewRecord, Topics,
    drive::{Drive, Work, drive},
};
use wire::topics;

use crate::{
    config::{ASKED_AT_ONCE, Config, FIRST_PERSONS_MAX, GROUP, SHEET_ROWS_MAX},
    metrics::FanoutMetrics,
    reach::{self, Reach},
    read,
    resolve::{Resolved, Sheet, resolve},
};

/// What the room works with.
#[derive(Clone)]
pub struct Ports {
    pub topics: Arc<dyn Topics>,
    pub store: Arc<dyn Store>,
    pub catalogue: Arc<Catalogue>,
    pub clock: Clock,
    pub quiet: Quiet,
    pub shutdown: Shutdown,
    pub metrics: FanoutMetrics,
}

/// Runs the room until the shutdown, or until an engine cannot go on.
pub async fn run(ports: Ports, config: Config) -> anyhow::Result<()> {
    let membership = Membership {
        group: GROUP.into(),
        lead: topics::EVENTS.into(),
        companions: Vec::new(),
        state: None,
        mode: Mode::Plain,
    };
    let loop_ = Drive {
        topics: ports.topics.clone(),
        membership,
        clock: ports.clock.clone(),
        quiet: ports.quiet.clone(),
        shutdown: ports.shutdown.clone(),
        records_max: config.records_max,
    };
    drive(loop_, &mut Fanout { ports }).await
}

struct Fanout {
    ports: Ports,
}

#[async_trait]
impl Work for Fanout {
    async fn turn(&mut self, batch: &Batch, _: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let now = Millis(self.ports.clock.now());
        let read = read::read(&batch.records, now)?;
        self.ports.metrics.read(read.events.len(), read.expired, read.rejects.len());
        self.tell(&read.events, now).await?;
        Ok(read.rejects)
    }
}

impl Fanout {
    /// Tells each event to its audience, a sheet at a time.
    async fn tell(&self, events: &[Event], now: Millis) -> anyhow::Result<()> {
        let catalogue = &self.ports.catalogue;
        let stored = self.states(reach::unstated(events, catalogue)).await.context("states of subjects")?;
        let reaches = reach::reaches(events, &stored, catalogue);
        let mut firsts = Vec::with_capacity(reaches.len());
        for reach in &reaches {
            firsts.push(self.followers(reach, None, FIRST_PERSONS_MAX));
        }
        let mut firsts = stream::iter(firsts).buffered(ASKED_AT_ONCE);
        let mut sheet = Sheet::default();
        for reach in &reaches {
            let Some(first) = firsts.next().await else { break };
            let mut part = first.context("followers")?;
            loop {
                let rows = part.persons.len() * reach.told.len();
                if !sheet.is_empty() && sheet.rows() + rows > SHEET_ROWS_MAX {
                    self.tell_sheet(&std::mem::take(&mut sheet), events, now).await?;
                    if self.ports.shutdown.started() {
                        // A large audience is not waited for: what was told is told again, harmlessly.
                        bail!("stopped within a turn");
                    }
                }
                sheet.add(reach, part.persons);
                let Some(from) = part.next else { break };
                part = self.followers(reach, Some(&from), SHEET_ROWS_MAX).await.context("followers")?;
            }
        }
        self.tell_sheet(&sheet, events, now).await
    }

    /// Some followers of a reach, fewer if each of them is told much.
    async fn followers(
        &self,
        reach: &Reach,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<Followers, StoreError> {
        let most = (SHEET_ROWS_MAX / reach.told.len().max(1)).clamp(1, most);
        self.ports.store.followers(&reach.tenant, &reach.target, from, most).await
    }

    async fn states(&self, keys: Vec<StateKey>) -> Result<BTreeMap<StateKey, State>, StoreError> {
        if keys.is_empty() {
            return Ok(BTreeMap::new());
        }
        let states = self.ports.store.states(&keys).await?;
        Ok(keys.into_iter().zip(states).collect())
    }

    /// Law 4: stored, then announced; acknowledged when the turn is committed.
    async fn tell_sheet(&self, sheet: &Sheet<'_>, events: &[Event], now: Millis) -> anyhow::Result<()> {
        if sheet.is_empty() {
            return Ok(());
        }
        let states = self.states(sheet.persons()).await.context("states of persons")?;
        let Resolved { rows, announcements, counts } = resolve(sheet, events, &states);
        let announcements = announcements.iter().map(|(partition, pending)| {
            let value = Some(wire::pending::encode(pending)?);
            let key = wire::key::partition(*partition);
            Ok(NewRecord { topic: topics::PENDING.into(), partition: *partition, key, value })
        });
        let mut announcements = announcements.collect::<anyhow::Result<Vec<_>>>()?;
        if fault::planted(Fault::AnnouncedFirst) {
            self.announce(std::mem::take(&mut announcements)).await?;
        }
        if !rows.is_empty() {
            self.ports.store.write(rows, now).await.context("rows")?;
        }
        crash::point(crash::STORED);
        self.announce(announcements).await?;
        self.ports.metrics.told(counts);
        Ok(())
    }

    async fn announce(&self, announcements: Vec<NewRecord>) -> anyhow::Result<()> {
        if announcements.is_empty() {
            return Ok(());
        }
        self.ports.topics.append(announcements).await.context("announcements")
    }
}
