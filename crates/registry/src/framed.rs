//! A log whose records travel in a registry's frame. The rooms behind it do not notice.

use std::sync::Arc;

use async_trait::async_trait;
use runtime::{Shutdown, retry};
use topic::{
    CommitError, Happening, Member, Membership, NewRecord, Offsets, Record, TopicError, TopicSpec, Topics,
    Turn,
    port::{Batch, Standing, TopicName},
};

use crate::{
    Registry,
    lens::{Frame, Headers, Lens},
    register::migrate,
};

/// A log around another.
#[derive(Clone, Debug)]
pub struct Framed {
    topics: Arc<dyn Topics>,
    lens: Arc<dyn Lens>,
}

impl Framed {
    /// Learns under which ids our schemas are registered, and goes on trying where that does not succeed; until then
    /// records go out as single objects, or under the ids that were learned before. Registers nothing, never fails.
    pub async fn open(topics: Arc<dyn Topics>, registry: Registry, prefix: &str, shutdown: Shutdown) -> Self {
        let framed = Self { topics, lens: Arc::new(Frame::new(registry.clone(), prefix)) };
        if let Err(why) = learn(&registry, prefix).await {
            tracing::warn!(why, "our schemas are not known to the registry; this is tried again");
            let prefix = prefix.to_owned();
            tokio::spawn(async move {
                tokio::select! {
                    () = learn_later(registry, prefix) => {}
                    () = shutdown.wait() => {}
                }
            });
        }
        framed
    }

    #[cfg(test)]
    pub(crate) fn with(topics: Arc<dyn Topics>, lens: Arc<dyn Lens>) -> Self {
        Self { topics, lens }
    }
}

async fn learn(registry: &Registry, prefix: &str) -> Result<(), String> {
    match migrate(registry, prefix, true).await {
        Ok(missing) if missing.is_empty() => Ok(()),
        Ok(missing) => Err(format!("`tidings migrate` registers them: {}", missing.join(", "))),
        Err(error) => Err(format!("{error:#}")),
    }
}

async fn learn_later(registry: Registry, prefix: String) {
    let mut tries = 0;
    loop {
        retry::pause(tries, 0).await;
        match learn(&registry, &prefix).await {
            Ok(()) => return tracing::info!("our schemas are known to the registry"),
            Err(why) => tracing::debug!(why, "our schemas are not known to the registry"),
        }
        tries = tries.saturating_add(1);
    }
}

fn outward(lens: &dyn Lens, records: Vec<NewRecord>) -> Vec<NewRecord> {
    let framed = |record: NewRecord| NewRecord {
        value: record.value.map(|value| lens.out(&record.topic, value)),
        ..record
    };
    records.into_iter().map(framed).collect()
}

fn inward(lens: &dyn Lens, headers: &Headers, records: Vec<Record>) -> Vec<Record> {
    let read = |record: Record| Record {
        value: record.value.map(|value| lens.back(headers, &record.topic, value)),
        ..record
    };
    records.into_iter().map(read).collect()
}

#[async_trait]
impl Topics for Framed {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.topics.declare(specs).await
    }

    async fn unfit(&self, specs: &[TopicSpec]) -> Result<Vec<String>, TopicError> {
        self.topics.unfit(specs).await
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        self.topics.append(outward(&*self.lens, records)).await
    }

    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<Record>, TopicError> {
        let records = self.topics.read(topic, partition, from, most).await?;
        let headers = self.lens.prepare(&records).await.map_err(TopicError::Busy)?;
        Ok(inward(&*self.lens, &headers, records))
    }

    async fn appended(&self, topic: &str, partition: u32, from: u64) -> Result<Option<i64>, TopicError> {
        self.topics.appended(topic, partition, from).await
    }

    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        self.topics.bounds(topic).await
    }

    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        self.topics.since(topic, at).await
    }

    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<Standing>, TopicError> {
        self.topics.standing(group, topic).await
    }

    async fn has_members(&self, group: &str) -> Result<bool, TopicError> {
        self.topics.has_members(group).await
    }

    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        self.topics.remove(topics).await
    }

    async fn blank(&self, records: &[(TopicName, u32, u64)]) -> Result<bool, TopicError> {
        self.topics.blank(records).await
    }

    async fn life(&self, topic: &str) -> Result<Option<i64>, TopicError> {
        self.topics.life(topic).await
    }

    async fn join(&self, membership: Membership) -> Result<Box<dyn Member>, TopicError> {
        let member = self.topics.join(membership).await?;
        Ok(Box::new(FramedMember { member, lens: self.lens.clone(), held: None }))
    }
}

