//! Tests of the embedded store alone: its codec, its chores, its figures.

use std::sync::Arc;

use model::{
    Because, Cell, Channel, Day, Entry, EntryKey, EventKey, Kind, Mark, Millis, Person, Place, ReadyId,
    Reason, Row, SubjectRef, Tenant, Value, What, Why,
    entry::DayKey,
    limits::{DAY_LIFE_MS, DAY_MS},
};
use proptest::prelude::*;
use runtime::clock::Stopwatch;

use super::{engine::Table, *};
use crate::port::{Answers as _, Claim, Claimed, DayRows, Days as _, Journal as _, Record, Recorded};

const NOW: Millis = Millis(1_795_000_000_000);

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

fn name() -> impl Strategy<Value = String> {
    "[^\\p{Cc}\\p{Z}]{1,30}".prop_filter("a name", |name| Person::new(name).is_ok())
}

fn subject() -> impl Strategy<Value = SubjectRef> {
    (name(), name()).prop_filter_map("a subject", |(kind, id)| {
        SubjectRef::new(&format!("{}:{id}", kind.replace(':', "x"))).ok()
    })
}

fn entry_key() -> impl Strategy<Value = EntryKey> {
    (any::<i64>(), any::<[u8; 16]>())
        .prop_map(|(at, event)| EntryKey { occurred: Millis(at), event: EventKey(event) })
}

fn any_row() -> impl Strategy<Value = Row> {
    let entry = (entry_key(), name(), subject(), subject()).prop_map(|(key, kind, target, subject)| {
        let reason = Reason { kind: Kind::new(&kind).unwrap(), because: Because::Follows(target) };
        Row::Entry(Entry { key, reason, subject })
    });
    let what = (0..7_u8, any::<[u8; 16]>(), proptest::sample::select(Why::ALL.to_vec()), any::<bool>());
    let what = what.prop_map(|(n, ready, why, maybe)| match (n, ReadyId(ready)) {
        (0, ready) => What::Taken(ready),
        (1, ready) => What::Returned { ready, maybe },
        (2, ready) => What::Left { ready, why },
        (3, _) => What::Ended(why),
        (4, ready) => What::Carried(ready),
        (5, _) => What::Read,
        _ => What::Cleared,
    });
    let channel = proptest::option::of(proptest::sample::select(Channel::ALL.to_vec()));
    let mark = (channel, what, proptest::collection::vec(entry_key(), 0..20), any::<i64>())
        .prop_map(|(channel, what, covers, at)| Row::Mark(Mark::new(channel, what, covers, Millis(at))));
    prop_oneof![entry, mark]
}

fn any_cell() -> impl Strategy<Value = Cell> {
    let value = prop_oneof![
        any::<String>().prop_map(|text| Value::text(&text)),
        any::<f64>().prop_map(Value::Number),
        any::<bool>().prop_map(Value::Flag),
        any::<i64>().prop_map(|at| Value::Time(Millis(at))),
        subject().prop_map(Value::Ref),
        proptest::collection::vec(subject(), 0..5).prop_map(Value::Refs),
        (any::<f64>(), any::<f64>()).prop_map(|(lat, lon)| Value::Place(Place { lat, lon })),
    ];
    (any::<i64>(), proptest::option::of(value)).prop_map(|(version, value)| Cell { version, value })
}

fn claim_of(ready: [u8; 16], attempt: u16, token: [u8; 16], at: i64, told: Vec<EntryKey>) -> Claim {
    Claim { ready: ReadyId(ready), attempt, token, at: Millis(at), deadline: Millis(!at), told }
}

