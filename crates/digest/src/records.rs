//! The records of a turn: what is remembered of persons, and what is due.

use model::{
    UtcMillis,
    delivery::{Delivery, DeliveryOutcome},
    partition::PartitionCount,
    ready::Ready,
    trace::TraceParent,
};
use room::{
    quarantine::quarantine_unwritten_ready,
    records::{inbox_record, ready_record, stamp_trace, window_record},
};
use topic::NewRecord;
use wire::InboxItem;

use crate::{config::GROUP, decide::DigestDecision, run::turn_spans::ReadyParents};

/// What a decision puts on topics.
pub(crate) fn decision_records(
    decided: &DigestDecision,
    parents: &ReadyParents,
    partitions: PartitionCount,
    now: UtcMillis,
) -> anyhow::Result<Vec<NewRecord>> {
    let mut records = Vec::new();
    for (key, record) in decided.records.iter().filter(|(key, _)| !decided.hints.contains(*key)) {
        records.push(window_record((&key.0, &key.1), record, partitions, now)?);
    }
    for ready in &decided.ready {
        records.extend(ready_records(ready, parents.get(&ready.id), partitions, now)?);
    }
    Ok(records)
}

/// A Ready on its way. One that cannot be written would stop its partition: it is refused in the sender's stead, and put
/// aside, so that its entries have a fate and a person looks.
fn ready_records(
    ready: &Ready,
    parent: Option<&TraceParent>,
    partitions: PartitionCount,
    now: UtcMillis,
) -> anyhow::Result<Vec<NewRecord>> {
    let error = match ready_record(ready, partitions) {
        Ok(record) => return Ok(vec![stamp_trace(record, parent)]),
        Err(error) => error,
    };
    tracing::error!(ready = %ready.id, plan = %ready.plan, %error, "a Ready cannot be written; its entries end as refused");
    let refused = Delivery::from_ready(ready, now, DeliveryOutcome::Refused { left: Vec::new() });
    let refused = inbox_record(&InboxItem::Delivery(Box::new(refused)), partitions)?;
    let reason =
        format!("{} of `{}` cannot be written, its entries end as refused: {error}", ready.id, ready.plan);
    Ok(vec![refused, quarantine_unwritten_ready(ready, reason, GROUP, partitions, now)?])
}