struct FramedMember {
    member: Box<dyn Member>,
    lens: Arc<dyn Lens>,
    /// What came and waits for a schema: whoever drops `next` half-way loses nothing.
    held: Option<Happening>,
}

impl FramedMember {
    fn let_go(&mut self, partition: u32) {
        if matches!(&self.held, Some(Happening::Records(batch)) if batch.partition == partition) {
            self.held = None;
        }
    }

    /// Waits until they can be read: what could be read later is nobody's to put aside.
    async fn prepare(&self, records: &[Record]) -> Headers {
        let mut tries = 0;
        loop {
            match self.lens.prepare(records).await {
                Ok(headers) => return headers,
                Err(reason) if tries == 0 => {
                    tracing::warn!(reason, "records wait for the schema they were written with");
                }
                Err(_) => {}
            }
            retry::pause(tries, 0).await;
            tries = tries.saturating_add(1);
        }
    }
}

#[async_trait]
impl Member for FramedMember {
    async fn next(&mut self, most: usize) -> Result<Happening, TopicError> {
        if self.held.is_none() {
            self.held = Some(self.member.next(most).await?);
        }
        let headers = match &self.held {
            Some(Happening::Records(batch)) => self.prepare(&batch.records).await,
            _ => Headers::new(),
        };
        match self.held.take() {
            Some(Happening::Records(mut batch)) => {
                batch.records = inward(&*self.lens, &headers, batch.records);
                Ok(Happening::Records(batch))
            }
            Some(other) => Ok(other),
            None => Err(TopicError::Busy("nothing happened".to_owned())),
        }
    }

    async fn more(&mut self, but: &[u32], most: usize) -> Result<Option<Batch>, TopicError> {
        if self.held.is_some() {
            // It was not handed out before, and comes next.
            return Ok(None);
        }
        self.held = self.member.more(but, most).await?.map(Happening::Records);
        if self.held.is_none() {
            return Ok(None);
        }
        match self.next(most).await? {
            Happening::Records(batch) => Ok(Some(batch)),
            // Only records were held.
            Happening::Assigned(_) | Happening::Revoked(_) => Ok(None),
        }
    }

    async fn restore(&self, partition: u32) -> Result<Vec<Record>, TopicError> {
        let records = self.member.restore(partition).await?;
        let headers = self.prepare(&records).await;
        Ok(inward(&*self.lens, &headers, records))
    }

    async fn ends(&self, partition: u32) -> Result<Offsets, TopicError> {
        self.member.ends(partition).await
    }

    /// What is held has not been handed out.
    fn positions(&self, partition: u32) -> Offsets {
        let mut positions = self.member.positions(partition);
        if let Some(Happening::Records(batch)) = &self.held
            && batch.partition == partition
        {
            for (topic, position) in &mut positions {
                let first = batch.records.iter().find(|record| record.topic == *topic);
                *position = first.map_or(*position, |record| record.offset);
            }
        }
        positions
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        let outcome = self.commit_all(vec![turn]).await.pop();
        outcome.unwrap_or_else(|| Err(TopicError::Broken("a turn without an outcome".to_owned()).into()))
    }

    async fn commit_all(&mut self, mut turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        let partitions: Vec<u32> = turns.iter().map(|turn| turn.partition).collect();
        for turn in &mut turns {
            turn.records = outward(&*self.lens, std::mem::take(&mut turn.records));
        }
        let outcomes = self.member.commit_all(turns).await;
        for (partition, outcome) in partitions.into_iter().zip(&outcomes) {
            // Positions have gone back, or the partition is not ours any more.
            if outcome.is_err() {
                self.let_go(partition);
            }
        }
        outcomes
    }

    fn hold(&mut self, partition: u32) {
        self.let_go(partition);
        self.member.hold(partition);
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.let_go(partition);
        self.member.rewind(partition).await
    }
}
