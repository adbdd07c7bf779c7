//! The part of law 6 about owners: one that was replaced in the middle of a turn cannot commit it, and what it
//! still does afterwards does no harm.

use std::{collections::BTreeSet, time::Duration};

use model::Fate;

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    gates::HouseGates,
    names::HOUR_MS,
    seeds::LawDice,
    world::LawHouse,
};

/// A member that does not call for so long counts as gone.
const SESSION: Duration = Duration::from_millis(20);
/// Where an owner may stand still: its turn is decided, or it is committed and its marks are not written.
const PLACES: [&str; 2] = ["before the commit", "before the marks"];
const PERSONS: [&str; 4] = ["ann", "bob", "cat", "dan"];

/// An owner stands still while it closes windows; another takes over, closes what is due, and closes again the
/// next day; then the first one wakes up, before or after that.
pub async fn replace_owner(mut dice: LawDice) {
    let mut world = LawHouse::with_session(
        knob_catalogue(&CatalogueKnobs { most: 20, ..CatalogueKnobs::default() }),
        SESSION,
    )
    .await;
    let gates = HouseGates::default();
    world.start(gates.around(world.engines())).await;
    for who in PERSONS {
        world.add_person(who, &["author:1"]).await;
    }
    world.settle().await;
    let many = 1 + dice.below(4);
    make_works(&mut world, 0..many).await;
    world.settle().await;
    let place = dice.pick(&PLACES);
    gates.close(place);
    world.clock.advance_to(world.next_morning().0);
    gates.wait_reached(place).await;
    let sleeper = world.leave();
    world.start(world.engines()).await;
    wait_at_rest(&world).await;
    let late = dice.once_in_a_hundred(50);
    if late {
        make_works(&mut world, many..many + 2).await;
        wait_at_rest(&world).await;
        world.clock.advance(24 * HOUR_MS);
        wait_at_rest(&world).await;
    }
    gates.open(place);
    wait_at_rest(&world).await;
    sleeper.abandon().await;
    if !late {
        make_works(&mut world, many..many + 2).await;
    }
    world.pass_time(3 * 24 * HOUR_MS).await;
    let accepted = world.outbox.read_acceptances().await.unwrap();
    let ids: BTreeSet<&str> = accepted.iter().map(|one| one.message_id.as_str()).collect();
    assert_eq!(ids.len(), accepted.len(), "{place}: handed over twice: {accepted:?}");
    for who in PERSONS {
        let (told, fates) = (world.told_titles(who).await, world.fates(who).await);
        for number in 0..many + 2 {
            let title = format!("T{number}");
            assert_eq!(told.get(&title), Some(&1), "{place}, late: {late}: {title} for {who}");
            assert!(
                matches!(fates[&title], Fate::Told { .. }),
                "{place}: {title} of {who} is {}",
                fates[&title]
            );
        }
    }
}

async fn make_works(world: &mut LawHouse, numbers: std::ops::Range<usize>) {
    let at = world.now();
    for number in numbers {
        world.publish_work("work.made", number, "author:1", at).await;
    }
}

/// Two houses are at work, and neither can say when there is no more to do for both: they have read everything
/// several times in a row, a while apart.
async fn wait_at_rest(world: &LawHouse) {
    for _ in 0..3 {
        world.wait_caught_up(&[]).await;
        runtime::retry::pause_before_retry(0, 1).await;
    }
    world.wait_caught_up(&[]).await;
}
