//! What came back of mails: which of the next ones it ends, and for how long.

use proptest::prelude::*;

use crate::{
    Channel, EndReason, Person, PlanName, Tenant, UtcMillis, VersionedState,
    limits::DAY_MS,
    plan::GENERAL,
    returns::{
        AddressHash, CODE_CHARS_MAX, ReturnSort, SOFT_REST_MS, Slip, extract_code, find_suppression,
        lift_returns, list_suppressions,
    },
};

const NEWS: &str = "news";

fn address_hash(text: &str) -> AddressHash {
    AddressHash::from_address(&Tenant::new("main").unwrap(), &Person::new("ann").unwrap(), text)
}

type ReturnedSlip = (Slip, ReturnSort);

/// What came back of a mail to ann's first address that left on a day.
fn returned_slip(sort: ReturnSort, stream: &str, day: i64) -> ReturnedSlip {
    let slip = Slip {
        tenant: Tenant::new("main").unwrap(),
        person: Person::new("ann").unwrap(),
        plan: PlanName::new("daily").unwrap(),
        stream: stream.into(),
        channel: Channel::Email,
        address: address_hash("ann@example.org"),
        at: UtcMillis(day * DAY_MS + 9),
    };
    (slip, sort)
}

fn notes_of(of: &[ReturnedSlip]) -> VersionedState {
    let mut notes = VersionedState::default();
    of.iter().for_each(|(slip, sort)| notes.merge(&slip.notes(*sort, "5.1.1")));
    notes
}

fn soft_returns(days: &[i64]) -> Vec<ReturnedSlip> {
    days.iter().map(|day| returned_slip(ReturnSort::Soft, NEWS, *day)).collect()
}

#[test]
fn what_came_back_ends_what_it_should_and_nothing_else() {
    let check = |of: &[ReturnedSlip], day: i64, expected: [Option<ReturnSort>; 2]| {
        let asked = |stream| {
            find_suppression(&notes_of(of), address_hash("ann@example.org"), stream, UtcMillis(day * DAY_MS))
        };
        assert_eq!([asked(NEWS), asked(GENERAL)], expected, "{of:?} on day {day}");
        let other =
            find_suppression(&notes_of(of), address_hash("ann@example.net"), NEWS, UtcMillis(day * DAY_MS));
        assert_eq!(other, None, "another address is free");
    };
    let (hard, complaint) =
        (returned_slip(ReturnSort::Hard, NEWS, 1), returned_slip(ReturnSort::Complaint, NEWS, 1));
    check(&[], 1, [None, None]);
    check(std::slice::from_ref(&hard), 2, [Some(ReturnSort::Hard); 2]);
    check(std::slice::from_ref(&hard), 9_999, [Some(ReturnSort::Hard); 2]);
    check(std::slice::from_ref(&complaint), 9_999, [Some(ReturnSort::Complaint), None]);
    check(&[complaint, hard], 2, [Some(ReturnSort::Hard); 2]);
    let three = [Some(ReturnSort::Soft); 2];
    check(&soft_returns(&[1]), 2, [None; 2]);
    check(&soft_returns(&[1, 2]), 3, [None; 2]);
    // The same day counts once.
    check(&soft_returns(&[1, 1, 1, 2]), 3, [None; 2]);
    check(&soft_returns(&[1, 2, 3]), 4, three);
    check(&soft_returns(&[3, 1, 2]), 4, three);
    check(&soft_returns(&[1, 7, 14]), 15, three);
    // The first is too long ago.
    check(&soft_returns(&[1, 8, 16]), 17, [None; 2]);
    // It ends by itself, and one more goes on with it.
    check(&soft_returns(&[1, 2, 3]), 3 + SOFT_REST_MS / DAY_MS, three);
    check(&soft_returns(&[1, 2, 3]), 4 + SOFT_REST_MS / DAY_MS, [None; 2]);
    check(&soft_returns(&[1, 2, 3, 11]), 12, three);
    check(&soft_returns(&[1, 2, 3, 30]), 31, [None; 2]);
}

