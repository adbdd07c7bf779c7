//! Sources: what is said of slips, and what records come to.

use std::{fs, path::Path};

use expression::{RowChange, SourceRow};
use model::UtcMillis;
use serde_json::{Value, json};

use super::{GOOD, MJML, describe_result, parse_with};
use source_text::list_choices;

use crate::{Catalogue, PROFILE_FIELDS};

pub const SOURCES: &str = r#"
sources:
  works:
    topic: gallery.public.work
    format: debezium
    tells: work.published
    otherwise: work.changed
    when: row.public and not before.public
    subject: '"work:" ~ row.id'
    actor: row.by
    data:
      title: row.title
      author: '"author:" ~ row.author_id'
      public: row.public and change != "delete"
      out: row.out | micros
      score: row.price | number
  follows:
    topic: gallery.public.follow
    format: debezium
    tells: follow
    when: not row.ended_at
    person: row.user_id
    subject: '"author:" ~ row.author_id'
  people:
    topic: people
    format: json
    tells: profile
    person: key
    version: record.offset
    data: {zone: row.tz, email: row.contact.mail}
  hints: {topic: hints, format: cloudevents}
"#;

/// A piece of the sources, what stands there instead, and what is said of it. Lines count from 1 within
/// the sources.
#[rustfmt::skip]
const SLIPS: &[(&str, &str, &str)] = &[
    ("topic: people", "topic: people", "fine"),
    ("topic: people", "topik: people", "24:5: a source has no key `topik`; did you mean `topic`?"),
    ("topic: people", "topic: a b", "24:12: `a b` is not a topic; a topic's name has 1 to 249 letters, digits, `.`, `_` or `-`"),
    ("topic: people", "topic: events", "24:12: `events` is a topic of the house; a source is a topic of another service; `changes` is always read"),
    ("format: json", "format: jsn", "25:13: there is no format `jsn`; did you mean `json`?"),
    ("format: json", "format: xml", "25:13: there is no format `xml`; use `json`, `avro`, `cloudevents` or `debezium`"),
    ("tells: work.published", "tells: wrok.published", "5:12: there is no subject `wrok`; did you mean `work`?"),
    ("tells: work.published", "tells: folow", "5:12: `folow` cannot be told; did you mean `follow`?"),
    ("otherwise: work.changed", "otherwise: author.changed", "6:16: `otherwise` cannot be author.changed; it must be an event of the same subject"),
    ("tells: follow", "tells: follow\n    otherwise: work.changed", "20:16: `otherwise` is for events: a fact ends if `when` does not hold"),
    ("    person: row.user_id\n", "", "19:12: `tells: follow` needs `person`"),
    ("    person: row.user_id\n", "    person: row.user_id\n    actor: row.x\n", "22:12: `actor` has no effect here; `tells: follow` has `person`, `subject`, `time` or `version`"),
    ("person: row.user_id", "person: [row.user_id]", "21:13: `person` must be a text, not a list"),
    ("person: row.user_id", "person: rwo.user_id", "21:13: there is no `rwo`; did you mean `row`?"),
    ("person: key", "person: before.id", "27:13: there is no `before`; a text here reads `change`, `key`, `record` or `row`"),
    ("version: record.offset", "version: record.ofset", "28:21: `record` has no `ofset`; did you mean `offset`?"),
    ("zone: row.tz", "zon: row.tz", "29:12: there is no field `zon`; did you mean `zone`?"),
    ("    data: {zone: row.tz, email: row.contact.mail}\n", "", "26:12: `tells: profile` needs `data`; it has FIELDS"),
    ("title: row.title", "titel: row.title", "11:7: there is no field `titel`; did you mean `title`?"),
    ("row.out | micros", "row.out | micro", "14:22: there is no filter `micro`; did you mean `micros`?"),
    ("when: not row.ended_at", "when: '\"x\"'", "20:12: a condition must be true or false, this is text; say what about it: `\"x\" is defined`, or compare it"),
    ("when: not row.ended_at", "when: true", "20:11: `when` must be a text, not a flag; write it in quotes"),
    ("when: not row.ended_at", "snapshot: no", "20:15: `snapshot` must be true or false, not a text"),
    ("when: not row.ended_at", "snapshot: false", "fine"),
    ("format: cloudevents}", "format: cloudevents, person: key}", "30:54: without `tells`, each record is taken as it is, and `person` has no effect"),
    ("tells: profile", "tells: follow\n    subject: '\"author:1\"'", "30:11: a follow has `person` and `subject`, and no `data`"),
];

