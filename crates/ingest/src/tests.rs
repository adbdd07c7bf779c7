//! Tests of the room: admission as a table, the HTTP way by single requests, the topic way in its loop.

mod failing_topics;
mod persons;
mod returns;
mod sources;
mod traces;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use ::traces::Tracer;
use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use catalogue::Catalogue;
use geoip::{AddressDatabase, AddressPlaces, DatabaseWriter};
use house_facts::erasure::ErasureProgress;
use model::{
    AudienceMatch, Crowd, Day, DayLife, DayRow, Entry, EntryKey, EntryReason, Event, EventKey, Fact,
    GeoPoint, Kind, Mark, MarkAction, Person, Tenant, Value, VersionedState, entry::DayKey,
    partition::PartitionCount, person::notes,
};
use proptest::prelude::*;
use room::testing::{
    RoomEngines, list_records, parse_catalogue, parse_instant, person, subject, tenant, wait_until_read,
};
use runtime::{ShutdownSignal, metrics::Metrics};
use secrecy::SecretString;
use serde_json::json;
use store::{DayRows, StateKey, Store};
use topic::{NewRecord, TopicRecord, TopicRetention, TopicSpec};
use tower::ServiceExt as _;
use web::ApiKey;
use wire::{FeedbackAction, InboxItem, topics};

use self::failing_topics::FailingTopics;
use crate::{
    Config, Deps, HttpIntake, IngestMetrics,
    admission::AdmittedItem,
    effects::IntakeEffects,
    facts::{IntakeFacts, IntakeQuestions},
    feedback::FeedbackTarget,
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
    parse_catalogue(CATALOGUE)
}

pub(crate) fn ann() -> Person {
    person("ann")
}

/// A CloudEvent of a type with these further attributes.
pub(crate) fn event_json(what: &str, rest: &str) -> String {
    format!(
        r#"{{"specversion":"1.0","id":"1","source":"s","type":"{what}"{}{rest}}}"#,
        if rest.is_empty() { "" } else { "," }
    )
}

fn sample_entry(subject_: &str, occurred: &str, event: u8) -> Entry {
    let reason = EntryReason {
        kind: Kind::new("work_out").unwrap(),
        because: AudienceMatch::Follows(subject("author:7")),
    };
    Entry {
        key: EntryKey { occurred: parse_instant(occurred), event: EventKey([event; 16]) },
        reason,
        subject: subject(subject_),
        actor: None,
        kept: model::KeptFields::new(),
    }
}

