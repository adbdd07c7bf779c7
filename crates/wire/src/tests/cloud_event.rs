//! CloudEvents: what is taken, what is refused, and where the error is said to be.

use proptest::prelude::*;
use serde_json::json;

use crate::{
    CloudChange, CloudPerson, LIST_MAX, change,
    cloud_event::{BODY_BYTES_MAX, ITEM_BYTES_MAX, ITEMS_MAX, parse_change, parse_changes},
};

fn minimal_change() -> CloudChange {
    CloudChange {
        id: "1".to_owned(),
        source: "shop".to_owned(),
        what: "item.published".to_owned(),
        subject: None,
        subjects: Vec::new(),
        persons: Vec::new(),
        time: None,
        data: json!({}).as_object().unwrap().clone(),
        actor: None,
        actor_name: None,
        actor_kind: None,
        version: None,
    }
}

const HEAD: &str = r#""id":"1","source":"shop","type":"item.published""#;

/// One verdict for a body of one: the change's data, or place and reason of the error.
fn parse_verdict(body: &str) -> Result<CloudChange, String> {
    match parse_changes(body.as_bytes()) {
        Err(error) => Err(error.to_string()),
        Ok(mut all) => {
            assert_eq!(all.len(), 1, "{body}");
            all.remove(0).map_err(|error| error.to_string())
        }
    }
}

