//! The law of replays. However often a stretch of events is replayed, in whatever parts and with whatever dies on
//! the way: nothing is told twice. A quiet replay sends no message of its own: the same mails leave at the same
//! instants as without it, with all that they had; what was missing goes along in them at most. A replay that
//! tells what is missing has it told once. What lies in the days is what lay there and what was missing, and who
//! came later is told nothing of what was before.

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use house::testing::{HouseTestbed, START, open_fixture, read_response};
use model::{Day, DayRow, Person, Tenant, UtcMillis, entry::DayKey, limits::DAY_MS};
use proptest::prelude::*;
use runtime::Clock;
use serde_json::json;
use tempfile::TempDir;
use tower::ServiceExt as _;
use wire::replay::{ReplayRecord, ReplayState};

use super::{
    ReplayOrder, ReplayRequest, ReplayService, ReplayStep, answer_order,
    range::{ReplayPlace, ReplayRange},
    work,
};

const PERSONS: [&str; 3] = ["ann", "bob", "cat"];
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// What one mail has room for.
const ITEMS_MAX: usize = 5;

/// What happens, each a minute after the one before.
#[derive(Clone, Debug)]
enum ReplayLifeOp {
    /// Somebody follows; `early` if word of it comes late, of a time before everything else.
    Follow {
        who: usize,
        early: bool,
    },
    Offer,
    Hours(i64),
    Replay(ReplayScript),
}

#[derive(Clone, Debug)]
struct ReplayScript {
    back_hours: i64,
    tells: bool,
    per_second: u32,
    /// After so many parts whoever does it dies, and somebody else goes on.
    dies: Option<usize>,
    /// When it dies, what it did last is not written down.
    forgets: bool,
}

fn any_op() -> impl Strategy<Value = ReplayLifeOp> {
    let replay = (0..60_i64, any::<bool>(), 1..4_u32, prop::option::of(0..3_usize), any::<bool>());
    prop_oneof![
        3 => (0..PERSONS.len(), any::<bool>()).prop_map(|(who, early)| ReplayLifeOp::Follow { who, early }),
        4 => Just(ReplayLifeOp::Offer),
        2 => (1..30_i64).prop_map(ReplayLifeOp::Hours),
        3 => replay.prop_map(|(back_hours, tells, per_second, dies, forgets)| {
            ReplayLifeOp::Replay(ReplayScript { back_hours, tells, per_second, dies, forgets })
        }),
    ]
}

