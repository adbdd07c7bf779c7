//! A sieve: says at once that something is not in a table, which it is asked for nearly always.
//!
//! One bit for each of some millions of hashes, in memory. A bit that is set says "perhaps", so the table
//! has the last word; one that is not set says "no". Bits are set before a row is written and never
//! cleared, so whoever looks after a write has returned finds it.

use std::{
    hash::{DefaultHasher, Hasher as _},
    sync::atomic::{AtomicU64, Ordering},
};

/// A mebibyte of bits: with a hundred thousand names in it, one of eighty others is looked up for nothing.
const BITS: u64 = 1 << 23;

pub(super) struct NameSieve {
    bits: Vec<AtomicU64>,
}

impl Default for NameSieve {
    fn default() -> Self {
        Self { bits: (0..BITS / 64).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl NameSieve {
    pub(super) fn add(&self, name: &[u8]) {
        let (word, bit) = self.bit_place(name);
        word.fetch_or(bit, Ordering::SeqCst);
    }

    /// Whether the name may have been added.
    pub(super) fn may_hold(&self, name: &[u8]) -> bool {
        let (word, bit) = self.bit_place(name);
        word.load(Ordering::SeqCst) & bit != 0
    }

    fn bit_place(&self, name: &[u8]) -> (&AtomicU64, u64) {
        let mut hasher = DefaultHasher::new();
        hasher.write(name);
        let at = usize::try_from(hasher.finish() % BITS).unwrap_or_default();
        (&self.bits[at / 64], 1 << (at % 64))
    }
}
