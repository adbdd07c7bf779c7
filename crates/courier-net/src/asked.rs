//! A gate that is asked once, however many ways a mail tries.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use courier::Gate;
use runtime::clock::Stopwatch;

/// A provider can turn a mail away after the gate was asked, and then the next one may take it under the same claim. But
/// not for long: whoever takes it needs most of the claim's time for themselves.
pub(crate) struct Asked<'a> {
    gate: &'a dyn Gate,
    within: Duration,
    said: Mutex<Option<(bool, Stopwatch)>>,
}

impl<'a> Asked<'a> {
    /// `hand_over` is how long one mail may be on its way.
    pub fn new(gate: &'a dyn Gate, hand_over: Duration) -> Self {
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
impl Gate for Asked<'_> {
    async fn may_go(&self) -> bool {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(yes, _)| *yes);
        if let Some(yes) = said {
            return yes && !self.is_late();
        }
        // The claim's time runs from when it is asked for.
        let watch = Stopwatch::start();
        let yes = self.gate.may_go().await;
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some((yes, watch));
        yes
    }
}
