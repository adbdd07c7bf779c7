//! What is kept of persons, and what is meant by records and marks, as data behind one `check`. The whole room is asked in the
//! tests of `console`.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    AudienceMatch, Day, DayRow, Entry, EntryKey, EntryReason, EventKey, KeptFields, Kind, Person, SubjectRef,
    Tenant, UtcMillis, fold::fold_rows, partition::PartitionCount,
};

use crate::{
    facts::TenantPerson,
    read::ChangedDays,
    shelf::PersonShelf,
    shelf_cache::{ReadingRight, ShelfCache, StaleShelf},
};

const COUNT: PartitionCount = PartitionCount::USUAL;

fn person_key(name: &str) -> TenantPerson {
    (Tenant::new("main").unwrap(), Person::new(name).unwrap())
}

fn partition_of(whose: &TenantPerson) -> u32 {
    COUNT.of_person(&whose.0, &whose.1)
}

/// A shelf with so many entries of one day.
fn shelf(read_at: i64, entries: u8) -> Arc<PersonShelf> {
    let row = |number: u8| {
        DayRow::Entry(Entry {
            key: EntryKey { occurred: UtcMillis(i64::from(number)), event: EventKey([number; 16]) },
            reason: EntryReason { kind: Kind::new("told").unwrap(), because: AudienceMatch::Named },
            subject: SubjectRef::new("item:1").unwrap(),
            actor: None,
            kept: KeptFields::new(),
        })
    };
    let rows: Vec<DayRow> = (0..entries).map(row).collect();
    let days = BTreeMap::from([(Day(0), Arc::new(fold_rows(&rows)))]);
    Arc::new(PersonShelf::new(read_at, days, Arc::default()))
}

fn days(of: &[i32]) -> ChangedDays {
    ChangedDays::Some(of.iter().map(|day| Day(*day)).collect())
}

fn right(cache: &ShelfCache, whose: &TenantPerson) -> ReadingRight {
    cache.find_right(whose, partition_of(whose)).unwrap()
}

/// Reads a person, with what changes meanwhile; which days were stale, all if nothing is said.
fn read(
    cache: &ShelfCache,
    whose: &TenantPerson,
    read_at: i64,
    meanwhile: &[ChangedDays],
) -> Option<Vec<i32>> {
    let right = right(cache, whose);
    let StaleShelf { shelf: kept, days } = cache.begin_reading(whose, &right, 0).unwrap();
    meanwhile.iter().for_each(|changed| cache.note_change(whose, changed));
    cache.keep(whose, &right, &shelf(read_at, 1));
    kept.map(|_| days.iter().map(|day| day.0).collect())
}

#[test]
fn what_is_kept_is_what_would_be_read_now() {
    let (cache, ann) = (ShelfCache::default(), person_key("ann"));
    assert!(cache.find_right(&ann, partition_of(&ann)).is_none(), "nobody reads what changes");
    cache.cover(partition_of(&ann));
    let is_kept = |oldest: i64| cache.find(&ann, oldest).is_some();
    assert!(!is_kept(0));
    assert_eq!(read(&cache, &ann, 10, &[]), None);
    assert!(is_kept(10) && !is_kept(11), "it is not believed for ever");
    // That all was read is no row: notes are asked each time.
    cache.note_change(&ann, &ChangedDays::None);
    assert!(is_kept(0));
    cache.note_change(&ann, &days(&[3]));
    cache.note_change(&ann, &days(&[1, 3]));
    assert!(!is_kept(0));
    assert_eq!(read(&cache, &ann, 20, &[]), Some(vec![1, 3]));
    assert!(is_kept(0));
    // What changes while it is read may not be in it.
    cache.note_change(&ann, &days(&[4]));
    assert_eq!(read(&cache, &ann, 30, &[days(&[4])]), Some(vec![4]));
    assert!(!is_kept(0));
    assert_eq!(read(&cache, &ann, 40, &[ChangedDays::All]), Some(vec![4]));
    assert_eq!(read(&cache, &ann, 50, &[]), None, "all of it changed");
    // Who begins and never ends leaves nothing behind that could be wrong.
    cache.note_change(&ann, &days(&[5]));
    let _gave_up = cache.begin_reading(&ann, &right(&cache, &ann), 0).unwrap();
    assert!(!is_kept(0));
    assert_eq!(read(&cache, &ann, 60, &[]), None);
    assert!(is_kept(0));
}

#[test]
fn a_partition_that_is_let_go_of_takes_its_persons_along() {
    let (cache, ann, bob) = (ShelfCache::default(), person_key("ann"), person_key("bob"));
    assert_ne!(partition_of(&ann), partition_of(&bob));
    for who in [&ann, &bob] {
        cache.cover(partition_of(who));
        read(&cache, who, 1, &[]);
    }
    // Ann is being read while her partition goes and comes back: what was read before may lack what came between.
    let before = right(&cache, &ann);
    cache.begin_reading(&ann, &before, 0).unwrap();
    cache.uncover(partition_of(&ann), COUNT);
    assert!(cache.find_right(&ann, partition_of(&ann)).is_none());
    cache.cover(partition_of(&ann));
    let _after = right(&cache, &ann);
    cache.keep(&ann, &before, &shelf(2, 1));
    assert!(cache.find(&ann, 0).is_none() && cache.find(&bob, 0).is_some());
    assert!(cache.begin_reading(&ann, &before, 0).is_none());
}

#[test]
fn a_full_cache_forgets_whom_nobody_asks_for() {
    let cache = ShelfCache::default();
    (0..COUNT.count()).for_each(|partition| cache.cover(partition));
    let person = |number: usize| person_key(&format!("p{number}"));
    let one = shelf(1, 200);
    let room = crate::config::SHELVES_BYTES_MAX / one.bytes();
    for number in 0..=room {
        let whose = person(number);
        let right = right(&cache, &whose);
        cache.begin_reading(&whose, &right, 0).unwrap();
        cache.keep(&whose, &right, &one);
        // Somebody asks for the first one all the time.
        assert!(cache.find(&person(0), 0).is_some(), "{number}");
    }
    let kept = (0..=room).filter(|number| cache.find(&person(*number), 0).is_some()).count();
    assert!((room * 2 / 3..room).contains(&kept), "{kept} of {room}");
    assert!(cache.find(&person(1), 0).is_none() && cache.find(&person(room), 0).is_some());
}
