//! What came of the house, until a line expects it.

use std::collections::VecDeque;

use anyhow::bail;
use model::Millis;

/// Things of one sort, in the order in which they came.
pub(crate) struct Arrivals<T> {
    /// How many came in all.
    seen: usize,
    waiting: VecDeque<(Millis, T)>,
}

impl<T> Default for Arrivals<T> {
    fn default() -> Self {
        Self { seen: 0, waiting: VecDeque::new() }
    }
}

impl<T: Clone> Arrivals<T> {
    /// Of all that came so far, what is new.
    pub fn news(&mut self, all: &[T]) -> anyhow::Result<Vec<T>> {
        let Some(news) = all.get(self.seen..) else {
            bail!("{} had come, and now there are {}", self.seen, all.len());
        };
        self.seen = all.len();
        Ok(news.to_vec())
    }

    pub fn push(&mut self, at: Millis, one: T) {
        self.waiting.push_back((at, one));
    }

    /// The first that fits, which no line can expect once more.
    pub fn take(&mut self, fits: impl Fn(&T) -> bool) -> Option<T> {
        let at = self.waiting.iter().position(|(_, one)| fits(one))?;
        self.waiting.remove(at).map(|(_, one)| one)
    }

    pub fn iter(&self) -> impl Iterator<Item = &(Millis, T)> {
        self.waiting.iter()
    }
}
