//! Entries of a Ready that do not go out with it, each with the reason for which it ends.

use model::{EndReason, EntryKey, ready::Ready};

/// Entries that stay behind, and why.
pub type LeftOutEntries = Vec<(EntryKey, EndReason)>;

/// Every entry that was not left out before ends for this reason.
pub fn end_rest(ready: &Ready, mut left: LeftOutEntries, why: EndReason) -> LeftOutEntries {
    for entry in &ready.entries {
        if !left.iter().any(|(key, _)| *key == entry.key) {
            left.push((entry.key, why));
        }
    }
    left
}
