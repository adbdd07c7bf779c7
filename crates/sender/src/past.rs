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
    /// It is, or may be, in somebody's hands, or its next try is not due: not before this instant.
    NotBefore(Millis),
    /// A claim outlived its deadline without a record: the courier may know.
    Unclear(Claim),
}

/// Reads the journal of one Ready.
pub fn past(ready: &Ready, journalled: &Journalled, now: Millis) -> Past {
    let ended = |record: &&Record| record.what != Recorded::NotSent;
    if let Some(record) = journalled.records.iter().find(ended) {
        return Past::Ended(record.clone());
    }
    let recorded = |attempt: u16| journalled.records.iter().find(|record| record.attempt == attempt);
    let open = journalled.claims.iter().find(|claim| recorded(claim.attempt).is_none());
    if let Some(claim) = open {
        return if now <= claim.deadline {
            Past::NotBefore(claim.deadline.plus(1))
        } else {
            Past::Unclear(claim.clone())
        };
    }
    match recorded(ready.attempt) {
        // This very attempt failed and its report may have been lost.
        Some(record) => Past::NotBefore(record.at.plus(retry_ms(ready.attempt))),
        None => Past::Open,
    }
}
