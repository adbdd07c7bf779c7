//! Tests without a cluster: what is decided here, and what becomes of errors, for which librdkafka has a
//! cluster of its own that makes them.

use std::{collections::BTreeSet, time::Duration};

use rdkafka::{
    consumer::{BaseConsumer, Consumer as _},
    mocking::MockCluster,
    producer::DefaultProducerContext,
    types::{RDKafkaApiKey as Key, RDKafkaRespErr as Error},
};
use runtime::Clock;
use secrecy::SecretString;
use topic::{
    CommitError, GroupMembership, NewRecord, Topics as _, Turn, TurnGuarantee,
    port::{MemberEvent, TopicError},
};

use crate::{
    KafkaTopics, Settings, config, names,
    settings::{ClusterSecurity, GroupProtocol, KafkaLogin, SaslMechanism},
};

const PATIENCE: Duration = Duration::from_secs(120);

type MockKafka = MockCluster<'static, DefaultProducerContext>;

fn start_mock() -> (MockKafka, KafkaTopics) {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic("lead", 1, 1).unwrap();
    mock.create_topic("out", 2, 1).unwrap();
    let settings =
        Settings { session: Duration::from_secs(6), ..Settings::for_brokers(&mock.bootstrap_servers()) };
    (mock, KafkaTopics::open(settings, Clock::real(0)).unwrap())
}

fn test_record(topic: &str, partition: u32, value: &str) -> NewRecord {
    let value = Some(value.as_bytes().to_vec());
    NewRecord { topic: topic.into(), partition, key: b"k".to_vec(), value, headers: Vec::new() }
}

