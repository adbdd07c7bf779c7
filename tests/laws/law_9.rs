//! Law 9: checked again at the end. A Ready is in hand; then something is withdrawn, revoked, read, cleared, unfollowed or
//! unsubscribed before the sender runs, or while its message waits to be handed over: it is left out, and its fate says why.

use std::collections::{BTreeMap, BTreeSet};

use model::{EndReason, Fate};
use sender::config::FRESH_MS;
use serde_json::json;

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    gates::HouseGates,
    names::HOUR_MS,
    seeds::{LawDice, run_waiting_schedules},
    world::LawHouse,
};

#[test]
fn law_9_checked_again_at_the_end() {
    run_waiting_schedules(10, |dice| change_in_between(dice, "sender reads"));
    run_waiting_schedules(10, |dice| change_in_between(dice, "before the hand-over"));
}

const AUTHORS: [&str; 3] = ["author:1", "author:2", "author:3"];

/// What becomes of an entry, if it is not told.
type LeftOutFates = BTreeMap<usize, Fate>;

/// The sender stands still at this place, before or after it has read what holds.
async fn change_in_between(mut dice: LawDice, place: &'static str) {
    let mut world =
        LawHouse::new(knob_catalogue(&CatalogueKnobs { most: 20, ..CatalogueKnobs::default() })).await;
    let gates = HouseGates::default();
    world.start(gates.around(world.engines())).await;
    for who in ["ann", "bob"] {
        world.add_person(who, &AUTHORS).await;
    }
    world.settle().await;
    let many = 1 + dice.below(6);
    let at = world.now();
    let mut by = BTreeMap::new();
    for number in 0..many {
        let author = dice.pick(&AUTHORS);
        by.insert(number, author);
        world.publish_work("work.made", number, author, at).await;
    }
    world.settle().await;
    // The windows close, and the Readys lie before the sender.
    gates.close(place);
    world.clock.advance(25 * HOUR_MS);
    while world.records(wire::topics::READY).await.len() < 2 {
        tokio::task::yield_now().await;
    }
    gates.wait_reached(place).await;
    let left = draw_change(&mut world, &mut dice, &by).await;
    world.wait_caught_up(&["sender"]).await;
    // What was read a moment ago need not be read again.
    world.clock.advance(FRESH_MS + 1);
    gates.open(place);
    world.settle().await;
    world.pass_time(49 * HOUR_MS).await;
    let (told, fates) = (world.told_titles("ann").await, world.fates("ann").await);
    for number in 0..many {
        let title = format!("T{number}");
        match left.get(&number) {
            Some(fate) => {
                assert_eq!(told.get(&title), None, "{title} is {fate} and was told all the same");
                assert_eq!(fates.get(&title), Some(fate), "{title}");
            }
            None => {
                assert_eq!(told.get(&title), Some(&1), "{title}, {left:?}");
                assert!(
                    matches!(fates.get(&title), Some(Fate::Told { .. })),
                    "{title}: {:?}",
                    fates.get(&title)
                );
            }
        }
    }
    // Nobody else is concerned but by what is true of the works, and by what was revoked.
    let others = world.told_titles("bob").await.len();
    let of_all = [EndReason::NoLongerTrue, EndReason::Withdrawn].map(Fate::Ended);
    let withdrawn = left.values().filter(|fate| of_all.contains(fate)).count();
    assert_eq!(others, many - withdrawn);
    let mails: BTreeSet<String> = world.mails().await.into_iter().map(|mail| mail.to).collect();
    assert_eq!(mails.contains("ann@example.com"), left.len() < many, "an empty mail, or none: {left:?}");
}

/// One to three things happen; later ones do not change what earlier ones came to.
async fn draw_change(
    world: &mut LawHouse,
    dice: &mut LawDice,
    by: &BTreeMap<usize, &'static str>,
) -> LeftOutFates {
    let mut left = LeftOutFates::new();
    let some = |dice: &mut LawDice| dice.below(by.len());
    match dice.below(8) {
        0 => {
            let number = some(dice);
            world.withdraw(number).await;
            left.insert(number, Fate::Ended(EndReason::NoLongerTrue));
        }
        1 => {
            let author = dice.pick(&AUTHORS);
            world.follow("ann", author, false).await;
            let gone = by.iter().filter(|(_, of)| **of == author);
            left.extend(gone.map(|(number, _)| (*number, Fate::Ended(EndReason::Unfollowed))));
        }
        2 => {
            world.send_fact("tidings.profile", json!({"person": "ann", "email_off": true})).await;
            left.extend(by.keys().map(|number| (*number, Fate::Ended(EndReason::Unsubscribed))));
        }
        3 => {
            world.send_fact("tidings.profile", json!({"person": "ann", "email": null})).await;
            left.extend(by.keys().map(|number| (*number, Fate::Ended(EndReason::NoAddress))));
        }
        what @ (4 | 5) => {
            let number = some(dice);
            let data = match what {
                4 => json!({"event": {"source": "laws", "id": format!("T{number}")}}),
                _ => json!({"subject": format!("work:{number}")}),
            };
            world.send_fact("tidings.revoke", data).await;
            left.insert(number, Fate::Ended(EndReason::Withdrawn));
        }
        what => {
            let (what, fate) = [("tidings.read", Fate::Read), ("tidings.cleared", Fate::Cleared)][what - 6];
            let chosen: BTreeSet<usize> = (0..1 + dice.below(3)).map(|_| some(dice)).collect();
            for number in chosen {
                let data = json!({"person": "ann", "subject": format!("work:{number}")});
                world.send_fact(what, data).await;
                left.insert(number, fate);
            }
        }
    }
    left
}
