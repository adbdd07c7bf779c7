//! Tests of the room: who is told of what, and that neither the size of an audience nor a crash changes it.

mod editions;
mod house;
mod replays;
mod shares;
mod watched_engines;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::Ordering,
};

use model::{
    AudienceMatch, Crowd, Day, DayRow, EntryReason, Event, EventKey, GeoPoint, Kind, Person, PersonScore,
    Slice, Value, VersionedState,
    limits::{DAY_MS, SLICE_PERSONS_MAX},
    partition::PartitionCount,
    person::notes,
};
use proptest::prelude::*;
use room::testing::{person, subject, tenant};
use runtime::clock::SteadyStopwatch;
use store::{CrowdMembers, StateKey, StateStore as _};
use topic::{NewRecord, Topics as _};
use wire::topics;

use crate::{
    config::{CROWDS_AT_ONCE, CROWDS_OF_SLICE_MAX, GROUP},
    decide, reach,
    read::FanoutItem,
    recipient_sheet::{FanoutEntry, RecipientSheet, ResolvedSheet},
    search::{CrowdSearch, PartSizes},
};
use house::{FanoutHouse, TODAY, catalogue, parse_event, parse_place};

const EVERYBODY: [&str; 5] = ["ann", "bob", "cat", "dan", "eve"];

/// Publishes into a house with these facts, twice, and compares what lies in the days; and that it is the
/// same if all goes by slices of one person.
async fn check_told(facts: &[&str], events: &[&str], expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
    let events: Vec<Event> = events.iter().map(|text| parse_event(text)).collect();
    for house in [FanoutHouse::new().await, FanoutHouse::with_sizes(0, 1).await] {
        house.store_facts(facts).await;
        for round in 0..2 {
            house.publish(&events).await;
            house.settle().await;
            let told = house.told_lines(&EVERYBODY, TODAY).await;
            assert_eq!(told, expected, "{facts:?} {events:?} round {round}, {:?}", house.sizes);
        }
        assert!(house.records(topics::QUARANTINE).await.is_empty());
        assert_eq!(house.watch.early.load(Ordering::SeqCst), 0, "announced before it was stored");
        // A row that was left behind is ended when it is found; until then who is near is announced twice.
        let announced: u64 = house.announcements().await.iter().map(|one| u64::from(one.rows)).sum();
        let left = facts.iter().filter(|fact| fact.contains(" was ")).count() as u64;
        let once = 2 * expected.len() as u64;
        assert!((once..=once + left).contains(&announced), "{facts:?}: {announced}");
    }
}

#[tokio::test]
async fn followers_are_told_once_for_each_reason() {
    check_told(&[], &["1 by author:7"], &[]).await;
    check_told(
        &["ann author:7", "bob author:7", "cat author:8", "-bob author:7"],
        &["1 by author:7"],
        &["ann work:1 work_out follows author:7"],
    )
    .await;
    // Two reasons of one person are two rows; two fields that name the same subject are one reason.
    check_told(
        &["ann author:7", "ann house:3", "ann work:1", "bob house:3"],
        &["1 by author:7 in house:3", "2 by house:3 in house:3"],
        &[
            "ann work:1 work_out follows author:7",
            "ann work:1 work_out follows house:3",
            "ann work:1 work_seen follows work:1",
            "ann work:2 work_out follows house:3",
            "bob work:1 work_out follows house:3",
            "bob work:2 work_out follows house:3",
        ],
    )
    .await;
}

#[tokio::test]
async fn nobody_is_told_of_their_own_doing_unless_the_kind_says_so() {
    check_told(
        &["ann author:7", "bob author:7", "ann is", "bob is"],
        &["1 by author:7 from ann", "2 by author:7", "3 rated by author:7 from ann", "4 opened from bob"],
        &[
            "ann work:2 work_out follows author:7",
            "bob work:1 work_out follows author:7",
            "bob work:2 work_out follows author:7",
            "ann work:3 told_all follows author:7",
            "bob work:3 told_all follows author:7",
            "ann work:4 news everyone",
        ],
    )
    .await;
}

