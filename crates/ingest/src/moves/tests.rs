//! Three statements about where somebody is, or where their IP address is, in every order, each any number of times, and
//! each perhaps cut off before the profile had it, or after that and before the old place was left.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Crowd, CrowdEnrolment, GeoPoint, Value, ValueCell, VersionedState,
    person::profile::{self, PlaceOrigin},
    place::GlobeCell,
};
use room::testing::tenant;

use super::{PlaceMove, place_cells, plan_move};
use crate::tests::ann;

const BERLIN: Option<(f64, f64)> = Some((52.5, 13.4));
const TOKYO: Option<(f64, f64)> = Some((35.7, 139.7));
/// The two sides of the date line, 2 km apart.
const WEST: Option<(f64, f64)> = Some((-17.0, 179.99));
const EAST: Option<(f64, f64)> = Some((-17.0, -179.99));
/// Neighbours, of which one version's winner is the second, and Berlin wins over the first: a tie is settled
/// by what is written.
const TEN: Option<(f64, f64)> = Some((10.0, 7.0));
const NINE: Option<(f64, f64)> = Some((9.99, 7.0));
/// The pole by two names, and a place beside it.
const POLE: Option<(f64, f64)> = Some((90.0, 0.0));
const POLE_TOO: Option<(f64, f64)> = Some((90.0, 180.0));
const BESIDE: Option<(f64, f64)> = Some((89.99, -170.0));

fn place_cell(version: i64, place: Option<(f64, f64)>) -> ValueCell {
    let place = place.map(|(lat, lon)| Value::Place(GeoPoint::new(lat, lon).unwrap()));
    ValueCell { version, value: place }
}

/// What is said, and of which place.
type PlaceStatement = (PlaceOrigin, ValueCell);

/// What the store has.
#[derive(Clone, PartialEq, Debug, Default)]
struct StoredPlace {
    profile: VersionedState,
    crowds: BTreeMap<GlobeCell, CrowdEnrolment>,
}

impl StoredPlace {
    /// A statement arrives, and is done as far as this.
    fn apply_statement(&mut self, (origin, stated): &PlaceStatement, until: StatementProgress) {
        let held = self.profile.cells.get(origin.field());
        let PlaceMove { entered, left } = plan_move((&tenant(), &ann()), *origin, held, stated);
        self.enrol(entered);
        if until == StatementProgress::Entered {
            return;
        }
        self.is_where_they_are("entered");
        self.profile.set(origin.field(), stated.clone());
        self.is_where_they_are("merged");
        if until == StatementProgress::Done {
            self.enrol(left);
        }
        self.is_where_they_are("left");
    }

    fn enrol(&mut self, enrolments: Vec<CrowdEnrolment>) {
        for enrolment in enrolments {
            let Crowd::Cell(cell) = enrolment.crowd else { panic!("{enrolment:?}") };
            let wins = self.crowds.get(&cell).is_none_or(|old| enrolment.wins_over(old));
            if wins {
                self.crowds.insert(cell, enrolment);
            }
        }
    }

    /// Whoever looks at any moment finds them.
    fn is_where_they_are(&self, when: &str) {
        let cells = |origin: PlaceOrigin| Some(place_cells(origin, self.profile.cells.get(origin.field())?));
        let of_places: BTreeSet<_> = PlaceOrigin::ALL.into_iter().filter_map(cells).flatten().collect();
        assert!(of_places.is_subset(&self.found_in()), "{when}: lost where they are: {:?}", self.profile);
    }

    fn found_in(&self) -> BTreeSet<GlobeCell> {
        self.crowds.iter().filter(|(_, enrolment)| enrolment.on).map(|(cell, _)| *cell).collect()
    }
}

/// How far a statement came before its intake died.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StatementProgress {
    Entered,
    Merged,
    Done,
}

const UNTILS: [StatementProgress; 3] =
    [StatementProgress::Entered, StatementProgress::Merged, StatementProgress::Done];
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
/// Statements that come before every one has come for good.
const BEFORE: usize = 3;

/// What the store may have before every statement has come for good.
#[derive(Clone, PartialEq, Debug)]
struct PlaceBefore {
    stored: StoredPlace,
    /// Whether what died after the profile had it is left to whoever walks through the crowd.
    is_left_over: bool,
}

/// Whatever may have come of the statements, each once: many ways lead to the same.
fn list_before(statements: &[PlaceStatement; 3]) -> Vec<PlaceBefore> {
    let mut all = vec![PlaceBefore { stored: StoredPlace::default(), is_left_over: false }];
    let mut begun = 0;
    for _ in 0..BEFORE {
        let ended = all.len();
        for number in begun..ended {
            for (statement, until) in statements.iter().flat_map(|one| UNTILS.map(|until| (one, until))) {
                let PlaceBefore { mut stored, is_left_over } = all[number].clone();
                stored.apply_statement(statement, until);
                let is_left_over = is_left_over || until == StatementProgress::Merged;
                let next = PlaceBefore { stored, is_left_over };
                if !all.contains(&next) {
                    all.push(next);
                }
            }
        }
        begun = ended;
    }
    all
}

