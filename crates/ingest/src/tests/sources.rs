//! Topics of others, down to what the store and the topics have; Avro and binary mode over HTTP.

use topic::RecordHeaders;
use wire::{
    SchemaLookupError, SchemaSource, framing,
    replay::ReplayStamp,
    schemas::{self, WriterSchema},
};

use super::*;

const SOURCES: &str = r#"
sources:
  works:
    topic: g.work
    format: debezium
    tells: work.published
    when: row.public and not before.public
    subject: '"work:" ~ row.id'
    data: {title: row.title, author: '"author:" ~ row.author', public: row.public}
  follows:
    topic: g.follow
    format: debezium
    tells: follow
    person: row.user
    subject: '"author:" ~ row.author'
  people: {topic: people, format: json, tells: profile, person: row.id, data: {zone: row.tz}}
  hints: {topic: hints, format: cloudevents}
  clouds: {topic: clouds, format: cloudevents, tells: work.published, subject: '"work:" ~ row.work', data: {title: event.type}}
"#;

/// Knows our schema of changes as 7, and of 8 nothing for the first few times.
#[derive(Debug, Default)]
struct FlakySchemas(AtomicUsize);

#[async_trait]
impl SchemaSource for FlakySchemas {
    async fn schema(&self, id: u32) -> Result<Arc<WriterSchema>, SchemaLookupError> {
        let away =
            || self.0.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        match id {
            8 if away() => Err(SchemaLookupError::Unreachable("the registry is away".to_owned())),
            7 | 8 => Ok(Arc::new(WriterSchema::parse(schemas::bundled_schemas()[0].text).unwrap())),
            _ => Err(SchemaLookupError::Unknown(format!("the registry has no schema {id}"))),
        }
    }
}

impl IngestHouse {
    async fn with_sources(away: usize) -> Self {
        let mut house = Self::new().await;
        let text = format!("{CATALOGUE}{SOURCES}");
        let catalogue = parse_catalogue(&text);
        let spec = |name: &str| TopicSpec {
            name: name.into(),
            partitions: 2,
            retention: TopicRetention::Milliseconds(1 << 40),
        };
        let specs: Vec<TopicSpec> = catalogue.foreign_topics().iter().map(|name| spec(name)).collect();
        house.deps.room.topics.declare(&specs).await.unwrap();
        house.deps.room.catalogue = Arc::new(catalogue);
        house.deps.schemas = Arc::new(FlakySchemas(AtomicUsize::new(away)));
        house
    }

    async fn send_record(&self, topic: &str, headers: &RecordHeaders, value: Option<&[u8]>) {
        let value = value.map(<[u8]>::to_vec);
        let record = NewRecord {
            topic: topic.into(),
            partition: 1,
            key: b"1".to_vec(),
            value,
            headers: headers.clone(),
        };
        self.deps.room.topics.append(vec![record]).await.unwrap();
    }

    /// Runs every loop until each has committed all there is.
    async fn settle_sources(&self) {
        let subscriptions = crate::subscriptions(&self.deps.room.catalogue);
        let readings: Vec<(&str, &str)> =
            subscriptions.iter().map(|(group, topic)| (group.as_str(), topic.as_str())).collect();
        self.settle_all(&readings).await;
    }

    async fn quarantined_records(&self) -> Vec<wire::QuarantinedRecord> {
        let records = self.records(topics::QUARANTINE).await;
        records.iter().map(|r| wire::quarantine::decode(r.value.as_ref().unwrap()).unwrap()).collect()
    }
}

