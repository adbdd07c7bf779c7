//! What may become of a Ready at the sender, and the report that says so.

use model::{EndReason, EntryKey, UtcMillis, delivery::Delivery, ready::Ready};
use sender::report;
use store::{JournalOutcome, JournalRecord};

use crate::{names::HOUR_MS, seeds::LawDice};

/// Draws one outcome; most are sent, some without a few entries.
pub fn draw_outcome(dice: &mut LawDice, ready: &Ready, now: UtcMillis) -> Delivery {
    let why = dice.pick(&[EndReason::NoLongerTrue, EndReason::SeenBefore, EndReason::Unsubscribed]);
    let drawn = ready.keys().filter(|_| dice.once_in_a_hundred(20));
    let left: Vec<(EntryKey, EndReason)> = drawn.map(|key| (key, why)).collect();
    let what = match dice.below(20) {
        0..13 => JournalOutcome::Sent,
        13 => JournalOutcome::Refused,
        14 => JournalOutcome::Unknown,
        _ => JournalOutcome::NotSent,
    };
    if what == JournalOutcome::NotSent {
        return report_deferred(dice, ready, now);
    }
    report_recorded(ready, now, what, left)
}

/// Not now, or somebody has it in hand still: its owner cannot tell.
pub fn report_deferred(dice: &mut LawDice, ready: &Ready, now: UtcMillis) -> Delivery {
    report::report_deferred(ready, now.plus(dice.ms(1_000, 9 * HOUR_MS)), now)
}

/// It is called back, and what it was to tell comes back.
pub fn report_returned(ready: &Ready, now: UtcMillis) -> Delivery {
    report_recorded(ready, now, JournalOutcome::Returned, Vec::new())
}

/// It was sent, with all that it has.
pub fn report_sent(ready: &Ready, now: UtcMillis) -> Delivery {
    report_recorded(ready, now, JournalOutcome::Sent, Vec::new())
}

fn report_recorded(
    ready: &Ready,
    now: UtcMillis,
    what: JournalOutcome,
    left: Vec<(EntryKey, EndReason)>,
) -> Delivery {
    let record = JournalRecord { ready: ready.id, attempt: ready.attempt, at: now, what, left };
    report::report_record(ready, &record)
}

/// The entries that a sent Ready told.
pub fn told_entries<'a>(ready: &'a Ready, delivery: &'a Delivery) -> impl Iterator<Item = EntryKey> + 'a {
    let left = match &delivery.outcome {
        model::delivery::DeliveryOutcome::Sent { left } => left.as_slice(),
        _ => &[],
    };
    ready.keys().filter(move |key| !left.iter().any(|(other, _)| other == key))
}