#[tokio::test]
async fn who_is_near_is_told_and_nobody_else() {
    let near = |who: &str, kind: &str| format!("{who} work:1 {kind} near");
    let check = async |facts: &[&str], middle: &str, in_town: &[&str], next_door: &[&str]| {
        let lines: Vec<String> = in_town
            .iter()
            .map(|who| near(who, "in_town"))
            .chain(next_door.iter().map(|who| near(who, "next_door")))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        check_told(facts, &[&format!("1 shown at {middle}")], &lines).await;
    };
    // Ann around the corner, Bob across the town, Cat just outside, Dan far away, Eve nowhere.
    check(
        &["ann at 52.52,13.41", "bob at 52.40,13.05", "cat at 52.90,13.40", "dan at 48.1,11.6", "eve is"],
        "52.52,13.40",
        &["ann", "bob"],
        &["ann"],
    )
    .await;
    // A row that was left behind tells nobody, and who moved within the circle is told once.
    check(
        &[
            "ann was 52.52,13.40",
            "ann at 48.1,11.6",
            "bob was 52.52,13.40",
            "bob at 52.60,13.40",
            "cat was 52.52,13.40",
        ],
        "52.52,13.40",
        &["bob"],
        &[],
    )
    .await;
    // The date line and the pole are places like others.
    check(&["ann at 0.0,179.99", "bob at 0.0,-179.9"], "0.0,-179.995", &["ann", "bob"], &["ann"]).await;
    check(
        &["ann at 89.99,0.0", "bob at 89.8,180.0", "cat at 89.0,0.0"],
        "90.0,0.0",
        &["ann", "bob"],
        &["ann"],
    )
    .await;
    check(&["ann at 52.5,13.4"], "52.5,13.4 from ann", &[], &[]).await;
}

#[tokio::test]
async fn whom_an_event_names_is_told() {
    check_told(
        &[],
        &["1 sold owner ann", "2 sold", "3 sold owner bob from bob", "4 sold owner "],
        &["ann work:1 yours named"],
    )
    .await;
    // Both parties, also who did it; who has no other party is told nothing.
    check_told(
        &[],
        &["1 met owner ann guest bob from ann", "2 met owner cat", "3 met owner dan guest dan"],
        &["ann work:1 met with bob", "bob work:1 met with ann"],
    )
    .await;
    check_told(
        &["dan author:7"],
        &["1 picked from cat lists ann=0.5 bob cat=0.9", "2 by author:7 lists ann", "3 picked"],
        &[
            "ann work:1 picked listed with 0.5",
            "bob work:1 picked listed",
            "dan work:2 work_out follows author:7",
        ],
    )
    .await;
    check_told(
        &["ann is", "bob is", "cat is", "-cat is", "dan author:7"],
        &["1 opened"],
        &["ann work:1 news everyone", "bob work:1 news everyone"],
    )
    .await;
}

#[tokio::test]
async fn what_an_event_does_not_state_is_known_of_its_subject() {
    let house = FanoutHouse::with_sizes(0, 1).await;
    house
        .store_facts(&["ann author:7", "bob house:3", "cat author:8", "dan at 52.5,13.4", "eve at 10.0,10.0"])
        .await;
    let stored = |fields: Vec<(&'static str, Value)>| {
        VersionedState::from_values(1, fields.into_iter().map(|(name, value)| (name, Some(value))))
    };
    let works = [
        (
            "work:1",
            vec![("author", Value::Ref(subject("author:7"))), ("house", Value::Ref(subject("house:3")))],
        ),
        (
            "work:2",
            vec![("place", Value::Place(parse_place("52.5,13.4"))), ("owner", Value::from_text("eve"))],
        ),
    ];
    for (work, fields) in works {
        house.store.merge(vec![(StateKey::Subject(tenant(), subject(work)), stored(fields))]).await.unwrap();
    }
    let stated = parse_event("1 by author:8");
    // What it states to be gone is gone, whatever is stored.
    let mut gone = Event { key: EventKey([1; 16]), ..stated.clone() };
    gone.state = VersionedState::from_values(2, [("author", None::<Value>), ("house", None)]);
    let away = parse_event("2 shown at 10.0,10.0");
    house.publish(&[stated, gone, parse_event("2 shown"), parse_event("2 sold")]).await;
    house.settle().await;
    let mut expected: BTreeSet<String> = [
        "bob work:1 work_out follows house:3",
        "cat work:1 work_out follows author:8",
        "dan work:2 in_town near",
        "dan work:2 next_door near",
        "eve work:2 yours named",
    ]
    .map(str::to_owned)
    .into();
    assert_eq!(house.told_lines(&EVERYBODY, TODAY).await, expected);
    // Where it was when it was stated counts, not where it is stored to be.
    house.publish(&[away]).await;
    house.settle().await;
    expected.extend(["eve work:2 in_town near", "eve work:2 next_door near"].map(str::to_owned));
    assert_eq!(house.told_lines(&EVERYBODY, TODAY).await, expected);
}