fn debezium_record(op: &str, lsn: u32, before: &str, after: &str) -> Vec<u8> {
    let source = format!(r#"{{"db":"g","table":"t","lsn":{lsn},"ts_ms":{}}}"#, parse_instant(NOON).0);
    format!(r#"{{"before":{before},"after":{after},"source":{source},"op":"{op}"}}"#).into_bytes()
}

#[tokio::test]
async fn tables_of_others_feed_events_and_follows() {
    let house = IngestHouse::with_sources(0).await;
    let none = RecordHeaders::new();
    let work = |public: bool| format!(r#"{{"id":1,"title":"Moon","author":7,"public":{public}}}"#);
    for (op, lsn, before, after) in [
        ("c", 1, "null".to_owned(), work(false)),
        ("u", 2, work(false), work(true)),
        // Said again after a crash of theirs: the same event.
        ("u", 2, work(false), work(true)),
        ("d", 3, work(true), "null".to_owned()),
    ] {
        house.send_record("g.work", &none, Some(&debezium_record(op, lsn, &before, &after))).await;
    }
    house.send_record("g.work", &none, None).await;
    let follow = |author: u32| format!(r#"{{"user":"ann","author":{author}}}"#);
    let null = || "null".to_owned();
    for (op, lsn, before, after) in [
        ("c", 10, null(), follow(7)),
        ("u", 11, follow(7), follow(8)),
        ("c", 12, null(), follow(9)),
        ("d", 14, follow(9), null()),
        // An older row that comes late does not win over the end.
        ("c", 13, null(), follow(9)),
    ] {
        house.send_record("g.follow", &none, Some(&debezium_record(op, lsn, &before, &after))).await;
    }
    house.send_record("people", &none, Some(br#"{"id":"ann","tz":"Asia/Tokyo"}"#)).await;
    house.settle_sources().await;
    assert_eq!(house.quarantined_records().await, []);
    let events = house.events().await;
    let keys: std::collections::BTreeSet<_> = events.iter().map(Event::entry_key).collect();
    assert_eq!((events.len(), keys.len()), (2, 1), "{events:?}");
    assert_eq!((events[0].what.as_str(), events[0].subject.as_str()), ("work.published", "work:1"));
    let state = house.state(StateKey::Subject(tenant(), subject("work:1"))).await;
    assert_eq!((state.text("title"), state.flag("public")), (Some("Moon"), true));
    for (author, expected) in [("author:7", vec![]), ("author:8", vec![ann()]), ("author:9", vec![])] {
        assert_eq!(house.followers(author).await, expected, "{author}");
    }
    let profile = house.state(StateKey::Person(tenant(), ann())).await;
    assert_eq!(profile.text("zone"), Some("Asia/Tokyo"));
}

#[tokio::test]
async fn what_a_source_cannot_use_is_put_aside_and_the_rest_goes_on() {
    let house = IngestHouse::with_sources(0).await;
    let trace = vec![("trace".to_owned(), b"1".to_vec())];
    let bad: [(&str, Option<&[u8]>, &str); 6] = [
        ("g.work", Some(b"{"), "it is not JSON"),
        ("g.work", Some(br#"{"op":"u","after":{"id":1,"public":true}}"#), "REPLICA IDENTITY FULL"),
        (
            "g.follow",
            Some(br#"{"op":"d","before":{"id":1}}"#),
            "`person`: `row.user` has no value in this record",
        ),
        ("g.follow", Some(br#"{"op":"c","after":{"user":"ann","author":"a b\n"}}"#), "/data/target"),
        ("hints", Some(&[0, 0, 0, 0, 9, 1]), "the registry has no schema 9"),
        ("people", Some(br#"{"id":"ann","tz":"Moon"}"#), "not a time zone"),
    ];
    for (topic, value, _) in bad {
        house.send_record(topic, &trace, value).await;
    }
    house.send_record("people", &trace, Some(br#"{"id":"ann","tz":"Asia/Tokyo"}"#)).await;
    house.settle_sources().await;
    let mut aside = house.quarantined_records().await;
    aside.sort_by(|a, b| (&a.topic, a.offset).cmp(&(&b.topic, b.offset)));
    let mut expected: Vec<_> = bad.iter().collect();
    expected.sort_by_key(|(topic, ..)| *topic);
    assert_eq!(aside.len(), bad.len(), "{aside:?}");
    for (aside, (topic, value, why)) in aside.iter().zip(expected) {
        assert_eq!((aside.topic.as_str(), aside.partition, aside.value.as_deref()), (*topic, 1, *value));
        assert!(aside.reason.contains(why), "{}", aside.reason);
        assert_eq!(aside.headers, trace);
    }
    assert_eq!(house.state(StateKey::Person(tenant(), ann())).await.text("zone"), Some("Asia/Tokyo"));
}

#[tokio::test]
async fn cloud_events_come_in_both_modes_and_wait_for_their_schema() {
    let house = IngestHouse::with_sources(2).await;
    let structured = event_json("work.published", r#""subject":"work:1","data":{"title":"One"}"#);
    house.send_record("hints", &RecordHeaders::new(), Some(structured.as_bytes())).await;
    let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let binary = vec![
        header("ce_specversion", "1.0"),
        header("ce_id", "2"),
        header("ce_source", "s"),
        header("ce_type", "work.published"),
        header("ce_subject", "work:2"),
        header("content-type", "application/json"),
    ];
    house.send_record("hints", &binary, Some(br#"{"title":"Two"}"#)).await;
    // Ours in a frame, on their topic and on ours; the registry is away at first.
    let third = event_json("work.published", r#""subject":"work:3","data":{"title":"Three"}"#)
        .replace(r#""id":"1""#, r#""id":"3""#);
    let third = wire::change::encode(&wire::cloud_event::parse_change(third.as_bytes()).unwrap()).unwrap();
    house
        .send_record(topics::CHANGES, &RecordHeaders::new(), Some(&framing::add_frame(8, &third[10..])))
        .await;
    house.send_record("clouds", &binary, Some(br#"{"work":4}"#)).await;
    house.settle_sources().await;
    assert_eq!(house.quarantined_records().await, []);
    let mut subjects: Vec<_> = house.events().await.iter().map(|event| event.subject.to_string()).collect();
    subjects.sort();
    assert_eq!(subjects, ["work:1", "work:2", "work:3", "work:4"]);
    let title = async |of: &str| {
        let state = house.state(StateKey::Subject(tenant(), subject(of))).await;
        state.text("title").map(str::to_owned)
    };
    assert_eq!(title("work:2").await.as_deref(), Some("Two"));
    assert_eq!(title("work:3").await.as_deref(), Some("Three"));
    assert_eq!(title("work:4").await.as_deref(), Some("work.published"));
}

/// The catalogue knows the names of our topics, and not from where they are named.
#[test]
fn a_source_is_none_of_our_topics() {
    let template = |_: &str| Ok(String::new());
    for (topic, ..) in topics::all_topics(PartitionCount::USUAL) {
        let text = format!("{CATALOGUE}{}", SOURCES.replace("topic: hints", &format!("topic: {topic}")));
        let said = Catalogue::parse(&text, "c.yaml", &template).unwrap_err().to_string();
        assert!(said.contains(&format!("`{topic}` is a topic of the house")), "{said}");
    }
}

/// A replayed change is judged as it was, and its events say that they are there once more.
#[tokio::test]
async fn what_comes_again_is_as_old_and_as_quiet_as_it_was() {
    let house = IngestHouse::with_sources(0).await;
    let again = ReplayStamp { replay: "r".into(), is_quiet: true };
    let first = parse_instant(NOON).plus(-3 * 86_400_000);
    let body = event_json("work.published", r#""subject":"work:1""#);
    house
        .send_record(
            topics::CHANGES,
            &again.stamp_headers(RecordHeaders::new(), first),
            Some(body.as_bytes()),
        )
        .await;
    house.settle_sources().await;
    assert_eq!(house.events().await[0].occurred, first);
    assert_eq!(ReplayStamp::from_headers(&house.records(topics::EVENTS).await[0].headers), Some(again));
}

/// A topic that others have not made yet is waited for, and nothing else is.
#[tokio::test]
async fn a_source_whose_topic_is_not_there_holds_nobody_up() {
    let house = IngestHouse::with_sources(0).await;
    let mut deps = house.restarted_deps();
    let text = SOURCES.replace("topic: people", "topic: nowhere");
    let text = format!("{CATALOGUE}{text}");
    deps.room.catalogue = Arc::new(parse_catalogue(&text));
    house
        .send_record(
            "hints",
            &RecordHeaders::new(),
            Some(event_json("work.published", r#""subject":"work:1""#).as_bytes()),
        )
        .await;
    let settled = async {
        while house.events().await.is_empty() {
            let (_, changes) = deps.room.quiet.idle_state();
            deps.room.quiet.wait_for_change(changes).await;
        }
        deps.room.shutdown.start();
    };
    tokio::join!(run(deps.clone(), house.http().config), settled).0.unwrap();
}

#[tokio::test]
async fn avro_and_binary_mode_come_over_http() {
    let house = IngestHouse::with_sources(1).await;
    let router = house.router();
    let parsed = wire::cloud_event::parse_change(
        event_json("work.published", r#""subject":"work:1","time":"2026-11-21T11:00:00Z""#).as_bytes(),
    );
    let ours = wire::change::encode(&parsed.unwrap()).unwrap();
    let avro = [("content-type", "application/avro")];
    let good = (202, r#"{"accepted":1,"rejected":[]}"#.to_owned());
    assert_eq!(post_body(&router, "/v1/changes", &avro, ours.clone()).await, good);
    assert_eq!(post_body(&router, "/v1/changes", &avro, framing::add_frame(7, &ours[10..])).await, good);
    let (status, said) = post_body(&router, "/v1/changes", &avro, framing::add_frame(8, &ours[10..])).await;
    assert!(status == 503 && said.contains("away") && said.ends_with(" retry 1"), "{status} {said}");
    assert_eq!(post_body(&router, "/v1/changes", &avro, framing::add_frame(8, &ours[10..])).await, good);
    let (status, said) = post_body(&router, "/v1/changes", &avro, framing::add_frame(9, b"x")).await;
    assert!(status == 400 && said.contains("no schema 9"), "{status} {said}");

    let binary = |id: &'static str| {
        [
            ("ce-specversion", "1.0"),
            ("ce-id", id),
            ("ce-source", "caf%C3%A9"),
            ("ce-type", "work.published"),
            ("ce-subject", "work:2"),
            ("idempotency-key", "k"),
            ("content-type", "application/json"),
        ]
    };
    let data = r#"{"title":"Moon"}"#;
    assert_eq!(post_body(&router, "/v1/changes", &binary("1"), data).await, good);
    assert_eq!(post_body(&router, "/v1/changes", &binary("1"), data).await, good);
    // Its attributes are a part of what a request asks for.
    assert_eq!(post_body(&router, "/v1/changes", &binary("2"), data).await.0, 422);
    let events = house.events().await;
    let keys: Vec<EventKey> = events.iter().map(|event| event.key).collect();
    let (one, two) =
        (EventKey::from_source_id(&tenant(), "s", "1"), EventKey::from_source_id(&tenant(), "café", "1"));
    assert_eq!(keys, [one, one, one, two]);
    let (status, said) = post_body(&router, "/v1/changes", &binary("1")[..5], "[]").await;
    assert!(status == 400 && said.contains("/data: it is not an object"), "{status} {said}");
}
