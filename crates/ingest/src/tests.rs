//! Tests of the room: admission as a table, the HTTP way by single requests, the topic way in its loop.

mod persons;
mod returns;
mod sources;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use catalogue::Catalogue;
use model::{
    Because, Crowd, Day, Entry, EntryKey, Event, EventKey, Fact, Kind, Mark, Millis, Person, Reason, Row,
    State, SubjectRef, Tenant, Value, What, civil::Zones, entry::DayKey, erase::Progress,
    partition::Partitions, person::notes,
};
use proptest::prelude::*;
use runtime::{Clock, Quiet, Shutdown, metrics::Metrics};
use secrecy::SecretString;
use serde_json::json;
use store::{DayRows, StateKey, Store};
use tempfile::TempDir;
use topic::{
    Member, Membership, NewRecord, Record, Retention, TopicError, TopicSpec, Topics, port::Standing,
};
use tower::ServiceExt as _;
use wire::{Did, Inbox, topics};

use crate::{
    ApiKey, Config, Http, IngestMetrics, Ports,
    admit::Admitted,
    answer::{Answer, Asked},
    effects::{Effects, Known, Questions},
    feedback::About,
    router, run,
};

const CATALOGUE: &str = r#"
catalogue: sample
subjects:
  work: {title: text, author: ref author, public: flag, link: url, score: number}
  author: {name: text}
kinds:
  work_out:
    on: work.published
    to: {followers_of: author}
    says: '{{ subject.title }}'
    plans: [daily, weekly]
  work_suggested:
    on: work.suggested
    to: listed
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
      - {title: Works, kinds: [work_out, work_suggested], most: 8, order: newest}
  weekly:
    channel: email
    close: {weekly: "09:00", on: [mon], zone: person}
    look_back: 14d
    from: Sample <news@example.com>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: Works, kinds: [work_out], most: 8, order: newest}
"#;
pub(crate) const NOON: &str = "2026-11-21T12:00:00Z";

