//! A log whose records travel in a registry's frame. The rooms behind it do not notice.

use std::sync::Arc;

use async_trait::async_trait;
use runtime::{ShutdownSignal, retry};
use topic::{
    CommitError, GroupMembership, Member, MemberEvent, NewRecord, RecordBatch, TopicError, TopicOffsets,
    TopicRecord, Topics, Turn,
    decorator::{MemberDecorator, TopicsDecorator},
};

use crate::{
    SchemaRegistry,
    lens::{RegistryFrame, SchemaHeaderMap, ValueLens},
    registration::migrate_registry,
};

/// A log around another.
#[derive(Clone, Debug)]
pub struct FramedTopics {
    topics: Arc<dyn Topics>,
    lens: Arc<dyn ValueLens>,
}

impl FramedTopics {
    /// Learns under which ids our schemas are registered, and goes on trying where that does not succeed; until then
    /// records go out as single objects, or under the ids that were learned before. Registers nothing, never fails.
    pub async fn open(
        topics: Arc<dyn Topics>,
        registry: SchemaRegistry,
        prefix: &str,
        shutdown: ShutdownSignal,
    ) -> Self {
        let framed = Self { topics, lens: Arc::new(RegistryFrame::new(registry.clone(), prefix)) };
        if let Err(why) = learn_schema_ids(&registry, prefix).await {
            tracing::warn!(why, "the registry does not have our schemas; retrying");
            let prefix = prefix.to_owned();
            tokio::spawn(async move {
                tokio::select! {
                    () = learn_schema_ids_later(registry, prefix) => {}
                    () = shutdown.wait() => {}
                }
            });
        }
        framed
    }

    #[cfg(test)]
    pub(crate) fn with_lens(topics: Arc<dyn Topics>, lens: Arc<dyn ValueLens>) -> Self {
        Self { topics, lens }
    }
}

async fn learn_schema_ids(registry: &SchemaRegistry, prefix: &str) -> Result<(), String> {
    match migrate_registry(registry, prefix, true).await {
        Ok(missing) if missing.is_empty() => Ok(()),
        Ok(missing) => Err(format!("`tidings migrate` registers them: {}", missing.join(", "))),
        Err(error) => Err(format!("{error:#}")),
    }
}

async fn learn_schema_ids_later(registry: SchemaRegistry, prefix: String) {
    let mut tries = 0;
    loop {
        retry::pause_before_retry(tries, 0).await;
        match learn_schema_ids(&registry, &prefix).await {
            Ok(()) => return tracing::info!("the registry has our schemas"),
            Err(why) => tracing::debug!(why, "the registry does not have our schemas"),
        }
        tries = tries.saturating_add(1);
    }
}

fn frame_records(lens: &dyn ValueLens, records: Vec<NewRecord>) -> Vec<NewRecord> {
    let framed = |record: NewRecord| NewRecord {
        value: record.value.map(|value| lens.encode_value(&record.topic, value)),
        ..record
    };
    records.into_iter().map(framed).collect()
}

fn unframe_records(
    lens: &dyn ValueLens,
    headers: &SchemaHeaderMap,
    records: Vec<TopicRecord>,
) -> Vec<TopicRecord> {
    let read = |record: TopicRecord| TopicRecord {
        value: record.value.map(|value| lens.decode_value(headers, &record.topic, value)),
        ..record
    };
    records.into_iter().map(read).collect()
}

#[async_trait]
impl TopicsDecorator for FramedTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.topics
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        self.topics.append(frame_records(&*self.lens, records)).await
    }

    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<TopicRecord>, TopicError> {
        let records = self.topics.read(topic, partition, from, most).await?;
        let headers = self.lens.prepare(&records).await.map_err(TopicError::Busy)?;
        Ok(unframe_records(&*self.lens, &headers, records))
    }

    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        let member = self.topics.join(membership).await?;
        Ok(Box::new(FramedMember { member, lens: self.lens.clone(), held: None }))
    }
}

struct FramedMember {
    member: Box<dyn Member>,
    lens: Arc<dyn ValueLens>,
    /// Records that wait for their schema; dropping `next` half-way loses none.
    held: Option<MemberEvent>,
}

impl FramedMember {
    fn drop_held(&mut self, partition: u32) {
        if matches!(&self.held, Some(MemberEvent::Records(batch)) if batch.partition == partition) {
            self.held = None;
        }
    }

    /// Waits until they can be read: a record that can be read later must not be put aside.
    async fn await_schemas(&self, records: &[TopicRecord]) -> SchemaHeaderMap {
        let mut tries = 0;
        loop {
            match self.lens.prepare(records).await {
                Ok(headers) => return headers,
                Err(reason) if tries == 0 => {
                    tracing::warn!(reason, "records are waiting for their schema");
                }
                Err(_) => {}
            }
            retry::pause_before_retry(tries, 0).await;
            tries = tries.saturating_add(1);
        }
    }
}

#[async_trait]
impl MemberDecorator for FramedMember {
    fn inner(&self) -> &dyn Member {
        &*self.member
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.member
    }

    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        if self.held.is_none() {
            self.held = Some(self.member.next(most).await?);
        }
        let headers = match &self.held {
            Some(MemberEvent::Records(batch)) => self.await_schemas(&batch.records).await,
            _ => SchemaHeaderMap::new(),
        };
        match self.held.take() {
            Some(MemberEvent::Records(mut batch)) => {
                batch.records = unframe_records(&*self.lens, &headers, batch.records);
                Ok(MemberEvent::Records(batch))
            }
            Some(other) => Ok(other),
            None => Err(TopicError::Busy("nothing happened".to_owned())),
        }
    }

    async fn take_more(&mut self, but: &[u32], most: usize) -> Result<Option<RecordBatch>, TopicError> {
        if self.held.is_some() {
            // It was not handed out before, and comes next.
            return Ok(None);
        }
        self.held = self.member.take_more(but, most).await?.map(MemberEvent::Records);
        if self.held.is_none() {
            return Ok(None);
        }
        match MemberDecorator::next(self, most).await? {
            MemberEvent::Records(batch) => Ok(Some(batch)),
            // Only records were held.
            MemberEvent::Assigned(_) | MemberEvent::Revoked(_) => Ok(None),
        }
    }

    async fn restore(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        let records = self.member.restore(partition).await?;
        let headers = self.await_schemas(&records).await;
        Ok(unframe_records(&*self.lens, &headers, records))
    }

    /// What is held has not been handed out.
    fn positions(&self, partition: u32) -> TopicOffsets {
        let mut positions = self.member.positions(partition);
        if let Some(MemberEvent::Records(batch)) = &self.held
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
        let outcome = MemberDecorator::commit_all(self, vec![turn]).await.pop();
        outcome.unwrap_or_else(|| Err(TopicError::Broken("a turn without an outcome".to_owned()).into()))
    }

    async fn commit_all(&mut self, mut turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        let partitions: Vec<u32> = turns.iter().map(|turn| turn.partition).collect();
        for turn in &mut turns {
            turn.records = frame_records(&*self.lens, std::mem::take(&mut turn.records));
        }
        let outcomes = self.member.commit_all(turns).await;
        for (partition, outcome) in partitions.into_iter().zip(&outcomes) {
            // Positions have gone back, or the partition is not ours any more.
            if outcome.is_err() {
                self.drop_held(partition);
            }
        }
        outcomes
    }

    fn hold(&mut self, partition: u32) {
        self.drop_held(partition);
        self.member.hold(partition);
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.drop_held(partition);
        self.member.rewind(partition).await
    }
}
