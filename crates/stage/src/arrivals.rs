//! What came of the house, until a line expects it.

use std::collections::VecDeque;

use anyhow::bail;
use model::UtcMillis;

use crate::world::StageMail;

/// All that came and that no line has expected yet.
#[derive(Default)]
pub(crate) struct HouseArrivals {
    pub mails: StageArrivals<StageMail>,
    /// Reasons of what was put aside.
    pub aside: StageArrivals<String>,
    /// Why the line before was refused.
    pub refusals: Vec<String>,
    /// What the house noted on it, though it was accepted.
    pub notes: Vec<String>,
}

/// Things of one sort, in the order in which they came.
pub(crate) struct StageArrivals<T> {
    /// How many came in all.
    seen: usize,
    waiting: VecDeque<(UtcMillis, T)>,
}

impl<T> Default for StageArrivals<T> {
    fn default() -> Self {
        Self { seen: 0, waiting: VecDeque::new() }
    }
}

impl<T: Clone> StageArrivals<T> {
    /// Of all that came so far, what is new.
    pub fn take_new(&mut self, all: &[T]) -> anyhow::Result<Vec<T>> {
        let Some(news) = all.get(self.seen..) else {
            bail!("{} had come, and now there are {}", self.seen, all.len());
        };
        self.seen = all.len();
        Ok(news.to_vec())
    }

    pub fn push(&mut self, at: UtcMillis, one: T) {
        self.waiting.push_back((at, one));
    }

    /// The first that fits, which no line can expect once more.
    pub fn take(&mut self, fits: impl Fn(&T) -> bool) -> Option<T> {
        let at = self.waiting.iter().position(|(_, one)| fits(one))?;
        self.waiting.remove(at).map(|(_, one)| one)
    }

    pub fn iter(&self) -> impl Iterator<Item = &(UtcMillis, T)> {
        self.waiting.iter()
    }
}
