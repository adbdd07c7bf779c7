//! What is special to Kafka, and no promise of every log.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use engines::EngineCluster as _;
use rdkafka::{
    Offset, TopicPartitionList,
    admin::{AdminClient, AdminOptions},
    consumer::{BaseConsumer, Consumer as _},
};
use runtime::{Clock, ShutdownSignal, WorkTracker};
use topic::{
    GroupMembership, Member, NewRecord, RecordBatch, TopicError, TopicRecord, TopicSpec, Topics, Turn,
    TurnGuarantee,
    drive::{DriveDeps, RoomWork, run_room},
    metrics::GroupTurnMetrics,
    port::{GroupStanding, MemberEvent, TopicName, TopicRetention},
};
use topic_kafka::{
    KafkaTopics, Settings,
    settings::{ClusterSecurity, GroupProtocol, KafkaLogin, KafkaTls, SaslMechanism},
};

use crate::cluster::cluster_settings;

const PATIENCE: Duration = Duration::from_secs(180);

async fn declare_topic(kafka: &KafkaTopics, name: &str, partitions: u32) -> TopicName {
    let spec =
        TopicSpec { name: name.into(), partitions, retention: TopicRetention::Milliseconds(86_400_000) };
    kafka.declare(std::slice::from_ref(&spec)).await.unwrap();
    spec.name
}

fn test_record(topic: &TopicName, partition: u32, value: &str) -> NewRecord {
    let value = Some(value.as_bytes().to_vec());
    NewRecord { topic: topic.clone(), partition, key: b"k".to_vec(), value, headers: Vec::new() }
}

fn test_membership(group: &str, lead: &TopicName, mode: TurnGuarantee) -> GroupMembership {
    GroupMembership { group: group.into(), lead: lead.clone(), companions: vec![], state: None, mode }
}

async fn next_happening(member: &mut dyn Member, most: usize) -> Result<MemberEvent, TopicError> {
    tokio::time::timeout(PATIENCE, member.next(most)).await.unwrap()
}

/// The next records, whatever happens before.
async fn next_batch(member: &mut dyn Member, most: usize) -> RecordBatch {
    loop {
        if let MemberEvent::Records(batch) = next_happening(member, most).await.unwrap() {
            return batch;
        }
    }
}

/// Goes on until so many partitions are assigned; which they are.
async fn own_partitions(member: &mut dyn Member, partitions: usize) -> Vec<u32> {
    let mut owned = Vec::new();
    while owned.len() < partitions {
        match next_happening(member, 1).await.unwrap() {
            MemberEvent::Assigned(assigned) => owned.extend(assigned.iter().map(|(partition, _)| *partition)),
            MemberEvent::Revoked(revoked) => owned.retain(|partition| !revoked.contains(partition)),
            MemberEvent::Records(batch) => unreachable!("records of partition {}", batch.partition),
        }
    }
    owned.sort_unstable();
    owned
}

