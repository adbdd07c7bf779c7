//! What the engines have in common where a person is erased.

use std::collections::BTreeSet;

use model::{DayRow, MarkAction, ReadyId, VersionedState, person::notes};

use crate::erasure::{Holding, HoldingCounts, HoldingKeeper};

/// Counts of nought for every place that a store has.
pub fn zero_counts() -> HoldingCounts {
    Holding::kept_by(HoldingKeeper::Store).map(|holding| (holding, 0)).collect()
}

/// Adds to a count.
pub fn add_count(counts: &mut HoldingCounts, holding: Holding, more: usize) {
    *counts.entry(holding).or_default() += u64::try_from(more).unwrap_or(u64::MAX);
}

/// The Readys that rows of a day name.
pub fn readys_in_rows<'a>(rows: impl IntoIterator<Item = &'a DayRow>) -> BTreeSet<ReadyId> {
    let ready = |row: &DayRow| match row {
        DayRow::Entry(_) | DayRow::List(_) => None,
        DayRow::Mark(mark) => match mark.what {
            MarkAction::Taken(ready)
            | MarkAction::Returned { ready, .. }
            | MarkAction::Carried(ready)
            | MarkAction::Left { ready, .. } => Some(ready),
            MarkAction::Ended(_)
            | MarkAction::Read
            | MarkAction::Cleared
            | MarkAction::Seen
            | MarkAction::Unread
            | MarkAction::Restored
            | MarkAction::Saved
            | MarkAction::Unsaved
            | MarkAction::Snoozed(_)
            | MarkAction::Withdrawn => None,
        },
    };
    rows.into_iter().filter_map(ready).collect()
}

/// The notes of a person that outlive an erasure.
pub fn retain_lasting_notes(mut notes: VersionedState) -> VersionedState {
    notes.cells.retain(|name, _| notes::outlives(name));
    notes
}
