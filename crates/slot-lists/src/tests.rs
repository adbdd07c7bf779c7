//! How long a list lives, what follows it, and what is chosen, as data behind one `check`. How several processes serve a list is
//! law 19.

use model::{SubjectRef, UtcMillis};

use crate::{
    codec::{decode_list, encode_list},
    list::{ListLife, ListStep, OPENING_MS, SKEW_MS, SlotList, SlotThing},
    selection::{SlotCandidate, SlotSource, choose_things},
};

const PLACES: usize = 4;
const HOUR_MS: i64 = 3_600_000;
const LIFE: ListLife = ListLife { idle_ms: HOUR_MS, most_ms: 6 * HOUR_MS };

fn subject(number: usize) -> SubjectRef {
    SubjectRef::new(&format!("item:{number}")).unwrap()
}

fn thing(number: usize) -> SlotThing {
    let of = |what: &str| format!("{what} {number}").into();
    SlotThing { subject: subject(number), image: of("image"), link: of("link") }
}

fn numbers(list: &SlotList) -> Vec<Option<String>> {
    (1..=PLACES).map(|place| Some(list.at(place)?.subject.id().to_owned())).collect()
}

#[test]
fn a_list_lives_from_its_last_opening_up_to_a_most() {
    let minutes = |minutes: i64| UtcMillis(minutes * 60_000);
    let list = SlotList::first(vec![thing(1)], PLACES, LIFE, minutes(0));
    let check = |until: i64, now: i64, expected: ListStep| {
        let list = list.kept_until(minutes(until));
        assert_eq!(list.find_step(LIFE, minutes(now)), expected, "until {until} at {now}");
    };
    check(90, 0, ListStep::Serve);
    check(90, 30, ListStep::Serve);
    check(90, 31, ListStep::Keep(minutes(121)));
    // What is over on one clock is not yet on another.
    check(90, 91, ListStep::Keep(minutes(181)));
    check(90, 92, ListStep::Follow);
    check(330, 320, ListStep::Keep(minutes(360)));
    check(360, 359, ListStep::Keep(UtcMillis(minutes(359).0 + OPENING_MS + SKEW_MS)));
    check(361, 360, ListStep::Serve);
    check(361, 362, ListStep::Serve);
    check(361, 363, ListStep::Follow);
}

#[test]
fn a_list_that_follows_moves_nothing() {
    let check = |before: &[usize], next: &[usize], expected: &str| {
        let things = |numbers: &[usize]| numbers.iter().copied().map(thing).collect::<Vec<_>>();
        let list = SlotList::first(things(before), PLACES, LIFE, UtcMillis(0));
        let list = list.follow_with(things(next), PLACES, LIFE, UtcMillis(1));
        let shown: Vec<String> = numbers(&list).into_iter().map(|one| one.unwrap_or("-".into())).collect();
        assert_eq!((list.generation, shown.join(" ").as_str()), (1, expected), "{before:?} {next:?}");
    };
    check(&[1, 2, 3, 4], &[1, 2, 3, 4], "1 2 3 4");
    check(&[1, 2, 3, 4], &[4, 3, 2, 1], "1 2 3 4");
    check(&[1, 2, 3, 4], &[5, 1, 3, 4], "1 5 3 4");
    check(&[1, 2, 3, 4], &[5, 6, 3], "5 6 3 -");
    check(&[1, 2, 3, 4], &[], "- - - -");
    check(&[1, 2], &[3, 2, 3, 2, 4], "3 2 4 -");
    check(&[1, 1, 2, 3, 4, 5], &[5, 4], "5 - - 4");
}

#[test]
fn a_list_that_follows_has_the_places_of_its_own_time() {
    let list = SlotList::first(vec![thing(1), thing(2), thing(3)], 3, LIFE, UtcMillis(0));
    let check = |places: usize, expected: &str| {
        let next = list.follow_with(vec![thing(4), thing(3), thing(2)], places, LIFE, UtcMillis(1));
        let shown = (1..=4).map(|place| next.at(place).map_or("-", |thing| thing.subject.id()));
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{places}");
    };
    check(4, "4 2 3 -");
    check(3, "4 2 3 -");
    check(2, "4 2 - -");
    check(1, "4 - - -");
}

#[test]
fn sources_have_their_shares_and_nothing_comes_twice() {
    let source = |candidates: &str, share: usize| {
        let one = |word: &str| {
            let (number, maker) = word.split_once('/').unwrap_or((word, ""));
            let maker = Some(maker.to_owned()).filter(|maker| !maker.is_empty());
            SlotCandidate { subject: subject(number.parse().unwrap()), maker }
        };
        SlotSource {
            candidates: candidates.split(' ').filter(|word| !word.is_empty()).map(one).collect(),
            share,
        }
    };
    let check = |sources: &[SlotSource], excluded: &[usize], most: usize, expected: &str| {
        let excluded = excluded.iter().copied().map(subject).collect();
        let found = choose_things(sources, &excluded, most);
        let found: Vec<&str> = found.iter().map(|one| one.id()).collect();
        assert_eq!(found.join(" "), expected, "{sources:?}");
    };
    let two = [source("1 2 3 4 5", 2), source("2 6 7 8", 1)];
    check(&two, &[], 3, "1 2 6");
    check(&two, &[], 6, "1 2 6 3 7 4");
    check(&two, &[1, 6], 3, "2 3 7");
    check(&two, &[], 99, "1 2 6 3 7 4 8 5");
    check(&two, &[], 1, "1");
    check(&[], &[], 3, "");
    check(&[source("", 2), source("1 1 1", 9)], &[], 3, "1");
    // No two of a maker beside each other, where that can be.
    check(&[source("1/a 2/a 3/b 4/a", 9)], &[], 4, "1 3 2 4");
    check(&[source("1/a 2/a 3/b", 9)], &[], 3, "1 3 2");
    check(&[source("1/a 2/a", 9)], &[], 2, "1 2");
}

#[test]
fn a_list_is_read_as_it_was_written() {
    let check = |list: &SlotList| {
        let bytes = encode_list(list);
        assert_eq!(decode_list(&bytes).as_ref(), Some(list));
        for end in 0..bytes.len() {
            assert_eq!(decode_list(&bytes[..end]), None, "{end}");
        }
        assert_eq!(decode_list(&[&bytes[..], &[0]].concat()), None);
    };
    let list = SlotList::first(vec![thing(1), thing(2)], PLACES, LIFE, UtcMillis(1_795_255_200_000));
    check(&list);
    check(&list.follow_with(Vec::new(), PLACES, LIFE, UtcMillis(-5)));
    check(&SlotList::first(Vec::new(), 0, LIFE, UtcMillis(0)));
}

#[test]
fn a_list_of_today_is_read_for_ever() {
    let list = SlotList::first(vec![thing(1)], 2, LIFE, UtcMillis(0));
    let bytes =
        [&[1, 0, 0][..], &[128, 151, 147, 5], &[2, 1, 6], b"item:1", &[7], b"image 1", &[6], b"link 1", &[0]];
    assert_eq!(decode_list(&bytes.concat()), Some(list.clone()));
    assert_eq!(encode_list(&list), bytes.concat());
}
