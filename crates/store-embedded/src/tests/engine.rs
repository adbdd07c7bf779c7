//! Tests of the embedded store alone: its codec, its chores, its figures.

use std::sync::Arc;

use fjall::Readable as _;
use house_facts::erasure::{EraseMode, Holding};
use model::{
    AudienceMatch, Channel, Crowd, CrowdEnrolment, Day, DayRow, EndReason, Entry, EntryKey, EntryReason,
    EventKey, GeoPoint, Kind, Mark, MarkAction, Person, PersonScore, ReadyId, SubjectRef, Tenant, UtcMillis,
    Value, ValueCell, VersionedState,
    entry::DayKey,
    limits::{DAY_MS, LEFT_LIFE_MS},
    place,
};
use proptest::prelude::*;
use runtime::clock::SteadyStopwatch;
use store::{
    AnswerStore as _, CrowdStore as _, DayRows, DayStore as _, ErasureStore as _, JournalClaim,
    JournalClaimOutcome, JournalOutcome, JournalRecord, JournalStore as _, StandingAnswer, StateKey,
    StateStore as _, codec, rows::decode_row,
};

use crate::{engine::StoreTable, *};

const NOW: UtcMillis = UtcMillis(1_795_000_000_000);

fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

fn any_name() -> impl Strategy<Value = String> {
    "[^\\p{Cc}\\p{Z}]{1,30}".prop_filter("a name", |name| Person::new(name).is_ok())
}

fn any_subject() -> impl Strategy<Value = SubjectRef> {
    (any_name(), any_name()).prop_filter_map("a subject", |(kind, id)| {
        SubjectRef::new(&format!("{}:{id}", kind.replace(':', "x"))).ok()
    })
}

fn any_entry_key() -> impl Strategy<Value = EntryKey> {
    (any::<i64>(), any::<[u8; 16]>())
        .prop_map(|(at, event)| EntryKey { occurred: UtcMillis(at), event: EventKey(event) })
}

fn any_row() -> impl Strategy<Value = DayRow> {
    let because = prop_oneof![
        any_subject().prop_map(AudienceMatch::Follows),
        Just(AudienceMatch::Near),
        Just(AudienceMatch::Named),
        any::<i64>().prop_map(|score| AudienceMatch::Listed(PersonScore(score))),
        any_name().prop_map(|other| AudienceMatch::Mutual(Person::new(&other).unwrap())),
        Just(AudienceMatch::Everyone),
    ];
    let entry = (any_entry_key(), any_name(), because, any_subject(), proptest::option::of(any_name()))
        .prop_map(|(key, kind, because, subject, actor)| {
            let reason = EntryReason { kind: Kind::new(&kind).unwrap(), because };
            let actor = actor.map(|actor| Person::new(&actor).unwrap().into());
            DayRow::Entry(Entry { key, reason, subject, actor, kept: model::KeptFields::new() })
        });
    let what =
        (0..10_u8, any::<[u8; 16]>(), proptest::sample::select(EndReason::ALL.to_vec()), any::<bool>());
    let what = what.prop_map(|(n, ready, why, maybe)| match (n, ReadyId(ready)) {
        (0, ready) => MarkAction::Taken(ready),
        (1, ready) => MarkAction::Returned { ready, maybe },
        (2, ready) => MarkAction::Left { ready, why },
        (3, _) => MarkAction::Ended(why),
        (4, ready) => MarkAction::Carried(ready),
        (5, _) => MarkAction::Read,
        (6, _) => MarkAction::Seen,
        (7, _) => MarkAction::Unread,
        (8, _) => MarkAction::Snoozed(UtcMillis(7)),
        _ => MarkAction::Cleared,
    });
    let channel = proptest::option::of(proptest::sample::select(Channel::ALL.to_vec()));
    let mark = (channel, what, proptest::collection::vec(any_entry_key(), 0..20), any::<i64>()).prop_map(
        |(channel, what, covers, at)| DayRow::Mark(Mark::new(channel, what, covers, UtcMillis(at))),
    );
    prop_oneof![entry, mark]
}

