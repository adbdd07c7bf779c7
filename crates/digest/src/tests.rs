//! Tests of the room on the embedded engines: what lies on `ready`, in days and in `quarantine` after it.

use std::sync::Arc;

use catalogue::Catalogue;
use model::{
    Because, Channel, Entry, EntryKey, EventKey, Fate, Follow, Kind, Millis, Person, Reason, Row, State,
    SubjectRef, Tenant, Value, Why,
    civil::Zones,
    delivery::{Delivery, Outcome},
    entry::DayKey,
    fold::fold,
    partition,
    person::profile,
    ready::Ready,
};
use runtime::{Clock, Quiet, Shutdown, metrics::Metrics};
use store::{DayRows, StateKey, Store};
use tempfile::TempDir;
use topic::{NewRecord, Retention, TopicSpec, Topics};
use wire::{Announcement, Inbox, Pending, topics};

use crate::{Config, Ports, config::GROUP, metrics::DigestMetrics, run};

const CATALOGUE: &str = r#"
catalogue: sample
subjects:
  work: {title: text, author: ref author, public: flag}
  author: {name: text}
kinds:
  work_out:
    on: work.published
    to: {followers_of: author}
    while: subject.public
    says: '{{ subject.title }}'
    plans: [daily]
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    from: Sample <news@example.com>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: Works, kinds: [work_out], most: 2, order: newest}
"#;