/// The same three of each place.
fn check_statements(statements: [ValueCell; 3]) {
    for origin in PlaceOrigin::ALL {
        check_statements_of(statements.clone().map(|stated| (origin, stated)));
    }
}

fn check_statements_of(statements: [PlaceStatement; 3]) {
    let mut last = VersionedState::default();
    for (origin, stated) in &statements {
        last.set(origin.field(), stated.clone());
    }
    let cells = |origin: PlaceOrigin| Some(place_cells(origin, last.cells.get(origin.field())?));
    let wanted: BTreeSet<_> = PlaceOrigin::ALL.into_iter().filter_map(cells).flatten().collect();
    let apart = statements.iter().map(|(origin, stated)| (*origin, stated.version));
    let apart = apart.collect::<BTreeSet<_>>().len() == 3;
    for before in list_before(&statements) {
        for order in ORDERS {
            let mut kept = before.stored.clone();
            for which in order {
                kept.apply_statement(&statements[which], StatementProgress::Done);
            }
            assert_eq!(
                profile::find_place(&kept.profile),
                profile::find_place(&last),
                "{statements:?} {order:?}"
            );
            let found = kept.found_in();
            assert!(wanted.is_subset(&found), "{statements:?} {before:?} {order:?}: lost");
            let alone = !apart || before.is_left_over || found == wanted;
            assert!(alone, "{statements:?} {before:?} {order:?}: found where they were");
        }
    }
}

#[test]
fn in_any_order_a_person_is_found_at_the_newest_place_only() {
    for places in [
        [BERLIN, TOKYO, EAST],
        [BERLIN, TOKYO, BERLIN],
        [WEST, EAST, WEST],
        [EAST, WEST, BERLIN],
        [POLE, BERLIN, BESIDE],
        [POLE, POLE_TOO, BESIDE],
        [BERLIN, None, TOKYO],
        [TOKYO, BERLIN, None],
    ] {
        let [a, b, c] = places;
        check_statements([place_cell(1, a), place_cell(2, b), place_cell(3, c)]);
    }
}

#[test]
fn of_one_version_nobody_is_lost() {
    for versions in [[1, 1, 1], [1, 1, 2], [1, 2, 2]] {
        for [a, b, c] in
            [[BERLIN, TOKYO, BERLIN], [WEST, TOKYO, EAST], [BERLIN, None, TOKYO], [TEN, BERLIN, NINE]]
        {
            let [one, two, three] = versions;
            check_statements([place_cell(one, a), place_cell(two, b), place_cell(three, c)]);
        }
    }
}

/// Versions of the two come from two services, and say nothing of each other.
#[test]
fn what_is_said_of_an_address_never_undoes_what_was_stated() {
    let (stated, address) = (PlaceOrigin::Stated, PlaceOrigin::Address);
    for versions in [[1, 2, 3], [3, 1, 2], [2, 1, 1], [1, 1, 2], [9, 1, 2], [1, 8, 9]] {
        for places in [
            [BERLIN, TOKYO, BERLIN],
            [BERLIN, BERLIN, TOKYO],
            [BERLIN, BERLIN, None],
            [None, BERLIN, TOKYO],
            [WEST, EAST, WEST],
        ] {
            for origins in [[stated, address, address], [address, stated, stated], [stated, address, stated]]
            {
                let cell = |at: usize| (origins[at], place_cell(versions[at], places[at]));
                check_statements_of([cell(0), cell(1), cell(2)]);
            }
        }
    }
}

#[test]
fn the_pole_and_the_date_line_have_neighbours() {
    let cells_of = |place| place_cells(PlaceOrigin::Stated, &place_cell(1, place));
    assert_eq!(cells_of(POLE), cells_of(POLE_TOO), "one point is one place by whatever name");
    assert_eq!(cells_of(POLE).len(), 3);
    let plan_move = |held: &ValueCell, stated: &ValueCell| {
        plan_move((&tenant(), &ann()), PlaceOrigin::Stated, Some(held), stated)
    };
    let renamed = plan_move(&place_cell(1, POLE), &place_cell(2, POLE_TOO));
    assert!(renamed.entered.len() == 3 && renamed.left.is_empty(), "nothing is left: {renamed:?}");
    assert_ne!(cells_of(WEST), cells_of(EAST));
    let moved = plan_move(&place_cell(1, WEST), &place_cell(2, EAST));
    let shown = |all: &[CrowdEnrolment]| -> Vec<(i64, bool)> {
        all.iter().map(|one| (one.version, one.on)).collect()
    };
    assert_eq!(shown(&moved.entered), [(2, true); 3]);
    assert_eq!(shown(&moved.left)[0], (1, false));
}
