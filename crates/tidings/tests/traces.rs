//! Traces and logs of the real program: one event's whole way as a receiver of OpenTelemetry sees it, and what neither
//! spans nor log lines ever hold.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::any_value::Value as AttributeValue,
    trace::v1::{Span, span::SpanKind},
};
use prost::Message as _;
use runtime::clock::SteadyStopwatch;
use serde_json::{Value, json};
use tempfile::TempDir;
use topic::{NewRecord, Topics as _};
use wire::topics;

/// How long anything may take to come about.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);

/// In which trace the traced event is published, and by which span.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

// What nobody may find in a span or a log line.
const ADDRESS: &str = "marked-address@example.org";
const PERSON: &str = "marked-person";
const NAME: &str = "Marked Reader";
const API_KEY: &str = "marked-api-key-0123456789";
const ACCESS_TOKEN: &str = "marked-access-token-0123456789";
const RECEIVER_KEY: &str = "marked-receiver-key";
const MAIL_PASSWORD: &str = "marked-mail-password";
const PUSH_TOKEN: &str = "marked-push-token-0123456789";
const HOOK_SECRET: &str = "marked-hook-secret-0123456789abcdef";
const SECRET: &str = "5ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7";

/// A receiver of OTLP over HTTP, which keeps what it is sent.
#[derive(Clone)]
struct SpanReceiver {
    address: String,
    spans: Arc<Mutex<Vec<Span>>>,
    /// The heads of its requests.
    heads: Arc<Mutex<Vec<String>>>,
}

impl SpanReceiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let receiver = Self { address, spans: Arc::default(), heads: Arc::default() };
        let own = receiver.clone();
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| own.take_request(stream)));
        receiver
    }

    fn take_request(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0_usize);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                break;
            }
            let lower = line.to_ascii_lowercase();
            length = lower.strip_prefix("content-length:").map_or(length, |n| n.trim().parse().unwrap());
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        self.spans.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
        self.heads.lock().unwrap().push(head);
        let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    }

    fn all(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }
}

/// A house on a folder of its own.
struct TracedHouse {
    dir: TempDir,
    settings: Vec<(String, String)>,
    child: Child,
}

impl TracedHouse {
    fn start(settings: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let scaffold = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/scaffold");
        copy_folder(&scaffold, &dir.path().join("shop"));
        let log = fs::File::create(dir.path().join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(["up", "--catalogue", "shop", "--listen", "127.0.0.1:0"]).current_dir(dir.path());
        command.env_clear().envs(settings.iter().copied());
        command.env("TIDINGS_LOG_FORMAT", "json").env("TIDINGS_LOG_FILTER", "debug");
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let house = Self { dir, settings: settings.collect(), child };
        house.wait_until("a house", |house| house.address().is_some());
        house
    }

    fn address(&self) -> Option<String> {
        let text = fs::read_to_string(self.dir.path().join(".tidings/admin.json")).ok()?;
        Some(serde_json::from_str::<Value>(&text).ok()?["address"].as_str()?.to_owned())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], lines: &[Value]) {
        let body = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let mut request = ureq::post(format!("{}{path}", self.address().unwrap()));
        request = request.header("content-type", "application/x-ndjson");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = request.send(&body).unwrap();
        let said: Value = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        assert_eq!(said["accepted"], lines.len(), "{said}");
    }

    /// What a command prints that has the settings of the house, and others.
    fn run(&self, others: &[(&str, &str)], line: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(line.split_whitespace()).current_dir(self.dir.path()).env_clear();
        let done = command.envs(self.settings.clone()).envs(others.iter().copied()).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// The messages in the outbox.
    fn mails(&self) -> usize {
        fn count_files(folder: &Path) -> usize {
            let items = fs::read_dir(folder).into_iter().flatten().flatten();
            let count = |item: fs::DirEntry| {
                let path = item.path();
                if path.is_dir() {
                    count_files(&path)
                } else {
                    usize::from(path.extension().is_some_and(|end| end == "eml"))
                }
            };
            items.map(count).sum()
        }
        count_files(&self.dir.path().join(".tidings/outbox"))
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begun = SteadyStopwatch::start();
        while !is_so(self) {
            assert!(begun.elapsed() < PATIENCE, "{what} did not come: {}", self.log());
            thread::park_timeout(LOOK);
        }
    }

    /// Tells the marked person by one mail, as soon as this book is among what waits; until a receiver has heard of it.
    fn tell(&self, book: &str, receiver: &SpanReceiver) {
        self.wait_until("an entry", |house| house.run(&[], &format!("days {PERSON}")).contains(book));
        let has_gathered = || receiver.all().iter().any(|span| span.name == "digest gather");
        let is_open = |house: &Self| house.run(&[], &format!("windows {PERSON}")).contains("morning");
        self.wait_until("an open window", |house| has_gathered() && is_open(house));
        self.run(&[], &format!("windows {PERSON} --release morning"));
        self.wait_until("a mail", |house| house.mails() == 1);
        self.wait_until("a report", |_| receiver.all().iter().any(|span| span.name == "digest report"));
    }

    /// Asks it to stop, and waits until it has.
    fn stop(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success(), "{}", self.log());
    }
}

