//! What earlier releases wrote: their goldens are read forever, and mean what they meant.

use std::{collections::BTreeSet, fs, sync::LazyLock};

use apache_avro::{Reader, Schema, Writer, types::Value as AvroValue};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{VERSIONS, WireSample, describe, golden_path, samples, schema_text, schema_version, schemas_dir};
use crate::{DecodeError, archive::ArchiveDto, codec::RecordCodec, fingerprint};

/// A golden of an earlier version.
struct EarlierGolden {
    stem: String,
    bytes: Vec<u8>,
    json: Value,
    decode: fn(&[u8]) -> Result<Value, DecodeError>,
}

static EARLIER: LazyLock<Vec<EarlierGolden>> = LazyLock::new(|| {
    let files = fs::read_dir(schemas_dir().join("golden")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let samples = samples();
    names.filter_map(|name| EarlierGolden::new(name.strip_suffix(".json")?, &samples)).collect()
});

impl EarlierGolden {
    fn new(stem: &str, samples: &[WireSample]) -> Option<Self> {
        let (name, written) = stem.rsplit_once('.').unwrap();
        let schema = name.split_once('-').map_or(name, |(schema, _)| schema);
        // An archive is a file and no record: its goldens are read where it is tested.
        if schema == "archive" || written.parse::<u32>().unwrap() == schema_version(schema) {
            return None;
        }
        let mut json: Value =
            serde_json::from_slice(&fs::read(golden_path(&format!("{stem}.json"))).unwrap()).unwrap();
        add_missing_fields(&mut json);
        Some(Self {
            stem: stem.to_owned(),
            bytes: fs::read(golden_path(&format!("{stem}.bin"))).unwrap(),
            json,
            decode: samples.iter().find(|sample| sample.schema == schema).unwrap().decode,
        })
    }
}

/// Fields that came later: what has the first one gets the second with the value that it had all along.
fn added_fields() -> [(&'static str, &'static str, Value); 40] {
    [
        ("catalogue", "pause", json!(null)),
        ("because", "person", json!(null)),
        ("because", "score", json!(null)),
        ("plan_hash", "released", json!(false)),
        ("plan_hash", "cancelled", json!(false)),
        ("occurred", "persons", json!([])),
        ("type", "subjects", json!([])),
        ("type", "persons", json!([])),
        ("room", "headers", json!([])),
        ("expires", "silent", json!(false)),
        ("plan_hash", "after", json!(null)),
        ("plan_hash", "held", json!(null)),
        ("plan_hash", "heard", json!(0)),
        ("plan_hash", "last", json!(null)),
        ("plan_hash", "hour", json!(null)),
        ("plan_hash", "aim", json!(null)),
        ("plan_hash", "first", json!(null)),
        ("date", "keys", json!([])),
        ("told_on", "told", json!([])),
        ("told_on", "counted", json!([])),
        ("told_on", "seen", json!([])),
        ("told_on", "habit", json!([])),
        ("told_on", "badge", json!(null)),
        ("expires", "badge", json!(null)),
        ("announcements", "windows", json!([])),
        ("full", "windows", json!([])),
        ("attempt", "hook", json!(null)),
        ("covers", "hook", json!(null)),
        ("covers", "list", json!(null)),
        ("covers", "until", json!(null)),
        ("told_on", "put_off", json!([])),
        // Words of events.
        ("section", "actor", json!(null)),
        ("section", "actor_more", json!(null)),
        ("section", "kept", json!([])),
        ("section", "others", json!([])),
        ("section", "lists", json!([])),
        ("occurred", "actor_more", json!(null)),
        ("crowds", "kept", json!([])),
        ("type", "actorname", json!(null)),
        ("type", "actorkind", json!(null)),
    ]
}

pub(super) fn add_missing_fields(part: &mut Value) {
    match part {
        Value::Array(items) => items.iter_mut().for_each(add_missing_fields),
        Value::Object(fields) => {
            fields.values_mut().for_each(add_missing_fields);
            for (beside, name, value) in added_fields() {
                if fields.contains_key(beside) && !fields.contains_key(name) {
                    fields.insert(name.to_owned(), value);
                }
            }
            if let Some(Value::Object(release)) = fields.get_mut("release") {
                release.entry("key").or_insert(json!(null));
                release.entry("cancels").or_insert(json!(false));
            }
            // What a number counts, and when it was told, is not kept any more.
            if fields.contains_key("days") && fields.contains_key("since") {
                fields.extend([("days".to_owned(), json!([])), ("since".to_owned(), json!(0))]);
            }
            if fields.contains_key("unseen") {
                fields.insert("told".to_owned(), json!(0));
            }
            if let Some(Value::Object(feedback)) = fields.get_mut("feedback") {
                feedback.entry("until").or_insert(json!(null));
            }
            if let Some(Value::Object(entry)) = fields.get_mut("entry") {
                entry.entry("actor_more").or_insert(json!(null));
                entry.entry("kept").or_insert(json!([]));
            }
        }
        _ => {}
    }
}

#[test]
fn earlier_goldens_are_read() {
    for earlier in EARLIER.iter() {
        assert_eq!((earlier.decode)(&earlier.bytes).unwrap(), earlier.json, "{}", earlier.stem);
    }
    let stems: BTreeSet<_> = EARLIER.iter().map(|earlier| earlier.stem.as_str()).collect();
    let first =
        ["change.1", "event.1", "inbox-deferred.1", "inbox-follow.1", "quarantined.1", "ready.1", "window.1"];
    let later = [
        "inbox-deferred.2",
        "inbox-release.2",
        "pending.1",
        "ready.2",
        "window.2",
        "ready.3",
        "window.3",
        "window.4",
    ];
    assert!(first.iter().chain(&later).all(|stem| stems.contains(stem)), "{stems:?}");
}

/// What was open before windows noted when something last came has an instant all the same.
#[test]
fn an_earlier_window_was_last_heard_of_when_it_opened() {
    for stem in ["window.1", "window.2"] {
        let bytes = fs::read(golden_path(&format!("{stem}.bin"))).unwrap();
        let (_, _, record) = crate::window::decode(&bytes).unwrap();
        let open = &record.windows[0];
        assert_eq!((open.last, open.heard, open.first), (open.opening, 0, None), "{stem}");
    }
}

#[test]
fn nothing_of_an_earlier_golden_can_be_cut() {
    for earlier in EARLIER.iter() {
        for end in 0..earlier.bytes.len() {
            assert!((earlier.decode)(&earlier.bytes[..end]).is_err(), "{} at {end}", earlier.stem);
        }
        let more = [earlier.bytes.as_slice(), &[0]].concat();
        assert!((earlier.decode)(&more).is_err(), "{}", earlier.stem);
    }
}

/// A file of rows is read through ours too, if its schema was ours once.
#[test]
fn an_earlier_archive_is_read_through_ours() {
    let ours = schema_text("archive");
    let mut older: Value = serde_json::from_str(&ours).unwrap();
    let gone = json!({"name": "gone", "type": "string"});
    older["fields"].as_array_mut().unwrap().insert(1, gone);
    // What came later: a field with a default, within one of the sorts of rows.
    older["fields"][4]["type"][0]["fields"].as_array_mut().unwrap().pop();
    let older = older.to_string();
    let codec = RecordCodec::new("test", &[&ours, &older]);
    let (older, ours) = (Schema::parse_str(&older).unwrap(), Schema::parse_str(&ours).unwrap());
    assert!(codec.knows_schema(&older).unwrap() && codec.knows_schema(&ours).unwrap());
    assert!(!codec.knows_schema(&Schema::parse_str("\"long\"").unwrap()).unwrap());

    let rows = super::samples::rows();
    let mut now = Writer::new(&ours, Vec::new()).unwrap();
    for (of, row) in &rows {
        now.append_ser(ArchiveDto::from_row(of, row)).unwrap();
    }
    let mut then = Writer::new(&older, Vec::new()).unwrap();
    for value in Reader::new(now.into_inner().unwrap().as_slice()).unwrap() {
        let AvroValue::Record(mut fields) = value.unwrap() else { panic!("a row is a record") };
        fields.insert(1, ("gone".to_owned(), AvroValue::String("x".to_owned())));
        if let AvroValue::Union(0, row) = &mut fields[4].1
            && let AvroValue::Record(entry) = row.as_mut()
        {
            entry.pop();
        }
        then.append_value(AvroValue::Record(fields)).unwrap();
    }
    let then = then.into_inner().unwrap();
    let found = Reader::new(then.as_slice()).unwrap().map(|value| {
        let row: ArchiveDto<'_> = codec.resolve(value.unwrap()).unwrap();
        describe(row)
    });
    let expected = rows.iter().map(|(of, row)| {
        let mut row = describe(ArchiveDto::from_row(of, row));
        if let Some(kept) = row.pointer_mut("/row/entry/kept") {
            *kept = json!([]);
        }
        row
    });
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert!(crate::archive::open_archive(then.as_slice()).is_err());
}

/// Every earlier schema is kept as it was.
#[test]
fn earlier_schemas_stay_as_they_were() {
    let prints = [
        ("archive.1", "0f0856096ec977bd"),
        ("archive.2", "db28b76e6b7c0825"),
        ("archive.3", "2caa1b7131bab888"),
        ("archive.4", "b77e05ccfb6a63a6"),
        ("change.1", "7fb033718020fa85"),
        ("change.2", "b58d14ad4220fee6"),
        ("event.1", "8aa834e0c2a80b11"),
        ("event.2", "a5079a780a680505"),
        ("inbox.1", "bacee70d2e63c0d3"),
        ("inbox.2", "4212c7da8abc38b9"),
        ("inbox.3", "460809134ae902dc"),
        ("inbox.4", "872e246c641a6f0b"),
        ("inbox.5", "1392bea981970d57"),
        ("inbox.6", "c6fa20b3317ff67f"),
        ("inbox.7", "22b5253d22401419"),
        ("note.1", "74d68af4456c7992"),
        ("pending.1", "77cbf9341c05d1f3"),
        ("quarantined.1", "57b81a72e27fab80"),
        ("ready.1", "360bfd41d1076b83"),
        ("ready.2", "6bb768801080a73a"),
        ("ready.3", "f102bc1fab550097"),
        ("ready.4", "b6a24bdc13aea8cc"),
        ("slice.1", "ef45482c0dcb8dc7"),
        ("window.1", "13cb5bb2f9be4f6b"),
        ("window.2", "5701565c9fce7e28"),
        ("window.3", "517043733dff208b"),
        ("window.4", "5f5c691f1cd8d483"),
        ("window.5", "158492328cb0b4db"),
        ("window.6", "3ad985bcadf4cb03"),
    ];
    for (stem, print) in prints {
        let text = fs::read_to_string(schemas_dir().join(format!("old/{stem}.avsc"))).unwrap();
        let found = fingerprint::standard_fingerprint(&Schema::parse_str(&text).unwrap()).unwrap();
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((stem, found.as_str()), (stem, print));
    }
    let kept = VERSIONS.iter().map(|(_, version, _)| *version as usize - 1).sum::<usize>();
    assert_eq!((fs::read_dir(schemas_dir().join("old")).unwrap().count(), prints.len()), (kept, kept));
}

proptest! {
    #[test]
    fn mutated_earlier_records_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let earlier = &EARLIER[which.index(EARLIER.len())];
        let mut bytes = earlier.bytes.clone();
        for (at, byte) in changes {
            // The header stays, or little behind it would be tried.
            let at = 10 + at.index(bytes.len() - 10);
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        drop((earlier.decode)(&bytes));
    }
}
