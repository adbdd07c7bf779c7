//! Tests of the room: a small world of follows and events, and what lies in days and on `pending` after it.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use catalogue::Catalogue;
use model::{
    Day, Event, EventKey, Follow, Kind, Millis, Person, Row, State, SubjectRef, Tenant, Value, entry::DayKey,
    partition, person::profile,
};
use proptest::prelude::*;
use runtime::{Clock, Quiet, Shutdown, clock::Stopwatch, metrics::Metrics};
use store::{StateKey, Store};
use tempfile::TempDir;
use topic::{
    Member, Membership, NewRecord, Record, Retention, TopicError, TopicSpec, Topics, port::Standing,
};
use wire::{Announcement, topics};

use crate::{
    Config, FanoutMetrics, Ports,
    config::{ANNOUNCED_MAX, GROUP, RECORDS_MAX, SHEET_ROWS_MAX},
    reach::Reach,
    resolve::{Sheet, resolve},
    run,
};

const CATALOGUE: &str = r#"
catalogue: sample
subjects:
  work: {title: text, author: ref author, house: ref house, public: flag}
  author: {name: text}
  house: {name: text}
kinds:
  work_out:
    on: work.published
    to: {followers_of: [author, house]}
    while: subject.public
    says: '{{ subject.title }}'
    plans: [daily]
  work_seen:
    on: work.published
    to: {followers_of: subject}
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
      - {title: Works, kinds: [work_out, work_seen], most: 8, order: newest}
"#;
const NOON: &str = "2026-11-21T12:00:00Z";

fn catalogue() -> Catalogue {
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse(CATALOGUE, "catalogue.yaml", &template).unwrap_or_else(|problems| panic!("{problems}"))
}

fn at(text: &str) -> Millis {
    Millis::parse(text).unwrap()
}

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

fn person(name: &str) -> Person {
    Person::new(name).unwrap()
}

fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

/// An event about a work: `1 by author:7 in house:3 at 2026-11-21T10:00:00Z from ann`.
fn published(text: &str) -> Event {
    let words: Vec<&str> = text.split(' ').collect();
    let after = |word| words.iter().position(|w| *w == word).map(|at| words[at + 1]);
    let field = |word, name: &'static str| after(word).map(|to| (name, Some(Value::Ref(subject(to)))));
    let subject = subject(&format!("work:{}", words[0]));
    Event {
        tenant: tenant(),
        key: EventKey::of(&tenant(), "test", text),
        what: "work.published".to_owned(),
        subject,
        actor: after("from").map(person),
        occurred: at(after("at").unwrap_or("2026-11-21T10:00:00Z")),
        state: State::at(1, [field("by", "author"), field("in", "house")].into_iter().flatten()),
    }
}

/// A log that looks at each announcement as it comes: are the rows there already, and is it one sheet's
/// worth at most? It can be made to fail once.
#[derive(Debug)]
struct Watching {
    topics: Box<dyn Topics>,
    store: Arc<dyn Store>,
    /// The append to `pending`, counted down, that fails.
    fails: AtomicI64,
    early: AtomicU64,
    most: AtomicU64,
}

impl Watching {
    async fn look(&self, record: &NewRecord) -> u64 {
        let pending = wire::pending::decode(record.value.as_ref().unwrap()).unwrap();
        let written = pending.announcements.iter().filter(|announcement| !announcement.full);
        let key = |a: &Announcement| DayKey {
            tenant: pending.tenant.clone(),
            person: a.person.clone(),
            day: a.day,
        };
        let days = self.store.read(&written.map(key).collect::<Vec<_>>(), at(NOON)).await.unwrap();
        self.early.fetch_add(days.iter().filter(|rows| rows.is_empty()).count() as u64, Ordering::SeqCst);
        pending.announcements.len() as u64
    }
}