#[tokio::test]
async fn announcements_say_whose_days_have_rows() {
    let house = FanoutHouse::new().await;
    house.store_facts(&["ann author:7", "ann house:3", "bob author:7"]).await;
    house
        .publish(&[
            parse_event("1 by author:7 in house:3"),
            parse_event("2 by author:7 on 2026-11-20T23:59:59Z"),
        ])
        .await;
    house.settle().await;
    let mut rows = [0_u32; 2];
    for announcement in house.announcements().await {
        assert!(!announcement.full);
        assert_eq!(announcement.kinds.iter().map(ToString::to_string).collect::<Vec<_>>(), ["work_out"]);
        assert!(["2026-11-20", TODAY].contains(&announcement.day.to_string().as_str()));
        rows[usize::from(announcement.person == person("bob"))] += announcement.rows;
    }
    assert_eq!(rows, [3, 2]);
    assert_eq!(house.told_lines(&["ann"], "2026-11-20").await.len(), 1);
}

#[tokio::test]
async fn a_full_day_is_only_counted_and_the_erased_are_passed_over() {
    let today = Day::parse(TODAY).unwrap();
    for house in [FanoutHouse::new().await, FanoutHouse::with_sizes(1, 2).await] {
        house.store_facts(&["ann author:7", "bob author:7", "cat author:7", "dan author:7"]).await;
        house.merge_notes("ann", notes::note_full_day(today)).await;
        house.merge_notes("bob", notes::note_full_day(today.plus(-1))).await;
        house.set_note("cat", notes::ERASED, Value::Flag(true)).await;
        house.set_note("dan", notes::ERASED, Value::Flag(false)).await;
        // What comes from outside says nothing of the kind.
        house.set_profile("bob", notes::ERASED, Value::Flag(true)).await;
        house.publish(&[parse_event("1 by author:7")]).await;
        house.settle().await;
        let told = house.told_lines(&EVERYBODY, TODAY).await;
        let expected = ["bob work:1 work_out follows author:7", "dan work:1 work_out follows author:7"];
        assert_eq!(told, expected.map(str::to_owned).into());
        let said: BTreeSet<_> =
            house.announcements().await.into_iter().map(|a| (a.person.to_string(), a.rows, a.full)).collect();
        let expected =
            [("ann", true), ("bob", false), ("dan", false)].map(|(name, full)| (name.to_owned(), 1, full));
        assert_eq!(said, expected.into());
    }
}

