//! Reports in a log, rows in a journal, and what is listed of them.

use std::sync::Arc;

use model::{
    Channel, EntryKey, EventKey, Person, PlanName,
    partition::Partitions,
    ready::{Ready, ReadyEntry},
};
use runtime::Clock;
use store::{Claim, Journal as _, embedded::Embedded};
use topic::{NewRecord, Retention, TopicSpec};

use super::*;

const NOW: Millis = Millis(1_795_248_000_000);

fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

fn delivery(n: u8, tenant: &Tenant, outcome: Outcome) -> Delivery {
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

fn deferred(n: u8, of: &Tenant) -> Outcome {
    let Delivery { ready: id, tenant, person, plan, key, channel, .. } =
        delivery(n, of, Outcome::Nothing { left: vec![] });
    let entry = ReadyEntry {
        key: EntryKey { occurred: NOW, event: EventKey([n; 16]) },
        subject: model::SubjectRef::new("work:1").unwrap(),
        reasons: vec![],
        section: 0,
        maybe: false,
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
        badge: None,
    };
    Outcome::Deferred { until: NOW, ready }
}

#[tokio::test]
async fn all_that_is_unclear_is_listed_with_what_became_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::still(NOW.0);
    let log = topic::embedded::Embedded::open(&dir.path().join("topics"), clock.clone()).unwrap();
    let store = Arc::new(Embedded::open(&dir.path().join("store")).unwrap());
    let (main, other) = (tenant("main"), tenant("other"));
    let spec = TopicSpec {
        name: topics::INBOX.into(),
        partitions: Partitions::USUAL.count(),
        retention: Retention::Milliseconds(i64::MAX),
    };
    log.declare(&[spec]).await.unwrap();
    let say = async |delivery: Delivery| {
        let inbox = Inbox::Delivery(Box::new(delivery));
        let (tenant, person) = inbox.whose();
        let record = NewRecord {
            topic: topics::INBOX.into(),
            partition: Partitions::USUAL.of_person(tenant, person),
            key: wire::key::person(tenant, person),
            value: Some(wire::inbox::encode(&inbox).unwrap()),
            headers: Vec::new(),
        };
        log.append(vec![record]).await.unwrap();
    };
    let record = async |n: u8, attempt: u16, what: Recorded, of: &Tenant| {
        let ready = ReadyId([n; 16]);
        let at = NOW.plus(i64::from(n));
        let claim = Claim { ready, attempt, token: [n; 16], at, deadline: at, told: vec![] };
        store.claim(of, claim).await.unwrap();
        store.record(of, Record { ready, attempt, at, what, left: vec![] }).await.unwrap();
    };
    let unknown = || Outcome::Unknown { back: vec![], left: vec![] };
    say(delivery(1, &main, unknown())).await;
    record(1, 0, Recorded::Unknown, &main).await;
    say(delivery(2, &main, deferred(2, &main))).await;
    record(2, 0, Recorded::Unsure, &main).await;
    record(2, 1, Recorded::NotSent, &main).await;
    say(delivery(3, &main, deferred(3, &main))).await;
    say(delivery(3, &main, deferred(3, &main))).await;
    record(3, 0, Recorded::Unsure, &main).await;
    record(3, 1, Recorded::Away, &main).await;
    record(3, 2, Recorded::Sent, &main).await;
    // Of these it is known what became of them.
    say(delivery(4, &main, deferred(4, &main))).await;
    record(4, 0, Recorded::NotSent, &main).await;
    say(delivery(5, &main, Outcome::Sent { left: vec![] })).await;
    record(5, 0, Recorded::Sent, &main).await;
    say(delivery(6, &other, unknown())).await;
    record(6, 0, Recorded::Unknown, &other).await;

    let listed = list(&log, &*store, &main, (HOURS, NOW.plus(HOUR_MS))).await.unwrap();
    let told: Vec<(&str, u16, Then)> =
        listed.iter().map(|one| (one.person.as_str(), one.attempt, one.then)).collect();
    assert_eq!(told, [("p3", 0, Then::SentAgain), ("p2", 0, Then::Waits), ("p1", 0, Then::ToldLater)]);
    let listed = list(&log, &*store, &other, (HOURS, NOW.plus(HOUR_MS))).await.unwrap();
    assert_eq!(listed.len(), 1);
    let later = list(&log, &*store, &main, (1, NOW.plus(3 * HOUR_MS))).await.unwrap();
    assert_eq!(later, [], "of long ago nothing is listed");
    log.close();
}
