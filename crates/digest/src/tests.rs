//! Tests of the room on the embedded engines: what lies on `ready`, in days and in `quarantine` after it.

mod counting_store;
mod editions;
mod needs;
mod ranks;
mod traces;

use std::sync::Arc;

use house_facts::edition::EditionTracker;
use model::{
    AudienceMatch, Channel, Crowd, CrowdEnrolment, DayRow, EndReason, Entry, EntryKey, EntryReason, EventKey,
    Fact, Fate, Kind, Person, PlanName, UtcMillis, Value, VersionedState,
    delivery::{Delivery, DeliveryOutcome},
    entry::DayKey,
    fold::fold_rows,
    limits::{DAY_ROWS_FULL, DAY_ROWS_SHUT, TURN_ROWS_MAX},
    partition::PartitionCount,
    person::{Act, notes, profile},
    ready::Ready,
};
use room::testing::{RoomEngines, parse_catalogue, person, subject, tenant};
use runtime::metrics::Metrics;
use store::{CrowdStore as _, DayRows, DayStore as _, StateKey, StateStore as _};
use topic::NewRecord;
use wire::{AnnouncementBatch, DayAnnouncement, InboxItem, topics};

use crate::{Config, Deps, config::GROUP, metrics::DigestMetrics, run};

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

/// A house of one room, with a clock that stands at eight in the morning.
struct DigestWorld {
    _engines: RoomEngines,
    deps: room::Deps,
    store: Arc<counting_store::ReadCountingStore>,
    room: Option<tokio::task::JoinHandle<anyhow::Result<()>>>,
}

const EIGHT: i64 = 1_795_248_000_000; // 2026-11-21T08:00:00Z

fn ann() -> Person {
    person("ann")
}

impl DigestWorld {
    async fn new() -> Self {
        let engines = RoomEngines::open(UtcMillis(EIGHT)).await;
        let store = Arc::new(counting_store::ReadCountingStore::new(engines.store.clone()));
        let deps = room::Deps {
            store: store.clone(),
            editions: EditionTracker::new(editions::OWN, editions::OWN, editions::WAIT_MS),
            ..engines.deps(parse_catalogue(CATALOGUE))
        };
        let mut world = Self { _engines: engines, deps, store, room: None };
        world.add_person(&ann()).await;
        world.start();
        world
    }

    /// Somebody who can be told.
    async fn add_person(&self, who: &Person) {
        let values = [(profile::EMAIL, Some(Value::from_text("somebody@example.com")))];
        self.store
            .merge(vec![(StateKey::Person(tenant(), who.clone()), VersionedState::from_values(1, values))])
            .await
            .unwrap();
    }

