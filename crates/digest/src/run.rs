//! The digest in the loop: loads facts, lets [`crate::decide`] decide, hands the turn over, and writes the
//! marks it owes once the turn is committed.

pub mod forecast;
pub(crate) mod turn_spans;

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use async_trait::async_trait;
use house_facts::{pause::PausedPlans, tenant_shares::TenantShares};
use model::{
    UtcMillis,
    fault::{self, PlantedFault},
    limits::TURN_CLOSINGS_MAX,
    person::PersonRecord,
};
use room::pause_board::PauseListener;
use runtime::{crash_point, trace_scope::with_scope};
use topic::{
    GroupMembership, NewRecord, RecordBatch, TopicRecord, TurnGuarantee,
    drive::{RoomWork, run_room},
};
use wire::topics;

use crate::{
    apply,
    config::{Config, GROUP},
    decide::{DigestDecider, DigestDecision},
    deps::Deps,
    load,
    memory::PartitionMemory,
    newer_edition, read, records,
    run::turn_spans::TurnSpans,
};

/// The topics the digest reads: who owns a partition of `pending` owns the same of the others.
pub fn membership() -> GroupMembership {
    GroupMembership {
        group: GROUP.into(),
        lead: topics::PENDING.into(),
        companions: vec![topics::INBOX.into()],
        state: Some(topics::WINDOWS.into()),
        mode: TurnGuarantee::Atomic,
    }
}

/// Runs the digest until the shutdown.
pub async fn run(deps: Deps, config: Config) -> anyhow::Result<()> {
    let drive_with = deps.room.build_drive(membership(), config.records_max);
    deps.metrics.begin_plans(&deps.room.catalogue);
    let pauses = deps.room.pauses.listen();
    let (paused, partitions, decided, spans) = Default::default();
    let mut digest = DigestWork { deps, shares: config.shares, pauses, paused, partitions, decided, spans };
    run_room(drive_with, &mut digest).await
}

struct DigestWork {
    deps: Deps,
    shares: Arc<TenantShares>,
    pauses: PauseListener,
    /// As of the last change that was taken up.
    paused: Arc<PausedPlans>,
    partitions: BTreeMap<u32, PartitionMemory>,
    /// Decided but not yet committed.
    decided: BTreeMap<u32, DigestDecision>,
    spans: TurnSpans,
}

#[async_trait]
impl RoomWork for DigestWork {
    fn restore(&mut self, partition: u32, state: Vec<TopicRecord>) -> anyhow::Result<()> {
        let mut memory = PartitionMemory::with_room(state.len()).with_shares(self.shares.clone());
        memory.pause_plans(&self.paused, &self.deps.room.catalogue)?;
        for record in state {
            let Some(value) = record.value else { continue };
            // State that cannot be read stops the partition; it is never skipped.
            let (tenant, person, record) = wire::window::decode(&value)
                .with_context(|| format!("{}[{partition}] at offset {}", topics::WINDOWS, record.offset))?;
            let key = (tenant, person);
            memory.unwritten.extend(record.owed.iter().map(|owed| (key.clone(), owed.clone())));
            memory.put_of_plans(&key, Some(&record), &self.deps.room.catalogue)?;
        }
        self.partitions.insert(partition, memory);
        self.set_gauges(partition);
        Ok(())
    }

    fn forget(&mut self, partition: u32) {
        self.partitions.remove(&partition);
        self.spans.discard(partition);
        self.decided.remove(&partition);
        self.set_gauges(partition);
    }

    async fn outside_change(&self) {
        self.pauses.wait_for_change().await;
    }

    fn take_change(&mut self) {
        self.paused = self.pauses.take_up();
        for (partition, memory) in &mut self.partitions {
            if let Err(error) = memory.pause_plans(&self.paused, &self.deps.room.catalogue) {
                // Its next turn finds what cannot be read.
                tracing::error!(partition, error = format!("{error:#}"), "a pause could not be taken up");
            }
        }
    }

    fn due(&self, partition: u32) -> Option<i64> {
        self.partitions.get(&partition).and_then(PartitionMemory::next_due).map(|at| at.0)
    }

    fn urgently_due(&self, partition: u32) -> Option<i64> {
        self.partitions.get(&partition).and_then(|memory| memory.ahead.first()).map(|at| at.0)
    }

