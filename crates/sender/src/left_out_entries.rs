//! Entries of a Ready that do not go out with it, each with the reason for which it ends.

use std::collections::BTreeSet;

use model::{EndReason, EntryKey, ready::Ready};

/// Entries that stay behind, and why.
pub type LeftOutEntries = Vec<(EntryKey, EndReason)>;

/// Every entry that was not left out before ends for this reason.
pub fn end_rest(ready: &Ready, mut left: LeftOutEntries, why: EndReason) -> LeftOutEntries {
    let before: BTreeSet<EntryKey> = left.iter().map(|(key, _)| *key).collect();
    left.extend(ready.keys().filter(|key| !before.contains(key)).map(|key| (key, why)));
    left
}
