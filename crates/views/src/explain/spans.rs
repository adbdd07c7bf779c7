//! How far back a look into a topic goes.

/// A partition, with its first and its next offset.
pub(super) type PartitionSpan = (u32, (u64, u64));

/// The spans of partitions that are read: at most so many records in total, the latest of each partition; and whether
/// anything was left out. Partitions with fewer records leave more for the others.
pub(super) fn latest_spans(mut bounds: Vec<PartitionSpan>, mut most: u64) -> (Vec<PartitionSpan>, bool) {
    bounds.sort_by_key(|(number, (first, next))| (next.saturating_sub(*first), *number));
    let (count, mut is_cut) = (bounds.len() as u64, false);
    for (left, (_, (first, next))) in (1..=count).rev().zip(&mut bounds) {
        let begin = (*first).max(next.saturating_sub(most / left));
        is_cut |= begin > *first;
        *first = begin;
        most -= next.saturating_sub(begin);
    }
    (bounds, is_cut)
}
