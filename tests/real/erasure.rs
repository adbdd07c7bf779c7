//! A person is erased from a house on Kafka and Cassandra: afterwards no table has a word of her, no topic either but where
//! the receipt says so, and it says until when as the brokers have it; and everybody else is told as before.

mod search;

use std::{collections::BTreeSet, path::Path, time::Duration};

use anyhow::{Context as _, Result, ensure};
use runtime::{Clock, clock::SteadyStopwatch};
use serde_json::{Value, json};

use crate::house::{EngineAddresses, RealHouse, pause_for, wait_until};
use search::{FoundWord, HouseSearch};

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
    let watch = SteadyStopwatch::start();
    let name = format!("erased_{}", std::process::id());
    let (kafka, cql) = (engines::kafka().unwrap(), engines::cql().unwrap());
    let engines = EngineAddresses { kafka, cql, name: &name, known: false };
    let mut house = RealHouse::prepare_on(&engines, &ROOMS).unwrap();
    let catalogue = tests::scenarios::root().join("tests/catalogues/pushes");
    house.processes.iter_mut().for_each(|one| one.set("TIDINGS_CATALOGUE", &catalogue.display().to_string()));
    house.start().unwrap();
    let search = HouseSearch::new(&engines).unwrap();
    tell_both(&house).with_context(|| house.read_logs()).unwrap();
    // Who looks finds: in the tables, in what was said on `changes`, in what could not be used, in the mails.
    let before = search.find_everywhere(&OWN).unwrap();
    let places: BTreeSet<_> =
        before.iter().map(|found| (found.place.as_str(), found.word.as_str())).collect();
    let (state, changes) = ("table states", "topic changes");
    let known = [(state, ADDRESS), (state, NAME), (state, TOKEN), (changes, ADDRESS), (changes, NAME)];
    let aside = ("topic quarantine", ADDRESS);
    assert_eq!(places, known.into_iter().chain([aside]).collect(), "{before:#?}");
    let id_before = search.find_everywhere(&[ID]).unwrap();
    assert!(places_of(&id_before).len() > 8, "{:?}", places_of(&id_before));
    assert!(read_letters(house.outbox()).contains(ADDRESS));
    println!("told after {} s", watch.elapsed().as_secs());

    let receipt = erase_person(&house).with_context(|| house.read_logs()).unwrap();
    println!("erased after {} s: {receipt:#}", watch.elapsed().as_secs());
    let wrong = search.check_receipt(&receipt, &OWN, &["changes", "quarantine"]).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let by_id = [
        "changes",
        "quarantine",
        "events",
        "slices",
        "pending",
        "inbox",
        "ready-urgent",
        "ready",
        "windows",
        "erasures",
    ];
    let wrong = search.check_receipt(&receipt, &[ID], &by_id).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(!read_letters(house.outbox()).contains(ADDRESS), "a mail is still there");
    assert!(!read_letters(house.outbox()).contains(TOKEN), "a push is still there");
    check_goes_on(&house).with_context(|| house.read_logs()).unwrap();
    let again = search.find_everywhere(&OWN).unwrap();
    assert!(again.iter().all(|found| found.place.starts_with("topic ")), "{again:#?}");
    println!("erased: {} s", watch.elapsed().as_secs());
}

fn places_of(found: &[FoundWord]) -> BTreeSet<&str> {
    found.iter().map(|found| found.place.as_str()).collect()
}

fn fact_line(id: &str, what: &str, data: &Value) -> String {
    json!({"id": id, "source": "real", "type": what, "data": data}).to_string()
}

fn message_event(id: &str, words: &str) -> String {
    json!({"id": id, "source": "real", "type": "message.sent", "subject": format!("message:{id}"),
        "data": {"words": words, "room": "room:1"}})
    .to_string()
}