#[async_trait]
impl Topics for Watching {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.topics.declare(specs).await
    }
    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        let mut announced = 0;
        for record in records.iter().filter(|record| &*record.topic == topics::PENDING) {
            announced += self.look(record).await;
        }
        if announced > 0 && self.fails.fetch_sub(1, Ordering::SeqCst) == 0 {
            return Err(TopicError::Busy("as asked".to_owned()));
        }
        self.most.fetch_max(announced, Ordering::SeqCst);
        self.topics.append(records).await
    }
    async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: u64,
        most: usize,
    ) -> Result<Vec<Record>, TopicError> {
        self.topics.read(topic, partition, from, most).await
    }
    async fn bounds(&self, topic: &str) -> Result<Vec<(u64, u64)>, TopicError> {
        self.topics.bounds(topic).await
    }
    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<Standing>, TopicError> {
        self.topics.standing(group, topic).await
    }
    async fn join(&self, membership: Membership) -> Result<Box<dyn Member>, TopicError> {
        self.topics.join(membership).await
    }
}

struct House {
    _dir: TempDir,
    ports: Ports,
    watching: Arc<Watching>,
}

impl House {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let clock = Clock::still(at(NOON).0);
        let topics = topic::embedded::Embedded::open(&dir.path().join("topics"), clock.clone()).unwrap();
        let specs = topics::all().map(|(name, partitions, keep)| {
            let retention = match keep {
                topics::Keep::Millis(ms) => Retention::Milliseconds(ms),
                topics::Keep::Latest => Retention::Compacted,
            };
            TopicSpec { name: name.into(), partitions, retention }
        });
        topics.declare(&specs).await.unwrap();
        let store: Arc<dyn Store> =
            Arc::new(store::embedded::Embedded::open(&dir.path().join("store")).unwrap());
        let watching = Arc::new(Watching {
            topics: Box::new(topics),
            store: store.clone(),
            fails: AtomicI64::new(-1),
            early: AtomicU64::default(),
            most: AtomicU64::default(),
        });
        let ports = Ports {
            topics: watching.clone(),
            store,
            catalogue: Arc::new(catalogue()),
            clock,
            quiet: Quiet::default(),
            shutdown: Shutdown::default(),
            metrics: FanoutMetrics::declare(&Metrics::default()).unwrap(),
        };
        Self { _dir: dir, ports, watching }
    }

    /// Lines of `ann author:7`; a minus before it ends the follow.
    async fn follows(&self, lines: &[&str]) {
        let follow = |line: &&str| {
            let (who, target) = line.trim_start_matches('-').split_once(' ').unwrap();
            let (on, version) = (!line.starts_with('-'), if line.starts_with('-') { 2 } else { 1 });
            Follow { tenant: tenant(), person: person(who), target: subject(target), version, on }
        };
        self.ports.store.follow(lines.iter().map(follow).collect()).await.unwrap();
    }

    async fn profile(&self, who: &str, field: &str, value: Value) {
        let key = StateKey::Person(tenant(), person(who));
        self.ports.store.merge(vec![(key, State::at(1, [(field, Some(value))]))]).await.unwrap();
    }

    async fn publish(&self, events: &[Event]) {
        let record = |event: &Event| NewRecord {
            topic: topics::EVENTS.into(),
            partition: partition::of_subject(&event.tenant, &event.subject),
            key: wire::key::subject(&event.tenant, &event.subject),
            value: Some(wire::event::encode(event).unwrap()),
        };
        self.ports.topics.append(events.iter().map(record).collect()).await.unwrap();
    }

    /// Runs the room until it has committed everything there is.
    async fn settle(&self) {
        let ports = Ports { shutdown: Shutdown::default(), ..self.ports.clone() };
        let settled = async {
            loop {
                let (_, changes) = ports.quiet.now();
                let standing = ports.topics.standing(GROUP, topics::EVENTS).await.unwrap();
                if standing.iter().all(|at| at.committed == at.end) {
                    break;
                }
                ports.quiet.changed(changes).await;
            }
            ports.shutdown.start();
        };
        tokio::join!(run(ports.clone(), Config { records_max: RECORDS_MAX }), settled).0.unwrap();
    }

    async fn records(&self, topic: &str) -> Vec<Record> {
        let mut records = Vec::new();
        for (partition, _) in self.ports.topics.bounds(topic).await.unwrap().iter().enumerate() {
            let partition = u32::try_from(partition).unwrap();
            records.extend(self.ports.topics.read(topic, partition, 0, 100_000).await.unwrap());
        }
        records
    }

    async fn announcements(&self) -> Vec<Announcement> {
        let mut all = Vec::new();
        for record in self.records(topics::PENDING).await {
            let pending = wire::pending::decode(record.value.as_ref().unwrap()).unwrap();
            assert!(pending.announcements.len() <= ANNOUNCED_MAX);
            for announcement in pending.announcements {
                assert_eq!(record.partition, partition::of_person(&pending.tenant, &announcement.person));
                all.push(announcement);
            }
        }
        all
    }

    async fn rows(&self, who: &str, day: &str) -> Vec<Row> {
        let key = DayKey { tenant: tenant(), person: person(who), day: Day::parse(day).unwrap() };
        self.ports.store.read(&[key], at(NOON)).await.unwrap().concat()
    }

    /// What lies in everybody's day, a line each: `ann work:1 work_out follows author:7`.
    async fn told(&self, names: &[&str], day: &str) -> BTreeSet<String> {
        let mut lines = BTreeSet::new();
        for name in names {
            for row in self.rows(name, day).await {
                let Row::Entry(entry) = row else { panic!("{row:?}") };
                lines.insert(format!(
                    "{name} {} {} {}",
                    entry.subject, entry.reason.kind, entry.reason.because
                ));
            }
        }
        lines
    }
}