proptest! {
    #[test]
    fn rows_survive_their_codec(row in any_row(), other in any_row(), prefix in any::<[u8; 3]>()) {
        let (key, value) = rows::row(&prefix, &row).unwrap();
        prop_assert_eq!(&rows::row_back(&key[3..], &value).unwrap(), &row);
        // Other rows have other keys, unless only their subjects differ, which no event has.
        let (other_key, _) = rows::row(&prefix, &other).unwrap();
        prop_assert_eq!(key == other_key, row == other);
    }

    #[test]
    fn cells_survive_their_codec(cell in any_cell()) {
        prop_assert_eq!(codec::cell_back(&codec::cell(&cell).unwrap()).unwrap(), cell);
    }

    #[test]
    fn the_journal_survives_its_codec(
        ready in any::<[u8; 16]>(), token in any::<[u8; 16]>(), attempt in any::<u16>(), at in any::<i64>(),
        keys in proptest::collection::vec(entry_key(), 0..9), answer in any::<Vec<u8>>(),
    ) {
        let claim = claim_of(ready, attempt, token, at, keys.clone());
        let bytes = codec::claim(&claim).unwrap();
        prop_assert_eq!(codec::at(&bytes), Some(Millis(at)));
        prop_assert_eq!(codec::claim_back(claim.ready, attempt, &bytes).unwrap(), claim);
        let left: Vec<_> = keys.into_iter().zip(Why::ALL).collect();
        let record = Record { ready: ReadyId(ready), attempt, at: Millis(at), what: Recorded::Unknown, left };
        let bytes = codec::record(&record).unwrap();
        prop_assert_eq!(codec::at(&bytes), Some(Millis(at)));
        prop_assert_eq!(codec::record_back(record.ready, attempt, &bytes).unwrap(), record);
        let bytes = codec::answer(Millis(at), &answer).unwrap();
        prop_assert_eq!(codec::at(&bytes), Some(Millis(at)));
        prop_assert_eq!(codec::answer_back(&bytes).unwrap(), (Millis(at), answer));
    }

    /// Bytes of any kind, and good ones with one byte changed or cut short, are read or refused.
    #[test]
    fn no_stored_bytes_panic(
        bytes in any::<Vec<u8>>(), key in any::<Vec<u8>>(), row in any_row(), cell in any_cell(),
        at in any::<prop::sample::Index>(), to in any::<u8>(),
    ) {
        let read_all = |key: &[u8], bytes: &[u8]| {
            drop(rows::row_back(key, bytes));
            drop(codec::cell_back(bytes));
            drop(codec::follow_back(bytes));
            drop(codec::claim_back(ReadyId([0; 16]), 0, bytes));
            drop(codec::record_back(ReadyId([0; 16]), 0, bytes));
            drop(codec::answer_back(bytes));
            codec::at(bytes);
        };
        read_all(&key, &bytes);
        let versioned = [&[1_u8][..], &bytes].concat();
        for tag in 0..3 {
            read_all(&[&[tag][..], &key].concat(), &versioned);
        }
        let (key, value) = rows::row(&[], &row).unwrap();
        for mut good in [value, codec::cell(&cell).unwrap()] {
            let at = at.index(good.len());
            prop_assert!(rows::row_back(&key, &good[..at]).is_err());
            good[at] = to;
            read_all(&key, &good);
        }
    }
}

fn rows(person: usize, rows: usize) -> DayRows {
    let person = Person::new(&format!("person-{person}")).unwrap();
    let key = DayKey { tenant: tenant(), person, day: Day::of(NOW) };
    let row = |n: usize| {
        let subject = SubjectRef::new(&format!("work:{n}")).unwrap();
        let because = Because::Follows(SubjectRef::new("author:7").unwrap());
        let reason = Reason { kind: Kind::new("work_published").unwrap(), because };
        let key = EntryKey {
            occurred: NOW.plus(n as i64),
            event: EventKey::of(&tenant(), "source", &n.to_string()),
        };
        Row::Entry(Entry { key, reason, subject })
    };
    DayRows { key, rows: (0..rows).map(row).collect() }
}

fn count(engine: &Engine, table: Table) -> usize {
    engine.table(table).len().unwrap()
}

#[tokio::test]
async fn what_has_served_its_time_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open_restless(dir.path()).unwrap();
    let claim = claim_of([1; 16], 0, [1; 16], NOW.0, Vec::new());
    assert_eq!(store.claim(&tenant(), claim.clone()).await.unwrap(), Claimed::Yours);
    let record =
        Record { ready: claim.ready, attempt: 0, at: NOW.plus(5), what: Recorded::Sent, left: Vec::new() };
    store.record(&tenant(), record).await.unwrap();
    store.answer(&tenant(), "key", vec![1], NOW).await.unwrap();
    // A later time at which somebody calls, and how many rows of journal and answers are there after that.
    let life = DAY_LIFE_MS;
    let left = [(DAY_MS - 1, 2, 2), (DAY_MS, 2, 2), (life - 1, 2, 1), (life, 1, 2), (life + 5, 0, 3)];
    for (later, journal, answers) in left {
        store.answer(&tenant(), &format!("later {later}"), vec![1], NOW.plus(later)).await.unwrap();
        // Chores come between two groups, so the next group ends after them.
        store.writer.run(1, |_| Ok(())).await.unwrap();
        let found = (count(&store.engine, Table::Journal), count(&store.engine, Table::Answers));
        assert_eq!(found, (journal, answers), "after {later} ms");
    }
    let other = claim_of([1; 16], 0, [2; 16], NOW.plus(life).0, Vec::new());
    assert_eq!(store.claim(&tenant(), other).await.unwrap(), Claimed::Yours);
}

