//! Tests of the room: admission as a table, the HTTP way by single requests, the topic way in its loop.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
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
    Because, Day, Entry, EntryKey, Event, EventKey, Fact, Follow, Kind, Mark, Millis, Person, Reason, Row,
    State, SubjectRef, Tenant, Value, What, civil::Zones, entry::DayKey, partition, person::profile,
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
use wire::{Cloud, Did, Inbox, topics};

use crate::{
    ApiKey, Config, Http, IngestMetrics, Ports,
    admit::{About, Admitted, admit},
    answer::{Answer, Asked},
    effects::{Effects, Known, Questions, Verdict},
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
      - {title: Works, kinds: work_out, most: 8, order: newest}
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

fn ann() -> Person {
    Person::new("ann").unwrap()
}

fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

/// What becomes of one CloudEvent, in one line.
fn judged(json: &str) -> String {
    let cloud = match wire::cloud::parse(json.as_bytes()) {
        Ok(cloud) => cloud,
        Err(error) => return format!("unread {error}"),
    };
    let cells = |state: &State| {
        let cell = |(name, cell): (&Arc<str>, &model::Cell)| {
            format!(" {name}={}", cell.value.as_ref().map_or("-".to_owned(), ToString::to_string))
        };
        state.cells.iter().map(cell).collect::<String>()
    };
    let version = |state: &State| state.cells.values().next().map_or(0, |cell| cell.version);
    match admit(cloud, &tenant(), at(NOON), &catalogue(), &Zones::bundled()) {
        Err(refused) => format!("refused {refused}"),
        Ok(Admitted::Change(Event { what, subject, actor, occurred, state, .. })) => {
            let by = actor.map(|actor| format!(" by {actor}")).unwrap_or_default();
            format!("change {what} {subject}{by} at {occurred} v{}{}", version(&state), cells(&state))
        }
        Ok(Admitted::Follow(Follow { person, target, version, on, .. })) => {
            format!("{} {person} {target} v{version}", if on { "follow" } else { "unfollow" })
        }
        Ok(Admitted::Profile { person, state, .. }) => {
            format!("profile {person} v{}{}", version(&state), cells(&state))
        }
        Ok(Admitted::Feedback { person, what, about, .. }) => match about {
            About::Subject { subject, until } => format!("{what:?} {person} {subject} until {until}"),
            About::Entries(keys) => format!("{what:?} {person} {keys:?}"),
        },
    }
}

/// A CloudEvent of a type with these further attributes.
fn event(what: &str, rest: &str) -> String {
    format!(
        r#"{{"specversion":"1.0","id":"1","source":"s","type":"{what}"{}{rest}}}"#,
        if rest.is_empty() { "" } else { "," }
    )
}

fn check(what: &str, rest: &str, expected: &str) {
    assert_eq!(judged(&event(what, rest)), expected, "{what} {rest}");
}

#[test]
fn changes_are_admitted_or_refused_with_a_reason() {
    let work = "work.published";
    let noon = "2026-11-21T12:00:00.000Z";
    let ms = at(NOON).0;
    check(work, r#""subject":"work:1""#, &format!("change {work} work:1 at {noon} v0"));
    check(
        work,
        r#""subject":"work:1","actor":"bob","time":"2026-11-20T01:00:00+01:00","version":7,"data":{"title":"Moon","public":true,"other":1}"#,
        "change work.published work:1 by bob at 2026-11-20T00:00:00.000Z v7 public=true title=Moon",
    );
    check(
        work,
        r#""subject":"work:1","data":{"title":null}"#,
        &format!("change {work} work:1 at {noon} v{ms} title=-"),
    );
    // Nobody need be told of it: it still changes its subject.
    check(
        "renamed",
        r#""subject":"author:1","data":{"name":"A"}"#,
        &format!("change renamed author:1 at {noon} v{ms} name=A"),
    );
    check(work, "", "refused /subject: it is missing");
    check(work, r#""subject":"work""#, "refused /subject: `work` is not of the form type:id");
    check(
        work,
        r#""subject":"wrok:1""#,
        "refused /subject: wrok:1: there is no subject type `wrok`, did you mean `work`?",
    );
    check(
        work,
        r#""subject":"author:1""#,
        "refused /subject: `work.published` is about `work:id`, not `author:1`",
    );
    check(
        work,
        r#""subject":"work:1","actor":" ""#,
        "refused /actor: person has a control character or a blank at its edge",
    );
    check(
        work,
        r#""subject":"work:1","data":{"link":"javascript:alert(1)"}"#,
        "refused /data/link: work:1: field `link` is a url, absolute, http or https, found the text \"javascript:alert(1)\"",
    );
    check(
        work,
        r#""subject":"work:1","time":"2026-11-14T11:59:59Z""#,
        "refused /time: occurred at 2026-11-14T11:59:59.000Z, more than 7 days before its record was appended at 2026-11-21T12:00:00.000Z",
    );
    check(
        work,
        r#""subject":"work:1","time":"2026-11-14T12:00:00Z""#,
        "change work.published work:1 at 2026-11-14T12:00:00.000Z v0",
    );
    check(
        work,
        r#""subject":"work:1","time":"2026-11-21T12:01:01Z""#,
        "refused /time: occurred at 2026-11-21T12:01:01.000Z, more than a minute after its record was appended at 2026-11-21T12:00:00.000Z",
    );
    check(
        work,
        r#""subject":"work:1","time":"2026-11-21T12:01:00Z""#,
        "change work.published work:1 at 2026-11-21T12:01:00.000Z v0",
    );
    let long = "x".repeat(129);
    check(&long, r#""subject":"work:1""#, "refused /type: it has more than 128 bytes or a control character");
}

#[test]
fn facts_are_admitted_or_refused_with_a_reason() {
    let ms = at(NOON).0;
    let follow = |rest: &str, expected: &str| {
        check("tidings.follow", &format!(r#""data":{{"person":"ann"{rest}}}"#), expected)
    };
    follow(r#","target":"author:7""#, &format!("follow ann author:7 v{ms}"));
    follow("", "refused /data/target: it is missing");
    follow(r#","target":7"#, "refused /data/target: it is not a text");
    follow(
        r#","target":"athor:7""#,
        "refused /data/target: athor:7: there is no subject type `athor`, did you mean `author`?",
    );
    follow(
        r#","target":"author:7","traget":1"#,
        "refused /data/traget: there is no field `traget`: did you mean `target`?",
    );
    check(
        "tidings.unfollow",
        r#""version":"9","data":{"person":"ann","target":"author:7"}"#,
        "unfollow ann author:7 v9",
    );
    // A fact may be old, as in a first import, but not ahead: nothing could override it.
    check(
        "tidings.follow",
        r#""time":"2020-01-01T00:00:00Z","data":{"person":"ann","target":"author:7"}"#,
        "follow ann author:7 v1577836800000",
    );
    check(
        "tidings.follow",
        r#""time":"2026-11-21T13:00:00Z","data":{"person":"ann","target":"author:7"}"#,
        "refused /time: occurred at 2026-11-21T13:00:00.000Z, more than a minute after its record was appended at 2026-11-21T12:00:00.000Z",
    );
    check(
        "tidings.folow",
        "",
        "refused /type: tidings has no type `tidings.folow`: did you mean `tidings.follow`?",
    );
    check("tidings.follow", r#""data":{"target":"author:7"}"#, "refused /data/person: it is missing");

    let profile = |fields: &str, expected: &str| {
        check("tidings.profile", &format!(r#""version":3,"data":{{"person":"ann"{fields}}}"#), expected);
    };
    profile(
        r#","zone":"Europe/Berlin","email":"ann@example.com","name":"Änn","language":"pt-BR","email_off":true"#,
        "profile ann v3 email=ann@example.com email_off=true language=pt-BR name=Änn zone=Europe/Berlin",
    );
    profile(r#","email":null,"zone":null"#, "profile ann v3 email=- zone=-");
    profile("", "refused /data: it states nothing about the person");
    profile(r#","zone":"Berlin""#, "refused /data/zone: `Berlin` is no time zone, as in Europe/Berlin");
    profile(
        r#","zone":"../etc/passwd""#,
        "refused /data/zone: `../etc/passwd` is no time zone, as in Europe/Berlin",
    );
    profile(r#","emial":"a@b""#, "refused /data/emial: there is no field `emial`: did you mean `email`?");
    profile(r#","erased":true"#, "refused /data/erased: `erased` cannot be set from outside");
    profile(r#","full_day":1"#, "refused /data/full_day: `full_day` cannot be set from outside");
    profile(r#","email_off":"yes""#, "refused /data/email_off: it is not true or false");
    profile(r#","name":" ""#, "refused /data/name: it is empty; null takes it away");
    profile(r#","name":"a\nb""#, "refused /data/name: it has more than 256 bytes or a control character");
    profile(
        r#","language":"en_GB""#,
        "refused /data/language: `en_GB` is no language tag, as in en or pt-BR",
    );
    let no_mail = |address: &str, why: &str| {
        profile(
            &format!(r#","email":"{address}""#),
            &format!("refused /data/email: it is no address for mail: {why}"),
        );
    };
    no_mail("ann", "no @");
    no_mail("@example.com", "the part before the @");
    no_mail("a..n@example.com", "the part before the @");
    no_mail("ann@", "the part after the @");
    no_mail("ann@-x.com", "the part after the @");
    no_mail("ann@a@b", "the part after the @");
    no_mail("Ann <ann@example.com>", "a character that has no place there");
    no_mail(r"ann@example.com\r\nBcc: bob@example.com", "a character that has no place there");
    no_mail("a,b@example.com", "a character that has no place there");
}

#[test]
fn feedback_is_admitted_or_refused_with_a_reason() {
    let read = |rest: &str, expected: &str| {
        check("tidings.read", &format!(r#""data":{{"person":"ann"{rest}}}"#), expected)
    };
    let key = "2026-11-21T09:00:00.000Z/0123456789abcdef0123456789abcdef";
    read(r#","subject":"work:1""#, "Read ann work:1 until 2026-11-21T12:00:00.000Z");
    read(&format!(r#","entries":["{key}"]"#), &format!("Read ann [{key}]"));
    read(
        r#","subject":"wrok:1""#,
        "refused /data/subject: wrok:1: there is no subject type `wrok`, did you mean `work`?",
    );
    read("", "refused /data: it must have `subject` or `entries`, and not both");
    read(
        r#","subject":"work:1","entries":[]"#,
        "refused /data: it must have `subject` or `entries`, and not both",
    );
    read(r#","entries":[]"#, "refused /data/entries: it is not a list with something in it");
    let no_entry = "it is no entry, as in 2026-11-21T09:00:00.000Z/ and 32 hexadecimal digits";
    read(r#","entries":["x"]"#, &format!("refused /data/entries/0: {no_entry}"));
    read(&format!(r#","entries":["{key}",7]"#), "refused /data/entries/1: it is not a text");
    let of = |time: &str| format!(r#","entries":["{time}/0123456789abcdef0123456789abcdef"]"#);
    read(&of("2026-10-31T12:00:00Z"), "refused /data/entries/0: the day of this entry has expired");
    read(
        &of("2126-11-21T12:00:00Z"),
        "refused /data/entries/0: occurred at 2126-11-21T12:00:00.000Z, more than a minute after its record was appended at 2026-11-21T12:00:00.000Z",
    );
    let many = vec![format!("\"{key}\""); 201].join(",");
    read(&format!(r#","entries":[{many}]"#), "refused /data/entries: 201 entries, more than 200");
    check(
        "tidings.cleared",
        r#""time":"2026-11-21T10:00:00Z","data":{"person":"ann","subject":"work:1"}"#,
        "Cleared ann work:1 until 2026-11-21T10:00:00.000Z",
    );
}

fn entry(subject_: &str, occurred: &str, event: u8) -> Entry {
    let reason =
        Reason { kind: Kind::new("work_out").unwrap(), because: Because::Follows(subject("author:7")) };
    Entry {
        key: EntryKey { occurred: at(occurred), event: EventKey([event; 16]) },
        reason,
        subject: subject(subject_),
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
        let specs = topics::all().map(|(name, partitions, keep)| {
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
        });
        let ports = Ports {
            topics: sick.clone(),
            store: store.clone(),
            catalogue: Arc::new(catalogue()),
            zones: Zones::bundled(),
            clock,
            quiet: Quiet::default(),
            shutdown: Shutdown::default(),
            metrics: IngestMetrics::declare(&Metrics::default()).unwrap(),
        };
        Self { _dir: dir, ports, sick, store }
    }

    fn http(&self) -> Http {
        let config = Config { records_max: 100, tenant: tenant(), lag_records_max: 1_000, requests_max: 4 };
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
    async fn standing(&self, group: &str, topic: &str) -> Result<Vec<Standing>, TopicError> {
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
    assert_eq!(records[0].partition, partition::of_subject(&tenant(), &subject("work:1")));
    assert_eq!(house.events().await[0].key, EventKey::of(&tenant(), "s", "1"));

    let facts = format!(
        "{}\n{}\n",
        event("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
        event("tidings.profile", r#""data":{"person":"ann","zone":"Asia/Tokyo"}"#),
    );
    let (status, said) = post(&router, "/v1/facts", &[("content-type", "application/x-ndjson")], facts).await;
    assert_eq!((status, said.as_str()), (202, r#"{"accepted":2,"rejected":[]}"#));
    let followers = house.store.followers(&tenant(), &subject("author:7"), None, 10).await.unwrap();
    assert_eq!(followers.persons, [ann()]);
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
    check("/v1/facts", &json, &good, 400, "`work.published` is taken at /v1/changes").await;
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
async fn nothing_is_heard_of_the_erased() {
    let house = House::new().await;
    let erased = State::at(1, [(profile::ERASED, Some(Value::Flag(true)))]);
    house.store.merge(vec![(StateKey::Person(tenant(), ann()), erased.clone())]).await.unwrap();
    let facts = format!(
        "[{},{}]",
        event("tidings.profile", r#""data":{"person":"ann","email":"ann@example.com"}"#),
        event("tidings.follow", r#""data":{"person":"ann","target":"author:7"}"#),
    );
    let (status, said) = post(&house.router(), "/v1/facts", &[], facts).await;
    assert_eq!((status, said.as_str()), (202, r#"{"accepted":2,"rejected":[]}"#));
    assert_eq!(house.state(StateKey::Person(tenant(), ann())).await, erased);
    assert!(house.records(topics::INBOX).await.is_empty());
    assert!(
        house.store.followers(&tenant(), &subject("author:7"), None, 10).await.unwrap().persons.is_empty()
    );
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
    let record = |value| NewRecord { topic: topics::CHANGES.into(), partition: 3, key: b"k".to_vec(), value };
    house.ports.topics.append(values.map(record).to_vec()).await.unwrap();
    house.settle().await;
    let events = house.events().await;
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0], events[1], "the same change is the same event in both forms");
    assert_eq!(
        house.store.followers(&tenant(), &subject("author:7"), None, 10).await.unwrap().persons,
        [ann()]
    );
    let aside = house.records(topics::QUARANTINE).await;
    let aside: Vec<_> =
        aside.iter().map(|r| wire::quarantined::decode(r.value.as_ref().unwrap()).unwrap()).collect();
    let found: Vec<_> = aside.iter().map(|q| (q.partition, q.offset, q.room.as_str())).collect();
    assert_eq!(found, [(3, 1, "ingest"), (3, 2, "ingest"), (3, 3, "ingest")]);
    assert_eq!(aside[0].value.as_deref(), Some(b"\xff".as_slice()));
    assert!(aside[0].reason.contains("the body is not utf-8"), "{}", aside[0].reason);
    assert!(aside[1].reason.contains("EOF"), "{}", aside[1].reason);
    assert!(aside[2].reason.starts_with("/time: occurred at"), "{}", aside[2].reason);
}

/// Any JSON of some levels.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<f64>().prop_map(|number| json!(number)),
        any::<i64>().prop_map(|number| json!(number)),
        ".{0,12}".prop_map(|text| json!(text)),
        prop::sample::select(vec!["ann", "work:1", "author:7", "UTC", "a@b", NOON])
            .prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(|items| json!(items)))
}

fn any_cloud() -> impl Strategy<Value = Cloud> {
    let what =
        vec!["work.published", "x", "tidings.follow", "tidings.profile", "tidings.read", "tidings.cleared"];
    let field = vec![
        "title", "author", "link", "score", "public", "person", "target", "subject", "entries", "email",
        "zone", "a/~b",
    ];
    let data = prop::collection::vec((prop::sample::select(field), any_json()), 0..6);
    let time = prop::option::of(-700_000_000..700_000_000_i64);
    let subject = prop::option::of(prop_oneof![Just("work:1".to_owned()), ".{0,6}"]);
    (prop::sample::select(what), data, time, subject, prop::option::of(any::<i64>())).prop_map(
        |(what, data, time, subject, version)| Cloud {
            id: "1".to_owned(),
            source: "s".to_owned(),
            what: what.to_owned(),
            subject,
            time: time.map(|ahead| at(NOON).plus(ahead)),
            data: data.into_iter().map(|(field, value)| (field.to_owned(), value)).collect(),
            actor: None,
            version,
        },
    )
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
        "\u{feff}",
        "[[[[[[[[",
    ]);
    let text = prop::collection::vec(json, 0..40).prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![prop::collection::vec(any::<u8>(), 0..400), text]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Law 3: what is admitted has the time it came with, and that is in time; the verdict is the same
    /// whenever it is asked.
    #[test]
    fn law_3_time_is_accepted_or_refused_never_altered(cloud in any_cloud()) {
        static CATALOGUE: std::sync::LazyLock<Catalogue> = std::sync::LazyLock::new(catalogue);
        let judge = || admit(cloud.clone(), &tenant(), at(NOON), &CATALOGUE, &Zones::bundled());
        let verdict = judge();
        prop_assert_eq!(&verdict, &judge());
        match verdict {
            Ok(Admitted::Change(event)) => {
                prop_assert_eq!(event.occurred, cloud.time.unwrap_or(at(NOON)));
                let ahead = event.occurred.since(at(NOON));
                prop_assert!((-7 * 86_400_000..=60_000).contains(&ahead), "{}", ahead);
            }
            Ok(admitted) => {
                // What cannot be announced would be refused only now.
                let effects = Effects::of(vec![admitted], &Known::default(), at(NOON));
                prop_assert_eq!(effects.verdicts, [Verdict::Taken]);
            }
            Err(refused) => prop_assert!(refused.at.starts_with('/') && !refused.reason.is_empty(), "{}", refused),
        }
    }

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