fn catalogue() -> Catalogue {
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse(CATALOGUE, "catalogue.yaml", &template).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A house of one room, with a clock that stands at eight in the morning.
struct World {
    _dir: TempDir,
    clock: Clock,
    quiet: Quiet,
    shutdown: Shutdown,
    topics: Arc<dyn Topics>,
    store: Arc<dyn Store>,
    room: Option<tokio::task::JoinHandle<anyhow::Result<()>>>,
}

const EIGHT: i64 = 1_795_248_000_000; // 2026-11-21T08:00:00Z

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

fn ann() -> Person {
    Person::new("ann").unwrap()
}

fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

impl World {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let clock = Clock::still(EIGHT);
        let topics: Arc<dyn Topics> =
            Arc::new(topic::embedded::Embedded::open(&dir.path().join("topics"), clock.clone()).unwrap());
        let store: Arc<dyn Store> =
            Arc::new(store::embedded::Embedded::open(&dir.path().join("store")).unwrap());
        let spec = |name: &str, partitions, retention| TopicSpec { name: name.into(), partitions, retention };
        let kept = Retention::Milliseconds(i64::MAX);
        let specs = [
            spec(topics::PENDING, 64, kept),
            spec(topics::INBOX, 64, kept),
            spec(topics::READY, 64, kept),
            spec(topics::QUARANTINE, 1, kept),
            spec(topics::WINDOWS, 64, Retention::Compacted),
        ];
        topics.declare(&specs).await.unwrap();
        let (quiet, shutdown) = (Quiet::default(), Shutdown::default());
        let mut world = Self { _dir: dir, clock, quiet, shutdown, topics, store, room: None };
        let values = [(profile::EMAIL, Some(Value::text("ann@example.com")))];
        world.store.merge(vec![(StateKey::Person(tenant(), ann()), State::at(1, values))]).await.unwrap();
        world.start();
        world
    }

    fn start(&mut self) {
        let metrics = DigestMetrics::declare(&Metrics::default()).unwrap();
        let ports = Ports {
            topics: self.topics.clone(),
            store: self.store.clone(),
            catalogue: Arc::new(catalogue()),
            zones: Zones::bundled(),
            clock: self.clock.clone(),
            quiet: self.quiet.clone(),
            shutdown: self.shutdown.clone(),
            metrics,
        };
        // Counted as busy until the room's own loop is.
        let opening = self.quiet.worker();
        self.room = Some(tokio::spawn(async move {
            let mut room = std::pin::pin!(run(ports, Config { records_max: 100 }));
            let early = futures::poll!(&mut room);
            drop(opening);
            if let std::task::Poll::Ready(ended) = early { ended } else { room.await }
        }));
    }

    async fn crash_and_start(&mut self) {
        let room = self.room.take().unwrap();
        room.abort();
        drop(room.await);
        self.start();
    }

    /// Waits until the room has read everything and has nothing to do at this instant.
    async fn settle(&self) {
        let watchdog = tokio::time::timeout(std::time::Duration::from_secs(30), async {
            let mut calm = None;
            loop {
                let (quiet, changes) = self.quiet.now();
                let overdue = self.clock.next_wake().is_some_and(|at| at <= self.clock.now());
                if quiet && !overdue && self.lag().await == 0 {
                    if calm == Some(changes) {
                        return;
                    }
                    calm = Some(changes);
                    tokio::task::yield_now().await;
                } else {
                    calm = None;
                    tokio::task::yield_now().await;
                }
            }
        });
        watchdog.await.expect("the room did not settle");
    }

    async fn lag(&self) -> u64 {
        let mut lag = 0;
        for topic in [topics::PENDING, topics::INBOX] {
            for standing in self.topics.standing(GROUP, topic).await.unwrap() {
                lag += standing.end - standing.committed;
            }
        }
        lag
    }

    /// Stores and announces one work of `author:1`, whom ann follows.
    async fn work(&self, n: u8, occurred: i64, public: bool) -> EntryKey {
        let author = subject("author:1");
        let follow = Follow { tenant: tenant(), person: ann(), target: author.clone(), version: 1, on: true };
        self.store.follow(vec![follow]).await.unwrap();
        let work = subject(&format!("work:{n}"));
        let state = State::at(
            1,
            [("public", Some(Value::Flag(public))), ("author", Some(Value::Ref(author.clone())))],
        );
        self.store.merge(vec![(StateKey::Subject(tenant(), work.clone()), state)]).await.unwrap();
        let key = EntryKey { occurred: Millis(occurred), event: EventKey([n; 16]) };
        let kind = Kind::new("work_out").unwrap();
        let reason = Reason { kind: kind.clone(), because: Because::Follows(author) };
        let day = DayKey { tenant: tenant(), person: ann(), day: key.day() };
        let rows = vec![Row::Entry(Entry { key, reason, subject: work })];
        self.store.write(vec![DayRows { key: day, rows }], Millis(self.clock.now())).await.unwrap();
        let announcement =
            Announcement { person: ann(), day: key.day(), rows: 1, kinds: vec![kind], full: false };
        let pending = Pending { tenant: tenant(), announcements: vec![announcement] };
        self.append(topics::PENDING, wire::pending::encode(&pending).unwrap()).await;
        key
    }

    async fn append(&self, topic: &str, value: Vec<u8>) {
        let (partition, key) = (partition::of_person(&tenant(), &ann()), b"ann".to_vec());
        self.topics
            .append(vec![NewRecord { topic: topic.into(), partition, key, value: Some(value) }])
            .await
            .unwrap();
    }

    async fn to(&self, at: i64) {
        self.settle().await;
        self.clock.advance_to(at);
        self.settle().await;
    }

    async fn readys(&self) -> Vec<Ready> {
        let partition = partition::of_person(&tenant(), &ann());
        let records = self.topics.read(topics::READY, partition, 0, 1_000).await.unwrap();
        records.iter().map(|record| wire::ready::decode(record.value.as_deref().unwrap()).unwrap()).collect()
    }

    async fn fate(&self, key: EntryKey) -> Fate {
        let day = DayKey { tenant: tenant(), person: ann(), day: key.day() };
        let rows = self.store.read(&[day], Millis(self.clock.now())).await.unwrap().remove(0);
        fold(&rows).get(key).unwrap().fate(Channel::Email)
    }
}

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_closes_at_nine_with_what_still_holds() {
    let world = World::new().await;
    let first = world.work(1, EIGHT - HOUR, true).await;
    let hidden = world.work(2, EIGHT - HOUR, false).await;
    let yesterday = world.work(3, EIGHT - DAY, true).await;
    world.to(EIGHT + HOUR - 1).await;
    assert!(world.readys().await.is_empty());
    world.to(EIGHT + HOUR).await;
    let readys = world.readys().await;
    assert_eq!(readys.len(), 1);
    let told: Vec<_> = readys[0].entries.iter().map(|entry| entry.key).collect();
    assert_eq!(told, [first, yesterday]);
    assert_eq!(world.fate(first).await, Fate::Told { ready: readys[0].id });
    assert_eq!(world.fate(yesterday).await, Fate::Told { ready: readys[0].id });
    assert_eq!(world.fate(hidden).await, Fate::Ended(Why::NoLongerTrue));
    world.to(EIGHT + 3 * DAY).await;
    assert_eq!(world.readys().await.len(), 1, "told once, never again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_over_the_budget_comes_the_next_day_also_after_a_crash() {
    let mut world = World::new().await;
    for n in 1..=3 {
        world.work(n, EIGHT - i64::from(n), true).await;
    }
    world.to(EIGHT + HOUR).await;
    world.crash_and_start().await;
    world.to(EIGHT + HOUR + DAY).await;
    let readys = world.readys().await;
    assert_eq!(readys.iter().map(|ready| ready.entries.len()).collect::<Vec<_>>(), [2, 1]);
    assert_ne!(readys[0].id, readys[1].id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_bytes_go_to_quarantine_and_the_partition_goes_on() {
    let world = World::new().await;
    world.append(topics::PENDING, b"not a record".to_vec()).await;
    world.append(topics::INBOX, vec![0xC3, 1, 2, 3]).await;
    world.work(1, EIGHT, true).await;
    world.to(EIGHT + HOUR).await;
    assert_eq!(world.readys().await.len(), 1);
    assert_eq!(world.topics.bounds(topics::QUARANTINE).await.unwrap(), [(0, 2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_back_is_told_in_the_next_digest() {
    let world = World::new().await;
    let key = world.work(1, EIGHT, true).await;
    world.to(EIGHT + HOUR).await;
    let ready = world.readys().await.remove(0);
    let delivery = Delivery {
        ready: ready.id,
        tenant: tenant(),
        person: ann(),
        plan: ready.plan.clone(),
        key: ready.key.clone(),
        channel: ready.channel,
        attempt: 0,
        at: Millis(EIGHT + HOUR + 1),
        outcome: Outcome::Unknown { back: vec![key], left: Vec::new() },
    };
    world.append(topics::INBOX, wire::inbox::encode(&Inbox::Delivery(delivery)).unwrap()).await;
    world.settle().await;
    assert_eq!(world.fate(key).await, Fate::Waiting { carried: false });
    world.to(EIGHT + HOUR + DAY).await;
    let readys = world.readys().await;
    assert_eq!(readys.len(), 2);
    assert!(readys[1].entries[0].maybe);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_is_spent_leaves_the_topic() {
    let world = World::new().await;
    world.work(1, EIGHT, true).await;
    world.to(EIGHT + HOUR).await;
    world.to(EIGHT + 5 * DAY).await;
    let state = topic_state(&world).await;
    assert!(state.is_empty(), "{state:?}");
}

async fn topic_state(world: &World) -> Vec<topic::Record> {
    let partition = partition::of_person(&tenant(), &ann());
    world.topics.read(topics::WINDOWS, partition, 0, 100).await.unwrap()
}
