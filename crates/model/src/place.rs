//! Places: how far apart two are, and the cells of the globe by which people near a place are found.
//!
//! Cells are those of H3: hexagons of nearly one size that cover the globe, poles and date line alike. A
//! person stands in one cell of each of some sizes; a search takes the size whose cells are neither many nor
//! much larger than the circle, and asks the exact distance of whoever it finds.
//!
//! A place that was stated and the place of an address have other sizes, so that a cell says which of them it is for: what
//! ends for one never ends for the other, whatever their versions are.

use std::collections::BTreeSet;

use h3o::{CellIndex, LatLng, Resolution};

use crate::{profile::PlaceOrigin, value::GeoPoint};

/// Resolutions, the largest cells first, and the radius from which each is used.
type CellSizes = &'static [(Resolution, f64)];

/// In which everybody is kept who stated a place: with these a search has at most some 400 cells, and reads at most
/// about four times what it finds.
const STATED_SIZES: CellSizes =
    &[(Resolution::Three, 120.0), (Resolution::Five, 15.0), (Resolution::Seven, 0.0)];
/// In which everybody is kept whose address is somewhere. Nobody knows that better than to some ten kilometres, so there
/// are no small ones, and few more to search.
const ADDRESS_SIZES: CellSizes = &[(Resolution::Two, 120.0), (Resolution::Four, 0.0)];

/// How far `within` may reach, in kilometres.
pub const WITHIN_KM_MAX: f64 = 1_000.0;
/// The mean radius of the earth, in kilometres.
const EARTH_KM: f64 = 6_371.008_8;
/// A cell's sides bend a little on the globe, so its corners are given some room.
const SLACK: f64 = 1.05;

/// A cell of the globe, of one of some sizes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GlobeCell(pub u64);

impl GlobeCell {
    /// A cell by its number, if there is one.
    pub fn new(number: u64) -> Option<Self> {
        CellIndex::try_from(number).ok().map(|_| Self(number))
    }

    /// For which places it is.
    pub fn origin(self) -> PlaceOrigin {
        let is_size = |size: Resolution| ADDRESS_SIZES.iter().any(|(own, _)| *own == size);
        match CellIndex::try_from(self.0).map(CellIndex::resolution) {
            Ok(size) if is_size(size) => PlaceOrigin::Address,
            _ => PlaceOrigin::Stated,
        }
    }
}

impl GeoPoint {
    /// A place on the globe: degrees north from -90 to 90 and east from -180 to 180.
    pub fn new(lat: f64, lon: f64) -> Option<Self> {
        ((-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon)).then_some(Self { lat, lon })
    }

    /// Along the surface of a round earth, in kilometres: half a percent from the true one at most.
    pub fn distance_km(self, other: Self) -> f64 {
        let half = |degrees: f64| (degrees.to_radians() / 2.0).sin().powi(2);
        let cosines = self.lat.to_radians().cos() * other.lat.to_radians().cos();
        let chord = half(other.lat - self.lat) + cosines * half(other.lon - self.lon);
        2.0 * EARTH_KM * chord.clamp(0.0, 1.0).sqrt().asin()
    }

    /// The cells in which a person who stated this place is kept, one of each size.
    pub fn cells(self) -> Vec<GlobeCell> {
        self.cells_of(PlaceOrigin::Stated)
    }

    /// The same of a place from elsewhere.
    pub fn cells_of(self, origin: PlaceOrigin) -> Vec<GlobeCell> {
        let cell = |(size, _): &(Resolution, f64)| Some(GlobeCell(self.cell_index(*size)?.into()));
        sizes_of(origin).iter().filter_map(cell).collect()
    }

    /// Whether this place lies in the cell.
    pub fn is_in(self, cell: GlobeCell) -> bool {
        let size = CellIndex::try_from(cell.0).map(CellIndex::resolution);
        size.is_ok_and(|size| self.cell_index(size).is_some_and(|own| u64::from(own) == cell.0))
    }

