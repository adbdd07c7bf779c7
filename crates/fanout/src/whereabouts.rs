//! Whereabouts: the places of persons that were found in a cell, and the enrolments that they left behind there.

use model::{Crowd, CrowdEnrolment, Person, Tenant, place};

use crate::facts::PersonWhereabouts;

/// Those who are not in the cell in which they were found.
pub(crate) fn find_elsewhere<'a>(
    cell: place::GlobeCell,
    persons: &'a [Person],
    places: &'a [PersonWhereabouts],
) -> impl Iterator<Item = (Person, &'a PersonWhereabouts)> {
    let gone = persons.iter().zip(places).filter(move |(_, at)| at.is_elsewhere(cell));
    gone.map(|(person, at)| (person.clone(), at))
}

/// The ends of what an older place began. Who is there by a newer version is about to come: their profile does
/// not say so yet.
pub(crate) fn end_enrolments<'a>(
    tenant: &Tenant,
    cell: place::GlobeCell,
    found: impl Iterator<Item = ((Person, &'a PersonWhereabouts), Option<i64>)>,
) -> Vec<CrowdEnrolment> {
    let of_older = found.filter_map(|((person, at), since)| {
        let version = since.filter(|since| at.is_newer_than(cell, *since))?;
        Some(CrowdEnrolment { tenant: tenant.clone(), person, crowd: Crowd::Cell(cell), version, on: false })
    });
    of_older.collect()
}

#[cfg(test)]
mod tests {
    use model::{GeoPoint, Value, ValueCell, VersionedState, person::profile::PlaceOrigin};

    use super::*;

    #[test]
    fn only_rows_of_an_older_place_are_ended() {
        let (here, there) = (GeoPoint::new(52.5, 13.4).unwrap(), GeoPoint::new(48.1, 11.6).unwrap());
        let tenant = Tenant::new("main").unwrap();
        let check_of = |origin: PlaceOrigin,
                        says: Option<(i64, Option<GeoPoint>)>,
                        since: Option<i64>,
                        ended: &[i64]| {
            let (mut known, cell) = (VersionedState::default(), here.cells_of(origin)[0]);
            if let Some((version, place)) = says {
                known.set(origin.field(), ValueCell { version, value: place.map(Value::Place) });
            }
            // What is said of the other place is newer, and says nothing of this one.
            let other =
                if origin == PlaceOrigin::Stated { PlaceOrigin::Address } else { PlaceOrigin::Stated };
            known.set(other.field(), ValueCell { version: 9, value: Some(Value::Place(there)) });
            let (persons, places) =
                ([Person::new("ann").unwrap()], [PersonWhereabouts::from_profile(&known)]);
            let gone: Vec<_> = find_elsewhere(cell, &persons, &places).collect();
            let found = gone.into_iter().zip([since]);
            let left = end_enrolments(&tenant, cell, found);
            let shown: Vec<i64> = left.iter().map(|one| one.version).collect();
            assert!(left.iter().all(|one| !one.on && one.crowd == Crowd::Cell(cell)), "{left:?}");
            assert_eq!(shown, ended, "{origin:?} {says:?} {since:?}");
        };
        let check = |says: Option<(i64, Option<GeoPoint>)>, since: Option<i64>, ended: &[i64]| {
            PlaceOrigin::ALL.into_iter().for_each(|origin| check_of(origin, says, since, ended));
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
