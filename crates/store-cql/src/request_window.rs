//! How many requests are under way at once: more while all goes well, half as many when the cluster has
//! enough. One window for everything an engine asks, first come, first served.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

/// What a window begins with, and never falls below.
const FIRST: usize = 32;
const LEAST: usize = 2;

pub(crate) struct RequestWindow {
    places: Semaphore,
    size: Mutex<RequestWindowSize>,
}

/// The arithmetic, without the waiting.
struct RequestWindowSize {
    now: usize,
    most: usize,
    /// Doubles with each round until the first time that it was too much, then grows by one a round.
    doubling: bool,
    well: usize,
    /// Places to take away as they come free.
    owed: usize,
    /// Counts the halvings: requests that began before one say nothing new.
    round: u64,
}

/// A place in the window, while a request is under way.
pub(crate) struct RequestSlot<'a> {
    window: &'a RequestWindow,
    permit: Option<SemaphorePermit<'a>>,
    round: u64,
}

impl RequestWindow {
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let size =
            RequestWindowSize { now: FIRST.min(most), most, doubling: true, well: 0, owed: 0, round: 0 };
        Self { places: Semaphore::new(size.now), size: Mutex::new(size) }
    }

    pub(crate) async fn enter(&self) -> RequestSlot<'_> {
        // It is never closed, so there always is one.
        let permit = self.places.acquire().await.ok();
        RequestSlot { window: self, permit, round: self.with_size(|size| size.round) }
    }

    fn with_size<T>(&self, with: impl FnOnce(&mut RequestWindowSize) -> T) -> T {
        with(&mut self.size.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RequestSlot<'_> {
    pub(crate) fn went_well(self) {
        let more = self.window.with_size(RequestWindowSize::went_well);
        if more {
            self.window.places.add_permits(1);
        }
    }

    /// It was too much for the cluster.
    pub(crate) fn was_too_much(self) {
        self.window.with_size(|size| size.was_too_much(self.round));
    }
}

impl Drop for RequestSlot<'_> {
    fn drop(&mut self) {
        if self.window.with_size(RequestWindowSize::pay_owed)
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
        }
    }
}

impl RequestWindowSize {
    /// Whether there is room for one more.
    fn went_well(&mut self) -> bool {
        if self.now >= self.most {
            return false;
        }
        self.well += 1;
        if !self.doubling && self.well < self.now {
            return false;
        }
        self.well = 0;
        self.now += 1;
        if self.owed > 0 {
            self.owed -= 1;
            return false;
        }
        true
    }

    fn was_too_much(&mut self, round: u64) {
        if round < self.round {
            return;
        }
        let less = (self.now / 2).max(LEAST.min(self.most));
        self.owed += self.now - less;
        self.now = less;
        self.doubling = false;
        self.well = 0;
        self.round += 1;
    }

    fn pay_owed(&mut self) -> bool {
        let pays = self.owed > 0;
        self.owed -= usize::from(pays);
        pays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many requests as there is room for, all at once.
    async fn run_round(window: &RequestWindow, well: bool) -> usize {
        let mut places = Vec::new();
        while window.places.available_permits() > 0 {
            places.push(window.enter().await);
        }
        let at_once = places.len();
        for place in places {
            if well { place.went_well() } else { place.was_too_much() }
        }
        at_once
    }

    #[tokio::test]
    async fn a_window_doubles_then_halves_once_a_round_then_grows_by_one() {
        let window = RequestWindow::new(200);
        let mut seen = Vec::new();
        for well in [true, true, true, true, false, true, true, false, false, true] {
            seen.push(run_round(&window, well).await);
        }
        assert_eq!(seen, [32, 64, 128, 200, 200, 100, 101, 102, 51, 25]);
        for _ in 0..20 {
            run_round(&window, false).await;
        }
        assert_eq!(run_round(&window, true).await, LEAST);
    }

    #[tokio::test]
    async fn a_window_of_one_stays_one() {
        let window = RequestWindow::new(1);
        for well in [true, false, false, true] {
            assert_eq!(run_round(&window, well).await, 1);
        }
    }
}