#[tokio::test]
async fn expired_and_undecodable_records_do_not_stop_the_partition() {
    let house = FanoutHouse::new().await;
    house.store_facts(&["ann author:7"]).await;
    let partition = PartitionCount::USUAL.of_subject(&tenant(), &subject("work:1"));
    let record = |topic: &str, value: Option<Vec<u8>>| NewRecord {
        topic: topic.into(),
        partition,
        key: Vec::new(),
        value,
        headers: Vec::new(),
    };
    let slice = |text: &str| Slice {
        event: parse_event(text),
        kinds: vec![Kind::new("work_out").unwrap(), Kind::new("gone").unwrap(), Kind::new("news").unwrap()],
        kept: model::KeptFields::new(),
        crowds: vec![
            Crowd::Everyone,
            Crowd::Followers(subject("author:7")),
            Crowd::Cell(parse_place("52.5,13.4").cells()[0]),
        ],
        from: None,
    };
    house.publish(&[parse_event("1 by author:7 on 2026-10-31T23:59:59Z")]).await;
    let mut log = Vec::new();
    for topic in [topics::EVENTS, topics::SLICES] {
        log.extend([record(topic, Some(b"no record".to_vec())), record(topic, Some(Vec::new()))]);
    }
    // Slices of a day that has expired, and of kinds that are gone or told to others by now.
    for text in ["5 on 2026-10-31T23:59:59Z", "6"] {
        log.push(record(topics::SLICES, Some(wire::slice::encode(&slice(text)).unwrap())));
    }
    house.topics.append(log).await.unwrap();
    let mut other = parse_event("1 by author:7");
    other.what = "work.unheard".to_owned();
    let mut odd = parse_event("1");
    odd.subject = subject("author:1");
    house.publish(&[other, odd, parse_event("1 by author:7")]).await;
    house.settle().await;
    let expected = ["ann work:1 work_out follows author:7", "ann work:6 work_out follows author:7"];
    assert_eq!(house.told_lines(&EVERYBODY, TODAY).await, expected.map(str::to_owned).into());
    assert!(house.told_lines(&EVERYBODY, "2026-10-31").await.is_empty());
    let aside = house.records(topics::QUARANTINE).await;
    let aside: BTreeSet<_> = aside
        .iter()
        .map(|r| wire::quarantine::decode(r.value.as_ref().unwrap()).unwrap())
        .map(|q| (q.topic, q.offset, q.room))
        .collect();
    let expected = [("events", 1), ("events", 2), ("slices", 0), ("slices", 1)];
    assert_eq!(aside, expected.map(|(topic, offset)| (topic.to_owned(), offset, GROUP.to_owned())).into());
}

#[tokio::test]
async fn a_turn_of_many_events_for_the_same_followers_reaches_all() {
    let house = FanoutHouse::new().await;
    house.add_followers(700, "author:7").await;
    let events: Vec<Event> =
        (0..30).map(|n| parse_event(&format!("1 by author:7 on 2026-11-21T10:00:{n:02}Z"))).collect();
    house.publish(&events).await;
    house.settle().await;
    let names: Vec<String> = (0..700).map(|n| format!("p{n}")).collect();
    for (name, rows) in names.iter().zip(house.rows(&names, TODAY).await) {
        assert_eq!(rows.len(), 30, "{name}");
    }
    let announced: u32 = house.announcements().await.iter().map(|a| a.rows).sum();
    assert_eq!(announced, 21_000);
    assert!(house.watch.held_most.load(Ordering::SeqCst) <= SLICE_PERSONS_MAX as i64);
}

#[tokio::test]
async fn who_is_listed_is_told_whole_however_many() {
    let house = FanoutHouse::new().await;
    let names: Vec<String> = (0..5_000).map(|n| format!("p{n}")).collect();
    let list = |number: usize| format!("{number} picked lists {}", names.join(" "));
    house.publish(&[parse_event(&list(1)), parse_event(&list(2)), parse_event("3 picked lists p0")]).await;
    house.settle().await;
    let rows = house.rows(&names, TODAY).await;
    assert_eq!(rows[0].len(), 3);
    assert!(rows[1..].iter().all(|rows| rows.len() == 2));
    let slices = house.slices().await;
    assert!(slices.len() == 2 && slices.iter().all(|slice| slice.event.persons.len() == 5_000));
    let announced: u32 = house.announcements().await.iter().map(|a| a.rows).sum();
    assert_eq!(announced, 10_001);
}

/// Whoever sends long lists does not hold up anybody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_event_overtakes_long_lists() {
    const LISTS: usize = 12;
    let house = FanoutHouse::new().await;
    house.store_facts(&["few0 author:8"]).await;
    *house.watch.awaited.lock().unwrap() = Some((person("few0"), None));
    let names: Vec<String> = (0..5_000).map(|n| format!("p{n}")).collect();
    let lists: Vec<Event> =
        (0..LISTS).map(|number| parse_event(&format!("{number} picked lists {}", names.join(" ")))).collect();
    house.publish(&lists).await;
    house.publish(&[parse_event("99 by author:8")]).await;
    house.settle().await;
    let (_, seen) = house.watch.awaited.lock().unwrap().clone().unwrap();
    let seen = seen.expect("the small event was not announced");
    assert!(seen <= LISTS / 2, "told after {seen} of {LISTS} lists");
    assert!(house.rows(&names, TODAY).await.iter().all(|rows| rows.len() == LISTS));
}

