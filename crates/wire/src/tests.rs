//! Every record: goldens, round trips, hostile bytes, older schemas.

mod arbitrary;
mod archive;
mod cloud_event;
mod older_versions;
mod quarantined;
pub(crate) mod samples;
mod upstream;

use std::{collections::BTreeMap, fmt::Debug, fs, path::PathBuf, sync::LazyLock};

use apache_avro::{Schema, reader::datum::GenericDatumReader, writer::datum::GenericDatumWriter};
use model::{
    limits::{
        CLOSING_BYTES_MAX, COUNTED_MAX, RECORD_BYTES_MAX, RECORD_KEYS_MAX, TOLD_MAX, WAITING_BYTES_MAX,
        WINDOWS_PER_PERSON_MAX,
    },
    partition::PartitionCount,
    person::PersonRecord,
};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::{
    CloudChange, DecodeError, HouseNote, change, change::ChangeDto, codec::RecordCodec, erasure,
    erasure::ErasureDto, event, event::EventDto, fingerprint, house_note, house_note::HouseNoteDto, inbox,
    inbox::InboxItemDto, key, pending, pending::AnnouncementBatchDto, quarantine,
    quarantine::QuarantinedRecordDto, ready, ready::ReadyDto, replay, returns, returns::ReturnNoticeDto,
    slice, slice::SliceDto, topics, window, window::WindowDto,
};

fn schemas_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

fn golden_path(file: &str) -> PathBuf {
    schemas_dir().join("golden").join(file)
}

/// The version of a schema.
fn schema_version(schema: &str) -> u32 {
    VERSIONS.iter().find(|(name, ..)| *name == schema).unwrap().1
}

/// A sample of a record, in all the ways in which a test looks at one.
struct WireSample {
    /// The schema's file.
    schema: &'static str,
    /// The golden's file.
    golden: String,
    bytes: Vec<u8>,
    /// What people see of it.
    json: Value,
    /// Decodes and describes; anything that panics here fails its test.
    decode: fn(&[u8]) -> Result<Value, DecodeError>,
}

fn describe(dto: impl Serialize) -> Value {
    serde_json::to_value(dto).unwrap()
}

fn decode_window(bytes: &[u8]) -> Result<Value, DecodeError> {
    let (tenant, person, record) = window::decode(bytes)?;
    Ok(describe(WindowDto::from_person_record(&tenant, &person, &record)))
}

fn describe_change(cloud: &CloudChange) -> Value {
    describe(ChangeDto::from_change(cloud).unwrap())
}

fn describe_slice(slice: &model::Slice) -> Value {
    describe(SliceDto::from_slice(slice).unwrap())
}

fn change_sample(change: &CloudChange) -> WireSample {
    WireSample {
        schema: "change",
        golden: "change".to_owned(),
        bytes: change::encode(change).unwrap(),
        json: describe_change(change),
        decode: |bytes| change::decode(bytes).map(|cloud| describe_change(&cloud)),
    }
}

