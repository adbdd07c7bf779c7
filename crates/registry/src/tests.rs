//! A real registry; what happens without one; and the promises of the log.

mod topic_promises;

use std::sync::{Arc, atomic::Ordering};

use model::{Event, EventKey, SubjectRef, Tenant, UtcMillis, VersionedState};
use runtime::ShutdownSignal;
use tempfile::TempDir;
use topic::{
    GroupMembership, MemberEvent, NewRecord, TopicRecord, TopicRetention, TopicSpec, Topics, TurnGuarantee,
    embedded::EmbeddedTopics,
};
use wire::{framing, schemas, topics};

use super::*;

fn still_clock() -> Clock {
    Clock::still(1_000_000)
}

/// Another prefix for each test: they share a registry.
fn test_prefix(test: &str) -> String {
    format!("{test}-{}-", std::process::id())
}

fn open_registry(url: &str) -> SchemaRegistry {
    SchemaRegistry::open(Settings::from_urls(url), still_clock()).unwrap()
}

/// An address at which nobody listens.
fn silent_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn open_log(dir: &TempDir) -> Arc<dyn Topics> {
    let log = EmbeddedTopics::open(dir.path(), still_clock()).unwrap();
    let spec = |name: &str| TopicSpec {
        name: name.into(),
        partitions: 1,
        retention: TopicRetention::Milliseconds(1 << 40),
    };
    log.declare(&[spec(topics::EVENTS), spec(topics::CHANGES), spec("others")]).await.unwrap();
    Arc::new(log)
}

fn sample_event() -> Vec<u8> {
    let event = Event {
        tenant: Tenant::new("main").unwrap(),
        key: EventKey([7; 16]),
        what: "work.published".to_owned(),
        subject: SubjectRef::new("work:1").unwrap(),
        actor: None,
        occurred: UtcMillis(1_000_000),
        persons: Vec::new(),
        state: VersionedState::default(),
    };
    wire::event::encode(&event).unwrap()
}

async fn append_value(log: &dyn Topics, topic: &str, value: &[u8]) {
    let value = Some(value.to_vec());
    let record = NewRecord { topic: topic.into(), partition: 0, key: Vec::new(), value, headers: Vec::new() };
    log.append(vec![record]).await.unwrap();
}

