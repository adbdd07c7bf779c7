//! Tests of the embedded store alone: what it promises beyond the port, and its figures.

use std::time::Duration;

use model::{Because, Entry, EntryKey, EventKey, Kind, Millis, Person, Reason, Row, SubjectRef, Tenant, entry::DayKey};
use runtime::clock::Stopwatch;

use super::*;
use crate::port::{DayRows, Days as _};

const NOW: Millis = Millis(1_795_000_000_000);

fn rows(person: usize, rows: usize) -> DayRows {
    let tenant = Tenant::new("main").unwrap();
    let key = DayKey { tenant: tenant.clone(), person: Person::new(&format!("person-{person}")).unwrap(), day: model::Day::of(NOW) };
    let row = |n: usize| {
        let subject = SubjectRef::new(&format!("work:{n}")).unwrap();
        let because = Because::Follows(SubjectRef::new("artist:7").unwrap());
        let reason = Reason { kind: Kind::new("artwork_published").unwrap(), because };
        let key = EntryKey { occurred: NOW.plus(n as i64), event: EventKey::of(&tenant, "source", &n.to_string()) };
        Row::Entry(Entry { key, reason, subject })
    };
    DayRows { key, rows: (0..rows).map(row).collect() }
}

#[tokio::test]
async fn figures() {
    let dir = tempfile::tempdir().unwrap();
    let watch = Stopwatch::start();
    let store = Embedded::open(dir.path()).unwrap();
    println!("open new {:?}", watch.elapsed());
    for round in 0..4 {
        let many: Vec<DayRows> = (0..12_000).map(|person| rows(person + round * 12_000, 1)).collect();
        let watch = Stopwatch::start();
        store.write(many, NOW).await.unwrap();
        println!("12,000 days of a row {:?}", watch.elapsed());
    }
    let watch = Stopwatch::start();
    for person in 0..100 {
        store.write(vec![rows(person, 1)], NOW).await.unwrap();
    }
    println!("100 writes of a row {:?}", watch.elapsed());
    let keys: Vec<DayKey> = (0..1_000).map(|person| rows(person * 7, 0).key).collect();
    for _ in 0..3 {
        let watch = Stopwatch::start();
        let read = store.read(&keys, NOW).await.unwrap();
        println!("1,000 days read {:?}", watch.elapsed());
        assert!(read.iter().all(|rows| rows.len() == 1));
    }
    let watch = Stopwatch::start();
    drop(store);
    println!("close {:?}", watch.elapsed());
    let watch = Stopwatch::start();
    let store = Embedded::open_with(dir.path(), Duration::from_secs(1)).unwrap();
    println!("reopen {:?}", watch.elapsed());
    assert_eq!(store.read(&keys, NOW).await.unwrap().len(), 1_000);
}
