//! A real registry; what happens without one; and the promises of the log.

mod promises;

use std::sync::{Arc, atomic::Ordering};

use model::{Event, EventKey, Millis, State, SubjectRef, Tenant};
use runtime::Shutdown;
use tempfile::TempDir;
use topic::{
    Happening, Membership, Mode, NewRecord, Record, Retention, TopicSpec, Topics, embedded::Embedded,
};
use wire::{framing, schemas, topics};

use super::*;

fn clock() -> Clock {
    Clock::still(1_000_000)
}

/// Another prefix for each test: they share a registry.
fn prefix(test: &str) -> String {
    format!("{test}-{}-", std::process::id())
}

fn open(url: &str) -> Registry {
    Registry::open(Settings::at(url), clock()).unwrap()
}

/// An address at which nobody listens.
fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn log(dir: &TempDir) -> Arc<dyn Topics> {
    let log = Embedded::open(dir.path(), clock()).unwrap();
    let spec = |name: &str| TopicSpec {
        name: name.into(),
        partitions: 1,
        retention: Retention::Milliseconds(1 << 40),
    };
    log.declare(&[spec(topics::EVENTS), spec(topics::CHANGES), spec("others")]).await.unwrap();
    Arc::new(log)
}

fn event() -> Vec<u8> {
    let event = Event {
        tenant: Tenant::new("main").unwrap(),
        key: EventKey([7; 16]),
        what: "work.published".to_owned(),
        subject: SubjectRef::new("work:1").unwrap(),
        actor: None,
        occurred: Millis(1_000_000),
        persons: Vec::new(),
        state: State::default(),
    };
    wire::event::encode(&event).unwrap()
}

async fn append(log: &dyn Topics, topic: &str, value: &[u8]) {
    let value = Some(value.to_vec());
    let record = NewRecord { topic: topic.into(), partition: 0, key: Vec::new(), value, headers: Vec::new() };
    log.append(vec![record]).await.unwrap();
}

