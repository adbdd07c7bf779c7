//! The preferences of a person, as they are kept: a field for each.

use std::cmp::Reverse;

use ::preferences::{PreferenceChoice, PreferenceField};
use model::VersionedState;

/// A choice that holds.
pub(super) struct StandingPreference<'a> {
    pub choice: PreferenceChoice,
    pub field: PreferenceField<'a>,
    pub version: i64,
}

/// The choices that hold, the newest first. One that was taken back is still there, as a flag that is down.
pub(super) fn list_standing(known: &VersionedState) -> Vec<StandingPreference<'_>> {
    let standing = |(field, version, choice)| StandingPreference {
        choice,
        field: PreferenceField::parse(field),
        version,
    };
    let holding = known.cells.iter().filter_map(|(field, cell)| {
        Some((&**field, cell.version, PreferenceChoice::from_value(cell.value.as_ref()?)?))
    });
    let mut all: Vec<(&str, i64, PreferenceChoice)> = holding.collect();
    all.sort_by_key(|(field, version, _)| (Reverse(*version), *field));
    all.into_iter().map(standing).collect()
}
