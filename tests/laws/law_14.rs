//! Law 14: nobody is without a way out. Whenever somebody is erased (nothing told yet, a window open, a message in
//! hand, told long ago), once it is said to be done no table, no topic, no mail and no file has their address or name,
//! and nothing that was in flight brings anything back; everybody else has what they had.

use std::{collections::BTreeSet, path::Path, process::Command};

use model::{
    Person,
    erase::{Erase, Erasure, Progress},
};
use serde_json::json;
use store::Erasure as _;
use wire::topics;

use crate::{
    gates::Gates,
    names::{HOUR_MS, tenant},
    seeds::{Dice, waiting_schedules},
    texts::{Knobs, catalogue},
    world::World,
};

#[test]
fn law_14_nobody_is_without_a_way_out() {
    waiting_schedules(4, erased_at_any_time);
}

const ADDRESS: &str = "ann.who.wants.to.go@example.com";
const NAME: &str = "Annabel Who-Wants-To-Go";
const AUTHORS: [&str; 2] = ["author:1", "author:2"];

async fn erased_at_any_time(mut dice: Dice) {
    let mut world = World::new(catalogue(&Knobs { most: 20, ..Knobs::default() })).await;
    let gates = Gates::default();
    world.start(gates.around(world.engines())).await;
    let profile = json!({"person": "ann", "email": ADDRESS, "name": NAME, "zone": "Europe/Berlin"});
    world.fact("tidings.profile", profile).await;
    for author in AUTHORS {
        world.follow("ann", author, true).await;
    }
    world.person("bob", &AUTHORS).await;
    world.fact("tidings.mute", json!({"person": "ann", "kind": "shown"})).await;
    // What nobody can use is put aside with all that is in it.
    world.fact("tidings.profile", json!({"person": "ann", "email": ADDRESS, "nmae": NAME})).await;
    world.settle().await;
    let (many, at) = (1 + dice.below(4), world.now());
    for number in 0..many {
        world.make("work.made", number, AUTHORS[number % 2], at).await;
    }
    world.settle().await;
    // Told already, or in hand, or still in an open window.
    let in_hand = match dice.below(3) {
        0 => {
            world.pass(25 * HOUR_MS).await;
            assert!(world.outbox.list(usize::MAX).iter().any(|mail| mail.to == ADDRESS));
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
    world.fact("tidings.erase", json!({"person": "ann"})).await;
    // What is said of them from here on is heard by nobody.
    world.make("work.made", many, AUTHORS[0], world.now()).await;
    world.fact("tidings.profile", json!({"person": "ann", "email": ADDRESS, "name": NAME})).await;
    world.follow("ann", AUTHORS[0], true).await;
    if in_hand {
        world.caught_up(&["sender", "digest", "erasures"]).await;
        gates.open("sender reads");
    }
    world.settle().await;
    done(&world).await;
    nothing_is_left(&world).await;
    world.pass(49 * HOUR_MS).await;
    nothing_is_left(&world).await;
    let rows = |days: &std::collections::BTreeMap<_, Vec<model::Row>>| {
        days.values()
            .flatten()
            .filter(|row| matches!(row, model::Row::Entry(_)))
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    assert!(rows(&world.days("bob").await).is_superset(&rows(&bobs)), "bob has lost something");
    assert_eq!(told_bob(&world).await.len(), many + 1, "bob is told as if nothing had been");
    files_are_clean(&world).await;
}

/// The titles that the mails tell which are there.
async fn told_bob(world: &World) -> BTreeSet<String> {
    let mut titles = BTreeSet::new();
    for one in world.outbox.list(usize::MAX).into_iter().filter(|mail| mail.to == "bob@example.com") {
        let mail = world.outbox.read(&one.message_id).await.unwrap().unwrap();
        let says = mail.text.lines().filter_map(|line| line.strip_suffix('.')?.split_once(' '));
        titles.extend(says.map(|(_, title)| title.to_owned()));
    }
    titles
}

/// The receipt tells of every place.
async fn done(world: &World) {
    let said = world.records(topics::ERASURES).await;
    let last: Erasure = wire::erasure::decode(said.last().unwrap().value.as_deref().unwrap()).unwrap();
    let Progress::Done(receipt) = last.progress else { panic!("{:?}", last.progress) };
    assert_eq!(receipt.lines.len(), model::erase::Holding::ALL.len());
    let removed = |name: &str| receipt.lines.iter().find(|line| line.holding.name() == name).unwrap().removed;
    assert!(removed("profile") >= 3 && removed("crowds") >= 3 && removed("mutes") == 1, "{receipt:?}");
    assert_eq!(removed("follows"), 2, "{receipt:?}");
    assert!(removed("quarantine") == 1 && removed("days") >= 1, "{receipt:?}");
}

async fn nothing_is_left(world: &World) {
    let (tenant, ann) = (tenant("main"), Person::new("ann").unwrap());
    let left = world.store.erase(&tenant, &ann, Erase::Look, world.now()).await.unwrap();
    assert!(left.values().all(|count| *count == 0), "{left:?}");
    let key = wire::key::person(&tenant, &ann);
    assert!(
        world.records(topics::WINDOWS).await.iter().all(|record| record.key != key),
        "a window came back"
    );
    assert!(world.outbox.list(usize::MAX).iter().all(|mail| mail.to != ADDRESS), "a mail is there");
}

/// Another erasure takes what was said in the meantime, and then the files have neither address nor name.
async fn files_are_clean(world: &World) {
    let needles = [ADDRESS, NAME].map(|needle| needle.as_bytes().to_vec());
    let found = grep(world.dir.path(), &needles);
    let mut later = world.records(topics::CHANGES).await;
    // Facts that came after the mark lie in `changes` until they are too old, or erased once more.
    later.retain(|record| record.value.as_deref().is_some_and(|value| contains(value, &needles)));
    let in_changes = later.len();
    assert!(in_changes <= 1, "facts of before the mark are still in `changes`");
    let elsewhere: Vec<_> =
        found.iter().filter(|path| in_changes == 0 || !path.contains("/topics/")).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}

fn contains(bytes: &[u8], needles: &[Vec<u8>]) -> bool {
    needles.iter().any(|needle| bytes.windows(needle.len()).any(|part| part == needle.as_slice()))
}

/// The files below a folder that have one of these in them. There are logs of writes of 64 MiB among them.
fn grep(dir: &Path, needles: &[Vec<u8>]) -> Vec<String> {
    let mut grep = Command::new("grep");
    grep.args(["-rlaF"]);
    for needle in needles {
        grep.arg("-e").arg(str::from_utf8(needle).unwrap());
    }
    let found = grep.arg(dir).output().unwrap();
    assert!(matches!(found.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&found.stderr));
    String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect()
}
