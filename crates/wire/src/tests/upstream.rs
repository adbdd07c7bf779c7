//! What comes from others: Debezium in every shape, Avro of any schema, CloudEvents in both modes; and
//! bytes that mean harm.

use std::sync::{Arc, LazyLock};

use apache_avro::{Schema, types::Value as Avro, writer::datum::GenericDatumWriter};
use async_trait::async_trait;
use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    NoSchemaSource, SchemaLookupError, SchemaSource, change, datum, framing,
    schemas::{self, WriterSchema},
    upstream::{self, HTTP_PREFIX, KAFKA_PREFIX, UpstreamError, UpstreamRecord, UpstreamRow},
};

/// Knows one schema, as 7; of 8 nobody can say.
#[derive(Debug)]
struct OneSchemaSource(&'static str);

#[async_trait]
impl SchemaSource for OneSchemaSource {
    async fn schema(&self, id: u32) -> Result<Arc<WriterSchema>, SchemaLookupError> {
        match id {
            7 => WriterSchema::parse(self.0).map(Arc::new).map_err(SchemaLookupError::Unknown),
            8 => Err(SchemaLookupError::Unreachable("away".to_owned())),
            _ => NoSchemaSource.schema(id).await,
        }
    }
}

fn raw_record<'a>(
    headers: &'a upstream::UpstreamHeaders,
    key: &'a [u8],
    value: Option<&'a [u8]>,
) -> UpstreamRecord<'a> {
    UpstreamRecord { headers, key, value }
}

fn describe_row(read: Result<Option<UpstreamRow>, UpstreamError>) -> String {
    match read {
        Err(error) => format!("refused {error}"),
        Ok(None) => "nothing".to_owned(),
        Ok(Some(row)) => {
            let mut text = format!("{:?} {}", row.did, row.row);
            if let Some(before) = row.before {
                text += &format!(" was {before}");
            }
            if !row.key.is_null() {
                text += &format!(" key {}", row.key);
            }
            if let Some(version) = row.version {
                text += &format!(" v{version}");
            }
            if let Some(time) = row.time {
                text += &format!(" at {time}");
            }
            text + &row.id.map(|id| format!(" id {id}")).unwrap_or_default()
        }
    }
}

const PG: &str = r#""source":{"db":"g","schema":"public","table":"w","lsn":44,"ts_ms":1700000000000}"#;

fn check_debezium(value: Option<&str>, key: &str, expected: &str) {
    let value = value.map(|value| value.replace("PG", PG));
    let raw = raw_record(&[], key.as_bytes(), value.as_deref().map(str::as_bytes));
    let row = describe_row(block_on(upstream::read_debezium(raw, &NoSchemaSource)));
    assert_eq!(row, expected, "{value:?}");
}