#[tokio::test]
async fn a_clock_far_ahead_expires_nothing_that_lives() {
    let check = async |later: bool, told: usize| {
        let house = FanoutHouse::new().await;
        house.store_facts(&["ann author:7"]).await;
        // As late as it may be, so that its day is over before the log forgets the event.
        house.publish(&[parse_event("1 by author:7 on 2026-11-14T12:30:00Z")]).await;
        house.deps.room.clock.advance(13 * DAY_MS + 14 * 3_600_000);
        if later {
            house.publish(&[parse_event("2 by author:8")]).await;
        }
        house.settle().await;
        let found = house.told_lines(&["ann"], "2026-11-14").await;
        assert_eq!(found.len(), told, "something was said since: {later}");
    };
    check(false, 1).await;
    // The log goes on: it is really so late.
    check(true, 0).await;
}

/// Law 13: an audience of a hundred thousand is told a slice at a time, an event of ten that comes meanwhile is
/// told long before the large one ends, and never is more than a slice in hand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_event_overtakes_a_large_one() {
    const MANY: usize = 100_000;
    let house = FanoutHouse::new().await;
    house.add_followers(MANY, "author:7").await;
    let few: Vec<String> = (0..10).map(|n| format!("few{n}")).collect();
    let follows: Vec<String> = few.iter().map(|name| format!("{name} author:8")).collect();
    house.store_facts(&follows.iter().map(String::as_str).collect::<Vec<_>>()).await;
    *house.watch.awaited.lock().unwrap() = Some((person("few0"), None));
    house.publish(&[parse_event("1 by author:7")]).await;
    // In the middle of it the log is busy: that turn is done again.
    house.watch.busy.store(0, Ordering::SeqCst);
    let watch = SteadyStopwatch::start();
    let publish = async {
        while house.watch.slices.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        house.publish(&[parse_event("2 by author:8")]).await;
    };
    tokio::join!(house.settle(), publish);
    println!("{MANY} followers told in {:?}", watch.elapsed());
    let slices = house.watch.slices.load(Ordering::SeqCst);
    assert!(slices >= MANY.div_ceil(SLICE_PERSONS_MAX));
    let (_, seen) = house.watch.awaited.lock().unwrap().clone().unwrap();
    let seen = seen.expect("the small event was not announced");
    assert!(seen < slices / 2, "told after {seen} of {slices} slices");
    let held = house.watch.held_most.load(Ordering::SeqCst);
    // One slice of the large one, and beside it the small one.
    assert!(held <= (SLICE_PERSONS_MAX + few.len()) as i64, "{held} persons in hand");
    let names: Vec<String> = (0..MANY).map(|n| format!("p{n}")).chain(few).collect();
    for some in names.chunks(5_000) {
        assert!(house.rows(some, TODAY).await.iter().all(|rows| rows.len() == 1));
    }
    let announced: BTreeSet<Person> = house.announcements().await.into_iter().map(|a| a.person).collect();
    assert_eq!(announced.len(), names.len());
    assert_eq!(house.watch.early.load(Ordering::SeqCst), 0, "announced before it was stored");
}

/// Law 13: wherever it dies, it goes on at the slice; nobody is missed, and the walk is not forked.
#[tokio::test]
async fn a_slice_goes_on_after_a_crash_at_each_effect() {
    let house = FanoutHouse::with_sizes(3, 6).await;
    house.watch.page.store(2, Ordering::SeqCst);
    house.add_followers(17, "author:7").await;
    house.add_followers(5, "house:3").await;
    let names: Vec<String> = (0..17).map(|n| format!("p{n}")).collect();
    let mut effects = 0;
    loop {
        // Each time another event, and death one effect later.
        let one = parse_event(&format!("{effects} by author:7 in house:3"));
        house.watch.lives_for(effects);
        house.publish(std::slice::from_ref(&one)).await;
        let lived = house.run_room().await;
        assert_eq!(lived, !house.watch.has_died());
        house.watch.lives_for(i64::MAX);
        house.settle().await;
        for (n, rows) in house.rows(&names, TODAY).await.iter().enumerate() {
            let ours =
                rows.iter().filter(|row| matches!(row, DayRow::Entry(entry) if entry.key == one.entry_key()));
            assert_eq!(ours.count(), if n < 5 { 2 } else { 1 }, "p{n} after {effects} effects");
        }
        let mut places: BTreeMap<(Vec<Crowd>, Option<Vec<u8>>), usize> = BTreeMap::new();
        for slice in house.slices().await.into_iter().filter(|slice| slice.event.key == one.key) {
            *places.entry((slice.crowds, slice.from)).or_default() += 1;
        }
        // An event's own turn may have been done twice, and each walk then goes its own way once.
        assert!(places.len() > 2, "{places:?}");
        assert!(places.values().all(|times| *times <= 2), "forked after {effects} effects: {places:?}");
        assert_eq!(places.values().collect::<BTreeSet<_>>().len(), 1, "after {effects} effects: {places:?}");
        if lived {
            break;
        }
        effects += 1;
    }
    assert!(effects > 30, "it lived after {effects} effects");
    assert_eq!(house.watch.early.load(Ordering::SeqCst), 0, "announced before it was stored");
}