/// A row's key, behind what says whose day it is, and its value.
fn encode_stored(encoder: &mut rows::DayRowEncoder, row: &DayRow) -> (Vec<u8>, Vec<u8>) {
    let owner = self::sample_rows(1, 0).key;
    encoder.begin(&owner);
    let (key, value) = encoder.encode_row(row).unwrap();
    let (found, bytes) = keys::split_day(&key, owner.day).unwrap();
    assert_eq!(found, owner);
    (key[bytes..].to_vec(), value.to_vec())
}

fn any_cell() -> impl Strategy<Value = ValueCell> {
    let value = prop_oneof![
        any::<String>().prop_map(|text| Value::from_text(&text)),
        any::<f64>().prop_map(Value::Number),
        any::<bool>().prop_map(Value::Flag),
        any::<i64>().prop_map(|at| Value::Time(UtcMillis(at))),
        any_subject().prop_map(Value::Ref),
        proptest::collection::vec(any_subject(), 0..5).prop_map(Value::Refs),
        (any::<f64>(), any::<f64>()).prop_map(|(lat, lon)| Value::Place(GeoPoint { lat, lon })),
    ];
    (any::<i64>(), proptest::option::of(value)).prop_map(|(version, value)| ValueCell { version, value })
}

fn any_state() -> impl Strategy<Value = VersionedState> {
    let cells = proptest::collection::vec((any::<String>(), any_cell()), 0..6);
    cells.prop_map(|cells| VersionedState {
        cells: cells.into_iter().map(|(name, cell)| (name.into(), cell)).collect(),
    })
}

fn build_claim(ready: [u8; 16], attempt: u16, token: [u8; 16], at: i64, told: Vec<EntryKey>) -> JournalClaim {
    let (at, deadline) = (UtcMillis(at), UtcMillis(!at));
    let plan = (attempt % 2 == 1).then(|| model::PlanName::new("soon").unwrap());
    JournalClaim { ready: ReadyId(ready), attempt, token, at, deadline, told, plan }
}

proptest! {
    #[test]
    fn rows_survive_their_codec(row in any_row(), other in any_row()) {
        let mut encoder = rows::DayRowEncoder::default();
        let (key, value) = encode_stored(&mut encoder, &row);
        prop_assert_eq!(&decode_row(&key, &value).unwrap(), &row);
        // Other rows have other keys, unless only their subjects or actors differ, which no event has.
        let (other_key, _) = encode_stored(&mut encoder, &other);
        prop_assert_eq!(key == other_key, row == other);
    }

    #[test]
    fn states_survive_their_codec(state in any_state()) {
        prop_assert_eq!(codec::decode_state(&codec::encode_state(&state).unwrap()).unwrap(), state);
    }

    #[test]
    fn the_journal_survives_its_codec(
        ready in any::<[u8; 16]>(), token in any::<[u8; 16]>(), attempt in any::<u16>(), at in any::<i64>(),
        keys in proptest::collection::vec(any_entry_key(), 0..9), answer in any::<Vec<u8>>(),
    ) {
        let claim = build_claim(ready, attempt, token, at, keys.clone());
        let bytes = codec::encode_claim(&claim).unwrap();
        prop_assert_eq!(codec::read_written_at(&bytes), Some(UtcMillis(at)));
        prop_assert_eq!(codec::decode_claim(claim.ready, attempt, &bytes).unwrap(), claim);
        let left: Vec<_> = keys.into_iter().zip(EndReason::ALL).collect();
        let record = JournalRecord { ready: ReadyId(ready), attempt, at: UtcMillis(at), what: JournalOutcome::Unknown, left };
        let bytes = codec::encode_record(&record).unwrap();
        prop_assert_eq!(codec::read_written_at(&bytes), Some(UtcMillis(at)));
        prop_assert_eq!(codec::decode_record(record.ready, attempt, &bytes).unwrap(), record);
        let until = codec::answer_stands_until(UtcMillis(at));
        let answer = StandingAnswer { body: answer, until };
        let bytes = codec::encode_answer(&answer).unwrap();
        prop_assert_eq!(codec::read_written_at(&bytes), Some(codec::answer_written_at(until)));
        prop_assert_eq!(codec::decode_answer(&bytes).unwrap(), answer);
    }

    /// Bytes of any kind, and good ones with one byte changed or cut short, are read or refused.
    #[test]
    fn no_stored_bytes_panic(
        bytes in any::<Vec<u8>>(), key in any::<Vec<u8>>(), row in any_row(), state in any_state(),
        at in any::<prop::sample::Index>(), to in any::<u8>(),
    ) {
        let read_all = |key: &[u8], bytes: &[u8]| {
            drop(decode_row(key, bytes));
            drop(codec::decode_state(bytes));
            drop(codec::decode_day(bytes));
            drop(keys::split_day(key, Day(0)));
            drop(codec::decode_enrolment(bytes));
            drop(codec::decode_claim(ReadyId([0; 16]), 0, bytes));
            drop(codec::decode_record(ReadyId([0; 16]), 0, bytes));
            drop(codec::decode_answer(bytes));
            codec::read_written_at(bytes);
        };
        read_all(&key, &bytes);
        let versioned = [&[1_u8][..], &bytes].concat();
        for tag in 0..8 {
            read_all(&[&[tag][..], &key].concat(), &versioned);
        }
        let (key, value) = encode_stored(&mut rows::DayRowEncoder::default(), &row);
        let state = codec::encode_state(&state).unwrap();
        prop_assert!(decode_row(&key, &value[..at.index(value.len())]).is_err());
        prop_assert!(codec::decode_state(&state[..at.index(state.len())]).is_err());
        for mut good in [value, state] {
            let at = at.index(good.len());
            good[at] = to;
            read_all(&key, &good);
        }
    }
}