/// Feedback about a subject covers its entries up to that instant; each is marked once, and announced
/// however often it comes.
#[test]
fn feedback_about_a_subject_covers_what_was_there() {
    let [one, two, later, other] = [
        sample_entry("work:1", "2026-11-20T09:00:00Z", 1),
        sample_entry("work:1", "2026-11-21T09:00:00Z", 2),
        sample_entry("work:1", "2026-11-21T11:30:00Z", 3),
        sample_entry("work:2", "2026-11-21T09:00:00Z", 4),
    ];
    let until = parse_instant("2026-11-21T11:00:00Z");
    let about = FeedbackTarget::Subject { subject: subject("work:1"), until };
    let read = AdmittedItem::Feedback {
        tenant: tenant(),
        person: ann(),
        what: FeedbackAction::Read,
        about,
        at: parse_instant(NOON),
    };
    let questions =
        IntakeQuestions::from_admitted(std::slice::from_ref(&read), DayLife::LEAST, parse_instant(NOON));
    assert_eq!(questions.days.len(), 21, "as many days as live");
    let day = |day: &str| DayKey { tenant: tenant(), person: ann(), day: Day::parse(day).unwrap() };
    let mut known = IntakeFacts::default();
    known.days.insert(day("2026-11-20"), vec![DayRow::Entry(one.clone())]);
    let today = [&two, &later, &other].map(|entry| DayRow::Entry(entry.clone()));
    known.days.insert(day("2026-11-21"), today.to_vec());

    let effects = IntakeEffects::from_admitted(vec![read.clone()], &known, parse_instant(NOON));
    let mark = |key| DayRow::Mark(Mark::new(None, MarkAction::Read, vec![key], parse_instant(NOON)));
    let marks = [
        DayRows { key: day("2026-11-20"), rows: vec![mark(one.key)] },
        DayRows { key: day("2026-11-21"), rows: vec![mark(two.key)] },
    ];
    assert_eq!(effects.marks, marks);
    let Ok(InboxItem::Feedback(heard)) = wire::inbox::decode(effects.records[0].value.as_ref().unwrap())
    else {
        panic!()
    };
    assert_eq!(heard.keys, [one.key, two.key]);

    for DayRows { key, rows } in marks {
        known.days.entry(key).or_default().extend(rows);
    }
    let again = IntakeEffects::from_admitted(vec![read], &known, parse_instant(NOON));
    assert_eq!(again.marks, [], "looking twice writes once");
    assert_eq!(again.records, effects.records, "and is announced twice");

    // The same where the entries are named: an app says so at every look.
    let about = FeedbackTarget::Entries(vec![two.key, later.key]);
    let named = AdmittedItem::Feedback {
        tenant: tenant(),
        person: ann(),
        what: FeedbackAction::Read,
        about,
        at: parse_instant(NOON),
    };
    let questions =
        IntakeQuestions::from_admitted(std::slice::from_ref(&named), DayLife::LEAST, parse_instant(NOON));
    assert_eq!(questions.days, [day("2026-11-21")].into());
    let effects = IntakeEffects::from_admitted(vec![named], &known, parse_instant(NOON));
    assert_eq!(effects.marks, [DayRows { key: day("2026-11-21"), rows: vec![mark(later.key)] }]);
}

/// Berlin, by two networks.
pub(crate) fn known_places() -> AddressPlaces {
    let (at, places) = (GeoPoint { lat: 52.52, lon: 13.4 }, AddressPlaces::default());
    let networks = ["203.0.113.0/24", "2001:db8::/32"].map(|network| network.parse().unwrap());
    let empty = DatabaseWriter::new("Test-City", parse_instant(NOON));
    let written = networks.into_iter().fold(empty, |file, network| file.with_place(network, at, 20));
    places.replace(Some(Arc::new(AddressDatabase::from_bytes(written.finish()).unwrap())));
    places
}

/// One process's worth of engines, and a topic engine that can be made to fail.
struct IngestHouse {
    _engines: RoomEngines,
    deps: Deps,
    sick: Arc<FailingTopics>,
    store: Arc<dyn Store>,
}

impl IngestHouse {
    async fn new() -> Self {
        Self::new_traced(Tracer::default()).await
    }

    async fn new_traced(tracer: Tracer) -> Self {
        let engines = RoomEngines::open(parse_instant(NOON)).await;
        let sick = Arc::new(FailingTopics {
            topics: Box::new(engines.topics.clone()),
            busy: AtomicBool::default(),
            full: AtomicBool::default(),
            looks: AtomicUsize::default(),
        });
        let deps = Deps {
            room: room::Deps { topics: sick.clone(), tracer, ..engines.deps(catalogue()) },
            secret: wire::token::LinkSecret::new([0; wire::token::SECRET_BYTES]),
            schemas: Arc::new(wire::NoSchemaSource),
            places: known_places(),
            metrics: IngestMetrics::declare(&Metrics::default()).unwrap(),
        };
        let store = engines.store.clone();
        Self { _engines: engines, deps, sick, store }
    }

    /// For the next run: the last one was shut down.
    fn restarted_deps(&self) -> Deps {
        let room = room::Deps { shutdown: ShutdownSignal::default(), ..self.deps.room.clone() };
        Deps { room, ..self.deps.clone() }
    }

    fn http(&self) -> HttpIntake {
        let config = Config {
            records_max: 100,
            tenant: tenant(),
            lag_records_max: 1_000,
            listed_rows_a_minute: crate::config::LISTED_ROWS_A_MINUTE,
            requests_max: 4,
            returns: None,
        };
        HttpIntake { deps: self.deps.clone(), config, keys: None.into(), disk_low: Arc::new(|| false) }
    }

