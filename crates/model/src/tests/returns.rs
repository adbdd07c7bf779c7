//! What came back of mails: which of the next ones it ends, and for how long.

use proptest::prelude::*;

use crate::{
    Channel, Millis, Person, PlanName, State, Tenant, Why,
    limits::DAY_MS,
    plan::GENERAL,
    returns::{
        AddressHash, CODE_CHARS_MAX, SOFT_REST_MS, Slip, Sort, code, lifted, suppressed, suppressions,
    },
};

const NEWS: &str = "news";

fn address(text: &str) -> AddressHash {
    AddressHash::of(&Tenant::new("main").unwrap(), &Person::new("ann").unwrap(), text)
}

type Back = (Slip, Sort);

/// What came back of a mail to ann's first address that left on a day.
fn back(sort: Sort, stream: &str, day: i64) -> Back {
    let slip = Slip {
        tenant: Tenant::new("main").unwrap(),
        person: Person::new("ann").unwrap(),
        plan: PlanName::new("daily").unwrap(),
        stream: stream.into(),
        channel: Channel::Email,
        address: address("ann@example.org"),
        at: Millis(day * DAY_MS + 9),
    };
    (slip, sort)
}

fn notes(of: &[Back]) -> State {
    let mut notes = State::default();
    of.iter().for_each(|(slip, sort)| notes.merge(&slip.notes(*sort, "5.1.1")));
    notes
}

fn soft(days: &[i64]) -> Vec<Back> {
    days.iter().map(|day| back(Sort::Soft, NEWS, *day)).collect()
}

#[test]
fn what_came_back_ends_what_it_should_and_nothing_else() {
    let check = |of: &[Back], day: i64, expected: [Option<Sort>; 2]| {
        let asked = |stream| suppressed(&notes(of), address("ann@example.org"), stream, Millis(day * DAY_MS));
        assert_eq!([asked(NEWS), asked(GENERAL)], expected, "{of:?} on day {day}");
        let other = suppressed(&notes(of), address("ann@example.net"), NEWS, Millis(day * DAY_MS));
        assert_eq!(other, None, "another address is free");
    };
    let (hard, complaint) = (back(Sort::Hard, NEWS, 1), back(Sort::Complaint, NEWS, 1));
    check(&[], 1, [None, None]);
    check(std::slice::from_ref(&hard), 2, [Some(Sort::Hard); 2]);
    check(std::slice::from_ref(&hard), 9_999, [Some(Sort::Hard); 2]);
    check(std::slice::from_ref(&complaint), 9_999, [Some(Sort::Complaint), None]);
    check(&[complaint, hard], 2, [Some(Sort::Hard); 2]);
    let three = [Some(Sort::Soft); 2];
    check(&soft(&[1]), 2, [None; 2]);
    check(&soft(&[1, 2]), 3, [None; 2]);
    // The same day counts once.
    check(&soft(&[1, 1, 1, 2]), 3, [None; 2]);
    check(&soft(&[1, 2, 3]), 4, three);
    check(&soft(&[3, 1, 2]), 4, three);
    check(&soft(&[1, 7, 14]), 15, three);
    // The first is too long ago.
    check(&soft(&[1, 8, 16]), 17, [None; 2]);
    // It ends by itself, and one more goes on with it.
    check(&soft(&[1, 2, 3]), 3 + SOFT_REST_MS / DAY_MS, three);
    check(&soft(&[1, 2, 3]), 4 + SOFT_REST_MS / DAY_MS, [None; 2]);
    check(&soft(&[1, 2, 3, 11]), 12, three);
    check(&soft(&[1, 2, 3, 30]), 31, [None; 2]);
}

