//! What may become of a Ready at the sender, and the report that says so.

use model::{EntryKey, Millis, Why, delivery::Delivery, ready::Ready};
use sender::report;
use store::{Record, Recorded};

use crate::{names::HOUR_MS, seeds::Dice};

/// Draws one outcome; most are sent, some without a few entries.
pub fn outcome(dice: &mut Dice, ready: &Ready, now: Millis) -> Delivery {
    let why = dice.of(&[Why::NoLongerTrue, Why::SeenBefore, Why::Unsubscribed]);
    let drawn = ready.entries.iter().filter(|_| dice.once_in_a_hundred(20));
    let left: Vec<(EntryKey, Why)> = drawn.map(|entry| (entry.key, why)).collect();
    let what = match dice.below(20) {
        0..13 => Recorded::Sent,
        13 => Recorded::Refused,
        14 => Recorded::Unknown,
        _ => Recorded::NotSent,
    };
    if what == Recorded::NotSent {
        return slow(dice, ready, now);
    }
    recorded(ready, now, what, left)
}

/// Not now, or somebody has it in hand still: its owner cannot tell.
pub fn slow(dice: &mut Dice, ready: &Ready, now: Millis) -> Delivery {
    report::deferred(ready, now.plus(dice.ms(1_000, 9 * HOUR_MS)), now)
}

/// It is called back, and what it was to tell comes back.
pub fn returned(ready: &Ready, now: Millis) -> Delivery {
    recorded(ready, now, Recorded::Returned, Vec::new())
}

/// It was sent, with all that it has.
pub fn sent(ready: &Ready, now: Millis) -> Delivery {
    recorded(ready, now, Recorded::Sent, Vec::new())
}

fn recorded(ready: &Ready, now: Millis, what: Recorded, left: Vec<(EntryKey, Why)>) -> Delivery {
    let record = Record { ready: ready.id, attempt: ready.attempt, at: now, what, left };
    report::of_record(ready, &record)
}

/// The entries that a sent Ready told.
pub fn told<'a>(ready: &'a Ready, delivery: &'a Delivery) -> impl Iterator<Item = EntryKey> + 'a {
    let left = match &delivery.outcome {
        model::delivery::Outcome::Sent { left } => left.as_slice(),
        _ => &[],
    };
    let keys = ready.entries.iter().map(|entry| entry.key);
    keys.filter(move |key| !left.iter().any(|(other, _)| other == key))
}