/// One turn for each of some records of `from`, that writes one record to `to`.
async fn hand_on_records(kafka: &KafkaTopics, from: &TopicName, to: &TopicName, records: usize) {
    for n in 0..records {
        kafka.append(vec![test_record(from, 0, &n.to_string())]).await.unwrap();
    }
    let mut member = kafka.join(test_membership("hands-on", from, TurnGuarantee::Atomic)).await.unwrap();
    for n in 0..records {
        let batch = next_batch(&mut *member, 1).await;
        let offsets = member.positions(0);
        let records = vec![test_record(to, 0, &n.to_string())];
        member.commit(Turn { partition: 0, generation: batch.generation, offsets, records }).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_of_transactions_are_passed() {
    let kafka = KafkaTopics::open(cluster_settings("marks"), Clock::real(0)).unwrap();
    let (from, to) = (declare_topic(&kafka, "from", 1).await, declare_topic(&kafka, "to", 1).await);
    hand_on_records(&kafka, &from, &to, 3).await;
    // Behind each of the three records lies a mark.
    assert_eq!(kafka.bounds("to").await.unwrap(), [(0, 6)]);
    assert_eq!(kafka.read("to", 0, 5, 10).await.unwrap(), []);

    let mut member = kafka.join(test_membership("reads", &to, TurnGuarantee::Plain)).await.unwrap();
    own_partitions(&mut *member, 1).await;
    let ends = member.ends(0).await.unwrap();
    assert_eq!(ends, [(to.clone(), 6)]);
    let mut read = 0;
    while member.positions(0) != ends {
        // Comes back when the last mark is passed, though there is nothing to hand out.
        if let MemberEvent::Records(batch) = next_happening(&mut *member, 2).await.unwrap() {
            read += batch.records.len();
        }
    }
    assert_eq!(read, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_has_read_everything_stands_at_the_end() {
    let settings = cluster_settings("stands");
    let kafka = KafkaTopics::open(settings.clone(), Clock::real(0)).unwrap();
    let (from, to) = (declare_topic(&kafka, "from", 1).await, declare_topic(&kafka, "to", 1).await);
    hand_on_records(&kafka, &from, &to, 2).await;
    let mut member = kafka.join(test_membership("reads", &to, TurnGuarantee::Plain)).await.unwrap();
    let standing = async || {
        let GroupStanding { committed, end, .. } = kafka.standing("reads", "to").await.unwrap().remove(0);
        (committed, end)
    };
    let mut offset = 0;
    for wanted in [(1, 4), (4, 4)] {
        let batch = next_batch(&mut *member, 1).await;
        offset = batch.records[0].offset + 1;
        let offsets = vec![(to.clone(), offset)];
        let turn = Turn { partition: 0, generation: batch.generation, offsets, records: vec![] };
        member.commit(turn).await.unwrap();
        // Behind each of both records is a mark.
        assert_eq!(standing().await, wanted);
    }
    // Kafka's own tool knows of no marks.
    let group = format!("{}reads", settings.prefix);
    let arguments = ["--describe", "--group", &group];
    let told = engines::run_kafka_tool(&settings.brokers, CONSUMER_GROUP_COMMAND, &arguments).unwrap();
    let row: Vec<&str> =
        told.lines().find(|line| line.starts_with(&group)).unwrap().split_whitespace().collect();
    assert_eq!(row[3..6], [offset.to_string().as_str(), "4", "1"], "{told}");
}

const CONSUMER_GROUP_COMMAND: &str = "consumer.group.ConsumerGroupCommand";

/// Closes once when an instant has come, and stops the loop.
struct ClosingWork {
    due: Option<i64>,
    seen: usize,
    shutdown: ShutdownSignal,
}

#[async_trait]
impl RoomWork for ClosingWork {
    fn due(&self, _partition: u32) -> Option<i64> {
        self.due
    }

    async fn turn(&mut self, batch: &RecordBatch, closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        self.seen += batch.records.len();
        if closing.is_some() {
            self.due = None;
            self.shutdown.start();
        }
        Ok(Vec::new())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_closes_though_a_mark_comes_last() {
    let kafka = KafkaTopics::open(cluster_settings("closes"), Clock::real(0)).unwrap();
    let (from, to) = (declare_topic(&kafka, "from", 1).await, declare_topic(&kafka, "to", 1).await);
    hand_on_records(&kafka, &from, &to, 5).await;
    let (clock, shutdown) = (Clock::real(0), ShutdownSignal::default());
    let mut work = ClosingWork { due: Some(clock.now()), seen: 0, shutdown: shutdown.clone() };
    let topics: Arc<dyn Topics> = Arc::new(kafka);
    let membership = test_membership("closes", &to, TurnGuarantee::Atomic);
    let drive = run_room(
        DriveDeps {
            topics,
            membership,
            clock,
            quiet: WorkTracker::default(),
            shutdown,
            records_max: 2,
            metrics: GroupTurnMetrics::default(),
        },
        &mut work,
    );
    tokio::time::timeout(PATIENCE, drive).await.unwrap().unwrap();
    assert_eq!((work.seen, work.due), (5, None), "closed before everything was read");
}

/// Takes everything that comes.
struct SinkWork;

#[async_trait]
impl RoomWork for SinkWork {
    async fn turn(&mut self, _batch: &RecordBatch, _closing: Option<i64>) -> anyhow::Result<Vec<NewRecord>> {
        Ok(Vec::new())
    }
}

/// Waits until a group has committed an offset, marks or not.
async fn wait_until_committed(settings: &Settings, group: &str, topic: &str, wanted: i64) {
    let mut config = topic_kafka::client_config(settings);
    let client: BaseConsumer =
        config.set("group.id", format!("{}{group}", settings.prefix)).create().unwrap();
    let wire = format!("{}{topic}", settings.prefix);
    let mut asked = TopicPartitionList::new();
    asked.add_partition(&wire, 0);
    let committed = async {
        loop {
            let found = client.committed_offsets(asked.clone(), PATIENCE).unwrap();
            if found.find_partition(&wire, 0).unwrap().offset() == Offset::Offset(wanted) {
                return;
            }
            runtime::retry::wait_real_time(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(PATIENCE, committed).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_goes_on_though_all_it_had_read_is_gone_with_its_marks() {
    let settings = cluster_settings("gone");
    let kafka = KafkaTopics::open(settings.clone(), Clock::real(0)).unwrap();
    let (from, to) = (declare_topic(&kafka, "from", 1).await, declare_topic(&kafka, "to", 1).await);
    hand_on_records(&kafka, &from, &to, 1).await;
    let topics: Arc<dyn Topics> = Arc::new(kafka.clone());
    let groups = [("plain", TurnGuarantee::Plain), ("atomic", TurnGuarantee::Atomic)];
    let rooms = groups.map(async |(group, mode)| {
        let (clock, shutdown) = (Clock::real(0), ShutdownSignal::default());
        let (topics, quiet, membership) =
            (topics.clone(), WorkTracker::default(), test_membership(group, &to, mode));
        let room = DriveDeps {
            topics,
            membership,
            clock,
            quiet,
            shutdown: shutdown.clone(),
            records_max: 2,
            metrics: GroupTurnMetrics::default(),
        };
        let mut work = SinkWork;
        let (driven, ()) = tokio::join!(run_room(room, &mut work), async {
            // The record, and the mark behind it.
            wait_until_committed(&settings, group, "to", 2).await;
            shutdown.start();
        });
        driven.unwrap();
    });
    futures::future::join_all(rooms).await;
    let admin: AdminClient<_> = topic_kafka::client_config(&settings).create().unwrap();
    let mut all = TopicPartitionList::new();
    all.add_partition_offset(&format!("{}to", settings.prefix), 0, Offset::End).unwrap();
    admin.delete_records(&all, &AdminOptions::new()).await.unwrap();
    assert_eq!(kafka.bounds("to").await.unwrap(), [(2, 2)]);
    kafka.append(vec![test_record(&to, 0, "next")]).await.unwrap();
    for (group, mode) in groups {
        let mut member = kafka.join(test_membership(group, &to, mode)).await.unwrap();
        assert_eq!(next_batch(&mut *member, 9).await.records[0].offset, 2, "{group}");
    }
}

/// Two instances with names; of the first also the settings, to open it again.
fn open_two_instances(settings: Settings) -> (Settings, KafkaTopics, KafkaTopics) {
    let one = Settings { instance: Some("one".to_owned()), ..settings };
    let two = Settings { instance: Some("two".to_owned()), ..one.clone() };
    let [first, second] = [one.clone(), two].map(|one| KafkaTopics::open(one, Clock::real(0)).unwrap());
    (one, first, second)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_comes_back_keeps_its_partitions() {
    let (one, first, second) = open_two_instances(cluster_settings("static"));
    let lead = declare_topic(&first, "lead", 4).await;
    let join = async |kafka: &KafkaTopics| {
        kafka.join(test_membership("group", &lead, TurnGuarantee::Plain)).await.unwrap()
    };
    let mut member = join(&first).await;
    own_partitions(&mut *member, 4).await;
    let mut other = join(&second).await;
    let (mut before, mut others) = (4, Vec::new());
    while before > 2 || others.len() < 2 {
        tokio::select! {
            happening = next_happening(&mut *member, 1) => {
                if let MemberEvent::Revoked(revoked) = happening.unwrap() {
                    before -= revoked.len();
                }
            }
            happening = next_happening(&mut *other, 1) => {
                if let MemberEvent::Assigned(assigned) = happening.unwrap() {
                    others.extend(assigned.iter().map(|(partition, _)| *partition));
                }
            }
        }
    }
    drop(member);
    drop(first);
    let again = KafkaTopics::open(one, Clock::real(0)).unwrap();
    let mut member = join(&again).await;
    tokio::select! {
        mut kept = own_partitions(&mut *member, 2) => {
            kept.extend(others);
            kept.sort_unstable();
            assert_eq!(kept, [0, 1, 2, 3]);
        }
        happening = next_happening(&mut *other, 1) => unreachable!("the other one noticed: {happening:?}"),
    }
}

/// An instance is told to give partitions away, is killed before it has, and comes back under its name.
async fn check_killed_between_hands(protocol: GroupProtocol) {
    let settings = cluster_settings(&format!("orphans-{protocol:?}"));
    let (one, first, second) = open_two_instances(Settings { protocol, ..settings });
    let lead = declare_topic(&first, "lead", 4).await;
    let join = async |kafka: &KafkaTopics| {
        kafka.join(test_membership("group", &lead, TurnGuarantee::Plain)).await.unwrap()
    };
    let mut member = join(&first).await;
    own_partitions(&mut *member, 4).await;
    let mut other = join(&second).await;
    // It asks for nothing more, so its turn has not ended.
    while !matches!(next_happening(&mut *member, 1).await.unwrap(), MemberEvent::Revoked(_)) {}
    first.sever();
    drop(member);
    let again = KafkaTopics::open(one, Clock::real(0)).unwrap();
    let mut member = join(&again).await;
    let mut owned = [Vec::new(), Vec::new()];
    while owned.concat().len() < 4 {
        let (at, happening) = tokio::select! {
            happening = next_happening(&mut *member, 1) => (0, happening),
            happening = next_happening(&mut *other, 1) => (1, happening),
        };
        match happening {
            Ok(MemberEvent::Assigned(assigned)) => {
                owned[at].extend(assigned.iter().map(|(partition, _)| *partition));
            }
            Ok(MemberEvent::Revoked(revoked)) => owned[at].retain(|partition| !revoked.contains(partition)),
            Ok(MemberEvent::Records(batch)) => unreachable!("records of partition {}", batch.partition),
            // As a room does: the brokers may still count on the one that was killed.
            Err(TopicError::Busy(_)) if at == 0 => {
                runtime::retry::wait_real_time(Duration::from_secs(1)).await;
                member = join(&again).await;
            }
            Err(error) => unreachable!("{protocol:?}: {error}"),
        }
    }
    let mut all = owned.concat();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3], "{protocol:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_instance_was_to_give_away_gets_an_owner() {
    check_killed_between_hands(GroupProtocol::Classic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_instance_was_to_give_away_gets_an_owner_from_the_brokers() {
    check_killed_between_hands(GroupProtocol::Consumer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_for_whom_nothing_is_left_is_told_so() {
    let kafka = KafkaTopics::open(cluster_settings("spare"), Clock::real(0)).unwrap();
    let lead = declare_topic(&kafka, "lead", 1).await;
    let join = async || kafka.join(test_membership("group", &lead, TurnGuarantee::Plain)).await.unwrap();
    let mut first = join().await;
    assert_eq!(own_partitions(&mut *first, 1).await, [0]);
    let mut spare = join().await;
    tokio::select! {
        happening = next_happening(&mut *spare, 1) => {
            let told = happening.unwrap();
            assert!(matches!(&told, MemberEvent::Assigned(none) if none.is_empty()), "{told:?}");
        }
        happening = next_happening(&mut *first, 1) => unreachable!("the first one noticed: {happening:?}"),
    }
    drop(first);
    assert_eq!(own_partitions(&mut *spare, 1).await, [0], "it takes over");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_retention_took_unread_is_an_error() {
    let kafka = KafkaTopics::open(cluster_settings("range"), Clock::real(0)).unwrap();
    let lead = declare_topic(&kafka, "lead", 1).await;
    kafka.append(vec![test_record(&lead, 0, "a")]).await.unwrap();
    let mut member = kafka.join(test_membership("group", &lead, TurnGuarantee::Plain)).await.unwrap();
    let generation = next_batch(&mut *member, 1).await.generation;
    let offsets = vec![(lead.clone(), 7)];
    member.commit(Turn { partition: 0, generation, offsets, records: vec![] }).await.unwrap();
    drop(member);
    let mut member = kafka.join(test_membership("group", &lead, TurnGuarantee::Plain)).await.unwrap();
    for _ in 0..2 {
        // Each time: nobody goes on as if nothing had been.
        let error = next_happening(&mut *member, 1).await.unwrap_err().to_string();
        for word in ["`group`", "offset 7", "lead/0", "0 to 1", "replay"] {
            assert!(error.contains(word), "{word} is missing: {error}");
        }
    }
}

/// Goes through everything once: what a room does.
async fn check_everything(kafka: &KafkaTopics, word: &str) {
    let lead = declare_topic(kafka, &format!("lead-{word}"), 2).await;
    kafka.append(vec![test_record(&lead, 1, word)]).await.unwrap();
    let mut member = kafka.join(test_membership(word, &lead, TurnGuarantee::Atomic)).await.unwrap();
    let batch = next_batch(&mut *member, 1).await;
    let value = |record: &TopicRecord| record.value.clone();
    assert_eq!(batch.records.iter().map(value).collect::<Vec<_>>(), [Some(word.as_bytes().to_vec())]);
    let offsets = member.positions(1);
    member
        .commit(Turn { partition: 1, generation: batch.generation, offsets, records: vec![] })
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secured_cluster_lets_in_who_may_also_after_its_death() {
    let cluster =
        engines::KafkaCluster::start(engines::KafkaOptions { secured: true, ..Default::default() }).unwrap();
    let secured = cluster.security().unwrap();
    let tls = KafkaTls { ca: Some(secured.certificates.ca_pem.clone()), ..KafkaTls::default() };
    let at = |brokers: &str, tls: KafkaTls, login: Option<(SaslMechanism, &str)>| {
        let mut settings = Settings { brokers: brokers.to_owned(), ..cluster_settings("secured") };
        // So that a member which the broker forgot is not waited for any longer than that.
        settings.session = Duration::from_secs(6);
        let login = login.map(|(mechanism, password)| KafkaLogin {
            mechanism,
            user: secured.user.clone(),
            password: password.to_owned().into(),
        });
        settings.security = ClusterSecurity { tls: Some(tls), login };
        KafkaTopics::open(settings, Clock::real(0)).unwrap()
    };
    for (word, mechanism) in [("scram", SaslMechanism::ScramSha256), ("plain", SaslMechanism::Plain)] {
        let kafka = at(&cluster.bootstrap(), tls.clone(), Some((mechanism, &secured.password)));
        check_everything(&kafka, word).await;
    }
    let own = KafkaTls {
        certificate: Some(secured.certificates.client_pem.clone()),
        key: Some(secured.certificates.client_key.clone()),
        ..tls.clone()
    };
    check_everything(&at(&secured.by_certificate, own, None), "certificate").await;
    let wrong = |mechanism| Some((mechanism, "guessed"));
    let right = Some((SaslMechanism::Plain, &*secured.password));
    let strangers = [
        (
            "a wrong password",
            at(&cluster.bootstrap(), tls.clone(), wrong(SaslMechanism::Plain)),
            "uthentication",
        ),
        (
            "another's",
            at(&cluster.bootstrap(), tls.clone(), wrong(SaslMechanism::ScramSha256)),
            "uthentication",
        ),
        ("nobody to trust", at(&cluster.bootstrap(), KafkaTls::default(), right), "verif"),
        ("no certificate", at(&secured.by_certificate, tls.clone(), None), "certificate"),
    ];
    let looks = strangers.map(|(name, kafka, word)| async move {
        let outcome = kafka.bounds("lead-plain").await;
        assert!(matches!(outcome, Err(TopicError::Busy(_))), "{name}: {outcome:?}");
        let why = kafka.denial_reason().unwrap_or_default();
        assert!(why.contains(word) && !why.contains("guessed"), "{name}: {outcome:?}: {why}");
    });
    futures::future::join_all(looks).await;
    let kafka = at(&cluster.bootstrap(), tls, Some((SaslMechanism::ScramSha256, &secured.password)));
    a_member_outlives_its_broker(cluster, kafka).await;
}

/// A turn while the broker is killed, and what comes after it is there again.
async fn a_member_outlives_its_broker(cluster: engines::KafkaCluster, kafka: KafkaTopics) {
    let (lead, out) = (declare_topic(&kafka, "lead", 1).await, declare_topic(&kafka, "out", 1).await);
    kafka.append(vec![test_record(&lead, 0, "before")]).await.unwrap();
    let mut member = kafka.join(test_membership("group", &lead, TurnGuarantee::Atomic)).await.unwrap();
    let first = next_batch(&mut *member, 1).await;
    let offsets = member.positions(0);
    let turn = Turn {
        partition: 0,
        generation: first.generation,
        offsets,
        records: vec![test_record(&out, 0, "1")],
    };
    cluster.kill(0).unwrap();
    let (committed, started) = tokio::join!(
        member.commit(turn),
        tokio::task::spawn_blocking(move || cluster.start_again(0).map(|()| cluster)),
    );
    let _cluster = started.unwrap().unwrap();
    // Whatever became of that turn, the records are there once.
    let done = committed.is_ok();
    kafka.append(vec![test_record(&lead, 0, "after")]).await.unwrap();
    if !done {
        member.rewind(0).await.unwrap();
    }
    let mut values = Vec::new();
    while values.last().is_none_or(|last| last != "after") {
        let batch = next_batch(&mut *member, 10).await;
        values.extend(batch.records.iter().map(|r| String::from_utf8(r.value.clone().unwrap()).unwrap()));
    }
    let wanted: &[&str] = if done { &["after"] } else { &["before", "after"] };
    assert_eq!(values, wanted);
    assert_eq!(kafka.read("out", 0, 0, 10).await.unwrap().len(), usize::from(done));
}
