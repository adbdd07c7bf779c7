//! Tests of events that are there once more: what is missing is written, and who is told of it.

use std::collections::BTreeSet;

use model::{Crowd, CrowdEnrolment, Event, Value, ValueCell, VersionedState, person::notes, person::profile};
use room::testing::{parse_instant, person, subject, tenant};
use store::{CrowdStore as _, StateKey, StateStore as _};
use wire::{replay::ReplayStamp, topics};

use super::house::{FanoutHouse, TODAY, parse_event, parse_place};

const ROW: &str = "ann work:1 work_out follows author:7";

/// Whose days are announced, with how many rows.
async fn announced_rows(house: &FanoutHouse) -> Vec<(String, u32)> {
    let said = house.announcements().await;
    assert!(said.iter().all(|one| !one.kinds.is_empty()), "{said:?}");
    said.into_iter().map(|one| (one.person.to_string(), one.rows)).collect()
}

#[tokio::test]
async fn a_replay_writes_what_is_missing_and_tells_whom_it_is_to_tell() {
    for is_quiet in [true, false] {
        for house in [FanoutHouse::new().await, FanoutHouse::with_sizes(0, 1).await] {
            house.store_facts(&["ann author:7", "bob author:7"]).await;
            house.replay(&[parse_event("1 by author:7"), parse_event("2 sold owner cat")], is_quiet).await;
            house.settle().await;
            let told = house.told_lines(&["ann", "bob", "cat"], TODAY).await;
            let rows = [ROW, "bob work:1 work_out follows author:7", "cat work:2 yours named"];
            assert_eq!(told, rows.map(str::to_owned).into(), "{:?}", house.sizes);
            // What was counted the first time is not counted again.
            let wakes = ["ann", "bob", "cat"].map(|who| (who.to_owned(), 0));
            let said: BTreeSet<_> = announced_rows(&house).await.into_iter().collect();
            assert_eq!(said, if is_quiet { BTreeSet::new() } else { wakes.into() }, "{:?}", house.sizes);
            // However an audience is cut, each of its slices is as quiet as its event.
            for slice in house.records(topics::SLICES).await {
                assert_eq!(
                    ReplayStamp::from_headers(&slice.headers),
                    Some(ReplayStamp { replay: "r".into(), is_quiet })
                );
            }
            assert_eq!(house.slices().await.is_empty(), house.sizes.inline > 0);
        }
    }
}

#[tokio::test]
async fn an_event_and_its_copies_in_one_turn_are_each_told_in_their_own_way() {
    let house = FanoutHouse::new().await;
    house.store_facts(&["ann author:7", "bob author:8"]).await;
    let (first, other) = (parse_event("1 by author:7"), parse_event("2 by author:8"));
    house.replay(&[first.clone(), other.clone()], true).await;
    house.publish(std::slice::from_ref(&first)).await;
    house.replay(&[first.clone(), first], true).await;
    house.settle().await;
    assert_eq!(house.told_lines(&["ann"], TODAY).await, BTreeSet::from([ROW.to_owned()]));
    assert_eq!(house.told_lines(&["bob"], TODAY).await.len(), 1);
    assert_eq!(announced_rows(&house).await, [("ann".to_owned(), 1)]);
    house.replay(&[other], false).await;
    house.settle().await;
    assert_eq!(announced_rows(&house).await, [("ann".to_owned(), 1), ("bob".to_owned(), 0)]);
}

#[tokio::test]
async fn a_replay_passes_over_full_days_and_the_erased() {
    for is_quiet in [true, false] {
        let house = FanoutHouse::new().await;
        house.store_facts(&["ann author:7", "bob author:7", "cat author:7"]).await;
        let today = model::Day::parse(TODAY).unwrap();
        house.merge_notes("ann", notes::note_full_day(today)).await;
        house.set_note("bob", notes::ERASED, Value::Flag(true)).await;
        house
            .replay(
                &[parse_event("1 by author:7"), parse_event("2 by author:7 on 2026-10-31T23:59:59Z")],
                is_quiet,
            )
            .await;
        house.settle().await;
        let told = house.told_lines(&["ann", "bob", "cat"], TODAY).await;
        assert_eq!(told, BTreeSet::from(["cat work:1 work_out follows author:7".to_owned()]));
        let said = if is_quiet { Vec::new() } else { vec![("cat".to_owned(), 0)] };
        assert_eq!(announced_rows(&house).await, said);
    }
}