#[test]
fn what_is_lifted_stays_so_until_a_later_mail_comes_back() {
    let now = UtcMillis(5 * DAY_MS);
    let asked = |notes: &VersionedState, stream| {
        find_suppression(notes, address_hash("ann@example.org"), stream, now)
    };
    let mut all =
        vec![returned_slip(ReturnSort::Hard, NEWS, 1), returned_slip(ReturnSort::Complaint, NEWS, 1)];
    all.push(returned_slip(ReturnSort::Complaint, GENERAL, 2));
    all.extend(soft_returns(&[2, 3, 4]));
    let known = notes_of(&all);
    assert_eq!(list_suppressions(&known, now).len(), 4);
    let mut one = notes_of(&all[1..3]);
    one.merge(&lift_returns(&one, Some(NEWS), now));
    assert_eq!([asked(&one, NEWS), asked(&one, GENERAL)], [None, Some(ReturnSort::Complaint)]);
    let mut none = known.clone();
    none.merge(&lift_returns(&known, None, now));
    assert_eq!(list_suppressions(&none, now), []);
    // Told again of the same mails, which is what providers do.
    none.merge(&known);
    assert_eq!(list_suppressions(&none, now), []);
    none.merge(&notes_of(&[returned_slip(ReturnSort::Hard, NEWS, 6)]));
    assert_eq!(asked(&none, NEWS), Some(ReturnSort::Hard));
    assert!(lift_returns(&VersionedState::default(), None, now).is_empty());
}

#[test]
fn an_address_is_known_by_a_hash_that_is_its_persons_own() {
    let of = |tenant: &str, person: &str, address: &str| {
        AddressHash::from_address(&Tenant::new(tenant).unwrap(), &Person::new(person).unwrap(), address)
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
    let check = |said: &str, kept: &str| assert_eq!(extract_code(said), kept);
    check("5.1.1", "5.1.1");
    check(" Abuse ", "abuse");
    check("ann@example.org", "ann");
    check("5.1.1 <ann@example.org>", "5.1.1");
    check("", "");
    check("\r\nX", "x");
    assert_eq!(extract_code(&"9".repeat(999)).len(), CODE_CHARS_MAX);
}

#[test]
fn every_sort_has_a_reason_and_a_name() {
    for sort in ReturnSort::ALL {
        assert_eq!(ReturnSort::parse(sort.name()), Some(sort));
        assert!(sort.end_reason().text().starts_with("suppressed ("), "{sort:?}");
    }
    assert_eq!(ReturnSort::parse("spam"), None);
    assert_eq!(ReturnSort::Hard.end_reason(), EndReason::Bounced);
}

fn any_returned() -> impl Strategy<Value = ReturnedSlip> {
    (prop::sample::select(ReturnSort::ALL.to_vec()), prop::sample::select(vec![NEWS, GENERAL]), 0..60_i64)
        .prop_map(|(sort, stream, day)| returned_slip(sort, stream, day))
}

proptest! {
    /// As with all cells: order and repetition never matter.
    #[test]
    fn the_order_of_what_comes_back_never_matters(
        of in prop::collection::vec(any_returned(), 0..20),
        seed in any::<prop::sample::Index>(),
    ) {
        let mut other: Vec<ReturnedSlip> = of.iter().chain(&of).cloned().collect();
        other.rotate_left(if of.is_empty() { 0 } else { seed.index(of.len()) });
        other.reverse();
        prop_assert_eq!(notes_of(&of), notes_of(&other));
        // However long an address fails, its cells are few.
        prop_assert!(notes_of(&of).cells.len() <= 3 + 16);
    }

    /// Whatever stands among the notes.
    #[test]
    fn no_notes_make_it_panic(names in prop::collection::vec("(returned )?(hard |soft |complaint )?.{0,40}", 0..9)) {
        let names = names.iter().map(|name| (name, Some(crate::Value::from_text("x"))));
        let notes = VersionedState::from_values(i64::MAX, names);
        let _found = list_suppressions(&notes, UtcMillis(0));
        let _none = lift_returns(&notes, None, UtcMillis(0));
    }
}
