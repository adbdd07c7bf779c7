//! Admission as a table: what comes in, and what becomes of it.

use std::sync::{Arc, LazyLock};

use catalogue::Catalogue;
use model::{Event, Follow, State, civil::Zones};
use proptest::prelude::*;
use serde_json::json;
use wire::Cloud;

use crate::{
    admit::{About, Admitted, admit},
    effects::{Effects, Known, Verdict},
    tests::{NOON, at, catalogue, event, tenant},
};

/// What becomes of one CloudEvent, in one line.
fn judged(json: &str) -> String {
    let cloud = match wire::cloud::parse(json.as_bytes()) {
        Ok(cloud) => cloud,
        Err(error) => return format!("unread {error}"),
    };
    let cells = |state: &State| {
        let cell = |(name, cell): (&Arc<str>, &model::Cell)| {
            format!(" {name}={}", cell.value.as_ref().map_or("-".to_owned(), ToString::to_string))
        };
        state.cells.iter().map(cell).collect::<String>()
    };
    let version = |state: &State| state.cells.values().next().map_or(0, |cell| cell.version);
    match admit(cloud, &tenant(), at(NOON), &catalogue(), &Zones::bundled()) {
        Err(refused) => format!("refused {refused}"),
        Ok(Admitted::Change(Event { what, subject, actor, occurred, state, .. })) => {
            let by = actor.map(|actor| format!(" by {actor}")).unwrap_or_default();
            format!("change {what} {subject}{by} at {occurred} v{}{}", version(&state), cells(&state))
        }
        Ok(Admitted::Follow(Follow { person, target, version, on, .. })) => {
            format!("{} {person} {target} v{version}", if on { "follow" } else { "unfollow" })
        }
        Ok(Admitted::Profile { person, state, .. }) => {
            format!("profile {person} v{}{}", version(&state), cells(&state))
        }
        Ok(Admitted::Feedback { person, what, about, .. }) => match about {
            About::Subject { subject, until } => format!("{what:?} {person} {subject} until {until}"),
            About::Entries(keys) => format!("{what:?} {person} {keys:?}"),
        },
    }
}

fn check(what: &str, rest: &str, expected: &str) {
    assert_eq!(judged(&event(what, rest)), expected, "{what} {rest}");
}

