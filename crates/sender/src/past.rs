//! What the journal says already became of a Ready.

use model::{Millis, ready::Ready};
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
    let ended = |record: &&Record| record.what != Recorded::NotSent;
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

/// Whether nothing else was begun for a Ready of which this attempt was just claimed: whoever claims and then
/// looks sees everybody who did the same before, so of two with different attempts in hand at most one goes on.
pub fn is_alone(attempt: u16, journalled: &Journalled) -> bool {
    let recorded = |attempt: u16| journalled.records.iter().any(|record| record.attempt == attempt);
    journalled.records.iter().all(|record| record.what == Recorded::NotSent && record.attempt != attempt)
        && journalled.claims.iter().all(|claim| claim.attempt == attempt || recorded(claim.attempt))
}
