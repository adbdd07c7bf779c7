//! Tests of the engine beyond what the conformance suite holds: what it does with a disk, a clock, a
//! second process and many callers at once.

use std::{path::Path, sync::Arc, time::Duration};

use runtime::Clock;

use super::{EmbeddedTopics, share::PartitionShare, tables};
use crate::{
    conformance::{cut_power, tests::scratch_dir},
    port::{
        CommitError, GroupMembership, Member, MemberEvent, NewRecord, TopicError, TopicRecord,
        TopicRetention, TopicSpec, Topics, Turn, TurnGuarantee,
    },
};

const DAY: i64 = 86_400_000;

fn test_spec(name: &str, partitions: u32, retention: TopicRetention) -> TopicSpec {
    TopicSpec { name: name.into(), partitions, retention }
}

fn test_record(topic: &str, partition: u32, key: &str, value: &str) -> NewRecord {
    let (topic, key) = (topic.into(), key.as_bytes().to_vec());
    NewRecord { topic, partition, key, value: Some(value.as_bytes().to_vec()), headers: Vec::new() }
}

fn test_tombstone(topic: &str, partition: u32, key: &str) -> NewRecord {
    NewRecord { value: None, ..test_record(topic, partition, key, "") }
}

fn test_membership(group: &str, lead: &str) -> GroupMembership {
    GroupMembership {
        group: group.into(),
        lead: lead.into(),
        companions: vec![],
        state: None,
        mode: TurnGuarantee::Plain,
    }
}

fn record_values(records: &[TopicRecord]) -> Vec<String> {
    let value = |r: &TopicRecord| String::from_utf8(r.value.clone().unwrap_or_default()).unwrap();
    records.iter().map(value).collect()
}

async fn next_happening(member: &mut Box<dyn Member>) -> Result<MemberEvent, TopicError> {
    tokio::time::timeout(Duration::from_secs(60), member.next(1_000)).await.expect("something happens")
}

async fn take_assigned(member: &mut Box<dyn Member>) -> Vec<(u32, u64)> {
    match next_happening(member).await {
        Ok(MemberEvent::Assigned(all)) => all,
        other => panic!("not assigned but {other:?}"),
    }
}

impl EmbeddedTopics {
    /// How many records lie in the tables of plain and of compacted topics, whoever may still see them.
    fn count_on_disk(&self) -> (usize, usize) {
        let tables = self.engine.book.tables().unwrap();
        (tables.log.iter().count(), tables.state.iter().count())
    }
}

/// A directory with a topic `a` that keeps a day, and a compacted topic `s`.
async fn open_with_topics(dir: &Path, now: i64) -> EmbeddedTopics {
    let engine = EmbeddedTopics::open(dir, Clock::still(now)).unwrap();
    let specs =
        [test_spec("a", 4, TopicRetention::Milliseconds(DAY)), test_spec("s", 4, TopicRetention::Compacted)];
    engine.declare(&specs).await.unwrap();
    engine
}

#[tokio::test]
async fn ends_survive_a_restart_whatever_is_left_of_the_records() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 1_000).await;
    engine.append(vec![test_record("a", 1, "k", "1"), test_record("s", 2, "k", "1")]).await.unwrap();
    engine.append(vec![test_tombstone("s", 2, "k"), test_record("a", 1, "k", "2")]).await.unwrap();
    drop(engine);
    let engine = open_with_topics(dir.path(), 1_000).await;
    assert_eq!(engine.bounds("a").await.unwrap(), [(0, 0), (0, 2), (0, 0), (0, 0)]);
    assert_eq!(engine.bounds("s").await.unwrap(), [(0, 0), (0, 0), (0, 2), (0, 0)]);
    assert_eq!(engine.read("s", 2, 0, 10).await.unwrap(), []);
    engine.append(vec![test_record("s", 2, "k", "2"), test_record("a", 1, "k", "3")]).await.unwrap();
    assert_eq!(engine.read("s", 2, 0, 10).await.unwrap()[0].offset, 2);
    assert_eq!(record_values(&engine.read("a", 1, 1, 10).await.unwrap()), ["2", "3"]);
}