const EVERYBODY: [&str; 5] = ["ann", "bob", "cat", "dan", "eve"];

/// Publishes into a fresh house with these follows, twice, and compares what lies in the days.
async fn check(follows: &[&str], events: &[&str], expected: &[&str]) {
    let house = House::new().await;
    house.follows(follows).await;
    let events: Vec<Event> = events.iter().map(|text| published(text)).collect();
    for round in 0..2 {
        house.publish(&events).await;
        house.settle().await;
        let told = house.told(&EVERYBODY, "2026-11-21").await;
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(told, expected, "{follows:?} {events:?} round {round}");
    }
    assert!(house.records(topics::QUARANTINE).await.is_empty());
}

#[tokio::test]
async fn followers_are_told_once_for_each_reason() {
    check(&[], &["1 by author:7"], &[]).await;
    check(
        &["ann author:7", "bob author:7", "cat author:8", "-bob author:7"],
        &["1 by author:7"],
        &["ann work:1 work_out follows author:7"],
    )
    .await;
    // Two reasons of one person are two rows.
    check(
        &["ann author:7", "ann house:3", "ann work:1", "bob house:3"],
        &["1 by author:7 in house:3"],
        &[
            "ann work:1 work_out follows author:7",
            "ann work:1 work_out follows house:3",
            "ann work:1 work_seen follows work:1",
            "bob work:1 work_out follows house:3",
        ],
    )
    .await;
    // Nobody is told of their own doing.
    check(
        &["ann author:7", "bob author:7"],
        &["1 by author:7 from ann", "2 by author:7"],
        &[
            "ann work:2 work_out follows author:7",
            "bob work:1 work_out follows author:7",
            "bob work:2 work_out follows author:7",
        ],
    )
    .await;
}

#[tokio::test]
async fn what_an_event_does_not_state_is_known_of_its_subject() {
    let house = House::new().await;
    house.follows(&["ann author:7", "bob house:3", "cat author:8"]).await;
    let stored = State::at(
        1,
        [("author", Some(Value::Ref(subject("author:7")))), ("house", Some(Value::Ref(subject("house:3"))))],
    );
    house.ports.store.merge(vec![(StateKey::Subject(tenant(), subject("work:1")), stored)]).await.unwrap();
    let mut event = published("1 by author:8");
    house.publish(std::slice::from_ref(&event)).await;
    // What it states to be gone is gone, whatever is stored.
    event.key = EventKey([1; 16]);
    event.state = State::at(2, [("author", None::<Value>), ("house", None)]);
    house.publish(&[event]).await;
    house.settle().await;
    let told = house.told(&EVERYBODY, "2026-11-21").await;
    let expected = ["bob work:1 work_out follows house:3", "cat work:1 work_out follows author:8"];
    assert_eq!(told, expected.map(str::to_owned).into());
}

#[tokio::test]
async fn announcements_say_whose_days_have_rows() {
    let house = House::new().await;
    house.follows(&["ann author:7", "ann house:3", "bob author:7"]).await;
    house
        .publish(&[published("1 by author:7 in house:3"), published("2 by author:7 at 2026-11-20T23:59:59Z")])
        .await;
    house.settle().await;
    let mut rows = [0_u32; 2];
    for announcement in house.announcements().await {
        assert!(!announcement.full);
        assert_eq!(announcement.kinds.iter().map(ToString::to_string).collect::<Vec<_>>(), ["work_out"]);
        assert!(["2026-11-20", "2026-11-21"].contains(&announcement.day.to_string().as_str()));
        rows[usize::from(announcement.person == person("bob"))] += announcement.rows;
    }
    assert_eq!(rows, [3, 2]);
    assert_eq!(house.rows("ann", "2026-11-20").await.len(), 1);
}

