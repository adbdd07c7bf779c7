//! Tests of the room on the embedded engines: what lies on `ready`, in days and in `quarantine` after it.

mod counting;
mod editions;
mod needs;
mod ranks;

use std::sync::Arc;

use catalogue::Catalogue;
use model::{
    Because, Channel, Crowd, Enrolment, Entry, EntryKey, EventKey, Fact, Fate, Kind, Millis, Person,
    PlanName, Reason, Row, State, SubjectRef, Tenant, Value, Why,
    civil::Zones,
    delivery::{Delivery, Outcome},
    edition::Editions,
    entry::DayKey,
    fold::fold,
    limits::{DAY_ROWS_FULL, DAY_ROWS_SHUT, TURN_ROWS_MAX},
    partition::Partitions,
    person::{Act, mutes, notes, profile},
    ready::Ready,
};
use runtime::{Clock, Quiet, Shutdown, metrics::Metrics};
use store::{Crowds as _, DayRows, Days as _, StateKey, States as _};
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
  work_shown:
    like: work_out
    on: work.shown
    plans: [daily, weekly]
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    once_per: subject
    from: Sample <news@example.com>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: Works, kinds: [work_out, work_shown], most: 2, order: newest}
  weekly:
    channel: email
    close: {weekly: "09:00", on: [wed], zone: person}
    look_back: 14d
    from: Sample <news@example.com>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: Works, kinds: [work_shown], most: 2, order: newest}
"#;