#[tokio::test]
async fn one_process_uses_a_directory_at_a_time() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 0).await;
    let member = engine.join(test_membership("g", "a")).await.unwrap();
    let second = EmbeddedTopics::open(dir.path(), Clock::still(0));
    let Err(TopicError::Refused(why)) = second else { panic!("opened twice: {second:?}") };
    assert!(why.contains("another process uses") && why.contains(dir.path().to_str().unwrap()), "{why}");
    // A member keeps the engine, and the directory, as long as it lives.
    drop(engine);
    assert!(EmbeddedTopics::open(dir.path(), Clock::still(0)).is_err());
    drop(member);
    open_with_topics(dir.path(), 0).await;
}

#[tokio::test]
async fn a_closed_engine_has_let_go_and_refuses() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 0).await;
    let mut member = engine.join(test_membership("g", "a")).await.unwrap();
    take_assigned(&mut member).await;
    let appends =
        futures::future::join_all((0..10).map(|n| engine.append(vec![test_record("a", n % 4, "k", "v")])));
    assert!(appends.await.iter().all(Result::is_ok));
    engine.close();
    assert!(matches!(engine.append(vec![test_record("a", 0, "k", "v")]).await, Err(TopicError::Broken(_))));
    assert!(matches!(engine.read("a", 0, 0, 1).await, Err(TopicError::Broken(_))));
    assert!(matches!(next_happening(&mut member).await, Err(TopicError::Broken(_))));
    let again = open_with_topics(dir.path(), 0).await;
    assert_eq!(again.bounds("a").await.unwrap().iter().map(|(_, end)| end).sum::<u64>(), 10);
}

/// What everybody hears after the engine broke down for this reason.
async fn errors_after(why: &TopicError) -> Vec<TopicError> {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 0).await;
    let mut member = engine.join(test_membership("g", "a")).await.unwrap();
    take_assigned(&mut member).await;
    let waiting = tokio::spawn(async move { next_happening(&mut member).await });
    tokio::task::yield_now().await;
    engine.engine.book.break_down(why);
    let outcomes = [
        waiting.await.unwrap().map(|_| ()),
        engine.append(vec![test_record("a", 0, "k", "v")]).await,
        engine.bounds("a").await.map(|_| ()),
        engine.join(test_membership("h", "a")).await.map(|_| ()),
        engine.declare(&[]).await,
    ];
    outcomes.into_iter().map(|outcome| outcome.unwrap_err()).collect()
}

#[tokio::test]
async fn a_broken_engine_says_so_to_everybody_also_to_who_waits() {
    let fault = |kind: std::io::ErrorKind| tables::tables_fault("writing", &fjall::Error::Io(kind.into()));
    for heard in errors_after(&fault(std::io::ErrorKind::StorageFull)).await {
        let TopicError::Full(why) = heard else { panic!("{heard:?}") };
        assert!(why.contains("make room, then restart"), "{why}");
    }
    for heard in errors_after(&fault(std::io::ErrorKind::PermissionDenied)).await {
        let TopicError::Broken(why) = heard else { panic!("{heard:?}") };
        assert!(why.contains("check the disk, then restart"), "{why}");
    }
}

#[tokio::test]
async fn the_time_of_appending_never_goes_back_even_if_the_clock_does() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 5_000).await;
    engine.append(vec![test_record("a", 0, "k", "1"), test_record("s", 0, "k", "1")]).await.unwrap();
    drop(engine);
    let engine = open_with_topics(dir.path(), 2_000).await;
    engine
        .append(vec![
            test_record("a", 0, "k", "2"),
            test_record("s", 0, "j", "2"),
            test_record("a", 1, "k", "3"),
        ])
        .await
        .unwrap();
    let times = |records: Vec<TopicRecord>| records.iter().map(|r| r.appended).collect::<Vec<_>>();
    assert_eq!(times(engine.read("a", 0, 0, 9).await.unwrap()), [5_000, 5_000]);
    assert_eq!(times(engine.read("s", 0, 0, 9).await.unwrap()), [5_000, 5_000]);
    assert_eq!(times(engine.read("a", 1, 0, 9).await.unwrap()), [2_000]);
}