    /// The cells in which everybody within so many kilometres is found, in order.
    pub fn cells_within(self, km: f64) -> Vec<GlobeCell> {
        let km = km.clamp(0.0, WITHIN_KM_MAX);
        let size = |origin| sizes_of(origin).iter().find(|(_, from)| km >= *from).map(|(size, _)| *size);
        let found =
            PlaceOrigin::ALL.into_iter().filter_map(size).flat_map(|size| self.cells_touched(size, km));
        found.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The cells of a size that a circle touches.
    fn cells_touched(self, size: Resolution, km: f64) -> BTreeSet<GlobeCell> {
        let Some(middle) = self.cell_index(size) else { return BTreeSet::new() };
        // From the middle outwards: what a circle touches hangs together.
        let (mut found, mut edge) = (BTreeSet::from([GlobeCell(middle.into())]), vec![middle]);
        while let Some(cell) = edge.pop() {
            for next in cell.grid_disk::<Vec<_>>(1) {
                if self.touches(next, km) && found.insert(GlobeCell(next.into())) {
                    edge.push(next);
                }
            }
        }
        found
    }

    /// Whether some of a cell may lie within so many kilometres.
    fn touches(self, cell: CellIndex, km: f64) -> bool {
        let place = |at: &LatLng| Self { lat: at.lat(), lon: at.lng() };
        let centre = place(&LatLng::from(cell));
        let corner = cell.boundary().iter().map(|at| centre.distance_km(place(at))).fold(0.0, f64::max);
        self.distance_km(centre) <= km + corner * SLACK
    }

    fn cell_index(self, size: Resolution) -> Option<CellIndex> {
        LatLng::new(self.lat, self.lon).ok().map(|at| at.to_cell(size))
    }
}

fn sizes_of(origin: PlaceOrigin) -> CellSizes {
    match origin {
        PlaceOrigin::Stated => STATED_SIZES,
        PlaceOrigin::Address => ADDRESS_SIZES,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn place_at(lat: f64, lon: f64) -> GeoPoint {
        GeoPoint::new(lat, lon).unwrap()
    }

    #[test]
    fn distances_are_those_of_the_globe() {
        let check = |a: (f64, f64), b: (f64, f64), km: f64| {
            let found = place_at(a.0, a.1).distance_km(place_at(b.0, b.1));
            assert!((found - km).abs() <= km * 0.005 + 0.001, "{a:?} {b:?}: {found} instead of {km}");
        };
        check((52.52, 13.405), (52.52, 13.405), 0.0);
        // Berlin and Paris; New York and Tokyo.
        check((52.52, 13.405), (48.8566, 2.3522), 878.0);
        check((40.7128, -74.006), (35.6762, 139.6503), 10_850.0);
        // Over the date line, over the pole, around half the globe.
        check((0.0, 179.9), (0.0, -179.9), 22.24);
        check((89.9, 0.0), (89.9, 180.0), 22.24);
        check((0.0, 0.0), (0.0, 180.0), 20_015.0);
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for (lat, lon) in [(90.1, 0.0), (-91.0, 0.0), (0.0, 180.5), (f64::NAN, 0.0), (0.0, f64::INFINITY)] {
            assert_eq!(GeoPoint::new(lat, lon), None, "{lat} {lon}");
        }
        assert!(GlobeCell::new(0).is_none() && GlobeCell::new(place_at(1.0, 2.0).cells()[0].0).is_some());
    }

    #[test]
    fn a_cell_says_for_which_places_it_is() {
        for origin in PlaceOrigin::ALL {
            let cells = place_at(52.5, 13.4).cells_of(origin);
            assert!(
                cells.len() > 1 && cells.iter().all(|cell| cell.origin() == origin),
                "{origin:?} {cells:?}"
            );
        }
    }

    /// Points all around a place, from the middle to a little outside.
    fn places_around(middle: GeoPoint, km: f64) -> impl Iterator<Item = GeoPoint> {
        let steps = (0..=12)
            .flat_map(move |ring| (0..24).map(move |turn| (f64::from(ring) / 10.0, f64::from(turn) * 15.0)));
        steps.filter_map(move |(part, turn)| {
            // Straight on along a great circle.
            let (far, turn) = (part * km / EARTH_KM, turn.to_radians());
            let (lat, lon) = (middle.lat.to_radians(), middle.lon.to_radians());
            let there = (lat.sin() * far.cos() + lat.cos() * far.sin() * turn.cos()).asin();
            let along = (turn.sin() * far.sin() * lat.cos()).atan2(far.cos() - lat.sin() * there.sin());
            let east = (lon + along).to_degrees();
            let east = if east > 180.0 {
                east - 360.0
            } else if east < -180.0 {
                east + 360.0
            } else {
                east
            };
            GeoPoint::new(there.to_degrees(), east)
        })
    }

    #[test]
    fn everybody_within_is_in_one_of_the_cells() {
        let middles = [
            (52.52, 13.405),
            (0.0, 0.0),
            (-33.9, 151.2),
            // The date line from both sides, the poles, and next to them.
            (12.0, 180.0),
            (12.0, -180.0),
            (-17.7, 179.99),
            (90.0, 0.0),
            (-90.0, 45.0),
            (89.95, 100.0),
            // Beside a pentagon of the grid.
            (58.157_709, 10.447_27),
            (64.7, 10.536),
        ];
        for middle in middles.map(|(lat, lon)| place_at(lat, lon)) {
            for km in [0.3, 3.0, 14.9, 15.0, 50.0, 119.0, 120.0, 1_000.0] {
                let cells = middle.cells_within(km);
                assert!(cells.len() <= 460, "{} cells for {km} km", cells.len());
                for at in places_around(middle, km).filter(|at| middle.distance_km(*at) <= km) {
                    for origin in PlaceOrigin::ALL {
                        let own = at.cells_of(origin).into_iter().filter(|cell| cells.contains(cell)).count();
                        assert_eq!(own, 1, "{at:?} of {origin:?} within {km} km of {middle:?}");
                    }
                    assert!(cells.iter().any(|cell| at.is_in(*cell)));
                }
            }
        }
    }

    #[test]
    fn a_search_looks_at_few_who_are_not_near() {
        // A grid of people, dense enough that each search finds hundreds.
        let mut people: HashMap<GlobeCell, Vec<GeoPoint>> = HashMap::new();
        let (south, west) = (48.0, 8.0);
        for (row, column) in (0..300).flat_map(|row| (0..300).map(move |column| (row, column))) {
            let at = place_at(south + f64::from(row) / 60.0, west + f64::from(column) / 40.0);
            at.cells().into_iter().for_each(|cell| people.entry(cell).or_default().push(at));
        }
        for km in [14.0, 15.0, 50.0, 120.0] {
            let middle = place_at(50.5, 11.75);
            let candidates: Vec<&GeoPoint> =
                middle.cells_within(km).iter().filter_map(|cell| people.get(cell)).flatten().collect();
            let found = candidates.iter().filter(|at| middle.distance_km(***at) <= km).count();
            let near = people.values().flatten().filter(|at| middle.distance_km(**at) <= km).count();
            assert_eq!(found * STATED_SIZES.len(), near);
            assert!(
                found > 100 && candidates.len() <= 4 * found,
                "{km} km: {} for {found}",
                candidates.len()
            );
        }
    }
}