impl Drop for TracedHouse {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap().map(|item| item.unwrap().path()) {
        let target = to.join(item.file_name().unwrap());
        if item.is_dir() {
            copy_folder(&item, &target);
        } else {
            fs::copy(&item, &target).unwrap();
        }
    }
}

fn profile(person: &str, address: &str) -> Value {
    json!({"id": format!("profile-{person}"), "source": "shop", "type": "tidings.profile",
        "data": {"person": person, "email": address, "name": NAME}})
}

fn follow(person: &str, author: u32) -> Value {
    json!({"id": format!("follow-{person}-{author}"), "source": "shop", "type": "tidings.follow",
        "data": {"person": person, "target": format!("author:{author}")}})
}

fn book(number: u32, author: u32) -> Value {
    json!({"id": format!("book-{number}"), "source": "shop", "type": "book.added", "subject": format!("book:{number}"),
        "data": {"title": format!("Book {number}"), "author": format!("author:{author}"), "available": true}})
}

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

/// The digits of an id.
fn digits(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|pair| pair.key == name)?;
    match found.value.as_ref()?.value.as_ref()? {
        AttributeValue::StringValue(text) => Some(text.clone()),
        AttributeValue::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The one span of this name.
fn only<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    let [one] = found[..] else { panic!("{} spans are `{name}`: {spans:#?}", found.len()) };
    one
}

/// Finds the way of one event, and of the message in which it and others are told; returns the first span of each.
fn check_whole_way<'a>(spans: &'a [Span], first: &str, entries: usize) -> (&'a Span, &'a Span) {
    let (taken, resolve, gather) =
        (only(spans, first), only(spans, "fanout resolve"), only(spans, "digest gather"));
    for span in [taken, resolve, gather] {
        assert_eq!(digits(&span.trace_id), TRACE, "{span:?}");
        assert_eq!(span.trace_state, if span.name == "digest gather" { "" } else { "shop=1" });
    }
    assert_eq!(digits(&taken.parent_span_id), CALLER);
    assert_eq!(resolve.parent_span_id, taken.span_id);
    assert_eq!(gather.parent_span_id, resolve.span_id);
    assert_eq!(attribute(resolve, "tidings.kinds").as_deref(), Some("book_added"));
    assert_eq!(attribute(resolve, "tidings.rows").as_deref(), Some("1"));

    // The books become one mail: its trace is its own, and linked to that of the one that is traced.
    let (tell, send) = (only(spans, "digest tell"), only(spans, "sender send"));
    assert_ne!(digits(&tell.trace_id), TRACE);
    let links: Vec<_> =
        tell.links.iter().map(|link| (digits(&link.trace_id), link.span_id.clone())).collect();
    assert_eq!(links, [(TRACE.to_owned(), resolve.span_id.clone())]);
    assert_eq!(attribute(tell, "tidings.entries"), Some(entries.to_string()));
    assert_eq!((&send.trace_id, &send.parent_span_id), (&tell.trace_id, &tell.span_id));
    assert_eq!(attribute(send, "tidings.outcome").as_deref(), Some("sent"));
    for name in ["sender render", "sender hand over", "digest report"] {
        let span = only(spans, name);
        assert_eq!((&span.trace_id, &span.parent_span_id), (&send.trace_id, &send.span_id), "{name}");
    }
    assert_eq!(attribute(only(spans, "sender hand over"), "tidings.outcome").as_deref(), Some("accepted"));
    (taken, send)
}

