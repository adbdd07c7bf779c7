//! Law 14: nobody is without a way out. Whenever somebody is erased (nothing told yet, a window open, a message in
//! hand, told long ago), once it is said to be done no table, no topic, no mail and no file has their address or name,
//! and nothing that was in flight brings anything back; everybody else has what they had.

use std::{collections::BTreeSet, path::Path, process::Command};

use house_facts::erasure::{EraseMode, Erasure, ErasureProgress};
use model::Person;
use serde_json::json;
use store::ErasureStore as _;
use wire::topics;

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    gates::HouseGates,
    names::{HOUR_MS, tenant},
    seeds::{LawDice, run_waiting_schedules},
    world::LawHouse,
};

#[test]
fn law_14_nobody_is_without_a_way_out() {
    run_waiting_schedules(4, erased_at_any_time);
}

const ADDRESS: &str = "ann.who.wants.to.go@example.com";
const NAME: &str = "Annabel Who-Wants-To-Go";
const AUTHORS: [&str; 2] = ["author:1", "author:2"];

async fn erased_at_any_time(mut dice: LawDice) {
    let mut world =
        LawHouse::new(knob_catalogue(&CatalogueKnobs { most: 20, ..CatalogueKnobs::default() })).await;
    let gates = HouseGates::default();
    world.start(gates.around(world.engines())).await;
    let profile = json!({"person": "ann", "email": ADDRESS, "name": NAME, "zone": "Europe/Berlin"});
    world.send_fact("tidings.profile", profile).await;
    for author in AUTHORS {
        world.follow("ann", author, true).await;
    }
    world.add_person("bob", &AUTHORS).await;
    world.send_fact("tidings.mute", json!({"person": "ann", "kind": "shown"})).await;
    // What nobody can use is put aside with all that is in it.
    world.send_fact("tidings.profile", json!({"person": "ann", "email": ADDRESS, "nmae": NAME})).await;
    world.settle().await;
    let (many, at) = (1 + dice.below(4), world.now());
    for number in 0..many {
        world.publish_work("work.made", number, AUTHORS[number % 2], at).await;
    }
    world.settle().await;
    // Told already, or in hand, or still in an open window.
    let in_hand = match dice.below(3) {
        0 => {
            world.pass_time(25 * HOUR_MS).await;
            assert!(world.outbox.list_newest(usize::MAX).iter().any(|mail| mail.to == ADDRESS));
            false
        }
        1 => {
            gates.close("sender reads");
            world.clock.advance(25 * HOUR_MS);
            while world.records(topics::READY).await.len() < 2 {
                tokio::task::yield_now().await;
            }
            true
        }
        _ => false,
    };
    let bobs = world.days("bob").await;
    world.send_fact("tidings.erase", json!({"person": "ann"})).await;
    // What is said of them from here on is heard by nobody.
    world.publish_work("work.made", many, AUTHORS[0], world.now()).await;
    world.send_fact("tidings.profile", json!({"person": "ann", "email": ADDRESS, "name": NAME})).await;
    world.follow("ann", AUTHORS[0], true).await;
    if in_hand {
        world.wait_caught_up(&["sender", "digest", "erasures"]).await;
        gates.open("sender reads");
    }
    world.settle().await;
    check_receipt(&world).await;
    nothing_is_left(&world).await;
    world.pass_time(49 * HOUR_MS).await;
    nothing_is_left(&world).await;
    let rows = |days: &std::collections::BTreeMap<_, Vec<model::DayRow>>| {
        days.values()
            .flatten()
            .filter(|row| matches!(row, model::DayRow::Entry(_)))
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    assert!(rows(&world.days("bob").await).is_superset(&rows(&bobs)), "bob has lost something");
    assert_eq!(titles_of_bob(&world).await.len(), many + 1, "bob is told as if nothing had been");
    files_are_clean(&world).await;
}

/// The titles that the mails tell which are there.
async fn titles_of_bob(world: &LawHouse) -> BTreeSet<String> {
    let mut titles = BTreeSet::new();
    for one in world.outbox.list_newest(usize::MAX).into_iter().filter(|mail| mail.to == "bob@example.com") {
        let mail = world.outbox.read_mail(&one.message_id).await.unwrap().unwrap();
        let says = mail.text.lines().filter_map(|line| line.strip_suffix('.')?.split_once(' '));
        titles.extend(says.map(|(_, title)| title.to_owned()));
    }
    titles
}

/// The receipt tells of every place.
async fn check_receipt(world: &LawHouse) {
    let said = world.records(topics::ERASURES).await;
    let last: Erasure = wire::erasure::decode(said.last().unwrap().value.as_deref().unwrap()).unwrap();
    let ErasureProgress::Done(receipt) = last.progress else { panic!("{:?}", last.progress) };
    assert_eq!(receipt.lines.len(), house_facts::erasure::Holding::ALL.len());
    let removed = |name: &str| receipt.lines.iter().find(|line| line.holding.name() == name).unwrap().removed;
    assert!(removed("profile") >= 3 && removed("crowds") >= 3 && removed("mutes") == 1, "{receipt:?}");
    assert_eq!(removed("follows"), 2, "{receipt:?}");
    assert!(removed("quarantine") == 1 && removed("days") >= 1, "{receipt:?}");
}

async fn nothing_is_left(world: &LawHouse) {
    let (tenant, ann) = (tenant("main"), Person::new("ann").unwrap());
    let left = world.store.erase(&tenant, &ann, EraseMode::Look, world.now()).await.unwrap();
    assert!(left.values().all(|count| *count == 0), "{left:?}");
    let key = wire::key::person_key(&tenant, &ann);
    assert!(
        world.records(topics::WINDOWS).await.iter().all(|record| record.key != key),
        "a window came back"
    );
    assert!(world.outbox.list_newest(usize::MAX).iter().all(|mail| mail.to != ADDRESS), "a mail is there");
}

/// Another erasure takes what was said in the meantime, and then the files have neither address nor name.
async fn files_are_clean(world: &LawHouse) {
    let needles = [ADDRESS, NAME].map(|needle| needle.as_bytes().to_vec());
    let found = grep_files(world.dir.path(), &needles);
    let mut later = world.records(topics::CHANGES).await;
    // Facts that came after the mark lie in `changes` until they are too old, or erased once more.
    later.retain(|record| record.value.as_deref().is_some_and(|value| contains_any(value, &needles)));
    let in_changes = later.len();
    assert!(in_changes <= 1, "facts of before the mark are still in `changes`");
    let elsewhere: Vec<_> =
        found.iter().filter(|path| in_changes == 0 || !path.contains("/topics/")).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}

fn contains_any(bytes: &[u8], needles: &[Vec<u8>]) -> bool {
    needles.iter().any(|needle| bytes.windows(needle.len()).any(|part| part == needle.as_slice()))
}

/// The files below a folder that have one of these in them. There are logs of writes of 64 MiB among them.
fn grep_files(dir: &Path, needles: &[Vec<u8>]) -> Vec<String> {
    let mut grep = Command::new("grep");
    grep.args(["-rlaF"]);
    for needle in needles {
        grep.arg("-e").arg(str::from_utf8(needle).unwrap());
    }
    let found = grep.arg(dir).output().unwrap();
    assert!(matches!(found.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&found.stderr));
    String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect()
}
