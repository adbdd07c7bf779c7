//! Three statements about where somebody is, in every order, each any number of times, and each perhaps cut
//! off before the profile had it, or after that and before the old place was left.

use std::collections::{BTreeMap, BTreeSet};

use model::{Cell, Crowd, Enrolment, Place, Value, place};

use super::{Move, cells, of};
use crate::tests::{ann, tenant};

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

fn stated(version: i64, place: Option<(f64, f64)>) -> Cell {
    let place = place.map(|(lat, lon)| Value::Place(Place::new(lat, lon).unwrap()));
    Cell { version, value: place }
}

/// What the store has.
#[derive(Clone, Default)]
struct Kept {
    place: Option<Cell>,
    crowds: BTreeMap<place::Cell, Enrolment>,
}

impl Kept {
    /// A statement arrives, and is done as far as this.
    fn hear(&mut self, stated: &Cell, until: Until) {
        let Move { entered, left } = of(&tenant(), &ann(), self.place.as_ref(), stated);
        self.enrol(entered);
        if until == Until::Entered {
            return;
        }
        self.is_where_they_are("entered");
        if self.place.as_ref().is_none_or(|place| stated.wins_over(place)) {
            self.place = Some(stated.clone());
        }
        self.is_where_they_are("merged");
        if until == Until::Done {
            self.enrol(left);
        }
        self.is_where_they_are("left");
    }

    fn enrol(&mut self, enrolments: Vec<Enrolment>) {
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
        let of_place: BTreeSet<_> = self.place.iter().flat_map(cells).collect();
        assert!(of_place.is_subset(&self.found_in()), "{when}: lost where they are: {:?}", self.place);
    }

    fn found_in(&self) -> BTreeSet<place::Cell> {
        self.crowds.iter().filter(|(_, enrolment)| enrolment.on).map(|(cell, _)| *cell).collect()
    }
}

/// How far a statement came before its intake died.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Until {
    Entered,
    Merged,
    Done,
}

const UNTILS: [Until; 3] = [Until::Entered, Until::Merged, Until::Done];
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
/// Statements that come before every one has come for good.
const BEFORE: u32 = 3;

fn check(statements: [Cell; 3]) {
    let last = statements
        .iter()
        .max_by(|a, b| if a.wins_over(b) { std::cmp::Ordering::Greater } else { std::cmp::Ordering::Less });
    let wanted: BTreeSet<_> = cells(last.unwrap()).into_iter().collect();
    let apart = statements.iter().map(|stated| stated.version).collect::<BTreeSet<_>>().len() == 3;
    // Each digit is a statement, and how far it came.
    for number in 0..9_usize.pow(BEFORE) {
        let digits = (0..BEFORE).map(|digit| number / 9_usize.pow(digit) % 9);
        let before: Vec<(usize, Until)> = digits.map(|digit| (digit % 3, UNTILS[digit / 3])).collect();
        let mut kept = Kept::default();
        for (which, until) in &before {
            kept.hear(&statements[*which], *until);
        }
        // What died after the profile had it is left to whoever walks through the crowd.
        let all_left = before.iter().all(|(_, until)| *until != Until::Merged);
        for order in ORDERS {
            let mut kept = kept.clone();
            for which in order {
                kept.hear(&statements[which], Until::Done);
            }
            let found = kept.found_in();
            assert!(wanted.is_subset(&found), "{statements:?} {before:?} {order:?}: lost");
            let alone = !apart || !all_left || found == wanted;
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
        check([stated(1, a), stated(2, b), stated(3, c)]);
    }
}

#[test]
fn of_one_version_nobody_is_lost() {
    for versions in [[1, 1, 1], [1, 1, 2], [1, 2, 2]] {
        for [a, b, c] in
            [[BERLIN, TOKYO, BERLIN], [WEST, TOKYO, EAST], [BERLIN, None, TOKYO], [TEN, BERLIN, NINE]]
        {
            let [one, two, three] = versions;
            check([stated(one, a), stated(two, b), stated(three, c)]);
        }
    }
}

#[test]
fn the_pole_and_the_date_line_have_neighbours() {
    let cells_of = |place| cells(&stated(1, place));
    assert_eq!(cells_of(POLE), cells_of(POLE_TOO), "one point is one place by whatever name");
    assert_eq!(cells_of(POLE).len(), 3);
    let renamed = of(&tenant(), &ann(), Some(&stated(1, POLE)), &stated(2, POLE_TOO));
    assert!(renamed.entered.len() == 3 && renamed.left.is_empty(), "nothing is left: {renamed:?}");
    assert_ne!(cells_of(WEST), cells_of(EAST));
    let moved = of(&tenant(), &ann(), Some(&stated(1, WEST)), &stated(2, EAST));
    let shown =
        |all: &[Enrolment]| -> Vec<(i64, bool)> { all.iter().map(|one| (one.version, one.on)).collect() };
    assert_eq!(shown(&moved.entered), [(2, true); 3]);
    assert_eq!(shown(&moved.left)[0], (1, false));
}