    fn start(&mut self) {
        let metrics = DigestMetrics::declare(&Metrics::default()).unwrap();
        let deps = Deps { room: self.deps.clone(), live: Arc::new(live::UnknownConnections), metrics };
        // Counted as busy until the room's own loop is.
        let opening = self.deps.quiet.begin_work();
        self.room = Some(tokio::spawn(async move {
            let mut room =
                std::pin::pin!(run(deps, Config { records_max: 100, shares: std::sync::Arc::default() }));
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
                let (quiet, changes) = self.deps.quiet.idle_state();
                let overdue = self.deps.clock.next_wake().is_some_and(|at| at <= self.deps.clock.now());
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
            for standing in self.deps.topics.standing(GROUP, topic).await.unwrap() {
                lag += standing.end - standing.committed;
            }
        }
        lag
    }

    /// Stores and announces one work of `author:1`, whom ann follows.
    async fn publish_work(&self, n: u8, occurred: i64, public: bool) -> EntryKey {
        self.publish_event(&ann(), "work_out", (n, n), occurred, public).await
    }

    /// Stores and announces an event about a work of `author:1`, whom the person follows.
    async fn publish_event(
        &self,
        who: &Person,
        kind: &str,
        (event, work): (u8, u8),
        occurred: i64,
        public: bool,
    ) -> EntryKey {
        let (author, work) = (subject("author:1"), subject(&format!("work:{work}")));
        let crowd = Crowd::Followers(author.clone());
        let follows = CrowdEnrolment { tenant: tenant(), person: who.clone(), crowd, version: 1, on: true };
        self.store.enrol(vec![follows]).await.unwrap();
        let fields = [("public", Value::Flag(public)), ("author", Value::Ref(author.clone()))];
        let state = VersionedState::from_values(1, fields.map(|(name, value)| (name, Some(value))));
        self.store.merge(vec![(StateKey::Subject(tenant(), work.clone()), state)]).await.unwrap();
        let key = EntryKey { occurred: UtcMillis(occurred), event: EventKey([event; 16]) };
        let kind = Kind::new(kind).unwrap();
        let reason = EntryReason { kind: kind.clone(), because: AudienceMatch::Follows(author) };
        let day = DayKey { tenant: tenant(), person: who.clone(), day: key.day() };
        let actor = Some(Person::new("zoe").unwrap().into());
        let rows =
            vec![DayRow::Entry(Entry { key, reason, subject: work, actor, kept: model::KeptFields::new() })];
        self.store.write(vec![DayRows { key: day, rows }], UtcMillis(self.deps.clock.now())).await.unwrap();
        self.announce(who, kind, key, 1).await;
        key
    }

    async fn announce(&self, who: &Person, kind: Kind, key: EntryKey, rows: u32) {
        let announcement = DayAnnouncement {
            person: who.clone(),
            day: key.day(),
            rows,
            kinds: vec![kind],
            windows: vec![],
            full: false,
        };
        let pending = AnnouncementBatch { tenant: tenant(), announcements: vec![announcement] };
        self.append(topics::PENDING, wire::pending::encode(&pending).unwrap()).await;
    }

    /// Ann says by which plan she wants her mail.
    async fn prefer_plan(&self, version: i64, plan: Option<&str>) {
        let state = VersionedState::from_values(version, [(profile::EMAIL_PLAN, plan.map(Value::from_text))]);
        self.store.merge(vec![(StateKey::Person(tenant(), ann()), state.clone())]).await.unwrap();
        let fact = Fact::Profile { tenant: tenant(), person: ann(), state };
        self.append(topics::INBOX, wire::inbox::encode(&InboxItem::Fact(fact)).unwrap()).await;
        self.settle().await;
    }

    async fn act_by_hand(&self, act: Act, at: i64) {
        let plan = PlanName::new("daily").unwrap();
        let by_hand =
            InboxItem::ByHand { tenant: tenant(), person: ann(), act, plan, key: None, at: UtcMillis(at) };
        self.append(topics::INBOX, wire::inbox::encode(&by_hand).unwrap()).await;
        self.settle().await;
    }

    /// The sender says what became of Ann's Ready.
    async fn report_delivery(&self, ready: &Ready, outcome: DeliveryOutcome) {
        let delivery = Delivery {
            ready: ready.id,
            tenant: tenant(),
            person: ann(),
            plan: ready.plan.clone(),
            key: ready.key.clone(),
            channel: ready.channel,
            attempt: ready.attempt,
            at: UtcMillis(self.deps.clock.now()),
            outcome,
        };
        self.append(topics::INBOX, wire::inbox::encode(&InboxItem::Delivery(Box::new(delivery))).unwrap())
            .await;
    }

    /// A work of `author:1` for so many persons of one partition.
    async fn publish_work_for(&self, many: usize) {
        let own = PartitionCount::USUAL.of_person(&tenant(), &ann());
        let names = (0..).map(|n| Person::new(&format!("p{n}")).unwrap());
        let here = names.filter(|who| PartitionCount::USUAL.of_person(&tenant(), who) == own);
        for who in here.take(many) {
            self.add_person(&who).await;
            self.publish_event(&who, "work_out", (1, 1), EIGHT, true).await;
        }
    }

    /// How many entries each Ready has.
    async fn told_counts(&self) -> Vec<usize> {
        self.readys().await.iter().map(|ready| ready.entries.len()).collect()
    }

    async fn append(&self, topic: &str, value: Vec<u8>) {
        let (partition, key) = (PartitionCount::USUAL.of_person(&tenant(), &ann()), b"ann".to_vec());
        self.deps
            .topics
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

    async fn advance_to(&self, at: i64) {
        self.settle().await;
        self.deps.clock.advance_to(at);
        self.settle().await;
    }

    async fn readys(&self) -> Vec<Ready> {
        let partition = PartitionCount::USUAL.of_person(&tenant(), &ann());
        let mut records = Vec::new();
        for lane in topics::READY_LANES {
            records.extend(self.deps.topics.read(lane, partition, 0, 1_000).await.unwrap());
        }
        records.iter().map(|record| wire::ready::decode(record.value.as_deref().unwrap()).unwrap()).collect()
    }

    async fn fate(&self, key: EntryKey) -> Fate {
        let day = DayKey { tenant: tenant(), person: ann(), day: key.day() };
        let rows = self.store.read(&[day], UtcMillis(self.deps.clock.now())).await.unwrap().remove(0);
        fold_rows(&rows).get(key).unwrap().fate(Channel::Email)
    }
}

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_closes_at_nine_with_what_still_holds() {
    let world = DigestWorld::new().await;
    let first = world.publish_work(1, EIGHT - HOUR, true).await;
    let hidden = world.publish_work(2, EIGHT - HOUR, false).await;
    let yesterday = world.publish_work(3, EIGHT - DAY, true).await;
    world.advance_to(EIGHT + HOUR - 1).await;
    assert!(world.readys().await.is_empty());
    world.advance_to(EIGHT + HOUR).await;
    let readys = world.readys().await;
    assert_eq!(readys.len(), 1);
    let told: Vec<_> = readys[0].entries.iter().map(|entry| entry.key).collect();
    assert_eq!(told, [first, yesterday]);
    assert_eq!(world.fate(first).await, Fate::Told { ready: readys[0].id });
    assert_eq!(world.fate(yesterday).await, Fate::Told { ready: readys[0].id });
    assert_eq!(world.fate(hidden).await, Fate::Ended(EndReason::NoLongerTrue));
    world.advance_to(EIGHT + 3 * DAY).await;
    assert_eq!(world.readys().await.len(), 1, "told once, never again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_over_the_budget_comes_the_next_day_also_after_a_crash() {
    let mut world = DigestWorld::new().await;
    for n in 1..=3 {
        world.publish_work(n, EIGHT - i64::from(n), true).await;
    }
    world.advance_to(EIGHT + HOUR).await;
    world.crash_and_start().await;
    world.advance_to(EIGHT + HOUR + DAY).await;
    let readys = world.readys().await;
    assert_eq!(readys.iter().map(|ready| ready.entries.len()).collect::<Vec<_>>(), [2, 1]);
    assert_ne!(readys[0].id, readys[1].id);
}

/// How much was heard is a hint, and a record for each announcement would be most of what a busy person costs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_joins_an_open_window_writes_no_record() {
    let mut world = DigestWorld::new().await;
    let partition = PartitionCount::USUAL.of_person(&tenant(), &ann());
    let records = async |world: &DigestWorld| {
        world.settle().await;
        let bounds = world.deps.topics.bounds(topics::WINDOWS).await.unwrap();
        bounds[partition as usize].1
    };
    world.publish_work(1, EIGHT - 5, true).await;
    let opened = records(&world).await;
    world.publish_work(2, EIGHT - 4, true).await;
    assert_eq!(records(&world).await, opened, "the same day, the same instant");
    world.crash_and_start().await;
    world.publish_work(3, EIGHT - DAY, true).await;
    assert!(records(&world).await > opened, "another day");
    world.advance_to(EIGHT + HOUR).await;
    world.advance_to(EIGHT + HOUR + DAY).await;
    assert_eq!(world.told_counts().await, [2, 1], "all of it is told, whatever the crash lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_bytes_go_to_quarantine_and_the_partition_goes_on() {
    let world = DigestWorld::new().await;
    world.append(topics::PENDING, b"not a record".to_vec()).await;
    world.append(topics::INBOX, vec![0xC3, 1, 2, 3]).await;
    world.publish_work(1, EIGHT, true).await;
    world.advance_to(EIGHT + HOUR).await;
    assert_eq!(world.readys().await.len(), 1);
    assert_eq!(world.deps.topics.bounds(topics::QUARANTINE).await.unwrap(), [(0, 2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_back_is_told_in_the_next_digest() {
    let world = DigestWorld::new().await;
    let key = world.publish_work(1, EIGHT, true).await;
    world.advance_to(EIGHT + HOUR).await;
    let ready = world.readys().await.remove(0);
    world.report_delivery(&ready, DeliveryOutcome::Unknown { back: vec![key], left: Vec::new() }).await;
    world.settle().await;
    assert_eq!(world.fate(key).await, Fate::Waiting { carried: false });
    world.advance_to(EIGHT + HOUR + DAY).await;
    let readys = world.readys().await;
    assert_eq!(readys.len(), 2);
    assert!(readys[1].entries[0].maybe);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_is_spent_leaves_the_topic() {
    let world = DigestWorld::new().await;
    world.publish_work(1, EIGHT, true).await;
    world.advance_to(EIGHT + HOUR).await;
    world.advance_to(EIGHT + 5 * DAY).await;
    let state = topic_state(&world).await;
    assert!(state.is_empty(), "{state:?}");
}

async fn topic_state(world: &DigestWorld) -> Vec<topic::TopicRecord> {
    let partition = PartitionCount::USUAL.of_person(&tenant(), &ann());
    world.deps.topics.read(topics::WINDOWS, partition, 0, 100).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subject_is_told_once_within_the_look_back() {
    let world = DigestWorld::new().await;
    let first = world.publish_work(1, EIGHT, true).await;
    world.advance_to(EIGHT + HOUR).await;
    world.advance_to(EIGHT + 2 * DAY).await;
    // The same work again on another day, in another kind, and one that is new.
    let again = world.publish_event(&ann(), "work_out", (2, 1), EIGHT + 2 * DAY, true).await;
    let shown = world.publish_event(&ann(), "work_shown", (3, 1), EIGHT + DAY, true).await;
    let other = world.publish_work(4, EIGHT + 2 * DAY, true).await;
    world.advance_to(EIGHT + 2 * DAY + HOUR).await;
    let readys = world.readys().await;
    let told: Vec<Vec<EntryKey>> =
        readys.iter().map(|ready| ready.entries.iter().map(|entry| entry.key).collect()).collect();
    assert_eq!(told, [vec![first], vec![other]]);
    for key in [again, shown] {
        assert_eq!(world.fate(key).await, Fate::Ended(EndReason::ToldBefore), "{key}");
    }
    // Seven days after the day of what was told it is still once, and then it may be told again.
    let still = world.publish_event(&ann(), "work_out", (5, 1), EIGHT + 6 * DAY, true).await;
    world.advance_to(EIGHT + 7 * DAY + HOUR).await;
    assert_eq!(world.fate(still).await, Fate::Ended(EndReason::ToldBefore));
    world.advance_to(EIGHT + 8 * DAY).await;
    let anew = world.publish_event(&ann(), "work_out", (6, 1), EIGHT + 8 * DAY, true).await;
    world.advance_to(EIGHT + 8 * DAY + HOUR).await;
    assert!(matches!(world.fate(anew).await, Fate::Told { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_counts_is_when_a_subject_was_told_and_not_when_it_happened() {
    let world = DigestWorld::new().await;
    // It comes late and is told after five days, which are not in the look-back of the closing after eight.
    world.advance_to(EIGHT + 5 * DAY).await;
    let first = world.publish_work(1, EIGHT, true).await;
    world.advance_to(EIGHT + 5 * DAY + HOUR).await;
    assert!(matches!(world.fate(first).await, Fate::Told { .. }));
    for (day, n) in [(8, 2), (12, 3)] {
        world.advance_to(EIGHT + day * DAY).await;
        let again = world.publish_event(&ann(), "work_out", (n, 1), EIGHT + day * DAY, true).await;
        world.advance_to(EIGHT + day * DAY + HOUR).await;
        assert_eq!(world.fate(again).await, Fate::Ended(EndReason::ToldBefore), "after {day} days");
    }
    world.advance_to(EIGHT + 13 * DAY).await;
    let anew = world.publish_event(&ann(), "work_out", (4, 1), EIGHT + 13 * DAY, true).await;
    world.advance_to(EIGHT + 13 * DAY + HOUR).await;
    assert!(matches!(world.fate(anew).await, Fate::Told { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_plan_that_looks_further_back_told_is_told_before() {
    let world = DigestWorld::new().await;
    world.advance_to(EIGHT + 7 * DAY).await;
    world.prefer_plan(2, Some("weekly")).await;
    let first = world.publish_event(&ann(), "work_shown", (1, 1), EIGHT, true).await;
    // On the Wednesday, after eleven days.
    world.advance_to(EIGHT + 11 * DAY + HOUR).await;
    assert!(matches!(world.fate(first).await, Fate::Told { .. }));
    world.prefer_plan(3, None).await;
    world.advance_to(EIGHT + 16 * DAY).await;
    let again = world.publish_event(&ann(), "work_shown", (2, 1), EIGHT + 16 * DAY, true).await;
    world.advance_to(EIGHT + 16 * DAY + HOUR).await;
    assert_eq!(world.fate(again).await, Fate::Ended(EndReason::ToldBefore));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subject_in_a_ready_that_waits_is_told_by_another_if_that_one_leaves_it_out() {
    // When the Ready is issued again, and whether its entry still holds then.
    let check = |until: i64, unfollowed: bool| async move {
        let world = DigestWorld::new().await;
        let first = world.publish_work(1, EIGHT, true).await;
        world.advance_to(EIGHT + HOUR).await;
        let ready = world.readys().await.remove(0);
        world
            .report_delivery(
                &ready,
                DeliveryOutcome::Deferred { until: UtcMillis(until), ready: ready.clone() },
            )
            .await;
        world.advance_to(EIGHT + 2 * HOUR).await;
        let again = world.publish_event(&ann(), "work_shown", (2, 1), EIGHT + 2 * HOUR, true).await;
        world.advance_to(EIGHT + DAY + HOUR).await;
        assert_eq!(world.fate(again).await, Fate::Waiting { carried: false }, "until {until}");
        world.advance_to(EIGHT + DAY + 3 * HOUR).await;
        let readys = world.readys().await;
        assert_eq!(readys.iter().map(|ready| ready.attempt).collect::<Vec<_>>(), [0, 1]);
        let left = if unfollowed { vec![(first, EndReason::Unfollowed)] } else { Vec::new() };
        world.report_delivery(&readys[1], DeliveryOutcome::Sent { left }).await;
        world.advance_to(EIGHT + 2 * DAY + HOUR).await;
        let fate = world.fate(again).await;
        match unfollowed {
            true => assert!(matches!(fate, Fate::Told { ready } if ready != readys[0].id), "{fate}"),
            false => assert_eq!(fate, Fate::Ended(EndReason::ToldBefore)),
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
    let world = DigestWorld::new().await;
    let first = world.publish_work(1, EIGHT, true).await;
    world.advance_to(EIGHT + HOUR).await;
    let ready = world.readys().await.remove(0);
    world.report_delivery(&ready, DeliveryOutcome::Unknown { back: vec![first], left: Vec::new() }).await;
    let again = world.publish_event(&ann(), "work_out", (2, 1), EIGHT + HOUR, true).await;
    world.advance_to(EIGHT + HOUR + DAY).await;
    assert_eq!(world.told_counts().await, [1, 2], "both entries, said once");
    assert!(matches!(world.fate(again).await, Fate::Told { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_days_that_were_announced_are_told() {
    let world = DigestWorld::new().await;
    world.publish_work(1, EIGHT, true).await;
    // Written, and its announcement is still on its way: a closing that looks back on that day leaves it alone.
    let early = EntryKey { occurred: UtcMillis(EIGHT - DAY), event: EventKey([9; 16]) };
    let kind = Kind::new("work_out").unwrap();
    let reason = EntryReason { kind: kind.clone(), because: AudienceMatch::Follows(subject("author:1")) };
    let row = DayRow::Entry(Entry {
        key: early,
        reason,
        subject: subject("work:1"),
        actor: None,
        kept: model::KeptFields::new(),
    });
    let day = DayKey { tenant: tenant(), person: ann(), day: early.day() };
    world.store.write(vec![DayRows { key: day, rows: vec![row] }], UtcMillis(EIGHT)).await.unwrap();
    world.advance_to(EIGHT + HOUR).await;
    assert_eq!(world.told_counts().await, [1]);
    assert_eq!(world.fate(early).await, Fate::Waiting { carried: false });
    world.announce(&ann(), kind, early, 1).await;
    world.advance_to(EIGHT + HOUR + DAY).await;
    assert_eq!(world.fate(early).await, Fate::Ended(EndReason::ToldBefore));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_released_window_closes_at_once_and_only_once() {
    let world = DigestWorld::new().await;
    for n in 1..=3 {
        world.publish_work(n, EIGHT - i64::from(n), true).await;
    }
    world.advance_to(EIGHT + HOUR / 6).await;
    world.act_by_hand(Act::Release, EIGHT + HOUR / 6).await;
    assert_eq!(world.told_counts().await, [2]);
    assert_eq!(world.readys().await[0].due, UtcMillis(EIGHT + HOUR / 6));
    // The record comes again, and what is left waits for the next date all the same.
    world.act_by_hand(Act::Release, EIGHT + HOUR / 6).await;
    world.advance_to(EIGHT + HOUR + DAY - 1).await;
    assert_eq!(world.told_counts().await, [2]);
    world.advance_to(EIGHT + HOUR + DAY).await;
    assert_eq!(world.told_counts().await, [2, 1]);
    // Nothing is open, and nothing is released.
    world.act_by_hand(Act::Release, EIGHT + HOUR + DAY).await;
    assert_eq!(world.told_counts().await, [2, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_window_tells_nothing_and_only_once() {
    let world = DigestWorld::new().await;
    let gone = world.publish_work(1, EIGHT, true).await;
    world.advance_to(EIGHT + HOUR / 6).await;
    world.act_by_hand(Act::Cancel, EIGHT + HOUR / 6).await;
    assert_eq!(world.fate(gone).await, Fate::Ended(EndReason::Cancelled));
    // What comes later on the same day is told at its hour, though the record comes again.
    let later = world.publish_work(2, EIGHT + HOUR / 6 + 1, true).await;
    world.advance_to(EIGHT + HOUR / 2).await;
    world.act_by_hand(Act::Cancel, EIGHT + HOUR / 6).await;
    world.advance_to(EIGHT + HOUR).await;
    assert_eq!(world.told_counts().await, [1]);
    assert!(matches!(world.fate(later).await, Fate::Told { .. }));
    assert_eq!(world.fate(gone).await, Fate::Ended(EndReason::Cancelled));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_follows_the_plan_that_is_preferred() {
    let world = DigestWorld::new().await;
    // It is a Saturday; the week's mail is on Wednesdays.
    let shown = world.publish_event(&ann(), "work_shown", (1, 1), EIGHT, true).await;
    let out = world.publish_work(2, EIGHT, true).await;
    world.settle().await;
    world.prefer_plan(2, Some("weekly")).await;
    world.advance_to(EIGHT + HOUR).await;
    assert_eq!(world.told_counts().await, [1], "a kind that has no weekly mail comes as always");
    assert!(matches!(world.fate(out).await, Fate::Told { .. }));
    world.advance_to(EIGHT + 3 * DAY + HOUR).await;
    assert_eq!(world.fate(shown).await, Fate::Waiting { carried: false });
    world.advance_to(EIGHT + 4 * DAY + HOUR).await;
    assert!(matches!(world.fate(shown).await, Fate::Told { .. }));
    // And back again: it does not wait for another Wednesday.
    world.advance_to(EIGHT + 5 * DAY).await;
    let shown = world.publish_event(&ann(), "work_shown", (3, 3), EIGHT + 5 * DAY, true).await;
    world.settle().await;
    world.prefer_plan(3, None).await;
    world.advance_to(EIGHT + 5 * DAY + HOUR).await;
    assert!(matches!(world.fate(shown).await, Fate::Told { .. }));
    world.advance_to(EIGHT + 14 * DAY).await;
    let plans: Vec<String> =
        world.readys().await.iter().map(|ready| ready.plan.as_str().to_owned()).collect();
    assert_eq!(plans, ["daily", "weekly", "daily"], "each told once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_muted_and_who_was_erased_are_not_told() {
    let check = |key: StateKey, flag: String, expected: Fate| async move {
        let world = DigestWorld::new().await;
        let entry = world.publish_work(1, EIGHT, true).await;
        let state = VersionedState::from_values(1, [(flag.as_str(), Some(Value::Flag(true)))]);
        world.store.merge(vec![(key, state)]).await.unwrap();
        world.advance_to(EIGHT + HOUR).await;
        assert_eq!(world.fate(entry).await, expected, "{flag}");
        assert!(world.readys().await.is_empty(), "{flag}");
    };
    let muted = || StateKey::Preferences(tenant(), ann());
    check(
        muted(),
        preferences::PreferenceScope::Kind(&Kind::new("work_out").unwrap()).field(None),
        Fate::Ended(EndReason::Muted),
    )
    .await;
    check(
        muted(),
        preferences::PreferenceScope::Actor(&Person::new("zoe").unwrap()).field(None),
        Fate::Ended(EndReason::Muted),
    )
    .await;
    check(
        muted(),
        preferences::PreferenceScope::Subject(&subject("work:1")).field(None),
        Fate::Ended(EndReason::Muted),
    )
    .await;
    check(StateKey::Notes(tenant(), ann()), notes::ERASED.to_owned(), Fate::Ended(EndReason::Erased)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_a_day_is_full_is_noted_of_the_person() {
    let world = DigestWorld::new().await;
    let key = EntryKey { occurred: UtcMillis(EIGHT), event: EventKey([1; 16]) };
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
    let world = DigestWorld::new().await;
    world.publish_work_for(MANY).await;
    world.settle().await;
    world.store.forget();
    world.advance_to(EIGHT + HOUR).await;
    assert_eq!(world.readys().await.len(), MANY);
    let asked = |of: &str| world.store.ask_count(&StateKey::Subject(tenant(), subject(of)));
    assert_eq!((asked("work:1"), asked("author:1")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_holds_so_many_rows_and_whoever_is_left_comes_next() {
    let check = |persons: usize, rows: usize, turns: usize| async move {
        let world = DigestWorld::new().await;
        world.publish_work_for(persons).await;
        world.settle().await;
        world.store.forget();
        world.store.repeat_rows(rows);
        world.advance_to(EIGHT + HOUR).await;
        assert_eq!(world.told_counts().await, vec![1; persons]);
        let read: Vec<usize> = world.store.rows().into_iter().filter(|rows| *rows > 0).collect();
        assert_eq!(read.iter().sum::<usize>(), persons * rows, "each is read once: {read:?}");
        assert_eq!(read.len(), turns, "{read:?}");
        // Some persons are read together, and the last of them may be one too many.
        assert!(persons == 1 || read.iter().all(|read| *read < TURN_ROWS_MAX + 4 * rows), "{read:?}");
    };
    check(60, 5_000, 3).await;
    check(1, TURN_ROWS_MAX + 1, 1).await;
}
