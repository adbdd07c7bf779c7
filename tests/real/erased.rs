//! A person is erased from a house on Kafka and Cassandra: afterwards no table has a word of her, no topic either but where
//! the receipt says so, and it says until when as the brokers have it; and everybody else is told as before.

mod search;

use std::{collections::BTreeSet, path::Path, time::Duration};

use anyhow::{Context as _, Result, ensure};
use runtime::{Clock, clock::Stopwatch};
use serde_json::{Value, json};

use crate::house::{Engines, House, pause, until};
use search::{Found, Search};

const ROOMS: [&[&str]; 3] = [&["ingest", "fanout"], &["digest"], &["sender", "keeper"]];
const PATIENCE: Duration = Duration::from_secs(180);
const BETWEEN: Duration = Duration::from_millis(500);

const ID: &str = "ann-who-wants-to-go";
const ADDRESS: &str = "annabel.of.nowhere@example.com";
const NAME: &str = "Annabel of Nowhere";
const TOKEN: &str = "a-token-of-annabels-phone";
/// What is nobody else's: none of it may be anywhere but where the receipt says so.
const OWN: [&str; 3] = [ADDRESS, NAME, TOKEN];

#[test]
fn whoever_is_erased_is_in_no_table_and_on_no_topic_but_where_the_receipt_says_until_when() {
    let watch = Stopwatch::start();
    let name = format!("erased_{}", std::process::id());
    let (kafka, cql) = (engines::kafka().unwrap(), engines::cql().unwrap());
    let engines = Engines { kafka, cql, name: &name, known: false };
    let mut house = House::closed(&engines, &ROOMS).unwrap();
    let catalogue = tests::scenarios::root().join("tests/catalogues/pushes");
    house.processes.iter_mut().for_each(|one| one.set("TIDINGS_CATALOGUE", &catalogue.display().to_string()));
    house.start().unwrap();
    let search = Search::new(&engines).unwrap();
    told(&house).with_context(|| house.said()).unwrap();
    // Who looks finds: in the tables, in what was said on `changes`, in what could not be used, in the mails.
    let before = search.all(&OWN).unwrap();
    let places: BTreeSet<_> =
        before.iter().map(|found| (found.place.as_str(), found.word.as_str())).collect();
    let (state, changes) = ("table states", "topic changes");
    let known = [(state, ADDRESS), (state, NAME), (state, TOKEN), (changes, ADDRESS), (changes, NAME)];
    let aside = ("topic quarantine", ADDRESS);
    assert_eq!(places, known.into_iter().chain([aside]).collect(), "{before:#?}");
    let id_before = search.all(&[ID]).unwrap();
    assert!(places_of(&id_before).len() > 8, "{:?}", places_of(&id_before));
    assert!(letters(house.outbox()).contains(ADDRESS));
    println!("told after {} s", watch.elapsed().as_secs());

    let receipt = erase(&house).with_context(|| house.said()).unwrap();
    println!("erased after {} s: {receipt:#}", watch.elapsed().as_secs());
    let wrong = search.wrong(&receipt, &OWN, &["changes", "quarantine"]).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let by_id =
        ["changes", "quarantine", "events", "slices", "pending", "inbox", "ready", "windows", "erasures"];
    let wrong = search.wrong(&receipt, &[ID], &by_id).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(!letters(house.outbox()).contains(ADDRESS), "a mail is still there");
    assert!(!letters(house.outbox()).contains(TOKEN), "a push is still there");
    goes_on(&house).with_context(|| house.said()).unwrap();
    let again = search.all(&OWN).unwrap();
    assert!(again.iter().all(|found| found.place.starts_with("topic ")), "{again:#?}");
    println!("erased: {} s", watch.elapsed().as_secs());
}

fn places_of(found: &[Found]) -> BTreeSet<&str> {
    found.iter().map(|found| found.place.as_str()).collect()
}

fn said(id: &str, what: &str, data: &Value) -> String {
    json!({"id": id, "source": "real", "type": what, "data": data}).to_string()
}

fn message(id: &str, words: &str) -> String {
    json!({"id": id, "source": "real", "type": "message.sent", "subject": format!("message:{id}"),
        "data": {"words": words, "room": "room:1"}})
    .to_string()
}