#[test]
fn debezium_in_every_shape() {
    let check = check_debezium;
    let at = "at 2023-11-14T22:13:20.000Z";
    let key = r#"{"id":1}"#;
    check(
        Some(r#"{"before":null,"after":{"id":1},PG,"op":"c","ts_ms":1700000000999}"#),
        key,
        &format!(r#"Insert {{"id":1}} key {{"id":1}} v44 {at} id g.public.w@44+{{"id":1}}"#),
    );
    // With schemas, in value and key.
    check(
        Some(r#"{"schema":{"type":"struct"},"payload":{"after":{"id":1},PG,"op":"c"}}"#),
        r#"{"schema":{},"payload":{"id":1}}"#,
        &format!(r#"Insert {{"id":1}} key {{"id":1}} v44 {at} id g.public.w@44+{{"id":1}}"#),
    );
    check(
        Some(r#"{"before":{"id":1,"t":"a"},"after":{"id":1,"t":"b"},PG,"op":"u"}"#),
        key,
        &format!(
            r#"Update {{"id":1,"t":"b"}} was {{"id":1,"t":"a"}} key {{"id":1}} v44 {at} id g.public.w@44+{{"id":1}}"#
        ),
    );
    // A column that has not changed is not sent, and one that is null is null.
    check(
        Some(r#"{"after":{"id":1,"t":"__debezium_unavailable_value","u":null},PG,"op":"u"}"#),
        key,
        &format!(r#"Update {{"id":1,"u":null}} key {{"id":1}} v44 {at} id g.public.w@44+{{"id":1}}"#),
    );
    check(
        Some(r#"{"before":{"id":1,"t":"a"},"after":null,PG,"op":"d"}"#),
        key,
        &format!(r#"Delete {{"id":1,"t":"a"}} key {{"id":1}} v44 {at} id g.public.w@44-{{"id":1}}"#),
    );
    // Without the row before, the key is all there is.
    check(
        Some(r#"{"before":null,"after":null,PG,"op":"d"}"#),
        key,
        &format!(r#"Delete {{"id":1}} key {{"id":1}} v44 {at} id g.public.w@44-{{"id":1}}"#),
    );
    check(
        Some(r#"{"after":{"id":1},"op":"r","ts_ms":1700000000000}"#),
        "",
        &format!(r#"Read {{"id":1}} {at}"#),
    );
    check(
        Some(r#"{"after":{"id":1},"op":"c","source":{"file":"binlog.000002","pos":5,"row":3,"table":"w"}}"#),
        "k",
        r#"Insert {"id":1} key "k" v2199023255557 id w@binlog.000002:5:3+"k""#,
    );
    check(Some(r#"{"op":"t",PG}"#), "", &format!("Empty {{}} v44 {at}"));
    for nothing in [
        None,
        Some(r#"{"schema":{},"payload":null}"#),
        Some(r#"{"op":"m","message":{}}"#),
        Some(r#"{"status":"BEGIN","id":"571","ts_ms":1}"#),
    ] {
        check(nothing, key, "nothing");
    }
    let no = "refused it is not a change record: ";
    check(Some("[]"), key, &format!("{no}not an object"));
    check(Some("{}"), key, &format!("{no}there is no `op`"));
    check(Some(r#"{"op":"x"}"#), key, &format!("{no}op `x`"));
    check(Some(r#"{"op":"c"}"#), key, &format!("{no}the row is missing"));
    check(Some(r#"{"op":"d"}"#), "", &format!("{no}the row is missing"));
    check(Some("{"), key, "refused it is not JSON: EOF while parsing an object at line 1 column 1");
    check(
        Some("\0\0\0\0\u{7}x"),
        key,
        "refused it was written with schema 7 of a registry, and none is configured",
    );
}

/// A row in Avro, as Debezium and Kafka Connect write it: named types used again, optional columns.
const ENVELOPE: &str = r#"{"type":"record","name":"Envelope","namespace":"g","fields":[
    {"name":"before","type":["null",{"type":"record","name":"Value","fields":[
        {"name":"id","type":"long"},
        {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
        {"name":"on","type":{"type":"int","logicalType":"date"}},
        {"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},
        {"name":"sort","type":{"type":"enum","name":"Sort","symbols":["a","b"]}},
        {"name":"raw","type":"bytes"},
        {"name":"ratio","type":"float"},
        {"name":"tags","type":{"type":"array","items":["null","string"]}},
        {"name":"more","type":{"type":"map","values":"boolean"}}]}],"default":null},
    {"name":"after","type":["null","Value"],"default":null},
    {"name":"op","type":"string"}]}"#;

fn envelope() -> Vec<u8> {
    let one = |text: &str| Avro::Union(1, Box::new(Avro::String(text.to_owned())));
    let value = Avro::Record(vec![
        ("id".to_owned(), Avro::Long(-5)),
        ("price".to_owned(), Avro::Decimal(vec![0xFF, 0x85].into())),
        ("on".to_owned(), Avro::Date(19_675)),
        ("at".to_owned(), Avro::TimestampMicros(1_700_000_000_123_456)),
        ("sort".to_owned(), Avro::Enum(1, "b".to_owned())),
        ("raw".to_owned(), Avro::Bytes(vec![1, 2])),
        ("ratio".to_owned(), Avro::Float(0.1)),
        ("tags".to_owned(), Avro::Array(vec![one("x"), Avro::Union(0, Box::new(Avro::Null))])),
        ("more".to_owned(), Avro::Map([("m".to_owned(), Avro::Boolean(true))].into())),
    ]);
    let record = Avro::Record(vec![
        ("before".to_owned(), Avro::Union(0, Box::new(Avro::Null))),
        ("after".to_owned(), Avro::Union(1, Box::new(value))),
        ("op".to_owned(), Avro::String("c".to_owned())),
    ]);
    write_avro(ENVELOPE, &record)
}

fn write_avro(schema: &str, value: &Avro) -> Vec<u8> {
    let schema = Schema::parse_str(schema).unwrap();
    let mut datum = Vec::new();
    GenericDatumWriter::builder(&schema).build().unwrap().write_value_ref(&mut datum, value).unwrap();
    datum
}

fn row_after() -> Value {
    json!({"id": -5, "price": "-1.23", "on": "2023-11-14", "at": "2023-11-14T22:13:20.123Z", "sort": "b",
        "raw": "AQI=", "ratio": 0.1, "tags": ["x", null], "more": {"m": true}})
}

#[test]
fn avro_of_any_schema_is_json() {
    let expected = json!({"before": null, "after": row_after(), "op": "c"});
    let writer = WriterSchema::parse(ENVELOPE).unwrap();
    assert_eq!(datum::datum_to_json(&writer, &envelope()).unwrap(), expected);
    let value = framing::add_frame(7, &envelope());
    let read =
        block_on(upstream::read_debezium(raw_record(&[], b"", Some(&value)), &OneSchemaSource(ENVELOPE)))
            .unwrap()
            .unwrap();
    assert_eq!(read.row, row_after());
    for end in 0..envelope().len() {
        assert!(datum::datum_to_json(&writer, &envelope()[..end]).is_err(), "{end}");
    }
    let more = [envelope().as_slice(), &[0]].concat();
    assert!(datum::datum_to_json(&writer, &more).unwrap_err().reason.contains("1 bytes follow"));
}

#[test]
fn decimals_and_uuids_are_text() {
    let check = |schema: &str, bytes: &[u8], expected: Value| {
        let found = datum::datum_to_json(&WriterSchema::parse(schema).unwrap(), bytes);
        assert_eq!(found.map_err(|error| error.reason), Ok(expected), "{schema} {bytes:?}");
    };
    let decimal =
        |scale: u32| format!(r#"{{"type":"bytes","logicalType":"decimal","precision":30,"scale":{scale}}}"#);
    check(&decimal(0), &[2, 5], json!("5"));
    check(&decimal(3), &[2, 5], json!("0.005"));
    check(&decimal(2), &[2, 0x85], json!("-1.23"));
    check(&decimal(2), &[0], json!("0.00"));
    check(
        r#"{"type":"fixed","name":"u","size":16,"logicalType":"uuid"}"#,
        &[0x12; 16],
        json!("12121212-1212-1212-1212-121212121212"),
    );
    check(
        r#"{"type":"long","logicalType":"local-timestamp-millis"}"#,
        &[0],
        json!("1970-01-01T00:00:00.000"),
    );
    let long = [&[34], [1; 17].as_slice()].concat();
    let error = datum::datum_to_json(&WriterSchema::parse(&decimal(0)).unwrap(), &long).unwrap_err();
    assert!(error.reason.contains("17 bytes"), "{error}");
}

/// A few bytes that ask for very much.
#[test]
fn what_means_harm_is_refused() {
    let check = |schema: &str, bytes: &[u8], why: &str| {
        let error = datum::datum_to_json(&WriterSchema::parse(schema).unwrap(), bytes).unwrap_err();
        assert!(error.reason.contains(why), "{schema}: {error}");
    };
    let many = [0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 0];
    check(r#"{"type":"array","items":"null"}"#, &many, "more than 100000 values");
    check(
        r#"{"type":"array","items":{"type":"record","name":"n","fields":[]}}"#,
        &many,
        "more than 100000 values",
    );
    check(r#"{"type":"map","values":"null"}"#, &[4, 2, b'a', 2, b'a', 0], "`a` is given twice");
    check(r#""string""#, &many, "too early");
    check(r#""bytes""#, &[1], "negative");
    check(r#""long""#, &[0xFF; 12], "more than 64 bits");
    check(r#""double""#, &f64::NAN.to_le_bytes(), "not finite");
    let list = r#"{"type":"record","name":"l","fields":[{"name":"n","type":["null","l"]}]}"#;
    check(list, &[2; 1_000], "nested deeper than 16 levels");
    let long = "f".repeat(100_000);
    let fields = format!(r#"{{"type":"record","name":"n","fields":[{{"name":"{long}","type":"null"}}]}}"#);
    check(&format!(r#"{{"type":"array","items":{fields}}}"#), &[100, 0], "more than 4194304 bytes");
    let symbols = format!(r#"{{"type":"enum","name":"e","symbols":["{long}"]}}"#);
    let fifty = [&[100][..], &[0; 51]].concat();
    check(&format!(r#"{{"type":"array","items":{symbols}}}"#), &fifty, "more than 4194304 bytes");
    // Each record holds two of the next: from no byte at all come more values than anybody has room for.
    let mut twice = r#"{"type":"record","name":"r0","fields":[]}"#.to_owned();
    for level in 1..15 {
        twice = format!(
            r#"{{"type":"record","name":"r{level}","fields":[{{"name":"a","type":{twice}}},{{"name":"b","type":"r{}"}}]}}"#,
            level - 1
        );
    }
    assert!(datum::datum_to_json(&WriterSchema::parse(&twice).unwrap(), &[]).is_ok());
    for level in 15..40 {
        twice = format!(
            r#"{{"type":"record","name":"r{level}","fields":[{{"name":"a","type":{twice}}},{{"name":"b","type":"r{}"}}]}}"#,
            level - 1
        );
    }
    assert!(datum::datum_to_json(&WriterSchema::parse(&twice).unwrap(), &[]).is_err());
    assert!(WriterSchema::parse(&"[".repeat(100_000)).is_err());
    assert!(WriterSchema::parse(&" ".repeat(schemas::SCHEMA_BYTES_MAX + 1)).unwrap_err().contains("bytes"));
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
}

/// One change in every form is one change.
#[test]
fn a_change_is_the_same_in_every_form() {
    const FLAT: &str = r#"{"type":"record","name":"any","fields":[
        {"name":"id","type":"string"},{"name":"source","type":"string"},{"name":"type","type":"string"},
        {"name":"subject","type":"string"},{"name":"time","type":"long"},{"name":"title","type":["null","string"]}]}"#;
    let expected = upstream::change_from_attributes(
        json!({"id":"1","source":"s","type":"item.published","subject":"item:1","time":"1970-01-01T00:00:01Z","title":"Moon"})
            .as_object().unwrap().clone(),
    ).unwrap();
    let check = |headers: &upstream::UpstreamHeaders, value: &[u8], schemas: &'static str| {
        let found =
            block_on(upstream::read_change(raw_record(headers, b"", Some(value)), &OneSchemaSource(schemas)));
        assert_eq!(found.as_ref(), Ok(&expected), "{}", String::from_utf8_lossy(value));
    };
    let text = |text: &str| Avro::String(text.to_owned());
    let fields = [
        ("id", text("1")),
        ("source", text("s")),
        ("type", text("item.published")),
        ("subject", text("item:1")),
        ("time", Avro::Long(1_000)),
        ("title", Avro::Union(1, Box::new(text("Moon")))),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value)).to_vec();
    check(&[], &framing::add_frame(7, &write_avro(FLAT, &Avro::Record(fields))), FLAT);
    let ours = change::encode(&expected).unwrap();
    check(&[], &ours, FLAT);
    check(&[], &framing::add_frame(7, &ours[10..]), include_str!("../../../../schemas/change.avsc"));
    let all = [
        ("id", "1"),
        ("source", "s"),
        ("type", "item.published"),
        ("subject", "item:1"),
        ("time", "1970-01-01T00:00:01Z"),
        ("specversion", "1.0"),
    ];
    for prefix in [KAFKA_PREFIX, HTTP_PREFIX, "CE_"] {
        let named: Vec<(String, &str)> =
            all.iter().map(|(name, value)| (format!("{prefix}{name}"), *value)).collect();
        let mut pairs: Vec<(&str, &str)> =
            named.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        pairs.push(("content-type", "application/json"));
        let prefix = if prefix == HTTP_PREFIX { HTTP_PREFIX } else { KAFKA_PREFIX };
        let data = br#"{"title":"Moon"}"#;
        let found =
            block_on(upstream::read_binary_event(&headers(&pairs), prefix, Some(data), &NoSchemaSource));
        assert_eq!(found.as_ref(), Ok(&expected), "{prefix}");
    }
    let binary = headers(&all.map(|(name, value)| (&*format!("ce_{name}").leak(), value)));
    check(&binary, br#"{"title":"Moon"}"#, FLAT);
    const DATA: &str = r#"{"type":"record","name":"data","fields":[{"name":"title","type":"string"}]}"#;
    let data = Avro::Record(vec![("title".to_owned(), text("Moon"))]);
    check(&binary, &framing::add_frame(7, &write_avro(DATA, &data)), DATA);
}

/// What Confluent's Python client wrote, with our schema and with one of its own (`tests/python/upstream.py`).
#[test]
fn what_others_wrote_with_a_client_of_their_own_is_read() {
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    let ours = "000000000702310873686f701c6974656d2e7075626c697368656402106974656d3a39303100000280a4e3d8bf6800000a0a7469\
        746c650806456262127075626c69736865640201026e040608746167730a0206613a31000461740c000000000000f83f00000000\
        0000044000";
    let schema = include_str!("../../../../schemas/old/change.2.avsc");
    let found = block_on(upstream::read_change(
        raw_record(&[], b"shop", Some(&bytes(ours))),
        &OneSchemaSource(schema),
    ))
    .unwrap();
    let expected = json!({"id": "1", "source": "shop", "type": "item.published", "subject": "item:901",
        "time": "2026-11-21T10:00:00Z", "data": {"title": "Ebb", "published": true, "n": 3, "tags": ["a:1"],
        "at": {"lat": 1.5, "lon": 2.5}}});
    assert_eq!(found, upstream::change_from_attributes(expected.as_object().unwrap().clone()).unwrap());
    let schema = r#"{"type":"record","name":"WorkRow","namespace":"gallery","fields":[{"name":"id","type":"long"},{"name":"title","type":["null","string"],"default":null}]}"#;
    let found = block_on(upstream::read_row(
        raw_record(&[], b"7", Some(&bytes("00000000070e0206456262"))),
        &OneSchemaSource(schema),
    ));
    let found = found.unwrap();
    assert_eq!((found.row, found.key), (json!({"id": 7, "title": "Ebb"}), json!(7)));
}

#[test]
fn what_is_no_change_says_why() {
    let check = |headers: &upstream::UpstreamHeaders, value: Option<&[u8]>, why: &str| {
        let error =
            block_on(upstream::read_change(raw_record(headers, b"", value), &OneSchemaSource(r#""long""#)))
                .unwrap_err();
        assert!(error.to_string().contains(why), "{why}: {error}");
        error
    };
    check(&[], None, "no value");
    check(&[], Some(&framing::add_frame(9, b"x")), "schema 9 of a registry, and none is configured");
    check(&[], Some(&framing::add_frame(7, &[2])), "a change must be a record");
    let away = check(&[], Some(&framing::add_frame(8, b"x")), "away");
    assert!(matches!(away, UpstreamError::Unreachable(_)), "{away:?}");
    let id = ("ce_specversion", "1.0");
    check(&headers(&[id]), None, "/id: `id` is missing");
    check(&headers(&[id, ("ce_id", "1"), ("CE_ID", "2")]), None, "header `CE_ID` is given twice");
    check(&headers(&[id, ("ce_persons", "ann")]), None, "header `ce_persons`: it is not JSON");
    check(&[("ce_specversion".to_owned(), vec![0xFF])], None, "header `ce_specversion` is not UTF-8");
    let persons = [id, ("ce_id", "1"), ("ce_source", "s"), ("ce_type", "x"), ("ce_persons", r#"["ann"]"#)];
    let cloud =
        block_on(upstream::read_change(raw_record(&headers(&persons), b"", None), &NoSchemaSource)).unwrap();
    assert_eq!(cloud.persons[0].person, "ann");
}

static WRITER: LazyLock<WriterSchema> = LazyLock::new(|| WriterSchema::parse(ENVELOPE).unwrap());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn mutated_data_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = envelope();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        drop(datum::datum_to_json(&WRITER, &bytes));
        drop(block_on(upstream::read_change(raw_record(&[], &bytes, Some(&framing::add_frame(7, &bytes))), &OneSchemaSource(ENVELOPE))));
    }

    #[test]
    fn mutated_schemas_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"{}[]\",:0nlr".to_vec())), 0..4),
        datum in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut schema = ENVELOPE.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(schema.len());
            schema[at] = byte;
        }
        if let Ok(writer) = WriterSchema::parse(&String::from_utf8(schema).unwrap()) {
            drop(datum::datum_to_json(&writer, &datum));
        }
    }

    #[test]
    fn any_record_never_panics(key in prop::collection::vec(any::<u8>(), 0..20), value in ".{0,60}", name in "(ce_)?[a-z]{0,12}") {
        let headers = vec![("ce_specversion".to_owned(), b"1.0".to_vec()), (name, value.clone().into_bytes())];
        for headers in [headers.as_slice(), &[]] {
            let raw = raw_record(headers, &key, Some(value.as_bytes()));
            drop(block_on(upstream::read_change(raw, &NoSchemaSource)));
            drop(block_on(upstream::read_row(raw, &NoSchemaSource)));
            drop(block_on(upstream::read_debezium(raw, &NoSchemaSource)));
            drop(block_on(upstream::read_cloud_row(raw, &NoSchemaSource)));
        }
    }
}
