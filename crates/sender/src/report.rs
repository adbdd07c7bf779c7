//! The report on a Ready: from the journal's record, so that a repeated report is the same report.

use std::collections::BTreeSet;

use model::{
    EndReason, EntryKey, UtcMillis,
    delivery::{Delivery, DeliveryOutcome},
    partition::PartitionCount,
    ready::Ready,
    trace::TraceParent,
};
use room::records::inbox_record;
use store::{JournalOutcome, JournalRecord};
use topic::NewRecord;
use traces::{Span, SpanAttribute};
use wire::InboxItem;

use crate::{
    config::retry_ms,
    journal::{goes_on, retry_at},
    left_out_entries::{LeftOutEntries, end_rest},
};

/// The report that a record stands for.
pub fn report_record(ready: &Ready, record: &JournalRecord) -> Delivery {
    let left = record.left.clone();
    let outcome = match record.what {
        JournalOutcome::Sent => DeliveryOutcome::Sent { left },
        JournalOutcome::Nothing => DeliveryOutcome::Nothing { left },
        JournalOutcome::Refused => {
            DeliveryOutcome::Refused { left: end_rest(ready, left, EndReason::Refused) }
        }
        JournalOutcome::Returned => DeliveryOutcome::Returned { back: ready.keys().collect() },
        JournalOutcome::Unknown | JournalOutcome::Unsure | JournalOutcome::NotSent | JournalOutcome::Away => {
            unknown_outcome(ready, left)
        }
    };
    Delivery::from_ready(ready, record.at, outcome)
}

/// What became of an attempt: another one follows, or it ended.
pub fn report_attempt(ready: &Ready, record: &JournalRecord) -> Delivery {
    if goes_on(record) {
        report_deferred(ready, retry_at(record), record.at)
    } else {
        report_record(ready, record)
    }
}

/// Nobody was asked about it. It waits as long as it may be sent at all.
pub fn report_comes_again(ready: &Ready, now: UtcMillis) -> Delivery {
    let tries = if ready.is_recalled() { 0 } else { ready.attempt };
    report_deferred(ready, now.plus(retry_ms(ready.id, tries)).min(ready.expires.max(now)), now)
}

/// Not now: the Ready goes back whole.
pub fn report_deferred(ready: &Ready, until: UtcMillis, now: UtcMillis) -> Delivery {
    Delivery::from_ready(ready, now, DeliveryOutcome::Deferred { until, ready: ready.clone() })
}

/// Entries come back from an unknown outcome once; those that did before end here.
fn unknown_outcome(ready: &Ready, mut left: LeftOutEntries) -> DeliveryOutcome {
    let mut back = Vec::new();
    let before: BTreeSet<EntryKey> = left.iter().map(|(key, _)| *key).collect();
    for entry in &ready.entries {
        for key in entry.keys().filter(|key| !before.contains(key)) {
            if entry.maybe { left.push((key, EndReason::MaybeSent)) } else { back.push(key) }
        }
    }
    DeliveryOutcome::Unknown { back, left }
}

/// What became of a delivery is the end of its span; what follows goes on from there.
pub fn end_span(mut span: Span, delivery: &Delivery) -> Option<TraceParent> {
    let (word, has_failed) = match delivery.outcome {
        DeliveryOutcome::Sent { .. } => ("sent", false),
        DeliveryOutcome::Nothing { .. } => ("nothing", false),
        DeliveryOutcome::Refused { .. } => ("refused", true),
        DeliveryOutcome::Unknown { .. } => ("unknown", true),
        DeliveryOutcome::Returned { .. } => ("returned", false),
        DeliveryOutcome::Deferred { .. } => ("deferred", false),
    };
    span.set(SpanAttribute::Outcome, || word);
    if has_failed {
        span.fail();
    }
    span.as_parent()
}

/// Every word for what became of an attempt.
pub const OUTCOME_NAMES: [&str; 7] =
    ["sent", "nothing", "refused", "unknown", "unsure", "returned", "deferred"];

/// What became of an attempt, in a word.
pub fn outcome_name(what: JournalOutcome) -> &'static str {
    match what {
        JournalOutcome::Sent => "sent",
        JournalOutcome::Nothing => "nothing",
        JournalOutcome::Refused => "refused",
        JournalOutcome::Unknown => "unknown",
        JournalOutcome::Unsure => "unsure",
        JournalOutcome::Returned => "returned",
        JournalOutcome::NotSent | JournalOutcome::Away => "deferred",
    }
}

/// The report on its way to the person's owner.
pub fn delivery_record(delivery: Delivery, partitions: PartitionCount) -> anyhow::Result<NewRecord> {
    Ok(inbox_record(&InboxItem::Delivery(Box::new(delivery)), partitions)?)
}
