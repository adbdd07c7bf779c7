//! Admission as a table: what comes in, and what becomes of it.

mod addresses;

mod preferences;

mod revocations;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use ::preferences::PreferenceChoice;
use catalogue::Catalogue;
use geoip::AddressPlaces;
use model::{EventKey, FollowFact, VersionedState, civil_time::ZoneRules};
use proptest::prelude::*;
use room::testing::{parse_instant, tenant};
use serde_json::json;
use wire::{
    CloudChange,
    cloud_event::CloudPerson,
    token::{LinkSecret, SECRET_BYTES},
};

use crate::{
    admission::{AdmittedItem, admit_cloud_event},
    admission_rules::AdmissionRules,
    change::AdmittedChange,
    config::{LISTED_MAX, PERSONS_MAX},
    effects::{IntakeEffects, IntakeVerdict},
    facts::IntakeFacts,
    feedback::FeedbackTarget,
    preference::PreferenceFact,
    revoke::{ChangeRevocation, RevokeTarget},
    tests::{NOON, catalogue, event_json, known_places},
};

fn secret() -> LinkSecret {
    LinkSecret::new([7; SECRET_BYTES])
}

fn rules(catalogue: &Catalogue) -> AdmissionRules<'_> {
    static ZONES: LazyLock<ZoneRules> = LazyLock::new(ZoneRules::load_bundled);
    static PLACES: LazyLock<AddressPlaces> = LazyLock::new(known_places);
    AdmissionRules { catalogue, zones: &ZONES, places: &PLACES }
}

/// What becomes of one CloudEvent, in one line.
fn describe_admission(json: &str) -> String {
    let cloud = match wire::cloud_event::parse_change(json.as_bytes()) {
        Ok(cloud) => cloud,
        Err(error) => return format!("unread {error}"),
    };
    let cells = |state: &VersionedState| {
        let cell = |(name, cell): (&Arc<str>, &model::ValueCell)| {
            format!(" {name}={}", cell.value.as_ref().map_or("-".to_owned(), ToString::to_string))
        };
        state.cells.iter().map(cell).collect::<String>()
    };
    let version = |state: &VersionedState| state.cells.values().next().map_or(0, |cell| cell.version);
    match admit_cloud_event(cloud, &tenant(), parse_instant(NOON), rules(&catalogue()), &secret()) {
        Err(refused) => format!("refused {refused}"),
        Ok(AdmittedItem::Change(change)) => {
            let AdmittedChange { what, actor, occurred, .. } = &change;
            let by = actor.as_ref().map(|actor| format!(" by {actor}")).unwrap_or_default();
            let events: Vec<_> = change.events().collect();
            let subjects: Vec<&str> = events.iter().map(|event| event.subject.as_str()).collect();
            let persons =
                change.persons.iter().map(|listed| format!("{}={}", listed.person, listed.score.value()));
            let persons: Vec<String> = persons.collect();
            let listed =
                if persons.is_empty() { String::new() } else { format!(" for {}", persons.join(" ")) };
            let state = &events[0].state;
            assert!(events.iter().all(|event| event.state == *state && event.persons == change.persons));
            let about = subjects.join("+");
            format!("change {what} {about}{by} at {occurred} v{}{}{listed}", version(state), cells(state))
        }
        Ok(AdmittedItem::Revocation(ChangeRevocation { target, until, .. })) => match target {
            RevokeTarget::Subjects(subjects) => format!("revoke {subjects:?} until {until}"),
            RevokeTarget::Events { change, events, .. } => {
                let is_alone = if events.contains(&change) { "" } else { "several " };
                format!("revoke {is_alone}{} until {until}", events.len())
            }
        },
        Ok(AdmittedItem::Preference(PreferenceFact { person, name, version, choice, crowd, .. })) => {
            let what = match choice {
                Some(PreferenceChoice::Off) => "mute",
                Some(other) => other.name(),
                None => "unmute",
            };
            let crowd = crowd.filter(|(_, on)| *on).map(|(target, _)| format!(" in {target}"));
            format!("{what} {person} {name} v{version}{}", crowd.unwrap_or_default())
        }
        Ok(AdmittedItem::Erase { person, version, welcomes, .. }) => {
            format!("{} {person} v{version}", if welcomes { "welcome" } else { "erase" })
        }
        Ok(AdmittedItem::Seen { person, surface, at, .. }) => format!("seen {person} on {surface} at {at}"),
        Ok(AdmittedItem::Follow(FollowFact { person, target, version, on, .. })) => {
            format!("{} {person} {target} v{version}", if on { "follow" } else { "unfollow" })
        }
        Ok(AdmittedItem::Profile { person, state, .. }) => {
            format!("profile {person} v{}{}", version(&state), cells(&state))
        }
        Ok(AdmittedItem::Feedback { person, what, about, .. }) => match about {
            FeedbackTarget::Subject { subject, until } => {
                format!("{what:?} {person} {subject} until {until}")
            }
            FeedbackTarget::UpTo { kind, until } => {
                let what_of = kind.map_or("all".to_owned(), |kind| kind.to_string());
                format!("{what:?} {person} {what_of} until {until}")
            }
            FeedbackTarget::Entries(keys) => format!("{what:?} {person} {keys:?}"),
        },
    }
}

