//! What is planned, what is appended, and who may.

use std::{path::Path, sync::Arc};

use catalogue::{SourceDef, SourceFormat};
use house::testing;
use model::{Event, EventKey, SubjectRef, Tenant, UtcMillis, VersionedState, partition::PartitionCount};
use runtime::Clock;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use topic::{NewRecord, TopicRecord, TopicRetention, TopicSpec, Topics as _, embedded::EmbeddedTopics};
use wire::{
    replay::{APPENDED, ReplayRecord, ReplayStamp, ReplayState, first_seen},
    topics,
};

use super::{
    ReplayError, ReplayOrder, ReplayPlan, ReplayRequest, ReplayService, ReplayStep, answer_order,
    range::{ReplayPlace, ReplayRange, parse_offsets, parse_time},
    work,
};

const START: &str = "2026-11-21T10:00:00Z";
const PARTITIONS: u32 = 3;

struct ReplayFixture {
    _dir: TempDir,
    log: EmbeddedTopics,
    clock: Clock,
    desk: ReplayService,
}

impl ReplayFixture {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::still(UtcMillis::parse(START).unwrap().0);
        let log = open_log(dir.path(), &clock);
        let specs =
            topics::all_topics(PartitionCount::new(PARTITIONS).unwrap()).map(|(name, partitions, keep)| {
                let retention = match keep {
                    topics::KeepPolicy::Millis(ms) => TopicRetention::Milliseconds(ms),
                    topics::KeepPolicy::Latest => TopicRetention::Compacted,
                };
                TopicSpec { name: name.into(), partitions, retention }
            });
        log.declare(&specs).await.unwrap();
        Self { _dir: dir, log, clock, desk: ReplayService::default() }
    }

    async fn declare(&self, topic: &str, partitions: u32) {
        let retention = TopicRetention::Milliseconds(topics::REPLAY_MS);
        self.log.declare(&[TopicSpec { name: topic.into(), partitions, retention }]).await.unwrap();
    }

    fn now(&self) -> UtcMillis {
        UtcMillis(self.clock.now())
    }

    /// Appends events one by one, a minute between two, to these partitions.
    async fn events(&self, partitions: &[u32]) {
        for partition in partitions {
            self.put_event(*partition, Some(event(self.now()))).await;
            self.clock.advance(60_000);
        }
    }

    async fn put_event(&self, partition: u32, value: Option<Vec<u8>>) {
        let headers = vec![("of".to_owned(), b"theirs".to_vec())];
        let record =
            NewRecord { topic: topics::EVENTS.into(), partition, key: b"key".to_vec(), value, headers };
        self.log.append(vec![record]).await.unwrap();
    }

    async fn records(&self, partition: u32) -> Vec<TopicRecord> {
        self.log.read(topics::EVENTS, partition, 0, 1_000).await.unwrap()
    }

    async fn try_order(&self, order: ReplayOrder) -> Result<serde_json::Value, String> {
        answer_order(&self.desk, &self.log, order, self.now(), None).await.map_err(|trouble| match trouble {
            ReplayError::Refused(why) => why,
            ReplayError::Failed(error) => panic!("{error:#}"),
        })
    }

    async fn order<T: DeserializeOwned>(&self, order: ReplayOrder) -> T {
        serde_json::from_value(self.try_order(order).await.unwrap()).unwrap()
    }

    async fn begin(&self, topic: &str, per_second: u32) -> Result<ReplayRecord, String> {
        let said = self.try_order(ReplayOrder::Begin(request_for(topic, per_second))).await?;
        Ok(serde_json::from_value(said).unwrap())
    }

    async fn part(&self, id: &str) -> ReplayRecord {
        self.order::<ReplayStep>(ReplayOrder::Part { id: id.to_owned() }).await.replay
    }
}

fn open_log(dir: &Path, clock: &Clock) -> EmbeddedTopics {
    EmbeddedTopics::open(&dir.join("topics"), clock.clone()).unwrap()
}

fn request_for(topic: &str, per_second: u32) -> ReplayRequest {
    let range = ReplayRange { from: ReplayPlace::Start, to: ReplayPlace::End };
    ReplayRequest {
        topic: topic.to_owned(),
        range,
        by: "ann@desk".to_owned(),
        tells_missing: false,
        per_second,
    }
}

fn event(occurred: UtcMillis) -> Vec<u8> {
    let tenant = Tenant::new("main").unwrap();
    let event = Event {
        key: EventKey::from_source_id(&tenant, "test", &occurred.to_string()),
        tenant,
        what: "item.offered".to_owned(),
        subject: SubjectRef::new("item:1").unwrap(),
        actor: None,
        occurred,
        persons: Vec::new(),
        state: VersionedState::default(),
    };
    wire::event::encode(&event).unwrap()
}

