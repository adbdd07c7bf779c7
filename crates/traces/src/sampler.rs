//! Which traces begin here, and how they are named.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use share_ratio::ShareRatio;

/// Numbers that nobody can foresee well enough to meet them again, by the standard library's keyed hash of a counter.
#[derive(Debug, Default)]
pub(crate) struct IdSource {
    keys: RandomState,
    next: AtomicU64,
}

impl IdSource {
    /// Never zero, which is no id.
    fn next_number(&self) -> u64 {
        self.keys.hash_one(self.next.fetch_add(1, Ordering::Relaxed)).max(1)
    }

    pub fn next_span(&self) -> [u8; 8] {
        self.next_number().to_be_bytes()
    }

    pub fn next_trace(&self) -> [u8; 16] {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.next_span());
        id[8..].copy_from_slice(&self.next_span());
        id
    }

    /// Whether one of this share was drawn.
    pub fn draws(&self, share: ShareRatio) -> bool {
        share > ShareRatio::NONE && share.has(self.next_number())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_share_of_all_is_drawn_and_no_id_comes_twice() {
        let source = IdSource::default();
        let check = |share: ShareRatio, least: usize, most: usize| {
            let drawn = (0..100_000).filter(|_| source.draws(share)).count();
            assert!((least..=most).contains(&drawn), "{share}: {drawn}");
        };
        check(ShareRatio::NONE, 0, 0);
        check(ShareRatio::from_percent(1), 800, 1_200);
        check(ShareRatio::from_percent(50), 49_000, 51_000);
        check(ShareRatio::WHOLE, 100_000, 100_000);
        let ids: BTreeSet<[u8; 16]> = (0..10_000).map(|_| source.next_trace()).collect();
        assert_eq!(ids.len(), 10_000);
    }
}