fn sample_rows(person: usize, rows: usize) -> DayRows {
    let person = Person::new(&format!("person-{person}")).unwrap();
    let key = DayKey { tenant: tenant(), person, day: Day::from_instant(NOW) };
    let row = |n: usize| {
        let subject = SubjectRef::new(&format!("work:{n}")).unwrap();
        let because = AudienceMatch::Follows(SubjectRef::new("author:7").unwrap());
        let reason = EntryReason { kind: Kind::new("work_published").unwrap(), because };
        let key = EntryKey {
            occurred: NOW.plus(n as i64),
            event: EventKey::from_source_id(&tenant(), "source", &n.to_string()),
        };
        DayRow::Entry(Entry { key, reason, subject, actor: None, kept: model::KeptFields::new() })
    };
    DayRows { key, rows: (0..rows).map(row).collect() }
}

fn count_rows(engine: &EmbeddedStoreEngine, table: StoreTable) -> usize {
    engine.table(table).len().unwrap()
}

#[tokio::test]
async fn what_has_served_its_time_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open_restless(dir.path()).unwrap();
    let claim = build_claim([1; 16], 0, [1; 16], NOW.0, Vec::new());
    assert_eq!(store.claim(&tenant(), claim.clone()).await.unwrap(), JournalClaimOutcome::Yours);
    let record = JournalRecord {
        ready: claim.ready,
        attempt: 0,
        at: NOW.plus(5),
        what: JournalOutcome::Sent,
        left: Vec::new(),
    };
    store.record(&tenant(), record).await.unwrap();
    store.answer(&tenant(), "key", vec![1], NOW).await.unwrap();
    // A later time at which somebody calls, and how many rows of journal and answers are there after that.
    let life = store.day_life().ms();
    let left = [(DAY_MS - 1, 2, 2), (DAY_MS, 2, 2), (life - 1, 2, 1), (life, 1, 2), (life + 5, 0, 3)];
    for (later, journal, answers) in left {
        store.answer(&tenant(), &format!("later {later}"), vec![1], NOW.plus(later)).await.unwrap();
        // Chores come between two groups, so the next group ends after them.
        store.writer.run(1, |_| Ok(())).await.unwrap();
        let found =
            (count_rows(&store.engine, StoreTable::Journal), count_rows(&store.engine, StoreTable::Answers));
        assert_eq!(found, (journal, answers), "after {later} ms");
    }
    let other = build_claim([1; 16], 0, [2; 16], NOW.plus(life).0, Vec::new());
    assert_eq!(store.claim(&tenant(), other).await.unwrap(), JournalClaimOutcome::Yours);
}