/// Somebody and an item.
type PersonItem = (&'static str, usize);

/// What became of it all.
#[derive(Debug, Default)]
struct ReplayLifeOutcome {
    /// Every mail: when it left, for whom, and what it told.
    mails: Vec<(i64, &'static str, BTreeSet<usize>)>,
    rows: BTreeSet<PersonItem>,
    /// Pairs that the first telling finds, and those that it misses although they were there.
    direct: BTreeSet<PersonItem>,
    missing: BTreeSet<PersonItem>,
}

impl ReplayLifeOutcome {
    fn pairs(&self) -> Vec<PersonItem> {
        let of_mail = |(_, who, items): &(i64, &'static str, BTreeSet<usize>)| {
            items.iter().map(|item| (*who, *item)).collect::<Vec<PersonItem>>()
        };
        let mut pairs: Vec<PersonItem> = self.mails.iter().flat_map(of_mail).collect();
        pairs.sort_unstable();
        pairs
    }
}

struct ReplayWorld {
    _dir: TempDir,
    ground: HouseTestbed,
    clock: Clock,
    desk: ReplayService,
    told: ReplayLifeOutcome,
    /// Who follows, and whether they did from the first.
    follows: BTreeMap<&'static str, bool>,
    items: usize,
    mails: usize,
}

impl ReplayWorld {
    async fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let clock = Clock::still(UtcMillis::parse(START).unwrap().0);
        let ground = open_fixture(dir.path(), &clock).await;
        let (desk, told, follows) = (ReplayService::default(), ReplayLifeOutcome::default(), BTreeMap::new());
        let mut world = Self { _dir: dir, ground, clock, desk, told, follows, items: 0, mails: 0 };
        for who in PERSONS {
            let email = format!("{who}@example.org");
            let fact =
                json!({"id": who, "type": "tidings.profile", "person": who, "email": email, "zone": "UTC"});
            world.post("/v1/facts", fact).await;
        }
        world
    }

    async fn post(&mut self, path: &str, mut body: serde_json::Value) {
        body["source"] = "t".into();
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
        let request = request.body(Body::from(body.to_string())).unwrap();
        let (status, text) = read_response(self.ground.intake.clone().oneshot(request).await.unwrap()).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{text}");
        self.settle().await;
    }

    /// Lets the house do what there is to do, and looks at the mails that left.
    async fn settle(&mut self) {
        self.ground.house.settle().await.unwrap();
        let accepted = self.ground.outbox.read_acceptances().await.unwrap();
        for one in accepted.iter().skip(self.mails) {
            let mail = self.ground.outbox.read_mail(&one.message_id).await.unwrap().unwrap();
            let to = mail.header("to").unwrap();
            let who = PERSONS.into_iter().find(|who| to.contains(who)).unwrap();
            let items =
                mail.text.lines().filter_map(|line| line.strip_prefix("- New: ")?.trim().parse().ok());
            self.told.mails.push((self.clock.now(), who, items.collect()));
        }
        self.mails = accepted.len();
    }

    /// Time goes on, from one closing of windows to the next.
    async fn wait(&mut self, ms: i64) {
        let until = self.clock.now() + ms;
        while let Some(next) = self.ground.house.clock().next_wake().filter(|next| *next <= until) {
            self.clock.advance_to(next);
            self.settle().await;
        }
        self.clock.advance_to(until);
        self.settle().await;
    }

    async fn play(&mut self, op: &ReplayLifeOp) {
        self.wait(MINUTE_MS).await;
        match op {
            ReplayLifeOp::Follow { who, early } => {
                let who = PERSONS[*who];
                if self.follows.contains_key(who) {
                    return;
                }
                self.follows.insert(who, *early);
                let time = if *early { START.to_owned() } else { UtcMillis(self.clock.now()).to_string() };
                let fact = json!({"id": format!("f-{who}"), "type": "tidings.follow", "person": who, "target": "maker:7", "time": time});
                self.post("/v1/facts", fact).await;
                if *early {
                    let direct = self.told.direct.clone();
                    let pairs = (0..self.items).map(|item| (who, item)).filter(|pair| !direct.contains(pair));
                    self.told.missing.extend(pairs);
                }
            }
            ReplayLifeOp::Offer if self.items == ITEMS_MAX => {}
            ReplayLifeOp::Offer => {
                let item = self.items;
                self.items += 1;
                self.told.direct.extend(self.follows.keys().map(|who| (*who, item)));
                let (id, time) = (format!("item:{item}"), UtcMillis(self.clock.now()).to_string());
                let change = json!({"id": id, "type": "item.offered", "subject": id, "maker": "maker:7",
                    "title": item.to_string(), "offered": true, "time": time});
                self.post("/v1/changes", change).await;
            }
            ReplayLifeOp::Hours(hours) => self.wait(hours * HOUR_MS).await,
            ReplayLifeOp::Replay(replayed) => self.run_replay(replayed).await,
        }
    }

    async fn send_order(&self, order: ReplayOrder) -> Result<serde_json::Value, super::ReplayError> {
        let log = &*self.ground.house.engines().topics;
        answer_order(&self.desk, log, order, UtcMillis(self.clock.now()), None).await
    }

    async fn run_replay(&mut self, replayed: &ReplayScript) {
        let ReplayScript { back_hours, tells, per_second, dies, forgets } = replayed.clone();
        let range = ReplayRange { from: ReplayPlace::Ago(back_hours * HOUR_MS), to: ReplayPlace::End };
        let wanted = ReplayRequest {
            topic: "events".to_owned(),
            range,
            by: "law".to_owned(),
            tells_missing: tells,
            per_second,
        };
        // There may be nothing in that time.
        let Ok(begun) = self.send_order(ReplayOrder::Begin(wanted)).await else { return };
        let replay: ReplayRecord = serde_json::from_value(begun).unwrap();
        for part in 0.. {
            if dies == Some(part) {
                if forgets {
                    let log = &*self.ground.house.engines().topics;
                    let mut lost = self.desk.0.lock().await.find(&replay.id).unwrap();
                    work::append_part(log, &mut lost, model::DayLife::default(), UtcMillis(self.clock.now()))
                        .await
                        .unwrap();
                }
                self.desk = ReplayService::default();
                self.settle().await;
                self.send_order(ReplayOrder::Resume { id: replay.id.clone() }).await.unwrap();
            }
            let step = self.send_order(ReplayOrder::Part { id: replay.id.clone() }).await.unwrap();
            let step: ReplayStep = serde_json::from_value(step).unwrap();
            assert!(part < 100, "it does not come to an end: {step:?}");
            if step.replay.state == ReplayState::Done {
                break;
            }
        }
        self.settle().await;
    }

    /// Days pass, until nothing waits any more.
    async fn end(mut self) -> ReplayLifeOutcome {
        self.wait(3 * DAY_MS).await;
        let (store, now) = (self.ground.house.engines().store.clone(), UtcMillis(self.clock.now()));
        let mut rows = BTreeSet::new();
        for who in PERSONS {
            for back in 0..12 {
                let (tenant, person) = (Tenant::new("main").unwrap(), Person::new(who).unwrap());
                let key = DayKey { tenant, person, day: Day::from_instant(now).plus(-back) };
                for row in store.read(&[key], now).await.unwrap().concat() {
                    if let DayRow::Entry(entry) = row {
                        rows.insert((who, entry.subject.id().parse().unwrap()));
                    }
                }
            }
        }
        self.told.rows = rows;
        self.told
    }
}

/// A life with these happenings, and with such replays; at last everything is replayed, if it says how.
async fn live_through(
    ops: &[ReplayLifeOp],
    such: impl Fn(ReplayScript) -> Option<ReplayScript>,
    at_last: Option<bool>,
) -> ReplayLifeOutcome {
    let mut world = ReplayWorld::new().await;
    for op in ops {
        let op = match op {
            // It takes no time itself, so the two lives have the same clock.
            ReplayLifeOp::Replay(replayed) => {
                such(replayed.clone()).map_or(ReplayLifeOp::Hours(0), ReplayLifeOp::Replay)
            }
            other => other.clone(),
        };
        world.play(&op).await;
    }
    if let Some(tells) = at_last {
        world
            .run_replay(&ReplayScript {
                back_hours: 24 * 12,
                tells,
                per_second: 3,
                dies: None,
                forgets: false,
            })
            .await;
    }
    world.end().await
}

fn run<T>(life: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(life)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_quiet_replay_sends_nothing_of_its_own(ops in prop::collection::vec(any_op(), 1..14)) {
        let without = run(live_through(&ops, |_| None, None));
        let with = run(live_through(&ops, |one| Some(ReplayScript { tells: false, ..one }), Some(false)));
        // Who comes first at one instant is their partitions' affair.
        let sent = |told: &ReplayLifeOutcome| {
            let mut sent: Vec<_> = told.mails.iter().map(|(at, who, _)| (*at, *who)).collect();
            sent.sort_unstable();
            sent
        };
        prop_assert_eq!(sent(&with), sent(&without));
        let (with_pairs, without_pairs) = (with.pairs(), without.pairs());
        let once: BTreeSet<PersonItem> = with_pairs.iter().copied().collect();
        prop_assert_eq!(once.len(), with_pairs.len(), "something was told twice: {:?}", with_pairs);
        let before: BTreeSet<PersonItem> = without_pairs.into_iter().collect();
        prop_assert!(before.is_subset(&once));
        prop_assert!(once.difference(&before).all(|pair| with.missing.contains(pair)));
        prop_assert_eq!(&without.rows, &without.direct);
        prop_assert_eq!(with.rows, &with.direct | &with.missing);
    }

    #[test]
    fn what_was_missing_is_told_once(ops in prop::collection::vec(any_op(), 1..14)) {
        let told = run(live_through(&ops, Some, Some(true)));
        let all: BTreeSet<PersonItem> = &told.direct | &told.missing;
        let pairs = told.pairs();
        prop_assert_eq!(pairs, all.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(told.rows, all);
    }
}
