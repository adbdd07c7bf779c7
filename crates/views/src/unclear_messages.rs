//! Messages whose delivery is unknown. The outcome of every message is in the log of persons' inboxes; the journal says
//! which outcomes are unclear, and what was sent again because of that.

use std::collections::BTreeMap;

use anyhow::Context as _;
use model::{
    ReadyId, Tenant, UtcMillis,
    delivery::{Delivery, DeliveryOutcome},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{JournalOutcome, JournalRecord, JournalRows, Store};
use topic::Topics;
use wire::{InboxItem, topics};

/// Records of the log, and rows of the journal, that are read at once.
const PAGE: usize = 500;
/// Messages that are listed at most: those that became unclear last.
pub const LISTED_MAX: usize = 1_000;
/// Hours that one looks back, unless somebody says otherwise.
pub const HOURS: u16 = 24;
const HOUR_MS: i64 = 3_600_000;

/// A message that may have gone out.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct UnclearMessage {
    /// When it became unclear.
    pub at: String,
    pub person: String,
    pub plan: String,
    pub channel: String,
    pub ready: String,
    /// Which try it was, from 0.
    pub attempt: u16,
    /// What became of it then.
    pub then: UnclearOutcome,
}

/// What becomes of a message that is unclear.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnclearOutcome {
    /// It goes out once more, under the same id, and has not yet.
    Waits,
    /// It went out once more.
    SentAgain,
    /// It ended without going out once more.
    Ended,
    /// What it told is told later, as something that may have been sent.
    ToldLater,
}

impl UnclearOutcome {
    pub fn text(self) -> &'static str {
        match self {
            Self::Waits => "is sent once more, under the same id",
            Self::SentAgain => "was sent once more, under the same id",
            Self::Ended => "ended otherwise",
            Self::ToldLater => "is told later, as one that may have been sent",
        }
    }
}

/// Those of a tenant that became unclear since so many hours, the latest first.
pub async fn list_unclear(
    log: &dyn Topics,
    store: &dyn Store,
    tenant: &Tenant,
    (hours, now): (u16, UtcMillis),
) -> anyhow::Result<Vec<UnclearMessage>> {
    let since = now.plus(-HOUR_MS * i64::from(hours));
    let suspects = load_suspects(log, tenant, since).await.context("load the deliveries")?;
    let suspects: Vec<Delivery> = suspects.into_values().collect();
    let mut found = Vec::new();
    for some in suspects.chunks(PAGE) {
        let ids: Vec<ReadyId> = some.iter().map(|delivery| delivery.ready).collect();
        let journal = store.read_journal(tenant, &ids).await.context("the journal")?;
        found.extend(
            some.iter().zip(&journal).flat_map(|(delivery, journalled)| find_unclear(delivery, journalled)),
        );
    }
    found.retain(|(at, _)| *at >= since);
    found.sort_by(|(one, a), (other, b)| (other, &a.ready).cmp(&(one, &b.ready)));
    found.truncate(LISTED_MAX);
    Ok(found.into_iter().map(|(_, one)| one).collect())
}

/// Reports that leave it open whether something is unclear: each Ready once.
async fn load_suspects(
    log: &dyn Topics,
    tenant: &Tenant,
    since: UtcMillis,
) -> anyhow::Result<BTreeMap<ReadyId, Delivery>> {
    let mut suspects = BTreeMap::new();
    let (starts, bounds) = (log.since(topics::INBOX, since.0).await?, log.bounds(topics::INBOX).await?);
    for (partition, (start, (first, end))) in (0..).zip(starts.into_iter().zip(bounds)) {
        let mut from = start.max(first);
        while from < end {
            let records = log.read(topics::INBOX, partition, from, PAGE).await?;
            let Some(last) = records.last() else { break };
            from = last.offset + 1;
            let values = records.iter().filter_map(|record| record.value.as_deref());
            // What cannot be read its owner has put aside, and says so.
            for inbox in values.filter_map(|value| wire::inbox::decode(value).ok()) {
                let InboxItem::Delivery(delivery) = inbox else { continue };
                let is_open = matches!(
                    delivery.outcome,
                    DeliveryOutcome::Unknown { .. } | DeliveryOutcome::Deferred { .. }
                );
                if is_open && delivery.tenant == *tenant {
                    suspects.insert(delivery.ready, *delivery);
                }
            }
        }
    }
    Ok(suspects)
}

/// Attempts at a Ready that are unclear, and when they became so.
fn find_unclear(delivery: &Delivery, journalled: &JournalRows) -> Vec<(UtcMillis, UnclearMessage)> {
    let later = |attempt: u16| journalled.records.iter().filter(move |record| record.attempt > attempt);
    let after = |attempt: u16| later(attempt).max_by_key(|record| record.attempt);
    let then = |record: &JournalRecord| match (record.what, after(record.attempt).map(|after| after.what)) {
        (JournalOutcome::Unsure, None | Some(JournalOutcome::NotSent | JournalOutcome::Away)) => {
            Some(UnclearOutcome::Waits)
        }
        (JournalOutcome::Unsure, Some(JournalOutcome::Sent)) => Some(UnclearOutcome::SentAgain),
        (JournalOutcome::Unsure, Some(_)) => Some(UnclearOutcome::Ended),
        (JournalOutcome::Unknown, _) => Some(UnclearOutcome::ToldLater),
        _ => None,
    };
    let one = |record: &JournalRecord| {
        let then = then(record)?;
        let one = UnclearMessage {
            at: record.at.to_string(),
            person: delivery.person.to_string(),
            plan: delivery.plan.to_string(),
            channel: delivery.channel.to_string(),
            ready: delivery.ready.to_string(),
            attempt: record.attempt,
            then,
        };
        Some((record.at, one))
    };
    journalled.records.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests;