#[tokio::test]
async fn a_directory_of_another_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Embedded::open(dir.path()).unwrap());
    let db = fjall::Database::builder(dir.path().join("data")).open().unwrap();
    let meta = db.keyspace("meta", fjall::KeyspaceCreateOptions::default).unwrap();
    meta.insert("format", "2").unwrap();
    drop((meta, db));
    let error = Embedded::open(dir.path()).unwrap_err().to_string();
    assert_eq!(error, "the store is broken: the directory has format 2, this release reads 1");
}

#[tokio::test]
async fn a_request_that_cannot_be_decided_takes_nothing_else_along() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Embedded::open(dir.path()).unwrap());
    let put = |key: &'static str, value: &'static str, fails: bool| {
        let store = store.clone();
        async move {
            let decide = move |stage: &mut writer::Stage| {
                let before = stage.with(Table::Answers, key.as_bytes(), |bytes| Ok(bytes.to_vec()))?;
                stage.put(Table::Answers, key.into(), value.into());
                stage.put(Table::Answers, b"last".to_vec(), value.into());
                if fails { Err(StoreError::Broken("on purpose".into())) } else { Ok(before) }
            };
            store.writer.run(1, decide).await
        }
    };
    let (one, two, three, four) =
        futures::join!(put("a", "1", false), put("a", "2", true), put("b", "3", true), put("a", "4", false));
    assert!(two.is_err() && three.is_err());
    assert_eq!((one.unwrap(), four.unwrap()), (None, Some(b"1".to_vec())));
    let now = |key| store.engine.table(Table::Answers).get(key).unwrap().map(|value| value.to_vec());
    assert_eq!((now("a"), now("b"), now("last")), (Some(b"4".to_vec()), None, Some(b"4".to_vec())));
}

/// The figures are printed; the bounds are ten times what an idle machine shows, since CI is not idle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures() {
    let dir = tempfile::tempdir().unwrap();
    let watch = Stopwatch::start();
    let store = Embedded::open(dir.path()).unwrap();
    println!("a new store: {:?}", watch.elapsed());
    for round in 0..4 {
        let many: Vec<DayRows> = (0..12_000).map(|person| rows(person + round * 12_000, 1)).collect();
        let watch = Stopwatch::start();
        store.write(many, NOW).await.unwrap();
        println!("12,000 days of one row, one write: {:?}", watch.elapsed());
        assert!(watch.elapsed() < Duration::from_secs(2));
    }
    let watch = Stopwatch::start();
    for person in 0..100 {
        store.write(vec![rows(person, 1)], NOW).await.unwrap();
    }
    println!("a write of a row, one after the other: {:?}", watch.elapsed() / 100);
    let watch = Stopwatch::start();
    let many = (0..1_000).map(|person| store.write(vec![rows(person, 1)], NOW));
    futures::future::try_join_all(many).await.unwrap();
    println!("1,000 writes of a row at once: {:?}", watch.elapsed());
    let keys: Vec<DayKey> = (0..1_000).map(|person| rows(person * 7, 0).key).collect();
    for _ in 0..3 {
        let watch = Stopwatch::start();
        let read = store.read(&keys, NOW).await.unwrap();
        println!("1,000 days read: {:?}", watch.elapsed());
        assert!(watch.elapsed() < Duration::from_secs(1));
        assert!(read.iter().all(|rows| rows.len() == 1));
    }
    let watch = Stopwatch::start();
    drop(store);
    println!("closed: {:?}", watch.elapsed());
    let watch = Stopwatch::start();
    let store = Embedded::open(dir.path()).unwrap();
    println!("opened again, 49,100 rows in the log: {:?}", watch.elapsed());
    let watch = Stopwatch::start();
    assert_eq!(store.drop_before(Day::of(NOW).plus(1)).await.unwrap(), 1);
    println!("a day dropped: {:?}", watch.elapsed());
}