/// Who was erased and is welcome again hears of nothing from before, by a replay or late; then of all that follows.
#[tokio::test]
async fn who_was_erased_and_is_welcome_again_is_told_nothing_from_before() {
    for is_copy in [true, false] {
        for house in [FanoutHouse::new().await, FanoutHouse::with_sizes(0, 1).await] {
            // A service that counts its versions says nothing of when she came.
            house.store_facts(&["ann author:7", "bob author:7"]).await;
            house.set_note("ann", notes::ERASED, Value::Flag(false)).await;
            house.merge_notes("ann", notes::note_erasure_asked(parse_instant("2026-11-21T10:00:00Z"))).await;
            let events = ["1 by author:7", "2 sold owner ann", "3 by author:7 on 2026-11-21T10:00:00.001Z"];
            let events = events.map(parse_event);
            if is_copy {
                house.replay(&events, false).await;
            } else {
                house.publish(&events).await;
            }
            house.settle().await;
            let told = house.told_lines(&["ann"], TODAY).await;
            assert_eq!(told, BTreeSet::from([ROW.replace("work:1", "work:3")]), "{:?}", house.sizes);
            assert_eq!(house.told_lines(&["bob"], TODAY).await.len(), 2);
        }
    }
}

/// Who came later than an event is not told of it, whatever brought them; the event itself, heard of for the
/// first time, is for whoever is there.
async fn check_latecomers(events: &[Event], later: &[&str], there: &[&str]) {
    let (before, after) =
        (parse_instant("2026-11-21T09:00:00Z").0, parse_instant("2026-11-21T10:00:00.001Z").0);
    let names: Vec<&str> = later.iter().chain(there).copied().collect();
    for is_copy in [true, false] {
        let house = FanoutHouse::new().await;
        for (who, since) in later.iter().map(|who| (who, after)).chain(there.iter().map(|who| (who, before)))
        {
            let here = parse_place("52.5,13.4");
            let crowds = [Crowd::Everyone, Crowd::Followers(subject("author:7"))]
                .into_iter()
                .chain(here.cells().into_iter().map(Crowd::Cell));
            let enrolment = |crowd| CrowdEnrolment {
                tenant: tenant(),
                person: person(who),
                // However often a profile is said again, they are there since they first were.
                version: if crowd == Crowd::Everyone { after } else { since },
                crowd,
                on: true,
            };
            house.store.enrol(crowds.map(enrolment).collect()).await.unwrap();
            let key = StateKey::Person(tenant(), person(who));
            let mut state = VersionedState::from_values(since, [(profile::PLACE, Some(Value::Place(here)))]);
            state.cells.insert(
                profile::LANGUAGE.into(),
                ValueCell { version: after, value: Some(Value::from_text("de")) },
            );
            house.store.merge(vec![(key, state)]).await.unwrap();
        }
        if is_copy {
            house.replay(events, false).await;
        } else {
            house.publish(events).await;
        }
        house.settle().await;
        let told: BTreeSet<String> = announced_rows(&house).await.into_iter().map(|(who, _)| who).collect();
        let expected = if is_copy { there } else { &names };
        assert_eq!(told, expected.iter().map(ToString::to_string).collect(), "{events:?}");
    }
}

#[tokio::test]
async fn who_came_later_is_not_told_old_news() {
    check_latecomers(&[parse_event("1 shown at 52.5,13.4")], &["ann"], &["bob"]).await;
    check_latecomers(&[parse_event("1 opened")], &["ann"], &["bob", "cat"]).await;
    check_latecomers(&[parse_event("1 by author:7")], &["ann"], &["bob"]).await;
}

#[tokio::test]
async fn a_replay_goes_by_what_was_known_then() {
    let check = async |version: i64, told: &[&str]| {
        let house = FanoutHouse::new().await;
        house.store_facts(&["ann author:7"]).await;
        let author =
            VersionedState::from_values(version, [("author", Some(Value::Ref(subject("author:7"))))]);
        house.store.merge(vec![(StateKey::Subject(tenant(), subject("work:1")), author)]).await.unwrap();
        house.replay(&[parse_event("1")], false).await;
        house.settle().await;
        assert_eq!(house.told_lines(&["ann"], TODAY).await, told.iter().map(ToString::to_string).collect());
        // For the first time it is told to whom it concerns by now.
        house.publish(&[parse_event("1")]).await;
        house.settle().await;
        assert_eq!(house.told_lines(&["ann"], TODAY).await, BTreeSet::from([ROW.to_owned()]));
    };
    let occurred = parse_event("1").occurred.0;
    check(occurred, &[ROW]).await;
    check(occurred + 1, &[]).await;
}
