//! What the engines have in common where a person is erased.

use std::collections::BTreeSet;

use model::{
    Day, Millis, ReadyId, Row, State, What,
    erase::{Counts, Holding, Keeper},
    limits::DAY_LIFE_MS,
    person::notes,
};

/// Counts of nought for every place that a store has.
pub fn nothing() -> Counts {
    Holding::kept_by(Keeper::Store).map(|holding| (holding, 0)).collect()
}

/// Adds to a count.
pub fn found(counts: &mut Counts, holding: Holding, more: usize) {
    *counts.entry(holding).or_default() += u64::try_from(more).unwrap_or(u64::MAX);
}

/// The days that may have rows at an instant, tomorrow included: clocks differ.
pub fn living_days(now: Millis) -> impl Iterator<Item = Day> {
    (Day::of(now.plus(-DAY_LIFE_MS)).0 - 1..=Day::of(now).0 + 1).map(Day)
}

/// The Readys that rows of a day name.
pub fn readys_of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> BTreeSet<ReadyId> {
    let ready = |row: &Row| match row {
        Row::Entry(_) => None,
        Row::Mark(mark) => match mark.what {
            What::Taken(ready)
            | What::Returned { ready, .. }
            | What::Carried(ready)
            | What::Left { ready, .. } => Some(ready),
            What::Read | What::Cleared | What::Ended(_) => None,
        },
    };
    rows.into_iter().filter_map(ready).collect()
}

/// What stays of somebody's notes.
pub fn what_stays(mut notes: State) -> State {
    notes.cells.retain(|name, _| notes::outlives(name));
    notes
}
