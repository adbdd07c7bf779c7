//! Moves: how the crowds of places follow a person's profile.
//!
//! The place itself is a cell of the profile, and whoever is found by a crowd is asked for it: a crowd in
//! which somebody stands too long costs a look and tells nobody. One from which somebody is missing loses
//! them. So a statement never takes anybody out of a crowd that a later one puts them into, in whatever order
//! they come, however often, and however many at once. Of the statement that holds and the one that comes,
//!
//! - the cells of the newer place are entered with its version;
//! - those of the older one alone are left with the version of the *older* one. At one version the end wins,
//!   so it ends just what that statement began, and whatever is newer stands.
//!
//! It is done before the profile is merged, while the place that held can still be read. If that never
//! happens, the same again does the same again, and what has become old meanwhile only leaves its cells.

use model::{Cell, Crowd, Enrolment, Person, Tenant, Value, place};

#[cfg(test)]
mod tests;

/// What a statement about a person's place changes, given the one that holds.
pub fn of(tenant: &Tenant, person: &Person, held: Option<&Cell>, stated: &Cell) -> Vec<Enrolment> {
    let enrol = |cell: place::Cell, version, on| {
        let (tenant, person, crowd) = (tenant.clone(), person.clone(), Crowd::Cell(cell));
        Enrolment { tenant, person, crowd, version, on }
    };
    let enter = || cells(stated).into_iter().map(|cell| enrol(cell, stated.version, true));
    let Some(held) = held else { return enter().collect() };
    let is_newer = stated.wins_over(held);
    let (newer, older) = if is_newer { (stated, held) } else { (held, stated) };
    let mut enrolments = Vec::new();
    // Of two statements of one version neither ends what the other began: it would end it for a third one
    // of that version as well.
    if older.version < newer.version {
        let kept = cells(newer);
        let left = cells(older).into_iter().filter(|cell| !kept.contains(cell));
        enrolments.extend(left.map(|cell| enrol(cell, older.version, false)));
    }
    if is_newer {
        enrolments.extend(enter());
    }
    enrolments
}

fn cells(stated: &Cell) -> Vec<place::Cell> {
    match stated.value {
        Some(Value::Place(place)) => place.cells(),
        _ => Vec::new(),
    }
}