/// Who left a place goes; who is there, and who unfollowed, stays.
#[tokio::test]
async fn who_left_a_place_is_forgotten_there_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open_restless(dir.path()).unwrap();
    let (cell, followers) =
        (Crowd::Cell(place::GlobeCell(7)), Crowd::Followers(SubjectRef::new("work:1").unwrap()));
    let one = |person: &str, crowd: &Crowd, on| CrowdEnrolment {
        tenant: tenant(),
        person: Person::new(person).unwrap(),
        crowd: crowd.clone(),
        version: NOW.0,
        on,
    };
    let all = vec![one("ann", &cell, false), one("bob", &cell, true), one("ann", &followers, false)];
    store.enrol(all).await.unwrap();
    for (later, rows) in [(LEFT_LIFE_MS - 1, 3), (LEFT_LIFE_MS, 2), (2 * LEFT_LIFE_MS, 2)] {
        store.answer(&tenant(), &format!("later {later}"), vec![1], NOW.plus(later)).await.unwrap();
        store.writer.run(1, |_| Ok(())).await.unwrap();
        assert_eq!(count_rows(&store.engine, StoreTable::Crowds), rows, "after {later} ms");
    }
}

#[tokio::test]
async fn a_directory_of_another_format_is_refused() {
    for format in ["1", "3"] {
        let dir = tempfile::tempdir().unwrap();
        drop(EmbeddedStore::open(dir.path()).unwrap());
        let db = fjall::Database::builder(dir.path().join("data")).open().unwrap();
        let meta = db.keyspace("meta", fjall::KeyspaceCreateOptions::default).unwrap();
        meta.insert("format", format).unwrap();
        drop((meta, db));
        let error = EmbeddedStore::open(dir.path()).unwrap_err().to_string();
        assert_eq!(error, format!("the directory has format {format}, but this release reads 2"));
    }
}

#[tokio::test]
async fn days_live_as_long_as_was_chosen_with_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    drop(EmbeddedStore::open_for(dir.path(), DayLife::new(30).unwrap()).unwrap());
    let error = EmbeddedStore::open(dir.path()).unwrap_err().to_string();
    assert!(
        error.contains("this house keeps days for 30d") && error.contains("set `day_life: 30`"),
        "{error}"
    );
    let store = EmbeddedStore::open_for(dir.path(), DayLife::new(30).unwrap()).unwrap();
    assert_eq!(store.day_life().days(), 30);
}

/// Cursors come back from records, so they may be anything.
#[tokio::test]
async fn a_strange_cursor_shows_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let crowds = [1, 2, 3].map(|cell| model::Crowd::Cell(model::place::GlobeCell(cell)));
    for (n, crowd) in crowds.iter().enumerate() {
        let (crowd, person) = (crowd.clone(), Person::new(&format!("p{n}")).unwrap());
        let one = model::CrowdEnrolment { tenant: tenant(), person, crowd, version: 1, on: true };
        store.enrol(vec![one]).await.unwrap();
    }
    store.write((0..3).map(|n| sample_rows(n, 2)).collect(), NOW).await.unwrap();
    let strange: [&[u8]; 6] = [&[], &[0], &[0xff; 9], b"p", b"p1", &[0xff; 100_000]];
    for from in strange {
        let found = store.members(&tenant(), &crowds[1], Some(from), 9).await.unwrap();
        assert!(found.persons.iter().all(|person| person.as_str() == "p1"), "{found:?}");
        assert_eq!(found.next, None);
        let part = store.scan(Day::from_instant(NOW), Some(from), 4).await.unwrap();
        assert!(part.rows.iter().map(|of| of.rows.len()).sum::<usize>() <= 4, "{part:?}");
    }
}

/// What the tables and days take on the disk; the log beside them is of one size all the time.
fn bytes_in(dir: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().map_while(Result::ok);
    let size = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_in(&entry.path()),
        _ => entry.metadata().map_or(0, |data| data.len()),
    };
    entries.map(size).sum()
}

