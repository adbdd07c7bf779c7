//! The report on a Ready: from the journal's record, so that a repeated report is the same report.

use model::{
    EntryKey, Millis, Why,
    delivery::{Delivery, Outcome},
    partition::Partitions,
    ready::Ready,
};
use store::{Record, Recorded};
use topic::NewRecord;
use wire::{Inbox, topics};

/// The report that a record stands for.
pub fn of_record(ready: &Ready, record: &Record) -> Delivery {
    let left = record.left.clone();
    let outcome = match record.what {
        Recorded::Sent => Outcome::Sent { left },
        Recorded::Nothing => Outcome::Nothing { left },
        Recorded::Refused => Outcome::Refused { left: rest(ready, left, Why::Refused) },
        Recorded::Unknown | Recorded::Unsure | Recorded::NotSent => unknown(ready, left),
    };
    delivery(ready, record.attempt, record.at, outcome)
}

/// Not now: the Ready goes back whole.
pub fn deferred(ready: &Ready, until: Millis, now: Millis) -> Delivery {
    delivery(ready, ready.attempt, now, Outcome::Deferred { until, ready: ready.clone() })
}

/// Entries come back from an unknown outcome once; those that did before end here.
fn unknown(ready: &Ready, mut left: Vec<(EntryKey, Why)>) -> Outcome {
    let mut back = Vec::new();
    for entry in &ready.entries {
        if left.iter().any(|(key, _)| *key == entry.key) {
            continue;
        }
        if entry.maybe { left.push((entry.key, Why::MaybeSent)) } else { back.push(entry.key) }
    }
    Outcome::Unknown { back, left }
}

/// Every entry that was not left out before ends for this reason.
fn rest(ready: &Ready, mut left: Vec<(EntryKey, Why)>, why: Why) -> Vec<(EntryKey, Why)> {
    for entry in &ready.entries {
        if !left.iter().any(|(key, _)| *key == entry.key) {
            left.push((entry.key, why));
        }
    }
    left
}

fn delivery(ready: &Ready, attempt: u16, at: Millis, outcome: Outcome) -> Delivery {
    Delivery {
        ready: ready.id,
        tenant: ready.tenant.clone(),
        person: ready.person.clone(),
        plan: ready.plan.clone(),
        key: ready.key.clone(),
        channel: ready.channel,
        attempt,
        at,
        outcome,
    }
}

/// What became of it, in a word.
pub fn outcome_name(delivery: &Delivery) -> &'static str {
    match delivery.outcome {
        Outcome::Sent { .. } => "sent",
        Outcome::Nothing { .. } => "nothing",
        Outcome::Refused { .. } => "refused",
        Outcome::Unknown { .. } => "unknown",
        Outcome::Deferred { .. } => "deferred",
    }
}

/// The report on its way to the person's owner.
pub fn inbox_record(delivery: Delivery, partitions: Partitions) -> anyhow::Result<NewRecord> {
    person_record(&Inbox::Delivery(Box::new(delivery)), partitions)
}

/// What a person's owner is told.
pub fn person_record(inbox: &Inbox, partitions: Partitions) -> anyhow::Result<NewRecord> {
    let (tenant, person) = inbox.whose();
    Ok(NewRecord {
        topic: topics::INBOX.into(),
        partition: partitions.of_person(tenant, person),
        key: wire::key::person(tenant, person),
        value: Some(wire::inbox::encode(inbox)?),
        headers: Vec::new(),
    })
}