#[tokio::test]
async fn what_is_too_old_goes_and_who_has_not_read_it_is_told() {
    let dir = scratch_dir();
    let clock = Clock::still(1_000);
    let engine = EmbeddedTopics::open(dir.path(), clock.clone()).unwrap();
    engine.declare(&[test_spec("a", 1, TopicRetention::Milliseconds(DAY))]).await.unwrap();
    for n in 0..5_000 {
        if n == 3_000 {
            clock.advance(DAY / 2);
        }
        if n % 500 == 0 {
            let values = (n..n + 500).map(|n| test_record("a", 0, "k", &n.to_string()));
            engine.append(values.collect()).await.unwrap();
        }
    }
    // Trimmed by the writer, with the next thing that is written.
    clock.advance(DAY / 2 + 1);
    engine.append(vec![test_record("a", 0, "k", "last")]).await.unwrap();
    engine.append(vec![]).await.unwrap();
    assert_eq!(engine.bounds("a").await.unwrap(), [(3_000, 5_001)]);
    assert_eq!(record_values(&engine.read("a", 0, 0, 1).await.unwrap()), ["3000"]);
    let mut member = engine.join(test_membership("late", "a")).await.unwrap();
    take_assigned(&mut member).await;
    let Err(TopicError::Refused(why)) = next_happening(&mut member).await else { panic!("jumped") };
    assert_eq!(why, "group `late` stands at offset 0 of a/0, which holds 3000 to 5001");
    drop((member, engine));
    // Trimmed when it is opened; what went is gone from the disk soon after.
    clock.advance(DAY + 1);
    let engine = EmbeddedTopics::open(dir.path(), clock.clone()).unwrap();
    assert_eq!(engine.bounds("a").await.unwrap(), [(5_001, 5_001)]);
    let log = engine.engine.book.tables().unwrap().log;
    while !log.is_empty().unwrap() {
        tokio::task::yield_now().await;
    }
    engine.append(vec![test_record("a", 0, "k", "first")]).await.unwrap();
    assert_eq!(engine.read("a", 0, 0, 1).await.unwrap()[0].offset, 5_001);
}

#[tokio::test]
async fn retention_can_change_and_the_kind_of_topic_cannot() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 0).await;
    engine.declare(&[test_spec("a", 4, TopicRetention::Milliseconds(2 * DAY))]).await.unwrap();
    for wrong in [
        test_spec("a", 4, TopicRetention::Compacted),
        test_spec("s", 4, TopicRetention::Milliseconds(DAY)),
        test_spec("a", 5, TopicRetention::Milliseconds(DAY)),
        test_spec("", 5, TopicRetention::Compacted),
        test_spec("b", 0, TopicRetention::Compacted),
    ] {
        let both = [test_spec("new", 1, TopicRetention::Compacted), wrong.clone()];
        assert!(matches!(engine.declare(&both).await, Err(TopicError::Refused(_))), "{wrong:?}");
        assert!(engine.bounds("new").await.is_err(), "half of a declaration");
    }
    drop(engine);
    let engine = EmbeddedTopics::open(dir.path(), Clock::still(0)).unwrap();
    assert_eq!(engine.engine.book.topic("a").unwrap().retention(), TopicRetention::Milliseconds(2 * DAY));
}

