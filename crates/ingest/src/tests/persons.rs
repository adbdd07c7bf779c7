//! Places, mutes, lists and notes over HTTP and over the topic, down to what the store and the topics have.

use model::{
    ListedPerson, PersonScore,
    person::profile::{self, PlaceOrigin},
};

use super::*;
use crate::{
    change::{AdmittedChange, StatedAttributes},
    decide::split_pieces,
};

const BERLIN: (f64, f64) = (52.5, 13.4);
const TOKYO: (f64, f64) = (35.7, 139.7);
const WEST: (f64, f64) = (-17.0, 179.9);
const EAST: (f64, f64) = (-17.0, -179.9);
const POLE: (f64, f64) = (90.0, 0.0);

fn place_statement(version: i64, place: (f64, f64)) -> String {
    place_statement_of("ann", version, place)
}

fn place_statement_of(person: &str, version: i64, (lat, lon): (f64, f64)) -> String {
    let rest = format!(r#""version":{version},"data":{{"person":"{person}","place":"{lat},{lon}"}}"#);
    event_json("tidings.profile", &rest)
}

impl IngestHouse {
    /// Whom a search within 5 km of a place comes upon.
    async fn persons_at(&self, (lat, lon): (f64, f64)) -> Vec<Person> {
        let mut found = Vec::new();
        for cell in GeoPoint::new(lat, lon).unwrap().cells_within(5.0) {
            found.extend(self.members(&Crowd::Cell(cell)).await);
        }
        found
    }

    async fn finds_ann(&self, place: (f64, f64)) -> bool {
        self.persons_at(place).await == [ann()]
    }
}

#[tokio::test]
async fn who_moves_is_found_at_the_new_place_only() {
    for (from, to) in [(BERLIN, TOKYO), (WEST, EAST), (EAST, WEST), (BERLIN, POLE), (POLE, (89.5, -90.0))] {
        let house = IngestHouse::new().await;
        let router = house.router();
        assert_eq!(post_body(&router, "/v1/facts", &[], place_statement(1, from)).await.0, 202);
        assert!(house.finds_ann(from).await && !house.finds_ann(to).await, "{from:?} {to:?}");
        assert_eq!(post_body(&router, "/v1/facts", &[], place_statement(2, to)).await.0, 202);
        assert!(house.finds_ann(to).await && !house.finds_ann(from).await, "{from:?} {to:?}");
        let gone = event_json("tidings.profile", r#""version":3,"data":{"person":"ann","place":null}"#);
        assert_eq!(post_body(&router, "/v1/facts", &[], gone).await.0, 202);
        assert!(!house.finds_ann(to).await && !house.finds_ann(from).await, "{from:?} {to:?}");
        assert_eq!(house.members(&Crowd::Everyone).await, [ann()]);
    }
}

/// Each sequence of four statements in which every one of the three comes, each by a person of its own; in
/// requests of their own, or all in one.
#[tokio::test]
async fn an_older_place_that_comes_late_moves_nobody() {
    let moves = [(1, BERLIN), (2, TOKYO), (3, EAST)];
    let house = IngestHouse::new().await;
    let router = house.router();
    let mut persons = Vec::new();
    for number in 0..3_usize.pow(4) {
        let digits: Vec<usize> = (0..4).map(|digit| number / 3_usize.pow(digit) % 3).collect();
        if !(0..3).all(|which| digits.contains(&which)) {
            continue;
        }
        let person = format!("p{}", digits.iter().map(ToString::to_string).collect::<String>());
        let said = digits.iter().map(|which| place_statement_of(&person, moves[*which].0, moves[*which].1));
        let said: Vec<String> = said.collect();
        let bodies = if number % 3 == 0 { vec![said.join("\n")] } else { said };
        for body in bodies {
            assert_eq!(post_body(&router, "/v1/facts", &[], body).await.0, 202);
        }
        persons.push(Person::new(&person).unwrap());
    }
    assert_eq!(persons.len(), 36);
    persons.sort();
    let mut found = house.persons_at(EAST).await;
    found.sort();
    assert_eq!(found, persons);
    assert_eq!((house.persons_at(BERLIN).await, house.persons_at(TOKYO).await), (vec![], vec![]));
}

/// Law 4: what was stored of a move that was not announced is mended when the same comes again.
#[tokio::test]
async fn a_move_that_was_cut_off_is_whole_when_it_comes_again() {
    let house = IngestHouse::new().await;
    let router = house.router();
    assert_eq!(post_body(&router, "/v1/facts", &[], place_statement(1, BERLIN)).await.0, 202);
    // As far as a crash between the crowds and the profile leaves it.
    let held = house.state(StateKey::Person(tenant(), ann())).await.cells["place"].clone();
    let tokyo = GeoPoint::new(TOKYO.0, TOKYO.1).unwrap();
    let next = model::ValueCell { version: 2, value: Some(Value::Place(tokyo)) };
    let crate::moves::PlaceMove { entered, .. } =
        crate::moves::plan_move((&tenant(), &ann()), PlaceOrigin::Stated, Some(&held), &next);
    house.store.enrol(entered).await.unwrap();
    // As far as one before the announcement leaves it.
    house.sick.busy.store(true, Ordering::SeqCst);
    assert_eq!(post_body(&router, "/v1/facts", &[], place_statement(2, TOKYO)).await.0, 503);
    house.sick.busy.store(false, Ordering::SeqCst);
    assert_eq!(post_body(&router, "/v1/facts", &[], place_statement(2, TOKYO)).await.0, 202);
    assert!(house.finds_ann(TOKYO).await && !house.finds_ann(BERLIN).await);
    assert_eq!(house.records(topics::INBOX).await.len(), 2);
}

/// What is said of ann in a profile, one after the other: where she is taken to be then, and whether a search in Berlin comes
/// upon her by her place and by her address.
#[tokio::test]
async fn an_address_gives_a_place_where_none_is_stated_and_is_kept_nowhere() {
    let house = IngestHouse::new().await;
    let router = house.router();
    let berlin = r#""ip_address":"203.0.113.7""#;
    let mut version = 0;
    let mut check = async |fields: &str, expected: Option<(f64, f64, PlaceOrigin)>, found: [bool; 2]| {
        version += 1;
        let rest = format!(r#""version":{version},"data":{{"person":"ann",{fields}}}"#);
        let (status, said) = post_body(&router, "/v1/facts", &[], event_json("tidings.profile", &rest)).await;
        assert_eq!((status, said.as_str()), (202, r#"{"accepted":1,"rejected":[]}"#), "{fields}");
        let known = house.state(StateKey::Person(tenant(), ann())).await;
        let place = profile::find_place(&known).map(|place| (place.at.lat, place.at.lon, place.origin));
        assert_eq!(place, expected, "{fields}: {known:?}");
        let at = house.persons_at(BERLIN).await.len();
        let by_address = GeoPoint { lat: BERLIN.0, lon: BERLIN.1 }.cells_of(PlaceOrigin::Address);
        let mut is_by_address = false;
        for cell in by_address {
            is_by_address |= house.members(&Crowd::Cell(cell)).await == [ann()];
        }
        assert_eq!([at > usize::from(is_by_address), is_by_address], found, "{fields}");
    };
    let (stated, address) = (PlaceOrigin::Stated, PlaceOrigin::Address);
    check(berlin, Some((52.5, 13.4, address)), [false, true]).await;
    check(r#""place":"35.7,139.7""#, Some((35.7, 139.7, stated)), [false, true]).await;
    check(r#""ip_address":"8.8.8.8""#, Some((35.7, 139.7, stated)), [false, false]).await;
    check(&format!(r#""place":null,{berlin}"#), Some((52.5, 13.4, address)), [false, true]).await;
    check(r#""place":"52.5,13.4""#, Some((52.5, 13.4, stated)), [true, true]).await;
    check(r#""place":null"#, None, [false, false]).await;
    check(berlin, Some((52.5, 13.4, address)), [false, true]).await;
    check(r#""ip_address":null"#, None, [false, false]).await;
    // Nothing that is written has the address in it, nor the place on a topic.
    let known = format!("{:?}", house.state(StateKey::Person(tenant(), ann())).await);
    assert!(!known.contains("203.0.113") && !known.contains("8.8.8"), "{known}");
    for record in house.records(topics::INBOX).await {
        let text = String::from_utf8_lossy(record.value.as_deref().unwrap()).into_owned();
        assert!(!text.contains("203.0.113") && !text.contains("address"), "{text}");
    }
}

#[tokio::test]
async fn mutes_are_flags_that_nobody_is_told_of() {
    let house = IngestHouse::new().await;
    let router = house.router();
    let fact = |what: &str, version: i64, rest: &str| {
        event_json(what, &format!(r#""version":{version},"data":{{"person":"ann",{rest}}}"#))
    };
    let flag = async |name: &str| {
        let state = house.state(StateKey::Preferences(tenant(), ann())).await;
        state.get(name).and_then(Value::as_flag)
    };
    let facts = [
        fact("tidings.mute", 1, r#""kind":"work_out""#),
        fact("tidings.mute", 3, r#""actor":"bob""#),
        fact("tidings.unmute", 2, r#""actor":"bob""#),
        fact("tidings.mute", 5, r#""subject":"work:1""#),
        fact("tidings.unmute", 5, r#""subject":"work:1""#),
        fact("tidings.unmute", 6, r#""thread":"author:7""#),
    ];
    assert_eq!(post_body(&router, "/v1/facts", &[], facts.join("\n")).await.0, 202);
    assert_eq!(
        flag(&preferences::PreferenceScope::Kind(&Kind::new("work_out").unwrap()).field(None)).await,
        Some(true)
    );
    assert_eq!(
        flag(&preferences::PreferenceScope::Actor(&Person::new("bob").unwrap()).field(None)).await,
        Some(true),
        "the older one is old"
    );
    assert_eq!(
        flag(&preferences::PreferenceScope::Subject(&subject("work:1")).field(None)).await,
        Some(true),
        "at one version it is muted"
    );
    assert_eq!(
        flag(&preferences::PreferenceScope::Thread(&subject("author:7")).field(None)).await,
        Some(false)
    );
    assert!(house.records(topics::INBOX).await.is_empty());
    let end = fact("tidings.unmute", 9, r#""kind":"work_out""#);
    assert_eq!(post_body(&router, "/v1/facts", &[], end).await.0, 202);
    assert_eq!(flag("kind work_out").await, Some(false));
    // What changes nothing is taken, and the answer says so; it is no news of what is taken back.
    let (_, said) =
        post_body(&router, "/v1/facts", &[], fact("tidings.mute", 1, r#""thread":"work:1""#)).await;
    assert!(said.contains("this choice changes nothing: no kind has a `work` as its thread"), "{said}");
    let (_, said) =
        post_body(&router, "/v1/facts", &[], fact("tidings.unmute", 2, r#""thread":"work:1""#)).await;
    assert!(!said.contains("notes"), "{said}");
}

#[tokio::test]
async fn one_mute_more_than_there_may_be_is_refused() {
    let house = IngestHouse::new().await;
    let router = house.router();
    let many = |from: usize, to: usize| {
        let one = |i| event_json("tidings.mute", &format!(r#""data":{{"person":"ann","actor":"p{i}"}}"#));
        (from..to).map(one).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(post_body(&router, "/v1/facts", &[], many(0, 999)).await.0, 202);
    let (status, said) = post_body(&router, "/v1/facts", &[], many(998, 1_002)).await;
    let why = "this person has 1000 mutes and other preferences, ended ones included, and can have no more";
    let rejected = |index: usize| json!({"index": index, "reason": why, "at": "/data"});
    let expected = json!({"accepted": 2, "rejected": [rejected(2), rejected(3)]});
    assert_eq!((status, said), (202, expected.to_string()));
    assert_eq!(house.state(StateKey::Preferences(tenant(), ann())).await.cells.len(), 1_000);
    // By topic it is put aside, and what is behind it goes on.
    let value = Some(many(1_002, 1_003).into_bytes());
    let record = NewRecord {
        topic: topics::CHANGES.into(),
        partition: 0,
        key: Vec::new(),
        value,
        headers: Vec::new(),
    };
    house.deps.room.topics.append(vec![record]).await.unwrap();
    house.settle().await;
    let aside = house.records(topics::QUARANTINE).await;
    let aside = wire::quarantine::decode(aside[0].value.as_ref().unwrap()).unwrap();
    assert_eq!(aside.reason, format!("/data: {why}"));
}

#[tokio::test]
async fn a_change_of_several_subjects_is_as_many_events() {
    let house = IngestHouse::new().await;
    let body = event_json(
        "work.suggested",
        r#""subjects":["work:1","work:2"],"persons":["ben",{"person":"ann","score":0.93}],"data":{"title":"Moon"}"#,
    );
    let (status, said) = post_body(&house.router(), "/v1/changes", &[], body.clone()).await;
    assert_eq!((status, said.as_str()), (202, r#"{"accepted":1,"rejected":[]}"#));
    let mut events = house.events().await;
    events.sort_by(|a, b| a.subject.cmp(&b.subject));
    let subjects: Vec<&str> = events.iter().map(|event| event.subject.as_str()).collect();
    assert_eq!(subjects, ["work:1", "work:2"]);
    assert_ne!(events[0].key, events[1].key);
    let listed = |person: &str, score| ListedPerson {
        person: Person::new(person).unwrap(),
        score: PersonScore::new(score).unwrap(),
    };
    for event in &events {
        assert_eq!(event.persons, [listed("ann", 0.93), listed("ben", 0.0)]);
        let state = house.state(StateKey::Subject(tenant(), event.subject.clone())).await;
        assert_eq!(state.text("title"), Some("Moon"));
    }
    for record in house.records(topics::EVENTS).await {
        let event = wire::event::decode(record.value.as_ref().unwrap()).unwrap();
        assert_eq!(record.partition, PartitionCount::USUAL.of_subject(&tenant(), &event.subject));
    }
    // By topic, in either form, it is the same.
    let cloud = wire::cloud_event::parse_change(body.as_bytes()).unwrap();
    let values = [body.into_bytes(), wire::change::encode(&cloud).unwrap()];
    let record = |value| NewRecord {
        topic: topics::CHANGES.into(),
        partition: 0,
        key: Vec::new(),
        value: Some(value),
        headers: Vec::new(),
    };
    house.deps.room.topics.append(values.map(record).to_vec()).await.unwrap();
    house.settle().await;
    let all: std::collections::BTreeSet<_> = house.events().await.iter().map(|event| event.key).collect();
    assert_eq!((house.events().await.len(), all.len()), (6, 2));
}

/// Written out they would be more than is held at once: each piece is stored and announced by itself.
#[tokio::test]
async fn large_lists_go_in_pieces() {
    let house = IngestHouse::new().await;
    let list = |i: usize| {
        let subjects: Vec<String> = (0..100).map(|of| format!("work:{i}x{of}")).collect();
        let persons: Vec<String> = (0..500).map(|of| format!("person-{of:0>60}")).collect();
        let rest = json!({"subjects": subjects, "persons": persons}).to_string();
        event_json("work.suggested", rest.trim_matches(['{', '}']))
            .replace(r#""id":"1""#, &format!(r#""id":"{i}""#))
    };
    let body = (0..3).map(list).collect::<Vec<_>>().join("\n");
    let (status, said) = post_body(&house.router(), "/v1/changes", &[], body).await;
    assert_eq!((status, said.as_str()), (202, r#"{"accepted":3,"rejected":[]}"#));
    let events = house.events().await;
    assert_eq!(events.len(), 300);
    assert!(events.iter().all(|event| event.persons.len() == 500));
}

#[test]
fn a_piece_is_not_much_longer_written_out() {
    let change = |subjects: usize| {
        let id = |i: usize| (EventKey([0; 16]), subject(&format!("work:{i}")));
        let listed = |i: usize| ListedPerson {
            person: Person::new(&format!("{i:0>100}")).unwrap(),
            score: PersonScore::default(),
        };
        AdmittedItem::Change(AdmittedChange {
            headers: Vec::new(),
            tenant: tenant(),
            what: "work.suggested".to_owned(),
            actor: None,
            key: EventKey([0; 16]),
            occurred: parse_instant(NOON),
            version: 0,
            stated: StatedAttributes::default(),
            subjects: (0..subjects).map(id).collect(),
            states: std::collections::BTreeMap::new(),
            persons: (0..500).map(listed).collect(),
        })
    };
    let check = |subjects: &[usize], expected: &[usize]| {
        let pieces = split_pieces(subjects.iter().map(|many| change(*many)).collect());
        let found: Vec<usize> = pieces.iter().map(Vec::len).collect();
        assert_eq!(found, expected, "{subjects:?}");
    };
    check(&[], &[]);
    check(&[1; 500], &[500]);
    check(&[100, 1, 1, 100, 1], &[3, 2]);
    check(&[50, 50, 50, 1], &[2, 2]);
}

#[tokio::test]
async fn a_slip_in_the_name_of_a_field_is_noted() {
    let house = IngestHouse::new().await;
    let router = house.router();
    let check = async |bodies: &[&str], notes: &[(usize, &str, &str)]| {
        let one = |body: &&str| event_json("work.published", &format!(r#""subject":"work:1",{body}"#));
        let body = bodies.iter().map(one).collect::<Vec<_>>().join("\n");
        let (status, said) = post_body(&router, "/v1/changes", &[], body).await;
        let mut expected = json!({"accepted": bodies.len(), "rejected": []});
        if !notes.is_empty() {
            let note = |(index, field, meant): &(usize, &str, &str)| {
                let note = format!("the field `{field}` is not known; did you mean `{meant}`?");
                json!({"index": index, "note": note})
            };
            expected["notes"] = notes.iter().map(note).collect();
        }
        assert_eq!((status, said), (202, expected.to_string()), "{bodies:?}");
    };
    check(&[r#""data":{"titel":"Moon"}"#], &[(0, "titel", "title")]).await;
    check(&[r#""data":{"Title":"Moon"}"#], &[(0, "Title", "title")]).await;
    // Each slip is noted once.
    let bodies = [r#""data":{"title":"Moon"}"#, r#""data":{"titel":"Moon"}"#, r#""data":{"titel":"Sun"}"#];
    check(&bodies, &[(1, "titel", "title")]).await;
    // So is an attribute, where it stands beside the fields.
    check(&[r#""title":"Moon","aktor":"ann""#], &[(0, "aktor", "actor")]).await;
    check(&[r#""title":"Moon","person":["ann"]"#], &[(0, "person", "persons")]).await;
    // What is near to nothing is another's; who says both means two things.
    check(&[r#""data":{"warehouse":7}"#], &[]).await;
    check(&[r#""data":{"title":"Moon","titles":"Moons"}"#], &[]).await;
    // So much is looked at, and no more.
    let many: Vec<String> = (0..200).map(|n| format!(r#""titel{n}":1"#)).collect();
    let body = event_json("work.published", &format!(r#""subject":"work:1","data":{{{}}}"#, many.join(",")));
    let said: serde_json::Value =
        serde_json::from_str(&post_body(&router, "/v1/changes", &[], body).await.1).unwrap();
    assert!(said["notes"].as_array().is_none_or(|notes| notes.len() <= 100), "{said}");
}

#[tokio::test]
async fn a_slip_in_the_name_of_an_event_is_noted() {
    let house = IngestHouse::new().await;
    let router = house.router();
    let changes = |what: &[&str], subject: &str| {
        let one = |what: &&str| event_json(what, &format!(r#""subject":"{subject}""#));
        what.iter().map(one).collect::<Vec<_>>().join("\n")
    };
    let check = async |what: &[&str], subject: &str, notes: &[(usize, &str, &str)]| {
        let (status, said) = post_body(&router, "/v1/changes", &[], changes(what, subject)).await;
        let mut expected = json!({"accepted": what.len(), "rejected": []});
        if !notes.is_empty() {
            let note = |(index, what, meant): &(usize, &str, &str)| {
                let note = format!("no kind is on `{what}`: did you mean `{meant}`?");
                json!({"index": index, "note": note})
            };
            expected["notes"] = notes.iter().map(note).collect();
        }
        assert_eq!((status, said), (202, expected.to_string()), "{what:?}");
    };
    check(&["work.publised"], "work:1", &[(0, "work.publised", "work.published")]).await;
    check(&["wrok.published"], "work:1", &[(0, "wrok.published", "work.published")]).await;
    check(&["work.Published"], "work:1", &[(0, "work.Published", "work.published")]).await;
    check(
        &["work.published", "work.sugested", "work.publishd", "work.sugested"],
        "work:1",
        &[(1, "work.sugested", "work.suggested"), (2, "work.publishd", "work.published")],
    )
    .await;
    // What means something else is not noted.
    for fine in ["work.unpublished", "work.withdrawn", "work.sold", "renamed", "work"] {
        check(&[fine], "work:1", &[]).await;
    }
    check(&["author.published"], "author:1", &[]).await;
    let unlisted = changes(&["work.published", "work.suggested", "work.suggested"], "work:1");
    let (_, said) = post_body(&router, "/v1/changes", &[], unlisted).await;
    let note = "`work.suggested`: no persons are listed, so kinds with `to: listed` tell nobody";
    let expected = json!({"accepted": 3, "rejected": [], "notes": [{"index": 1, "note": note}]});
    assert_eq!(said, expected.to_string());
    let listed = event_json("work.suggested", r#""subject":"work:1","persons":["ann"]"#);
    assert_eq!(post_body(&router, "/v1/changes", &[], listed).await.1, r#"{"accepted":1,"rejected":[]}"#);
    // A repeated request hears the same.
    let key = [("idempotency-key", "k")];
    let slip = changes(&["work.publised"], "work:1");
    let first = post_body(&router, "/v1/changes", &key, slip.clone()).await;
    assert!(first.1.contains("notes"), "{first:?}");
    assert_eq!(post_body(&router, "/v1/changes", &key, slip).await, first);
}
