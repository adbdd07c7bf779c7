//! Pushes in the reader's own browser: a whole house, a push service that nobody here wrote, and Chromium with the house's
//! own page and worker.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use engines::{BrowserPage, PushService};
use serde_json::{Value, json};

use crate::{
    house::{ExampleHouse, wait_for},
    judges::run_json,
};

/// The browser of RFC 8291, section 5.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

/// A house that nudges by push.
fn push_catalogue() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogues/pushes")
}

/// What is between two words of a text.
fn text_between<'a>(text: &'a str, before: &str, after: &str) -> Result<&'a str> {
    let rest = text.split_once(before).with_context(|| format!("no {before}"))?.1;
    Ok(rest.split_once(after).with_context(|| format!("no {after}"))?.0)
}

#[test]
fn a_browser_that_subscribed_on_the_page_shows_what_is_pushed() {
    let service = PushService::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (key, ca) = (folder.path().join("vapid.pem"), folder.path().join("ca.pem"));
    fs::write(&ca, service.ca().unwrap()).unwrap();
    // The key that the command makes is the one that the page gives to browsers.
    let mut make = Command::new(tests::binary().unwrap());
    let made: Value =
        run_json(make.args(["--json", "push", "key", "--file"]).arg(&key).current_dir(folder.path()))
            .unwrap();
    let (key, ca) = (key.display().to_string(), ca.display().to_string());
    let settings = [
        ("TIDINGS_WEBPUSH_KEY_FILE", key.as_str()),
        ("TIDINGS_WEBPUSH_SUBJECT", "mailto:ops@example.org"),
        ("TIDINGS_WEBPUSH_HOSTS", service.host()),
        ("TIDINGS_PUSH_CA", &ca),
    ];
    let house = ExampleHouse::start(&push_catalogue(), &settings).unwrap();
    let page = house.page("/push?person=ann").unwrap();
    let public = text_between(&page, "data-key=\"", "\"").unwrap();
    assert_eq!(made["public"], public);
    let subscribed = service.subscribe(public).unwrap();

    let mut browser =
        BrowserPage::open("push_page.cjs", &format!("{}/push?person=ann", house.address), &subscribed.json)
            .unwrap();
    let begun = browser.read_answer().unwrap();
    assert_eq!(
        (&begun["begun"]["isGood"], &begun["without"]["isGood"]),
        (&json!(true), &json!(false)),
        "{begun}"
    );
    assert_eq!(begun["refused"], json!([]), "the page's policy lets it do what it does");

    let message = json!({"subject": "message:1", "room": "room:1", "words": "Kaffee? ☕"});
    follow_room(&house).unwrap();
    house.say("/v1/changes", &[event_json("1", "message.sent", &message)]).unwrap();
    let arrived = wait_for("the push", || Ok(service.read_notifications(&subscribed)?.pop())).unwrap();
    let sent: Value = serde_json::from_str(&arrived).unwrap();
    let told = browser.send_line(&arrived).unwrap();
    let shown = &told["shown"][0];
    for field in ["title", "body", "tag"] {
        assert!(shown[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {told}");
        assert_eq!(shown[field], sent[field], "{field}: {told}");
    }
    assert_eq!((&told["opened"], &told["left"]), (&json!([sent["opens"]]), &json!(0)), "{told}");
    let titles: Vec<&Value> = sent["actions"].as_array().unwrap().iter().map(|one| &one["title"]).collect();
    assert_eq!(titles, ["Mark as read", "Settings"], "{sent}");
    // A click says that it was read.
    let is_read = || {
        let page = house.get_json("/v1/people/ann/feed")?;
        Ok((page["bundles"][0]["unread"] == json!(false)).then_some(()))
    };
    wait_for("the mark of the click", is_read).unwrap();

    let ended = browser.send_line("end").unwrap();
    assert_eq!(ended["isGood"], true, "{ended}");
    browser.close().unwrap();
    // Nobody is left to be told.
    house
        .say(
            "/v1/changes",
            &[event_json("2", "alarm.raised", &json!({"subject": "alarm:1", "owner": "ann"}))],
        )
        .unwrap();
    let fate = wait_for("the alarm's fate", || read_fate(&house, "alarm:1")).unwrap();
    assert_eq!((fate.as_str(), service.read_notifications(&subscribed).unwrap().len()), ("no address", 1));
}

#[test]
fn a_demo_leaves_pushes_in_the_outbox_whatever_becomes_of_the_copies() {
    let house = ExampleHouse::start_as(&push_catalogue(), &[], &["--demo"]).unwrap();
    let page = house.page("/push?person=ann").unwrap();
    assert!(text_between(&page, "data-key=\"", "\"").unwrap().len() > 80, "a demo has a key of its own");
    // Where no browser is ever found: an address of this machine is asked for nobody.
    let subscription = json!({"endpoint": "https://127.0.0.1:9/x", "keys": {"p256dh": P256DH, "auth": AUTH}});
    let fields = [
        ("csrf", text_between(&page, "name=\"csrf\" value=\"", "\"").unwrap()),
        ("person", "ann"),
        ("what", "begin"),
        ("subscription", &subscription.to_string()),
    ];
    house.press("/push", &fields).unwrap();
    follow_room(&house).unwrap();
    let message = json!({"subject": "message:1", "room": "room:1", "words": "Kaffee?"});
    house.say("/v1/changes", &[event_json("1", "message.sent", &message)]).unwrap();
    let fate = wait_for("its fate", || read_fate(&house, "message:1")).unwrap();
    assert_eq!(fate, "told, sent");
    assert!(house.page("/outbox").unwrap().contains("1 new"), "it lies in the outbox");
}

/// Ann hears what is said in a room.
fn follow_room(house: &ExampleHouse) -> Result<()> {
    let with =
        |id: &str, what: &str, data: Value| json!({"id": id, "source": "seen", "type": what, "data": data});
    house.say(
        "/v1/facts",
        &[
            with("p", "tidings.profile", json!({"person": "ann", "zone": "UTC"})),
            with("f", "tidings.follow", json!({"person": "ann", "target": "room:1"})),
        ],
    )
}

fn event_json(id: &str, what: &str, fields: &Value) -> Value {
    let mut event = json!({"id": id, "source": "seen", "type": what});
    for (name, value) in fields.as_object().into_iter().flatten() {
        event[name] = value.clone();
    }
    event
}

/// What became of what Ann was to be pushed about a subject, once that is known.
fn read_fate(house: &ExampleHouse, subject: &str) -> Result<Option<String>> {
    let days = house.get_json("/admin/days?person=ann")?;
    let entries = days["days"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|day| day["entries"].as_array().into_iter().flatten());
    let of = entries.filter(|entry| entry["subject"] == subject);
    let mut fates = of.flat_map(|entry| entry["fates"].as_array().into_iter().flatten());
    let push = fates.find(|fate| fate["channel"] == "push").filter(|fate| fate["fate"] != "waiting");
    let said = push.map(|push| (push["fate"].as_str().unwrap_or_default(), push["journal"].as_str()));
    Ok(match said {
        Some((fate, Some("sent"))) => Some(format!("{fate}, sent")),
        // It is on its way.
        Some(("told", _)) | None => None,
        Some((fate, _)) => Some(fate.to_owned()),
    })
}