#[test]
fn slips_in_sources_are_found_where_they_are() {
    let mut wrong = Vec::new();
    for (piece, by, expected) in SLIPS {
        assert!(SOURCES.matches(piece).count() == 1, "`{piece}` must be there once");
        let text = SOURCES.replace(piece, by);
        // First, so that the lines are these.
        let text = format!("{}{}", text.trim_start(), GOOD.trim_start());
        let found = describe_result(parse_with(&text, MJML));
        // Every hook has some.
        let expected = expected.replace("FIELDS", &list_choices(PROFILE_FIELDS));
        if found != expected {
            wrong.push(format!("`{piece}` became `{by}`\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn tell_row(source: &str, change: RowChange, row: &Value, before: Option<&Value>, key: &Value) -> String {
    tell_row_with_block(source, change, row, before, key, &Value::Null)
}

/// The same, with the block in which Debezium says where a row came from.
fn tell_row_with_block(
    source: &str,
    change: RowChange,
    row: &Value,
    before: Option<&Value>,
    key: &Value,
    block: &Value,
) -> String {
    let catalogue =
        parse_with(&format!("{GOOD}{SOURCES}"), MJML).unwrap_or_else(|problems| panic!("{problems}"));
    let row = SourceRow {
        change,
        row,
        before,
        key,
        source: block,
        event: &Value::Null,
        topic: "t",
        partition: 1,
        offset: 7,
        appended: UtcMillis(1_000),
    };
    match catalogue.sources[source].tells.as_ref().unwrap().tell(row) {
        Err(bad) => format!("refused {bad}"),
        Ok(said) => {
            let one =
                |said: crate::RowStatement| format!("{:?} {} {}", said.what, said.on, json!(said.attributes));
            said.into_iter().map(one).collect::<Vec<_>>().join(" + ")
        }
    }
}

#[test]
fn rows_become_events() {
    use RowChange::{Delete, Empty, Insert, Read, Update};
    let row = |public: bool| {
        json!({"id": 7, "title": "Moon", "author_id": 3, "public": public, "by": 12,
            "out": 1_700_000_000_000_000_i64, "price": "1.50"})
    };
    let check = |change, row: &Value, before: Option<&Value>, expected: &str| {
        assert_eq!(
            tell_row("works", change, row, before, &Value::Null),
            expected,
            "{change:?} {row} {before:?}"
        );
    };
    let event = |what: &str, public: bool| {
        format!(
            r#"Event("work.{what}") true {{"actor":"12","subject":"work:7","data":{{"author":"author:3","out":"2023-11-14T22:13:20.000Z","public":{public},"score":1.5,"title":"Moon"}}}}"#
        )
    };
    check(Insert, &row(true), None, &event("published", true));
    check(Insert, &row(false), None, &event("changed", false));
    check(Update, &row(true), Some(&row(false)), &event("published", true));
    check(Update, &row(true), Some(&row(true)), &event("changed", true));
    check(Delete, &row(true), None, &event("changed", false));
    check(Read, &row(true), None, "");
    check(Empty, &json!({}), None, "");
    check(
        Update,
        &row(true),
        None,
        "refused `when` reads the row before the update, which the record does not have: in PostgreSQL, set REPLICA IDENTITY FULL for the table",
    );
    // What is null is taken away, what is missing is not stated, and neither is ever a name.
    check(
        Insert,
        &json!({"id": 7, "title": null, "author_id": null}),
        None,
        r#"Event("work.changed") true {"subject":"work:7","data":{"author":null,"title":null}}"#,
    );
    for nobody in [json!({"title": "x"}), json!({"id": null})] {
        check(Insert, &nobody, None, r#"refused `subject`: `"work:" ~ row.id` has no value in this record"#);
    }
    check(
        Insert,
        &json!({"id": 7, "price": "much"}),
        None,
        "refused `score`: `row.price | number`: invalid operation: it is not a number (in expression:1)",
    );
}

#[test]
fn rows_become_facts() {
    use RowChange::{Delete, Empty, Insert, Read, Update};
    let row = |author: u32, ended: Value| json!({"user_id": "ann", "author_id": author, "ended_at": ended});
    let check = |change, row: &Value, before: Option<&Value>, expected: &str| {
        assert_eq!(
            tell_row("follows", change, row, before, &Value::Null),
            expected,
            "{change:?} {row} {before:?}"
        );
    };
    let on = |author: u32, on: bool| {
        format!(r#"Follow {on} {{"data":{{"person":"ann","target":"author:{author}"}}}}"#)
    };
    check(Insert, &row(3, Value::Null), None, &on(3, true));
    check(Read, &row(3, Value::Null), None, &on(3, true));
    check(Insert, &row(3, json!("2026-01-01")), None, &on(3, false));
    check(Update, &row(3, json!("2026-01-01")), Some(&row(3, Value::Null)), &on(3, false));
    check(
        Update,
        &row(4, Value::Null),
        Some(&row(3, Value::Null)),
        &format!("{} + {}", on(3, false), on(4, true)),
    );
    check(Delete, &row(3, Value::Null), None, &on(3, false));
    check(Delete, &json!({"id": 1}), None, "refused `person`: `row.user_id` has no value in this record");
    check(
        Empty,
        &json!({}),
        None,
        "refused the table was truncated, and the record does not say which facts ended",
    );
    let person = json!("ann");
    let people = |change, row: Value| tell_row("people", change, &row, None, &person);
    assert_eq!(
        people(Update, json!({"tz": "Asia/Tokyo", "contact": {"mail": null}})),
        r#"Profile true {"version":7,"data":{"email":null,"zone":"Asia/Tokyo","person":"ann"}}"#
    );
    assert_eq!(
        people(Update, json!({"tz": "Asia/Tokyo"})),
        r#"Profile true {"version":7,"data":{"zone":"Asia/Tokyo","person":"ann"}}"#
    );
    assert_eq!(people(Delete, json!("ann")), "");
}

#[test]
fn an_update_without_the_row_before_may_have_moved_a_fact() {
    use RowChange::{Delete, Insert, Update};
    let (row, block) = (json!({"user_id": "ann", "author_id": 3, "ended_at": null}), json!({"lsn": 7}));
    let on = r#"Follow true {"data":{"person":"ann","target":"author:3"}}"#;
    let refused = "refused the update does not say which person and subject the row had before: in PostgreSQL, set REPLICA IDENTITY FULL for the table, or make person and subject its key";
    let check = |change, before: Option<&Value>, key: Value, block: &Value, expected: &str| {
        let found = tell_row_with_block("follows", change, &row, before, &key, block);
        assert_eq!(found, expected, "{change:?} {before:?} {key} {block}");
    };
    let whole = json!({"user_id": "ann", "author_id": 3});
    check(Update, None, json!({"id": 1}), &block, refused);
    check(Update, None, json!({"id": 1, "user_id": "ann"}), &block, refused);
    check(Update, None, whole, &block, on);
    check(Update, Some(&row), json!({"id": 1}), &block, on);
    check(Insert, None, json!({"id": 1}), &block, on);
    check(Delete, None, json!({"id": 1}), &block, &on.replace("true", "false"));
    // What is no table has no row before: each record is a statement.
    check(Update, None, json!({"id": 1}), &Value::Null, on);
}

#[test]
fn a_source_is_part_of_the_catalogue() {
    let parse = |sources: &str| parse_with(&format!("{GOOD}{sources}"), MJML).unwrap();
    let (with, without) = (parse(SOURCES), parse(""));
    assert_ne!(with.hash, without.hash);
    assert_ne!(with.hash, parse(&SOURCES.replace("not row.ended_at", "not row.ended")).hash);
    assert_eq!(with.plans, without.plans);
    let topics = ["gallery.public.follow", "gallery.public.work", "hints", "people"];
    assert_eq!(with.foreign_topics().into_iter().collect::<Vec<_>>(), topics);
}

/// What the page for upstream teams shows goes with the example.
#[test]
fn the_sources_of_the_page_are_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/sources.md")).unwrap();
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (sources, _) = rest.split_once("```").unwrap();
    let folder = root.join("examples/gallery");
    let text = fs::read_to_string(folder.join("catalogue.yaml")).unwrap();
    let template = |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let catalogue = Catalogue::parse(&format!("{text}\n{sources}"), "c.yaml", &template);
    assert_eq!(catalogue.unwrap_or_else(|problems| panic!("{problems}")).sources.len(), 4);
}