/// Two follow a room, are told of it by push and by mail, and much is known of one of them.
fn tell_both(house: &RealHouse) -> Result<()> {
    let mut facts = Vec::new();
    for (person, address, token) in [(ID, ADDRESS, TOKEN), ("bob", "bob@example.org", "bobs-phone")] {
        facts.push(fact_line(
            &format!("profile-{person}"),
            "tidings.profile",
            &json!({"person": person, "email": address, "zone": "UTC"}),
        ));
        let device = json!({"person": person, "device": "phone", "platform": "android", "token": token});
        facts.push(fact_line(&format!("device-{person}"), "tidings.device", &device));
        let follow = json!({"person": person, "target": "room:1"});
        facts.push(fact_line(&format!("follow-{person}"), "tidings.follow", &follow));
    }
    facts.push(fact_line("mute", "tidings.mute", &json!({"person": ID, "kind": "liked"})));
    house.say("/v1/facts", &facts)?;
    // By the topic, too: what is right, and what nobody can use.
    let door = &house.processes[0];
    let right = json!({"person": ID, "email": ADDRESS, "name": NAME, "zone": "UTC"});
    let wrong = json!({"person": ID, "email": ADDRESS, "zone": "nowhere"});
    for (id, data) in [("right", &right), ("wrong", &wrong)] {
        door.post_json("/admin/upstream", &serde_json::from_str(&fact_line(id, "tidings.profile", data))?)?;
    }
    let aside = || Ok(house.quarantine()?.as_array().is_some_and(|aside| aside.len() == 1));
    wait_until(PATIENCE, &aside).context("nothing was put aside")?;
    house.say("/v1/changes", &[message_event("one", "One"), message_event("two", "Two")])?;
    await_letters(house, &[ADDRESS, TOKEN, "bob@example.org", "bobs-phone"])
}

/// Closes windows until messages have gone to all of these.
fn await_letters(house: &RealHouse, to: &[&str]) -> Result<()> {
    let waited = SteadyStopwatch::start();
    loop {
        let letters = read_letters(house.outbox());
        if to.iter().all(|one| letters.contains(one)) {
            return Ok(());
        }
        ensure!(waited.elapsed() < PATIENCE, "not all of {to:?} were told: {letters}");
        drop(house.release("late"));
        pause_for(BETWEEN);
    }
}

/// Has her erased; the receipt.
fn erase_person(house: &RealHouse) -> Result<Value> {
    let path = format!("/admin/erase?person={ID}");
    let ask = || house.processes[0].post_json("/admin/erase", &json!({"person": ID, "deed": "erase"}));
    let asked = ask()?;
    ensure!(asked["state"] == "asked", "{asked}");
    let done = || Ok(house.processes[0].get_json(&path)?["state"] == "done");
    wait_until(PATIENCE, &done).context("it is not done")?;
    house.processes[0].get_json(&path)
}

/// Nothing is heard of her any more, and the other one is told.
fn check_goes_on(house: &RealHouse) -> Result<()> {
    let back = json!({"person": ID, "email": ADDRESS, "name": NAME, "zone": "UTC"});
    house.say("/v1/facts", &[fact_line("back", "tidings.profile", &back)])?;
    house.say(
        "/v1/facts",
        &[fact_line("follow-again", "tidings.follow", &json!({"person": ID, "target": "room:1"}))],
    )?;
    // A push to each: only one has a window at all.
    let visit = |to: &str| {
        json!({"id": format!("visit-{to}"), "source": "real", "type": "visit.made", "subject": format!("visit:{to}"),
            "data": {"who": format!("Somebody at the door of {to}"), "owner": to}})
    };
    house.say(
        "/v1/changes",
        &[message_event("three", "Three"), visit(ID).to_string(), visit("bob").to_string()],
    )?;
    await_letters(house, &["Somebody at the door of bob"])?;
    let letters = read_letters(house.outbox());
    ensure!(!letters.contains(ADDRESS) && !letters.contains(TOKEN), "she was told");
    Ok(())
}

/// All that lies in an outbox, the notes beside the messages too.
fn read_letters(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text += &read_letters(&path);
        } else if let Ok(bytes) = std::fs::read(&path) {
            text += &String::from_utf8_lossy(&bytes);
        }
    }
    text
}

fn now_ms() -> i64 {
    Clock::real(0).now()
}