pub(crate) fn catalogue() -> Catalogue {
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse(CATALOGUE, "catalogue.yaml", &template).unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn at(text: &str) -> Millis {
    Millis::parse(text).unwrap()
}

pub(crate) fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

pub(crate) fn ann() -> Person {
    Person::new("ann").unwrap()
}

pub(crate) fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

/// A CloudEvent of a type with these further attributes.
pub(crate) fn event(what: &str, rest: &str) -> String {
    format!(
        r#"{{"specversion":"1.0","id":"1","source":"s","type":"{what}"{}{rest}}}"#,
        if rest.is_empty() { "" } else { "," }
    )
}

fn entry(subject_: &str, occurred: &str, event: u8) -> Entry {
    let reason =
        Reason { kind: Kind::new("work_out").unwrap(), because: Because::Follows(subject("author:7")) };
    Entry {
        key: EntryKey { occurred: at(occurred), event: EventKey([event; 16]) },
        reason,
        subject: subject(subject_),
        actor: None,
    }
}

/// Feedback about a subject covers its entries up to that instant; each is marked once, and announced
/// however often it comes.
#[test]
fn feedback_about_a_subject_covers_what_was_there() {
    let [one, two, later, other] = [
        entry("work:1", "2026-11-20T09:00:00Z", 1),
        entry("work:1", "2026-11-21T09:00:00Z", 2),
        entry("work:1", "2026-11-21T11:30:00Z", 3),
        entry("work:2", "2026-11-21T09:00:00Z", 4),
    ];
    let until = at("2026-11-21T11:00:00Z");
    let about = About::Subject { subject: subject("work:1"), until };
    let read = Admitted::Feedback { tenant: tenant(), person: ann(), what: Did::Read, about, at: at(NOON) };
    let questions = Questions::of(std::slice::from_ref(&read), at(NOON));
    assert_eq!(questions.days.len(), 21, "as many days as live");
    let day = |day: &str| DayKey { tenant: tenant(), person: ann(), day: Day::parse(day).unwrap() };
    let mut known = Known::default();
    known.days.insert(day("2026-11-20"), vec![Row::Entry(one.clone())]);
    let today = [&two, &later, &other].map(|entry| Row::Entry(entry.clone()));
    known.days.insert(day("2026-11-21"), today.to_vec());

    let effects = Effects::of(vec![read.clone()], &known, at(NOON));
    let mark = |key| Row::Mark(Mark::new(None, What::Read, vec![key], at(NOON)));
    let marks = [
        DayRows { key: day("2026-11-20"), rows: vec![mark(one.key)] },
        DayRows { key: day("2026-11-21"), rows: vec![mark(two.key)] },
    ];
    assert_eq!(effects.marks, marks);
    let Ok(Inbox::Feedback(heard)) = wire::inbox::decode(effects.records[0].value.as_ref().unwrap()) else {
        panic!()
    };
    assert_eq!(heard.keys, [one.key, two.key]);

    for DayRows { key, rows } in marks {
        known.days.entry(key).or_default().extend(rows);
    }
    let again = Effects::of(vec![read], &known, at(NOON));
    assert_eq!(again.marks, [], "looking twice writes once");
    assert_eq!(again.records, effects.records, "and is announced twice");

    // The same where the entries are named: an app says so at every look.
    let about = About::Entries(vec![two.key, later.key]);
    let named = Admitted::Feedback { tenant: tenant(), person: ann(), what: Did::Read, about, at: at(NOON) };
    let questions = Questions::of(std::slice::from_ref(&named), at(NOON));
    assert_eq!(questions.days, [day("2026-11-21")].into());
    let effects = Effects::of(vec![named], &known, at(NOON));
    assert_eq!(effects.marks, [DayRows { key: day("2026-11-21"), rows: vec![mark(later.key)] }]);
}

/// One process's worth of engines, and a topic engine that can be made to fail.
struct House {
    _dir: TempDir,
    ports: Ports,
    sick: Arc<Sick>,
    store: Arc<dyn Store>,
}

impl House {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        Self::at(dir.path().to_owned().as_path(), dir).await
    }

    async fn at(path: &Path, dir: TempDir) -> Self {
        let clock = Clock::still(at(NOON).0);
        let topics = topic::embedded::Embedded::open(&path.join("topics"), clock.clone()).unwrap();
        let specs = topics::all(Partitions::USUAL).map(|(name, partitions, keep)| {
            let retention = match keep {
                topics::Keep::Millis(ms) => Retention::Milliseconds(ms),
                topics::Keep::Latest => Retention::Compacted,
            };
            TopicSpec { name: name.into(), partitions, retention }
        });
        topics.declare(&specs).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(store::embedded::Embedded::open(&path.join("store")).unwrap());
        let sick = Arc::new(Sick {
            topics: Box::new(topics),
            busy: AtomicBool::default(),
            full: AtomicBool::default(),
            looks: AtomicUsize::default(),
        });
        let ports = Ports {
            partitions: Partitions::USUAL,
            editions: model::edition::Editions::default(),
            topics: sick.clone(),
            store: store.clone(),
            catalogue: Arc::new(catalogue()),
            schemas: Arc::new(wire::NoSchemas),
            zones: Zones::bundled(),
            clock,
            quiet: Quiet::default(),
            shutdown: Shutdown::default(),
            metrics: IngestMetrics::declare(&Metrics::default()).unwrap(),
        };
        Self { _dir: dir, ports, sick, store }
    }

    fn http(&self) -> Http {
        let config = Config {
            records_max: 100,
            tenant: tenant(),
            lag_records_max: 1_000,
            listed_rows_a_minute: crate::config::LISTED_ROWS_A_MINUTE,
            requests_max: 4,
            returns: None,
        };
        Http { ports: self.ports.clone(), config, keys: None, disk_low: Arc::new(|| false) }
    }

    fn router(&self) -> Router {
        router(self.http())
    }

    /// Runs the topic way until it has committed everything there is.
    async fn settle(&self) {
        let ports = Ports { shutdown: Shutdown::default(), ..self.ports.clone() };
        let settled = async {
            loop {
                let (_, changes) = ports.quiet.now();
                let standing = ports.topics.standing("ingest", topics::CHANGES).await.unwrap();
                if standing.iter().all(|at| at.committed == at.end) {
                    break;
                }
                ports.quiet.changed(changes).await;
            }
            ports.shutdown.start();
        };
        tokio::join!(run(ports.clone(), self.http().config), settled).0.unwrap();
    }

    async fn records(&self, topic: &str) -> Vec<Record> {
        let mut records = Vec::new();
        for (partition, _) in self.ports.topics.bounds(topic).await.unwrap().iter().enumerate() {
            let partition = u32::try_from(partition).unwrap();
            records.extend(self.ports.topics.read(topic, partition, 0, 10_000).await.unwrap());
        }
        records
    }

    async fn events(&self) -> Vec<Event> {
        let records = self.records(topics::EVENTS).await;
        records.iter().map(|record| wire::event::decode(record.value.as_ref().unwrap()).unwrap()).collect()
    }

    async fn followers(&self, target: &str) -> Vec<Person> {
        self.members(&Crowd::Followers(subject(target))).await
    }

    async fn members(&self, crowd: &Crowd) -> Vec<Person> {
        self.store.members(&tenant(), crowd, None, 1_000).await.unwrap().persons
    }

    async fn state(&self, key: StateKey) -> State {
        self.store.states(&[key]).await.unwrap().remove(0)
    }
}

