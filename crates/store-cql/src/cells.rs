//! Values with versions as bytes that order as the model ranks them.
//!
//! A row is written at the time stamp of its version, and of two values with one time stamp the cluster keeps
//! the greater bytes. The version is in the bytes as well, so whatever the time stamps leave open, such as
//! versions that no clock may have, is settled there: what stands is a function of what was written, in any
//! order, and it is what [`model::ValueCell::wins_over`] and [`model::CrowdEnrolment::wins_over`] say.

use model::{GeoPoint, SubjectRef, UtcMillis, Value, ValueCell};
use store::{StoreError, codec::unreadable_error};

/// In microseconds. Time stamps ahead of the cluster's clock are refused by some, so greater versions share
/// this one.
const STAMP_MAX: i64 = 1_700_000_000_000_000;

// What stands behind the version: at one version a removal wins, and so does the end of an enrolment.
const VALUE: u8 = 1;
const REMOVED: u8 = 2;

// What a value is. Its text stands before, since that is what ranks it.
const TEXT: u8 = 1;
const NUMBER: u8 = 2;
const FLAG: u8 = 3;
const TIME: u8 = 4;
const REF: u8 = 5;
const REFS: u8 = 6;
const PLACE: u8 = 7;

/// The time stamp of a version: never less for a greater one.
pub(crate) fn version_stamp(version: i64) -> i64 {
    version.clamp(-STAMP_MAX, STAMP_MAX)
}

pub(crate) fn encode_cell(cell: &ValueCell) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    push_version(&mut out, cell.version);
    let Some(value) = &cell.value else {
        out.push(REMOVED);
        return out;
    };
    out.push(VALUE);
    match value {
        Value::Text(text) => {
            push_text(&mut out, text);
            out.push(TEXT);
        }
        Value::Number(number) => {
            push_text(&mut out, &value.to_string());
            out.push(NUMBER);
            out.extend_from_slice(&number.to_be_bytes());
        }
        Value::Flag(flag) => {
            push_text(&mut out, &value.to_string());
            out.extend_from_slice(&[FLAG, u8::from(*flag)]);
        }
        Value::Time(at) => {
            push_text(&mut out, &value.to_string());
            out.push(TIME);
            out.extend_from_slice(&at.0.to_be_bytes());
        }
        Value::Ref(subject) => {
            push_text(&mut out, subject.as_str());
            out.push(REF);
        }
        Value::Refs(subjects) => {
            push_text(&mut out, &value.to_string());
            out.push(REFS);
            // Names may have commas, so their lengths tell them apart.
            out.extend(subjects.iter().map(|one| u8::try_from(one.as_str().len()).unwrap_or(u8::MAX)));
        }
        Value::Place(GeoPoint { lat, lon }) => {
            push_text(&mut out, &value.to_string());
            out.push(PLACE);
            out.extend_from_slice(&lat.to_be_bytes());
            out.extend_from_slice(&lon.to_be_bytes());
        }
    }
    out
}

pub(crate) fn decode_cell(bytes: &[u8]) -> Result<ValueCell, StoreError> {
    parse_cell(bytes).ok_or_else(|| unreadable_error("a state"))
}

fn parse_cell(bytes: &[u8]) -> Option<ValueCell> {
    let (version, rest) = split_version(bytes)?;
    let value = match rest.split_first()? {
        (&REMOVED, []) => None,
        (&VALUE, rest) => Some(decode_value(rest)?),
        _ => return None,
    };
    Some(ValueCell { version, value })
}

