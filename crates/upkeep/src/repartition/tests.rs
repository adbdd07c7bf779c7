//! Nothing that is remembered is lost, wherever it is cut off; and what is refused is refused for a reason.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use async_trait::async_trait;
use model::{
    Day, Person, PlanName, Tenant,
    person::{PersonRecord, Window},
};
use proptest::prelude::*;
use runtime::Clock;
use tempfile::TempDir;
use topic::{
    GroupMembership, Member, MemberEvent, NewRecord, Turn, TurnGuarantee, decorator::TopicsDecorator,
    embedded::EmbeddedTopics, port::CommitError,
};

use super::*;

mod kafka;
mod whole_house;

fn partition_count(partitions: u32) -> PartitionCount {
    PartitionCount::new(partitions).unwrap()
}

fn order(to: u32) -> RepartitionOrder {
    RepartitionOrder { to: partition_count(to), who: "test".to_owned(), at: UtcMillis(1_000) }
}

fn scratch_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A log as a house has left it: everything read, something remembered of many.
struct RepartitionFixture {
    log: Arc<dyn Topics>,
    partitions: PartitionCount,
    _dir: Option<TempDir>,
}

const PERSONS: u32 = 60;
/// More effects than a repartition of so few partitions has.
const EFFECTS_MAX: i64 = 60;

impl RepartitionFixture {
    async fn new(partitions: u32) -> Self {
        let dir = scratch_dir();
        let log: Arc<dyn Topics> = Arc::new(EmbeddedTopics::open(dir.path(), Clock::still(1_000)).unwrap());
        Self { _dir: Some(dir), ..Self::on_log(log, partitions).await }
    }

    async fn on_log(log: Arc<dyn Topics>, partitions: u32) -> Self {
        let ground = Self { log, partitions: partition_count(partitions), _dir: None };
        house::declare_topics(&*ground.log, ground.partitions).await.unwrap();
        for number in 0..PERSONS {
            // Some were remembered differently before.
            for version in 0..=number % 3 {
                ground.remember(number, version).await;
            }
            if number % 10 == 9 {
                ground.append(topics::WINDOWS, number, None).await;
            }
        }
        for (number, topic) in keyed_topics().iter().filter(|name| &***name != topics::WINDOWS).enumerate() {
            for person in 0..20 {
                ground.append(topic, person, Some(format!("{number}").into_bytes())).await;
            }
        }
        for topic in [topics::CHANGES, topics::QUARANTINE] {
            let record = record(topic, 0, b"k".to_vec(), Some(b"kept".to_vec()));
            ground.log.append(vec![record]).await.unwrap();
        }
        ground.read_all().await;
        ground
    }

    async fn remember(&self, number: u32, version: u32) {
        let (tenant, person) = numbered_person(number);
        let window = |plan: u32| {
            let plan = PlanName::new(&format!("plan_{plan}")).unwrap();
            let opened = Window::new(plan, 7, "".into(), UtcMillis(i64::from(number)));
            Window { due: UtcMillis(i64::from(number) + 1_000), days: [Day(20_000)].into(), ..opened }
        };
        let windows = (0..number % 3).map(window).collect();
        let remembered =
            PersonRecord { windows, last_opening: UtcMillis(version.into()), ..Default::default() };
        let value = wire::window::encode(&tenant, &person, &remembered).unwrap();
        self.append(topics::WINDOWS, number, Some(value)).await;
    }

    async fn append(&self, topic: &str, number: u32, value: Option<Vec<u8>>) {
        let (tenant, person) = numbered_person(number);
        let partition = self.partitions.of_person(&tenant, &person);
        let record = record(topic, partition, wire::key::person_key(&tenant, &person), value);
        self.log.append(vec![record]).await.unwrap();
    }

