//! How many requests are under way at once. One window for everything an engine asks: it widens while answers come soon, and
//! narrows when the cluster says that it has enough, or answers late. What the cluster cannot take at once waits here and not
//! there, so that urgent work goes before the rest.

mod answer_pace;
mod window_size;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use runtime::{clock::SteadyStopwatch, urgency};
use tokio::sync::oneshot;

use self::{answer_pace::AnswerPace, window_size::WindowSize};

/// Of so many places that come free while both wait, one goes to what is not urgent.
const TURNS: usize = 4;

pub(crate) struct RequestWindow(Arc<Mutex<WindowState>>);

struct WindowState {
    size: WindowSize,
    pace: AnswerPace,
    under_way: usize,
    urgent: VecDeque<oneshot::Sender<RequestSlot>>,
    rest: VecDeque<oneshot::Sender<RequestSlot>>,
    turn: usize,
}

/// A place in the window, while a request is under way.
pub(crate) struct RequestSlot {
    window: RequestWindow,
    watch: SteadyStopwatch,
    /// Which round it began in.
    round: u64,
}

impl RequestWindow {
    pub(crate) fn new(most: usize) -> Self {
        let (size, pace) = (WindowSize::new(most), AnswerPace::default());
        let (urgent, rest) = Default::default();
        Self(Arc::new(Mutex::new(WindowState { size, pace, under_way: 0, urgent, rest, turn: 0 })))
    }

    pub(crate) async fn enter(&self) -> RequestSlot {
        loop {
            let (waiter, slot) = oneshot::channel();
            self.lock().add_waiting(waiter);
            self.grant_free();
            // Nobody drops a waiter that still waits.
            if let Ok(slot) = slot.await {
                return slot;
            }
        }
    }

    /// Gives what is free to those whose turn it is. Nothing is sent under the lock: what nobody takes is free again.
    fn grant_free(&self) {
        loop {
            let mut state = self.lock();
            let Some(waiter) = state.grant_next() else { return };
            let round = state.size.round();
            drop(state);
            let window = Self(self.0.clone());
            drop(waiter.send(RequestSlot { window, watch: SteadyStopwatch::start(), round }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, WindowState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WindowState {
    fn add_waiting(&mut self, waiter: oneshot::Sender<RequestSlot>) {
        if urgency::is_urgent() { &mut self.urgent } else { &mut self.rest }.push_back(waiter);
    }

    /// Who has the next free place, if there is one and somebody waits for it.
    fn grant_next(&mut self) -> Option<oneshot::Sender<RequestSlot>> {
        if self.under_way >= self.size.now() {
            return None;
        }
        let Self { urgent, rest, turn, .. } = self;
        for waiting in [&mut *urgent, &mut *rest] {
            while waiting.front().is_some_and(oneshot::Sender::is_closed) {
                waiting.pop_front();
            }
        }
        *turn = if urgent.is_empty() || rest.is_empty() { 0 } else { (*turn + 1) % TURNS };
        let is_rests = urgent.is_empty() || (*turn == 0 && !rest.is_empty());
        let waiter = if is_rests { rest } else { urgent }.pop_front()?;
        self.under_way += 1;
        Some(waiter)
    }
}

impl RequestSlot {
    /// A request of this sort was answered.
    pub(crate) fn went_well(self, what: &'static str) {
        let took = self.watch.elapsed();
        let mut state = self.window.lock();
        let is_late = state.pace.note_answer(what, took);
        let in_use = state.under_way;
        state.size.note_answer(self.round, is_late, in_use);
    }

    /// It was too much for the cluster.
    pub(crate) fn was_too_much(self) {
        self.window.lock().size.note_overload(self.round);
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        self.window.lock().under_way -= 1;
        self.window.grant_free();
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, future::join_all};
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn urgent_work_goes_first_and_keeps_nobody_out() {
        let window = RequestWindow::new(1);
        let held = window.enter().await;
        let served = Mutex::new(String::new());
        let ask = async |urgent: bool| {
            let enter = async {
                let slot = window.enter().await;
                served.lock().unwrap().push(if urgent { 'u' } else { 'r' });
                drop(slot);
            };
            if urgent { urgency::run_urgently(enter).await } else { enter.await }
        };
        let mut asked = Box::pin(join_all([false, false, false, true, true, true, true, true].map(ask)));
        assert!((&mut asked).now_or_never().is_none(), "the only place is held");
        drop(held);
        asked.await;
        assert_eq!(*served.lock().unwrap(), "uuuruurr");
    }

    #[tokio::test]
    async fn who_gave_up_is_passed_over() {
        let window = RequestWindow::new(1);
        let held = window.enter().await;
        for _ in 0..3 {
            assert!(window.enter().now_or_never().is_none());
        }
        drop(held);
        drop(window.enter().await);
        assert_eq!(window.lock().under_way, 0);
    }

    #[tokio::test]
    async fn a_cluster_that_has_enough_is_asked_less() {
        let window = RequestWindow::new(64);
        let mut seen = Vec::new();
        for well in [true, true, false, false] {
            // A task that takes too much at once is made to wait.
            yield_now().await;
            let mut slots = Vec::new();
            while let Some(slot) = window.enter().now_or_never() {
                slots.push(slot);
            }
            seen.push(slots.len());
            for slot in slots {
                if well { slot.went_well("reading") } else { slot.was_too_much() }
            }
        }
        assert_eq!(seen, [32, 64, 64, 32]);
    }
}