    fn reads_first(&self) -> bool {
        !fault::is_planted(PlantedFault::ClosesUnread)
    }

    async fn turn(&mut self, batch: &RecordBatch, closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let scope = self.spans.begin(&self.deps.room.tracer, batch);
        with_scope(scope, self.decide(batch, closing)).await
    }

    async fn after_commit(&mut self, partition: u32) -> anyhow::Result<()> {
        crash_point::point(crash_point::COMMITTED);
        let (Deps { room, metrics, .. }, now) = (&self.deps, self.deps.room.now());
        self.spans.end(partition);
        let Some(decided) = self.decided.remove(&partition) else { return Ok(()) };
        metrics.count_decision(&decided, &self.paused, now);
        let memory = self.partitions.entry(partition).or_default();
        memory.acknowledged.clear();
        for (key, plan) in &decided.idle {
            let before = if decided.records.contains_key(key) { None } else { memory.get(key)? };
            let next = decided.records.get(key).or(before.as_ref()).and_then(PersonRecord::next_due);
            if memory.ahead.note_idle_closing(key, next, now) {
                metrics.count_idle_closing(key, plan);
                if let Some(record) = &before {
                    memory.put_of_plans(key, Some(record), &room.catalogue)?;
                }
            }
        }
        for (key, record) in decided.records {
            // What was owed when the turn began is acknowledged in it, so all of this is new.
            memory.unwritten.extend(record.owed.iter().map(|owed| (key.clone(), owed.clone())));
            if !decided.idle.contains_key(&key) {
                memory.ahead.release(&key);
            }
            memory.put_of_plans(&key, (!record.is_spent(now)).then_some(&record), &room.catalogue)?;
        }
        metrics.set_gauges(partition, Some(&mut *memory), now);
        apply::write_owed(&self.deps, memory).await
    }

    fn after_abort(&mut self, partition: u32) {
        self.spans.discard(partition);
        self.decided.remove(&partition);
    }
}

impl DigestWork {
    async fn decide(&mut self, batch: &RecordBatch, closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        let (room, now) = (&self.deps.room, self.deps.room.now());
        let memory = self.partitions.entry(batch.partition).or_default();
        apply::write_owed(&self.deps, memory).await?;
        // Before anything that may fail: what is due and cannot be told is what one wants to see.
        self.deps.metrics.set_due(batch.partition, memory.count_due(now));
        let read = read::read_batch(&batch.records, read::PushNeeds::find(&room.catalogue), now)?;
        if newer_edition::announces_unknown(&read.of, &room.catalogue) {
            newer_edition::check_newer_edition(&batch.records, &room.editions, now)?;
        }
        self.deps.metrics.quarantined_total.with_label_values::<&str>(&[]).inc_by(read.rejects.len() as u64);
        let due = closing.map(|at| memory.due_at(UtcMillis(at), TURN_CLOSINGS_MAX)).transpose()?;
        let mut due = due.unwrap_or_default();
        let closing = closing.map_or(now, UtcMillis);
        let facts = load::load_facts(&self.deps, memory, &read.of, &mut due, (now, closing)).await?;
        let (catalogue, zones) = (&*room.catalogue, &room.zones);
        let acknowledged = &memory.acknowledged;
        let paused = &*self.paused;
        let deciding = DigestDecider { facts: &facts, acknowledged, catalogue, zones, paused, now, closing };
        let decided = deciding.decide(&read.of, &due);
        if newer_edition::ends_unknown(&decided, &facts.records, catalogue) {
            newer_edition::check_newer_edition(&batch.records, &room.editions, now)?;
        }
        apply::apply_decision(&self.deps, &decided).await?;
        let mut records = read.rejects;
        let parents = self.spans.begin_tellings(&room.tracer, batch.partition, &decided);
        records.extend(records::decision_records(&decided, &parents, (catalogue, room.partitions), now)?);
        self.decided.insert(batch.partition, decided);
        Ok(records)
    }

    fn set_gauges(&mut self, partition: u32) {
        let now = self.deps.room.now();
        self.deps.metrics.set_gauges(partition, self.partitions.get_mut(&partition), now);
    }
}
