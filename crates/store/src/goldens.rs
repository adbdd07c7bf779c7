//! The values that the store writes, and those of earlier formats that are still read: `schemas/rows/store.<format>.txt`
//! has a line for each, a name and the bytes. `UPDATE_GOLDENS=1` rewrites that of the format of today.

use std::{fs, path::PathBuf};

use house_facts::format::{FORMAT_WRITTEN, FORMATS_READ};
use model::{
    Channel, DayLife, EndReason, GeoPoint, PlanName, SubjectRef, Value, VersionedState,
    event::FirstWord,
    returns::{AddressHash, Slip},
};

use crate::{
    codec,
    conformance::samples::{NOW, entry_key, later_rows, person, plain_rows, ready_id, tenant, today},
    port::{JournalClaim, JournalOutcome, JournalRecord, StandingAnswer},
    rows,
};

/// Between the key and the value of a row.
const BETWEEN: &str = "|";

/// Whether rows are what was meant.
type RowCheck = Box<dyn Fn(&[Vec<u8>]) -> bool>;

/// A value that is stored, and whether bytes mean the same.
struct StoredSample {
    name: String,
    parts: Vec<Vec<u8>>,
    is_meant: RowCheck,
}

fn sample(
    name: impl Into<String>,
    bytes: Vec<u8>,
    is_meant: impl Fn(&[u8]) -> bool + 'static,
) -> StoredSample {
    let is_meant = Box::new(move |parts: &[Vec<u8>]| is_meant(&parts[0]));
    StoredSample { name: name.into(), parts: vec![bytes], is_meant }
}

fn every_value() -> VersionedState {
    let subject = |name| SubjectRef::new(name).unwrap();
    VersionedState::from_values(
        7,
        [
            ("flag", Some(Value::Flag(true))),
            ("gone", None),
            ("number", Some(Value::Number(2.5))),
            ("place", Some(Value::Place(GeoPoint { lat: 52.5, lon: -13.25 }))),
            ("ref", Some(Value::Ref(subject("maker:7")))),
            ("refs", Some(Value::Refs(vec![subject("maker:7"), subject("maker:8,9")]))),
            ("text", Some(Value::from_text("Grüße"))),
            ("time", Some(Value::Time(NOW))),
        ],
    )
}

fn journal_samples() -> Vec<StoredSample> {
    let claim = JournalClaim {
        ready: ready_id(1),
        attempt: 2,
        token: [9; 16],
        at: NOW,
        deadline: NOW.plus(120_000),
        told: vec![entry_key(0, today()), entry_key(1, today())],
        plan: None,
    };
    let of_plan = JournalClaim { plan: Some(PlanName::new("morning").unwrap()), ..claim.clone() };
    let outcomes = [
        JournalOutcome::Sent,
        JournalOutcome::Nothing,
        JournalOutcome::Refused,
        JournalOutcome::NotSent,
        JournalOutcome::Unknown,
        JournalOutcome::Unsure,
        JournalOutcome::Returned,
        JournalOutcome::Away,
    ];
    let records = outcomes.map(|what| {
        let left = vec![(entry_key(2, today()), EndReason::Refused)];
        let record = JournalRecord { ready: ready_id(1), attempt: 2, at: NOW, what, left };
        let bytes = codec::encode_record(&record).unwrap();
        sample(format!("record-{what:?}").to_lowercase(), bytes, move |bytes| {
            codec::decode_record(ready_id(1), 2, bytes).unwrap() == record
        })
    });
    let slip = Slip {
        tenant: tenant("main").unwrap(),
        person: person("ann").unwrap(),
        plan: PlanName::new("morning").unwrap(),
        stream: "news".into(),
        channel: Channel::Email,
        address: AddressHash([3; 16]),
        at: NOW,
    };
    let mut all = vec![
        sample("claim", codec::encode_claim(&claim).unwrap(), move |bytes| {
            codec::decode_claim(ready_id(1), 2, bytes).unwrap() == claim
        }),
        sample("claim-plan", codec::encode_claim(&of_plan).unwrap(), move |bytes| {
            codec::decode_claim(ready_id(1), 2, bytes).unwrap() == of_plan
        }),
        sample("slip", codec::encode_slip(&slip).unwrap(), move |bytes| {
            codec::decode_slip(bytes).unwrap() == slip
        }),
    ];
    all.extend(records);
    all
}

fn row_samples() -> Vec<StoredSample> {
    let rows = [plain_rows(today()).unwrap(), later_rows(today()).unwrap()].concat().into_iter();
    let row_sample = |(number, row)| {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        rows::push_row(&mut key, &mut value, &row).unwrap();
        let is_meant = move |parts: &[Vec<u8>]| rows::decode_row(&parts[0], &parts[1]).unwrap() == row;
        StoredSample { name: format!("row-{number}"), parts: vec![key, value], is_meant: Box::new(is_meant) }
    };
    rows.enumerate().map(row_sample).collect()
}

fn samples() -> Vec<StoredSample> {
    let state = every_value();
    let word = FirstWord { occurred: NOW.plus(-5), version: 4 };
    let mut all = vec![
        sample("state", codec::encode_state(&state).unwrap(), move |bytes| {
            codec::decode_state(bytes).unwrap() == state
        }),
        sample("enrolment", codec::encode_enrolment(7, true).unwrap(), |bytes| {
            codec::decode_enrolment(bytes).unwrap() == (7, true)
        }),
        sample("day", codec::encode_day(today()).unwrap(), |bytes| {
            codec::decode_day(bytes).unwrap() == today()
        }),
        sample(
            "answer",
            codec::encode_answer(&StandingAnswer::for_a_day(b"{}".to_vec(), NOW)).unwrap(),
            |bytes| codec::decode_answer(bytes).unwrap() == StandingAnswer::for_a_day(b"{}".to_vec(), NOW),
        ),
        sample("word", codec::encode_word(NOW, word).unwrap(), move |bytes| {
            codec::decode_standing_word(bytes, NOW, DayLife::LEAST).unwrap() == Some((NOW, word))
        }),
    ];
    all.extend(journal_samples());
    all.extend(row_samples());
    all
}

fn golden_path(format: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/rows/store.{format}.txt"))
}

fn sample_line(sample: &StoredSample) -> String {
    let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let parts: Vec<String> = sample.parts.iter().map(hex).collect();
    format!("{} {}\n", sample.name, parts.join(BETWEEN))
}

fn decode_hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

#[test]
fn what_is_written_is_the_golden_of_its_format() {
    let (path, written) =
        (golden_path(FORMAT_WRITTEN), samples().iter().map(sample_line).collect::<String>());
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    for (golden, written) in golden.lines().zip(written.lines()) {
        assert_eq!(golden, written, "{}", path.display());
    }
    assert_eq!(golden.lines().count(), written.lines().count());
}

#[test]
fn the_goldens_of_each_format_are_read() {
    let samples = samples();
    for format in FORMATS_READ {
        let golden = fs::read_to_string(golden_path(format)).unwrap();
        assert!(!golden.is_empty(), "format {format}");
        for line in golden.lines() {
            let (name, parts) = line.split_once(' ').unwrap();
            let parts: Vec<Vec<u8>> = parts.split(BETWEEN).map(decode_hex).collect();
            let sample = samples.iter().find(|sample| sample.name == name).unwrap();
            assert!((sample.is_meant)(&parts), "{name} of format {format}");
        }
    }
}
