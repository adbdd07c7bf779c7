//! What happens to many messages at once is told once in a while, with a number: a line a message says nothing more, and buries
//! what does.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use model::Channel;
use runtime::clock::SteadyStopwatch;

/// The same is told so often.
const EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct WaitTally(Mutex<BTreeMap<(Channel, &'static str), WaitSum>>);

#[derive(Debug, Default)]
struct WaitSum {
    messages: u64,
    why: String,
    told: Option<SteadyStopwatch>,
}

impl WaitSum {
    /// What there is to say, if it is time to.
    fn take_due(&mut self) -> Option<(u64, String)> {
        if self.messages == 0 || self.told.is_some_and(|told| told.elapsed() < EVERY) {
            return None;
        }
        self.told = Some(SteadyStopwatch::start());
        Some((std::mem::take(&mut self.messages), std::mem::take(&mut self.why)))
    }
}

impl WaitTally {
    /// Counts a message; the first of its sort is told at once.
    pub fn note_message(&self, channel: Channel, what: &'static str, why: &str) {
        {
            let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let sum = sums.entry((channel, what)).or_default();
            sum.messages += 1;
            why.clone_into(&mut sum.why);
        }
        self.log_due();
    }

    /// Tells what has come together.
    pub fn log_due(&self) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for ((channel, what), sum) in &mut *sums {
            if let Some((messages, why)) = sum.take_due() {
                let channel = channel.name();
                tracing::warn!(channel, messages, what, why, "messages wait: the last one says why");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_the_others_together() {
        let mut sum = WaitSum { messages: 1, why: "a".to_owned(), told: None };
        assert_eq!(sum.take_due(), Some((1, "a".to_owned())));
        sum.messages = 7;
        assert_eq!(sum.take_due(), None, "it was told a moment ago");
        sum.told = None;
        assert_eq!(sum.take_due().map(|(messages, _)| messages), Some(7));
        sum.told = None;
        assert_eq!(sum.take_due(), None, "there is nothing new");
    }
}