#[test]
fn one_events_whole_way_is_seen_from_the_request_to_the_mail() {
    let receiver = SpanReceiver::start();
    let header = format!("x-receiver-key: {RECEIVER_KEY}");
    let mut house = TracedHouse::start(&[
        ("TIDINGS_TRACES_ENDPOINT", &receiver.address),
        ("TIDINGS_TRACES_SAMPLE", "off"),
        ("TIDINGS_TRACES_HEADERS", &header),
        ("TIDINGS_TRACES_SERVICE", "shop-tidings"),
    ]);
    house.post("/v1/facts", &[], &[profile(PERSON, ADDRESS), follow(PERSON, 7)]);
    // One that its sender records, and others that nobody does.
    house.post("/v1/changes", &[("traceparent", &parent("01")), ("tracestate", "shop=1")], &[book(1, 7)]);
    house.post("/v1/changes", &[("traceparent", &parent("00"))], &[book(2, 7)]);
    house.post("/v1/changes", &[("traceparent", "nonsense")], &[book(3, 7)]);
    house.post("/v1/changes", &[], &[book(4, 7)]);
    house.tell("book:4", &receiver);
    house.stop();

    let spans = receiver.all();
    let (accept, send) = check_whole_way(&spans, "ingest accept", 4);
    assert_eq!(accept.kind, SpanKind::Server as i32);

    // The receiver is shown its key, and nothing else that is not meant for it.
    let heads = receiver.heads.lock().unwrap().join("\n");
    assert!(heads.to_lowercase().contains(&header), "{heads}");
    let all = format!("{spans:?}");
    for mark in [ADDRESS, PERSON, NAME, RECEIVER_KEY, "Book 1", "book:1"] {
        assert!(!all.contains(mark), "{mark}: {all}");
    }
    // Whoever has the trace finds the lines of the log.
    let log = house.log();
    for (trace, span) in [(&accept.trace_id, &accept.span_id), (&send.trace_id, &send.span_id)] {
        let ids = (digits(trace), digits(span));
        let is_of = |line: &Value| line["trace_id"] == ids.0 && line["span_id"] == ids.1;
        let lines = log.lines().filter_map(|line| serde_json::from_str(line).ok());
        assert!(lines.into_iter().any(|line| is_of(&line)), "{ids:?}: {log}");
    }
}

/// On Kafka the trace is in the headers of records, from that of whoever writes to `changes` to the last of ours.
#[test]
fn one_events_whole_way_is_seen_from_a_record_on_kafka_to_the_mail() {
    let receiver = SpanReceiver::start();
    let word = format!("traces{}", std::process::id());
    let prefix = format!("{word}-");
    let mut house = TracedHouse::start(&[
        ("TIDINGS_TRACES_ENDPOINT", &receiver.address),
        ("TIDINGS_TRACES_SAMPLE", "off"),
        ("TIDINGS_ENGINE", "production"),
        ("TIDINGS_KAFKA_BROKERS", engines::kafka().unwrap()),
        ("TIDINGS_KAFKA_REPLICATION", "1"),
        ("TIDINGS_KAFKA_MIN_INSYNC", "1"),
        ("TIDINGS_KAFKA_PREFIX", &prefix),
        ("TIDINGS_CQL_CONTACT_POINTS", engines::cql().unwrap()),
        ("TIDINGS_CQL_KEYSPACE", &word),
        ("TIDINGS_PARTITIONS", "4"),
        ("TIDINGS_SECRET", SECRET),
    ]);
    house.post("/v1/facts", &[], &[profile(PERSON, ADDRESS), follow(PERSON, 7)]);
    let settings =
        topic_kafka::Settings { prefix, ..topic_kafka::Settings::for_brokers(engines::kafka().unwrap()) };
    let log = topic_kafka::KafkaTopics::open(settings, runtime::Clock::real(0)).unwrap();
    let record = |number: u32, headers: Vec<(&str, String)>| NewRecord {
        topic: topics::CHANGES.into(),
        partition: number % 4,
        key: Vec::new(),
        value: Some(book(number, 7).to_string().into_bytes()),
        headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes())).collect(),
    };
    let traced = vec![("traceparent", parent("01")), ("tracestate", "shop=1".to_owned())];
    let records =
        vec![record(1, traced), record(2, vec![("traceparent", parent("00"))]), record(3, Vec::new())];
    tokio::runtime::Runtime::new().unwrap().block_on(log.append(records)).unwrap();
    for book in ["book:1", "book:2"] {
        house.wait_until(book, |house| house.run(&[], &format!("days {PERSON}")).contains(book));
    }
    house.tell("book:3", &receiver);
    house.stop();
    let spans = receiver.all();
    let (taken, _) = check_whole_way(&spans, "ingest take up", 3);
    assert_eq!(taken.kind, SpanKind::Consumer as i32);
}