#[test]
fn what_is_lifted_stays_so_until_a_later_mail_comes_back() {
    let now = Millis(5 * DAY_MS);
    let asked = |notes: &State, stream| suppressed(notes, address("ann@example.org"), stream, now);
    let mut all = vec![back(Sort::Hard, NEWS, 1), back(Sort::Complaint, NEWS, 1)];
    all.push(back(Sort::Complaint, GENERAL, 2));
    all.extend(soft(&[2, 3, 4]));
    let known = notes(&all);
    assert_eq!(suppressions(&known, now).len(), 4);
    let mut one = notes(&all[1..3]);
    one.merge(&lifted(&one, Some(NEWS), now));
    assert_eq!([asked(&one, NEWS), asked(&one, GENERAL)], [None, Some(Sort::Complaint)]);
    let mut none = known.clone();
    none.merge(&lifted(&known, None, now));
    assert_eq!(suppressions(&none, now), []);
    // Told again of the same mails, which is what providers do.
    none.merge(&known);
    assert_eq!(suppressions(&none, now), []);
    none.merge(&notes(&[back(Sort::Hard, NEWS, 6)]));
    assert_eq!(asked(&none, NEWS), Some(Sort::Hard));
    assert!(lifted(&State::default(), None, now).is_empty());
}

#[test]
fn an_address_is_known_by_a_hash_that_is_its_persons_own() {
    let of = |tenant: &str, person: &str, address: &str| {
        AddressHash::of(&Tenant::new(tenant).unwrap(), &Person::new(person).unwrap(), address)
    };
    let ann = of("main", "ann", "ann@example.org");
    assert_eq!(ann, of("main", "ann", " Ann@Example.ORG "));
    assert_eq!(ann.to_string().len(), 32);
    for other in [
        of("other", "ann", "ann@example.org"),
        of("main", "bob", "ann@example.org"),
        of("main", "ann", "ann@example.net"),
    ] {
        assert_ne!(ann, other);
    }
}

#[test]
fn a_code_has_no_address_in_it() {
    let check = |said: &str, kept: &str| assert_eq!(code(said), kept);
    check("5.1.1", "5.1.1");
    check(" Abuse ", "abuse");
    check("ann@example.org", "ann");
    check("5.1.1 <ann@example.org>", "5.1.1");
    check("", "");
    check("\r\nX", "x");
    assert_eq!(code(&"9".repeat(999)).len(), CODE_CHARS_MAX);
}

#[test]
fn every_sort_has_a_reason_and_a_name() {
    for sort in Sort::ALL {
        assert_eq!(Sort::parse(sort.name()), Some(sort));
        assert!(sort.why().text().starts_with("suppressed ("), "{sort:?}");
    }
    assert_eq!(Sort::parse("spam"), None);
    assert_eq!(Sort::Hard.why(), Why::Bounced);
}

fn returned() -> impl Strategy<Value = Back> {
    (prop::sample::select(Sort::ALL.to_vec()), prop::sample::select(vec![NEWS, GENERAL]), 0..60_i64)
        .prop_map(|(sort, stream, day)| back(sort, stream, day))
}

proptest! {
    /// As with all cells: order and repetition never matter.
    #[test]
    fn the_order_of_what_comes_back_never_matters(
        of in prop::collection::vec(returned(), 0..20),
        seed in any::<prop::sample::Index>(),
    ) {
        let mut other: Vec<Back> = of.iter().chain(&of).cloned().collect();
        other.rotate_left(if of.is_empty() { 0 } else { seed.index(of.len()) });
        other.reverse();
        prop_assert_eq!(notes(&of), notes(&other));
        // However long an address fails, its cells are few.
        prop_assert!(notes(&of).cells.len() <= 3 + 16);
    }

    /// Whatever stands among the notes.
    #[test]
    fn no_notes_make_it_panic(names in prop::collection::vec("(returned )?(hard |soft |complaint )?.{0,40}", 0..9)) {
        let names = names.iter().map(|name| (name, Some(crate::Value::text("x"))));
        let notes = State::at(i64::MAX, names);
        let _found = suppressions(&notes, Millis(0));
        let _none = lifted(&notes, None, Millis(0));
    }
}