/// Waits until the files of tables and days have a size.
async fn wait_for_size(store: &EmbeddedStore, what: &str, holds: impl Fn(u64) -> bool) -> u64 {
    let watch = SteadyStopwatch::start();
    loop {
        let bytes = bytes_in(&store.dir.join("data/keyspaces"));
        if holds(bytes) {
            return bytes;
        }
        assert!(watch.elapsed() < Duration::from_secs(30), "{what}: there are {bytes} bytes");
        // Chores come between two groups.
        store.writer.run(1, |_| Ok(())).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_day_leaves_the_disk() {
    const LARGE: u64 = 1 << 20;
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open_restless(dir.path()).unwrap();
    let keep = DayRows {
        key: DayKey { day: Day::from_instant(NOW).plus(1), ..sample_rows(0, 1).key },
        ..sample_rows(0, 1)
    };
    store.write(vec![keep.clone()], NOW).await.unwrap();
    let before = wait_for_size(&store, "one row", |bytes| bytes > 0).await;
    assert!(before < LARGE / 2, "{before}");
    let many: Vec<DayRows> = (0..10_000).map(|person| sample_rows(person, 4)).collect();
    store.write(many, NOW).await.unwrap();
    wait_for_size(&store, "a day on the disk", |bytes| bytes > LARGE).await;
    // Somebody is still reading.
    let view = store.engine.snapshot();
    let reader = store.engine.day(Day::from_instant(NOW)).unwrap();
    assert_eq!(store.drop_before(Day::from_instant(NOW).plus(1)).await.unwrap(), 1);
    assert_eq!(view.iter(&reader).count(), 40_000);
    drop((view, reader));
    wait_for_size(&store, "the day dropped", |bytes| bytes < LARGE / 2).await;
    let kept = store.read(std::slice::from_ref(&keep.key), NOW).await.unwrap();
    assert_eq!(kept, vec![keep.rows]);
    drop(store);
    let store = EmbeddedStore::open_for(dir.path(), DayLife::LEAST).unwrap();
    assert!(bytes_in(&store.dir.join("data/keyspaces")) < LARGE / 2);
    assert!(store.engine.day(Day::from_instant(NOW)).is_none());
}

#[tokio::test]
async fn a_request_that_cannot_be_decided_takes_nothing_else_along() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(EmbeddedStore::open(dir.path()).unwrap());
    let put = |key: &'static str, value: &'static str, fails: bool| {
        let store = store.clone();
        async move {
            let decide = move |stage: &mut writer::WriteStage| {
                let before =
                    stage.with_value(StoreTable::Answers, key.as_bytes(), |bytes| Ok(bytes.to_vec()))?;
                stage.put(StoreTable::Answers, key.into(), value.into());
                stage.put(StoreTable::Answers, b"last".to_vec(), value.into());
                if fails { Err(StoreError::Broken("on purpose".into())) } else { Ok(before) }
            };
            store.writer.run(1, decide).await
        }
    };
    let (one, two, three, four) =
        futures::join!(put("a", "1", false), put("a", "2", true), put("b", "3", true), put("a", "4", false));
    assert!(two.is_err() && three.is_err());
    assert_eq!((one.unwrap(), four.unwrap()), (None, Some(b"1".to_vec())));
    let now = |key| store.engine.table(StoreTable::Answers).get(key).unwrap().map(|value| value.to_vec());
    assert_eq!((now("a"), now("b"), now("last")), (Some(b"4".to_vec()), None, Some(b"4".to_vec())));
}

/// The shortest time that one of the same things takes: one of them may meet a machine that stands still for a while.
struct BestTime(Duration);

impl BestTime {
    fn new() -> Self {
        Self(Duration::MAX)
    }

    fn record_time(&mut self, what: &str, watch: SteadyStopwatch) {
        let took = watch.elapsed();
        println!("{what}: {took:?}");
        self.0 = self.0.min(took);
    }
}

/// The figures are printed; the bounds are ten times what an idle machine shows, since CI is not idle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures() {
    let dir = tempfile::tempdir().unwrap();
    let watch = SteadyStopwatch::start();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    println!("a new store: {:?}", watch.elapsed());
    let mut best = BestTime::new();
    for round in 0..4 {
        let many: Vec<DayRows> = (0..12_000).map(|person| sample_rows(person + round * 12_000, 1)).collect();
        let watch = SteadyStopwatch::start();
        store.write(many, NOW).await.unwrap();
        best.record_time("12,000 days of one row, one write", watch);
    }
    assert!(best.0 < Duration::from_secs(2));
    let watch = SteadyStopwatch::start();
    for person in 0..100 {
        store.write(vec![sample_rows(person, 1)], NOW).await.unwrap();
    }
    println!("a write of a row, one after the other: {:?}", watch.elapsed() / 100);
    let watch = SteadyStopwatch::start();
    let many = (0..1_000).map(|person| store.write(vec![sample_rows(person, 1)], NOW));
    futures::future::try_join_all(many).await.unwrap();
    println!("1,000 writes of a row at once: {:?}", watch.elapsed());
    let keys: Vec<DayKey> = (0..1_000).map(|person| sample_rows(person * 7, 0).key).collect();
    let mut best = BestTime::new();
    for _ in 0..3 {
        let watch = SteadyStopwatch::start();
        let read = store.read(&keys, NOW).await.unwrap();
        best.record_time("1,000 days read", watch);
        assert!(read.iter().all(|rows| rows.len() == 1));
    }
    assert!(best.0 < Duration::from_secs(1));
    measure_notes(&store).await;
    measure_crowds(&store).await;
    measure_batches(&store, dir.path()).await;
    let watch = SteadyStopwatch::start();
    drop(store);
    println!("closed: {:?}", watch.elapsed());
    let watch = SteadyStopwatch::start();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    println!("opened again, 49,100 rows in the log: {:?}", watch.elapsed());
    let watch = SteadyStopwatch::start();
    assert_eq!(store.drop_before(Day::from_instant(NOW).plus(1)).await.unwrap(), 1);
    println!("a day dropped: {:?}", watch.elapsed());
}

