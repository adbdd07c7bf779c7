//! The decision of the sender: what is done about a Ready by what the journal says of it, and which message is made of what
//! still holds. Pure; [`crate::journal`] reads the journal, [`crate::check`] asks again, [`crate::message`] writes.

use catalogue::Catalogue;
use courier::Message;
use model::{
    EndReason, UtcMillis,
    delivery::Delivery,
    fault::{self, PlantedFault},
    ready::Ready,
};
use store::{JournalClaim, JournalRows};

use crate::{
    check::{self, CheckedReady},
    facts::SenderFacts,
    journal::{self, JournalVerdict},
    message::MessageMaker,
    report,
};

/// What is done about a Ready.
#[derive(Debug)]
pub(crate) enum DeliveryStep {
    /// There is nothing to do; this is said of it.
    Report(Box<Delivery>),
    /// Somebody claimed it and recorded nothing yet: whether they still hold it has to be found out.
    Resolve(JournalClaim),
    /// It is not sent here: its owner calls it back, or this catalogue does not know what it tells.
    GiveBack {
        attempt: u16,
        is_known: bool,
    },
    Send(u16),
}

/// What is done about a Ready of which the journal has these rows.
pub(crate) fn decide_delivery(
    ready: &Ready,
    journalled: &JournalRows,
    catalogue: &Catalogue,
    now: UtcMillis,
) -> DeliveryStep {
    match journal::read_journal(ready, journalled, now) {
        JournalVerdict::Unclear(claim) if fault::is_planted(PlantedFault::ClaimIgnored) => {
            DeliveryStep::Send(claim.attempt)
        }
        JournalVerdict::Unclear(claim) => DeliveryStep::Resolve(claim),
        JournalVerdict::Ended(record) => {
            DeliveryStep::Report(Box::new(report::report_record(ready, &record)))
        }
        JournalVerdict::NotBefore(until) => {
            DeliveryStep::Report(Box::new(report::report_deferred(ready, until, now)))
        }
        JournalVerdict::Open(attempt) if ready.is_recalled() => {
            DeliveryStep::GiveBack { attempt, is_known: true }
        }
        JournalVerdict::Open(attempt) if !check::is_known(ready, catalogue) => {
            DeliveryStep::GiveBack { attempt, is_known: false }
        }
        JournalVerdict::Open(attempt) => DeliveryStep::Send(attempt),
    }
}

/// The message of what holds. What cannot be written is left out and the rest is told; none, if nothing can.
pub(crate) fn decide_message(
    making: &MessageMaker<'_>,
    ready: &Ready,
    facts: &SenderFacts,
    checked: &mut CheckedReady,
) -> Option<Message> {
    let error = match making.message(ready, facts, checked) {
        Ok(message) => return Some(message),
        Err(error) => format!("{error:#}"),
    };
    // It will not be made by trying again: what fails ends, and a person looks.
    let unwritten = making.unwritable_entries(ready, facts, checked);
    let (ready_id, plan, entries) = (ready.id, &ready.plan, unwritten.len());
    tracing::error!(ready = %ready_id, %plan, entries, error, "entries of a message could not be written");
    checked.told.retain(|entry| !unwritten.contains(&entry.key));
    checked.left.extend(unwritten.into_iter().map(|key| (key, EndReason::Refused)));
    if checked.told.is_empty() { None } else { making.message(ready, facts, checked).ok() }
}