/// What becomes of one turn while the brokers answer a request with these errors.
async fn outcome_of_turn(key: Key, errors: &[Error]) -> Result<(), CommitError> {
    let (mock, kafka) = start_mock();
    kafka.append(vec![test_record("lead", 0, "in")]).await.unwrap();
    let membership = GroupMembership {
        group: "group".into(),
        lead: "lead".into(),
        companions: vec![],
        state: None,
        mode: TurnGuarantee::Atomic,
    };
    let mut member = kafka.join(membership).await.unwrap();
    let batch = loop {
        let next = tokio::time::timeout(PATIENCE, member.next(10)).await.unwrap().unwrap();
        if let MemberEvent::Records(batch) = next {
            break batch;
        }
    };
    mock.request_errors(key, errors);
    let offsets = member.positions(0);
    let records = vec![test_record("out", 1, "out")];
    member.commit(Turn { partition: 0, generation: batch.generation, offsets, records }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_of_a_turn_while_the_brokers_fail() {
    let cases = [
        ("nothing fails", Key::EndTxn, vec![], "done"),
        ("the coordinator moves", Key::EndTxn, vec![Error::RD_KAFKA_RESP_ERR_NOT_COORDINATOR], "done"),
        (
            "the coordinator is starting",
            Key::AddOffsetsToTxn,
            vec![Error::RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS; 3],
            "done",
        ),
        (
            "the group has counted on",
            Key::TxnOffsetCommit,
            vec![Error::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION],
            "done",
        ),
        (
            "the group does not know us",
            Key::TxnOffsetCommit,
            vec![Error::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID],
            "lost",
        ),
        (
            "another producer has taken over",
            Key::EndTxn,
            vec![Error::RD_KAFKA_RESP_ERR_PRODUCER_FENCED],
            "lost",
        ),
        (
            "another one took over before",
            Key::AddPartitionsToTxn,
            vec![Error::RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH],
            "lost",
        ),
        (
            "a record is too large for the broker",
            Key::Produce,
            vec![Error::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE],
            "refused",
        ),
    ];
    // At once, since joining a group takes seconds there.
    let looks = cases.map(|(name, key, errors, wanted)| async move {
        let outcome = outcome_of_turn(key, &errors).await;
        let found = match &outcome {
            Ok(()) => "done",
            Err(CommitError::Aborted(_)) => "aborted",
            Err(CommitError::Lost(_)) => "lost",
            Err(CommitError::Engine(TopicError::Refused(_))) => "refused",
            Err(CommitError::Engine(_)) => "broken",
        };
        assert_eq!(found, wanted, "{name}: {outcome:?}");
    });
    futures::future::join_all(looks).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_appended_is_refused_before_it_is_sent() {
    let (_mock, kafka) = start_mock();
    let large = "x".repeat(crate::VALUE_MOST + 1);
    let cases =
        [("no such partition", test_record("out", 2, "v")), ("too large", test_record("out", 0, &large))];
    for (name, bad) in cases {
        let outcome = kafka.append(vec![test_record("out", 0, "good"), bad]).await;
        assert!(matches!(outcome, Err(TopicError::Refused(_))), "{name}: {outcome:?}");
    }
    assert_eq!(kafka.bounds("out").await.unwrap(), [(0, 0), (0, 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_does_not_know_the_end_yet_is_waited_for() {
    let mock = MockCluster::new(2).unwrap();
    mock.create_topic("lead", 1, 2).unwrap();
    mock.partition_leader("lead", 0, Some(1)).unwrap();
    let mut settings = Settings::for_brokers(&mock.bootstrap_servers());
    // This cluster knows of no other end.
    settings.more.insert("isolation.level".to_owned(), "read_uncommitted".to_owned());
    let kafka = KafkaTopics::open(settings, Clock::real(0)).unwrap();
    for value in ["a", "b", "c"] {
        kafka.append(vec![test_record("lead", 0, value)]).await.unwrap();
    }
    // Whoever reads is sent to the other one.
    mock.partition_follower("lead", 0, 2).unwrap();
    mock.follower_watermarks("lead", 0, Some(0), Some(1)).unwrap();
    let knows = async {
        runtime::retry::wait_real_time(Duration::from_secs(2)).await;
        mock.follower_watermarks("lead", 0, Some(0), Some(3)).unwrap();
    };
    let (read, ()) = tokio::join!(kafka.read("lead", 0, 0, 9), knows);
    let read: Vec<u64> = read.unwrap().iter().map(|record| record.offset).collect();
    assert_eq!(read, [0, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_without_a_leader_is_there_all_the_same() {
    let (mock, kafka) = start_mock();
    mock.partition_leader("lead", 0, None).unwrap();
    let outcome = kafka.bounds("lead").await;
    assert!(matches!(outcome, Err(TopicError::Busy(_))), "{outcome:?}");
    let outcome = kafka.bounds("none").await;
    assert!(matches!(outcome, Err(TopicError::Refused(_))), "{outcome:?}");
    mock.partition_leader("lead", 0, Some(1)).unwrap();
    assert_eq!(kafka.bounds("lead").await.unwrap(), [(0, 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_away_is_busy() {
    let mut settings = Settings::for_brokers("127.0.0.1:1");
    settings.more.insert("socket.connection.setup.timeout.ms".to_owned(), "1000".to_owned());
    let kafka = KafkaTopics::open(settings, Clock::real(0)).unwrap();
    let outcome = kafka.bounds("lead").await;
    assert!(matches!(outcome, Err(TopicError::Busy(_))), "{outcome:?}");
}

#[test]
fn every_client_takes_the_settings() {
    for protocol in [GroupProtocol::Classic, GroupProtocol::Consumer] {
        let mut settings = Settings { protocol, ..Settings::for_brokers("127.0.0.1:1") };
        settings.instance = Some("one".to_owned());
        settings.more.insert("max.poll.interval.ms".to_owned(), "60000".to_owned());
        let member = config::group_member_config(&settings, "group");
        assert_eq!(member.get("max.poll.interval.ms"), Some("60000"));
        assert_eq!(member.get("group.instance.id"), Some("one-group"));
        let session = member.get("session.timeout.ms");
        assert_eq!(session.is_some(), protocol == GroupProtocol::Classic, "{protocol:?}: {session:?}");
        // Opened, since librdkafka looks at them then.
        let opened: Result<BaseConsumer, _> = member.create();
        assert!(opened.is_ok_and(|member| member.subscription().is_ok()), "{protocol:?}");
        let others = [
            config::reader_config(&settings, "group"),
            config::scan_config(&settings, "group"),
            config::group_query_config(&settings, "group", config::ReadIsolation::Committed),
        ];
        for other in others {
            assert_eq!(other.get("max.poll.interval.ms"), None);
            let opened: Result<BaseConsumer, _> = other.create();
            assert!(opened.is_ok());
        }
        assert_eq!(config::silence_limit(&settings), Duration::from_secs(60));
    }
}

#[test]
fn a_password_is_seen_nowhere() {
    let mut settings = Settings::for_brokers("127.0.0.1:1");
    let password = SecretString::from("correct horse".to_owned());
    let login = KafkaLogin { mechanism: SaslMechanism::Plain, user: "user".to_owned(), password };
    settings.security = ClusterSecurity { tls: None, login: Some(login) };
    assert!(!format!("{settings:?}").contains("horse"));
    let kafka = KafkaTopics::open(settings.clone(), Clock::real(0)).unwrap();
    assert!(!format!("{kafka:?}").contains("horse"));
    settings.more.insert("ssl.key.password".to_owned(), "correct horse".to_owned());
    settings.more.insert("no.such.property".to_owned(), "correct horse".to_owned());
    let error = KafkaTopics::open(settings, Clock::real(0)).unwrap_err().to_string();
    assert!(error.contains("no.such.property") && !error.contains("horse"), "{error}");
}

#[test]
fn names_of_others_go_without_the_prefix() {
    let mut settings = Settings { prefix: "house.".to_owned(), ..Settings::for_brokers("") };
    settings.foreign = BTreeSet::from(["orders".to_owned()]);
    assert_eq!(names::wire_topic(&settings, "events"), "house.events");
    assert_eq!(names::wire_topic(&settings, "orders"), "orders");
}