/// Who has no note is found without a look at the table, whatever else is in it.
async fn measure_notes(store: &EmbeddedStore) {
    let keys: Vec<StateKey> =
        (0..5_000).map(|person| StateKey::Notes(tenant(), sample_rows(person, 0).key.person)).collect();
    let noted = VersionedState::from_values(1, [("erased", Some(Value::Flag(true)))]);
    for some in [0, 1, 100] {
        store.merge(keys[..some].iter().map(|key| (key.clone(), noted.clone())).collect()).await.unwrap();
        let mut best = BestTime::new();
        for _ in 0..3 {
            let watch = SteadyStopwatch::start();
            let states = store.states(&keys).await.unwrap();
            best.record_time(&format!("notes of 5,000, {some} of whom have any"), watch);
            assert_eq!(states.iter().filter(|state| !state.is_empty()).count(), some);
        }
        assert!(best.0 < Duration::from_millis(200));
    }
}

/// Batches as fan-out writes them, beside the bare database.
async fn measure_batches(store: &EmbeddedStore, dir: &Path) {
    let mut best = BestTime::new();
    for round in 0..8 {
        let batch: Vec<DayRows> =
            (0..5_000).map(|person| sample_rows(1_000_000 + round * 5_000 + person, 1)).collect();
        let watch = SteadyStopwatch::start();
        store.write(batch, NOW).await.unwrap();
        best.record_time("a batch of 5,000 entries", watch);
    }
    assert!(best.0 < Duration::from_secs(2));
    let database = fjall::Database::builder(dir.join("raw")).open().unwrap();
    let keyspace = database.keyspace("raw", fjall::KeyspaceCreateOptions::default).unwrap();
    for round in 0..8_u64 {
        let watch = SteadyStopwatch::start();
        let mut writes = database.batch();
        for n in round * 5_000..(round + 1) * 5_000 {
            let key = [n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), n.to_be_bytes()].concat();
            writes.insert(&keyspace, key, &[7_u8; 100][..]);
        }
        writes.commit().unwrap();
        database.persist(fjall::PersistMode::SyncData).unwrap();
        println!("the same number, bare: {:?}", watch.elapsed());
    }
}