fn samples() -> Vec<WireSample> {
    let sample =
        |schema, bytes, json, decode| WireSample { schema, golden: schema.to_owned(), bytes, json, decode };
    let (tenant, ann) = (samples::tenant(), samples::person("ann"));
    let mut all = vec![
        sample(
            "event",
            event::encode(&samples::event()).unwrap(),
            describe(EventDto::from_event(&samples::event())),
            |bytes| event::decode(bytes).map(|event| describe(EventDto::from_event(&event))),
        ),
        sample(
            "slice",
            slice::encode(&samples::slice()).unwrap(),
            describe_slice(&samples::slice()),
            |bytes| slice::decode(bytes).map(|slice| describe_slice(&slice)),
        ),
        sample(
            "pending",
            pending::encode(&samples::sample_batch()).unwrap(),
            describe(AnnouncementBatchDto::from_batch(&samples::sample_batch())),
            |bytes| {
                pending::decode(bytes).map(|pending| describe(AnnouncementBatchDto::from_batch(&pending)))
            },
        ),
        sample(
            "ready",
            ready::encode(&samples::ready()).unwrap(),
            describe(ReadyDto::from_ready(&samples::ready())),
            |bytes| ready::decode(bytes).map(|ready| describe(ReadyDto::from_ready(&ready))),
        ),
        sample(
            "window",
            window::encode(&tenant, &ann, &samples::window()).unwrap(),
            describe(WindowDto::from_person_record(&tenant, &ann, &samples::window())),
            decode_window,
        ),
        sample(
            "quarantined",
            quarantine::encode(&samples::quarantined_record()).unwrap(),
            describe(QuarantinedRecordDto::from_record(&samples::quarantined_record())),
            |bytes| {
                quarantine::decode(bytes).map(|record| describe(QuarantinedRecordDto::from_record(&record)))
            },
        ),
        sample("replay", replay::encode(&samples::replay()).unwrap(), describe(samples::replay()), |bytes| {
            replay::decode(bytes).map(describe)
        }),
        note_sample("note", &samples::note()),
        note_sample("note-pause", &samples::pause_note()),
        returned_sample(),
        erasure_sample(),
        change_sample(&samples::change()),
    ];
    all.push(WireSample { golden: "change-many".to_owned(), ..change_sample(&samples::change_of_many()) });
    all.extend(samples::inboxes().into_iter().map(|(name, inbox)| WireSample {
        schema: "inbox",
        golden: format!("inbox-{name}"),
        bytes: inbox::encode(&inbox).unwrap(),
        json: describe(InboxItemDto::from_item(&inbox)),
        decode: |bytes| inbox::decode(bytes).map(|inbox| describe(InboxItemDto::from_item(&inbox))),
    }));
    all
}

fn erasure_sample() -> WireSample {
    let erasure = samples::erasure();
    WireSample {
        schema: "erasure",
        golden: "erasure".to_owned(),
        bytes: erasure::encode(&erasure).unwrap(),
        json: describe(ErasureDto::from_erasure(&erasure)),
        decode: |bytes| erasure::decode(bytes).map(|erasure| describe(ErasureDto::from_erasure(&erasure))),
    }
}

fn note_sample(golden: &str, note: &HouseNote) -> WireSample {
    WireSample {
        schema: "note",
        golden: golden.to_owned(),
        bytes: house_note::encode(note).unwrap(),
        json: describe(HouseNoteDto::from_note(note)),
        decode: |bytes| house_note::decode(bytes).map(|note| describe(HouseNoteDto::from_note(&note))),
    }
}

fn returned_sample() -> WireSample {
    let returned = samples::sample_return();
    WireSample {
        schema: "returned",
        golden: "returned".to_owned(),
        bytes: returns::encode(&returned).unwrap(),
        json: describe(ReturnNoticeDto::from_notice(&returned)),
        decode: |bytes| {
            returns::decode(bytes).map(|returned| describe(ReturnNoticeDto::from_notice(&returned)))
        },
    }
}

/// What is written today has not changed since its version was made.
/// `UPDATE_GOLDENS=1` rewrites; a changed golden of a released version is a mistake.
#[test]
fn goldens() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    for sample in samples() {
        let stem = format!("{}.{}", sample.golden, schema_version(sample.schema));
        let (bin, json) = (golden_path(&format!("{stem}.bin")), golden_path(&format!("{stem}.json")));
        if update {
            fs::write(&bin, &sample.bytes).unwrap();
            fs::write(&json, format!("{:#}\n", sample.json)).unwrap();
        }
        let golden = fs::read(&bin).unwrap();
        let expected: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        assert_eq!(golden, sample.bytes, "{}", sample.golden);
        assert_eq!(expected, sample.json, "{}", sample.golden);
        assert_eq!((sample.decode)(&golden).unwrap(), expected, "{}", sample.golden);
    }
}

fn check_round_trip<T: PartialEq + Debug>(
    record: &T,
    encode: impl Fn(&T) -> Result<Vec<u8>, crate::WireError>,
    decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
) {
    let bytes = encode(record).unwrap();
    assert_eq!(&decode(&bytes).unwrap(), record);
}

