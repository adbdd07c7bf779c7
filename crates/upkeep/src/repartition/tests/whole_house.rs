//! The whole house before and after: everybody is told what they would have been told, once.

use std::collections::BTreeSet;

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use courier::{
    Courier, CourierError, HandoverGate, HandoverOutcome, Message, decorator::CourierDecorator,
    outbox::OutboxCourier,
};
use house::{
    self, Config, HouseEngines, RunningHouse,
    testing::{START, test_catalogue},
};
use model::civil_time::ZoneRules;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;

/// Everybody follows a maker; half of them live where it is nine o'clock later.
const PERSONS: usize = 300;
const ZONES: [&str; 2] = ["UTC", "America/New_York"];
const STEP_MS: i64 = 3_600_000;

/// An outbox that has no time for some mails when they come first.
#[derive(Debug)]
struct BusyOutboxCourier {
    outbox: OutboxCourier,
    asked: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl CourierDecorator for BusyOutboxCourier {
    fn inner(&self) -> &dyn Courier {
        &self.outbox
    }

    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        let is_first = self.asked.lock().unwrap().insert(message.message_id.clone());
        if is_first && message.mail().is_some_and(|mail| mail.to.contains('7')) {
            return Ok(match gate.may_go().await {
                true => HandoverOutcome::NotNow("not now".to_owned()),
                false => HandoverOutcome::Stopped,
            });
        }
        self.outbox.hand(message, gate).await
    }
}

/// A folder, its clock and its mails, over several lives of a house.
struct RepartitionedHouse {
    dir: TempDir,
    clock: Clock,
    courier: Arc<BusyOutboxCourier>,
}

impl RepartitionedHouse {
    fn new() -> Self {
        let dir = scratch_dir();
        let clock = Clock::still(UtcMillis::parse(START).unwrap().0);
        let outbox = OutboxCourier::open(&dir.path().join("outbox")).unwrap();
        Self { dir, clock, courier: Arc::new(BusyOutboxCourier { outbox, asked: Mutex::default() }) }
    }

    fn topics(&self) -> EmbeddedTopics {
        EmbeddedTopics::open(&self.dir.path().join("topics"), self.clock.clone()).unwrap()
    }

    /// One life of a house with so many partitions.
    async fn run_house(&self, partitions: u32, facts: &[Value], changes: &[Value], until: &str) {
        let topics = self.topics();
        let store = store_embedded::EmbeddedStore::open(&self.dir.path().join("store")).unwrap();
        let (log, store) = (Arc::new(topics.clone()), Arc::new(store));
        let schemas = Arc::new(wire::NoSchemaSource);
        let live = Arc::new(live::UnknownConnections);
        let engines = HouseEngines { topics: log, store, courier: self.courier.clone(), live, schemas };
        let config = Config {
            partitions: partition_count(partitions),
            ..Config::with_defaults(Tenant::new("main").unwrap(), 10_000)
        };
        let intake = config.ingest.clone();
        let (catalogue, zones) = (test_catalogue(), ZoneRules::load_bundled());
        house::declare_topics(&*engines.topics, config.partitions).await.unwrap();
        let house = RunningHouse::start(engines, catalogue, self.clock.clone(), zones, config).await.unwrap();
        let deps = house.intake().clone();
        let door = ingest::router(ingest::HttpIntake {
            deps,
            config: intake,
            keys: None.into(),
            disk_low: Arc::new(|| false),
        });
        for (path, said) in [("/v1/facts", facts), ("/v1/changes", changes)] {
            for said in said.chunks(100) {
                let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
                let request = request.body(Body::from(Value::from(said).to_string())).unwrap();
                let answer = door.clone().oneshot(request).await.unwrap();
                assert_eq!(answer.status(), StatusCode::ACCEPTED);
            }
        }
        house.settle().await.unwrap();
        let until = UtcMillis::parse(until).unwrap().0;
        while self.clock.now() < until {
            self.clock.advance_to(until.min(self.clock.now() + STEP_MS));
            house.settle().await.unwrap();
        }
        house.stop().await.unwrap();
        drop((house, door));
        topics.close();
    }

    /// To another count, cut off at every seventh effect, as often as it takes.
    async fn repartition_to(&self, to: u32) -> RememberedCount {
        for nth in (0..).step_by(7) {
            let topics = self.topics();
            let log = MortalTopics {
                inner: Arc::new(topics.clone()),
                left: AtomicI64::new(nth),
                after: nth % 2 == 0,
            };
            let outcome = execute_repartition(&log, &order(to), &|_| {}).await;
            topics.close();
            if let Ok(count) = outcome {
                return count;
            }
        }
        unreachable!("as many effects as there are numbers")
    }

    /// Every mail: to whom, and what it says.
    async fn mails(&self) -> Vec<(String, String)> {
        let mut mails = Vec::new();
        for mail in self.courier.outbox.list_newest(10_000) {
            mails.push((mail.to, mail.headline));
        }
        mails.sort();
        mails
    }
}

fn facts() -> Vec<Value> {
    let facts = (0..PERSONS).flat_map(|n| {
        let (person, email) = (format!("p{n}"), format!("p{n}@example.org"));
        [
            json!({"id": format!("p-{n}"), "source": "t", "type": "tidings.profile", "person": person, "email": email, "zone": ZONES[n % 2]}),
            json!({"id": format!("f-{n}"), "source": "t", "type": "tidings.follow", "person": person, "target": "maker:1"}),
        ]
    });
    facts.collect()
}

fn offer(item: u32, title: &str) -> Value {
    let subject = format!("item:{item}");
    json!({"id": subject, "source": "t", "type": "item.offered", "subject": subject, "maker": "maker:1", "title": title, "offered": true})
}

/// Three lives; between them the house may be given another count.
async fn story(counts: [u32; 3]) -> Vec<(String, String)> {
    let place = RepartitionedHouse::new();
    let [first, second, third] = counts;
    place.run_house(first, &facts(), &[offer(1, "Moon")], "2026-11-21T14:00:00Z").await;
    if second != first {
        let count = place.repartition_to(second).await;
        assert!(count.windows >= 150 && count.waiting > 20, "{count}");
    }
    // New York was told, but for those who have to wait; the others have a window open, which grows.
    place.run_house(second, &[], &[offer(2, "Sun")], "2026-11-22T08:59:00Z").await;
    if third != second {
        let count = place.repartition_to(third).await;
        assert!(count.windows >= 300, "{count}");
    }
    place.run_house(third, &[], &[], "2026-11-23T12:00:00Z").await;
    place.mails().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_is_told_the_same_as_without() {
    let without = story([64, 64, 64]).await;
    assert_eq!(
        without.len(),
        PERSONS + PERSONS / 2,
        "two mails in New York, and one with both in the other zone"
    );
    let both = without.iter().filter(|(_, headline)| headline.contains("Moon") && headline.contains("Sun"));
    assert_eq!(both.count(), PERSONS / 2);
    assert_eq!(story([64, 7, 96]).await, without);
}
