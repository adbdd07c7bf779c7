//! A row of a day: an entry, or a mark that says what became of some.

use crate::{entry::Entry, mark::Mark};

/// One immutable row of a day.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DayRow {
    Entry(Entry),
    Mark(Mark),
}