/// A large crowd as fan-out reads it.
async fn measure_crowds(store: &EmbeddedStore) {
    let crowd = model::Crowd::Everyone;
    let person = |n: usize| sample_rows(n, 0).key.person;
    for round in 0..8 {
        let many = (0..5_000).map(|n| {
            let (crowd, person) = (crowd.clone(), person(round * 5_000 + n));
            model::CrowdEnrolment { tenant: tenant(), person, crowd, version: 1, on: true }
        });
        let many = many.collect();
        let watch = SteadyStopwatch::start();
        store.enrol(many).await.unwrap();
        println!("5,000 enrolments: {:?}", watch.elapsed());
    }
    let (mut from, mut best) = (None, BestTime::new());
    for _ in 0..4 {
        let watch = SteadyStopwatch::start();
        let part = store.members(&tenant(), &crowd, from.as_deref(), 5_000).await.unwrap();
        best.record_time("5,000 of a crowd", watch);
        assert_eq!(part.persons.len(), 5_000);
        from = part.next;
    }
    assert!(best.0 < Duration::from_secs(1));
    let asked: Vec<_> = (0..5_000).map(|n| (tenant(), person(n * 8), crowd.clone())).collect();
    let watch = SteadyStopwatch::start();
    assert!(store.belongs(&asked).await.unwrap().into_iter().all(|on| on));
    println!("whether 5,000 belong: {:?}", watch.elapsed());
    let profile = VersionedState::from_values(
        1,
        ["zone", "email", "name", "language", "place"].map(|name| (name, Some(Value::from_text(name)))),
    );
    let keys: Vec<_> = (0..5_000).map(|n| StateKey::Person(tenant(), person(n))).collect();
    let watch = SteadyStopwatch::start();
    store.merge(keys.iter().map(|key| (key.clone(), profile.clone())).collect()).await.unwrap();
    println!("5,000 profiles merged: {:?}", watch.elapsed());
    for _ in 0..3 {
        let watch = SteadyStopwatch::start();
        assert!(store.states(&keys).await.unwrap().iter().all(|state| *state == profile));
        println!("5,000 profiles read: {:?}", watch.elapsed());
    }
}

/// Who was erased and scrubbed is in no file, and nobody has to wait for that: not in those that were there before, which
/// the database keeps for whoever still reads them, nor in any log of writes.
#[tokio::test(flavor = "multi_thread")]
async fn files_have_nothing_of_the_erased_once_they_are_scrubbed() {
    let needle = "whom-nobody-else-knows";
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let person = Person::new("ann").unwrap();
    let subject = SubjectRef::new(&format!("author:{needle}")).unwrap();
    let key = DayKey { tenant: tenant(), person: person.clone(), day: Day::from_instant(NOW) };
    // In files of several ages, as they are after a while.
    for number in 0..3 {
        let reason = EntryReason {
            kind: Kind::new("made").unwrap(),
            because: AudienceMatch::Follows(subject.clone()),
        };
        let key_of = EntryKey { occurred: NOW, event: EventKey([number; 16]) };
        let entry = Entry {
            key: key_of,
            reason,
            subject: subject.clone(),
            actor: None,
            kept: model::KeptFields::new(),
        };
        let rows = DayRows { key: key.clone(), rows: vec![DayRow::Entry(entry)] };
        store.write(vec![rows], NOW).await.unwrap();
        let (tenant, person, crowd) = (tenant(), person.clone(), Crowd::Followers(subject.clone()));
        let enrolment = CrowdEnrolment { tenant, person, crowd, version: i64::from(number), on: true };
        store.enrol(vec![enrolment]).await.unwrap();
        for keyspace in store.engine.keyspaces() {
            keyspace.rotate_memtable_and_wait().unwrap();
        }
    }
    assert!(files_with(dir.path(), needle) > 1);
    let removed = store.erase(&tenant(), &person, EraseMode::Remove, NOW).await.unwrap();
    assert_eq!((removed[&Holding::Days], removed[&Holding::Crowds]), (3, 1));
    store.scrub().await.unwrap();
    assert_eq!(files_with(dir.path(), needle), 0);
}

/// How many files below a folder have these bytes.
fn files_with(dir: &Path, needle: &str) -> usize {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let count = |path: std::path::PathBuf| match path.is_dir() {
        true => files_with(&path, needle),
        false => {
            let bytes = std::fs::read(&path).unwrap();
            usize::from(bytes.windows(needle.len()).any(|part| part == needle.as_bytes()))
        }
    };
    entries.map(count).sum()
}
