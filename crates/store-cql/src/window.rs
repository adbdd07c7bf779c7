//! How many requests are under way at once: more while all goes well, half as many when the cluster has
//! enough. One window for everything an engine asks, first come, first served.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

/// What a window begins with, and never falls below.
const FIRST: usize = 32;
const LEAST: usize = 2;

pub(crate) struct Window {
    places: Semaphore,
    size: Mutex<Size>,
}

/// The arithmetic, without the waiting.
struct Size {
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
pub(crate) struct Place<'a> {
    window: &'a Window,
    permit: Option<SemaphorePermit<'a>>,
    round: u64,
}

impl Window {
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let size = Size { now: FIRST.min(most), most, doubling: true, well: 0, owed: 0, round: 0 };
        Self { places: Semaphore::new(size.now), size: Mutex::new(size) }
    }

    pub(crate) async fn enter(&self) -> Place<'_> {
        // It is never closed, so there always is one.
        let permit = self.places.acquire().await.ok();
        Place { window: self, permit, round: self.size(|size| size.round) }
    }

    fn size<T>(&self, with: impl FnOnce(&mut Size) -> T) -> T {
        with(&mut self.size.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Place<'_> {
    pub(crate) fn went_well(self) {
        let more = self.window.size(Size::went_well);
        if more {
            self.window.places.add_permits(1);
        }
    }

    /// It was too much for the cluster.
    pub(crate) fn was_too_much(self) {
        self.window.size(|size| size.was_too_much(self.round));
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.window.size(Size::pays)
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
        }
    }
}

impl Size {
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

    fn pays(&mut self) -> bool {
        let pays = self.owed > 0;
        self.owed -= usize::from(pays);
        pays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many requests as there is room for, all at once.
    async fn round(window: &Window, well: bool) -> usize {
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
        let window = Window::new(200);
        let mut seen = Vec::new();
        for well in [true, true, true, true, false, true, true, false, false, true] {
            seen.push(round(&window, well).await);
        }
        assert_eq!(seen, [32, 64, 128, 200, 200, 100, 101, 102, 51, 25]);
        for _ in 0..20 {
            round(&window, false).await;
        }
        assert_eq!(round(&window, true).await, LEAST);
    }

    #[tokio::test]
    async fn a_window_of_one_stays_one() {
        let window = Window::new(1);
        for well in [true, false, false, true] {
            assert_eq!(round(&window, well).await, 1);
        }
    }
}