/// Two follow a room, are told of it by push and by mail, and much is known of one of them.
fn told(house: &House) -> Result<()> {
    let mut facts = Vec::new();
    for (person, address, token) in [(ID, ADDRESS, TOKEN), ("bob", "bob@example.org", "bobs-phone")] {
        facts.push(said(
            &format!("profile-{person}"),
            "tidings.profile",
            &json!({"person": person, "email": address, "zone": "UTC"}),
        ));
        let device = json!({"person": person, "device": "phone", "platform": "android", "token": token});
        facts.push(said(&format!("device-{person}"), "tidings.device", &device));
        let follow = json!({"person": person, "target": "room:1"});
        facts.push(said(&format!("follow-{person}"), "tidings.follow", &follow));
    }
    facts.push(said("mute", "tidings.mute", &json!({"person": ID, "kind": "liked"})));
    house.say("/v1/facts", &facts)?;
    // By the topic, too: what is right, and what nobody can use.
    let door = &house.processes[0];
    let right = json!({"person": ID, "email": ADDRESS, "name": NAME, "zone": "UTC"});
    let wrong = json!({"person": ID, "email": ADDRESS, "zone": "nowhere"});
    for (id, data) in [("right", &right), ("wrong", &wrong)] {
        door.ordered("/admin/upstream", &serde_json::from_str(&said(id, "tidings.profile", data))?)?;
    }
    let aside = || Ok(house.quarantine()?.as_array().is_some_and(|aside| aside.len() == 1));
    until(PATIENCE, &aside).context("nothing was put aside")?;
    house.say("/v1/changes", &[message("one", "One"), message("two", "Two")])?;
    tells(house, &[ADDRESS, TOKEN, "bob@example.org", "bobs-phone"])
}

/// Closes windows until messages have gone to all of these.
fn tells(house: &House, to: &[&str]) -> Result<()> {
    let waited = Stopwatch::start();
    loop {
        let letters = letters(house.outbox());
        if to.iter().all(|one| letters.contains(one)) {
            return Ok(());
        }
        ensure!(waited.elapsed() < PATIENCE, "not all of {to:?} were told: {letters}");
        drop(house.release("late"));
        pause(BETWEEN);
    }
}

/// Has her erased; the receipt.
fn erase(house: &House) -> Result<Value> {
    let path = format!("/admin/erase?person={ID}");
    let ask = || house.processes[0].ordered("/admin/erase", &json!({"person": ID, "deed": "erase"}));
    let asked = ask()?;
    ensure!(asked["state"] == "asked", "{asked}");
    let done = || Ok(house.processes[0].asked(&path)?["state"] == "done");
    until(PATIENCE, &done).context("it is not done")?;
    house.processes[0].asked(&path)
}

/// Nothing is heard of her any more, and the other one is told.
fn goes_on(house: &House) -> Result<()> {
    let back = json!({"person": ID, "email": ADDRESS, "name": NAME, "zone": "UTC"});
    house.say("/v1/facts", &[said("back", "tidings.profile", &back)])?;
    house.say(
        "/v1/facts",
        &[said("follow-again", "tidings.follow", &json!({"person": ID, "target": "room:1"}))],
    )?;
    // A push to each: only one has a window at all.
    let visit = |to: &str| {
        json!({"id": format!("visit-{to}"), "source": "real", "type": "visit.made", "subject": format!("visit:{to}"),
            "data": {"who": format!("Somebody at the door of {to}"), "owner": to}})
    };
    house
        .say("/v1/changes", &[message("three", "Three"), visit(ID).to_string(), visit("bob").to_string()])?;
    tells(house, &["Somebody at the door of bob"])?;
    let letters = letters(house.outbox());
    ensure!(!letters.contains(ADDRESS) && !letters.contains(TOKEN), "she was told");
    Ok(())
}

/// All that lies in an outbox, the notes beside the messages too.
fn letters(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text += &letters(&path);
        } else if let Ok(bytes) = std::fs::read(&path) {
            text += &String::from_utf8_lossy(&bytes);
        }
    }
    text
}

fn now() -> i64 {
    Clock::real(0).now()
}
