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
use model::{Day, Millis, Person, Row, Tenant, entry::DayKey, limits::DAY_MS};
use proptest::prelude::*;
use runtime::Clock;
use serde_json::json;
use tempfile::TempDir;
use tower::ServiceExt as _;
use wire::replay::{Replay, ReplayState};

use super::{
    Desk, Order, Step, Wanted, answer,
    range::{Place, Range},
    work,
};
use crate::testing::{Ground, START, ground, read};

const PERSONS: [&str; 3] = ["ann", "bob", "cat"];
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// What one mail has room for.
const ITEMS_MAX: usize = 5;

/// What happens, each a minute after the one before.
#[derive(Clone, Debug)]
enum Op {
    /// Somebody follows; `early` if word of it comes late, of a time before everything else.
    Follow {
        who: usize,
        early: bool,
    },
    Offer,
    Hours(i64),
    Replay(Replayed),
}

#[derive(Clone, Debug)]
struct Replayed {
    back_hours: i64,
    tells: bool,
    per_second: u32,
    /// After so many parts whoever does it dies, and somebody else goes on.
    dies: Option<usize>,
    /// When it dies, what it did last is not written down.
    forgets: bool,
}

fn op() -> impl Strategy<Value = Op> {
    let replay = (0..60_i64, any::<bool>(), 1..4_u32, prop::option::of(0..3_usize), any::<bool>());
    prop_oneof![
        3 => (0..PERSONS.len(), any::<bool>()).prop_map(|(who, early)| Op::Follow { who, early }),
        4 => Just(Op::Offer),
        2 => (1..30_i64).prop_map(Op::Hours),
        3 => replay.prop_map(|(back_hours, tells, per_second, dies, forgets)| {
            Op::Replay(Replayed { back_hours, tells, per_second, dies, forgets })
        }),
    ]
}

