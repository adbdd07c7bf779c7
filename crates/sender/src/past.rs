//! What the journal says already became of a Ready.

use catalogue::Catalogue;
use courier::Handed;
use model::{
    Millis, Reason, Why,
    fault::{self, Fault},
    limits::ATTEMPTS_MAX,
    ready::Ready,
};
use store::{Claim, Claimed, Journalled, Record, Recorded};

use crate::{check::Left, config::retry_ms, report};

/// How a Ready is to be taken.
#[derive(Clone, PartialEq, Debug)]
pub enum Past {
    /// Nothing stands against this attempt.
    Open(u16),
    /// It ended; only the report is repeated.
    Ended(Record),
    /// Its next try is not due: not before this instant.
    NotBefore(Millis),
    /// Somebody claimed it and recorded nothing yet: as long as a claim holds it may be in their hands.
    /// The courier may know more.
    Unclear(Claim),
}

/// Reads the journal of one Ready. It counts the attempts, and not what the Ready says of itself: so whoever has the same
/// Ready, a copy from long ago too, is after the same attempt, and of one attempt there is one claim.
pub fn past(ready: &Ready, journalled: &Journalled, now: Millis) -> Past {
    let ended = |record: &&Record| !goes_on(record);
    if let Some(record) = journalled.records.iter().find(ended) {
        return Past::Ended(record.clone());
    }
    let is_recorded = |attempt: u16| journalled.records.iter().any(|record| record.attempt == attempt);
    if let Some(claim) = journalled.claims.iter().find(|claim| !is_recorded(claim.attempt)) {
        return Past::Unclear(claim.clone());
    }
    match journalled.records.iter().max_by_key(|record| record.attempt) {
        None => Past::Open(0),
        Some(last) if ready.is_recalled() || again_at(last) <= now => {
            Past::Open(last.attempt.saturating_add(1))
        }
        // Whoever recorded it may have another clock.
        Some(last) => Past::NotBefore(again_at(last).min(now.plus(retry_ms(last.ready, last.attempt)))),
    }
}

/// When another attempt follows one that goes on.
pub fn again_at(record: &Record) -> Millis {
    record.at.plus(retry_ms(record.ready, record.attempt))
}

/// What is recorded of an attempt that failed: the last one ends it, where there were as many as there may be, or the next
/// would come too late.
pub fn failed(
    ready: &Ready,
    attempt: u16,
    journalled: &Journalled,
    (what, left): (Recorded, Left),
    now: Millis,
) -> (Recorded, Left) {
    let next = now.plus(retry_ms(ready.id, attempt));
    // What says nothing about this message counts for nothing.
    let counted = journalled.records.iter().filter(|record| record.what != Recorded::Away).count() + 1;
    let is_last = counted >= usize::from(ATTEMPTS_MAX) && what != Recorded::Away || next >= ready.expires;
    match what {
        Recorded::Unsure if is_last => (Recorded::Unknown, left),
        Recorded::NotSent | Recorded::Away if is_last && was_unsure(journalled) => (Recorded::Unknown, left),
        Recorded::NotSent | Recorded::Away if is_last => {
            (Recorded::Nothing, report::rest(ready, left, Why::Expired))
        }
        _ => (what, left),
    }
}

/// Whether an attempt may have been sent, and another one was to follow.
fn was_unsure(journalled: &Journalled) -> bool {
    journalled.records.iter().any(|record| record.what == Recorded::Unsure)
}

/// What is recorded of a Ready that is called back. What may have been sent before says so.
pub fn recalled(journalled: &Journalled) -> Recorded {
    if was_unsure(journalled) { Recorded::Unknown } else { Recorded::Returned }
}

/// Whether another attempt follows.
pub fn goes_on(record: &Record) -> bool {
    matches!(record.what, Recorded::NotSent | Recorded::Away | Recorded::Unsure)
}

/// How an attempt is recorded of which nobody can say whether it was sent. Once a Ready goes out again, under the same
/// id, if each thing that it tells would rather come twice than not at all: what is urgent, unless its kind says otherwise.
pub fn unclear(ready: &Ready, journalled: &Journalled, catalogue: &Catalogue) -> Recorded {
    let is_urgent = catalogue.plans.by_name.get(&ready.plan).is_some_and(|plan| plan.urgent);
    let wants = |reason: &Reason| {
        let kind = catalogue.kinds.get(&reason.kind);
        kind.and_then(|kind| kind.again_if_unsure).unwrap_or(is_urgent)
    };
    let was_again = was_unsure(journalled);
    let all_want = ready.entries.iter().all(|entry| entry.reasons.iter().any(wants));
    if all_want && !was_again && !ready.entries.is_empty() { Recorded::Unsure } else { Recorded::Unknown }
}

/// How the outcome of a hand-over is recorded, where there was one; `unclear` says it where nobody knows.
pub fn recorded(ready: &Ready, handed: &Handed, unclear: impl FnOnce() -> Recorded) -> Option<Recorded> {
    match handed {
        Handed::Accepted => Some(Recorded::Sent),
        Handed::Stopped => None,
        Handed::NotNow(_) => Some(Recorded::NotSent),
        Handed::Away(_) | Handed::Busy(_) => Some(Recorded::Away),
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

/// Whether whoever has this claim hands nothing over: they only end the attempt.
pub fn tells_nothing(ready: &Ready, claim: &Claim) -> bool {
    claim.told.is_empty() && !ready.is_badge()
}

/// Whose attempt it is. Asked for once more after an answer that was lost, it may be our own claim that stands.
pub fn is_ours(claim: &Claim, claimed: &Claimed) -> bool {
    match claimed {
        Claimed::Yours => true,
        Claimed::Theirs(standing) => standing.token == claim.token || fault::planted(Fault::ClaimIgnored),
    }
}