/// A stop in the middle of a turn or between two slices loses nothing.
#[tokio::test]
async fn a_stopped_room_goes_on_where_it_was() {
    let house = FanoutHouse::with_sizes(2, 4).await;
    house.add_followers(200, "author:7").await;
    house.publish(&[parse_event("1 by author:7")]).await;
    for _ in 0..6 {
        let deps = house.restarted_deps();
        let before = house.watch.slices.load(Ordering::SeqCst);
        let stop = async {
            while house.watch.slices.load(Ordering::SeqCst) == before {
                tokio::task::yield_now().await;
            }
            deps.room.shutdown.start();
        };
        let config = crate::Config { records_max: 1, ..crate::Config::default() };
        tokio::join!(crate::run_with(deps.clone(), config, house.sizes), stop).0.unwrap();
    }
    let told = |rows: Vec<Vec<DayRow>>| rows.iter().filter(|rows| rows.len() == 1).count();
    let names: Vec<String> = (0..200).map(|n| format!("p{n}")).collect();
    assert!(told(house.rows(&names, TODAY).await) < names.len(), "it was never stopped in the middle");
    house.settle().await;
    assert_eq!(told(house.rows(&names, TODAY).await), names.len());
}

/// Many cells are asked together, dense ones are not read twice, and not much more is read than is found.
#[tokio::test]
async fn near_reads_little_more_than_it_finds() {
    let house = FanoutHouse::new().await;
    let middle = parse_place("52.5,13.4");
    // Evenly, over two degrees each way.
    let mut dice = 1_u64;
    let mut coordinate = || {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(dice >> 32).unwrap()) / f64::from(u32::MAX)
    };
    let mut within = 0;
    let mut lines = Vec::new();
    for n in 0..6_000 {
        let at = GeoPoint { lat: 51.5 + 2.0 * coordinate(), lon: 12.0 + 2.8 * coordinate() };
        within += usize::from(at.distance_km(middle) <= 40.0);
        lines.push(format!("p{n} at {},{}", at.lat, at.lon));
    }
    house.store_facts(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await;
    house.publish(&[parse_event("1 shown at 52.5,13.4")]).await;
    house.settle().await;
    let names: Vec<String> = (0..6_000).map(|n| format!("p{n}")).collect();
    let rows = house.rows(&names, TODAY).await.into_iter().flatten();
    let in_town =
        rows.filter(|row| matches!(row, DayRow::Entry(entry) if entry.reason.kind.as_str() == "in_town"));
    assert_eq!(in_town.count(), within);
    assert!(within > 600, "{within}");
    let read = house.watch.read.load(Ordering::SeqCst);
    assert!(read < 4 * within, "{read} rows read for {within} persons");
}

