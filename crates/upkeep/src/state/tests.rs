//! A record that nobody can read stops its partition and no other, and is mended by hand while the house runs.

use std::time::Duration;

use house::testing::{HouseTestbed, START, open_fixture};
use model::Tenant;
use runtime::{Clock, retry};
use tokio::time::timeout;
use topic::NewRecord;

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

async fn wait_until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let holds = async {
        while !holds().await {
            retry::wait_real_time(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, holds).await.unwrap_or_else(|_| panic!("{what}"));
}

fn tenant_person(person: &str) -> (Tenant, Person) {
    (Tenant::new("main").unwrap(), Person::new(person).unwrap())
}

fn partition_of(person: &str) -> u32 {
    let (tenant, person) = tenant_person(person);
    PartitionCount::USUAL.of_person(&tenant, &person)
}

/// Puts bytes where the record of somebody stands.
async fn spoil_record(ground: &HouseTestbed, partition: u32, key: Vec<u8>) {
    let (topic, value) = (topics::WINDOWS.into(), Some(b"garbage".to_vec()));
    let record = NewRecord { topic, partition, key, value, headers: Vec::new() };
    ground.topics.append(vec![record]).await.unwrap();
}

fn key_of(person: &str) -> Vec<u8> {
    let (tenant, person) = tenant_person(person);
    wire::key::person_key(&tenant, &person)
}

#[tokio::test]
async fn a_record_that_cannot_be_read_stops_its_partition_alone_and_is_mended_while_the_house_runs() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::still(UtcMillis::parse(START).unwrap().0));
    let names = || (0..).map(|n| format!("person{n}"));
    // One whose record is repaired, one whose is dropped, and one who lives elsewhere.
    let ann = names().next().unwrap();
    let eve = names().find(|one| partition_of(one) != partition_of(&ann)).unwrap();
    let apart = |one: &String| ![partition_of(&ann), partition_of(&eve)].contains(&partition_of(one));
    let bob = names().find(apart).unwrap();
    let first = open_fixture(dir.path(), &clock).await;
    for person in [&ann, &eve, &bob] {
        first.add_person(person, "maker:1").await;
    }
    first.offer_item("item:1", "maker:1", "Moon").await;
    first.house.settle().await.unwrap();
    let mut of_ann = None;
    for_each_record(&first.topics, |record| {
        if record.key == key_of(&ann) {
            of_ann = Some(place_of_record(&record));
        }
    })
    .await
    .unwrap();
    let good = export_record(&first.topics, of_ann.unwrap()).await.unwrap();
    assert!(list_unreadable(&first.topics).await.unwrap().is_empty());
    first.house.stop().await.unwrap();
    spoil_record(&first, partition_of(&ann), key_of(&ann)).await;
    spoil_record(&first, partition_of(&ann), b"poison".to_vec()).await;
    spoil_record(&first, partition_of(&eve), key_of(&eve)).await;
    first.close();

    let ground = open_fixture(dir.path(), &clock).await;
    wait_until("both partitions stand still", async || ground.house.standstills().len() == 2).await;
    let said = ground.house.settle().await.unwrap_err().to_string();
    assert!(said.contains("stands still") && said.contains("not an Avro record"), "{said}");
    let told = "tidings_consumergroup_standstill_partitions{consumergroup=\"digest\"} 2\n";
    assert!(ground.house.metrics().render_text().contains(told));
    clock.advance_to(UtcMillis::parse("2026-11-22T09:00:00Z").unwrap().0);
    wait_until("the others go on", async || ground.outbox.len() == 1).await;

    let bad = list_unreadable(&ground.topics).await.unwrap();
    let of = |name: &str| bad.iter().find(|one| one.key.ends_with(name)).unwrap();
    assert_eq!(bad.len(), 3, "{bad:?}");
    // The embedded log keeps the latest record of a key alone, once it has compacted.
    assert!(of(&ann).before.is_none_or(|before| before == good.place), "{bad:?}");
    let (log, store) = (&ground.topics, &*ground.house.engines().store);
    let now = UtcMillis(clock.now());
    let settle = async |deed: RecordAction| settle_record(log, store, &deed, "op@desk", now).await;
    let refused = settle(RecordAction::Drop(good.place)).await.unwrap_err().to_string();
    assert!(refused.contains("is not the latest") || refused.contains("no record of"), "{refused}");
    let strange = RecordExport { key: BASE64_STANDARD.encode(key_of(&eve)), ..good.clone() };
    let refused = settle(RecordAction::Repair(strange)).await.unwrap_err().to_string();
    assert!(refused.contains("names another person"), "{refused}");

    let nobody = settle(RecordAction::Drop(of("poison").place)).await.unwrap();
    assert_eq!((nobody.person, nobody.days), (None, 0));
    let repaired = settle(RecordAction::Repair(good.clone())).await.unwrap();
    assert_eq!(repaired.person.as_deref(), Some(ann.as_str()));
    let dropped = settle(RecordAction::Drop(of(&eve).place)).await.unwrap();
    assert_eq!((dropped.person.as_deref(), dropped.days), (Some(eve.as_str()), 1));
    wait_until("the partitions go on", async || ground.house.standstills().is_empty()).await;
    assert!(list_unreadable(&ground.topics).await.unwrap().is_empty());
    let refused = settle(RecordAction::Repair(good)).await.unwrap_err().to_string();
    // By now she may have been told, and her record be gone.
    assert!(["can be read", "no record under"].iter().any(|why| refused.contains(why)), "{refused}");

    // What one knew is told at once, for its instant has come; what waits in the days of the other with the next mail.
    ground.house.settle().await.unwrap();
    clock.advance_to(UtcMillis::parse("2026-11-23T09:00:00Z").unwrap().0);
    ground.house.settle().await.unwrap();
    let mut told: Vec<String> = ground.outbox.list_newest(9).into_iter().map(|mail| mail.to).collect();
    told.sort();
    let mut all: Vec<String> = [&ann, &eve, &bob].map(|one| format!("{one}@example.org")).into();
    all.sort();
    assert_eq!(told, all);
    let notes = quarantine::list_items(&ground.topics).await.unwrap();
    let notes: Vec<String> = notes.into_iter().map(|note| note.reason).collect();
    let noted = |what: &str| notes.iter().filter(|note| note.starts_with(what)).count();
    assert_eq!((noted("dropped by op@desk: "), noted("repaired by op@desk: ")), (2, 1), "{notes:?}");
    ground.house.stop().await.unwrap();
}