#[tokio::test]
async fn what_cannot_be_appended_is_refused_as_a_whole() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 0).await;
    for wrong in [
        test_record("nowhere", 0, "k", "v"),
        test_record("a", 4, "k", "v"),
        NewRecord {
            headers: vec![("h".repeat(super::HEADERS_MOST), vec![0])],
            ..test_record("a", 0, "k", "v")
        },
        test_record("a", 0, &"k".repeat(super::KEY_MOST + 1), "v"),
        test_record("s", 0, "k", &"v".repeat(super::VALUE_MOST + 1)),
    ] {
        let both = vec![test_record("a", 0, "k", "v"), wrong];
        assert!(matches!(engine.append(both).await, Err(TopicError::Refused(_))));
    }
    assert_eq!(engine.bounds("a").await.unwrap()[0], (0, 0));
    let largest = vec![test_record("s", 0, &"k".repeat(super::KEY_MOST), &"v".repeat(super::VALUE_MOST))];
    engine.append(largest).await.unwrap();
    assert_eq!(engine.read("s", 0, 0, 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn groups_of_one_name_work_on_the_same_topics_and_name_all_offsets() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 0).await;
    engine
        .declare(&[
            test_spec("b", 4, TopicRetention::Milliseconds(DAY)),
            test_spec("c", 3, TopicRetention::Compacted),
        ])
        .await
        .unwrap();
    let with = |companion: &str, state: &str| GroupMembership {
        companions: vec![companion.into()],
        state: Some(state.into()),
        ..test_membership("g", "a")
    };
    let mut member = engine.join(with("b", "s")).await.unwrap();
    for wrong in
        [with("c", "s"), with("a", "s"), with("b", "b"), with("nowhere", "s"), test_membership("g", "a")]
    {
        let joined = engine.join(wrong.clone()).await.map(|_| ());
        assert!(matches!(joined, Err(TopicError::Refused(_))), "{wrong:?}: {joined:?}");
    }
    let generation = take_assigned(&mut member).await[0].1;
    let turn = |offsets: &[(&str, u64)]| Turn {
        partition: 0,
        generation,
        offsets: offsets.iter().map(|(topic, offset)| ((*topic).into(), *offset)).collect(),
        records: vec![],
    };
    for wrong in
        [turn(&[]), turn(&[("a", 0)]), turn(&[("a", 0), ("a", 0)]), turn(&[("a", 0), ("b", 0), ("s", 0)])]
    {
        let refused = member.commit(wrong).await;
        assert!(matches!(refused, Err(CommitError::Engine(TopicError::Refused(_)))), "{refused:?}");
    }
    member.commit(turn(&[("b", 0), ("a", 0)])).await.unwrap();
}

#[tokio::test]
async fn partitions_take_turns() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 0).await;
    let records = (0..40).map(|n| test_record("a", n % 4, "k", &n.to_string()));
    engine.append(records.collect()).await.unwrap();
    let mut member = engine.join(test_membership("g", "a")).await.unwrap();
    take_assigned(&mut member).await;
    let mut order = Vec::new();
    for _ in 0..8 {
        let Ok(MemberEvent::Records(batch)) = member.next(5).await else { panic!("no records") };
        order.push(batch.partition);
    }
    assert_eq!(order, [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_append_at_once_and_each_finds_its_own_in_order() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 0).await;
    let tasks = (0..100_u32).map(|task| {
        let engine = engine.clone();
        tokio::spawn(async move {
            for n in 0..5 {
                let mut records = vec![test_record("a", task % 4, &task.to_string(), &n.to_string())];
                records.push(test_record("s", task % 4, &task.to_string(), &n.to_string()));
                engine.append(records).await.unwrap();
            }
        })
    });
    futures::future::join_all(tasks).await.into_iter().for_each(Result::unwrap);
    let mut seen = std::collections::BTreeMap::<Vec<u8>, Vec<String>>::new();
    for partition in 0..4 {
        for record in engine.read("a", partition, 0, 1_000).await.unwrap() {
            seen.entry(record.key.clone()).or_default().extend(record_values(&[record]));
        }
        let state = engine.read("s", partition, 0, 1_000).await.unwrap();
        assert!(state.len() == 25 && record_values(&state).iter().all(|v| v == "4"), "{state:?}");
    }
    assert_eq!(seen.len(), 100);
    assert!(seen.values().all(|values| *values == ["0", "1", "2", "3", "4"]), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_in_the_middle_leaves_what_was_acknowledged() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 0).await;
    let done = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let writing = tokio::spawn({
        let (engine, done) = (engine.clone(), done.clone());
        async move {
            for n in 0.. {
                let records =
                    vec![test_record("a", 0, "k", &n.to_string()), test_record("s", 0, "n", &n.to_string())];
                engine.append(records).await.unwrap();
                done.store(n + 1, std::sync::atomic::Ordering::SeqCst);
            }
        }
    });
    for _ in 0..5 {
        runtime::retry::pause_before_retry(0, 0).await;
        let acknowledged = done.load(std::sync::atomic::Ordering::SeqCst);
        let left = scratch_dir();
        cut_power(dir.path(), left.path()).unwrap();
        let engine = open_with_topics(left.path(), 0).await;
        let records = record_values(&engine.read("a", 0, 0, usize::MAX).await.unwrap());
        assert!(u64::try_from(records.len()).unwrap() >= acknowledged, "{} of {acknowledged}", records.len());
        assert!(records.iter().enumerate().all(|(n, value)| *value == n.to_string()));
        let state = record_values(&engine.read("s", 0, 0, 9).await.unwrap());
        assert_eq!(state.last(), records.last(), "one append is there in part");
    }
    writing.abort();
    assert!(writing.await.unwrap_err().is_cancelled());
}

