//! Whereabouts: where somebody is who was found in a cell, and which rows were left there.

use model::{Cell, Crowd, Enrolment, Person, Place, State, Tenant, Value, person::profile, place};

/// What a profile says of the place.
#[derive(Debug)]
pub(crate) struct Whereabouts(Option<Cell>);

impl Whereabouts {
    pub fn of(profile: &State) -> Self {
        Self(profile.cells.get(profile::PLACE).cloned())
    }

    pub fn place(&self) -> Option<Place> {
        match self.0.as_ref()?.value {
            Some(Value::Place(place)) => Some(place),
            _ => None,
        }
    }

    fn is_elsewhere(&self, cell: place::Cell) -> bool {
        self.0.is_some() && self.place().is_none_or(|at| !at.is_in(cell))
    }

    fn is_newer_than(&self, version: i64) -> bool {
        self.0.as_ref().is_some_and(|cell| cell.version > version)
    }
}

/// Those who are not in the cell in which they were found.
pub(crate) fn elsewhere<'a>(
    cell: place::Cell,
    persons: &'a [Person],
    places: &'a [Whereabouts],
) -> impl Iterator<Item = (Person, &'a Whereabouts)> {
    let gone = persons.iter().zip(places).filter(move |(_, at)| at.is_elsewhere(cell));
    gone.map(|(person, at)| (person.clone(), at))
}

/// The ends of what an older place began. Who is there by a newer version is about to come: their profile does
/// not say so yet.
pub(crate) fn left<'a>(
    tenant: &Tenant,
    cell: place::Cell,
    found: impl Iterator<Item = ((Person, &'a Whereabouts), Option<i64>)>,
) -> Vec<Enrolment> {
    let of_older = found.filter_map(|((person, at), since)| {
        let version = since.filter(|since| at.is_newer_than(*since))?;
        Some(Enrolment { tenant: tenant.clone(), person, crowd: Crowd::Cell(cell), version, on: false })
    });
    of_older.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_of_an_older_place_are_ended() {
        let (here, there) = (Place::new(52.5, 13.4).unwrap(), Place::new(48.1, 11.6).unwrap());
        let (cell, tenant) = (here.cells()[0], Tenant::new("main").unwrap());
        let check = |says: Option<(i64, Option<Place>)>, since: Option<i64>, ended: &[i64]| {
            let mut known = State::default();
            if let Some((version, place)) = says {
                known.set(profile::PLACE, Cell { version, value: place.map(Value::Place) });
            }
            let (persons, places) = ([Person::new("ann").unwrap()], [Whereabouts::of(&known)]);
            let gone: Vec<_> = elsewhere(cell, &persons, &places).collect();
            let found = gone.into_iter().zip([since]);
            let left = left(&tenant, cell, found);
            let shown: Vec<i64> = left.iter().map(|one| one.version).collect();
            assert!(left.iter().all(|one| !one.on && one.crowd == Crowd::Cell(cell)), "{left:?}");
            assert_eq!(shown, ended, "{says:?} {since:?}");
        };
        check(Some((2, Some(here))), Some(1), &[]);
        check(Some((2, Some(there))), Some(1), &[1]);
        check(Some((2, None)), Some(1), &[1]);
        // About to come, and come for the first time.
        check(Some((2, Some(there))), Some(3), &[]);
        check(None, Some(1), &[]);
        // Left meanwhile.
        check(Some((2, Some(there))), None, &[]);
    }
}