fn check_admission(what: &str, rest: &str, expected: &str) {
    assert_eq!(describe_admission(&event_json(what, rest)), expected, "{what} {rest}");
}

#[test]
fn an_actor_is_a_person_somebody_without_an_account_or_the_source() {
    let check = |rest: &str, expected: &str| {
        let found =
            describe_admission(&event_json("work.published", &format!(r#""subject":"work:1",{rest}"#)));
        let found =
            found.replace(" at 2026-11-21T12:00:00.000Z v0", "").replace("change work.published work:1", "");
        assert_eq!(found.trim(), expected, "{rest}");
    };
    check(r#""actor":"bob""#, "by bob");
    check(r#""actor":"bob","actorkind":"person","actorname":" Bob B. ""#, "by bob (Bob B.)");
    check(r#""actorkind":"system""#, "by system:");
    check(r#""actorkind":"system","actorname":"The link bot""#, "by system: (The link bot)");
    check(
        r#""actorkind":"system","actor":"bot""#,
        "refused /actor: with `actorkind` `system` there is no `actor`: leave it out",
    );
    check(
        r#""actorkind":"anonymous""#,
        "refused /actor: `actor` is missing; without one, say `actorkind` `system`",
    );
    check(
        r#""actorname":"Bob""#,
        "refused /actor: `actor` is missing; without one, say `actorkind` `system`",
    );
    check(
        r#""actorkind":"robot","actor":"r2""#,
        "refused /actorkind: there is no sort of actor `robot`: use `person`, `anonymous` or `system`",
    );
    check(
        r#""actorkind":"persn","actor":"bob""#,
        "refused /actorkind: there is no sort of actor `persn`: did you mean `person`?",
    );
    check(r#""actor":"bob","actorname":"B\u0007b""#, "by bob (Bb)");
    check(r#""actor":"bob","actorname":" \u0007 ""#, "by bob");
    // What turns the text behind it would turn the sentence of somebody else's mail.
    check(r#""actor":"bob","actorname":"B\u202eo\u2066b\u2069\u200f\u061c\u2028!""#, "by bob (Bob!)");
    check(r#""actor":"bob","actorname":"\u202e""#, "by bob");
    // A sign of many parts stays one.
    check(r#""actor":"bob","actorname":"👩\u200d🚀""#, "by bob (👩\u{200d}🚀)");
    let long = format!(r#""actor":"bob","actorname":"{}""#, "x".repeat(129));
    check(&long, &format!("by bob ({})", "x".repeat(128)));
}

/// Of somebody without an account a hash is kept, which says nothing to whoever does not have the secret.
#[test]
fn an_address_is_not_kept() {
    let hash = |secret: u8, tenant: &str, text: &str| {
        let tenant = model::Tenant::new(tenant).unwrap();
        LinkSecret::new([secret; SECRET_BYTES]).hash_anonymous(&tenant, text)
    };
    assert_eq!(hash(7, "main", "192.0.2.7"), hash(7, "main", "192.0.2.7"));
    for (secret, tenant, text) in
        [(8, "main", "192.0.2.7"), (7, "acme", "192.0.2.7"), (7, "main", "192.0.2.8")]
    {
        assert_ne!(hash(7, "main", "192.0.2.7"), hash(secret, tenant, text));
    }
    let json =
        event_json("work.published", r#""subject":"work:1","actor":"192.0.2.7","actorkind":"anonymous""#);
    let found = describe_admission(&json);
    assert!(found.contains(" by anonymous:") && !found.contains("192.0.2"), "{found}");
}

#[test]
fn changes_are_admitted_or_refused_with_a_reason() {
    let work = "work.published";
    let noon = "2026-11-21T12:00:00.000Z";
    let ms = parse_instant(NOON).0;
    check_admission(work, r#""subject":"work:1""#, &format!("change {work} work:1 at {noon} v0"));
    check_admission(
        work,
        r#""subject":"work:1","actor":"bob","time":"2026-11-20T01:00:00+01:00","version":7,"data":{"title":"Moon","public":true,"other":1}"#,
        "change work.published work:1 by bob at 2026-11-20T00:00:00.000Z v7 public=true title=Moon",
    );
    check_admission(
        work,
        r#""subject":"work:1","data":{"title":null}"#,
        &format!("change {work} work:1 at {noon} v{ms} title=-"),
    );
    // Nobody need be told of it: it still changes its subject.
    check_admission(
        "renamed",
        r#""subject":"author:1","data":{"name":"A"}"#,
        &format!("change renamed author:1 at {noon} v{ms} name=A"),
    );
    check_admission(work, "", "refused /subject: `subject` is missing");
    check_admission(work, r#""subject":"work""#, "refused /subject: `work` is not of the form type:id");
    check_admission(
        work,
        r#""subject":"wrok:1""#,
        "refused /subject: wrok:1: there is no subject type `wrok`, did you mean `work`?",
    );
    check_admission(
        work,
        r#""subject":"author:1""#,
        "refused /subject: `work.published` is about `work:id`, not `author:1`",
    );
    check_admission(
        work,
        r#""subject":"work:1","actor":" ""#,
        "refused /actor: person has a control character, or a space at its start or end",
    );
    check_admission(
        work,
        r#""subject":"work:1","data":{"link":"javascript:alert(1)"}"#,
        "refused /data/link: work:1: field `link` must be an absolute URL, http or https, not the text \
        \"javascript:alert(1)\"",
    );
    check_admission(
        work,
        r#""subject":"work:1","time":"2026-11-14T11:59:59Z""#,
        "refused /time: occurred at 2026-11-14T11:59:59.000Z, more than 7 days before its record was appended at 2026-11-21T12:00:00.000Z",
    );
    check_admission(
        work,
        r#""subject":"work:1","time":"2026-11-14T12:00:00Z""#,
        "change work.published work:1 at 2026-11-14T12:00:00.000Z v0",
    );
    check_admission(
        work,
        r#""subject":"work:1","time":"2026-11-21T12:01:01Z""#,
        "refused /time: occurred at 2026-11-21T12:01:01.000Z, more than a minute after its record was appended at 2026-11-21T12:00:00.000Z",
    );
    check_admission(
        work,
        r#""subject":"work:1","time":"2026-11-21T12:01:00Z""#,
        "change work.published work:1 at 2026-11-21T12:01:00.000Z v0",
    );
    let long = "x".repeat(129);
    check_admission(
        &long,
        r#""subject":"work:1""#,
        "refused /type: it has more than 128 bytes or a control character",
    );
}

#[test]
fn a_change_is_about_several_subjects_and_lists_persons() {
    let suggested = "work.suggested";
    let at_noon = format!("at 2026-11-21T12:00:00.000Z v{}", parse_instant(NOON).0);
    check_admission(
        suggested,
        r#""subjects":["work:2","work:1","work:2"],"data":{"score":1}"#,
        &format!("change {suggested} work:2+work:1 {at_noon} score=1"),
    );
    check_admission(
        suggested,
        r#""subject":"work:1","data":{"score":2},"persons":["ben",{"person":"ann","score":0.5},{"person":"ann","score":0.93},"ann"]"#,
        &format!("change {suggested} work:1 {at_noon} score=2 for ann=0.93 ben=0"),
    );
    check_admission(suggested, r#""subjects":[]"#, "refused /subject: `subject` is missing");
    check_admission(
        suggested,
        r#""subjects":["work:1","wrok:1"]"#,
        "refused /subjects/1: wrok:1: there is no subject type `wrok`, did you mean `work`?",
    );
    check_admission(
        suggested,
        r#""subjects":["work:1","author:1"]"#,
        "refused /subjects/1: `work.suggested` is about `work:id`, not `author:1`",
    );
    check_admission(suggested, r#""subjects":["work:1",""]"#, "unread /subjects/1: it is empty");
    check_admission(
        suggested,
        r#""subjects":["work:1"," "]"#,
        "refused /subjects/1: subject has a control character, or a space at its start or end",
    );
    check_admission(
        suggested,
        r#""subject":"work:1","subjects":["work:2"]"#,
        "unread /subjects: give either `subject` or `subjects`, not both",
    );
    check_admission(
        suggested,
        r#""subject":"work:1","persons":["ann"," ben"]"#,
        "refused /persons/1: person has a control character, or a space at its start or end",
    );
    check_admission(
        suggested,
        r#""subject":"work:1","persons":[{"person":"ann","score":"x"}]"#,
        "unread /persons/0/score: it is not a number",
    );
    check_admission(
        "work.published",
        r#""subject":"work:1","persons":["ann"]"#,
        "refused /persons: no kind with `to: listed` is on `work.published`: such kinds are on \
        `work.suggested`",
    );
    check_admission(
        "work.sugested",
        r#""subject":"work:1","persons":["ann"]"#,
        "refused /persons: no kind with `to: listed` is on `work.sugested`: did you mean `work.suggested`?",
    );
    check_admission(
        "tidings.follow",
        r#""persons":["ann"],"data":{"person":"ann","target":"author:7"}"#,
        "refused /persons: only a change can list persons; `tidings.follow` is about one `person`",
    );
    check_admission(
        "tidings.read",
        r#""subjects":["work:1"],"data":{"person":"ann","subject":"work:1"}"#,
        "refused /subjects: only a change can have several subjects; `tidings.read` cannot",
    );
}

#[test]
fn a_change_has_its_limits() {
    let judged = |subjects: usize, persons: usize, text: &str| {
        let cloud = CloudChange {
            id: "1".to_owned(),
            source: "s".to_owned(),
            what: "work.suggested".to_owned(),
            subject: None,
            subjects: (0..subjects).map(|i| format!("work:{i}")).collect(),
            persons: (0..persons).map(|i| CloudPerson { person: format!("p{i}"), score: None }).collect(),
            time: None,
            data: [("title", text), ("author", "author:1")]
                .map(|(field, text)| (field.to_owned(), json!(text)))
                .into_iter()
                .collect(),
            actor: None,
            actor_name: None,
            actor_kind: None,
            version: None,
        };
        match admit_cloud_event(cloud, &tenant(), parse_instant(NOON), rules(&catalogue()), &secret()) {
            Ok(AdmittedItem::Change(change)) => format!("{} events", change.events().count()),
            Ok(other) => panic!("{other:?}"),
            Err(refused) => refused.to_string(),
        }
    };
    assert_eq!(judged(100, 500, ""), "100 events");
    assert_eq!(judged(10, 5_000, ""), "10 events");
    assert_eq!(judged(101, 1, ""), "/subjects: 101 subjects, more than 100");
    assert_eq!(judged(1, PERSONS_MAX + 1, ""), "/persons: 5001 persons, more than 5000");
    assert_eq!(
        judged(100, LISTED_MAX / 100 + 1, ""),
        "/persons: 501 persons for each of 100 subjects, more than 50000 in all: send it in parts"
    );
    assert_eq!(judged(100, 1, &"x".repeat(4_096)), "100 events");
}

/// Law 1: a key is a function of the change. One subject alone has the change's own; of several each has
/// its own, whatever the order.
#[test]
fn each_subject_has_a_key_of_its_own() {
    let keys = |subjects: &str, id: &str| {
        let json = format!(r#"{{"id":{id},"source":"s","type":"x",{subjects}}}"#);
        let cloud = wire::cloud_event::parse_change(json.as_bytes()).unwrap();
        match admit_cloud_event(cloud, &tenant(), parse_instant(NOON), rules(&catalogue()), &secret()) {
            Ok(AdmittedItem::Change(change)) => Ok(change
                .events()
                .map(|event| (event.subject.to_string(), event.key))
                .collect::<BTreeMap<_, _>>()),
            Ok(other) => panic!("{other:?}"),
            Err(refused) => Err(refused.to_string()),
        }
    };
    let own = EventKey::from_source_id(&tenant(), "s", "1");
    let alone = keys(r#""subject":"work:1""#, "\"1\"").unwrap();
    assert_eq!(alone["work:1"], own);
    assert_eq!(keys(r#""subjects":["work:1","work:1"]"#, "\"1\"").unwrap(), alone);
    let both = keys(r#""subjects":["work:1","work:2"]"#, "\"1\"").unwrap();
    assert_eq!(keys(r#""subjects":["work:2","work:1"]"#, "\"1\"").unwrap(), both);
    assert_eq!(both.values().chain([&own]).collect::<BTreeSet<_>>().len(), 3, "{both:?}");
    // A source cannot make the key of another of its changes.
    let made = keys(r#""subjects":["work:1","work:2"]"#, r#""1\u0000work:1""#);
    assert_eq!(made, Err("/id: it has a control character".to_owned()));
}

#[test]
fn facts_are_admitted_or_refused_with_a_reason() {
    let ms = parse_instant(NOON).0;
    let follow = |rest: &str, expected: &str| {
        check_admission("tidings.follow", &format!(r#""data":{{"person":"ann"{rest}}}"#), expected);
    };
    follow(r#","target":"author:7""#, &format!("follow ann author:7 v{ms}"));
    follow("", "refused /data/target: `target` is missing");
    follow(r#","target":7"#, "refused /data/target: it is not a text");
    follow(
        r#","target":"athor:7""#,
        "refused /data/target: athor:7: there is no subject type `athor`, did you mean `author`?",
    );
    follow(
        r#","target":"author:7","traget":1"#,
        "refused /data/traget: there is no field `traget`: did you mean `target`?",
    );
    check_admission(
        "tidings.unfollow",
        r#""version":"9","data":{"person":"ann","target":"author:7"}"#,
        "unfollow ann author:7 v9",
    );
    // A fact may be old, as in a first import, but not ahead: nothing could override it.
    check_admission(
        "tidings.follow",
        r#""time":"2020-01-01T00:00:00Z","data":{"person":"ann","target":"author:7"}"#,
        "follow ann author:7 v1577836800000",
    );
    check_admission(
        "tidings.follow",
        r#""time":"2026-11-21T13:00:00Z","data":{"person":"ann","target":"author:7"}"#,
        "refused /time: occurred at 2026-11-21T13:00:00.000Z, more than a minute after its record was appended at 2026-11-21T12:00:00.000Z",
    );
    check_admission(
        "tidings.folow",
        "",
        "refused /type: there is no type `tidings.folow`: did you mean `tidings.follow`?",
    );
    check_admission(
        "tidings.follow",
        r#""data":{"target":"author:7"}"#,
        "refused /data/person: `person` is missing",
    );
}

#[test]
fn profiles_are_admitted_or_refused_with_a_reason() {
    let profile = |fields: &str, expected: &str| {
        check_admission(
            "tidings.profile",
            &format!(r#""version":3,"data":{{"person":"ann"{fields}}}"#),
            expected,
        );
    };
    profile(
        r#","zone":"Europe/Berlin","email":"ann@example.com","name":"Änn","language":"pt-BR","email_off":true"#,
        "profile ann v3 email=ann@example.com email_off=true language=pt-BR name=Änn zone=Europe/Berlin",
    );
    profile(r#","email":null,"zone":null"#, "profile ann v3 email=- zone=-");
    profile("", "refused /data: it has no field about the person");
    profile(r#","zone":"Berlin""#, "refused /data/zone: `Berlin` is not a time zone, such as Europe/Berlin");
    profile(
        r#","zone":"../etc/passwd""#,
        "refused /data/zone: `../etc/passwd` is not a time zone, such as Europe/Berlin",
    );
    profile(r#","emial":"a@b""#, "refused /data/emial: there is no field `emial`: did you mean `email`?");
    profile(r#","erased":true"#, "refused /data/erased: `erased` cannot be set from outside");
    profile(r#","full_day":1"#, "refused /data/full_day: `full_day` cannot be set from outside");
    profile(r#","email_off":"yes""#, "refused /data/email_off: it must be true or false");
    profile(r#","name":" ""#, "refused /data/name: it is empty; use null to remove it");
    profile(r#","name":"a\nb""#, "refused /data/name: it has more than 256 bytes or a control character");
    profile(
        r#","language":"en_GB""#,
        "refused /data/language: `en_GB` is not a language tag, such as en or pt-BR",
    );
    profile(
        r#","webhook":"https://hooks.example/ann?a=b","chat_off":true"#,
        "profile ann v3 chat_off=true webhook=https://hooks.example/ann?a=b",
    );
    profile(r#","webhook_off":1"#, "refused /data/webhook_off: it must be true or false");
    profile(r#","webook":"x""#, "refused /data/webook: there is no field `webook`: did you mean `webhook`?");
    let no_hook = |address: &str, why: &str| {
        profile(
            &format!(r#","chat":"{address}""#),
            &format!("refused /data/chat: it is not an address for hooks: {why}"),
        );
    };
    no_hook("http://hooks.example/s3cret", "it does not begin with `https://`");
    no_hook("file:///etc/passwd", "it does not begin with `https://`");
    no_hook("hooks.example/s3cret", "it cannot be read");
    no_hook("https://", "it cannot be read");
    no_hook("https://ann@hooks.example/", "it contains a user name");
    no_hook("https://:s3cret@hooks.example/", "it contains a user name");
    no_hook(r"https://hooks.example/\r\nHost: other", "it has a space or a control character");
    no_hook(&format!("https://hooks.example/{}", "x".repeat(2_048)), "it is too long");
    let no_mail = |address: &str, why: &str| {
        profile(
            &format!(r#","email":"{address}""#),
            &format!("refused /data/email: it is not a mail address: {why}"),
        );
    };
    no_mail("ann", "it has no @");
    no_mail("@example.com", "the part before the @ is wrong");
    no_mail("a..n@example.com", "the part before the @ is wrong");
    no_mail("ann@", "the part after the @ is wrong");
    no_mail("ann@-x.com", "the part after the @ is wrong");
    no_mail("ann@a@b", "the part after the @ is wrong");
    no_mail("Ann <ann@example.com>", "it has a character that is not allowed");
    no_mail(r"ann@example.com\r\nBcc: bob@example.com", "it has a character that is not allowed");
    no_mail("a,b@example.com", "it has a character that is not allowed");
}

#[test]
fn a_place_and_a_plan_are_admitted_or_refused_with_a_reason() {
    let profile = |fields: &str, expected: &str| {
        check_admission(
            "tidings.profile",
            &format!(r#""version":3,"data":{{"person":"ann"{fields}}}"#),
            expected,
        );
    };
    for place in [r#"{"lat":52.5,"lon":-13.25}"#, r#""52.5,-13.25""#, r#"" 52.5 , -13.25""#] {
        profile(&format!(r#","place":{place}"#), "profile ann v3 place=52.5,-13.25");
    }
    profile(r#","place":"90,-180""#, "profile ann v3 place=90,-180");
    profile(r#","place":null"#, "profile ann v3 place=- place_by_address=-");
    for nowhere in [
        r#""here""#,
        r#""52.5""#,
        r#""NaN,1""#,
        r#""1,inf""#,
        r#""1,2,3""#,
        "7",
        "[1,2]",
        "{}",
        r#"{"lat":1}"#,
        r#"{"lat":1,"lon":"2"}"#,
        r#"{"lat":1,"lon":2,"alt":3}"#,
        r#"{"lat":1,"lng":2}"#,
    ] {
        let place =
            r#"refused /data/place: it is not a place, such as {"lat": 52.5, "lon": 13.4} or "52.5,13.4""#;
        profile(&format!(r#","place":{nowhere}"#), place);
    }
    for (off, why) in [
        (r#""91,13""#, "the latitude 91, outside of -90 to 90"),
        (r#"{"lat":-90.1,"lon":2}"#, "the latitude -90.1, outside of -90 to 90"),
        (r#""0,180.1""#, "the longitude 180.1, outside of -180 to 180"),
    ] {
        profile(&format!(r#","place":{off}"#), &format!("refused /data/place: it is not a place: {why}"));
    }
    profile(r#","email_plan":"weekly""#, "profile ann v3 email_plan=weekly");
    profile(r#","email_plan":null"#, "profile ann v3 email_plan=-");
    profile(
        r#","email_plan":"wekly""#,
        "refused /data/email_plan: there is no plan for email `wekly`: did you mean `weekly`?",
    );
    profile(
        r#","email_plan":"never""#,
        "refused /data/email_plan: there is no plan for email `never`: use `daily` or `weekly`",
    );
    profile(r#","email_plan":true"#, "refused /data/email_plan: it is not a text");
    profile(r#","hour":"18:00""#, "profile ann v3 hour=18:00");
    for wrong in ["18:30", "24:00", "18", ""] {
        let expected = format!("refused /data/hour: `{wrong}` is not a full hour, such as 18:00");
        profile(&format!(r#","hour":"{wrong}""#), &expected);
    }
}

#[test]
fn a_device_is_admitted_or_refused_with_a_reason() {
    let device = |rest: &str, expected: &str| {
        check_admission(
            "tidings.device",
            &format!(r#""version":3,"data":{{"person":"ann"{rest}}}"#),
            expected,
        );
    };
    let phone = r#","device":"phone","platform":"ios""#;
    device(&format!(r#"{phone},"token":"t:1""#), "profile ann v3 device phone=ios t:1");
    device(r#","device":"phone","token":null"#, "profile ann v3 device phone=-");
    device(r#","platform":"ios","token":"t""#, "refused /data/device: `device` is missing");
    device(phone, "refused /data/token: `token` is missing");
    for id in ["", "a b", "a\\r\\nBcc: x", "a..b", ".a", "ä", "a@b", &"x".repeat(65)] {
        let word = "refused /data/device: it must consist of letters, digits, `-`, `_` and `.`";
        device(&format!(r#","device":"{id}","platform":"ios","token":"t""#), word);
    }
    device(
        r#","device":"phone","platform":"iso","token":"t""#,
        "refused /data/platform: there is no platform `iso`: use `android`, `ios` or `web`",
    );
    for token in ["", "a b", "a\\nb", "ä", &"x".repeat(4_097)] {
        let word = "refused /data/token: it must be 1 to 4096 visible ASCII characters without spaces";
        device(&format!(r#"{phone},"token":"{token}""#), word);
    }
    device(&format!(r#"{phone},"token":7"#), "refused /data/token: it is not a text");
    check_admission(
        "tidings.seen",
        r#""data":{"person":"ann","surface":"site"}"#,
        "refused /data/surface: there is no surface `site`: the catalogue declares no `surfaces`",
    );
    check_admission("tidings.erase", r#""version":7,"data":{"person":"ann"}"#, "erase ann v7");
    check_admission("tidings.welcome", r#""version":8,"data":{"person":"ann"}"#, "welcome ann v8");
    check_admission("tidings.erase", r#""data":{}"#, "refused /data/person: `person` is missing");
    check_admission(
        "tidings.seen",
        r#""data":{"person":"ann"}"#,
        "refused /data/surface: `surface` is missing",
    );
}

#[test]
fn feedback_is_admitted_or_refused_with_a_reason() {
    let read = |rest: &str, expected: &str| {
        check_admission("tidings.read", &format!(r#""data":{{"person":"ann"{rest}}}"#), expected);
    };
    let key = "2026-11-21T09:00:00.000Z/0123456789abcdef0123456789abcdef";
    read(r#","subject":"work:1""#, "Read ann work:1 until 2026-11-21T12:00:00.000Z");
    read(&format!(r#","entries":["{key}"]"#), &format!("Read ann [{key}]"));
    read(
        r#","subject":"wrok:1""#,
        "refused /data/subject: wrok:1: there is no subject type `wrok`, did you mean `work`?",
    );
    read(r#","kind":"work_out""#, "Read ann work_out until 2026-11-21T12:00:00.000Z");
    read(r#","all":true"#, "Read ann all until 2026-11-21T12:00:00.000Z");
    read(r#","all":false"#, "refused /data/all: it must be true");
    read(
        r#","all":true,"kind":"work_out""#,
        "refused /data: it must have one of `subject`, `entries`, `kind` or `all`",
    );
    read("", "refused /data: it must have one of `subject`, `entries`, `kind` or `all`");
    read(
        r#","subject":"work:1","entries":[]"#,
        "refused /data: it must have one of `subject`, `entries`, `kind` or `all`",
    );
    read(r#","entries":[]"#, "refused /data/entries: it must be a list with at least one entry");
    let no_entry = "it is not an entry key: 2026-11-21T09:00:00.000Z/ and 32 hexadecimal digits";
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
    check_admission(
        "tidings.cleared",
        r#""time":"2026-11-21T10:00:00Z","data":{"person":"ann","subject":"work:1"}"#,
        "Cleared ann work:1 until 2026-11-21T10:00:00.000Z",
    );
}

#[test]
fn what_else_a_person_does_is_said_of_entries_or_a_subject() {
    let key = "2026-11-21T09:00:00.000Z/0123456789abcdef0123456789abcdef";
    let check = |what: &str, rest: &str, expected: &str| {
        check_admission(what, &format!(r#""data":{{"person":"ann"{rest}}}"#), expected);
    };
    let entries = format!(r#","entries":["{key}"]"#);
    let plain = [
        ("tidings.viewed", "Seen"),
        ("tidings.unread", "Unread"),
        ("tidings.restored", "Restored"),
        ("tidings.saved", "Saved"),
        ("tidings.unsaved", "Unsaved"),
        ("tidings.unsnoozed", "Snoozed(1970-01-01T00:00:00.000Z)"),
    ];
    for (what, word) in plain {
        check(what, &entries, &format!("{word} ann [{key}]"));
        check(what, r#","subject":"work:1""#, &format!("{word} ann work:1 until 2026-11-21T12:00:00.000Z"));
        let broad = "it goes with what was read or cleared; this needs one of `subject` or `entries`";
        check(what, r#","all":true"#, &format!("refused /data/all: {broad}"));
        check(what, r#","kind":"work_out""#, &format!("refused /data/kind: {broad}"));
        let until = format!(r#"{entries},"until":"2026-11-22T09:00:00Z""#);
        check(
            what,
            &until,
            "refused /data/until: there is no field `until`: use `person`, `subject`, `entries`, `kind` or `all`",
        );
    }
    let snooze =
        |until: &str, expected: &str| check("tidings.snoozed", &format!("{entries}{until}"), expected);
    let later = r#","until":"2026-11-23T09:00:00Z""#;
    snooze(later, &format!("Snoozed(2026-11-23T09:00:00.000Z) ann [{key}]"));
    snooze("", "refused /data/until: `until` is missing");
    for odd in [r#"7"#, r#""tomorrow""#, r#""2026-11-23""#, r#""""#] {
        let refused = if odd == "7" {
            "it is not a text"
        } else {
            "it is not an instant such as `2026-11-21T09:00:00Z`"
        };
        snooze(&format!(r#","until":{odd}"#), &format!("refused /data/until: {refused}"));
    }
    snooze(r#","until":"2026-11-20T09:00:00Z""#, &format!("Snoozed(2026-11-20T09:00:00.000Z) ann [{key}]"));
    snooze(
        r#","until":"2027-11-20T09:00:00Z""#,
        "refused /data/until: an entry of these expires before that: put it off until 2026-12-11T00:00:00.000Z at the latest",
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
        prop::sample::select(vec!["ann", "work:1", "author:7", "UTC", "a@b", "52.5,13.4", "work_out", NOON])
            .prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(|items| json!(items)))
}

fn any_cloud() -> impl Strategy<Value = CloudChange> {
    let what = vec![
        "work.published",
        "work.suggested",
        "x",
        "tidings.follow",
        "tidings.profile",
        "tidings.mute",
        "tidings.unmute",
        "tidings.preference",
        "tidings.read",
        "tidings.cleared",
    ];
    let field = vec![
        "title",
        "author",
        "link",
        "score",
        "public",
        "person",
        "target",
        "subject",
        "entries",
        "email",
        "zone",
        "place",
        "ip_address",
        "email_plan",
        "hour",
        "choice",
        "channel",
        "category",
        "kind",
        "actor",
        "thread",
        "a/~b",
    ];
    let subjects = prop::collection::vec(prop_oneof![Just("work:1".to_owned()), ".{0,6}"], 0..3);
    let score = prop::option::of(any::<f64>());
    let persons = prop::collection::vec((prop_oneof![Just("ann".to_owned()), ".{0,6}"], score), 0..3);
    let listed = (subjects, persons);
    let data = prop::collection::vec((prop::sample::select(field), any_json()), 0..6);
    let time = prop::option::of(-700_000_000..700_000_000_i64);
    let subject = prop::option::of(prop_oneof![Just("work:1".to_owned()), ".{0,6}"]);
    (prop::sample::select(what), data, time, subject, listed, prop::option::of(any::<i64>())).prop_map(
        |(what, data, time, subject, (subjects, persons), version)| CloudChange {
            id: "1".to_owned(),
            source: "s".to_owned(),
            what: what.to_owned(),
            subject,
            subjects,
            persons: persons.into_iter().map(|(person, score)| CloudPerson { person, score }).collect(),
            time: time.map(|ahead| parse_instant(NOON).plus(ahead)),
            data: data.into_iter().map(|(field, value)| (field.to_owned(), value)).collect(),
            actor: None,
            actor_name: None,
            actor_kind: None,
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
        let judge = || admit_cloud_event(cloud.clone(), &tenant(), parse_instant(NOON), rules(&CATALOGUE), &secret());
        let verdict = judge();
        prop_assert_eq!(&verdict, &judge());
        match verdict {
            Ok(AdmittedItem::Change(change)) => {
                for event in change.events() {
                    prop_assert_eq!(event.occurred, cloud.time.unwrap_or(parse_instant(NOON)));
                    let ahead = event.occurred.since(parse_instant(NOON));
                    prop_assert!((-7 * 86_400_000..=60_000).contains(&ahead), "{}", ahead);
                }
                let effects = IntakeEffects::from_admitted(vec![AdmittedItem::Change(change)], &IntakeFacts::default(), parse_instant(NOON));
                prop_assert_eq!(effects.verdicts, [IntakeVerdict::Taken]);
            }
            Ok(admitted) => {
                // What cannot be announced would be refused only now.
                let effects = IntakeEffects::from_admitted(vec![admitted], &IntakeFacts::default(), parse_instant(NOON));
                prop_assert_eq!(effects.verdicts, [IntakeVerdict::Taken]);
            }
            Err(refused) => prop_assert!(matches!(refused.at.as_bytes().first(), None | Some(b'/')) && !refused.reason.is_empty(), "{}", refused),
        }
    }
}