#[test]
fn a_slice_names_few_crowds_and_carries_what_it_needs() {
    let refs = |sort: &str| (0..600).map(|n| subject(&format!("{sort}:{n}"))).collect::<Vec<_>>();
    let mut big = parse_event("1 picked lists ann bob");
    big.what = "work.published".to_owned();
    big.state = VersionedState::from_values(
        1,
        [
            ("author", Some(Value::Refs(refs("author")))),
            ("title", Some(Value::from_text(&"x".repeat(4_000)))),
        ],
    );
    let reach = decide::find_reach(&first_time(big), &VersionedState::default(), &catalogue(), 250);
    assert!(reach.named.is_empty());
    let crowds: Vec<usize> = reach.slices.iter().map(|slice| slice.crowds.len()).collect();
    assert_eq!(crowds.iter().sum::<usize>(), 601, "{crowds:?}");
    for slice in &reach.slices {
        assert!(slice.crowds.len() <= CROWDS_OF_SLICE_MAX);
        assert!(slice.event.persons.is_empty() && slice.event.state.is_empty());
        assert!(wire::slice::encode(slice).unwrap().len() < 128 << 10);
    }
    let shown = first_time(parse_event("1 shown at 1.0,2.0 by author:7"));
    let shown = decide::find_reach(&shown, &VersionedState::default(), &catalogue(), 250);
    for slice in &shown.slices {
        assert_eq!(slice.event.state.cells.keys().map(|name| &**name).collect::<Vec<_>>(), ["place"]);
    }
}

fn first_time(event: Event) -> FanoutItem<Event> {
    FanoutItem { what: event, again: None, trace: None }
}

/// Everybody of these crowds once, whatever is asked at once and wherever slices end.
fn walk_slices(
    sizes: &[usize],
    page: usize,
    turns: &[usize],
    (share, most): (usize, usize),
) -> (Vec<(Crowd, usize)>, usize) {
    let crowd = |n: usize| Crowd::Followers(subject(&format!("author:{n}")));
    let crowds = (0..sizes.len()).map(crowd).collect();
    let kinds = vec![Kind::new("a").unwrap()];
    let first = Slice { event: parse_event("1"), kinds, kept: model::KeptFields::new(), crowds, from: None };
    let (mut found, mut read, mut turns) = (Vec::new(), 0, turns.iter().cycle());
    let mut left = vec![first];
    while let Some(slice) = left.pop() {
        let (mut search, mut room) = (CrowdSearch::new(slice), *turns.next().unwrap());
        while room > 0
            && let Some(ask) = search.next_query(room)
        {
            assert!(ask.crowds.len() <= CROWDS_AT_ONCE && ask.share * ask.crowds.len() <= room);
            assert!(ask.from.is_none() || ask.crowds.len() == 1);
            let start = ask.from.map_or(0, |from| usize::from(from[0]));
            let until = ask.from.and_then(|from| from.get(1)).copied();
            let answer = |crowd: &Crowd| {
                let Crowd::Followers(of) = crowd else { panic!() };
                let size =
                    sizes[of.id().parse::<usize>().unwrap()].min(until.map_or(usize::MAX, usize::from));
                let end = size.min(start + ask.share.min(page));
                let persons = (start..end).map(|n| person(&format!("p{n}"))).collect();
                CrowdMembers {
                    persons,
                    next: (end < size).then(|| u8::try_from(end).into_iter().chain(until).collect()),
                }
            };
            let answers: Vec<CrowdMembers> = ask.crowds.iter().map(answer).collect();
            let share = ask.share;
            read += answers.iter().map(|members| members.persons.len()).sum::<usize>();
            for (crowd, persons) in search.take_members(answers, share) {
                room = room.checked_sub(persons.len()).expect("more than there is room for");
                found.extend(persons.into_iter().map(|p| (crowd.clone(), p.as_str()[1..].parse().unwrap())));
            }
        }
        // A place is the first person that was not asked, and behind it the end of a part.
        let places = search.begun(PartSizes { share, most }).map_or(Vec::new(), |(_, cut)| match *cut.from {
            [from] => {
                let step = u8::try_from(share).unwrap();
                let starts: Vec<u8> = (0..=cut.most)
                    .map_while(|n| from.checked_add(step.checked_mul(u8::try_from(n).ok()?)?))
                    .collect();
                let ends = starts[1..].iter().map(|end| vec![*end]).chain([Vec::new()]);
                starts.iter().zip(ends).map(|(start, end)| [vec![*start], end].concat()).collect()
            }
            ref part => vec![part.to_vec()],
        });
        left.extend(search.rest(places, PartSizes { share, most }));
    }
    (found, read)
}