fn decode_value(bytes: &[u8]) -> Option<Value> {
    let (text, rest) = split_text(bytes)?;
    let (&sort, rest) = rest.split_first()?;
    let subject = |text: &str| SubjectRef::new(text).ok();
    Some(match sort {
        TEXT if rest.is_empty() => Value::from_text(&text),
        NUMBER => Value::Number(f64::from_be_bytes(rest.try_into().ok()?)),
        FLAG if rest.len() == 1 => Value::Flag(rest == [1]),
        TIME => Value::Time(UtcMillis(i64::from_be_bytes(rest.try_into().ok()?))),
        REF if rest.is_empty() => Value::Ref(subject(&text)?),
        REFS => {
            let (mut refs, mut left) = (Vec::with_capacity(rest.len()), &*text);
            for length in rest {
                if !refs.is_empty() {
                    left = left.strip_prefix(',')?;
                }
                let (one, behind) = left.split_at_checked(usize::from(*length))?;
                refs.push(subject(one)?);
                left = behind;
            }
            Value::Refs(refs)
        }
        PLACE => {
            let (lat, lon) = rest.split_first_chunk::<8>()?;
            Value::Place(GeoPoint {
                lat: f64::from_be_bytes(*lat),
                lon: f64::from_be_bytes(lon.try_into().ok()?),
            })
        }
        _ => return None,
    })
}

/// How somebody stands in a crowd.
pub(crate) fn encode_standing(version: i64, is_on: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(9);
    push_version(&mut out, version);
    out.push(if is_on { VALUE } else { REMOVED });
    out
}

/// Whether somebody belongs.
pub(crate) fn is_on(bytes: &[u8]) -> Result<bool, StoreError> {
    belongs_since(bytes).map(|since| since.is_some())
}

/// The version by which somebody belongs, if they do.
pub(crate) fn belongs_since(bytes: &[u8]) -> Result<Option<i64>, StoreError> {
    match split_version(bytes) {
        Some((version, [VALUE])) => Ok(Some(version)),
        Some((_, [REMOVED])) => Ok(None),
        _ => Err(unreadable_error("an enrolment")),
    }
}

/// The version of a standing, whether somebody belongs or left.
pub(crate) fn standing_version(bytes: &[u8]) -> Result<i64, StoreError> {
    split_version(bytes).map(|(version, _)| version).ok_or_else(|| unreadable_error("an enrolment"))
}

/// Flipping the sign bit makes two's complement order as unsigned bytes.
fn push_version(out: &mut Vec<u8>, version: i64) {
    out.extend_from_slice(&(version ^ i64::MIN).to_be_bytes());
}

fn split_version(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (version, rest) = bytes.split_first_chunk::<8>()?;
    Some((i64::from_be_bytes(*version) ^ i64::MIN, rest))
}