/// Some thousand events for some hundred persons, everything that could be told written to the log, a mail server that is
/// away, and a receiver of traces that is.
#[test]
fn no_log_line_holds_an_address_or_a_secret() {
    const PERSONS: u32 = 200;
    const EVENTS: u32 = 3_000;
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ways = format!("smtp://marked-user:{MAIL_PASSWORD}@{gone}");
    let header = format!("x-receiver-key: {RECEIVER_KEY}");
    let tokens = format!("[{{role: operate, token: {ACCESS_TOKEN}}}]");
    let mut house = TracedHouse::start(&[
        ("TIDINGS_TRACES_ENDPOINT", &format!("http://{gone}")),
        ("TIDINGS_TRACES_SAMPLE", "100%"),
        ("TIDINGS_TRACES_HEADERS", &header),
        ("TIDINGS_API_KEY", API_KEY),
        ("TIDINGS_ACCESS_TOKENS", &tokens),
        ("TIDINGS_SECRET", SECRET),
        ("TIDINGS_HOOKS_SECRET", HOOK_SECRET),
        ("TIDINGS_MAIL_WAYS", &ways),
    ]);
    let key = format!("Bearer {API_KEY}");
    let login = [("authorization", key.as_str())];
    let person = |n: u32| format!("{PERSON}-{n}");
    let facts: Vec<Value> = (0..PERSONS)
        .flat_map(|n| {
            let device = json!({"id": format!("device-{n}"), "source": "shop", "type": "tidings.device", "data":
                {"person": person(n), "device": "phone", "platform": "android", "token": format!("{PUSH_TOKEN}{n}")}});
            [profile(&person(n), &format!("{n}-{ADDRESS}")), follow(&person(n), n % 10), device]
        })
        .collect();
    facts.chunks(300).for_each(|some| house.post("/v1/facts", &login, some));
    let events: Vec<Value> = (0..EVENTS).map(|n| book(n, n % 10)).collect();
    events.chunks(500).for_each(|some| house.post("/v1/changes", &login, some));
    // What is wrong is said too, and must not be said with what it was.
    for (path, headers, body) in [
        (
            "/v1/facts",
            vec![("authorization", format!("Bearer {API_KEY}"))],
            format!("{{\"email\": \"{ADDRESS}\""),
        ),
        (
            "/v1/facts",
            vec![("authorization", format!("Bearer {API_KEY}x"))],
            profile(PERSON, ADDRESS).to_string(),
        ),
        ("/v1/changes", vec![("traceparent", ADDRESS.to_owned())], ADDRESS.to_owned()),
    ] {
        let mut request = ureq::post(format!("{}{path}", house.address().unwrap()));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        assert!(request.send(&body).is_err());
    }
    let operator = [("TIDINGS_TOKEN", ACCESS_TOKEN)];
    let address = house.address().unwrap();
    // What opens after the release is not meant by it.
    let asks = format!("windows {} --server {address}", person(0));
    house.wait_until("an open window", |house| house.run(&operator, &asks).contains("morning"));
    house.run(&operator, &format!("release --plan morning --all --server {address}"));
    // As many as a log needs that could give something away.
    let has_tried = |house: &TracedHouse| house.log().matches("not handed over").count() >= 10;
    house.wait_until("tries at the mail server", has_tried);
    house.stop();
    let log = house.log();
    assert!(log.contains("\"level\":\"DEBUG\""), "{log}");
    assert!(log.contains("\"trace_id\""), "nothing was traced");
    assert_eq!(log.matches("the receiver of traces takes no spans").count(), 1, "it is said once");
    let marks =
        [ADDRESS, NAME, API_KEY, ACCESS_TOKEN, RECEIVER_KEY, MAIL_PASSWORD, PUSH_TOKEN, HOOK_SECRET, SECRET];
    for mark in marks {
        let line = log.lines().find(|line| line.contains(mark));
        assert_eq!(line, None, "{mark} is in the log");
    }
}
