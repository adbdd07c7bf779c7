//! A row of a day: an entry, a mark that says what became of some, or a list of which marks name all.

use crate::{entry::Entry, key_list::KeyList, mark::Mark};

/// One immutable row of a day.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DayRow {
    Entry(Entry),
    Mark(Mark),
    List(KeyList),
}
