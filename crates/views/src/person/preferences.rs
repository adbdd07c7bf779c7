//! The preferences of a person, as they are kept: a field for each.

use std::cmp::Reverse;

use ::preferences::{PreferenceChoice, split_channel};
use model::VersionedState;

/// A choice that holds.
pub(super) struct StandingPreference<'a> {
    pub choice: PreferenceChoice,
    pub channel: Option<&'a str>,
    /// The sort of what it is about, and what that is.
    pub sort: &'a str,
    pub of: &'a str,
    pub version: i64,
}

/// The choices that hold, the newest first. One that was taken back is still there, as a flag that is down.
pub(super) fn list_standing(known: &VersionedState) -> Vec<StandingPreference<'_>> {
    let standing = |(field, version, choice)| {
        let (channel, scope) = split_channel(field);
        let (sort, of) = scope.split_once(' ').unwrap_or((scope, ""));
        StandingPreference { choice, channel, sort, of, version }
    };
    let holding = known.cells.iter().filter_map(|(field, cell)| {
        Some((&**field, cell.version, PreferenceChoice::from_value(cell.value.as_ref()?)?))
    });
    let mut all: Vec<(&str, i64, PreferenceChoice)> = holding.collect();
    all.sort_by_key(|(field, version, _)| (Reverse(*version), *field));
    all.into_iter().map(standing).collect()
}