#[test]
fn changes_are_admitted_or_refused_with_a_reason() {
    let work = "work.published";
    let noon = "2026-11-21T12:00:00.000Z";
    let ms = at(NOON).0;
    check(work, r#""subject":"work:1""#, &format!("change {work} work:1 at {noon} v0"));
    check(
        work,
        r#""subject":"work:1","actor":"bob","time":"2026-11-20T01:00:00+01:00","version":7,"data":{"title":"Moon","public":true,"other":1}"#,
        "change work.published work:1 by bob at 2026-11-20T00:00:00.000Z v7 public=true title=Moon",
    );
    check(
        work,
        r#""subject":"work:1","data":{"title":null}"#,
        &format!("change {work} work:1 at {noon} v{ms} title=-"),
    );
    // Nobody need be told of it: it still changes its subject.
    check(
        "renamed",
        r#""subject":"author:1","data":{"name":"A"}"#,
        &format!("change renamed author:1 at {noon} v{ms} name=A"),
    );
    check(work, "", "refused /subject: it is missing");
    check(work, r#""subject":"work""#, "refused /subject: `work` is not of the form type:id");
    check(
        work,
        r#""subject":"wrok:1""#,
        "refused /subject: wrok:1: there is no subject type `wrok`, did you mean `work`?",
    );
    check(
        work,
        r#""subject":"author:1""#,
        "refused /subject: `work.published` is about `work:id`, not `author:1`",
    );
    check(
        work,
        r#""subject":"work:1","actor":" ""#,
        "refused /actor: person has a control character or a blank at its edge",
    );
    check(
        work,
        r#""subject":"work:1","data":{"link":"javascript:alert(1)"}"#,
        "refused /data/link: work:1: field `link` is a url, absolute, http or https, found the text \"javascript:alert(1)\"",
    );
    check(
        work,
        r#""subject":"work:1","time":"2026-11-14T11:59:59Z""#,
        "refused /time: occurred at 2026-11-14T11:59:59.000Z, more than 7 days before its record was appended at 2026-11-21T12:00:00.000Z",
    );
    check(
        work,
        r#""subject":"work:1","time":"2026-11-14T12:00:00Z""#,
        "change work.published work:1 at 2026-11-14T12:00:00.000Z v0",
    );
    check(
        work,
        r#""subject":"work:1","time":"2026-11-21T12:01:01Z""#,
        "refused /time: occurred at 2026-11-21T12:01:01.000Z, more than a minute after its record was appended at 2026-11-21T12:00:00.000Z",
    );
    check(
        work,
        r#""subject":"work:1","time":"2026-11-21T12:01:00Z""#,
        "change work.published work:1 at 2026-11-21T12:01:00.000Z v0",
    );
    let long = "x".repeat(129);
    check(&long, r#""subject":"work:1""#, "refused /type: it has more than 128 bytes or a control character");
}

#[test]
fn facts_are_admitted_or_refused_with_a_reason() {
    let ms = at(NOON).0;
    let follow = |rest: &str, expected: &str| {
        check("tidings.follow", &format!(r#""data":{{"person":"ann"{rest}}}"#), expected);
    };
    follow(r#","target":"author:7""#, &format!("follow ann author:7 v{ms}"));
    follow("", "refused /data/target: it is missing");
    follow(r#","target":7"#, "refused /data/target: it is not a text");
    follow(
        r#","target":"athor:7""#,
        "refused /data/target: athor:7: there is no subject type `athor`, did you mean `author`?",
    );
    follow(
        r#","target":"author:7","traget":1"#,
        "refused /data/traget: there is no field `traget`: did you mean `target`?",
    );
    check(
        "tidings.unfollow",
        r#""version":"9","data":{"person":"ann","target":"author:7"}"#,
        "unfollow ann author:7 v9",
    );
    // A fact may be old, as in a first import, but not ahead: nothing could override it.
    check(
        "tidings.follow",
        r#""time":"2020-01-01T00:00:00Z","data":{"person":"ann","target":"author:7"}"#,
        "follow ann author:7 v1577836800000",
    );
    check(
        "tidings.follow",
        r#""time":"2026-11-21T13:00:00Z","data":{"person":"ann","target":"author:7"}"#,
        "refused /time: occurred at 2026-11-21T13:00:00.000Z, more than a minute after its record was appended at 2026-11-21T12:00:00.000Z",
    );
    check(
        "tidings.folow",
        "",
        "refused /type: tidings has no type `tidings.folow`: did you mean `tidings.follow`?",
    );
    check("tidings.follow", r#""data":{"target":"author:7"}"#, "refused /data/person: it is missing");
}

#[test]
fn profiles_are_admitted_or_refused_with_a_reason() {
    let profile = |fields: &str, expected: &str| {
        check("tidings.profile", &format!(r#""version":3,"data":{{"person":"ann"{fields}}}"#), expected);
    };
    profile(
        r#","zone":"Europe/Berlin","email":"ann@example.com","name":"Änn","language":"pt-BR","email_off":true"#,
        "profile ann v3 email=ann@example.com email_off=true language=pt-BR name=Änn zone=Europe/Berlin",
    );
    profile(r#","email":null,"zone":null"#, "profile ann v3 email=- zone=-");
    profile("", "refused /data: it states nothing about the person");
    profile(r#","zone":"Berlin""#, "refused /data/zone: `Berlin` is no time zone, as in Europe/Berlin");
    profile(
        r#","zone":"../etc/passwd""#,
        "refused /data/zone: `../etc/passwd` is no time zone, as in Europe/Berlin",
    );
    profile(r#","emial":"a@b""#, "refused /data/emial: there is no field `emial`: did you mean `email`?");
    profile(r#","erased":true"#, "refused /data/erased: `erased` cannot be set from outside");
    profile(r#","full_day":1"#, "refused /data/full_day: `full_day` cannot be set from outside");
    profile(r#","email_off":"yes""#, "refused /data/email_off: it is not true or false");
    profile(r#","name":" ""#, "refused /data/name: it is empty; null takes it away");
    profile(r#","name":"a\nb""#, "refused /data/name: it has more than 256 bytes or a control character");
    profile(
        r#","language":"en_GB""#,
        "refused /data/language: `en_GB` is no language tag, as in en or pt-BR",
    );
    let no_mail = |address: &str, why: &str| {
        profile(
            &format!(r#","email":"{address}""#),
            &format!("refused /data/email: it is no address for mail: {why}"),
        );
    };
    no_mail("ann", "no @");
    no_mail("@example.com", "the part before the @");
    no_mail("a..n@example.com", "the part before the @");
    no_mail("ann@", "the part after the @");
    no_mail("ann@-x.com", "the part after the @");
    no_mail("ann@a@b", "the part after the @");
    no_mail("Ann <ann@example.com>", "a character that has no place there");
    no_mail(r"ann@example.com\r\nBcc: bob@example.com", "a character that has no place there");
    no_mail("a,b@example.com", "a character that has no place there");
}

#[test]
fn feedback_is_admitted_or_refused_with_a_reason() {
    let read = |rest: &str, expected: &str| {
        check("tidings.read", &format!(r#""data":{{"person":"ann"{rest}}}"#), expected);
    };
    let key = "2026-11-21T09:00:00.000Z/0123456789abcdef0123456789abcdef";
    read(r#","subject":"work:1""#, "Read ann work:1 until 2026-11-21T12:00:00.000Z");
    read(&format!(r#","entries":["{key}"]"#), &format!("Read ann [{key}]"));
    read(
        r#","subject":"wrok:1""#,
        "refused /data/subject: wrok:1: there is no subject type `wrok`, did you mean `work`?",
    );
    read("", "refused /data: it must have `subject` or `entries`, and not both");
    read(
        r#","subject":"work:1","entries":[]"#,
        "refused /data: it must have `subject` or `entries`, and not both",
    );
    read(r#","entries":[]"#, "refused /data/entries: it is not a list with something in it");
    let no_entry = "it is no entry, as in 2026-11-21T09:00:00.000Z/ and 32 hexadecimal digits";
    read(r#","entries":["x"]"#, &format!("refused /data/entries/0: {no_entry}"));
    read(&format!(r#","entries":["{key}",7]"#), "refused /data/entries/1: it is not a text");
    let of = |time: &str| format!(r#","entries":["{time}/0123456789abcdef0123456789abcdef"]"#);
    read(&of("2026-10-31T12:00:00Z"), "refused /data/entries/0: the day of this entry has expired");
    read(
        &of("2126-11-21T12:00:00Z"),
        "refused /data/entries/0: occurred at 2126-11-21T12:00:00.000Z, more than a minute after its record was appended at 2026-11-21T12:00:00.000Z",
    );
    let many = vec![format!("\"{key}\""); 201].join(",");
    read(&format!(r#","entries":[{many}]"#), "refused /data/entries: 201 entries, more than 200");
    check(
        "tidings.cleared",
        r#""time":"2026-11-21T10:00:00Z","data":{"person":"ann","subject":"work:1"}"#,
        "Cleared ann work:1 until 2026-11-21T10:00:00.000Z",
    );
}

/// Any JSON of some levels.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<f64>().prop_map(|number| json!(number)),
        any::<i64>().prop_map(|number| json!(number)),
        ".{0,12}".prop_map(|text| json!(text)),
        prop::sample::select(vec!["ann", "work:1", "author:7", "UTC", "a@b", NOON])
            .prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(|items| json!(items)))
}

fn any_cloud() -> impl Strategy<Value = Cloud> {
    let what =
        vec!["work.published", "x", "tidings.follow", "tidings.profile", "tidings.read", "tidings.cleared"];
    let field = vec![
        "title", "author", "link", "score", "public", "person", "target", "subject", "entries", "email",
        "zone", "a/~b",
    ];
    let data = prop::collection::vec((prop::sample::select(field), any_json()), 0..6);
    let time = prop::option::of(-700_000_000..700_000_000_i64);
    let subject = prop::option::of(prop_oneof![Just("work:1".to_owned()), ".{0,6}"]);
    (prop::sample::select(what), data, time, subject, prop::option::of(any::<i64>())).prop_map(
        |(what, data, time, subject, version)| Cloud {
            id: "1".to_owned(),
            source: "s".to_owned(),
            what: what.to_owned(),
            subject,
            time: time.map(|ahead| at(NOON).plus(ahead)),
            data: data.into_iter().map(|(field, value)| (field.to_owned(), value)).collect(),
            actor: None,
            version,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Law 3: what is admitted has the time it came with, and that is in time; the verdict is the same
    /// whenever it is asked.
    #[test]
    fn law_3_time_is_accepted_or_refused_never_altered(cloud in any_cloud()) {
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(catalogue);
        let judge = || admit(cloud.clone(), &tenant(), at(NOON), &CATALOGUE, &Zones::bundled());
        let verdict = judge();
        prop_assert_eq!(&verdict, &judge());
        match verdict {
            Ok(Admitted::Change(event)) => {
                prop_assert_eq!(event.occurred, cloud.time.unwrap_or(at(NOON)));
                let ahead = event.occurred.since(at(NOON));
                prop_assert!((-7 * 86_400_000..=60_000).contains(&ahead), "{}", ahead);
            }
            Ok(admitted) => {
                // What cannot be announced would be refused only now.
                let effects = Effects::of(vec![admitted], &Known::default(), at(NOON));
                prop_assert_eq!(effects.verdicts, [Verdict::Taken]);
            }
            Err(refused) => prop_assert!(refused.at.starts_with('/') && !refused.reason.is_empty(), "{}", refused),
        }
    }
}