#[tokio::test]
async fn a_full_day_is_only_counted_and_the_erased_are_passed_over() {
    let house = House::new().await;
    house.follows(&["ann author:7", "bob author:7", "cat author:7", "dan author:7"]).await;
    let today = Day::parse("2026-11-21").unwrap();
    house.profile("ann", profile::FULL_DAY, Value::Number(f64::from(today.0))).await;
    house.profile("bob", profile::FULL_DAY, Value::Number(f64::from(today.0 - 1))).await;
    house.profile("cat", profile::ERASED, Value::Flag(true)).await;
    house.profile("dan", profile::ERASED, Value::Flag(false)).await;
    house.publish(&[published("1 by author:7")]).await;
    house.settle().await;
    let told = house.told(&EVERYBODY, "2026-11-21").await;
    let expected = ["bob work:1 work_out follows author:7", "dan work:1 work_out follows author:7"];
    assert_eq!(told, expected.map(str::to_owned).into());
    let said: BTreeSet<_> =
        house.announcements().await.into_iter().map(|a| (a.person.to_string(), a.rows, a.full)).collect();
    let expected =
        [("ann", true), ("bob", false), ("dan", false)].map(|(name, full)| (name.to_owned(), 1, full));
    assert_eq!(said, expected.into());
}

#[tokio::test]
async fn expired_and_undecodable_records_do_not_stop_the_partition() {
    let house = House::new().await;
    house.follows(&["ann author:7"]).await;
    let partition = partition::of_subject(&tenant(), &subject("work:1"));
    let bad = |value: &[u8]| NewRecord {
        topic: topics::EVENTS.into(),
        partition,
        key: Vec::new(),
        value: Some(value.to_vec()),
    };
    house.publish(&[published("1 by author:7 at 2026-10-31T23:59:59Z")]).await;
    house.ports.topics.append(vec![bad(b"no event"), bad(b"")]).await.unwrap();
    let mut other = published("1 by author:7");
    other.what = "work.unheard".to_owned();
    let mut odd = published("1");
    odd.subject = subject("author:1");
    house.publish(&[other, odd, published("1 by author:7")]).await;
    house.settle().await;
    assert_eq!(
        house.told(&EVERYBODY, "2026-11-21").await,
        ["ann work:1 work_out follows author:7".to_owned()].into()
    );
    assert!(house.rows("ann", "2026-10-31").await.is_empty());
    let aside = house.records(topics::QUARANTINE).await;
    let aside: Vec<_> =
        aside.iter().map(|r| wire::quarantined::decode(r.value.as_ref().unwrap()).unwrap()).collect();
    assert_eq!(
        aside.iter().map(|q| (q.topic.as_str(), q.offset)).collect::<Vec<_>>(),
        [("events", 1), ("events", 2)]
    );
}

