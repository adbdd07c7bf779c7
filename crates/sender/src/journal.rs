//! What the journal says already became of a Ready.

use catalogue::Catalogue;
use courier::HandoverOutcome;
use model::{
    EndReason, EntryReason, UtcMillis,
    fault::{self, PlantedFault},
    limits::ATTEMPTS_MAX,
    ready::Ready,
};
use store::{JournalClaim, JournalClaimOutcome, JournalOutcome, JournalRecord, JournalRows};

use crate::{
    config::retry_ms,
    left_out_entries::{self, LeftOutEntries},
};

/// How a Ready is to be taken.
#[derive(Clone, PartialEq, Debug)]
pub enum JournalVerdict {
    /// Nothing stands against this attempt.
    Open(u16),
    /// It ended; only the report is repeated.
    Ended(JournalRecord),
    /// Its next try is not due: not before this instant.
    NotBefore(UtcMillis),
    /// Somebody claimed it and recorded nothing yet: as long as a claim holds it may be in their hands.
    /// The courier may know more.
    Unclear(JournalClaim),
}

/// Reads the journal of one Ready. It counts the attempts, and not what the Ready says of itself: so whoever has the same
/// Ready, a copy from long ago too, is after the same attempt, and of one attempt there is one claim.
pub fn read_journal(ready: &Ready, journalled: &JournalRows, now: UtcMillis) -> JournalVerdict {
    let ended = |record: &&JournalRecord| !goes_on(record);
    if let Some(record) = journalled.records.iter().find(ended) {
        return JournalVerdict::Ended(record.clone());
    }
    let is_recorded = |attempt: u16| journalled.records.iter().any(|record| record.attempt == attempt);
    if let Some(claim) = journalled.claims.iter().find(|claim| !is_recorded(claim.attempt)) {
        return JournalVerdict::Unclear(claim.clone());
    }
    match journalled.records.iter().max_by_key(|record| record.attempt) {
        None => JournalVerdict::Open(0),
        Some(last) if ready.is_recalled() || retry_at(last) <= now => {
            JournalVerdict::Open(last.attempt.saturating_add(1))
        }
        // Whoever recorded it may have another clock.
        Some(last) => {
            JournalVerdict::NotBefore(retry_at(last).min(now.plus(retry_ms(last.ready, last.attempt))))
        }
    }
}

/// When another attempt follows one that goes on.
pub fn retry_at(record: &JournalRecord) -> UtcMillis {
    record.at.plus(retry_ms(record.ready, record.attempt))
}

/// The record of a failed attempt. The attempt is final if there were enough of them, or if the next would come too
/// late.
pub fn record_failure(
    ready: &Ready,
    attempt: u16,
    journalled: &JournalRows,
    (what, left): (JournalOutcome, LeftOutEntries),
    now: UtcMillis,
) -> (JournalOutcome, LeftOutEntries) {
    let next = now.plus(retry_ms(ready.id, attempt));
    // What says nothing about this message counts for nothing.
    let counted = journalled.records.iter().filter(|record| record.what != JournalOutcome::Away).count() + 1;
    let is_last =
        counted >= usize::from(ATTEMPTS_MAX) && what != JournalOutcome::Away || next >= ready.expires;
    match what {
        JournalOutcome::Unsure if is_last => (JournalOutcome::Unknown, left),
        JournalOutcome::NotSent | JournalOutcome::Away if is_last && was_unsure(journalled) => {
            (JournalOutcome::Unknown, left)
        }
        JournalOutcome::NotSent | JournalOutcome::Away if is_last => {
            (JournalOutcome::Nothing, left_out_entries::end_rest(ready, left, EndReason::Expired))
        }
        _ => (what, left),
    }
}

/// Whether an attempt may have been sent, and another one was to follow.
fn was_unsure(journalled: &JournalRows) -> bool {
    journalled.records.iter().any(|record| record.what == JournalOutcome::Unsure)
}

/// The record of a recalled Ready; it says so if the message may have been sent before.
pub fn record_recall(journalled: &JournalRows) -> JournalOutcome {
    if was_unsure(journalled) { JournalOutcome::Unknown } else { JournalOutcome::Returned }
}

/// Whether another attempt follows.
pub fn goes_on(record: &JournalRecord) -> bool {
    matches!(record.what, JournalOutcome::NotSent | JournalOutcome::Away | JournalOutcome::Unsure)
}

/// How an attempt is recorded of which nobody can say whether it was sent. Once a Ready goes out again, under the same
/// id, if each thing that it tells would rather come twice than not at all: what is urgent, unless its kind says otherwise.
pub fn record_unclear(ready: &Ready, journalled: &JournalRows, catalogue: &Catalogue) -> JournalOutcome {
    let is_urgent = catalogue.plans.by_name.get(&ready.plan).is_some_and(|plan| plan.urgent);
    let wants = |reason: &EntryReason| {
        let kind = catalogue.kinds.get(&reason.kind);
        kind.and_then(|kind| kind.again_if_unsure).unwrap_or(is_urgent)
    };
    let was_again = was_unsure(journalled);
    let all_want = ready.entries.iter().all(|entry| entry.reasons.iter().any(wants));
    if all_want && !was_again && !ready.entries.is_empty() {
        JournalOutcome::Unsure
    } else {
        JournalOutcome::Unknown
    }
}

/// How the outcome of a hand-over is recorded, where there was one; `record_unclear` says it where nobody knows.
pub fn record_outcome(
    ready: &Ready,
    handed: &HandoverOutcome,
    unclear: impl FnOnce() -> JournalOutcome,
) -> Option<JournalOutcome> {
    match handed {
        HandoverOutcome::Accepted => Some(JournalOutcome::Sent),
        HandoverOutcome::Stopped => None,
        HandoverOutcome::NotNow(_) => Some(JournalOutcome::NotSent),
        HandoverOutcome::Away(_) | HandoverOutcome::Busy(_) => Some(JournalOutcome::Away),
        HandoverOutcome::Refused(reason) => {
            tracing::warn!(ready = %ready.id, reason, "refused for good");
            Some(JournalOutcome::Refused)
        }
        HandoverOutcome::Unknown(reason) => {
            tracing::error!(ready = %ready.id, reason, "delivery unknown: the message may have been sent");
            Some(unclear())
        }
    }
}

/// Whether whoever has this claim hands nothing over: they only end the attempt.
pub fn tells_nothing(ready: &Ready, claim: &JournalClaim) -> bool {
    claim.told.is_empty() && !ready.is_wordless()
}

/// The owner of an attempt. If an answer was lost and the claim is retried, the standing claim may be our own.
pub fn is_ours(claim: &JournalClaim, claimed: &JournalClaimOutcome) -> bool {
    match claimed {
        JournalClaimOutcome::Yours => true,
        JournalClaimOutcome::Theirs(standing) => {
            standing.token == claim.token || fault::is_planted(PlantedFault::ClaimIgnored)
        }
    }
}