async fn read_values(log: &dyn Topics, topic: &str) -> Vec<Vec<u8>> {
    let records = log.read(topic, 0, 0, 100).await.unwrap();
    records.into_iter().filter_map(|record: TopicRecord| record.value).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_are_registered_once() {
    let registry = open_registry(engines::registry().unwrap());
    let prefix = test_prefix("once");
    let many = schemas::bundled_schemas().len();
    let would = migrate_registry(&registry, &prefix, true).await.unwrap();
    assert_eq!(would.len(), many, "{would:?}");
    assert!(would[0].ends_with("is to be registered"), "{would:?}");
    let (one, other) =
        (migrate_registry(&registry, &prefix, false), migrate_registry(&registry, &prefix, false));
    let (one, other) = tokio::join!(one, other);
    assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
    for check in [true, false] {
        assert_eq!(migrate_registry(&registry, &prefix, check).await.unwrap(), Vec::<String>::new());
    }
    for bundled in schemas::bundled_schemas() {
        let ours = registry.cache.own_schema_id(&registration::subject_name(&prefix, bundled.topic)).unwrap();
        let writer = open_registry(engines::registry().unwrap()).schema(ours.id).await.unwrap();
        assert_eq!(writer.header(), bundled.header().unwrap(), "{}", bundled.topic);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_compatible_is_refused() {
    let registry = open_registry(engines::registry().unwrap());
    let prefix = test_prefix("refused");
    migrate_registry(&registry, &prefix, false).await.unwrap();
    let path = format!("/subjects/{prefix}events-value/versions");
    let other = r#"{"type":"record","name":"event","fields":[{"name":"x","type":"string"}]}"#;
    let answer = registry.client.post(&path, &serde_json::json!({"schema": other})).await;
    assert!(matches!(answer, Err(RegistryError::Refused { status: 409, .. })), "{answer:?}");
    // The other way round: somebody was there before us.
    let taken = format!("{prefix}taken-");
    let path = format!("/subjects/{taken}events-value/versions");
    registry.client.post(&path, &serde_json::json!({"schema": other})).await.unwrap();
    let level = serde_json::json!({"compatibility": "BACKWARD"});
    registry.client.put(&format!("/config/{taken}events-value"), &level).await.unwrap();
    let error = format!("{:#}", migrate_registry(&registry, &taken, false).await.unwrap_err());
    assert!(error.contains("events-value: it is not compatible"), "{error}");
    // The others are there all the same.
    let left = migrate_registry(&registry, &taken, true).await.unwrap_err().to_string();
    assert_eq!(left.matches("schema ").count(), 1, "{left}");
    assert!(registry.cache.own_schema_id(&format!("{taken}replays-value")).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_no_registry_is_told_once() {
    let right = engines::registry().unwrap();
    let mut wrong = vec![format!("{right}/nothing")];
    // Those above the root of one that has a path answer in words of their own.
    if let Some((host, _)) = right.split_once("/apis") {
        wrong.extend([host.to_owned(), format!("{host}/apis")]);
    }
    for wrong in wrong {
        for check in [true, false] {
            let error =
                migrate_registry(&open_registry(&wrong), &test_prefix("wrong"), check).await.unwrap_err();
            let said = format!("{error:#}");
            assert!(said.contains("404: the address is not the root of its API"), "{wrong}: {said}");
            assert_eq!(said.matches("404").count(), 1, "{wrong}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_id_is_told_from_a_registry_that_is_away() {
    let unknown = open_registry(engines::registry().unwrap()).schema(4_000_000_000).await.unwrap_err();
    assert!(matches!(unknown, SchemaLookupError::Unknown(_)), "{unknown:?}");
    let away = open_registry(&silent_address()).schema(1).await.unwrap_err();
    assert!(matches!(away, SchemaLookupError::Unreachable(_)), "{away:?}");
    // Something answers there, and it is no registry.
    let wrong = format!("{}/nothing", engines::registry().unwrap());
    let wrong = open_registry(&wrong).schema(1).await.unwrap_err();
    assert!(matches!(wrong, SchemaLookupError::Unreachable(_)), "{wrong:?}");
    // The second address is asked where the first does not answer.
    let both = format!("{}, {}", silent_address(), engines::registry().unwrap());
    let both = open_registry(&both).schema(4_000_000_000).await.unwrap_err();
    assert_eq!(both, unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_travel_in_frames() {
    let dir = TempDir::new().unwrap();
    let inner = open_log(&dir).await;
    let registry = open_registry(engines::registry().unwrap());
    let prefix = test_prefix("frames");
    // Whoever only works there registers nothing.
    drop(FramedTopics::open(inner.clone(), registry.clone(), &prefix, ShutdownSignal::default()).await);
    let missing = migrate_registry(&registry, &prefix, true).await.unwrap();
    assert_eq!(missing.len(), wire::schemas::bundled_schemas().len(), "{missing:?}");
    migrate_registry(&registry, &prefix, false).await.unwrap();
    let framed =
        FramedTopics::open(inner.clone(), registry.clone(), &prefix, ShutdownSignal::default()).await;
    for (topic, value) in [
        (topics::EVENTS, sample_event()),
        (topics::EVENTS, b"bad".to_vec()),
        ("others", sample_event()),
        (topics::CHANGES, sample_event()),
    ] {
        append_value(&framed, topic, &value).await;
    }
    let id = registry.cache.own_schema_id(&format!("{prefix}events-value")).unwrap().id;
    let expected = framing::add_frame(id, &sample_event()[10..]);
    assert_eq!(read_values(&*inner, topics::EVENTS).await, [expected.clone(), b"bad".to_vec()]);
    // A topic of others, and a record that is not of this topic, stay as they are.
    assert_eq!(read_values(&*inner, "others").await, [sample_event()]);
    assert_eq!(read_values(&*inner, topics::CHANGES).await, [sample_event()]);
    assert_eq!(read_values(&framed, topics::EVENTS).await, [sample_event(), b"bad".to_vec()]);
    // Ids that nobody knows, and those of schemas that are not this topic's, come as they are.
    for value in [framing::add_frame(4_000_000_000, b"x"), b"\0\0".to_vec()] {
        append_value(&*inner, topics::CHANGES, &value).await;
    }
    append_value(&*inner, topics::CHANGES, &expected).await;
    let found = read_values(&framed, topics::CHANGES).await;
    assert_eq!(found[1..], [framing::add_frame(4_000_000_000, b"x"), b"\0\0".to_vec(), expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_house_starts_while_the_registry_is_away() {
    let (dir, shutdown) = (TempDir::new().unwrap(), ShutdownSignal::default());
    let cache = dir.path().join("schemas.json");
    let inner = open_log(&dir).await;
    // Without anything learned records are single objects.
    let away = Settings { cache: Some(cache.clone()), ..Settings::from_urls(&silent_address()) };
    let framed = FramedTopics::open(
        inner.clone(),
        SchemaRegistry::open(away, still_clock()).unwrap(),
        "",
        shutdown.clone(),
    )
    .await;
    append_value(&framed, topics::EVENTS, &sample_event()).await;
    assert_eq!(read_values(&*inner, topics::EVENTS).await, [sample_event()]);
    assert_eq!(read_values(&framed, topics::EVENTS).await, [sample_event()]);

    // What was learned while it was there holds while it is away.
    let here = Settings { cache: Some(cache.clone()), ..Settings::from_urls(engines::registry().unwrap()) };
    let prefix = test_prefix("away");
    let registry = SchemaRegistry::open(here.clone(), still_clock()).unwrap();
    migrate_registry(&registry, &prefix, false).await.unwrap();
    let id = registry.cache.own_schema_id(&format!("{prefix}events-value")).unwrap().id;
    registry.schema(id).await.unwrap();
    let mut again = SchemaRegistry::open(here, still_clock()).unwrap();
    again.client = open_registry(&silent_address()).client;
    let framed = FramedTopics::open(inner.clone(), again, &prefix, shutdown.clone()).await;
    append_value(&framed, topics::EVENTS, &sample_event()).await;
    assert_eq!(
        read_values(&*inner, topics::EVENTS).await,
        [sample_event(), framing::add_frame(id, &sample_event()[10..])]
    );
    assert_eq!(read_values(&framed, topics::EVENTS).await, [sample_event(), sample_event()]);
    shutdown.start();

    // Of another registry nothing of it is believed; a file that is none is begun anew.
    let other = Settings { cache: Some(cache.clone()), ..Settings::from_urls("http://127.0.0.1:1") };
    assert_eq!(
        SchemaRegistry::open(other.clone(), still_clock())
            .unwrap()
            .cache
            .own_schema_id(&format!("{prefix}events-value")),
        None
    );
    std::fs::write(&cache, "{").unwrap();
    assert_eq!(SchemaRegistry::open(other, still_clock()).unwrap().cache.own_schema_id("x"), None);
}

#[test]
fn secrets_are_not_printed_and_addresses_are_checked() {
    let mut settings = Settings::from_urls("http://a/, https://b ,");
    assert_eq!(settings.urls, ["http://a", "https://b"]);
    settings.user = Some("ann".to_owned());
    settings.password = Some("geheim".to_owned().into());
    let registry = SchemaRegistry::open(settings.clone(), still_clock()).unwrap();
    assert!(!format!("{settings:?}{registry:?}").contains("geheim"));
    for (url, why) in [
        ("", "has no address"),
        ("ftp://a", "must begin with http://"),
        ("http://u:p@a", "must not contain user"),
    ] {
        let error = SchemaRegistry::open(Settings::from_urls(url), still_clock()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let ca = Some("/nowhere.pem".into());
    let error = SchemaRegistry::open(Settings { ca, ..settings }, still_clock()).unwrap_err().to_string();
    assert!(error.contains("/nowhere.pem"), "{error}");
}

/// Whoever stops waiting for a record whose schema is away has not been handed it, and gets it later.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_its_schema_is_not_lost() {
    let dir = TempDir::new().unwrap();
    let lens = Arc::new(topic_promises::MarkingLens::default());
    let framed = FramedTopics::with_lens(open_log(&dir).await, lens.clone());
    append_value(&framed, "others", b"one").await;
    let membership = GroupMembership {
        group: "g".into(),
        lead: "others".into(),
        companions: Vec::new(),
        state: None,
        mode: TurnGuarantee::Plain,
    };
    let mut member = framed.join(membership).await.unwrap();
    let MemberEvent::Assigned(_) = member.next(10).await.unwrap() else { panic!() };
    lens.0.store(usize::MAX, Ordering::SeqCst);
    loop {
        let waited = tokio::time::timeout(Duration::from_millis(20), member.next(10)).await;
        assert!(waited.is_err(), "{waited:?}");
        if lens.0.load(Ordering::SeqCst) < usize::MAX {
            break;
        }
    }
    assert_eq!(member.positions(0), [("others".into(), 0)]);
    lens.0.store(0, Ordering::SeqCst);
    let MemberEvent::Records(batch) = member.next(10).await.unwrap() else { panic!() };
    assert_eq!(batch.records[0].value.as_deref(), Some(b"one".as_slice()));
    assert_eq!(member.positions(0), [("others".into(), 1)]);
    // Gone back, what was held is not handed out twice.
    append_value(&framed, "others", b"two").await;
    lens.0.store(1, Ordering::SeqCst);
    let waited = tokio::time::timeout(Duration::ZERO, member.next(10)).await;
    drop(waited);
    member.rewind(0).await.unwrap();
    let MemberEvent::Records(batch) = member.next(10).await.unwrap() else { panic!() };
    assert_eq!(batch.records.len(), 2);
}