#[tokio::test]
async fn a_turn_of_many_events_for_the_same_followers_reaches_all() {
    let house = House::new().await;
    let names: Vec<String> = (0..700).map(|n| format!("p{n}")).collect();
    let follows: Vec<String> = names.iter().map(|name| format!("{name} author:7")).collect();
    house.follows(&follows.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let events: Vec<Event> =
        (0..30).map(|n| published(&format!("1 by author:7 at 2026-11-21T10:00:{n:02}Z"))).collect();
    house.publish(&events).await;
    house.settle().await;
    for name in &names {
        assert_eq!(house.rows(name, "2026-11-21").await.len(), 30, "{name}");
    }
    let announced: u32 = house.announcements().await.iter().map(|a| a.rows).sum();
    assert_eq!(announced, 21_000);
}

/// An audience of several slices: nobody is missed where one ends and the next begins, and there is never
/// more in hand than one sheet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twelve_thousand_followers_are_told() {
    const MANY: usize = 12_000;
    let house = House::new().await;
    let follow = |n| Follow {
        tenant: tenant(),
        person: person(&format!("p{n}")),
        target: subject("author:7"),
        version: 1,
        on: true,
    };
    house.ports.store.follow((0..MANY).map(follow).collect()).await.unwrap();
    house.publish(&[published("1 by author:7")]).await;
    // In the middle of it the log is busy: all of it is done again.
    house.watching.fails.store(1, Ordering::SeqCst);
    let watch = Stopwatch::start();
    house.settle().await;
    println!("{MANY} followers told in {:?}, once interrupted", watch.elapsed());
    let day = Day::parse("2026-11-21").unwrap();
    let key = |n| DayKey { tenant: tenant(), person: person(&format!("p{n}")), day };
    let keys: Vec<DayKey> = (0..MANY).map(key).collect();
    let rows = house.ports.store.read(&keys, at(NOON)).await.unwrap();
    assert!(rows.iter().all(|rows| rows.len() == 1));
    let announced: BTreeSet<Person> = house.announcements().await.into_iter().map(|a| a.person).collect();
    assert_eq!(announced.len(), MANY);
    assert!(house.watching.most.load(Ordering::SeqCst) <= SHEET_ROWS_MAX as u64);
}

/// Law 4: when an announcement reaches the log, the rows it speaks of can be read.
#[tokio::test]
async fn law_4_stored_then_announced() {
    let house = House::new().await;
    house.follows(&["ann author:7", "bob author:7", "bob house:3"]).await;
    house.publish(&[published("1 by author:7 in house:3"), published("2 by author:7")]).await;
    house.settle().await;
    assert!(!house.announcements().await.is_empty());
    assert_eq!(house.watching.early.load(Ordering::SeqCst), 0, "announced before it was stored");
}

proptest! {
    /// Laws 1 and 13: however an audience is cut into slices, the same rows come of it, and as many are
    /// announced as are written.
    #[test]
    fn law_1_rows_do_not_depend_on_the_slices(
        told in prop::collection::vec((0..4_usize, 0..2_usize), 1..8),
        persons in prop::collection::btree_set(0..40_u8, 1..30),
        cuts in prop::collection::vec(1..30_usize, 0..6),
        actor in 0..40_u8,
    ) {
        let mut events: Vec<Event> = (0..4).map(|n| published(&format!("{n} by author:7"))).collect();
        events[0].actor = Some(person(&format!("p{actor}")));
        let kinds = ["work_out", "work_seen"].map(|kind| Kind::new(kind).unwrap());
        let told: BTreeSet<_> = told.into_iter().map(|(event, kind)| (event, kinds[kind].clone())).collect();
        let reach = Reach { tenant: tenant(), target: subject("author:7"), told: told.into_iter().collect() };
        let persons: Vec<Person> = persons.into_iter().map(|n| person(&format!("p{n}"))).collect();
        let states = [(StateKey::Person(tenant(), person("p7")), State::at(1, [(profile::ERASED, Some(Value::Flag(true)))]))];
        let rows_of = |slices: Vec<Vec<Person>>, together: bool| {
            let mut rows = BTreeSet::new();
            let mut sheets = vec![Sheet::default()];
            for slice in slices {
                sheets.last_mut().unwrap().add(&reach, slice);
                if !together {
                    sheets.push(Sheet::default());
                }
            }
            for sheet in sheets {
                let resolved = resolve(&sheet, &events, &states.clone().into());
                let announced = resolved.announcements.iter().flat_map(|(_, pending)| &pending.announcements);
                assert_eq!(announced.map(|a| u64::from(a.rows)).sum::<u64>(), resolved.counts.rows);
                rows.extend(resolved.rows.into_iter().flat_map(|day| day.rows.into_iter().map(move |row| (day.key.clone(), row))));
            }
            rows
        };
        let whole = rows_of(vec![persons.clone()], true);
        let mut rest = persons.as_slice();
        let mut slices = Vec::new();
        for cut in cuts {
            let (slice, left) = rest.split_at(cut.min(rest.len()));
            slices.push(slice.to_vec());
            rest = left;
        }
        slices.push(rest.to_vec());
        prop_assert_eq!(&rows_of(slices.clone(), true), &whole);
        prop_assert_eq!(&rows_of(slices, false), &whole);
        prop_assert!(whole.iter().all(|(day, _)| day.person != person("p7")), "the erased are told nothing");
    }
}