    fn router(&self) -> Router {
        router(self.http())
    }

    /// Runs the topic way until it has committed everything there is.
    async fn settle(&self) {
        self.settle_all(&[("ingest", topics::CHANGES)]).await;
    }

    /// Runs every loop until these groups have committed all there is.
    async fn settle_all(&self, readings: &[(&str, &str)]) {
        let deps = self.restarted_deps();
        let settled = async {
            wait_until_read(&*deps.room.topics, &deps.room.quiet, readings).await;
            deps.room.shutdown.start();
        };
        tokio::join!(run(deps.clone(), self.http().config), settled).0.unwrap();
    }

    async fn records(&self, topic: &str) -> Vec<TopicRecord> {
        list_records(&*self.deps.room.topics, topic).await
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

    async fn state(&self, key: StateKey) -> VersionedState {
        self.store.states(&[key]).await.unwrap().remove(0)
    }
}

/// Sends one request; gives status, the header asked for, and the body.
async fn post_body(
    router: &Router,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> (u16, String) {
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
    let house = IngestHouse::new().await;
    let router = house.router();
    let body = format!(
        "[{},{},{}]",
        event_json("work.published", r#""subject":"work:1","data":{"title":"Moon","author":"author:7"}"#),
        event_json("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
        event_json("work.published", r#""subject":"work:1","data":{"score":"x"}"#),
    );
    let (status, said) =
        post_body(&router, "/v1/changes", &[("content-type", "application/json; charset=utf-8")], body).await;
    let expected = json!({"accepted": 1, "rejected": [
        {"index": 1, "reason": "`tidings.follow` is taken at /v1/facts", "at": "/type"},
        {"index": 2, "reason": "work:1: field `score` must be a number, not the text \"x\"", "at": "/data/score"},
    ]});
    assert_eq!((status, said), (202, expected.to_string()));
    let state = house.state(StateKey::Subject(tenant(), subject("work:1"))).await;
    assert_eq!(state.text("title"), Some("Moon"));
    let records = house.records(topics::EVENTS).await;
    assert_eq!(records[0].partition, PartitionCount::USUAL.of_subject(&tenant(), &subject("work:1")));
    assert_eq!(house.events().await[0].key, EventKey::from_source_id(&tenant(), "s", "1"));

    let facts = format!(
        "{}\n{}\n",
        event_json("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
        event_json("tidings.profile", r#""data":{"person":"ann","zone":"Asia/Tokyo"}"#),
    );
    let (status, said) =
        post_body(&router, "/v1/facts", &[("content-type", "application/x-ndjson")], facts).await;
    assert_eq!((status, said.as_str()), (202, r#"{"accepted":2,"rejected":[]}"#));
    assert_eq!(house.followers("author:7").await, [ann()]);
    assert_eq!(house.members(&Crowd::Everyone).await, [ann()]);
    let inbox = house.records(topics::INBOX).await;
    let inbox: Vec<InboxItem> =
        inbox.iter().map(|r| wire::inbox::decode(r.value.as_ref().unwrap()).unwrap()).collect();
    assert!(matches!(inbox[0], InboxItem::Fact(Fact::Follow(_))), "{inbox:?}");
    assert!(matches!(inbox[1], InboxItem::Fact(Fact::Profile { .. })), "{inbox:?}");
}

#[tokio::test]
async fn feedback_is_a_mark_before_it_is_announced() {
    let house = IngestHouse::new().await;
    let entry = sample_entry("work:1", "2026-11-21T09:00:00Z", 1);
    let day = DayKey { tenant: tenant(), person: ann(), day: entry.key.day() };
    let rows = vec![DayRows { key: day.clone(), rows: vec![DayRow::Entry(entry.clone())] }];
    house.store.write(rows, parse_instant(NOON)).await.unwrap();
    let body = event_json("tidings.cleared", r#""data":{"person":"ann","subject":"work:1"}"#);
    house.sick.busy.store(true, Ordering::SeqCst);
    assert_eq!(post_body(&house.router(), "/v1/feedback", &[], body.clone()).await.0, 503);
    let marks = |rows: Vec<Vec<DayRow>>| {
        rows.concat().into_iter().filter(|row| matches!(row, DayRow::Mark(_))).count()
    };
    assert_eq!(marks(house.store.read(std::slice::from_ref(&day), parse_instant(NOON)).await.unwrap()), 1);
    house.sick.busy.store(false, Ordering::SeqCst);
    assert_eq!(post_body(&house.router(), "/v1/feedback", &[], body).await.0, 202);
    assert_eq!(marks(house.store.read(&[day], parse_instant(NOON)).await.unwrap()), 1);
    assert_eq!(house.records(topics::INBOX).await.len(), 1);
}

#[tokio::test]
async fn requests_are_refused_by_their_form() {
    let house = IngestHouse::new().await;
    let mut http = house.http();
    let router = house.router();
    let good = event_json("work.published", r#""subject":"work:1""#);
    let json = [("content-type", "application/json")];
    let check = async |path: &str, headers: &[(&str, &str)], body: &str, status: u16, part: &str| {
        let (found, said) = post_body(&router, path, headers, body.to_owned()).await;
        assert_eq!(found, status, "{path} {headers:?}: {said}");
        assert!(said.contains(part), "{path} {headers:?}: {said}");
    };
    check("/v1/changes", &json, "{", 400, r#""at":"line 1 column"#).await;
    check("/v1/changes", &json, "[]", 400, r#""accepted":0,"rejected":[]}"#).await;
    check("/v1/changes", &json, "", 400, "the body is empty").await;
    check("/v1/changes", &json, "7", 400, r#""reason":"a change must be an object","at":""}]}"#).await;
    check("/v1/changes", &json, "[7]", 400, r#""index":0,"reason":"a change must be an object","at":""}]"#)
        .await;
    let lines = format!("{good}\n7\n");
    check("/v1/changes", &json, &lines, 202, r#""index":1,"reason":"a change must be an object","at":""}]"#)
        .await;
    check(
        "/v1/changes",
        &json,
        r#"[{"id":"1"}]"#,
        400,
        r#""accepted":0,"rejected":[{"index":0,"reason":"`source` is missing","at":"/source"}]}"#,
    )
    .await;
    check(
        "/v1/facts",
        &json,
        &good,
        400,
        "`work.published` is a change, taken at /v1/changes: this path takes",
    )
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
    assert_eq!(post_body(&crate::router(http.clone()), "/v1/changes", &[], good.clone()).await.0, 507);
    house.sick.full.store(true, Ordering::SeqCst);
    assert_eq!(post_body(&router, "/v1/changes", &[], good.clone()).await.0, 507);
    house.sick.full.store(false, Ordering::SeqCst);
    house.sick.busy.store(true, Ordering::SeqCst);
    let (status, said) = post_body(&router, "/v1/changes", &[], good.clone()).await;
    assert!(status == 503 && said.ends_with(" retry 1"), "{status} {said}");
    http = house.http();
    http.config.requests_max = 0;
    let (status, said) = post_body(&crate::router(http), "/v1/changes", &[], good).await;
    assert!(status == 503 && said.contains("too many requests at once"), "{status} {said}");
}

#[tokio::test]
async fn a_key_says_whose_changes_these_are() {
    let house = IngestHouse::new().await;
    let other = Tenant::new("other").unwrap();
    let keys = vec![
        ApiKey::new(&SecretString::from("one"), tenant()),
        ApiKey::new(&SecretString::from("two"), other.clone()),
    ];
    let router = router(HttpIntake { keys: Some(keys).into(), ..house.http() });
    let body = event_json("work.published", r#""subject":"work:1","data":{"title":"Moon"}"#);
    for wrong in ["three", "", "one two"] {
        let headers = [("authorization", format!("Bearer {wrong}"))].map(|(name, value)| (name, value));
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (status, said) = post_body(&router, "/v1/changes", &headers, body.clone()).await;
        assert!(status == 401 && said.ends_with(" bearer"), "{wrong}: {status} {said}");
    }
    assert_eq!(post_body(&router, "/v1/changes", &[], body.clone()).await.0, 401);
    assert_eq!(
        post_body(&router, "/v1/changes", &[("authorization", "Basic one")], body.clone()).await.0,
        401
    );
    assert_eq!(post_body(&router, "/v1/changes", &[("authorization", "bearer two")], body).await.0, 202);
    assert_eq!(house.events().await[0].tenant, other);
    assert!(house.state(StateKey::Subject(tenant(), subject("work:1"))).await.is_empty());
}

#[tokio::test]
async fn the_first_answer_stands_for_a_day() {
    let house = IngestHouse::new().await;
    let router = house.router();
    let body = event_json("work.published", r#""subject":"work:1""#);
    let key = [("idempotency-key", "k")];
    // The first try stores and does not get as far as announcing.
    house.sick.busy.store(true, Ordering::SeqCst);
    assert_eq!(post_body(&router, "/v1/changes", &key, body.clone()).await.0, 503);
    house.sick.busy.store(false, Ordering::SeqCst);
    // The second is judged by the time of the first, so that it is the same event.
    house.deps.room.clock.advance(3_600_000);
    let (status, first) = post_body(&router, "/v1/changes", &key, body.clone()).await;
    assert_eq!((status, first.as_str()), (202, r#"{"accepted":1,"rejected":[]}"#));
    assert_eq!(
        house.events().await.iter().map(|event| event.occurred).collect::<Vec<_>>(),
        [parse_instant(NOON)]
    );
    assert_eq!(post_body(&router, "/v1/changes", &key, body.clone()).await, (202, first));
    assert_eq!(house.events().await.len(), 1, "the third did nothing");
    assert_eq!(
        post_body(&router, "/v1/changes", &key, event_json("x", r#""subject":"work:1""#)).await.0,
        422
    );
    assert_eq!(post_body(&router, "/v1/facts", &key, body.clone()).await.0, 422);
    // Another key that looks like what is kept under the first one is another key.
    assert_eq!(
        post_body(&router, "/v1/changes", &[("idempotency-key", "seen:k")], body.clone()).await.0,
        202
    );
    // A refusal stands too.
    let other = [("idempotency-key", "l")];
    let refused = post_body(&router, "/v1/changes", &other, "[]").await;
    assert_eq!((refused.0, post_body(&router, "/v1/changes", &other, "[]").await), (400, refused));
    house.deps.room.clock.advance(25 * 3_600_000);
    assert_eq!(post_body(&router, "/v1/changes", &key, body).await.0, 202);
    assert_eq!(house.events().await.len(), 3);
}

#[tokio::test]
async fn intake_waits_when_the_house_is_behind() {
    let house = IngestHouse::new().await;
    let mut http = house.http();
    http.config.lag_records_max = 1;
    let router = router(http);
    let body = event_json("work.published", r#""subject":"work:1""#);
    let once = [("idempotency-key", "k")];
    assert_eq!(post_body(&router, "/v1/changes", &once, body.clone()).await.0, 202);
    assert_eq!(post_body(&router, "/v1/changes", &[], body.clone()).await.0, 202);
    // Two events wait now, which is noticed within a second.
    house.deps.room.clock.advance(1_000);
    let (status, said) = post_body(&router, "/v1/changes", &[], body.clone()).await;
    assert!(status == 429 && said.ends_with(" retry 5"), "{status} {said}");
    assert_eq!(
        post_body(&router, "/v1/changes", &once, body).await.0,
        202,
        "what was answered is answered again"
    );
}

#[tokio::test]
async fn requests_at_one_time_share_one_look_at_who_is_behind() {
    let house = IngestHouse::new().await;
    let router = house.router();
    for looks in [1, 2] {
        let body = event_json("work.published", r#""subject":"work:1""#);
        let all = (0..4).map(|_| post_body(&router, "/v1/changes", &[], body.clone()));
        let answers = futures::future::join_all(all).await;
        assert!(answers.iter().all(|(status, _)| *status == 202), "{answers:?}");
        assert_eq!(house.sick.looks.load(Ordering::SeqCst), looks * crate::config::LAG_OF.len());
        house.deps.room.clock.advance(1_000);
    }
}

#[tokio::test]
async fn a_change_without_a_time_that_is_said_again_is_the_same_event() {
    let house = IngestHouse::new().await;
    let body = r#"{"id":"1","source":"s","type":"work.published","subject":"work:1"}"#;
    assert_eq!(post_body(&house.router(), "/v1/changes", &[], body).await.0, 202);
    house.deps.room.clock.advance(3_600_000);
    assert_eq!(post_body(&house.router(), "/v1/changes", &[], body).await.0, 202);
    let keys: std::collections::BTreeSet<_> = house.events().await.iter().map(Event::entry_key).collect();
    assert_eq!(keys.len(), 1, "{keys:?}");
}

#[tokio::test]
async fn topics_carry_no_addresses() {
    let house = IngestHouse::new().await;
    let profile = event_json(
        "tidings.profile",
        r#""data":{"person":"ann","name":"Ann Lee","email":"ann@example.com","zone":"Asia/Tokyo",
            "place":"35.7,139.7","email_plan":"weekly"}"#,
    );
    assert_eq!(post_body(&house.router(), "/v1/facts", &[], profile).await.0, 202);
    let records = house.records(topics::INBOX).await;
    // Behind the fingerprint of the schema, which may have any bytes.
    let (_, body) = records[0].value.as_deref().unwrap().split_at(10);
    let bytes = String::from_utf8_lossy(body).into_owned();
    assert!(bytes.contains("Asia/Tokyo") && bytes.contains("weekly"), "{bytes}");
    for private in ["@", "Ann Lee", "place"] {
        assert!(!bytes.contains(private), "{private}: {bytes}");
    }
}

/// Words on whether ann is erased, each followed by a follow in the same body: how many of both are accepted, whether
/// she is marked then, and what was written down for the keeper. `done` is the keeper's own note.
#[tokio::test]
async fn whoever_erases_marks_and_asks_and_a_welcome_counts_only_when_that_is_done() {
    use ErasureProgress::{Asked, Lifted};
    let check = async |words: &[(&str, usize, bool, &[ErasureProgress])]| {
        let house = IngestHouse::new().await;
        for (word, accepted, is_marked, written) in words {
            house.deps.room.clock.advance(1);
            if *word == "done" {
                let notes = house.state(StateKey::Notes(tenant(), ann())).await;
                let done = notes::note_erasure_done(notes::last_erased(&notes).unwrap());
                house.store.merge(vec![(StateKey::Notes(tenant(), ann()), done)]).await.unwrap();
            } else {
                let facts = format!(
                    "[{},{}]",
                    event_json(
                        &format!("tidings.{}", word.split(' ').next().unwrap()),
                        &erasure_fields(word)
                    ),
                    event_json("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
                );
                let (_, answer) = post_body(&house.router(), "/v1/facts", &[], facts).await;
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
    let asked: &[ErasureProgress] = &[Asked];
    check(&[("erase", 2, true, asked), ("welcome", 1, true, asked), ("done", 0, true, asked)]).await;
    let lifted: &[ErasureProgress] = &[Asked, Lifted];
    check(&[("erase", 2, true, asked), ("done", 0, true, asked), ("welcome", 2, false, lifted)]).await;
    // By the versions of a service: the welcome is older than the mark, and lifts nothing.
    check(&[("erase 9", 2, true, asked), ("done", 0, true, asked), ("welcome 8", 2, true, asked)]).await;
}

/// The version of a word, if it has one, and whom it is about.
fn erasure_fields(word: &str) -> String {
    let version =
        word.split_once(' ').map_or_else(String::new, |(_, version)| format!(r#""version":{version},"#));
    format!(r#"{version}"data":{{"person":"ann"}}"#)
}

#[tokio::test]
async fn nothing_is_heard_of_the_erased() {
    let house = IngestHouse::new().await;
    let erased = VersionedState::from_values(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    house.store.merge(vec![(StateKey::Notes(tenant(), ann()), erased)]).await.unwrap();
    let facts = format!(
        "[{},{},{},{}]",
        event_json("tidings.profile", r#""data":{"person":"ann","place":"52.5,13.4"}"#),
        event_json("tidings.mute", r#""data":{"person":"ann","actor":"bob"}"#),
        event_json("tidings.profile", r#""data":{"person":"ann","email":"ann@example.com"}"#),
        event_json("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
    );
    let (status, said) = post_body(&house.router(), "/v1/facts", &[], facts).await;
    assert_eq!((status, said.as_str()), (202, r#"{"accepted":4,"rejected":[]}"#));
    for key in [StateKey::Person(tenant(), ann()), StateKey::Preferences(tenant(), ann())] {
        assert!(house.state(key.clone()).await.is_empty(), "{key:?}");
    }
    assert!(house.records(topics::INBOX).await.is_empty());
    assert_eq!(house.followers("author:7").await, []);
    assert_eq!(house.members(&Crowd::Everyone).await, []);
}

#[tokio::test]
async fn records_are_admitted_or_put_aside_and_the_partition_goes_on() {
    let house = IngestHouse::new().await;
    let good = event_json("work.published", r#""subject":"work:1","data":{"title":"Moon"}"#);
    let values = [
        Some(good.clone().into_bytes()),
        Some(b"\xff".to_vec()),
        Some(Vec::new()),
        Some(
            event_json("work.published", r#""subject":"work:1","time":"2026-11-01T00:00:00Z""#).into_bytes(),
        ),
        Some(wire::change::encode(&wire::cloud_event::parse_change(good.as_bytes()).unwrap()).unwrap()),
        Some(event_json("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#).into_bytes()),
    ];
    let record = |value| NewRecord {
        topic: topics::CHANGES.into(),
        partition: 3,
        key: b"k".to_vec(),
        value,
        headers: Vec::new(),
    };
    house.deps.room.topics.append(values.map(record).to_vec()).await.unwrap();
    house.settle().await;
    let events = house.events().await;
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0], events[1], "the same change is the same event in both forms");
    assert_eq!(house.followers("author:7").await, [ann()]);
    let aside = house.records(topics::QUARANTINE).await;
    let aside: Vec<_> =
        aside.iter().map(|r| wire::quarantine::decode(r.value.as_ref().unwrap()).unwrap()).collect();
    let found: Vec<_> = aside.iter().map(|q| (q.partition, q.offset, q.room.as_str())).collect();
    assert_eq!(found, [(3, 1, "ingest"), (3, 2, "ingest"), (3, 3, "ingest")]);
    assert_eq!(aside[0].value.as_deref(), Some(b"\xff".as_slice()));
    assert!(aside[0].reason.contains("the body is not UTF-8"), "{}", aside[0].reason);
    assert_eq!(aside[1].reason, "it is neither JSON nor Avro");
    assert!(aside[2].reason.starts_with("/time: occurred at"), "{}", aside[2].reason);
}

fn hostile_body() -> impl Strategy<Value = Vec<u8>> {
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
    fn hostile_bodies_are_answered(bodies in prop::collection::vec((0..3_usize, hostile_body()), 1..4)) {
        static HOUSE: std::sync::LazyLock<(tokio::runtime::Runtime, IngestHouse)> = std::sync::LazyLock::new(|| {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            let house = runtime.block_on(IngestHouse::new());
            (runtime, house)
        });
        let (runtime, house) = &*HOUSE;
        let router = house.router();
        for (place, body) in bodies {
            let path = ["/v1/changes", "/v1/facts", "/v1/feedback"][place];
            let (status, said) = runtime.block_on(post_body(&router, path, &[], body));
            prop_assert!(status == 202 || (400..500).contains(&status), "{status} {said}");
        }
    }
}