/// Members come, go, fall silent and call, in any order; nobody ever works on what another works on, and
/// when all call, all is shared out evenly.
#[test]
fn partitions_are_shared_whatever_members_do() {
    for seed in 1..300_u64 {
        let mut luck = seed;
        let mut draw = |n: usize| {
            luck ^= luck << 13;
            luck ^= luck >> 7;
            luck ^= luck << 17;
            usize::try_from(luck % 1_000_003).unwrap() % n
        };
        let partitions = 1 + draw(9);
        let mut share = PartitionShare::new(partitions);
        // A member, and the partitions that it believes to be its own.
        let mut members: Vec<(u64, Vec<(u32, u64)>)> = Vec::new();
        let call = |share: &mut PartitionShare, (me, works): &mut (u64, Vec<(u32, u64)>)| {
            share.enter(*me);
            works.retain(|(p, claim)| share.is_ours(*me, *p, *claim));
            let fresh = share.newly_owned(*me);
            works.extend(fresh.into_iter().filter(|(p, claim)| share.announce(*me, *p, *claim)));
            share.revoke(*me);
            share.exit(*me);
        };
        for _ in 0..60 {
            match draw(8) {
                0 => members.push((share.join(), vec![])),
                1 if !members.is_empty() => share.leave(members.swap_remove(draw(members.len())).0),
                2 => drop(share.expire(Duration::ZERO)),
                3 if !members.is_empty() => {
                    let (me, works) = &members[draw(members.len())];
                    works.first().into_iter().for_each(|(p, claim)| share.release(*me, *p, *claim));
                }
                _ if !members.is_empty() => {
                    let at = draw(members.len());
                    call(&mut share, &mut members[at]);
                }
                _ => {}
            }
            for partition in 0..u32::try_from(partitions).unwrap() {
                let working = |(me, works): &&(u64, Vec<(u32, u64)>)| {
                    works.iter().any(|(p, claim)| *p == partition && share.is_ours(*me, *p, *claim))
                };
                assert!(members.iter().filter(working).count() <= 1, "seed {seed}");
            }
        }
        for _ in 0..4 {
            members.iter_mut().for_each(|member| call(&mut share, member));
        }
        let counts: Vec<usize> = members.iter().map(|(_, works)| works.len()).collect();
        if let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) {
            assert!(
                counts.iter().sum::<usize>() == partitions && most - least <= 1,
                "seed {seed}: {counts:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_nothing_acknowledged_is_lost() {
    let test = "embedded::tests::a_full_disk_is_told_and_nothing_acknowledged_is_lost";
    let Some(disk) = runtime::small_disk::run_on_small_disk(test, "size=24m").unwrap() else {
        return;
    };
    let dir = tempfile::tempdir_in(&disk).unwrap();
    let engine = open_with_topics(dir.path(), 0).await;
    let ballast = disk.join("ballast");
    std::fs::write(&ballast, vec![1; 4 << 20]).unwrap();
    let mut acknowledged = 0_u64;
    let first = loop {
        // What cannot be compressed fills a disk sooner.
        let value: String =
            (0..2_000_u64).map(|n| char::from(b'a' + ((n * n + acknowledged) % 23) as u8)).collect();
        match engine.append((0..50).map(|_| test_record("a", 0, "k", &value)).collect()).await {
            Ok(()) => acknowledged += 50,
            Err(error) => break error,
        }
    };
    println!("after {acknowledged}: {first}");
    let second = engine.append(vec![test_record("a", 0, "k", "v")]).await;
    assert!(matches!(first, TopicError::Full(_)), "{first}");
    assert!(matches!(second, Err(TopicError::Full(_))), "{second:?}");
    assert!(matches!(engine.bounds("a").await, Err(TopicError::Full(_))));
    drop(engine);
    std::fs::remove_file(ballast).unwrap();
    let engine = open_with_topics(dir.path(), 0).await;
    let end = engine.bounds("a").await.unwrap()[0].1;
    let there = engine.read("a", 0, 0, usize::MAX).await.unwrap().len();
    assert!(end >= acknowledged && u64::try_from(there).unwrap() == end, "{there} of {end}, {acknowledged}");
    engine.append(vec![test_record("a", 0, "k", "v")]).await.unwrap();
}

#[tokio::test]
async fn what_was_removed_goes_from_the_disk_too() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 1_000).await;
    let many =
        |topic: &str| (0..5_000).map(|n| test_record(topic, 1, &n.to_string(), "v")).collect::<Vec<_>>();
    engine.append([many("a"), many("s")].concat()).await.unwrap();
    engine.remove(&["a".into(), "s".into()]).await.unwrap();
    // Cut off while it sweeps.
    let copy = scratch_dir();
    cut_power(dir.path(), copy.path()).unwrap();
    engine.close();
    for dir in [&dir, &copy] {
        let engine = EmbeddedTopics::open(dir.path(), Clock::still(1_000)).unwrap();
        // A request is answered between the pieces; numbers are never given twice.
        engine
            .declare(&[
                test_spec("a", 4, TopicRetention::Milliseconds(DAY)),
                test_spec("s", 2, TopicRetention::Compacted),
            ])
            .await
            .unwrap();
        engine.append(vec![test_record("a", 1, "k", "1"), test_record("s", 1, "k", "1")]).await.unwrap();
        let left = async {
            while engine.count_on_disk() != (1, 1) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), left).await.expect("only the new records are left");
        assert_eq!(record_values(&engine.read("a", 1, 0, 9).await.unwrap()), ["1"]);
        engine.close();
        let engine = EmbeddedTopics::open(dir.path(), Clock::still(1_000)).unwrap();
        assert_eq!(engine.bounds("s").await.unwrap(), [(0, 0), (0, 1)]);
        assert_eq!(engine.count_on_disk(), (1, 1));
    }
}

#[tokio::test]
async fn nothing_is_removed_from_under_a_member() {
    let dir = scratch_dir();
    let engine = open_with_topics(dir.path(), 1_000).await;
    let member = engine.join(test_membership("g", "a")).await.unwrap();
    let refused = engine.remove(&["s".into(), "a".into()]).await;
    assert!(matches!(&refused, Err(TopicError::Refused(why)) if why.contains("has members")), "{refused:?}");
    assert_eq!(engine.bounds("s").await.unwrap().len(), 4, "none of a call's, or all");
    drop(member);
    engine.remove(&["s".into(), "a".into()]).await.unwrap();
    assert!(engine.bounds("a").await.is_err());
}
