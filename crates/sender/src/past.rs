//! What the journal says already became of a Ready.

use catalogue::Catalogue;
use courier::Handed;
use model::{Millis, Reason, ready::Ready};
use store::{Claim, Journalled, Record, Recorded};

use crate::config::retry_ms;

/// How a Ready is to be taken.
#[derive(Clone, PartialEq, Debug)]
pub enum Past {
    /// Nothing stands against sending this attempt.
    Open,
    /// It ended; only the report is repeated.
    Ended(Record),
    /// Its next try is not due: not before this instant.
    NotBefore(Millis),
    /// Somebody claimed it and recorded nothing yet: until the claim's deadline it may be in their hands.
    /// The courier may know more.
    Unclear(Claim),
}

/// Reads the journal of one Ready.
pub fn past(ready: &Ready, journalled: &Journalled) -> Past {
    let ended = |record: &&Record| !goes_on(record);
    if let Some(record) = journalled.records.iter().find(ended) {
        return Past::Ended(record.clone());
    }
    let recorded = |attempt: u16| journalled.records.iter().find(|record| record.attempt == attempt);
    let open = journalled.claims.iter().find(|claim| recorded(claim.attempt).is_none());
    if let Some(claim) = open {
        return Past::Unclear(claim.clone());
    }
    match recorded(ready.attempt) {
        // This very attempt failed and its report may have been lost.
        Some(record) => Past::NotBefore(record.at.plus(retry_ms(ready.id, ready.attempt))),
        None => Past::Open,
    }
}

/// Whether another attempt follows.
pub fn goes_on(record: &Record) -> bool {
    matches!(record.what, Recorded::NotSent | Recorded::Unsure)
}

/// How an attempt is recorded of which nobody can say whether it was sent. Once a Ready goes out again, under the same
/// id, if each thing that it tells would rather come twice than not at all: what is urgent, unless its kind says otherwise.
pub fn unclear(ready: &Ready, journalled: &Journalled, catalogue: &Catalogue) -> Recorded {
    let is_urgent = catalogue.plans.by_name.get(&ready.plan).is_some_and(|plan| plan.urgent);
    let wants = |reason: &Reason| {
        let kind = catalogue.kinds.get(&reason.kind);
        kind.and_then(|kind| kind.again_if_unsure).unwrap_or(is_urgent)
    };
    let was_again = journalled.records.iter().any(|record| record.what == Recorded::Unsure);
    let all_want = ready.entries.iter().all(|entry| entry.reasons.iter().any(wants));
    if all_want && !was_again && !ready.entries.is_empty() { Recorded::Unsure } else { Recorded::Unknown }
}

/// How the outcome of a hand-over is recorded, where there was one; `unclear` says it where nobody knows.
pub fn recorded(ready: &Ready, handed: &Handed, unclear: impl FnOnce() -> Recorded) -> Option<Recorded> {
    match handed {
        Handed::Accepted => Some(Recorded::Sent),
        Handed::Stopped => None,
        Handed::NotNow(reason) => {
            tracing::warn!(ready = %ready.id, reason, "not handed over, tried again later");
            Some(Recorded::NotSent)
        }
        Handed::Refused(reason) => {
            tracing::warn!(ready = %ready.id, reason, "refused for good");
            Some(Recorded::Refused)
        }
        Handed::Unknown(reason) => {
            tracing::error!(ready = %ready.id, reason, "nobody can say whether this was sent");
            Some(unclear())
        }
    }
}

/// Whether nothing else was begun for a Ready of which this attempt was just claimed: whoever claims and then
/// looks sees everybody who did the same before, so of two with different attempts in hand at most one goes on.
pub fn is_alone(attempt: u16, journalled: &Journalled) -> bool {
    let recorded = |attempt: u16| journalled.records.iter().any(|record| record.attempt == attempt);
    journalled.records.iter().all(|record| goes_on(record) && record.attempt != attempt)
        && journalled.claims.iter().all(|claim| claim.attempt == attempt || recorded(claim.attempt))
}