proptest! {
    #[test]
    fn law_13_a_search_finds_everybody_once(
        sizes in prop::collection::vec(prop_oneof![3 => Just(0), 2 => 0..6_usize, 1 => 0..120_usize], 0..60),
        page in 1..50_usize,
        turns in prop::collection::vec(1..80_usize, 1..5),
        parts in (1..40_usize, 1..6_usize),
    ) {
        let (found, read) = walk_slices(&sizes, page, &turns, parts);
        let once: BTreeSet<_> = found.iter().cloned().collect();
        prop_assert_eq!(once.len(), found.len(), "somebody was found twice");
        prop_assert_eq!(found.len(), sizes.iter().sum::<usize>());
        prop_assert!(read >= found.len());
    }

    /// Laws 1 and 13: however an audience is cut, the same rows come of it, and as many are announced as are
    /// written.
    #[test]
    fn law_1_rows_do_not_depend_on_the_sheets(
        told in prop::collection::vec((0..4_usize, 0..3_usize), 1..8),
        persons in prop::collection::btree_set(0..40_u8, 1..30),
        cuts in prop::collection::vec(1..30_usize, 0..6),
        actor in 0..40_u8,
    ) {
        let mut events: Vec<Event> = (0..4).map(|n| parse_event(&format!("{n} by author:7"))).collect();
        events[0].actor = Some(person(&format!("p{actor}")).into());
        let because = [AudienceMatch::Everyone, AudienceMatch::Listed(PersonScore(7)), AudienceMatch::Follows(subject("author:7"))];
        let way = |(of, why): &(usize, usize)| {
            let reason = EntryReason { kind: Kind::new("work_out").unwrap(), because: because[*why].clone() };
            let (event, catalogue) = (&events[*of], catalogue());
            let told_to = &catalogue.kinds[&reason.kind];
            let way = reach::build_entry((event, &model::KeptFields::new()), None, told_to, reason.because.clone(), &catalogue);
            assert_eq!(way.entry.reason, reason);
            way
        };
        let ways: Vec<FanoutEntry> = told.iter().map(way).collect();
        let persons: Vec<Person> = persons.into_iter().map(|n| person(&format!("p{n}"))).collect();
        let rows_of = |parts: Vec<Vec<Person>>, together: bool| {
            let mut sheets = vec![RecipientSheet::default()];
            for part in parts {
                for way in &ways {
                    sheets.last_mut().unwrap().add(way.clone(), part.clone());
                    if !together {
                        sheets.push(RecipientSheet::default());
                    }
                }
            }
            if together {
                let rest = sheets.split_off(1);
                rest.into_iter().for_each(|sheet| sheets[0].append(sheet));
            }
            sheets.into_iter().flat_map(resolve_rows).collect::<BTreeSet<_>>()
        };
        let whole = rows_of(vec![persons.clone()], true);
        let mut rest = persons.as_slice();
        let mut parts = Vec::new();
        for cut in cuts {
            let (part, left) = rest.split_at(cut.min(rest.len()));
            parts.push(part.to_vec());
            rest = left;
        }
        parts.push(rest.to_vec());
        prop_assert_eq!(&rows_of(parts.clone(), true), &whole);
        prop_assert_eq!(&rows_of(parts, false), &whole);
        prop_assert!(whole.iter().all(|(who, _)| *who != person("p7")), "the erased are told nothing");
        let expected = told.iter().collect::<BTreeSet<_>>().len() * persons.iter().filter(|p| **p != person("p7")).count();
        prop_assert!(whole.len() <= expected && whole.len() + 3 * told.len() >= expected);
    }
}

/// The rows of a sheet, where p7 is erased.
fn resolve_rows(mut sheet: RecipientSheet) -> Vec<(Person, DayRow)> {
    let erased = VersionedState::from_values(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    let note = |key: StateKey| {
        let erased_one = StateKey::Notes(tenant(), person("p7"));
        if key == erased_one { erased.clone() } else { VersionedState::default() }
    };
    let keys = sheet.notes();
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "somebody is asked of twice");
    let ResolvedSheet { rows, announced, counts } =
        sheet.resolve(&keys.into_iter().map(note).collect::<Vec<_>>(), PartitionCount::USUAL);
    assert_eq!(announced.iter().map(|one| u64::from(one.announcement.rows)).sum::<u64>(), counts.rows);
    let of_day = |of: store::DayRows| of.rows.into_iter().map(move |row| (of.key.person.clone(), row));
    rows.into_iter().flat_map(of_day).collect()
}
