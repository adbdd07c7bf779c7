//! The mutes of a person, as they are kept: a name, and a flag.

use std::cmp::Reverse;

use model::{Value, VersionedState};

/// The mutes that hold, the newest first. One that has ended is still there, as a flag that is down.
pub(super) fn standing_mutes(known: &VersionedState) -> Vec<(&str, i64)> {
    let holding = known.cells.iter().filter(|(_, cell)| cell.value == Some(Value::Flag(true)));
    let mut all: Vec<(&str, i64)> = holding.map(|(name, cell)| (&**name, cell.version)).collect();
    all.sort_by_key(|(name, version)| (Reverse(*version), *name));
    all
}

/// The sort of a mute, and what it is of.
pub(super) fn split_mute(name: &str) -> (&str, &str) {
    name.split_once(' ').unwrap_or(("", name))
}
