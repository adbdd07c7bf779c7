//! Moves: how the crowds of places follow a person's profile.
//!
//! The place itself is a cell of the profile, and is checked for each member that a crowd finds. So a person who stays
//! too long in a crowd costs one lookup and is not told, but a person who is missing from a crowd is lost. Therefore a
//! statement never removes a person from a crowd into which a later one puts them, in whatever order they come, however
//! often, and however many at once. Of the statement that holds and the one that comes,
//!
//! - the cells of the newer place are entered with its version;
//! - those of the older one alone are left with the version of the *older* one. At one version the end wins,
//!   so it ends just what that statement began, and whatever is newer stands.
//!
//! A person has two places, one that was stated and that of their last IP address, with versions of two services. They are
//! moves of their own: each has its own cells, and none of them ends a row of the other.
//!
//! Entered before the profile is merged, and left after it: whatever the profile says meanwhile, they are found
//! there, and a crash in between loses nobody. If nothing was left because of one, whoever walks through
//! the crowd next does it (`fanout`).

use model::{
    Crowd, CrowdEnrolment, Person, Tenant, Value, ValueCell, person::profile::PlaceOrigin, place::GlobeCell,
};

#[cfg(test)]
mod tests;

/// What a statement about a person's place changes.
#[derive(Debug, Default, PartialEq)]
pub struct PlaceMove {
    /// Before the profile is merged.
    pub entered: Vec<CrowdEnrolment>,
    /// After it.
    pub left: Vec<CrowdEnrolment>,
}

/// What a statement about a person's place changes, given the one of the same origin that holds.
pub fn plan_move(
    (tenant, person): (&Tenant, &Person),
    origin: PlaceOrigin,
    held: Option<&ValueCell>,
    stated: &ValueCell,
) -> PlaceMove {
    let enrol = |cell: GlobeCell, version, on| {
        let (tenant, person, crowd) = (tenant.clone(), person.clone(), Crowd::Cell(cell));
        CrowdEnrolment { tenant, person, crowd, version, on }
    };
    let enter =
        || place_cells(origin, stated).into_iter().map(|cell| enrol(cell, stated.version, true)).collect();
    let Some(held) = held else { return PlaceMove { entered: enter(), left: Vec::new() } };
    let is_newer = stated.wins_over(held);
    let (newer, older) = if is_newer { (stated, held) } else { (held, stated) };
    let entered = if is_newer { enter() } else { Vec::new() };
    // Of two statements of one version neither ends what the other began: it would end it for a third one
    // of that version as well.
    if older.version >= newer.version {
        return PlaceMove { entered, left: Vec::new() };
    }
    let kept = place_cells(origin, newer);
    let left = place_cells(origin, older).into_iter().filter(|cell| !kept.contains(cell));
    PlaceMove { entered, left: left.map(|cell| enrol(cell, older.version, false)).collect() }
}

fn place_cells(origin: PlaceOrigin, stated: &ValueCell) -> Vec<GlobeCell> {
    match stated.value {
        Some(Value::Place(place)) => place.cells_of(origin),
        _ => Vec::new(),
    }
}
