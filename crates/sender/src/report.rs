//! The report on a Ready: from the journal's record, so that a repeated report is the same report.

use model::{
    EntryKey, Millis, Why,
    delivery::{Delivery, Outcome},
    partition::Partitions,
    ready::Ready,
};
use store::{Record, Recorded};
use topic::NewRecord;
use wire::{Inbox, Returned, topics};

use crate::{
    config::retry_ms,
    past::{again_at, goes_on},
};

/// The report that a record stands for.
pub fn of_record(ready: &Ready, record: &Record) -> Delivery {
    let left = record.left.clone();
    let outcome = match record.what {
        Recorded::Sent => Outcome::Sent { left },
        Recorded::Nothing => Outcome::Nothing { left },
        Recorded::Refused => Outcome::Refused { left: rest(ready, left, Why::Refused) },
        Recorded::Returned => {
            Outcome::Returned { back: ready.entries.iter().map(|entry| entry.key).collect() }
        }
        Recorded::Unknown | Recorded::Unsure | Recorded::NotSent | Recorded::Away => unknown(ready, left),
    };
    Delivery::of(ready, record.at, outcome)
}

/// What became of an attempt: another one follows, or it ended.
pub fn of_attempt(ready: &Ready, record: &Record) -> Delivery {
    if goes_on(record) { deferred(ready, again_at(record), record.at) } else { of_record(ready, record) }
}

/// Nobody was asked about it. It waits as long as it may be sent at all.
pub fn comes_again(ready: &Ready, now: Millis) -> Delivery {
    let tries = if ready.is_recalled() { 0 } else { ready.attempt };
    deferred(ready, now.plus(retry_ms(ready.id, tries)).min(ready.expires.max(now)), now)
}

/// Not now: the Ready goes back whole.
pub fn deferred(ready: &Ready, until: Millis, now: Millis) -> Delivery {
    Delivery::of(ready, now, Outcome::Deferred { until, ready: ready.clone() })
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
pub fn rest(ready: &Ready, mut left: Vec<(EntryKey, Why)>, why: Why) -> Vec<(EntryKey, Why)> {
    for entry in &ready.entries {
        if !left.iter().any(|(key, _)| *key == entry.key) {
            left.push((entry.key, why));
        }
    }
    left
}

/// What became of an attempt, in a word.
pub fn outcome_name(what: Recorded) -> &'static str {
    match what {
        Recorded::Sent => "sent",
        Recorded::Nothing => "nothing",
        Recorded::Refused => "refused",
        Recorded::Unknown => "unknown",
        Recorded::Unsure => "unsure",
        Recorded::Returned => "returned",
        Recorded::NotSent | Recorded::Away => "deferred",
    }
}

/// The report on its way to the person's owner.
pub fn inbox_record(delivery: Delivery, partitions: Partitions) -> anyhow::Result<NewRecord> {
    person_record(&Inbox::Delivery(Box::new(delivery)), partitions)
}

/// What came back of a mail before it had left, as what comes back later is told.
pub fn returned_record(returned: &Returned) -> anyhow::Result<NewRecord> {
    Ok(NewRecord {
        topic: topics::RETURNS.into(),
        partition: 0,
        key: wire::key::person(&returned.tenant, &returned.person),
        value: Some(wire::returned::encode(returned)?),
        headers: Vec::new(),
    })
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