/// Somebody and an item.
type Pair = (&'static str, usize);

/// What became of it all.
#[derive(Debug, Default)]
struct Told {
    /// Every mail: when it left, for whom, and what it told.
    mails: Vec<(i64, &'static str, BTreeSet<usize>)>,
    rows: BTreeSet<Pair>,
    /// Pairs that the first telling finds, and those that it misses although they were there.
    direct: BTreeSet<Pair>,
    missing: BTreeSet<Pair>,
}

impl Told {
    fn pairs(&self) -> Vec<Pair> {
        let of_mail = |(_, who, items): &(i64, &'static str, BTreeSet<usize>)| {
            items.iter().map(|item| (*who, *item)).collect::<Vec<Pair>>()
        };
        let mut pairs: Vec<Pair> = self.mails.iter().flat_map(of_mail).collect();
        pairs.sort_unstable();
        pairs
    }
}

struct World {
    _dir: TempDir,
    ground: Ground,
    clock: Clock,
    desk: Desk,
    told: Told,
    /// Who follows, and whether they did from the first.
    follows: BTreeMap<&'static str, bool>,
    items: usize,
    mails: usize,
}

impl World {
    async fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let clock = Clock::still(Millis::parse(START).unwrap().0);
        let ground = ground(dir.path(), &clock).await;
        let (desk, told, follows) = (Desk::default(), Told::default(), BTreeMap::new());
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
        let (status, text) = read(self.ground.intake.clone().oneshot(request).await.unwrap()).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{text}");
        self.settle().await;
    }

    /// Lets the house do what there is to do, and looks at the mails that left.
    async fn settle(&mut self) {
        self.ground.house.settle().await.unwrap();
        let accepted = self.ground.outbox.accepted().await.unwrap();
        for one in accepted.iter().skip(self.mails) {
            let mail = self.ground.outbox.read(&one.message_id).await.unwrap().unwrap();
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

    async fn play(&mut self, op: &Op) {
        self.wait(MINUTE_MS).await;
        match op {
            Op::Follow { who, early } => {
                let who = PERSONS[*who];
                if self.follows.contains_key(who) {
                    return;
                }
                self.follows.insert(who, *early);
                let time = if *early { START.to_owned() } else { Millis(self.clock.now()).to_string() };
                let fact = json!({"id": format!("f-{who}"), "type": "tidings.follow", "person": who, "target": "maker:7", "time": time});
                self.post("/v1/facts", fact).await;
                if *early {
                    let direct = self.told.direct.clone();
                    let pairs = (0..self.items).map(|item| (who, item)).filter(|pair| !direct.contains(pair));
                    self.told.missing.extend(pairs);
                }
            }
            Op::Offer if self.items == ITEMS_MAX => {}
            Op::Offer => {
                let item = self.items;
                self.items += 1;
                self.told.direct.extend(self.follows.keys().map(|who| (*who, item)));
                let (id, time) = (format!("item:{item}"), Millis(self.clock.now()).to_string());
                let change = json!({"id": id, "type": "item.offered", "subject": id, "maker": "maker:7",
                    "title": item.to_string(), "offered": true, "time": time});
                self.post("/v1/changes", change).await;
            }
            Op::Hours(hours) => self.wait(hours * HOUR_MS).await,
            Op::Replay(replayed) => self.replay(replayed).await,
        }
    }

    async fn order(&self, order: Order) -> Result<serde_json::Value, super::Trouble> {
        let log = &*self.ground.house.engines().topics;
        answer(&self.desk, log, order, Millis(self.clock.now()), None).await
    }

    async fn replay(&mut self, replayed: &Replayed) {
        let Replayed { back_hours, tells, per_second, dies, forgets } = replayed.clone();
        let range = Range { from: Place::Ago(back_hours * HOUR_MS), to: Place::End };
        let wanted = Wanted {
            topic: "events".to_owned(),
            range,
            by: "law".to_owned(),
            tells_missing: tells,
            per_second,
        };
        // There may be nothing in that time.
        let Ok(begun) = self.order(Order::Begin(wanted)).await else { return };
        let replay: Replay = serde_json::from_value(begun).unwrap();
        for part in 0.. {
            if dies == Some(part) {
                if forgets {
                    let log = &*self.ground.house.engines().topics;
                    let mut lost = self.desk.0.lock().await.find(&replay.id).unwrap();
                    work::append(log, &mut lost, Millis(self.clock.now())).await.unwrap();
                }
                self.desk = Desk::default();
                self.settle().await;
                self.order(Order::Resume { id: replay.id.clone() }).await.unwrap();
            }
            let step = self.order(Order::Part { id: replay.id.clone() }).await.unwrap();
            let step: Step = serde_json::from_value(step).unwrap();
            assert!(part < 100, "it does not come to an end: {step:?}");
            if step.replay.state == ReplayState::Done {
                break;
            }
        }
        self.settle().await;
    }

    /// Days pass, until nothing waits any more.
    async fn end(mut self) -> Told {
        self.wait(3 * DAY_MS).await;
        let (store, now) = (self.ground.house.engines().store.clone(), Millis(self.clock.now()));
        let mut rows = BTreeSet::new();
        for who in PERSONS {
            for back in 0..12 {
                let (tenant, person) = (Tenant::new("main").unwrap(), Person::new(who).unwrap());
                let key = DayKey { tenant, person, day: Day::of(now).plus(-back) };
                for row in store.read(&[key], now).await.unwrap().concat() {
                    if let Row::Entry(entry) = row {
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
async fn live(ops: &[Op], such: impl Fn(Replayed) -> Option<Replayed>, at_last: Option<bool>) -> Told {
    let mut world = World::new().await;
    for op in ops {
        let op = match op {
            // It takes no time itself, so the two lives have the same clock.
            Op::Replay(replayed) => such(replayed.clone()).map_or(Op::Hours(0), Op::Replay),
            other => other.clone(),
        };
        world.play(&op).await;
    }
    if let Some(tells) = at_last {
        world
            .replay(&Replayed { back_hours: 24 * 12, tells, per_second: 3, dies: None, forgets: false })
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
    fn a_quiet_replay_sends_nothing_of_its_own(ops in prop::collection::vec(op(), 1..14)) {
        let without = run(live(&ops, |_| None, None));
        let with = run(live(&ops, |one| Some(Replayed { tells: false, ..one }), Some(false)));
        // Who comes first at one instant is their partitions' affair.
        let sent = |told: &Told| {
            let mut sent: Vec<_> = told.mails.iter().map(|(at, who, _)| (*at, *who)).collect();
            sent.sort_unstable();
            sent
        };
        prop_assert_eq!(sent(&with), sent(&without));
        let (with_pairs, without_pairs) = (with.pairs(), without.pairs());
        let once: BTreeSet<Pair> = with_pairs.iter().copied().collect();
        prop_assert_eq!(once.len(), with_pairs.len(), "something was told twice: {:?}", with_pairs);
        let before: BTreeSet<Pair> = without_pairs.into_iter().collect();
        prop_assert!(before.is_subset(&once));
        prop_assert!(once.difference(&before).all(|pair| with.missing.contains(pair)));
        prop_assert_eq!(&without.rows, &without.direct);
        prop_assert_eq!(with.rows, &with.direct | &with.missing);
    }

    #[test]
    fn what_was_missing_is_told_once(ops in prop::collection::vec(op(), 1..14)) {
        let told = run(live(&ops, Some, Some(true)));
        let all: BTreeSet<Pair> = &told.direct | &told.missing;
        let pairs = told.pairs();
        prop_assert_eq!(pairs, all.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(told.rows, all);
    }
}
