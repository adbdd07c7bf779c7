//! Reports in a log, rows in a journal, and what is listed of them.

use std::sync::Arc;

use model::{
    Channel, EntryKey, EventKey, Person, PlanName,
    partition::PartitionCount,
    ready::{Ready, ReadyEntry},
};
use runtime::Clock;
use store::{JournalClaim, JournalStore as _};
use store_embedded::EmbeddedStore;
use topic::{NewRecord, TopicRetention, TopicSpec};

use super::*;

const NOW: UtcMillis = UtcMillis(1_795_248_000_000);

fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

fn delivery(n: u8, tenant: &Tenant, outcome: DeliveryOutcome) -> Delivery {
    Delivery {
        ready: ReadyId([n; 16]),
        tenant: tenant.clone(),
        person: Person::new(&format!("p{n}")).unwrap(),
        plan: PlanName::new("daily").unwrap(),
        key: "".into(),
        channel: Channel::Email,
        attempt: 0,
        at: NOW,
        outcome,
    }
}

fn deferred_outcome(n: u8, of: &Tenant) -> DeliveryOutcome {
    let Delivery { ready: id, tenant, person, plan, key, channel, .. } =
        delivery(n, of, DeliveryOutcome::Nothing { left: vec![] });
    let entry = ReadyEntry {
        section: 0,
        maybe: false,
        ..ReadyEntry::new(
            EntryKey { occurred: NOW, event: EventKey([n; 16]) },
            model::SubjectRef::new("work:1").unwrap(),
            vec![],
        )
    };
    let ready = Ready {
        id,
        tenant,
        person,
        plan,
        key,
        channel,
        opening: NOW,
        silent: false,
        attempt: 0,
        due: NOW,
        expires: NOW.plus(HOUR_MS),
        entries: vec![entry],
        more: vec![0],
        badge: false,
        renews: None,
    };
    DeliveryOutcome::Deferred { until: NOW, ready }
}

#[tokio::test]
async fn all_that_is_unclear_is_listed_with_what_became_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::still(NOW.0);
    let log = topic::embedded::EmbeddedTopics::open(&dir.path().join("topics"), clock.clone()).unwrap();
    let store = Arc::new(EmbeddedStore::open(&dir.path().join("store")).unwrap());
    let (main, other) = (tenant("main"), tenant("other"));
    let spec = TopicSpec {
        name: topics::INBOX.into(),
        partitions: PartitionCount::USUAL.count(),
        retention: TopicRetention::Milliseconds(i64::MAX),
    };
    log.declare(&[spec]).await.unwrap();
    let say = async |delivery: Delivery| {
        let inbox = InboxItem::Delivery(Box::new(delivery));
        let (tenant, person) = inbox.owner();
        let record = NewRecord {
            topic: topics::INBOX.into(),
            partition: PartitionCount::USUAL.of_person(tenant, person),
            key: wire::key::person_key(tenant, person),
            value: Some(wire::inbox::encode(&inbox).unwrap()),
            headers: Vec::new(),
        };
        log.append(vec![record]).await.unwrap();
    };
    let record = async |n: u8, attempt: u16, what: JournalOutcome, of: &Tenant| {
        let ready = ReadyId([n; 16]);
        let at = NOW.plus(i64::from(n));
        let (told, plan) = (vec![], None);
        let claim = JournalClaim { ready, attempt, token: [n; 16], at, deadline: at, told, plan };
        store.claim(of, claim).await.unwrap();
        store.record(of, JournalRecord { ready, attempt, at, what, left: vec![] }).await.unwrap();
    };
    let unknown = || DeliveryOutcome::Unknown { back: vec![], left: vec![] };
    say(delivery(1, &main, unknown())).await;
    record(1, 0, JournalOutcome::Unknown, &main).await;
    say(delivery(2, &main, deferred_outcome(2, &main))).await;
    record(2, 0, JournalOutcome::Unsure, &main).await;
    record(2, 1, JournalOutcome::NotSent, &main).await;
    say(delivery(3, &main, deferred_outcome(3, &main))).await;
    say(delivery(3, &main, deferred_outcome(3, &main))).await;
    record(3, 0, JournalOutcome::Unsure, &main).await;
    record(3, 1, JournalOutcome::Away, &main).await;
    record(3, 2, JournalOutcome::Sent, &main).await;
    // Of these it is known what became of them.
    say(delivery(4, &main, deferred_outcome(4, &main))).await;
    record(4, 0, JournalOutcome::NotSent, &main).await;
    say(delivery(5, &main, DeliveryOutcome::Sent { left: vec![] })).await;
    record(5, 0, JournalOutcome::Sent, &main).await;
    say(delivery(6, &other, unknown())).await;
    record(6, 0, JournalOutcome::Unknown, &other).await;

    let listed = list_unclear(&log, &*store, &main, (HOURS, NOW.plus(HOUR_MS))).await.unwrap();
    let told: Vec<(&str, u16, UnclearOutcome)> =
        listed.iter().map(|one| (one.person.as_str(), one.attempt, one.then)).collect();
    assert_eq!(
        told,
        [
            ("p3", 0, UnclearOutcome::SentAgain),
            ("p2", 0, UnclearOutcome::Waits),
            ("p1", 0, UnclearOutcome::ToldLater)
        ]
    );
    let listed = list_unclear(&log, &*store, &other, (HOURS, NOW.plus(HOUR_MS))).await.unwrap();
    assert_eq!(listed.len(), 1);
    let later = list_unclear(&log, &*store, &main, (1, NOW.plus(3 * HOUR_MS))).await.unwrap();
    assert_eq!(later, [], "of long ago nothing is listed");
    log.close();
}
