//! A gate that is asked once, however many ways a mail tries.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use courier::HandoverGate;
use model::returns::ReturnSort;
use runtime::clock::SteadyStopwatch;

/// A provider can turn a mail away after the gate was asked, and then the next one may take it under the same claim. But
/// not for long: whoever takes it needs most of the claim's time for themselves.
pub(crate) struct OnceGate<'a> {
    gate: &'a dyn HandoverGate,
    within: Duration,
    said: Mutex<Option<(bool, SteadyStopwatch)>>,
}

impl<'a> OnceGate<'a> {
    /// `hand_over` is how long one mail may be on its way.
    pub fn new(gate: &'a dyn HandoverGate, hand_over: Duration) -> Self {
        Self { gate, within: hand_over / 8, said: Mutex::default() }
    }

    /// Whether it said yes, and since then too much time has passed for another way.
    pub fn is_late(&self) -> bool {
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .is_some_and(|(yes, watch)| *yes && watch.elapsed() > self.within)
    }
}

#[async_trait]
impl HandoverGate for OnceGate<'_> {
    async fn may_go(&self) -> bool {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(yes, _)| *yes);
        if let Some(yes) = said {
            return yes && !self.is_late();
        }
        // The claim's time runs from when it is asked for.
        let watch = SteadyStopwatch::start();
        let yes = self.gate.may_go().await;
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some((yes, watch));
        yes
    }

    async fn note_return(&self, what: ReturnSort, code: &str) {
        self.gate.note_return(what, code).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct CountedGate(bool, AtomicUsize);

    #[async_trait]
    impl HandoverGate for CountedGate {
        async fn may_go(&self) -> bool {
            self.1.fetch_add(1, Ordering::SeqCst);
            self.0
        }
    }

    #[tokio::test]
    async fn one_word_is_for_all_ways_and_not_for_long() {
        let check = async |says: bool, hand_over: u64, expected: [bool; 3], late: bool| {
            let gate = CountedGate(says, AtomicUsize::new(0));
            let asked = OnceGate::new(&gate, Duration::from_secs(hand_over));
            assert!(!asked.is_late(), "nobody has asked");
            let found = [asked.may_go().await, asked.may_go().await, asked.may_go().await];
            assert_eq!((found, asked.is_late()), (expected, late), "{says} {hand_over}");
            assert_eq!(gate.1.load(Ordering::SeqCst), 1);
        };
        check(true, 3_600, [true, true, true], false).await;
        check(false, 3_600, [false, false, false], false).await;
        check(true, 0, [true, false, false], true).await;
        check(false, 0, [false, false, false], false).await;
    }
}
