//! The records of a turn: what is remembered of persons, and what is due.

use catalogue::Catalogue;
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
use wire::{InboxItem, topics};

use crate::{config::GROUP, decide::DigestDecision, run::turn_spans::ReadyParents};

/// What a decision puts on topics.
pub(crate) fn decision_records(
    decided: &DigestDecision,
    parents: &ReadyParents,
    (catalogue, partitions): (&Catalogue, PartitionCount),
    now: UtcMillis,
) -> anyhow::Result<Vec<NewRecord>> {
    let mut records = Vec::new();
    for (key, record) in decided.records.iter().filter(|(key, _)| !decided.hints.contains(*key)) {
        records.push(window_record((&key.0, &key.1), record, partitions, now)?);
    }
    for ready in &decided.ready {
        let is_urgent = has_urgent_plan(ready, catalogue);
        records.extend(ready_records((ready, is_urgent), parents.get(&ready.id), partitions, now)?);
    }
    Ok(records)
}

/// By the catalogue that its person has now: a Ready that is issued again goes by the lane that its plan has by then, and
/// the journal sees to it that it is told once.
fn has_urgent_plan(ready: &Ready, catalogue: &Catalogue) -> bool {
    let plans = &catalogue.for_person(&ready.person).plans;
    plans.by_name.get(&ready.plan).is_some_and(|plan| plan.urgent)
}

/// A Ready on its way. One that cannot be written would stop its partition: it is refused in the sender's stead, and put
/// aside, so that its entries have a fate and a person looks.
fn ready_records(
    (ready, is_urgent): (&Ready, bool),
    parent: Option<&TraceParent>,
    partitions: PartitionCount,
    now: UtcMillis,
) -> anyhow::Result<Vec<NewRecord>> {
    let error = match ready_record(ready, is_urgent, partitions) {
        Ok(record) => return Ok(vec![stamp_trace(record, parent)]),
        Err(error) => error,
    };
    tracing::error!(ready = %ready.id, plan = %ready.plan, %error, "a Ready cannot be written; its entries end as refused");
    let refused = Delivery::from_ready(ready, now, DeliveryOutcome::Refused { left: Vec::new() });
    let refused = inbox_record(&InboxItem::Delivery(Box::new(refused)), partitions)?;
    let reason =
        format!("{} of `{}` cannot be written, its entries end as refused: {error}", ready.id, ready.plan);
    let aside = (ready, topics::ready_lane(is_urgent));
    Ok(vec![refused, quarantine_unwritten_ready(aside, reason, GROUP, partitions, now)?])
}