    /// Every group reads what it has to read.
    async fn read_all(&self) {
        for stage in STAGES.iter().filter(|stage| stage.topics != [topics::CHANGES]) {
            let mut member = self.join(stage.group, stage.topics).await;
            let mut tries = 0;
            while lag(&*self.log, stage.group, stage.topics).await > 0 {
                if let MemberEvent::Records(batch) = member.next(100).await.unwrap() {
                    let (partition, generation) = (batch.partition, batch.generation);
                    let offsets = member.positions(partition);
                    let turn = Turn { partition, generation, offsets, records: vec![] };
                    match member.commit(turn).await {
                        Ok(()) => {}
                        // A cluster that is busy has the batch read once more.
                        Err(CommitError::Aborted(_) | CommitError::Lost(_)) if tries < TRIES => tries += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            self.leave(stage.group, member).await;
        }
    }

    /// Leaving a group of a cluster takes a moment.
    async fn leave(&self, group: &str, member: Box<dyn Member>) {
        drop(member);
        while retry_while_busy(|| self.log.has_members(group)).await.unwrap() {
            retry::pause_before_retry(1, 0).await;
        }
    }

    async fn join(&self, group: &str, topics: &[&str]) -> Box<dyn Member> {
        let companions = topics[1..].iter().map(|name| (*name).into()).collect();
        let (group, lead) = (group.into(), topics[0].into());
        let membership = GroupMembership { group, lead, companions, state: None, mode: TurnGuarantee::Plain };
        self.log.join(membership).await.unwrap()
    }

    async fn execute(&self, to: u32) -> Result<RememberedCount, String> {
        execute_repartition(&*self.log, &order(to), &|_| {}).await.map_err(|error| format!("{error:#}"))
    }

    /// The same, cut off at its nth effect, right before it or right after.
    async fn execute_cut_off(&self, to: u32, nth: i64, after: bool) -> Result<RememberedCount, String> {
        let log = MortalTopics { inner: self.log.clone(), left: AtomicI64::new(nth), after };
        execute_repartition(&log, &order(to), &|_| {}).await.map_err(|error| format!("{error:#}"))
    }

    async fn plan(&self, to: u32) -> Result<RepartitionPlan, String> {
        plan_repartition(&*self.log, partition_count(to)).await.map_err(|error| format!("{error:#}"))
    }

    /// What is remembered of whom, each where they belong.
    async fn read_remembered(&self, partitions: u32) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut all = BTreeMap::new();
        for (partition, (_, end)) in (0..).zip(self.log.bounds(topics::WINDOWS).await.unwrap()) {
            for record in self.log.read(topics::WINDOWS, partition, 0, 10_000).await.unwrap() {
                let (tenant, person) = wire::key::read_person_key(&record.key).unwrap();
                assert_eq!(partition, partition_count(partitions).of_person(&tenant, &person), "{person}");
                assert!(record.offset < end);
                match record.value {
                    Some(value) => all.insert(record.key, value),
                    None => all.remove(&record.key),
                };
            }
        }
        all
    }

    /// Everything is as it should be with so many partitions.
    async fn assert_settled(&self, partitions: u32, remembered: &BTreeMap<Vec<u8>, Vec<u8>>) {
        assert_eq!(self.read_remembered(partitions).await, *remembered);
        house::declare_topics(&*self.log, partition_count(partitions))
            .await
            .expect("the house finds what it wants");
        refuse_unfinished(&*self.log).await.expect("and may start");
        let gone = retry_while_busy(|| self.log.bounds(MOVING)).await;
        assert!(matches!(gone, Err(TopicError::Refused(_))), "the copy is gone: {gone:?}");
        for stage in STAGES {
            for topic in stage.topics.iter().filter(|topic| **topic != topics::CHANGES) {
                let standing = retry_while_busy(|| self.log.standing(stage.group, topic)).await.unwrap();
                assert!(standing.iter().all(|at| (at.committed, at.end) == (0, 0)), "{standing:?}");
            }
        }
        for topic in [topics::CHANGES, topics::QUARANTINE] {
            assert_eq!(self.log.bounds(topic).await.unwrap()[0], (0, 1), "{topic} is as it was");
        }
    }
}

fn numbered_person(number: u32) -> (Tenant, Person) {
    let tenant = if number.is_multiple_of(7) { "other" } else { "main" };
    (Tenant::new(tenant).unwrap(), Person::new(&format!("p{number}")).unwrap())
}

fn record(topic: &str, partition: u32, key: Vec<u8>, value: Option<Vec<u8>>) -> NewRecord {
    NewRecord { topic: topic.into(), partition, key, value, headers: Vec::new() }
}

async fn lag(log: &dyn Topics, group: &str, topics: &[&str]) -> u64 {
    let mut lag = 0;
    for topic in topics {
        let standing = retry_while_busy(|| log.standing(group, topic)).await.unwrap();
        lag += standing.iter().map(|at| at.end - at.committed).sum::<u64>();
    }
    lag
}

/// A log that dies at its nth effect.
#[derive(Debug)]
struct MortalTopics {
    inner: Arc<dyn Topics>,
    left: AtomicI64,
    after: bool,
}

impl MortalTopics {
    async fn effect(&self, effect: impl Future<Output = Result<(), TopicError>>) -> Result<(), TopicError> {
        let dead = || TopicError::Broken("cut off".to_owned());
        match self.left.fetch_sub(1, Ordering::SeqCst) {
            left if left > 0 => effect.await,
            0 if self.after => effect.await.and(Err(dead())),
            _ => Err(dead()),
        }
    }
}

#[async_trait]
impl TopicsDecorator for MortalTopics {
    fn inner(&self) -> &dyn Topics {
        &*self.inner
    }

    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.effect(self.inner.declare(specs)).await
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        self.effect(self.inner.append(records)).await
    }

    async fn remove(&self, topics: &[TopicName]) -> Result<(), TopicError> {
        // No more generous than a cluster, where topics go one by one.
        for topic in topics {
            self.effect(self.inner.remove(std::slice::from_ref(topic))).await?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn what_is_remembered_goes_where_it_belongs_and_nothing_else_stays() {
    let ground = RepartitionFixture::new(8).await;
    let before = ground.read_remembered(8).await;
    let plan = ground.plan(3).await.unwrap();
    assert_eq!((plan.from, plan.to, plan.is_under_way), (8, 3, false));
    assert_eq!(plan.obstacles, Vec::<String>::new());
    let (persons, windows) = (before.len() as u64, 54);
    assert_eq!((plan.kept.persons, plan.kept.windows, plan.kept.waiting), (persons, windows, 0));
    assert_eq!(
        plan.emptied.keys().collect::<Vec<_>>(),
        ["events", "inbox", "pending", "ready", "ready-urgent", "slices"]
    );
    assert!(plan.emptied.values().all(|records| *records == 20), "{plan:?}");
    assert_eq!(ground.read_remembered(8).await, before, "a plan changes nothing");
    for (to, already) in [(3, false), (3, true), (12, false), (1, false), (8, false)] {
        let told = Mutex::new(0);
        let done =
            execute_repartition(&*ground.log, &order(to), &|_| *told.lock().unwrap() += 1).await.unwrap();
        assert_eq!(done, plan.kept, "{to}");
        assert_eq!(told.into_inner().unwrap() == 0, already, "{to}");
        ground.assert_settled(to, &before).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_at_any_effect_it_is_finished_by_the_same_call() {
    for nth in 0..EFFECTS_MAX {
        for after in [false, true] {
            let ground = RepartitionFixture::new(4).await;
            let before = ground.read_remembered(4).await;
            let at = format!("effect {nth}, {}", if after { "after" } else { "before" });
            if ground.execute_cut_off(7, nth, after).await.is_ok() {
                assert!(nth > 20, "only {nth} effects");
                ground.assert_settled(7, &before).await;
                return;
            }
            // Who would start now finds all that is remembered, or is refused.
            if refuse_unfinished(&*ground.log).await.is_ok() && ground.plan(7).await.unwrap().from == 4 {
                assert_eq!(ground.read_remembered(4).await, before, "{at}");
            }
            let planned = ground.plan(7).await.unwrap_or_else(|why| panic!("{at}: {why}"));
            assert_eq!(planned.kept.persons, before.len() as u64, "{at}");
            ground.execute(7).await.unwrap_or_else(|why| panic!("{at}: {why}"));
            ground.assert_settled(7, &before).await;
        }
    }
    panic!("it never came to its end");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Cut off again and again, to one count and then to another.
    #[test]
    fn however_often_it_is_cut_off_nothing_is_lost(
        counts in prop::array::uniform3(1_u32..20),
        cuts in prop::collection::vec((0_i64..40, any::<bool>()), 0..6),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let [from, first, second] = counts;
            let ground = RepartitionFixture::new(from).await;
            let before = ground.read_remembered(from).await;
            for to in [first, second] {
                for (nth, after) in &cuts {
                    drop(ground.execute_cut_off(to, *nth, *after).await);
                }
                ground.execute(to).await.unwrap();
                assert_eq!(ground.read_remembered(to).await, before);
                refuse_unfinished(&*ground.log).await.unwrap();
            }
        });
    }
}

#[tokio::test]
async fn what_stands_against_it_is_said_and_nothing_is_touched() {
    let check = async |ground: &RepartitionFixture, expect: &[&str]| {
        let before = ground.read_remembered(4).await;
        let obstacles = ground.plan(7).await.unwrap().obstacles;
        assert_eq!(obstacles.len(), expect.len(), "{obstacles:?}");
        for (obstacle, expect) in obstacles.iter().zip(expect) {
            assert!(obstacle.contains(expect), "{obstacle}");
        }
        assert_eq!(ground.execute(7).await.unwrap_err(), obstacles.join("\n"));
        assert_eq!(ground.read_remembered(4).await, before);
        refuse_unfinished(&*ground.log).await.unwrap();
        assert!(ground.log.bounds(MOVING).await.is_err());
    };
    let ground = RepartitionFixture::new(4).await;
    let member = ground.join("sender", &[topics::READY]).await;
    check(&ground, &["group `sender` has members"]).await;
    ground.leave("sender", member).await;
    ground.append(topics::INBOX, 1, Some(b"a release by hand".to_vec())).await;
    check(&ground, &["group `digest` has 1 unread records of `inbox`"]).await;
    ground.read_all().await;
    let unusable = wire::UnusableRecord {
        topic: topics::INBOX,
        partition: 3,
        offset: 0,
        appended: UtcMillis(1),
        key: b"k",
        value: Some(b"v"),
    };
    let item =
        wire::quarantine::put_aside(unusable, (wire::QuarantineCause::Other, "why"), "room", UtcMillis(1));
    let value = Some(wire::quarantine::encode(&item).unwrap());
    ground.log.append(vec![record(topics::QUARANTINE, 0, b"k".to_vec(), value)]).await.unwrap();
    check(&ground, &["the quarantine holds 1 records of `inbox`"]).await;
    quarantine::settle_items(&*ground.log, None, quarantine::QuarantineVerdict::Drop, UtcMillis(1))
        .await
        .unwrap();
    let (from, to) = (replay::range::ReplayPlace::Start, replay::range::ReplayPlace::End);
    let (topic, by) = (topics::EVENTS.to_owned(), "test".to_owned());
    let range = replay::range::ReplayRange { from, to };
    let wanted = replay::ReplayRequest { topic, range, by, tells_missing: false, per_second: 1 };
    let (desk, now) = (ReplayService::default(), UtcMillis(1_000));
    let begun =
        replay::answer_order(&desk, &*ground.log, replay::ReplayOrder::Begin(wanted), now, None).await;
    let id = begun.unwrap_or_else(|_| panic!("it begins"))["id"].as_str().unwrap().to_owned();
    check(&ground, &["has not ended: resume or stop it"]).await;
    drop(replay::answer_order(&desk, &*ground.log, replay::ReplayOrder::Stop { id }, now, None).await);
    ground.execute(7).await.unwrap();
}

#[tokio::test]
async fn one_repartition_at_a_time_and_nothing_on_a_guess() {
    // Cut off when some topics are gone: effects are counted in the test above.
    let halfway = async || {
        let ground = RepartitionFixture::new(4).await;
        let before = ground.read_remembered(4).await;
        for nth in 0..EFFECTS_MAX {
            drop(ground.execute_cut_off(7, nth, true).await);
            if ground.log.bounds(topics::WINDOWS).await.map_or(true, |bounds| bounds.len() != 4) {
                break;
            }
        }
        (ground, before)
    };
    let (ground, before) = halfway().await;
    let why = refuse_unfinished(&*ground.log).await.unwrap_err().to_string();
    assert!(
        why.contains(
            "from 4 to 7 partitions is unfinished; finish it with `tidings repartition --to 7 --execute`"
        ),
        "{why}"
    );
    for other in [4, 9] {
        let why = ground.execute(other).await.unwrap_err();
        assert!(why.contains("finish it with `tidings repartition --to 7 --execute`"), "{why}");
    }
    // Somebody made the topics anew, with the old count.
    ground.log.remove(&keyed_topics()).await.unwrap();
    house::declare_topics(&*ground.log, partition_count(4)).await.unwrap();
    for asked in [ground.execute(7).await.unwrap_err(), ground.execute(9).await.unwrap_err()] {
        assert!(asked.contains("has changed since a repartition to 7 partitions began"), "{asked}");
    }
    ground.log.remove(&[topics::WINDOWS.into()]).await.unwrap();
    ground.execute(7).await.unwrap();
    assert_eq!(ground.read_remembered(7).await, before);
    // The copy is gone, or not whole: nothing more is taken away.
    for whole in [false, true] {
        let (ground, _) = halfway().await;
        if whole {
            let (tenant, person) = numbered_person(1);
            let (partition, key) =
                (partition_count(7).of_person(&tenant, &person), wire::key::person_key(&tenant, &person));
            ground.log.append(vec![record(MOVING, partition, key, None)]).await.unwrap();
        } else {
            ground.log.remove(&[MOVING.into()]).await.unwrap();
        }
        let found = ground.log.bounds(MOVING).await.is_ok();
        let why = ground.execute(7).await.unwrap_err();
        assert!(why.contains(MOVING), "{why}");
        assert_eq!(ground.log.bounds(MOVING).await.is_ok(), found);
        assert!(refuse_unfinished(&*ground.log).await.is_err());
    }
}

#[tokio::test]
async fn what_has_taken_nothing_away_can_be_given_up() {
    let ground = RepartitionFixture::new(4).await;
    let before = ground.read_remembered(4).await;
    for nth in 0..EFFECTS_MAX {
        drop(ground.execute_cut_off(7, nth, true).await);
        if refuse_unfinished(&*ground.log).await.is_err() {
            break;
        }
    }
    assert!(ground.log.bounds(MOVING).await.is_ok());
    ground.execute(4).await.unwrap();
    refuse_unfinished(&*ground.log).await.unwrap();
    assert_eq!(ground.read_remembered(4).await, before);
    assert!(ground.log.bounds(MOVING).await.is_err());
    ground.execute(5).await.unwrap();
    ground.assert_settled(5, &before).await;
}

#[tokio::test]
async fn what_lies_where_it_should_not_is_never_moved() {
    let ground = RepartitionFixture::new(4).await;
    let (tenant, person) = numbered_person(1);
    let home = ground.partitions.of_person(&tenant, &person);
    let value = wire::window::encode(&tenant, &person, &PersonRecord::default()).unwrap();
    let stray = record(topics::WINDOWS, (home + 1) % 4, wire::key::person_key(&tenant, &person), Some(value));
    ground.log.append(vec![stray]).await.unwrap();
    let why = ground.execute(7).await.unwrap_err();
    assert!(why.starts_with(&format!("p1 belongs to partition {home} of windows")), "{why}");
    refuse_unfinished(&*ground.log).await.unwrap();
    let ground = RepartitionFixture::new(4).await;
    ground.append(topics::WINDOWS, 1, Some(b"nonsense".to_vec())).await;
    let why = ground.execute(7).await.unwrap_err();
    assert!(why.contains("about p1"), "{why}");
    refuse_unfinished(&*ground.log).await.unwrap();
}