#[tokio::test]
async fn a_plan_says_from_where_to_where_in_each_partition() {
    // Appended at 10:00, 10:01, 10:02, 10:03, 10:04; it is 10:05.
    let log = ReplayFixture::new().await;
    log.events(&[0, 1, 0, 1, 0]).await;
    let check = async |from: ReplayPlace, to: ReplayPlace, expected: [(u64, u64); 3]| {
        let range = ReplayRange { from, to };
        let said = format!("{range}");
        let plan: ReplayPlan = log.order(ReplayOrder::Plan { topic: "events".to_owned(), range }).await;
        let parts: Vec<(u64, u64)> = plan.parts.iter().map(|part| (part.from, part.to)).collect();
        assert_eq!(parts, expected, "{said}");
        assert_eq!(plan.records, expected.iter().map(|(from, to)| to - from).sum::<u64>(), "{said}");
    };
    let at = |text: &str| parse_time(text).unwrap();
    let end = || ReplayPlace::End;
    check(ReplayPlace::Start, end(), [(0, 3), (0, 2), (0, 0)]).await;
    check(at("2026-11-21T10:00:00Z"), end(), [(0, 3), (0, 2), (0, 0)]).await;
    check(at("2026-11-21T10:00:00.001Z"), end(), [(1, 3), (0, 2), (0, 0)]).await;
    check(at("2026-11-21 10:03"), end(), [(2, 3), (1, 2), (0, 0)]).await;
    check(at("2020-01-01"), end(), [(0, 3), (0, 2), (0, 0)]).await;
    check(at("2030-01-01"), end(), [(3, 3), (2, 2), (0, 0)]).await;
    check(at("2m"), end(), [(2, 3), (1, 2), (0, 0)]).await;
    check(at("0s"), end(), [(3, 3), (2, 2), (0, 0)]).await;
    check(ReplayPlace::Start, at("2m"), [(0, 2), (0, 1), (0, 0)]).await;
    check(at("2026-11-21 10:01"), at("2026-11-21 10:03"), [(1, 2), (0, 1), (0, 0)]).await;
    // The other way round is nothing.
    check(at("2026-11-21 10:03"), at("2026-11-21 10:01"), [(2, 2), (1, 1), (0, 0)]).await;
    let of = |text: &str| parse_offsets(text).unwrap();
    check(of("1"), end(), [(1, 3), (1, 2), (0, 0)]).await;
    check(of("99"), end(), [(3, 3), (2, 2), (0, 0)]).await;
    check(of("0:2"), end(), [(2, 3), (2, 2), (0, 0)]).await;
    check(of("1:0,0:1"), of("2"), [(1, 2), (0, 2), (0, 0)]).await;
    check(ReplayPlace::Start, of("0:1"), [(0, 1), (0, 2), (0, 0)]).await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_the_reason() {
    let log = ReplayFixture::new().await;
    log.events(&[0]).await;
    let check = async |order: ReplayOrder, says: &str| {
        let why = log.try_order(order).await.unwrap_err();
        assert!(why.contains(says), "{why}");
    };
    let plan = |topic: &str, from: ReplayPlace| ReplayOrder::Plan {
        topic: topic.to_owned(),
        range: ReplayRange { from, to: ReplayPlace::End },
    };
    check(plan("event", ReplayPlace::Start), "did you mean `events`?").await;
    check(plan("nothing at all", ReplayPlace::Start), "replay `events` or `changes`").await;
    for topic in ["slices", "inbox", "pending", "windows", "ready-urgent", "ready", "quarantine", "replays"] {
        check(plan(topic, ReplayPlace::Start), &format!("`{topic}` cannot be replayed: ")).await;
    }
    check(
        plan("events", parse_offsets("0:1,3:1").unwrap()),
        "has 3 partitions, counted from 0; there is no partition 3",
    )
    .await;
    check(ReplayOrder::Begin(request_for("changes", 5)), "nothing to replay").await;
    check(ReplayOrder::Begin(request_for("events", 0)), "1 to 5000").await;
    let id = || "2026".to_owned();
    for order in
        [ReplayOrder::Part { id: id() }, ReplayOrder::Resume { id: id() }, ReplayOrder::Stop { id: id() }]
    {
        check(order, "there is no replay `2026`: list them with `tidings replay --list`").await;
    }
    assert_eq!(log.order::<Vec<ReplayRecord>>(ReplayOrder::List).await, []);
}

#[tokio::test]
async fn a_replay_appends_the_same_once_more_and_no_faster_than_asked() {
    let log = ReplayFixture::new().await;
    log.events(&[0, 0, 1, 0]).await;
    let before = [log.records(0).await, log.records(1).await].concat();
    let replay = log.begin("events", 3).await.unwrap();
    assert_eq!((replay.state, replay.appended), (ReplayState::Running, 0));
    assert!(replay.id.starts_with("2026-11-21-100400-"), "{}", replay.id);
    let replay = log.part(&replay.id).await;
    assert_eq!((replay.state, replay.appended), (ReplayState::Running, 3));
    // What comes in meanwhile is not meant.
    log.events(&[1]).await;
    let replay = log.part(&replay.id).await;
    assert_eq!((replay.state, replay.appended, replay.passed), (ReplayState::Done, 4, 0));
    assert_eq!(log.part(&replay.id).await, replay);
    let copies: Vec<TopicRecord> = [log.records(0).await, log.records(1).await]
        .concat()
        .into_iter()
        .filter(|record| ReplayStamp::from_headers(&record.headers).is_some())
        .collect();
    assert_eq!(copies.len(), before.len());
    for (copy, original) in copies.iter().zip(&before) {
        assert_eq!(
            (&copy.key, &copy.value, copy.partition),
            (&original.key, &original.value, original.partition)
        );
        assert_eq!(copy.headers[0], original.headers[0]);
        let again = ReplayStamp { replay: replay.id.as_str().into(), is_quiet: true };
        assert_eq!(ReplayStamp::from_headers(&copy.headers), Some(again));
        assert!(copy.headers.iter().any(|(name, _)| name == APPENDED));
        assert_eq!(first_seen(&copy.headers, UtcMillis(copy.appended)), UtcMillis(original.appended));
    }
    // A copy's original is replayed where it lies, so a second replay appends no more than the first.
    let again = log.begin("events", 100).await.unwrap();
    let again = log.part(&again.id).await;
    assert_eq!((again.state, again.appended, again.passed), (ReplayState::Done, 5, 4));
    let listed: Vec<ReplayRecord> = log.order(ReplayOrder::List).await;
    assert_eq!(listed.len(), 2);
    assert!(listed.contains(&again) && listed.contains(&replay));
}

#[tokio::test]
async fn what_nobody_could_be_told_is_counted() {
    let log = ReplayFixture::new().await;
    log.put_event(0, Some(event(log.now().plus(-91 * 86_400_000)))).await;
    log.put_event(0, None).await;
    log.put_event(0, Some(b"no event".to_vec())).await;
    log.events(&[0]).await;
    let replay = log.begin("events", 100).await.unwrap();
    let replay = log.part(&replay.id).await;
    let counts = (replay.appended, replay.expired, replay.passed);
    assert_eq!((replay.state, counts), (ReplayState::Done, (1, 1, 2)));
    assert_eq!(log.records(0).await.len(), 5);
}

#[tokio::test]
async fn a_replay_goes_on_after_whoever_did_it_died() {
    let mut log = ReplayFixture::new().await;
    log.events(&[0; 7]).await;
    let replay = log.begin("events", 2).await.unwrap();
    log.part(&replay.id).await;
    // It died after it had appended a part, and before it wrote that down.
    let mut lost = log.desk.0.lock().await.find(&replay.id).unwrap();
    work::append_part(&log.log, &mut lost, model::DayLife::default(), log.now()).await.unwrap();
    log.desk = ReplayService::default();
    let resumed: ReplayRecord = log.order(ReplayOrder::Resume { id: replay.id.clone() }).await;
    assert_eq!((resumed.state, resumed.appended), (ReplayState::Running, 2));
    for _ in 0..3 {
        log.part(&replay.id).await;
    }
    let done = log.part(&replay.id).await;
    assert_eq!((done.state, done.appended), (ReplayState::Done, 7));
    // Two were appended twice.
    assert_eq!(log.records(0).await.len(), 7 + 7 + 2);
    let why = log.try_order(ReplayOrder::Resume { id: replay.id.clone() }).await.unwrap_err();
    assert!(why.contains("nothing to resume"), "{why}");
}

#[tokio::test]
async fn what_the_log_does_not_know_yet_is_not_passed_over() {
    let log = ReplayFixture::new().await;
    log.events(&[0]).await;
    let replay = log.begin("events", 9).await.unwrap();
    let mut replay = log.desk.0.lock().await.find(&replay.id).unwrap();
    // As if it had been planned when one record more was known.
    replay.parts[1].to += 1;
    work::append_part(&log.log, &mut replay, model::DayLife::default(), log.now()).await.unwrap();
    assert_eq!((replay.appended, replay.parts[1].remaining()), (1, 1));
    log.events(&[1]).await;
    work::append_part(&log.log, &mut replay, model::DayLife::default(), log.now()).await.unwrap();
    assert_eq!((replay.appended, replay.parts[1].remaining()), (2, 0));
}

#[tokio::test]
async fn one_replay_of_a_topic_runs_at_a_time() {
    let log = ReplayFixture::new().await;
    log.events(&[0, 0, 0]).await;
    let value = Some(b"x".to_vec());
    let change =
        NewRecord { topic: topics::CHANGES.into(), partition: 0, key: vec![], value, headers: vec![] };
    log.log.append(vec![change]).await.unwrap();
    let first = log.begin("events", 1).await.unwrap();
    let why = log.begin("events", 1).await.unwrap_err();
    assert!(why.contains(&first.id) && why.contains("ann@desk") && why.contains("--resume"), "{why}");
    // Another topic is another matter.
    log.begin("changes", 1).await.unwrap();
    let stopped: ReplayRecord = log.order(ReplayOrder::Stop { id: first.id.clone() }).await;
    assert_eq!(stopped.state, ReplayState::Stopped);
    assert_eq!(log.part(&first.id).await, stopped);
    let why = log.try_order(ReplayOrder::Stop { id: first.id.clone() }).await.unwrap_err();
    assert!(why.contains("it is stopped"), "{why}");
    let second = log.begin("events", 1).await.unwrap();
    let why = log.try_order(ReplayOrder::Resume { id: first.id.clone() }).await.unwrap_err();
    assert!(why.contains(&second.id), "{why}");
    log.order::<ReplayRecord>(ReplayOrder::Stop { id: second.id }).await;
    let resumed: ReplayRecord = log.order(ReplayOrder::Resume { id: first.id }).await;
    assert_eq!(resumed.state, ReplayState::Running);
}

#[tokio::test]
async fn a_replay_of_a_topic_that_has_another_count_by_now_does_not_go_on() {
    let log = ReplayFixture::new().await;
    log.events(&[0, 0, 2]).await;
    let replay = log.begin("events", 1).await.unwrap();
    log.order::<ReplayRecord>(ReplayOrder::Stop { id: replay.id.clone() }).await;
    let resume = || ReplayOrder::Resume { id: replay.id.clone() };
    for partitions in [2, 4] {
        log.log.remove(&[topics::EVENTS.into()]).await.unwrap();
        log.declare(topics::EVENTS, partitions).await;
        let why = log.try_order(resume()).await.unwrap_err();
        let says = format!("planned for 3 partitions, and `events` has {partitions} now: begin a new one");
        assert!(why.contains(&says), "{why}");
    }
    // Others are not kept out by it.
    log.events(&[3]).await;
    log.begin("events", 1).await.unwrap();
}

#[tokio::test]
async fn of_two_that_begin_at_one_time_one_does() {
    let log = ReplayFixture::new().await;
    log.events(&[0, 0, 0]).await;
    // Two processes, each with a desk of its own.
    let begin = async || {
        let (desk, order) = (ReplayService::default(), ReplayOrder::Begin(request_for("events", 1)));
        answer_order(&desk, &log.log, order, log.now(), None).await
    };
    for _ in 0..5 {
        let both = tokio::join!(begin(), begin());
        let begun: Vec<serde_json::Value> = [both.0, both.1].into_iter().filter_map(Result::ok).collect();
        assert_eq!(begun.len(), 1);
        let id = begun[0]["id"].as_str().unwrap().to_owned();
        log.order::<ReplayRecord>(ReplayOrder::Stop { id }).await;
    }
    let all: Vec<ReplayRecord> = log.order(ReplayOrder::List).await;
    assert!(all.iter().all(|replay| !replay.state.is_open()), "{all:?}");
}

#[tokio::test]
async fn a_replay_waits_for_a_house_that_is_behind() {
    let log = ReplayFixture::new().await;
    log.events(&[0, 0, 0]).await;
    let replay = log.begin("events", 100).await.unwrap();
    // Two sources, of which one has no topic yet.
    let mut catalogue = Arc::into_inner(testing::test_catalogue()).unwrap();
    for topic in ["theirs", "nowhere"] {
        let name = topic.to_owned();
        let source =
            SourceDef { name: name.clone(), topic: name.clone(), format: SourceFormat::Json, tells: None };
        catalogue.sources.insert(name, source);
    }
    log.declare("theirs", 2).await;
    let value = Some(b"row".to_vec());
    let row = NewRecord { topic: "theirs".into(), partition: 1, key: vec![], value, headers: vec![] };
    log.log.append(vec![row]).await.unwrap();
    let part = async |behind_max: u64| -> ReplayStep {
        let (order, pace) = (ReplayOrder::Part { id: replay.id.clone() }, Some((&catalogue, behind_max)));
        let said = answer_order(&log.desk, &log.log, order, log.now(), pace).await.unwrap();
        serde_json::from_value(said).unwrap()
    };
    let waits = part(3).await;
    assert_eq!((waits.waits, waits.replay.appended, waits.replay.state), (Some(4), 0, ReplayState::Running));
    let done = part(4).await;
    assert_eq!((done.waits, done.replay.appended, done.replay.state), (None, 3, ReplayState::Done));
}