/// A topic engine that fails its appends when told to.
#[derive(Debug)]
struct Sick {
    topics: Box<dyn Topics>,
    busy: AtomicBool,
    full: AtomicBool,
    /// How often it was asked where a group stands.
    looks: AtomicUsize,
}

#[async_trait]
impl Topics for Sick {
    async fn declare(&self, specs: &[TopicSpec]) -> Result<(), TopicError> {
        self.topics.declare(specs).await
    }
    async fn append(&self, records: Vec<NewRecord>) -> Result<(), TopicError> {
        if self.busy.load(Ordering::SeqCst) {
            return Err(TopicError::Busy("sick".to_owned()));
        }
        if self.full.load(Ordering::SeqCst) {
            return Err(TopicError::Full("sick".to_owned()));
        }
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
    async fn since(&self, topic: &str, at: i64) -> Result<Vec<u64>, TopicError> {
        self.topics.since(topic, at).await
    }
    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<Standing>, TopicError> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        // As an engine elsewhere would: others go on meanwhile.
        tokio::task::yield_now().await;
        self.topics.standing(group, topic).await
    }
    async fn join(&self, membership: Membership) -> Result<Box<dyn Member>, TopicError> {
        self.topics.join(membership).await
    }
}

/// Sends one request; gives status, the header asked for, and the body.
async fn post(router: &Router, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> (u16, String) {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
    let status = response.status();
    let retry =
        response.headers().get("retry-after").map(|secs| format!(" retry {}", secs.to_str().unwrap()));
    let challenge = response.headers().get("www-authenticate").map(|_| " bearer".to_owned());
    let body = to_bytes(response.into_body(), 1 << 22).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    (status.as_u16(), format!("{body}{}{}", retry.unwrap_or_default(), challenge.unwrap_or_default()))
}

#[tokio::test]
async fn what_was_accepted_is_stored_and_announced() {
    let house = House::new().await;
    let router = house.router();
    let body = format!(
        "[{},{},{}]",
        event("work.published", r#""subject":"work:1","data":{"title":"Moon","author":"author:7"}"#),
        event("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
        event("work.published", r#""subject":"work:1","data":{"score":"x"}"#),
    );
    let (status, said) =
        post(&router, "/v1/changes", &[("content-type", "application/json; charset=utf-8")], body).await;
    let expected = json!({"accepted": 1, "rejected": [
        {"index": 1, "reason": "`tidings.follow` is taken at /v1/facts", "at": "/type"},
        {"index": 2, "reason": "work:1: field `score` is a number, found the text \"x\"", "at": "/data/score"},
    ]});
    assert_eq!((status, said), (202, expected.to_string()));
    let state = house.state(StateKey::Subject(tenant(), subject("work:1"))).await;
    assert_eq!(state.text("title"), Some("Moon"));
    let records = house.records(topics::EVENTS).await;
    assert_eq!(records[0].partition, Partitions::USUAL.of_subject(&tenant(), &subject("work:1")));
    assert_eq!(house.events().await[0].key, EventKey::of(&tenant(), "s", "1"));

    let facts = format!(
        "{}\n{}\n",
        event("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
        event("tidings.profile", r#""data":{"person":"ann","zone":"Asia/Tokyo"}"#),
    );
    let (status, said) = post(&router, "/v1/facts", &[("content-type", "application/x-ndjson")], facts).await;
    assert_eq!((status, said.as_str()), (202, r#"{"accepted":2,"rejected":[]}"#));
    assert_eq!(house.followers("author:7").await, [ann()]);
    assert_eq!(house.members(&Crowd::Everyone).await, [ann()]);
    let inbox = house.records(topics::INBOX).await;
    let inbox: Vec<Inbox> =
        inbox.iter().map(|r| wire::inbox::decode(r.value.as_ref().unwrap()).unwrap()).collect();
    assert!(matches!(inbox[0], Inbox::Fact(Fact::Follow(_))), "{inbox:?}");
    assert!(matches!(inbox[1], Inbox::Fact(Fact::Profile { .. })), "{inbox:?}");
}

#[tokio::test]
async fn feedback_is_a_mark_before_it_is_announced() {
    let house = House::new().await;
    let entry = entry("work:1", "2026-11-21T09:00:00Z", 1);
    let day = DayKey { tenant: tenant(), person: ann(), day: entry.key.day() };
    let rows = vec![DayRows { key: day.clone(), rows: vec![Row::Entry(entry.clone())] }];
    house.store.write(rows, at(NOON)).await.unwrap();
    let body = event("tidings.cleared", r#""data":{"person":"ann","subject":"work:1"}"#);
    house.sick.busy.store(true, Ordering::SeqCst);
    assert_eq!(post(&house.router(), "/v1/feedback", &[], body.clone()).await.0, 503);
    let marks =
        |rows: Vec<Vec<Row>>| rows.concat().into_iter().filter(|row| matches!(row, Row::Mark(_))).count();
    assert_eq!(marks(house.store.read(std::slice::from_ref(&day), at(NOON)).await.unwrap()), 1);
    house.sick.busy.store(false, Ordering::SeqCst);
    assert_eq!(post(&house.router(), "/v1/feedback", &[], body).await.0, 202);
    assert_eq!(marks(house.store.read(&[day], at(NOON)).await.unwrap()), 1);
    assert_eq!(house.records(topics::INBOX).await.len(), 1);
}

#[tokio::test]
async fn requests_are_refused_by_their_form() {
    let house = House::new().await;
    let mut http = house.http();
    let router = house.router();
    let good = event("work.published", r#""subject":"work:1""#);
    let json = [("content-type", "application/json")];
    let check = async |path: &str, headers: &[(&str, &str)], body: &str, status: u16, part: &str| {
        let (found, said) = post(&router, path, headers, body.to_owned()).await;
        assert_eq!(found, status, "{path} {headers:?}: {said}");
        assert!(said.contains(part), "{path} {headers:?}: {said}");
    };
    check("/v1/changes", &json, "{", 400, r#""at":"line 1 column"#).await;
    check("/v1/changes", &json, "[]", 400, r#"{"accepted":0,"rejected":[]}"#).await;
    check("/v1/changes", &json, "", 400, "the body is empty").await;
    check(
        "/v1/changes",
        &json,
        r#"[{"id":"1"}]"#,
        400,
        r#"{"accepted":0,"rejected":[{"index":0,"reason":"it is missing","at":"/source"}]}"#,
    )
    .await;
    check("/v1/facts", &json, &good, 400, "`work.published` is a change, taken at /v1/changes: here it is")
        .await;
    check("/v1/changes", &[("content-type", "text/plain")], &good, 415, "application/cloudevents+json").await;
    check("/v1/changes", &[("content-encoding", "gzip")], &good, 415, "compressed").await;
    check("/v1/changes", &[("idempotency-key", "")], &good, 400, "visible ASCII").await;
    check("/v1/changes", &[("idempotency-key", "a b")], &good, 400, "visible ASCII").await;
    check("/v1/changes", &[("idempotency-key", "a"), ("idempotency-key", "b")], &good, 400, "visible ASCII")
        .await;
    check(
        "/v1/changes",
        &[("host", "localhost:80"), ("origin", "http://evil.example")],
        &good,
        403,
        "other sites",
    )
    .await;
    check("/v1/changes", &[("host", "localhost:80"), ("origin", "http://localhost:80")], &good, 202, "")
        .await;
    check("/v1/changes", &json, &" ".repeat((1 << 20) + 1), 413, "1048576").await;
    check("/v1/other", &json, &good, 404, "").await;

    http.disk_low = Arc::new(|| true);
    assert_eq!(post(&crate::router(http.clone()), "/v1/changes", &[], good.clone()).await.0, 507);
    house.sick.full.store(true, Ordering::SeqCst);
    assert_eq!(post(&router, "/v1/changes", &[], good.clone()).await.0, 507);
    house.sick.full.store(false, Ordering::SeqCst);
    house.sick.busy.store(true, Ordering::SeqCst);
    let (status, said) = post(&router, "/v1/changes", &[], good.clone()).await;
    assert!(status == 503 && said.ends_with(" retry 1"), "{status} {said}");
    http = house.http();
    http.config.requests_max = 0;
    let (status, said) = post(&crate::router(http), "/v1/changes", &[], good).await;
    assert!(status == 503 && said.contains("too many requests at once"), "{status} {said}");
}

#[tokio::test]
async fn a_key_says_whose_changes_these_are() {
    let house = House::new().await;
    let other = Tenant::new("other").unwrap();
    let keys = vec![
        ApiKey::new(&SecretString::from("one"), tenant()),
        ApiKey::new(&SecretString::from("two"), other.clone()),
    ];
    assert_eq!(format!("{:?}", keys[0]), "ApiKey { tenant: main, .. }");
    let router = router(Http { keys: Some(keys), ..house.http() });
    let body = event("work.published", r#""subject":"work:1","data":{"title":"Moon"}"#);
    for wrong in ["three", "", "one two"] {
        let headers = [("authorization", format!("Bearer {wrong}"))].map(|(name, value)| (name, value));
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (status, said) = post(&router, "/v1/changes", &headers, body.clone()).await;
        assert!(status == 401 && said.ends_with(" bearer"), "{wrong}: {status} {said}");
    }
    assert_eq!(post(&router, "/v1/changes", &[], body.clone()).await.0, 401);
    assert_eq!(post(&router, "/v1/changes", &[("authorization", "Basic one")], body.clone()).await.0, 401);
    assert_eq!(post(&router, "/v1/changes", &[("authorization", "bearer two")], body).await.0, 202);
    assert_eq!(house.events().await[0].tenant, other);
    assert!(house.state(StateKey::Subject(tenant(), subject("work:1"))).await.is_empty());
}

#[tokio::test]
async fn the_first_answer_stands_for_a_day() {
    let house = House::new().await;
    let router = house.router();
    let body = event("work.published", r#""subject":"work:1""#);
    let key = [("idempotency-key", "k")];
    // The first try stores and does not get as far as announcing.
    house.sick.busy.store(true, Ordering::SeqCst);
    assert_eq!(post(&router, "/v1/changes", &key, body.clone()).await.0, 503);
    house.sick.busy.store(false, Ordering::SeqCst);
    // The second is judged by the time of the first, so that it is the same event.
    house.ports.clock.advance(3_600_000);
    let (status, first) = post(&router, "/v1/changes", &key, body.clone()).await;
    assert_eq!((status, first.as_str()), (202, r#"{"accepted":1,"rejected":[]}"#));
    assert_eq!(house.events().await.iter().map(|event| event.occurred).collect::<Vec<_>>(), [at(NOON)]);
    assert_eq!(post(&router, "/v1/changes", &key, body.clone()).await, (202, first));
    assert_eq!(house.events().await.len(), 1, "the third did nothing");
    assert_eq!(post(&router, "/v1/changes", &key, event("x", r#""subject":"work:1""#)).await.0, 422);
    assert_eq!(post(&router, "/v1/facts", &key, body.clone()).await.0, 422);
    // Another key that looks like what is kept under the first one is another key.
    assert_eq!(post(&router, "/v1/changes", &[("idempotency-key", "seen:k")], body.clone()).await.0, 202);
    // A refusal stands too.
    let other = [("idempotency-key", "l")];
    let refused = post(&router, "/v1/changes", &other, "[]").await;
    assert_eq!((refused.0, post(&router, "/v1/changes", &other, "[]").await), (400, refused));
    house.ports.clock.advance(25 * 3_600_000);
    assert_eq!(post(&router, "/v1/changes", &key, body).await.0, 202);
    assert_eq!(house.events().await.len(), 3);
}

#[test]
fn what_is_kept_can_be_read_again() {
    let asked = Asked([7; 32]);
    assert_eq!(Asked::read_seen(&asked.seen(at(NOON))), Some((asked, at(NOON))));
    let answer = Answer::error(StatusCode::BAD_REQUEST, "no");
    assert_eq!(Asked::read_answered(&asked.answered(&answer)), Some((asked, answer)));
    assert_eq!(Asked::read_seen(&[]), None);
    assert_eq!(Asked::read_answered(&[0; 33]), None);
}

#[tokio::test]
async fn intake_waits_when_the_house_is_behind() {
    let house = House::new().await;
    let mut http = house.http();
    http.config.lag_records_max = 1;
    let router = router(http);
    let body = event("work.published", r#""subject":"work:1""#);
    let once = [("idempotency-key", "k")];
    assert_eq!(post(&router, "/v1/changes", &once, body.clone()).await.0, 202);
    assert_eq!(post(&router, "/v1/changes", &[], body.clone()).await.0, 202);
    // Two events wait now, which is noticed within a second.
    house.ports.clock.advance(1_000);
    let (status, said) = post(&router, "/v1/changes", &[], body.clone()).await;
    assert!(status == 429 && said.ends_with(" retry 5"), "{status} {said}");
    assert_eq!(post(&router, "/v1/changes", &once, body).await.0, 202, "what was answered is answered again");
}

#[tokio::test]
async fn requests_at_one_time_share_one_look_at_who_is_behind() {
    let house = House::new().await;
    let router = house.router();
    for looks in [1, 2] {
        let body = event("work.published", r#""subject":"work:1""#);
        let all = (0..4).map(|_| post(&router, "/v1/changes", &[], body.clone()));
        let answers = futures::future::join_all(all).await;
        assert!(answers.iter().all(|(status, _)| *status == 202), "{answers:?}");
        assert_eq!(house.sick.looks.load(Ordering::SeqCst), looks * crate::config::LAG_OF.len());
        house.ports.clock.advance(1_000);
    }
}

#[tokio::test]
async fn a_change_without_a_time_that_is_said_again_is_the_same_event() {
    let house = House::new().await;
    let body = r#"{"id":"1","source":"s","type":"work.published","subject":"work:1"}"#;
    assert_eq!(post(&house.router(), "/v1/changes", &[], body).await.0, 202);
    house.ports.clock.advance(3_600_000);
    assert_eq!(post(&house.router(), "/v1/changes", &[], body).await.0, 202);
    let keys: std::collections::BTreeSet<_> = house.events().await.iter().map(Event::entry_key).collect();
    assert_eq!(keys.len(), 1, "{keys:?}");
}

#[tokio::test]
async fn topics_carry_no_addresses() {
    let house = House::new().await;
    let profile = event(
        "tidings.profile",
        r#""data":{"person":"ann","name":"Ann Lee","email":"ann@example.com","zone":"Asia/Tokyo",
            "place":"35.7,139.7","email_plan":"weekly"}"#,
    );
    assert_eq!(post(&house.router(), "/v1/facts", &[], profile).await.0, 202);
    let records = house.records(topics::INBOX).await;
    let bytes = String::from_utf8_lossy(records[0].value.as_deref().unwrap()).into_owned();
    assert!(bytes.contains("Asia/Tokyo") && bytes.contains("weekly"), "{bytes}");
    for private in ["@", "Ann Lee", "place"] {
        assert!(!bytes.contains(private), "{private}: {bytes}");
    }
}

/// Words on whether ann is erased, each followed by a follow in the same body: how many of both are accepted, whether
/// she is marked then, and what was written down for the keeper. `done` is the keeper's own note.
#[tokio::test]
async fn whoever_erases_marks_and_asks_and_a_welcome_counts_only_when_that_is_done() {
    use Progress::{Asked, Lifted};
    let check = async |words: &[(&str, usize, bool, &[Progress])]| {
        let house = House::new().await;
        for (word, accepted, is_marked, written) in words {
            house.ports.clock.advance(1);
            if *word == "done" {
                let notes = house.state(StateKey::Notes(tenant(), ann())).await;
                let done = notes::erased_to(notes::last_erased(&notes).unwrap());
                house.store.merge(vec![(StateKey::Notes(tenant(), ann()), done)]).await.unwrap();
            } else {
                let facts = format!(
                    "[{},{}]",
                    event(&format!("tidings.{}", word.split(' ').next().unwrap()), &said(word)),
                    event("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
                );
                let (_, answer) = post(&house.router(), "/v1/facts", &[], facts).await;
                assert!(
                    answer.contains(&format!(r#""accepted":{accepted},"#)),
                    "{word} of {words:?}: {answer}"
                );
                assert_eq!(answer.contains("not done yet"), *accepted < 2, "{answer}");
            }
            let notes = house.state(StateKey::Notes(tenant(), ann())).await;
            assert_eq!(notes.flag(notes::ERASED), *is_marked, "{word} of {words:?}");
            let records = house.records(topics::ERASURES).await;
            let records =
                records.iter().map(|one| wire::erasure::decode(one.value.as_deref().unwrap()).unwrap());
            assert_eq!(records.map(|one| one.progress).collect::<Vec<_>>(), *written, "{word} of {words:?}");
            let follows = house.followers("author:7").await == [ann()];
            assert_eq!(follows, !is_marked, "{word} of {words:?}");
        }
    };
    check(&[("erase", 2, true, &[Asked]), ("erase", 2, true, &[Asked, Asked])]).await;
    check(&[("welcome", 2, false, &[])]).await;
    let asked: &[Progress] = &[Asked];
    check(&[("erase", 2, true, asked), ("welcome", 1, true, asked), ("done", 0, true, asked)]).await;
    let lifted: &[Progress] = &[Asked, Lifted];
    check(&[("erase", 2, true, asked), ("done", 0, true, asked), ("welcome", 2, false, lifted)]).await;
    // By the versions of a service: the welcome is older than the mark, and lifts nothing.
    check(&[("erase 9", 2, true, asked), ("done", 0, true, asked), ("welcome 8", 2, true, asked)]).await;
}

/// The version of a word, if it has one, and whom it is about.
fn said(word: &str) -> String {
    let version =
        word.split_once(' ').map_or_else(String::new, |(_, version)| format!(r#""version":{version},"#));
    format!(r#"{version}"data":{{"person":"ann"}}"#)
}

#[tokio::test]
async fn nothing_is_heard_of_the_erased() {
    let house = House::new().await;
    let erased = State::at(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    house.store.merge(vec![(StateKey::Notes(tenant(), ann()), erased)]).await.unwrap();
    let facts = format!(
        "[{},{},{},{}]",
        event("tidings.profile", r#""data":{"person":"ann","place":"52.5,13.4"}"#),
        event("tidings.mute", r#""data":{"person":"ann","actor":"bob"}"#),
        event("tidings.profile", r#""data":{"person":"ann","email":"ann@example.com"}"#),
        event("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
    );
    let (status, said) = post(&house.router(), "/v1/facts", &[], facts).await;
    assert_eq!((status, said.as_str()), (202, r#"{"accepted":4,"rejected":[]}"#));
    for key in [StateKey::Person(tenant(), ann()), StateKey::Mutes(tenant(), ann())] {
        assert!(house.state(key.clone()).await.is_empty(), "{key:?}");
    }
    assert!(house.records(topics::INBOX).await.is_empty());
    assert_eq!(house.followers("author:7").await, []);
    assert_eq!(house.members(&Crowd::Everyone).await, []);
}

#[tokio::test]
async fn records_are_admitted_or_put_aside_and_the_partition_goes_on() {
    let house = House::new().await;
    let good = event("work.published", r#""subject":"work:1","data":{"title":"Moon"}"#);
    let values = [
        Some(good.clone().into_bytes()),
        Some(b"\xff".to_vec()),
        Some(Vec::new()),
        Some(event("work.published", r#""subject":"work:1","time":"2026-11-01T00:00:00Z""#).into_bytes()),
        Some(wire::change::encode(&wire::cloud::parse(good.as_bytes()).unwrap()).unwrap()),
        Some(event("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#).into_bytes()),
    ];
    let record = |value| NewRecord {
        topic: topics::CHANGES.into(),
        partition: 3,
        key: b"k".to_vec(),
        value,
        headers: Vec::new(),
    };
    house.ports.topics.append(values.map(record).to_vec()).await.unwrap();
    house.settle().await;
    let events = house.events().await;
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0], events[1], "the same change is the same event in both forms");
    assert_eq!(house.followers("author:7").await, [ann()]);
    let aside = house.records(topics::QUARANTINE).await;
    let aside: Vec<_> =
        aside.iter().map(|r| wire::quarantined::decode(r.value.as_ref().unwrap()).unwrap()).collect();
    let found: Vec<_> = aside.iter().map(|q| (q.partition, q.offset, q.room.as_str())).collect();
    assert_eq!(found, [(3, 1, "ingest"), (3, 2, "ingest"), (3, 3, "ingest")]);
    assert_eq!(aside[0].value.as_deref(), Some(b"\xff".as_slice()));
    assert!(aside[0].reason.contains("the body is not utf-8"), "{}", aside[0].reason);
    assert_eq!(aside[1].reason, "/: it is neither json nor avro");
    assert!(aside[2].reason.starts_with("/time: occurred at"), "{}", aside[2].reason);
}

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let json = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\u0000",
        "\n",
        "null",
        "1e999",
        "\"id\":\"1\"",
        "\"source\":\"s\"",
        "\"type\":\"tidings.read\"",
        "\"type\":\"tidings.profile\"",
        "\"type\":\"x\"",
        "\"subject\":\"work:1\"",
        "\"data\":{",
        "\"person\":\"ann\"",
        "\"entries\":[",
        "\"email\":\"",
        "\"zone\":\"",
        "\"type\":\"tidings.mute\"",
        "\"type\":\"work.suggested\"",
        "\"subjects\":[\"work:1\",\"work:2\"]",
        "\"persons\":[\"ann\",{\"person\":\"ben\",\"score\":1}]",
        "\"place\":\"",
        "\"kind\":\"work_out\"",
        "90,180\"",
        "\u{feff}",
        "[[[[[[[[",
    ]);
    let text = prop::collection::vec(json, 0..40).prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![prop::collection::vec(any::<u8>(), 0..400), text]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn hostile_bodies_are_answered(bodies in prop::collection::vec((0..3_usize, hostile()), 1..4)) {
        static HOUSE: std::sync::LazyLock<(tokio::runtime::Runtime, House)> = std::sync::LazyLock::new(|| {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            let house = runtime.block_on(House::new());
            (runtime, house)
        });
        let (runtime, house) = &*HOUSE;
        let router = house.router();
        for (place, body) in bodies {
            let path = ["/v1/changes", "/v1/facts", "/v1/feedback"][place];
            let (status, said) = runtime.block_on(post(&router, path, &[], body));
            prop_assert!(status == 202 || (400..500).contains(&status), "{status} {said}");
        }
    }
}