proptest! {
    #[test]
    fn an_event_comes_back(event in arbitrary::any_event()) {
        check_round_trip(&event, event::encode, event::decode);
    }

    #[test]
    fn a_slice_comes_back(slice in arbitrary::any_slice()) {
        check_round_trip(&slice, slice::encode, slice::decode);
    }

    #[test]
    fn announcements_come_back(pending in arbitrary::any_batch()) {
        check_round_trip(&pending, pending::encode, pending::decode);
    }

    #[test]
    fn an_inbox_record_comes_back(inbox in arbitrary::any_inbox_item()) {
        check_round_trip(&inbox, inbox::encode, inbox::decode);
    }

    #[test]
    fn what_was_returned_comes_back(of in arbitrary::any_return()) {
        check_round_trip(&of, returns::encode, returns::decode);
    }

    #[test]
    fn a_ready_comes_back(ready in arbitrary::any_ready()) {
        check_round_trip(&ready, ready::encode, ready::decode);
    }

    #[test]
    fn a_person_comes_back(tenant in arbitrary::any_tenant(), person in arbitrary::any_person(), record in arbitrary::any_person_record()) {
        let bytes = window::encode(&tenant, &person, &record).unwrap();
        prop_assert_eq!(window::decode(&bytes).unwrap(), (tenant, person, record));
    }

    /// What is read in the quick way is what the library reads, and it reads nothing else.
    #[test]
    fn a_person_is_read_the_same_in_both_ways(
        record in arbitrary::any_person_record(),
        quick in any::<bool>(),
        change in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let moment = if quick { (vec![], vec![]) } else { (record.owed, record.waiting) };
        let record = PersonRecord { owed: moment.0, waiting: moment.1, ..record };
        let mut bytes = window::encode(&samples::tenant(), &samples::person("ann"), &record).unwrap();
        prop_assert_eq!(window::decode_usual(&bytes).is_some(), record.owed.is_empty() && record.waiting.is_empty());
        if let Some((at, byte)) = change {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        prop_assert_eq!(window::decode(&bytes).ok(), window::decode_any(&bytes).ok());
    }

    #[test]
    fn a_quarantined_record_comes_back(record in arbitrary::any_quarantined()) {
        check_round_trip(&record, quarantine::encode, quarantine::decode);
    }

    #[test]
    fn a_change_comes_back(cloud in arbitrary::any_change()) {
        check_round_trip(&cloud, change::encode, change::decode);
    }

    #[test]
    fn keys_come_back(tenant in arbitrary::any_tenant(), person in arbitrary::any_person(), subject in arbitrary::any_subject(), n: u32) {
        prop_assert_eq!(key::read_person_key(&key::person_key(&tenant, &person)).unwrap(), (tenant.clone(), person));
        prop_assert_eq!(key::read_subject_key(&key::subject_key(&tenant, &subject)).unwrap(), (tenant, subject));
        prop_assert_eq!(key::read_partition_key(&key::partition_key(n)).unwrap(), n);
    }

    /// Hostile bytes are a value, never a panic: goldens with bytes changed, cut, or put in.
    #[test]
    fn mutated_records_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
        more in prop::collection::vec(any::<u8>(), 0..4),
        older in any::<bool>(),
    ) {
        let old = &OLD[which.index(OLD.len())];
        let sample = &old.sample;
        let mut bytes = if older { old.bytes.clone() } else { sample.bytes.clone() };
        for (at, byte) in changes {
            // The header stays, or little behind it would be tried.
            let at = 10 + at.index(bytes.len() - 10);
            bytes[at] = byte;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes.extend(more);
        drop((sample.decode)(&bytes));
        drop(read_with(sample.schema, &old.codec, &bytes));
    }

    #[test]
    fn random_bytes_never_panic(
        which in any::<prop::sample::Index>(),
        headed in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let sample = &OLD[which.index(OLD.len())].sample;
        let bytes = if headed { [&sample.bytes[..10], &bytes].concat() } else { bytes };
        drop((sample.decode)(&bytes));
        drop((key::read_person_key(&bytes), key::read_subject_key(&bytes), key::read_partition_key(&bytes)));
    }
}

#[test]
fn every_cut_and_every_addition_is_refused() {
    for sample in samples() {
        for end in 0..sample.bytes.len() {
            assert!((sample.decode)(&sample.bytes[..end]).is_err(), "{} at {end}", sample.golden);
        }
        let more = [sample.bytes.as_slice(), &[0]].concat();
        assert!((sample.decode)(&more).unwrap_err().reason.contains("follow"), "{}", sample.golden);
    }
}

/// A length that a record claims is not believed.
#[test]
fn lengths_are_not_believed() {
    let header = &event::encode(&samples::event()).unwrap()[..10];
    // A text of 2^62 bytes, and one of 3 MiB, of which nothing follows.
    for length in [&[0xFE; 9][..], &[0x80, 0x80, 0x80, 0x03][..]] {
        assert!(event::decode(&[header, length].concat()).is_err());
    }
    // A list that claims the greatest count there is, and one of a negative count.
    let header = &pending::encode(&samples::sample_batch()).unwrap()[..10];
    for count in [
        [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
        [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
    ] {
        assert!(pending::decode(&[header, &[2, b't'], &count].concat()).is_err());
    }
}

#[test]
fn what_is_too_much_is_refused_when_written() {
    let mut pending = samples::sample_batch();
    let one = pending.announcements[0].clone();
    pending.announcements = vec![one; crate::LIST_MAX + 1];
    assert!(pending::encode(&pending).unwrap_err().to_string().contains("a list of 10001"));

    let mut event = samples::event();
    event.what = "x".repeat(crate::RECORD_BYTES_MAX);
    assert!(matches!(event::encode(&event), Err(crate::WireError::Large { .. })));

    let mut cloud = samples::change();
    cloud.source = "x".repeat(crate::cloud_event::ITEM_BYTES_MAX);
    assert!(change::encode(&cloud).is_err());
    let mut cloud = samples::change();
    cloud.data.insert("deep".to_owned(), serde_json::json!({"a": {"b": 1}}));
    assert!(change::encode(&cloud).unwrap_err().to_string().contains("`deep`"));
}

#[test]
fn no_number_is_refused_both_ways() {
    let mut event = samples::event();
    let cell = model::ValueCell { version: 9, value: Some(model::Value::Number(f64::NAN)) };
    event.state.cells.insert("score".into(), cell);
    assert!(event::encode(&event).unwrap_err().to_string().contains("not finite"));
    let good = event::encode(&samples::event()).unwrap();
    let infinite = |good: &[u8], number: f64| {
        let at = good.windows(8).position(|bytes| bytes == number.to_le_bytes()).unwrap();
        [&good[..at], &f64::INFINITY.to_le_bytes(), &good[at + 8..]].concat()
    };
    assert!(event::decode(&infinite(&good, 0.5)).unwrap_err().reason.contains("not finite"));

    let mut cloud = samples::change_of_many();
    let good = change::encode(&cloud).unwrap();
    assert!(change::decode(&infinite(&good, 0.93)).unwrap_err().reason.contains("not finite"));
    cloud.persons[0].score = Some(f64::NEG_INFINITY);
    assert!(change::encode(&cloud).unwrap_err().to_string().contains("not finite"));
}

/// A number as Avro writes it, one that is not negative.
fn avro_long(number: u64) -> Vec<u8> {
    let (mut bytes, mut zigzag) = (Vec::new(), number << 1);
    while zigzag > 0x7F {
        bytes.push((zigzag & 0x7F) as u8 | 0x80);
        zigzag >>= 7;
    }
    bytes.push(zigzag as u8);
    bytes
}

/// A cell that is not on the globe is refused both ways.
#[test]
fn no_cell_is_refused_both_ways() {
    let mut slice = samples::slice();
    slice.crowds = vec![model::Crowd::Cell(model::place::GlobeCell(7))];
    assert!(slice::encode(&slice).unwrap_err().to_string().contains("there is no cell 7"));
    let good = slice::encode(&samples::slice()).unwrap();
    // The second crowd: `cell`, no target, then the number as Avro writes it.
    let number = avro_long(0x0871_f1d4_89ff_ffff);
    let at = good.windows(number.len()).position(|bytes| bytes == number).unwrap();
    let bad = [&good[..at], &[14], &good[at + number.len()..]].concat();
    assert!(slice::decode(&bad).unwrap_err().reason.contains("there is no cell 7"));
}

/// A record with one part put in the place of another is refused, and says why.
fn expect_refused(schema: &'static str, good: &[u8], at: &[u8], put: &[u8], says: &str) {
    let found: Vec<_> = (0..good.len()).filter(|i| good[*i..].starts_with(at)).collect();
    assert_eq!(found.len(), 1, "{schema} {at:?}");
    let bytes = [&good[..found[0]], put, &good[found[0] + at.len()..]].concat();
    let decode = samples().into_iter().find(|sample| sample.schema == schema).unwrap().decode;
    let reason = decode(&bytes).unwrap_err().reason;
    assert!(reason.contains(says), "{reason}");
}

/// An announcement names what its record lists, and a window's record counts no further than there are numbers.
#[test]
fn places_and_counts_that_are_not_there_are_refused() {
    let pending = pending::encode(&samples::sample_batch()).unwrap();
    // One row, then a list of one kind and a list of one window, each the second there is; not full.
    let bob = [2, 2, 2, 0, 2, 2, 0, 0];
    expect_refused("pending", &pending, &bob, &[2, 2, 2, 0, 2, 4, 0, 0], "there is no window at place 2");
    expect_refused("pending", &pending, &bob, &[2, 2, 2, 0, 2, 1, 0, 0], "there is no window at place -1");
    expect_refused("pending", &pending, &bob, &[2, 2, 4, 0, 2, 2, 0, 0], "there is no kind at place 2");

    let (record, ann) = (samples::window(), samples::person("ann"));
    let window = window::encode(&samples::tenant(), &ann, &record).unwrap();
    let until = avro_long(record.told[0].until.0.cast_unsigned());
    let row = |row: &[u8]| [row, &until].concat();
    expect_refused("window", &window, &row(&[4]), &row(&[0x80, 0x04]), "");
    expect_refused("window", &window, &row(&[4]), &row(&[1]), "");
    // What it follows, then what holds it.
    let held = |held: u8| [&[9; 16][..], &[2, held]].concat();
    expect_refused("window", &window, &held(2), &held(6), "");
}

/// Parts that do not belong together are refused: of a reason, of a crowd, of a change.
#[test]
fn parts_that_do_not_fit_are_refused() {
    // A kind's name, then the place of `because`, then whether there are target, person and score.
    let ready = ready::encode(&samples::ready()).unwrap();
    let near = |tail: &[u8]| [&b"item_nearby"[..], tail].concat();
    for tail in [&[2, 0, 0, 2, 2][..], &[0, 0, 0, 0], &[2, 0, 2, 2, b'x', 0], &[8, 0, 0, 0], &[6, 0, 0, 0]] {
        expect_refused(
            "ready",
            &ready,
            &near(&[2, 0, 0, 0]),
            &near(tail),
            "lacks a part or has one too many",
        );
    }
    expect_refused("ready", &ready, &near(&[2, 0, 0, 0]), &near(&[12, 0, 0, 0]), "");
    let slice = slice::encode(&samples::slice()).unwrap();
    let everyone = [4, 0, 0, 0, 2, 16];
    expect_refused("slice", &slice, &everyone, &[4, 0, 2, 2, 0, 2, 16], "a crowd Everyone lacks a part");
    expect_refused("slice", &slice, &everyone, &[0, 0, 0, 0, 2, 16], "a crowd Followers lacks a part");
    expect_refused("slice", &slice, &everyone, &[2, 0, 0, 0, 2, 16], "a crowd Cell lacks a part");
    // An absent subject, then two of them, becomes a subject too many.
    let change = change::encode(&samples::change_of_many()).unwrap();
    let two = [&[0, 4, 12][..], b"item:1"].concat();
    let three = [&[2, 2, b'x', 4, 12][..], b"item:1"].concat();
    expect_refused("change", &change, &two, &three, "either `subject` or `subjects`");
    let mut both = samples::change_of_many();
    both.subject = Some("item:3".to_owned());
    assert!(change::encode(&both).unwrap_err().to_string().contains("either `subject` or `subjects`"));
}

#[test]
fn what_is_carried_of_the_headers_of_others_has_an_end() {
    let of_others = vec![("tidings-replay".to_owned(), vec![b'x'; 500_000])];
    let carried = crate::replay::carry_headers(&of_others);
    assert_eq!(carried.iter().map(|(_, value)| value.len()).collect::<Vec<_>>(), [128]);
}

#[test]
fn a_closing_of_most_keys_fits_the_record() {
    let mut record = samples::window();
    let owed = &mut record.owed[0];
    owed.mark.covers = (0..RECORD_KEYS_MAX)
        .map(|i| model::EntryKey {
            occurred: model::UtcMillis(i64::MAX - i as i64),
            event: model::EventKey([0xFF; 16]),
        })
        .collect();
    let bytes = window::encode(&samples::tenant(), &samples::person("ann"), &record).unwrap();
    assert!(bytes.len() < RECORD_BYTES_MAX, "{}", bytes.len());
}

proptest! {
    /// The owner keeps the limit of a record by `weight`, so that must not be less than what is written.
    #[test]
    fn a_record_is_no_heavier_than_its_weight(record in arbitrary::any_person_record()) {
        let names = 300;
        let bytes = window::encode(&samples::tenant(), &samples::person("ann"), &record).unwrap();
        let weight = record.weight();
        prop_assert!(bytes.len() <= weight + names, "{} {weight}", bytes.len());
    }
}

/// Somebody of whom as much is remembered as there may be, with names as people write them and windows of eight
/// days: of the model's bounds all, and of the catalogue's 8 caps and 8 surfaces.
fn busy_record() -> PersonRecord {
    let name = |prefix: &str, i: usize| format!("{prefix}_{i:0>width$}", width = 15 - prefix.len());
    let of = samples::window();
    let instants = |many| (0..many).map(|i| of.last_opening.plus(i)).collect::<Vec<_>>();
    let windows = (0..WINDOWS_PER_PERSON_MAX).map(|i| model::person::Window {
        key: name("thread:", i).into(),
        days: (0..8).map(|day| model::Day(20_777 + day)).collect(),
        ..of.windows[0].clone()
    });
    let told = (0..TOLD_MAX).map(|i| model::person::MessageHistory {
        key: name("thread:", i).into(),
        at: instants(3),
        ..of.told[0].clone()
    });
    let counted = (0..8).map(|i| (name("cap", i).into(), instants(COUNTED_MAX as i64)));
    let seen = (0..8).map(|i| (name("surface", i).into(), of.last_opening));
    PersonRecord {
        windows: windows.collect(),
        told: told.collect(),
        counted: counted.collect(),
        seen: seen.collect(),
        rows: (0..9).map(|day| (model::Day(20_777 + day), 2_000)).collect(),
        ..PersonRecord::default()
    }
}

/// Beside it there is room for a closing and for Readys that wait.
#[test]
fn a_busy_person_leaves_room_for_a_closing() {
    let record = busy_record();
    let bytes = window::encode(&samples::tenant(), &samples::person("ann"), &record).unwrap();
    let room = RECORD_BYTES_MAX - CLOSING_BYTES_MAX - WAITING_BYTES_MAX;
    assert!(bytes.len() <= room, "{} of {room}", bytes.len());
}

#[test]
fn an_empty_person_is_small() {
    let bytes =
        window::encode(&samples::tenant(), &samples::person("ann"), &PersonRecord::default()).unwrap();
    assert_eq!(bytes.len(), 32);
}

#[test]
fn records_do_not_pass_for_each_other() {
    for sample in samples() {
        for other in samples() {
            let same = sample.schema == other.schema;
            assert_eq!((sample.decode)(&other.bytes).is_ok(), same, "{} as {}", other.golden, sample.golden);
        }
    }
    assert!(event::decode(b"{}").unwrap_err().reason.contains("c3 01"));
    let unknown = [0xC3, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0];
    assert!(event::decode(&unknown).unwrap_err().reason.contains("0102030405060708"));
}

#[test]
fn topics_are_what_the_model_says() {
    for (name, partitions, _) in topics::all_topics(PartitionCount::USUAL) {
        let alone = [topics::QUARANTINE, topics::RETURNS, topics::REPLAYS, topics::HOUSE, topics::ERASURES];
        let keyed = !alone.contains(&name);
        assert_eq!(partitions == PartitionCount::USUAL.count(), keyed, "{name}");
    }
}

fn schema_text(name: &str) -> String {
    fs::read_to_string(schemas_dir().join(format!("{name}.avsc"))).unwrap()
}

/// The schemas, their versions and their fingerprints.
const VERSIONS: [(&str, u32, &str); 13] = [
    ("archive", 5, "0badd31f8feba819"),
    ("change", 3, "f7e37b65d9b91430"),
    ("erasure", 1, "0a2a9915a43df08c"),
    ("event", 3, "584c0ccd23719903"),
    ("inbox", 8, "4d94a1ae2c8c1ddf"),
    ("note", 2, "42bc58d75d56d12c"),
    ("pending", 2, "3f55e1d34764ee68"),
    ("quarantined", 2, "9c279e9c1afb97dd"),
    ("ready", 5, "12b1ed76debe59d2"),
    ("replay", 1, "17b5da06036bb539"),
    ("returned", 1, "e24c8d9ab7d74107"),
    ("slice", 2, "565531acba1c5f45"),
    ("window", 7, "833eaee543e20f53"),
];

/// Other languages must come to the same fingerprints. These were computed with fastavro 1.13.1.
#[test]
fn fingerprints_are_those_of_the_specification() {
    // From Avro's own list of test cases.
    assert_eq!(fingerprint::crc64_avro("\"int\"").cast_signed(), 8_247_732_601_305_521_295);
    let time = Schema::parse_str(r#"{"type": "long", "logicalType": "timestamp-millis"}"#).unwrap();
    assert_eq!(fingerprint::canonical_form(&time).unwrap(), "\"long\"");
    for (name, _, print) in VERSIONS {
        let schema = Schema::parse_str(&schema_text(name)).unwrap();
        let found: String = fingerprint::standard_fingerprint(&schema)
            .unwrap()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!((name, found.as_str()), (name, print));
    }
}

/// What is written with the library's own fingerprint is read too.
#[test]
fn both_fingerprints_are_read() {
    for sample in samples() {
        let schema = Schema::parse_str(&schema_text(sample.schema)).unwrap();
        let print = fingerprint::library_fingerprint(&schema).unwrap();
        assert_eq!(sample.bytes[2..10], fingerprint::standard_fingerprint(&schema).unwrap());
        let bytes = [&[0xC3, 0x01], &print[..], &sample.bytes[10..]].concat();
        assert_eq!((sample.decode)(&bytes).unwrap(), sample.json);
    }
}

fn walk_json(value: &Value, visit: &mut impl FnMut(&Value)) {
    visit(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk_json(item, visit)),
        Value::Object(fields) => fields.values().for_each(|field| walk_json(field, visit)),
        _ => {}
    }
}

#[test]
fn every_field_and_every_named_type_has_a_doc() {
    for (name, ..) in VERSIONS {
        let schema: Value = serde_json::from_str(&schema_text(name)).unwrap();
        assert_eq!((&schema["name"], &schema["namespace"]), (&name.into(), &"tidings".into()));
        walk_json(&schema, &mut |part| {
            if part.get("name").is_some() {
                assert!(part["doc"].as_str().is_some_and(|doc| doc.ends_with('.')), "{name}: {part}");
            }
        });
    }
}

/// A type that several schemas have is the same in each: each file stands alone, so that its fingerprint
/// covers all of it.
#[test]
fn shared_types_are_the_same_everywhere() {
    // A text that only names a type is taken for what it names.
    let mut seen: BTreeMap<String, (Value, &str)> = BTreeMap::new();
    for (name, ..) in VERSIONS {
        let schema: Value = serde_json::from_str(&schema_text(name)).unwrap();
        let mut defined = BTreeMap::new();
        walk_json(&schema, &mut |part| {
            if let (Some(type_name), Some("record" | "enum" | "fixed")) =
                (part.get("name").and_then(Value::as_str), part.get("type").and_then(Value::as_str))
            {
                defined.insert(type_name.to_owned(), part.clone());
            }
        });
        for (type_name, part) in &defined {
            let part = canonical_schema(part, &defined);
            let (first, file) = seen.entry(type_name.clone()).or_insert((part.clone(), name));
            assert_eq!(*first, part, "{type_name} in {file} and {name}");
        }
    }
}

/// Without docs and with every name replaced by what it names.
fn canonical_schema(part: &Value, defined: &BTreeMap<String, Value>) -> Value {
    match part {
        Value::String(text) => match defined.get(text) {
            Some(named) => canonical_schema(named, defined),
            None => part.clone(),
        },
        Value::Array(items) => items.iter().map(|item| canonical_schema(item, defined)).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !["doc", "namespace"].contains(&name.as_str()));
            // A type's or field's own name and an enum's symbols are no references.
            kept.map(|(name, field)| match name.as_str() {
                "name" | "symbols" => (name.clone(), field.clone()),
                _ => (name.clone(), canonical_schema(field, defined)),
            })
            .collect()
        }
        _ => part.clone(),
    }
}

/// A record as an older schema wrote it (a made-up one: ours with a field that is gone), and a codec that
/// knows both.
struct OldSchemaSample {
    sample: WireSample,
    bytes: Vec<u8>,
    codec: RecordCodec,
}

static OLD: LazyLock<Vec<OldSchemaSample>> =
    LazyLock::new(|| samples().into_iter().map(OldSchemaSample::new).collect());

impl OldSchemaSample {
    fn new(sample: WireSample) -> Self {
        let ours = schema_text(sample.schema);
        let mut older: Value = serde_json::from_str(&ours).unwrap();
        let gone = serde_json::json!({"name": "gone", "type": ["null", "string"], "default": null});
        older["fields"].as_array_mut().unwrap().insert(0, gone);
        let older = older.to_string();
        let codec = RecordCodec::new("test", &[&ours, &older]);

        let (ours, older) = (Schema::parse_str(&ours).unwrap(), Schema::parse_str(&older).unwrap());
        let reader = GenericDatumReader::builder(&ours).reader_schema(&older).build().unwrap();
        let value = reader.read_value(&mut &sample.bytes[10..]).unwrap();
        let mut bytes = [&[0xC3, 0x01][..], &fingerprint::standard_fingerprint(&older).unwrap()].concat();
        GenericDatumWriter::builder(&older).build().unwrap().write_value_ref(&mut bytes, &value).unwrap();
        Self { sample, bytes, codec }
    }
}

/// What an older schema wrote is read through it: no union is taken for another branch on the way, no
/// field is lost, nothing that is cut is taken for whole.
#[test]
fn an_older_schema_is_read_through_ours() {
    for OldSchemaSample { sample, bytes, codec } in OLD.iter() {
        assert!((sample.decode)(bytes).unwrap_err().reason.contains("fingerprint"));
        assert_eq!(read_with(sample.schema, codec, bytes).unwrap(), sample.json, "{}", sample.golden);
        for end in 0..bytes.len() {
            assert!(read_with(sample.schema, codec, &bytes[..end]).is_err(), "{} at {end}", sample.golden);
        }
    }
}

fn read_with(schema: &str, codec: &RecordCodec, bytes: &[u8]) -> Result<Value, DecodeError> {
    Ok(match schema {
        "event" => describe(codec.decode::<EventDto<'_>>(bytes)?),
        "pending" => describe(codec.decode::<AnnouncementBatchDto<'_>>(bytes)?),
        "ready" => describe(codec.decode::<ReadyDto<'_>>(bytes)?),
        "window" => describe(codec.decode::<WindowDto<'_>>(bytes)?),
        "inbox" => describe(codec.decode::<InboxItemDto<'_>>(bytes)?),
        "slice" => describe(codec.decode::<SliceDto<'_>>(bytes)?),
        "quarantined" => describe(codec.decode::<QuarantinedRecordDto<'_>>(bytes)?),
        "change" => describe(codec.decode::<ChangeDto<'_>>(bytes)?),
        "replay" => describe(codec.decode::<replay::ReplayRecord>(bytes)?),
        "note" => describe(codec.decode::<HouseNoteDto<'_>>(bytes)?),
        "returned" => describe(codec.decode::<ReturnNoticeDto<'_>>(bytes)?),
        "erasure" => describe(codec.decode::<ErasureDto<'_>>(bytes)?),
        _ => unreachable!("{schema}"),
    })
}
