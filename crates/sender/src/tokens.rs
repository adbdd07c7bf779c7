//! What claims are told apart by.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

/// Tokens that nobody else has, and none twice.
#[derive(Debug)]
pub(crate) struct ClaimTokens {
    /// A random value that no other process has.
    own: [u8; 8],
    given: AtomicU64,
}

impl Default for ClaimTokens {
    fn default() -> Self {
        // Random, since in containers each process has the same number: two claims must never look like one.
        Self { own: RandomState::new().hash_one(std::process::id()).to_be_bytes(), given: AtomicU64::new(0) }
    }
}

impl ClaimTokens {
    pub fn next(&self) -> [u8; 16] {
        let mut token = [0; 16];
        token[..8].copy_from_slice(&self.own);
        token[8..].copy_from_slice(&self.given.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        token
    }
}