#[test]
fn both_forms_say_the_same() {
    let check = |body: &str| {
        let mut expected = minimal_change();
        expected.subject = Some("item:1".to_owned());
        expected.time = Some(super::samples::parse_instant("2026-11-20T10:00:00Z"));
        expected.data = json!({"title": "Moon", "count": 3}).as_object().unwrap().clone();
        expected.actor = Some("bob".to_owned());
        expected.version = Some(7);
        assert_eq!(parse_verdict(body).unwrap(), expected, "{body}");
        assert_eq!(change::decode(body.as_bytes()).unwrap(), expected, "{body}");
    };
    let more = r#""subject":"item:1","time":"2026-11-20T11:00:00+01:00","actor":"bob","version":7"#;
    let data = r#""title":"Moon","count":3"#;
    check(&format!(r#"{{"specversion":"1.0",{HEAD},{more},"data":{{{data}}}}}"#));
    check(&format!(r#"{{{HEAD},{more},"data":{{{data}}}}}"#));
    check(&format!(r#"{{{HEAD},{more},{data}}}"#));
    check(&format!(r#"{{"specversion":"1.0",{HEAD},{more},{data},"data":null}}"#));
    check(&format!("\u{feff} {{{HEAD},{},{data}}}\n", more.replace("7", r#""7""#)));
    // Other extensions of a true CloudEvent are let pass.
    check(&format!(
        r#"{{"specversion":"1.0",{HEAD},{more},"traceparent":"00-1","data":{{{data}}},
        "datacontenttype":"application/json; charset=utf-8","dataschema":"urn:x"}}"#
    ));
}

#[test]
fn errors_say_where() {
    let check = |body: &str, error: &str| assert_eq!(parse_verdict(body).unwrap_err(), error, "{body}");
    let with = |more: &str| format!("{{{HEAD},{more}}}");
    check("", "line 1 column 1: the body is empty");
    check(" \n ", "line 1 column 1: the body is empty");
    check("{", "line 1 column 1: EOF while parsing an object");
    check("{\n  \"id\": 1,\n  oops\n}", "line 3 column 3: key must be a string");
    check(&format!("{{{HEAD}}} x"), "line 1 column 52: trailing characters");
    check("7", "a change must be an object");
    check(r#"{"source":"shop","type":"t"}"#, "/id: `id` is missing");
    check(r#"{"id":"","source":"shop","type":"t"}"#, "/id: it is empty");
    check(r#"{"id":null,"source":"shop","type":"t"}"#, "/id: `id` is missing");
    check(r#"{"id":7,"source":"shop","type":"t"}"#, "/id: it is not a text");
    check(&with(r#""time":"yesterday""#), "/time: it is not a time, such as 2026-11-21T09:00:00Z (RFC 3339)");
    check(&with(r#""time":5"#), "/time: it is not a text");
    check(&with(r#""version":1.5"#), "/version: it is not a whole number of 64 bits");
    check(&with(r#""version":"x""#), "/version: it is not a whole number of 64 bits");
    check(&with(r#""version":18446744073709551615"#), "/version: it is not a whole number of 64 bits");
    check(&with(r#""specversion":"0.3""#), "/specversion: only 1.0 is supported");
    check(&with(r#""data":"text""#), "/data: it is not an object");
    check(&with(r#""data":[1]"#), "/data: it is not an object");
    check(
        &with(r#""data":{},"title":"Moon""#),
        "/data: the fields are in `data`, so `title` cannot stand beside it",
    );
    check(&with(r#""data_base64":"AAAA""#), "/data_base64: only JSON is supported");
    check(&with(r#""datacontenttype":"text/plain""#), "/datacontenttype: only JSON is supported");
    check(&with(r#""title":"a","title":"b""#), "line 1 column 69: `title` is given twice");
    check(&with(r#""id":"2""#), "line 1 column 54: `id` is given twice");
    check(&with(r#""x":{"y":{"z":1,"z":2}}"#), "line 1 column 69: `z` is given twice");
}

#[test]
fn many_subjects_and_persons_are_read() {
    let listed = |person: &str, score| CloudPerson { person: person.to_owned(), score };
    let check = |more: &str, subjects: &[&str], persons: &[CloudPerson]| {
        let mut expected = minimal_change();
        expected.subjects = subjects.iter().map(|&subject| subject.to_owned()).collect();
        expected.persons = persons.to_vec();
        expected.data = json!({"title": "Moon"}).as_object().unwrap().clone();
        for body in [
            format!(r#"{{"specversion":"1.0",{HEAD},{more},"data":{{"title":"Moon"}}}}"#),
            format!(r#"{{{HEAD},{more},"data":{{"title":"Moon"}}}}"#),
            format!(r#"{{{HEAD},{more},"title":"Moon"}}"#),
        ] {
            assert_eq!(parse_verdict(&body).unwrap(), expected, "{body}");
        }
    };
    check(r#""subjects":["item:1","item:2"]"#, &["item:1", "item:2"], &[]);
    check(
        r#""persons":["ann",{"person":"bob","score":0.93},{"score":-2,"person":"eve"},{"person":"kim"},
        {"person":"lea","score":null}]"#,
        &[],
        &[
            listed("ann", None),
            listed("bob", Some(0.93)),
            listed("eve", Some(-2.0)),
            listed("kim", None),
            listed("lea", None),
        ],
    );
    check(r#""subjects":[],"persons":[]"#, &[], &[]);
    check(r#""subjects":null,"persons":null"#, &[], &[]);
    // A list of none takes nothing away from the one.
    let one = parse_verdict(&format!(r#"{{{HEAD},"subject":"item:1","subjects":[]}}"#)).unwrap();
    assert_eq!((one.subject.as_deref(), one.subjects.len()), (Some("item:1"), 0));
}

#[test]
fn errors_in_lists_say_where() {
    let check = |more: &str, error: &str| {
        let body = format!("{{{HEAD},{more}}}");
        assert_eq!(parse_verdict(&body).unwrap_err(), error, "{body}");
    };
    let both = "/subjects: give either `subject` or `subjects`, not both";
    check(r#""subject":"item:1","subjects":["item:1"]"#, both);
    check(r#""subjects":"item:1""#, "/subjects: it is not a list");
    check(r#""subjects":{"0":"item:1"}"#, "/subjects: it is not a list");
    check(r#""subjects":["item:1",""]"#, "/subjects/1: it is empty");
    check(r#""subjects":["item:1",7]"#, "/subjects/1: it is not a text");
    check(r#""subjects":[null]"#, "/subjects/0: it is not a text");
    check(r#""persons":"ann""#, "/persons: it is not a list");
    let neither = r#"it is neither a person's id nor {"person": "ann", "score": 0.93}"#;
    check(r#""persons":["ann",7]"#, &format!("/persons/1: {neither}"));
    check(r#""persons":[["ann"]]"#, &format!("/persons/0: {neither}"));
    check(r#""persons":["ann",""]"#, "/persons/1: it is empty");
    check(r#""persons":[{}]"#, "/persons/0/person: `person` is missing");
    check(r#""persons":[{"person":null}]"#, "/persons/0/person: `person` is missing");
    check(r#""persons":[{"person":""}]"#, "/persons/0/person: it is empty");
    check(r#""persons":[{"person":7}]"#, "/persons/0/person: it is not a text");
    check(r#""persons":[{"person":"ann","score":"high"}]"#, "/persons/0/score: it is not a number");
    check(
        r#""persons":[{"person":"ann","sore":1}]"#,
        "/persons/0: an object of `persons` has `person` and `score` alone, not `sore`",
    );
    check(r#""persons":[{"person":"ann","person":"bob"}]"#, "line 1 column 85: `person` is given twice");
    check(r#""persons":[{"person":"ann","score":1e999}]"#, "line 1 column 90: number out of range");
    let many = format!(r#""persons":[{}"a"]"#, r#""a","#.repeat(LIST_MAX));
    check(&many, "/persons: it has 10001 items, more than 10000");
    // In a body of several the place begins with the item.
    let body = format!(r#"[{{{HEAD}}},{{{HEAD},"persons":[{{"person":"ann","score":"x"}}]}}]"#);
    let all = parse_changes(body.as_bytes()).unwrap();
    assert_eq!(all[1].as_ref().unwrap_err().to_string(), "/1/persons/0/score: it is not a number");
}

/// As many persons as a change may name, with ids as long as those of most, fit one change.
#[test]
fn a_long_list_fits() {
    let person = |i: usize| format!(r#"{{"person":"00000000-0000-4000-8000-{i:012}","score":0.123456}}"#);
    let persons: Vec<_> = (0..model::limits::SLICE_PERSONS_MAX).map(person).collect();
    let body = format!(r#"{{{HEAD},"persons":[{}]}}"#, persons.join(","));
    let cloud = change::decode(body.as_bytes()).unwrap();
    assert_eq!(cloud.persons.len(), persons.len());
    assert_eq!(change::decode(&change::encode(&cloud).unwrap()).unwrap(), cloud);
}

#[test]
fn lists_have_a_verdict_each() {
    let body = format!("[{{{HEAD}}},\n 5, {{{HEAD},\"time\":\"x\"}},\n {{{HEAD},\"a\":1,\"a\":2}}]");
    let all = parse_changes(body.as_bytes()).unwrap();
    assert_eq!(all[0], Ok(minimal_change()));
    let errors: Vec<_> = all[1..].iter().map(|one| one.as_ref().unwrap_err().to_string()).collect();
    assert_eq!(
        errors,
        [
            "/1: a change must be an object",
            "/2/time: it is not a time, such as 2026-11-21T09:00:00Z (RFC 3339)",
            "line 3 column 60: `a` is given twice",
        ]
    );
    assert_eq!(parse_changes(b"[]").unwrap(), []);
    // What cannot be taken apart has one verdict.
    assert_eq!(parse_changes(b"[{},\n{]").unwrap_err().to_string(), "line 2 column 2: key must be a string");
    assert!(parse_changes(b"[1,2").is_err());
}

#[test]
fn lines_have_a_verdict_each() {
    let body = format!("\n{{{HEAD}}}\r\n\n{{\"id\":\n{{{HEAD},\"actor\":5}}\n7\n{{{HEAD}}}");
    let all = parse_changes(body.as_bytes()).unwrap();
    assert_eq!((all.len(), &all[0], &all[4]), (5, &Ok(minimal_change()), &Ok(minimal_change())));
    let errors: Vec<_> = all[1..4].iter().map(|one| one.as_ref().unwrap_err().to_string()).collect();
    assert_eq!(
        errors,
        [
            "line 4 column 6: EOF while parsing a value",
            "line 5 /actor: it is not a text",
            "line 6: a change must be an object",
        ]
    );
    // One object over several lines is no list of lines.
    let pretty = format!("{{\n{HEAD}\n}}\n");
    assert_eq!(parse_changes(pretty.as_bytes()).unwrap(), [Ok(minimal_change())]);
}

#[test]
fn sizes_are_bounded() {
    let text = "x".repeat(ITEM_BYTES_MAX);
    let large = format!(r#"{{{HEAD},"title":"{text}"}}"#);
    assert!(parse_verdict(&large).unwrap_err().contains("more than 524288"));
    assert!(parse_change(large.as_bytes()).is_err());
    assert!(change::decode(large.as_bytes()).is_err());
    // In a list the others are taken.
    let all = parse_changes(format!("[{{{HEAD}}},{large}]").as_bytes()).unwrap();
    assert!(all[0].is_ok());
    assert!(all[1].as_ref().unwrap_err().to_string().starts_with("/1: the change has"));

    let body = " ".repeat(BODY_BYTES_MAX + 1);
    assert!(parse_changes(body.as_bytes()).unwrap_err().to_string().contains("more than 1048576"));
    let many = |n: usize| parse_changes(format!("[{}1]", "1,".repeat(n - 1)).as_bytes());
    assert_eq!(many(ITEMS_MAX).unwrap().len(), ITEMS_MAX);
    assert!(many(ITEMS_MAX + 1).unwrap_err().to_string().contains("1001 changes"));
    assert!(parse_changes("1\n".repeat(ITEMS_MAX + 1).as_bytes()).is_err());
}

#[test]
fn nesting_is_bounded() {
    let nested = |n: usize| format!("{{{HEAD},\"x\":{}1{}}}", "[".repeat(n), "]".repeat(n));
    assert!(parse_verdict(&nested(15)).is_ok());
    assert!(parse_verdict(&nested(16)).unwrap_err().contains("nested deeper than 16 levels"));
    assert!(parse_verdict(&nested(30_000)).is_err());
    let open = "[".repeat(BODY_BYTES_MAX);
    assert!(parse_changes(open.as_bytes()).is_err());
    assert!(change::decode(&open.as_bytes()[..ITEM_BYTES_MAX]).is_err());
}

#[test]
fn only_utf8_is_text() {
    let error = parse_changes(b"{\n\"id\":\"\xFF\"}").unwrap_err().to_string();
    assert_eq!(error, "line 2 column 7: the body is not UTF-8");
}

#[test]
fn one_change_is_one_object() {
    assert!(change::decode(b"[]").unwrap_err().reason.contains("a change must be an object"));
    assert!(change::decode(format!("{{{HEAD}}}\n{{{HEAD}}}").as_bytes()).is_err());
    for neither in ["", "nonsense", " <xml/>", "- yaml: yes"] {
        assert_eq!(
            change::decode(neither.as_bytes()).unwrap_err().reason,
            "it is neither JSON nor Avro",
            "{neither}"
        );
    }
    // Where JSON is broken off is worth knowing.
    assert!(change::decode(b"{\"id\":}").unwrap_err().reason.contains("column 7"));
    assert!(change::decode(b"7").unwrap_err().reason.contains("a change must be an object"));
}

proptest! {
    #[test]
    fn any_bytes_have_a_verdict(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop((parse_changes(&bytes), parse_change(&bytes), change::decode(&bytes)));
    }

    #[test]
    fn any_json_has_a_verdict(text in r#"[\[{]?([\[\]{}:,"\\ \n0-9ae.-]|"id"|"type"|"source"|"data"|"subjects"|"persons"|"person"|"score"|null|true|\{"id":"1"){0,60}"#) {
        drop((parse_changes(text.as_bytes()), parse_change(text.as_bytes())));
    }

    #[test]
    fn any_list_has_a_verdict(list in r#"([\[\]{}:, 1]|"ann"|"person":|"score":|\{"person":"ann"\}|null){0,20}"#) {
        for name in ["subjects", "persons"] {
            drop(parse_change(format!(r#"{{{HEAD},"{name}":[{list}]}}"#).as_bytes()));
        }
    }

    /// Both encodings of a change say the same.
    #[test]
    fn json_and_avro_agree(cloud in super::arbitrary::any_change(), flat: bool) {
        let mut object = json!({"id": cloud.id, "source": cloud.source, "type": cloud.what});
        let fields = object.as_object_mut().unwrap();
        let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        fields.insert("subject".to_owned(), json!(text(&cloud.subject)));
        fields.insert("subjects".to_owned(), json!(cloud.subjects));
        let persons = cloud.persons.iter().map(|listed| match listed.score {
            None => json!(listed.person),
            score => json!({"person": listed.person, "score": score}),
        });
        fields.insert("persons".to_owned(), persons.collect());
        fields.insert("actor".to_owned(), json!(text(&cloud.actor)));
        fields.insert("actorname".to_owned(), json!(text(&cloud.actor_name)));
        fields.insert("actorkind".to_owned(), json!(text(&cloud.actor_kind)));
        fields.insert("version".to_owned(), json!(cloud.version));
        // Not every instant has a calendar date.
        let time = cloud.time.map(|at| at.to_string()).filter(|text| !text.ends_with("ms") && text.len() == 24);
        fields.insert("time".to_owned(), json!(time));
        let known = ["id", "source", "type", "subject", "subjects", "persons", "actor", "actorname", "actorkind", "version", "time", "data", "data_base64",
            "datacontenttype", "dataschema", "specversion"];
        if flat && !cloud.data.keys().any(|name| known.contains(&name.as_str())) {
            fields.extend(cloud.data.clone());
        } else {
            fields.insert("data".to_owned(), json!(cloud.data));
        }
        let mut expected = cloud;
        expected.subject = text(&expected.subject);
        expected.actor = text(&expected.actor);
        expected.actor_name = text(&expected.actor_name);
        expected.actor_kind = text(&expected.actor_kind);
        expected.time = time.and(expected.time);
        prop_assert_eq!(change::decode(object.to_string().as_bytes()).unwrap(), expected);
    }
}
