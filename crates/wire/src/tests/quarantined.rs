//! Records that are put aside: as they lay, with their cause, whatever they are.

use super::samples;
use crate::{QuarantineCause, QuarantinedRecord, UnusableRecord, quarantine};

#[test]
fn a_record_is_put_aside_as_it_lay() {
    let record = samples::quarantined_record();
    let unusable = UnusableRecord {
        topic: &record.topic,
        partition: record.partition,
        offset: record.offset,
        appended: record.appended,
        key: &record.key,
        value: record.value.as_deref(),
    };
    let aside =
        quarantine::put_aside(unusable, (record.cause, record.reason.as_str()), &record.room, record.at);
    assert_eq!(aside.with_headers(&record.headers), record);
    let tombstone = UnusableRecord { value: None, ..unusable };
    assert_eq!(quarantine::put_aside(tombstone, (record.cause, "x"), "ingest", record.at).value, None);
}

#[test]
fn the_cause_stands_in_a_header_that_may_be_missing_or_strange() {
    for cause in QuarantineCause::ALL {
        assert_eq!(QuarantineCause::read(&cause.headers()), cause);
    }
    assert_eq!(QuarantineCause::read(&[]), QuarantineCause::Other);
    assert_eq!(QuarantineCause::read(&[("cause".to_owned(), vec![0xFF])]), QuarantineCause::Other);
}

#[test]
fn anything_can_be_put_aside() {
    let record = QuarantinedRecord {
        key: vec![1; 5_000],
        value: Some(vec![2; 3 * 1024 * 1024]),
        headers: vec![("x".to_owned(), vec![3; 300]); 200],
        reason: "ä".repeat(5_000),
        ..samples::quarantined_record()
    };
    let (key, value) = quarantine::encode_with_key(&record).unwrap();
    assert_eq!(key, record.key[..quarantine::KEY_BYTES_KEPT], "no log takes a key of any length");
    let back = quarantine::decode(&value).unwrap();
    assert!(back.cut);
    assert_eq!(back.value.unwrap().len(), quarantine::VALUE_BYTES_KEPT);
    assert_eq!(back.key.len(), quarantine::KEY_BYTES_KEPT);
    assert_eq!(back.headers.len(), 16 * 1024 / 301);
    assert!(record.reason.starts_with(&back.reason));
}
