//! Tests of two catalogues at once: what a newer one wrote is not told by an older one, unless nobody comes.

use std::collections::BTreeSet;

use house_facts::edition::{Edition, EditionTracker};
use model::UtcMillis;
use topic::Topics as _;
use wire::{house_note, topics};

use super::house::{FanoutHouse, TODAY, parse_event};

const OLDER: Edition = Edition { number: 1, hash: 5 };
const NEWER: Edition = Edition { number: 2, hash: 9 };
const WAIT_MS: i64 = 60_000;
const ROW: &str = "ann work:1 work_out follows author:7";

async fn house_with_editions() -> FanoutHouse {
    let mut house = FanoutHouse::with_sizes(0, 1).await;
    house.deps.room.editions = EditionTracker::new(OLDER, OLDER, WAIT_MS);
    house.store_facts(&["ann author:7"]).await;
    house
}

/// An event that the newer catalogue admitted waits until something happens; what lies in quarantine then.
async fn waits_until(house: &FanoutHouse, happens: impl FnOnce(&EditionTracker)) -> usize {
    house.append(&[parse_event("1 by author:7")], vec![house_note::edition_header(NEWER)]).await;
    let editions = house.deps.room.editions.clone();
    let now = || UtcMillis(house.deps.room.clock.now());
    let waits = async {
        while editions.awaited_edition(now()).is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(editions.awaited_edition(now()).unwrap().edition, NEWER);
        assert_eq!(house.told_lines(&["ann"], TODAY).await, BTreeSet::new());
        happens(&editions);
    };
    let (lived, ()) = tokio::join!(house.run_room(), waits);
    assert!(lived);
    assert_eq!(house.told_lines(&["ann"], TODAY).await, BTreeSet::from([ROW.to_owned()]));
    house.records(topics::QUARANTINE).await.len()
}

#[tokio::test]
async fn an_event_of_a_newer_catalogue_waits_for_one_who_has_it() {
    let house = house_with_editions().await;
    let aside = waits_until(&house, |editions| editions.learn(NEWER, NEWER)).await;
    assert_eq!(aside, 0);
}

#[tokio::test]
async fn whoever_goes_back_to_an_older_catalogue_is_not_waited_for() {
    let house = house_with_editions().await;
    let back = Edition { number: 3, ..OLDER };
    let aside = waits_until(&house, |editions| editions.learn(back, back)).await;
    assert_eq!(aside, 0);
}

#[tokio::test]
async fn after_the_longest_wait_it_is_told_by_the_older_one_and_put_aside_as_well() {
    let house = house_with_editions().await;
    let clock = house.deps.room.clock.clone();
    // The event, and nothing of the slice: that one this fan-out wrote itself.
    assert_eq!(waits_until(&house, |_| clock.advance(WAIT_MS)).await, 1);
    let aside = house.records(topics::QUARANTINE).await;
    let item = wire::quarantine::decode(aside[0].value.as_deref().unwrap()).unwrap();
    assert_eq!((item.topic.as_str(), house_note::read_edition(&item.headers)), (topics::EVENTS, Some(NEWER)));
    assert!(item.reason.contains("edition 2"), "{}", item.reason);
}

/// The event is older than the fan-out that cuts its audience: the slices name kinds of the fan-out's catalogue.
#[tokio::test]
async fn slices_and_announcements_say_by_which_catalogue_they_were_written() {
    let mut house = house_with_editions().await;
    house.deps.room.editions = EditionTracker::new(NEWER, NEWER, WAIT_MS);
    house.append(&[parse_event("1 by author:7")], vec![house_note::edition_header(OLDER)]).await;
    house.settle().await;
    for topic in [topics::SLICES, topics::PENDING] {
        let records = house.records(topic).await;
        assert!(!records.is_empty(), "{topic}");
        assert!(
            records.iter().all(|record| house_note::read_edition(&record.headers) == Some(NEWER)),
            "{topic}"
        );
    }
    assert!(house.topics.bounds(topics::QUARANTINE).await.unwrap().iter().all(|(_, end)| *end == 0));
}
