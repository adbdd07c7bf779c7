//! The house on embedded engines: it starts, settles, stops, crashes and comes back.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use model::{Tenant, UtcMillis, civil_time::ZoneRules};
use runtime::Clock;
use tokio::time::timeout;
use topic::{GroupMembership, Member, TopicError, Topics, decorator::TopicsDecorator};

use super::{Config, HouseEngines, RoomName, RunningHouse, book::TakeUpPolicy};
use crate::testing::{self, START, newer_catalogue, open_fixture, test_catalogue};

fn clock() -> Clock {
    Clock::still(UtcMillis::parse(START).unwrap().0)
}

#[tokio::test]
async fn what_comes_in_is_told_when_it_is_due() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let ground = open_fixture(dir.path(), &clock).await;
    ground.house.settle().await.unwrap();
    ground.add_person("ann", "maker:1").await;
    ground.offer_item("item:1", "maker:1", "Moon").await;
    ground.house.settle().await.unwrap();
    assert!(ground.house.stages().await.unwrap().iter().all(|stage| stage.lag == 0));
    assert_eq!(ground.outbox.len(), 0);
    clock.advance_to(UtcMillis::parse("2026-11-22T08:59:59Z").unwrap().0);
    ground.house.settle().await.unwrap();
    assert_eq!(ground.outbox.len(), 0);
    clock.advance(1_000);
    ground.house.settle().await.unwrap();
    let mails = ground.outbox.list_newest(9);
    assert_eq!(
        mails.iter().map(|mail| (mail.to.as_str(), mail.headline.as_str())).collect::<Vec<_>>(),
        [("ann@example.org", "Moon")]
    );
    ground.house.stop().await.unwrap();
}

#[tokio::test]
async fn the_stages_say_the_same_after_a_restart() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let first = open_fixture(dir.path(), &clock).await;
    first.add_person("ann", "maker:1").await;
    first.offer_item("item:1", "maker:1", "Moon").await;
    first.house.settle().await.unwrap();
    let before = first.house.stages().await.unwrap();
    first.house.stop().await.unwrap();
    assert!(first.house.is_over());
    first.close();
    let second = open_fixture(dir.path(), &clock).await;
    assert_eq!(second.house.stages().await.unwrap(), before);
    second.house.settle().await.unwrap();
    assert_eq!(second.house.stages().await.unwrap(), before);
    second.house.stop().await.unwrap();
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_crash() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    for life in 0..4 {
        let ground = open_fixture(dir.path(), &clock).await;
        ground.add_person("ann", "maker:1").await;
        ground.offer_item(&format!("item:{life}"), "maker:1", &format!("Moon {life}")).await;
        // Not settled: the rooms are in the middle of it.
        ground.house.abandon().await;
        ground.close();
    }
    let ground = open_fixture(dir.path(), &clock).await;
    // What is still on its way at nine goes into the next morning's mail.
    ground.house.settle().await.unwrap();
    clock.advance_to(UtcMillis::parse("2026-11-22T09:00:00Z").unwrap().0);
    ground.house.settle().await.unwrap();
    let mails = ground.outbox.list_newest(9);
    assert_eq!(mails.len(), 1);
    let text = ground.outbox.read_mail(&mails[0].message_id).await.unwrap().unwrap().text;
    for life in 0..4 {
        assert!(text.contains(&format!("Moon {life}")), "{text}");
    }
    ground.house.stop().await.unwrap();
}

#[tokio::test]
async fn a_room_that_fails_stops_the_house_with_its_error() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let ground = open_fixture(dir.path(), &clock).await;
    ground.house.stop().await.unwrap();
    let engines = ground.house.engines();
    let engines =
        HouseEngines { topics: Arc::new(SenderlessTopics(engines.topics.clone())), ..engines.clone() };
    let config = Config::with_defaults(Tenant::new("main").unwrap(), 1_000);
    let house = RunningHouse::start(engines, test_catalogue(), clock, ZoneRules::load_bundled(), config)
        .await
        .unwrap();
    let failure = house.failure().await.to_string();
    assert_eq!(failure, "sender: sender: join: the log is broken: no sender here");
    assert_eq!(house.settle().await.unwrap_err().to_string(), failure);
    assert_eq!(house.stop().await.unwrap_err().to_string(), failure);
}

/// A log in which the sender cannot work.
#[derive(Debug)]
struct SenderlessTopics(Arc<dyn Topics>);

#[async_trait]
impl TopicsDecorator for SenderlessTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.0
    }

    async fn join(&self, membership: GroupMembership) -> Result<Box<dyn Member>, TopicError> {
        match &*membership.group {
            "sender" => Err(TopicError::Broken("no sender here".to_owned())),
            _ => self.0.join(membership).await,
        }
    }
}

#[tokio::test]
async fn a_house_can_be_stopped_and_abandoned_twice() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let ground = open_fixture(dir.path(), &clock).await;
    ground.house.stop().await.unwrap();
    ground.house.stop().await.unwrap();
    ground.house.abandon().await;
    ground.house.abandon().await;
}

/// Ingest has the new catalogue while everybody else has the old one: nothing is told by whoever does not know how.
#[tokio::test]
async fn a_catalogue_that_reaches_ingest_first_loses_nobody() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let ground = open_fixture(dir.path(), &clock).await;
    ground.add_person("ann", "maker:1").await;
    ground.house.settle().await.unwrap();
    ground.house.stop().await.unwrap();
    let start = async |catalogue, rooms: &[RoomName]| {
        let mut config = Config::with_defaults(Tenant::new("main").unwrap(), 1_000);
        (config.rooms, config.takes_up) = (rooms.iter().copied().collect(), TakeUpPolicy::IfNew);
        let intake = config.ingest.clone();
        let (engines, zones) = (ground.house.engines().clone(), ZoneRules::load_bundled());
        let house = RunningHouse::start(engines, catalogue, clock.clone(), zones, config).await.unwrap();
        let router = testing::intake_router(&house, intake);
        (house, router)
    };
    let behind = [RoomName::Fanout, RoomName::Digest, RoomName::Sender];
    let (older, _) = start(test_catalogue(), &behind).await;
    let (newer, intake) = start(newer_catalogue(), &[RoomName::Ingest]).await;
    let change = serde_json::json!({"id": "1", "source": "t", "type": "item.noted", "subject": "item:1", "maker": "maker:1", "title": "Moon", "offered": true});
    testing::post_to_intake(&intake, "/v1/changes", &change).await;
    let why = loop {
        match older.health_problem().await {
            Some(why) if why.contains("edition 2") => break why,
            _ => tokio::task::yield_now().await,
        }
    };
    assert!(why.contains("edition 1") && why.contains("tidings migrate"), "{why}");
    // It may still be joining its group.
    let is_well = async {
        while newer.health_problem().await.is_some() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), is_well).await.expect("the newer one is well");
    let text = older.metrics().render_text();
    assert!(text.contains("tidings_catalogue_info{"), "{text}");
    older.stop().await.unwrap();
    // Rolled out at last.
    let (rest, _) = start(newer_catalogue(), &behind).await;
    rest.settle().await.unwrap();
    clock.advance_to(UtcMillis::parse("2026-11-22T09:00:00Z").unwrap().0);
    rest.settle().await.unwrap();
    let mails = ground.outbox.list_newest(9);
    assert_eq!(mails.iter().map(|mail| mail.headline.as_str()).collect::<Vec<_>>(), ["Moon"]);
    newer.stop().await.unwrap();
    rest.stop().await.unwrap();
}