fn catalogue(text: &str) -> Catalogue {
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse(text, "catalogue.yaml", &template).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A house of one room, with a clock that stands at eight in the morning.
struct World {
    _dir: TempDir,
    clock: Clock,
    quiet: Quiet,
    shutdown: Shutdown,
    topics: Arc<dyn Topics>,
    store: Arc<counting::Counting>,
    editions: Editions,
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
        let store = store::embedded::Embedded::open(&dir.path().join("store")).unwrap();
        let store = Arc::new(counting::Counting::new(Arc::new(store)));
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
        let editions = Editions::new(editions::OWN, editions::OWN, editions::WAIT_MS);
        let mut world = Self { _dir: dir, clock, quiet, shutdown, topics, store, editions, room: None };
        world.known(&ann()).await;
        world.start();
        world
    }

    /// Somebody who can be told.
    async fn known(&self, who: &Person) {
        let values = [(profile::EMAIL, Some(Value::text("somebody@example.com")))];
        self.store
            .merge(vec![(StateKey::Person(tenant(), who.clone()), State::at(1, values))])
            .await
            .unwrap();
    }

    fn start(&mut self) {
        let metrics = DigestMetrics::declare(&Metrics::default()).unwrap();
        let ports = Ports {
            live: Arc::new(live::Unasked),
            partitions: Partitions::USUAL,
            editions: self.editions.clone(),
            topics: self.topics.clone(),
            store: self.store.clone(),
            catalogue: Arc::new(catalogue(CATALOGUE)),
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
        let watchdog = tokio::time::timeout(std::time::Duration::from_secs(120), async {
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
        self.happens(&ann(), "work_out", (n, n), occurred, public).await
    }

    /// Stores and announces an event about a work of `author:1`, whom the person follows.
    async fn happens(
        &self,
        who: &Person,
        kind: &str,
        (event, work): (u8, u8),
        occurred: i64,
        public: bool,
    ) -> EntryKey {
        let (author, work) = (subject("author:1"), subject(&format!("work:{work}")));
        let crowd = Crowd::Followers(author.clone());
        let follows = Enrolment { tenant: tenant(), person: who.clone(), crowd, version: 1, on: true };
        self.store.enrol(vec![follows]).await.unwrap();
        let fields = [("public", Value::Flag(public)), ("author", Value::Ref(author.clone()))];
        let state = State::at(1, fields.map(|(name, value)| (name, Some(value))));
        self.store.merge(vec![(StateKey::Subject(tenant(), work.clone()), state)]).await.unwrap();
        let key = EntryKey { occurred: Millis(occurred), event: EventKey([event; 16]) };
        let kind = Kind::new(kind).unwrap();
        let reason = Reason { kind: kind.clone(), because: Because::Follows(author) };
        let day = DayKey { tenant: tenant(), person: who.clone(), day: key.day() };
        let actor = Some(Person::new("zoe").unwrap());
        let rows = vec![Row::Entry(Entry { key, reason, subject: work, actor })];
        self.store.write(vec![DayRows { key: day, rows }], Millis(self.clock.now())).await.unwrap();
        self.announce(who, kind, key, 1).await;
        key
    }

    async fn announce(&self, who: &Person, kind: Kind, key: EntryKey, rows: u32) {
        let announcement = Announcement {
            person: who.clone(),
            day: key.day(),
            rows,
            kinds: vec![kind],
            windows: vec![],
            full: false,
        };
        let pending = Pending { tenant: tenant(), announcements: vec![announcement] };
        self.append(topics::PENDING, wire::pending::encode(&pending).unwrap()).await;
    }

    /// Ann says by which plan she wants her mail.
    async fn prefers(&self, version: i64, plan: Option<&str>) {
        let state = State::at(version, [(profile::EMAIL_PLAN, plan.map(Value::text))]);
        self.store.merge(vec![(StateKey::Person(tenant(), ann()), state.clone())]).await.unwrap();
        let fact = Fact::Profile { tenant: tenant(), person: ann(), state };
        self.append(topics::INBOX, wire::inbox::encode(&Inbox::Fact(fact)).unwrap()).await;
        self.settle().await;
    }

    async fn by_hand(&self, act: Act, at: i64) {
        let plan = PlanName::new("daily").unwrap();
        let by_hand = Inbox::ByHand { tenant: tenant(), person: ann(), act, plan, key: None, at: Millis(at) };
        self.append(topics::INBOX, wire::inbox::encode(&by_hand).unwrap()).await;
        self.settle().await;
    }

    /// The sender says what became of Ann's Ready.
    async fn report(&self, ready: &Ready, outcome: Outcome) {
        let delivery = Delivery {
            ready: ready.id,
            tenant: tenant(),
            person: ann(),
            plan: ready.plan.clone(),
            key: ready.key.clone(),
            channel: ready.channel,
            attempt: ready.attempt,
            at: Millis(self.clock.now()),
            outcome,
        };
        self.append(topics::INBOX, wire::inbox::encode(&Inbox::Delivery(Box::new(delivery))).unwrap()).await;
    }

    /// A work of `author:1` for so many persons of one partition.
    async fn work_for(&self, many: usize) {
        let own = Partitions::USUAL.of_person(&tenant(), &ann());
        let names = (0..).map(|n| Person::new(&format!("p{n}")).unwrap());
        let here = names.filter(|who| Partitions::USUAL.of_person(&tenant(), who) == own);
        for who in here.take(many) {
            self.known(&who).await;
            self.happens(&who, "work_out", (1, 1), EIGHT, true).await;
        }
    }

    /// How many entries each Ready has.
    async fn told(&self) -> Vec<usize> {
        self.readys().await.iter().map(|ready| ready.entries.len()).collect()
    }

    async fn append(&self, topic: &str, value: Vec<u8>) {
        let (partition, key) = (Partitions::USUAL.of_person(&tenant(), &ann()), b"ann".to_vec());
        self.topics
            .append(vec![NewRecord {
                topic: topic.into(),
                partition,
                key,
                value: Some(value),
                headers: Vec::new(),
            }])
            .await
            .unwrap();
    }

    async fn to(&self, at: i64) {
        self.settle().await;
        self.clock.advance_to(at);
        self.settle().await;
    }

    async fn readys(&self) -> Vec<Ready> {
        let partition = Partitions::USUAL.of_person(&tenant(), &ann());
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

/// How much was heard is a hint, and a record for each announcement would be most of what a busy person costs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_joins_an_open_window_writes_no_record() {
    let mut world = World::new().await;
    let partition = Partitions::USUAL.of_person(&tenant(), &ann());
    let records = async |world: &World| {
        world.settle().await;
        let bounds = world.topics.bounds(topics::WINDOWS).await.unwrap();
        bounds[partition as usize].1
    };
    world.work(1, EIGHT - 5, true).await;
    let opened = records(&world).await;
    world.work(2, EIGHT - 4, true).await;
    assert_eq!(records(&world).await, opened, "the same day, the same instant");
    world.crash_and_start().await;
    world.work(3, EIGHT - DAY, true).await;
    assert!(records(&world).await > opened, "another day");
    world.to(EIGHT + HOUR).await;
    world.to(EIGHT + HOUR + DAY).await;
    assert_eq!(world.told().await, [2, 1], "all of it is told, whatever the crash lost");
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
    world.report(&ready, Outcome::Unknown { back: vec![key], left: Vec::new() }).await;
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
    let partition = Partitions::USUAL.of_person(&tenant(), &ann());
    world.topics.read(topics::WINDOWS, partition, 0, 100).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subject_is_told_once_within_the_look_back() {
    let world = World::new().await;
    let first = world.work(1, EIGHT, true).await;
    world.to(EIGHT + HOUR).await;
    world.to(EIGHT + 2 * DAY).await;
    // The same work again on another day, in another kind, and one that is new.
    let again = world.happens(&ann(), "work_out", (2, 1), EIGHT + 2 * DAY, true).await;
    let shown = world.happens(&ann(), "work_shown", (3, 1), EIGHT + DAY, true).await;
    let other = world.work(4, EIGHT + 2 * DAY, true).await;
    world.to(EIGHT + 2 * DAY + HOUR).await;
    let readys = world.readys().await;
    let told: Vec<Vec<EntryKey>> =
        readys.iter().map(|ready| ready.entries.iter().map(|entry| entry.key).collect()).collect();
    assert_eq!(told, [vec![first], vec![other]]);
    for key in [again, shown] {
        assert_eq!(world.fate(key).await, Fate::Ended(Why::ToldBefore), "{key}");
    }
    // Seven days after the day of what was told it is still once, and then it may be told again.
    let still = world.happens(&ann(), "work_out", (5, 1), EIGHT + 6 * DAY, true).await;
    world.to(EIGHT + 7 * DAY + HOUR).await;
    assert_eq!(world.fate(still).await, Fate::Ended(Why::ToldBefore));
    world.to(EIGHT + 8 * DAY).await;
    let anew = world.happens(&ann(), "work_out", (6, 1), EIGHT + 8 * DAY, true).await;
    world.to(EIGHT + 8 * DAY + HOUR).await;
    assert!(matches!(world.fate(anew).await, Fate::Told { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_counts_is_when_a_subject_was_told_and_not_when_it_happened() {
    let world = World::new().await;
    // It comes late and is told after five days, which are not in the look-back of the closing after eight.
    world.to(EIGHT + 5 * DAY).await;
    let first = world.work(1, EIGHT, true).await;
    world.to(EIGHT + 5 * DAY + HOUR).await;
    assert!(matches!(world.fate(first).await, Fate::Told { .. }));
    for (day, n) in [(8, 2), (12, 3)] {
        world.to(EIGHT + day * DAY).await;
        let again = world.happens(&ann(), "work_out", (n, 1), EIGHT + day * DAY, true).await;
        world.to(EIGHT + day * DAY + HOUR).await;
        assert_eq!(world.fate(again).await, Fate::Ended(Why::ToldBefore), "after {day} days");
    }
    world.to(EIGHT + 13 * DAY).await;
    let anew = world.happens(&ann(), "work_out", (4, 1), EIGHT + 13 * DAY, true).await;
    world.to(EIGHT + 13 * DAY + HOUR).await;
    assert!(matches!(world.fate(anew).await, Fate::Told { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_plan_that_looks_further_back_told_is_told_before() {
    let world = World::new().await;
    world.to(EIGHT + 7 * DAY).await;
    world.prefers(2, Some("weekly")).await;
    let first = world.happens(&ann(), "work_shown", (1, 1), EIGHT, true).await;
    // On the Wednesday, after eleven days.
    world.to(EIGHT + 11 * DAY + HOUR).await;
    assert!(matches!(world.fate(first).await, Fate::Told { .. }));
    world.prefers(3, None).await;
    world.to(EIGHT + 16 * DAY).await;
    let again = world.happens(&ann(), "work_shown", (2, 1), EIGHT + 16 * DAY, true).await;
    world.to(EIGHT + 16 * DAY + HOUR).await;
    assert_eq!(world.fate(again).await, Fate::Ended(Why::ToldBefore));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subject_in_a_ready_that_waits_is_told_by_another_if_that_one_leaves_it_out() {
    // When the Ready is issued again, and whether its entry still holds then.
    let check = |until: i64, unfollowed: bool| async move {
        let world = World::new().await;
        let first = world.work(1, EIGHT, true).await;
        world.to(EIGHT + HOUR).await;
        let ready = world.readys().await.remove(0);
        world.report(&ready, Outcome::Deferred { until: Millis(until), ready: ready.clone() }).await;
        world.to(EIGHT + 2 * HOUR).await;
        let again = world.happens(&ann(), "work_shown", (2, 1), EIGHT + 2 * HOUR, true).await;
        world.to(EIGHT + DAY + HOUR).await;
        assert_eq!(world.fate(again).await, Fate::Waiting { carried: false }, "until {until}");
        world.to(EIGHT + DAY + 3 * HOUR).await;
        let readys = world.readys().await;
        assert_eq!(readys.iter().map(|ready| ready.attempt).collect::<Vec<_>>(), [0, 1]);
        let left = if unfollowed { vec![(first, Why::Unfollowed)] } else { Vec::new() };
        world.report(&readys[1], Outcome::Sent { left }).await;
        world.to(EIGHT + 2 * DAY + HOUR).await;
        let fate = world.fate(again).await;
        match unfollowed {
            true => assert!(matches!(fate, Fate::Told { ready } if ready != readys[0].id), "{fate}"),
            false => assert_eq!(fate, Fate::Ended(Why::ToldBefore)),
        }
    };
    check(EIGHT + DAY + 2 * HOUR, true).await;
    check(EIGHT + DAY + 2 * HOUR, false).await;
    // Issued again in the very turn in which the window closes.
    check(EIGHT + DAY + HOUR, true).await;
    check(EIGHT + DAY + HOUR, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_told_in_a_ready_that_came_back_is_not_told_before() {
    let world = World::new().await;
    let first = world.work(1, EIGHT, true).await;
    world.to(EIGHT + HOUR).await;
    let ready = world.readys().await.remove(0);
    world.report(&ready, Outcome::Unknown { back: vec![first], left: Vec::new() }).await;
    let again = world.happens(&ann(), "work_out", (2, 1), EIGHT + HOUR, true).await;
    world.to(EIGHT + HOUR + DAY).await;
    assert_eq!(world.told().await, [1, 2], "both entries, said once");
    assert!(matches!(world.fate(again).await, Fate::Told { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_days_that_were_announced_are_told() {
    let world = World::new().await;
    world.work(1, EIGHT, true).await;
    // Written, and its announcement is still on its way: a closing that looks back on that day leaves it alone.
    let early = EntryKey { occurred: Millis(EIGHT - DAY), event: EventKey([9; 16]) };
    let kind = Kind::new("work_out").unwrap();
    let reason = Reason { kind: kind.clone(), because: Because::Follows(subject("author:1")) };
    let row = Row::Entry(Entry { key: early, reason, subject: subject("work:1"), actor: None });
    let day = DayKey { tenant: tenant(), person: ann(), day: early.day() };
    world.store.write(vec![DayRows { key: day, rows: vec![row] }], Millis(EIGHT)).await.unwrap();
    world.to(EIGHT + HOUR).await;
    assert_eq!(world.told().await, [1]);
    assert_eq!(world.fate(early).await, Fate::Waiting { carried: false });
    world.announce(&ann(), kind, early, 1).await;
    world.to(EIGHT + HOUR + DAY).await;
    assert_eq!(world.fate(early).await, Fate::Ended(Why::ToldBefore));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_released_window_closes_at_once_and_only_once() {
    let world = World::new().await;
    for n in 1..=3 {
        world.work(n, EIGHT - i64::from(n), true).await;
    }
    world.to(EIGHT + HOUR / 6).await;
    world.by_hand(Act::Release, EIGHT + HOUR / 6).await;
    assert_eq!(world.told().await, [2]);
    assert_eq!(world.readys().await[0].due, Millis(EIGHT + HOUR / 6));
    // The record comes again, and what is left waits for the next date all the same.
    world.by_hand(Act::Release, EIGHT + HOUR / 6).await;
    world.to(EIGHT + HOUR + DAY - 1).await;
    assert_eq!(world.told().await, [2]);
    world.to(EIGHT + HOUR + DAY).await;
    assert_eq!(world.told().await, [2, 1]);
    // Nothing is open, and nothing is released.
    world.by_hand(Act::Release, EIGHT + HOUR + DAY).await;
    assert_eq!(world.told().await, [2, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_window_tells_nothing_and_only_once() {
    let world = World::new().await;
    let gone = world.work(1, EIGHT, true).await;
    world.to(EIGHT + HOUR / 6).await;
    world.by_hand(Act::Cancel, EIGHT + HOUR / 6).await;
    assert_eq!(world.fate(gone).await, Fate::Ended(Why::Cancelled));
    // What comes later on the same day is told at its hour, though the record comes again.
    let later = world.work(2, EIGHT + HOUR / 6 + 1, true).await;
    world.to(EIGHT + HOUR / 2).await;
    world.by_hand(Act::Cancel, EIGHT + HOUR / 6).await;
    world.to(EIGHT + HOUR).await;
    assert_eq!(world.told().await, [1]);
    assert!(matches!(world.fate(later).await, Fate::Told { .. }));
    assert_eq!(world.fate(gone).await, Fate::Ended(Why::Cancelled));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_follows_the_plan_that_is_preferred() {
    let world = World::new().await;
    // It is a Saturday; the week's mail is on Wednesdays.
    let shown = world.happens(&ann(), "work_shown", (1, 1), EIGHT, true).await;
    let out = world.work(2, EIGHT, true).await;
    world.settle().await;
    world.prefers(2, Some("weekly")).await;
    world.to(EIGHT + HOUR).await;
    assert_eq!(world.told().await, [1], "a kind that has no weekly mail comes as always");
    assert!(matches!(world.fate(out).await, Fate::Told { .. }));
    world.to(EIGHT + 3 * DAY + HOUR).await;
    assert_eq!(world.fate(shown).await, Fate::Waiting { carried: false });
    world.to(EIGHT + 4 * DAY + HOUR).await;
    assert!(matches!(world.fate(shown).await, Fate::Told { .. }));
    // And back again: it does not wait for another Wednesday.
    world.to(EIGHT + 5 * DAY).await;
    let shown = world.happens(&ann(), "work_shown", (3, 3), EIGHT + 5 * DAY, true).await;
    world.settle().await;
    world.prefers(3, None).await;
    world.to(EIGHT + 5 * DAY + HOUR).await;
    assert!(matches!(world.fate(shown).await, Fate::Told { .. }));
    world.to(EIGHT + 14 * DAY).await;
    let plans: Vec<String> =
        world.readys().await.iter().map(|ready| ready.plan.as_str().to_owned()).collect();
    assert_eq!(plans, ["daily", "weekly", "daily"], "each told once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_muted_and_who_was_erased_are_not_told() {
    let check = |key: StateKey, flag: String, expected: Fate| async move {
        let world = World::new().await;
        let entry = world.work(1, EIGHT, true).await;
        let state = State::at(1, [(flag.as_str(), Some(Value::Flag(true)))]);
        world.store.merge(vec![(key, state)]).await.unwrap();
        world.to(EIGHT + HOUR).await;
        assert_eq!(world.fate(entry).await, expected, "{flag}");
        assert!(world.readys().await.is_empty(), "{flag}");
    };
    let muted = || StateKey::Mutes(tenant(), ann());
    check(muted(), mutes::kind(&Kind::new("work_out").unwrap()), Fate::Ended(Why::Muted)).await;
    check(muted(), mutes::actor(&Person::new("zoe").unwrap()), Fate::Ended(Why::Muted)).await;
    check(muted(), mutes::subject(&subject("work:1")), Fate::Ended(Why::Muted)).await;
    check(StateKey::Notes(tenant(), ann()), notes::ERASED.to_owned(), Fate::Ended(Why::Erased)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_a_day_is_full_is_noted_of_the_person() {
    let world = World::new().await;
    let key = EntryKey { occurred: Millis(EIGHT), event: EventKey([1; 16]) };
    world.announce(&ann(), Kind::new("work_out").unwrap(), key, DAY_ROWS_FULL).await;
    world.settle().await;
    let of = [StateKey::Notes(tenant(), ann()), StateKey::Person(tenant(), ann())];
    let states = world.store.states(&of).await.unwrap();
    assert!(notes::is_full(&states[0], key.day()) && !notes::is_shut(&states[0], key.day()));
    assert!(!notes::is_full(&states[1], key.day()));
    // The next day does not take its place.
    let next = EntryKey { occurred: key.occurred.plus(-model::limits::DAY_MS), event: key.event };
    world.announce(&ann(), Kind::new("work_out").unwrap(), next, DAY_ROWS_SHUT).await;
    world.settle().await;
    let states = world.store.states(&of).await.unwrap();
    assert!([key.day(), next.day()].iter().all(|day| notes::is_full(&states[0], *day)));
    assert!(notes::is_shut(&states[0], next.day()) && !notes::is_shut(&states[0], key.day()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subject_is_read_once_for_all_who_are_due() {
    const MANY: usize = 200;
    let world = World::new().await;
    world.work_for(MANY).await;
    world.settle().await;
    world.store.forget();
    world.to(EIGHT + HOUR).await;
    assert_eq!(world.readys().await.len(), MANY);
    let asked = |of: &str| world.store.asked(&StateKey::Subject(tenant(), subject(of)));
    assert_eq!((asked("work:1"), asked("author:1")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_holds_so_many_rows_and_whoever_is_left_comes_next() {
    let check = |persons: usize, rows: usize, turns: usize| async move {
        let world = World::new().await;
        world.work_for(persons).await;
        world.settle().await;
        world.store.forget();
        world.store.swell(rows);
        world.to(EIGHT + HOUR).await;
        assert_eq!(world.told().await, vec![1; persons]);
        let read: Vec<usize> = world.store.rows().into_iter().filter(|rows| *rows > 0).collect();
        assert_eq!(read.iter().sum::<usize>(), persons * rows, "each is read once: {read:?}");
        assert_eq!(read.len(), turns, "{read:?}");
        // Some persons are read together, and the last of them may be one too many.
        assert!(persons == 1 || read.iter().all(|read| *read < TURN_ROWS_MAX + 4 * rows), "{read:?}");
    };
    check(60, 5_000, 3).await;
    check(1, TURN_ROWS_MAX + 1, 1).await;
}