async fn values(log: &dyn Topics, topic: &str) -> Vec<Vec<u8>> {
    let records = log.read(topic, 0, 0, 100).await.unwrap();
    records.into_iter().filter_map(|record: Record| record.value).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_are_registered_once() {
    let registry = open(engines::registry().unwrap());
    let prefix = prefix("once");
    let many = schemas::all().len();
    let would = migrate(&registry, &prefix, true).await.unwrap();
    assert_eq!(would.len(), many, "{would:?}");
    assert!(would[0].ends_with("is to be registered"), "{would:?}");
    let (one, other) = (migrate(&registry, &prefix, false), migrate(&registry, &prefix, false));
    let (one, other) = tokio::join!(one, other);
    assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
    for check in [true, false] {
        assert_eq!(migrate(&registry, &prefix, check).await.unwrap(), Vec::<String>::new());
    }
    for bundled in schemas::all() {
        let ours = registry.cache.ours(&register::subject(&prefix, bundled.topic)).unwrap();
        let writer = open(engines::registry().unwrap()).schema(ours.id).await.unwrap();
        assert_eq!(writer.header(), bundled.header().unwrap(), "{}", bundled.topic);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_compatible_is_refused() {
    let registry = open(engines::registry().unwrap());
    let prefix = prefix("refused");
    migrate(&registry, &prefix, false).await.unwrap();
    let path = format!("/subjects/{prefix}events-value/versions");
    let other = r#"{"type":"record","name":"event","fields":[{"name":"x","type":"string"}]}"#;
    let answer = registry.client.post(&path, &serde_json::json!({"schema": other})).await;
    assert!(matches!(answer, Err(Trouble::Refused { status: 409, .. })), "{answer:?}");
    // The other way round: somebody was there before us.
    let taken = format!("{prefix}taken-");
    let path = format!("/subjects/{taken}events-value/versions");
    registry.client.post(&path, &serde_json::json!({"schema": other})).await.unwrap();
    let level = serde_json::json!({"compatibility": "BACKWARD"});
    registry.client.put(&format!("/config/{taken}events-value"), &level).await.unwrap();
    let error = format!("{:#}", migrate(&registry, &taken, false).await.unwrap_err());
    assert!(error.contains("events-value: it is not compatible"), "{error}");
    // The others are there all the same.
    let left = migrate(&registry, &taken, true).await.unwrap_err().to_string();
    assert_eq!(left.matches("schema ").count(), 1, "{left}");
    assert!(registry.cache.ours(&format!("{taken}replays-value")).is_some());
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
            let error = migrate(&open(&wrong), &prefix("wrong"), check).await.unwrap_err();
            let said = format!("{error:#}");
            assert!(said.contains("404, so this is not the root of its API"), "{wrong}: {said}");
            assert_eq!(said.matches("404").count(), 1, "{wrong}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_id_is_told_from_a_registry_that_is_away() {
    let unknown = open(engines::registry().unwrap()).schema(4_000_000_000).await.unwrap_err();
    assert!(matches!(unknown, NoSchema::Unknown(_)), "{unknown:?}");
    let away = open(&nowhere()).schema(1).await.unwrap_err();
    assert!(matches!(away, NoSchema::Unreachable(_)), "{away:?}");
    // Something answers there, and it is no registry.
    let wrong = format!("{}/nothing", engines::registry().unwrap());
    let wrong = open(&wrong).schema(1).await.unwrap_err();
    assert!(matches!(wrong, NoSchema::Unreachable(_)), "{wrong:?}");
    // The second address is asked where the first does not answer.
    let both = format!("{}, {}", nowhere(), engines::registry().unwrap());
    let both = open(&both).schema(4_000_000_000).await.unwrap_err();
    assert_eq!(both, unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_travel_in_frames() {
    let dir = TempDir::new().unwrap();
    let inner = log(&dir).await;
    let registry = open(engines::registry().unwrap());
    let prefix = prefix("frames");
    // Whoever only works there registers nothing.
    drop(Framed::open(inner.clone(), registry.clone(), &prefix, Shutdown::default()).await);
    let missing = migrate(&registry, &prefix, true).await.unwrap();
    assert_eq!(missing.len(), wire::schemas::all().len(), "{missing:?}");
    migrate(&registry, &prefix, false).await.unwrap();
    let framed = Framed::open(inner.clone(), registry.clone(), &prefix, Shutdown::default()).await;
    for (topic, value) in [
        (topics::EVENTS, event()),
        (topics::EVENTS, b"bad".to_vec()),
        ("others", event()),
        (topics::CHANGES, event()),
    ] {
        append(&framed, topic, &value).await;
    }
    let id = registry.cache.ours(&format!("{prefix}events-value")).unwrap().id;
    let expected = framing::framed(id, &event()[10..]);
    assert_eq!(values(&*inner, topics::EVENTS).await, [expected.clone(), b"bad".to_vec()]);
    // A topic of others, and a record that is not of this topic, stay as they are.
    assert_eq!(values(&*inner, "others").await, [event()]);
    assert_eq!(values(&*inner, topics::CHANGES).await, [event()]);
    assert_eq!(values(&framed, topics::EVENTS).await, [event(), b"bad".to_vec()]);
    // Ids that nobody knows, and those of schemas that are not this topic's, come as they are.
    for value in [framing::framed(4_000_000_000, b"x"), b"\0\0".to_vec()] {
        append(&*inner, topics::CHANGES, &value).await;
    }
    append(&*inner, topics::CHANGES, &expected).await;
    let found = values(&framed, topics::CHANGES).await;
    assert_eq!(found[1..], [framing::framed(4_000_000_000, b"x"), b"\0\0".to_vec(), expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_house_starts_while_the_registry_is_away() {
    let (dir, shutdown) = (TempDir::new().unwrap(), Shutdown::default());
    let cache = dir.path().join("schemas.json");
    let inner = log(&dir).await;
    // Without anything learned records are single objects.
    let away = Settings { cache: Some(cache.clone()), ..Settings::at(&nowhere()) };
    let framed =
        Framed::open(inner.clone(), Registry::open(away, clock()).unwrap(), "", shutdown.clone()).await;
    append(&framed, topics::EVENTS, &event()).await;
    assert_eq!(values(&*inner, topics::EVENTS).await, [event()]);
    assert_eq!(values(&framed, topics::EVENTS).await, [event()]);

    // What was learned while it was there holds while it is away.
    let here = Settings { cache: Some(cache.clone()), ..Settings::at(engines::registry().unwrap()) };
    let prefix = prefix("away");
    let registry = Registry::open(here.clone(), clock()).unwrap();
    migrate(&registry, &prefix, false).await.unwrap();
    let id = registry.cache.ours(&format!("{prefix}events-value")).unwrap().id;
    registry.schema(id).await.unwrap();
    let mut again = Registry::open(here, clock()).unwrap();
    again.client = open(&nowhere()).client;
    let framed = Framed::open(inner.clone(), again, &prefix, shutdown.clone()).await;
    append(&framed, topics::EVENTS, &event()).await;
    assert_eq!(values(&*inner, topics::EVENTS).await, [event(), framing::framed(id, &event()[10..])]);
    assert_eq!(values(&framed, topics::EVENTS).await, [event(), event()]);
    shutdown.start();

    // Of another registry nothing of it is believed; a file that is none is begun anew.
    let other = Settings { cache: Some(cache.clone()), ..Settings::at("http://127.0.0.1:1") };
    assert_eq!(
        Registry::open(other.clone(), clock()).unwrap().cache.ours(&format!("{prefix}events-value")),
        None
    );
    std::fs::write(&cache, "{").unwrap();
    assert_eq!(Registry::open(other, clock()).unwrap().cache.ours("x"), None);
}

#[test]
fn secrets_are_not_printed_and_addresses_are_checked() {
    let mut settings = Settings::at("http://a/, https://b ,");
    assert_eq!(settings.urls, ["http://a", "https://b"]);
    settings.user = Some("ann".to_owned());
    settings.password = Some("geheim".to_owned().into());
    let registry = Registry::open(settings.clone(), clock()).unwrap();
    assert!(!format!("{settings:?}{registry:?}").contains("geheim"));
    for (url, why) in
        [("", "needs an address"), ("ftp://a", "neither with http://"), ("http://u:p@a", "apart")]
    {
        let error = Registry::open(Settings::at(url), clock()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let ca = Some("/nowhere.pem".into());
    let error = Registry::open(Settings { ca, ..settings }, clock()).unwrap_err().to_string();
    assert!(error.contains("/nowhere.pem"), "{error}");
}

/// Whoever stops waiting for a record whose schema is away has not been handed it, and gets it later.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_its_schema_is_not_lost() {
    let dir = TempDir::new().unwrap();
    let lens = Arc::new(promises::Marked::default());
    let framed = Framed::with(log(&dir).await, lens.clone());
    append(&framed, "others", b"one").await;
    let membership = Membership {
        group: "g".into(),
        lead: "others".into(),
        companions: Vec::new(),
        state: None,
        mode: Mode::Plain,
    };
    let mut member = framed.join(membership).await.unwrap();
    let Happening::Assigned(_) = member.next(10).await.unwrap() else { panic!() };
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
    let Happening::Records(batch) = member.next(10).await.unwrap() else { panic!() };
    assert_eq!(batch.records[0].value.as_deref(), Some(b"one".as_slice()));
    assert_eq!(member.positions(0), [("others".into(), 1)]);
    // Gone back, what was held is not handed out twice.
    append(&framed, "others", b"two").await;
    lens.0.store(1, Ordering::SeqCst);
    let waited = tokio::time::timeout(Duration::ZERO, member.next(10)).await;
    drop(waited);
    member.rewind(0).await.unwrap();
    let Happening::Records(batch) = member.next(10).await.unwrap() else { panic!() };
    assert_eq!(batch.records.len(), 2);
}