/// Ends with two noughts; a nought within is marked, so that what is shorter still orders first.
fn push_text(out: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        out.push(byte);
        if byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn split_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        match rest {
            [0, 0, behind @ ..] => return Some((String::from_utf8(text).ok()?, behind)),
            [0, 0xff, behind @ ..] => {
                text.push(0);
                rest = behind;
            }
            [0, ..] | [] => return None,
            [byte, behind @ ..] => {
                text.push(*byte);
                rest = behind;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use house_facts::format::{FORMAT_WRITTEN, FORMATS_READ};
    use model::{Crowd, CrowdEnrolment, Person, Tenant};
    use proptest::prelude::*;

    use super::*;

    fn any_cell() -> impl Strategy<Value = ValueCell> {
        let text = || prop_oneof!["[a-c\0\u{1}\u{ff}]{0,3}", any::<String>()];
        let subject = || "[a-c]:[a-c,]{1,2}".prop_map(|text| SubjectRef::new(&text).unwrap());
        let finite = || any::<f64>().prop_filter("is a number", |number| !number.is_nan());
        let value = prop_oneof![
            text().prop_map(|text| Value::from_text(&text)),
            finite().prop_map(Value::Number),
            any::<bool>().prop_map(Value::Flag),
            any::<i64>().prop_map(|at| Value::Time(UtcMillis(at))),
            subject().prop_map(Value::Ref),
            proptest::collection::vec(subject(), 0..4).prop_map(Value::Refs),
            (finite(), finite()).prop_map(|(lat, lon)| Value::Place(GeoPoint { lat, lon })),
        ];
        let version = prop_oneof![0..3_i64, any::<i64>(), Just(i64::MIN), Just(i64::MAX)];
        (version, proptest::option::of(value)).prop_map(|(version, value)| ValueCell { version, value })
    }

    /// What the cluster goes by.
    fn rank(version: i64, bytes: Vec<u8>) -> (i64, Vec<u8>) {
        (version_stamp(version), bytes)
    }

    /// By name, the cells of `schemas/rows/cells.<format>.txt`.
    fn golden_cells() -> Vec<(&'static str, ValueCell)> {
        let subject = |name| SubjectRef::new(name).unwrap();
        let values = [
            ("flag", Some(Value::Flag(true))),
            ("gone", None),
            ("number", Some(Value::Number(2.5))),
            ("place", Some(Value::Place(GeoPoint { lat: 52.5, lon: -13.25 }))),
            ("ref", Some(Value::Ref(subject("maker:7")))),
            ("refs", Some(Value::Refs(vec![subject("maker:7"), subject("maker:8,9")]))),
            ("text", Some(Value::from_text("Grüße"))),
            ("time", Some(Value::Time(UtcMillis(1_795_264_000_000)))),
        ];
        values.into_iter().map(|(name, value)| (name, ValueCell { version: 7, value })).collect()
    }

    /// `UPDATE_GOLDENS=1` rewrites those of the format of today.
    #[test]
    fn cells_are_those_of_the_goldens_of_each_format() {
        let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let path =
            |format: u32| format!("{}/../../schemas/rows/cells.{format}.txt", env!("CARGO_MANIFEST_DIR"));
        let lines =
            golden_cells().into_iter().map(|(name, cell)| format!("{name} {}\n", hex(encode_cell(&cell))));
        let written = lines.collect::<String>() + &format!("standing {}\n", hex(encode_standing(7, true)));
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            fs::write(path(FORMAT_WRITTEN), &written).unwrap();
        }
        assert_eq!(fs::read_to_string(path(FORMAT_WRITTEN)).unwrap(), written);
        for format in FORMATS_READ {
            let golden = fs::read_to_string(path(format)).unwrap();
            assert!(!golden.is_empty(), "format {format}");
            for (name, text) in golden.lines().map(|line| line.split_once(' ').unwrap()) {
                let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
                let bytes: Vec<u8> = (0..text.len()).step_by(2).map(byte).collect();
                match golden_cells().into_iter().find(|(sample, _)| *sample == name) {
                    Some((_, cell)) => assert_eq!(decode_cell(&bytes).unwrap(), cell, "{name} of {format}"),
                    None => assert_eq!(belongs_since(&bytes).unwrap(), Some(7), "{name} of {format}"),
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_cell_comes_back(one in any_cell()) {
            prop_assert_eq!(decode_cell(&encode_cell(&one)).unwrap(), one);
        }

        #[test]
        fn the_cluster_keeps_the_cell_that_wins(one in any_cell(), other in any_cell()) {
            let by_bytes = rank(one.version, encode_cell(&one)) > rank(other.version, encode_cell(&other));
            if one.wins_over(&other) {
                prop_assert!(by_bytes);
            }
            if by_bytes {
                prop_assert!(!other.wins_over(&one));
            }
        }

        #[test]
        fn the_cluster_keeps_the_enrolment_that_wins(
            (one, one_on, other, other_on) in (any_cell(), any::<bool>(), any_cell(), any::<bool>()),
        ) {
            let enrolment = |version, on| CrowdEnrolment {
                tenant: Tenant::new("main").unwrap(),
                person: Person::new("ann").unwrap(),
                crowd: Crowd::Everyone,
                version,
                on,
            };
            let wins = enrolment(one.version, one_on).wins_over(&enrolment(other.version, other_on));
            let rank = |version, on| rank(version, encode_standing(version, on));
            prop_assert_eq!(rank(one.version, one_on) > rank(other.version, other_on), wins);
            prop_assert_eq!(is_on(&encode_standing(one.version, one_on)).unwrap(), one_on);
        }

        #[test]
        fn bytes_of_others_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            drop(decode_cell(&bytes));
            drop(is_on(&bytes));
        }
    }
}
