//! Law 3: a window due at T closes only after its task has read each of its topics up to the end they had
//! when T came; after a restart: at the restart.

use std::collections::BTreeSet;

use model::{Day, UtcMillis};

use crate::{
    catalogue_text::{CatalogueKnobs, knob_catalogue},
    gates::HouseGates,
    names::HOUR_MS,
    seeds::{LawDice, run_waiting_schedules},
    world::{LawHouse, LawMail},
};

#[test]
fn law_3_closes_only_what_was_read() {
    run_waiting_schedules(8, |dice| piled_up(dice, true));
    run_waiting_schedules(8, |dice| piled_up(dice, false));
    run_waiting_schedules(6, another_falls_due);
}

/// Announcements of earlier days lie unread when a window falls due, because the digest was down or because
/// the log is slow: all of it is told in one mail.
async fn piled_up(mut dice: LawDice, down: bool) {
    let mut world =
        LawHouse::new(knob_catalogue(&CatalogueKnobs { most: 20, ..CatalogueKnobs::default() })).await;
    world.add_person("ann", &["author:1"]).await;
    let gates = HouseGates::with_delay(1 + dice.below(300));
    world.start(gates.around(world.engines())).await;
    world.settle().await;
    let due = world.next_morning();
    world.clock.advance(1 + dice.ms(0, 20 * HOUR_MS));
    announce_made(&world, 0, world.now()).await;
    world.settle().await;
    if down {
        world.crash().await;
        world.clock.advance_to(due.0 + dice.ms(0, 3 * HOUR_MS));
    }
    let many = 1 + dice.below(12);
    for number in 1..=many {
        let late = i64::try_from(dice.below(7)).unwrap();
        announce_made(&world, number, Day::from_instant(world.now()).start().plus(-late * 24 * HOUR_MS))
            .await;
    }
    if down {
        world.start(gates.around(world.engines())).await;
    } else {
        world.clock.advance_to(due.0);
    }
    world.settle().await;
    let mut titles: Vec<String> = (0..=many).map(|number| format!("T{number}")).collect();
    titles.sort();
    let mut mails = world.mails().await;
    mails.iter_mut().for_each(|mail| mail.titles.sort());
    assert_eq!(mails, [LawMail { to: "ann@example.com".to_owned(), titles }], "down: {down}");
    world.pass_time(3 * 24 * HOUR_MS).await;
    assert_eq!(world.mails().await.len(), 1);
}

/// While the digest still reads for one closing, a second window of the same person falls due, of which
/// announcements have come in meanwhile: it waits for its own reading.
async fn another_falls_due(mut dice: LawDice) {
    let mut world =
        LawHouse::new(knob_catalogue(&CatalogueKnobs { most: 20, ..CatalogueKnobs::default() })).await;
    world.add_person("ann", &["author:1"]).await;
    world.start(HouseGates::with_delay(50 + dice.below(300)).around(world.engines())).await;
    world.settle().await;
    let (morning, evening) = (world.next_morning(), world.next_morning().plus(19 * HOUR_MS / 2));
    world.clock.advance_to(evening.plus(-24 * HOUR_MS + 1).0);
    announce_row(&world, "made", 0, world.now()).await;
    announce_row(&world, "shown", 1, world.now()).await;
    world.settle().await;
    announce_row(&world, "made", 2, world.now()).await;
    world.clock.advance_to(morning.0);
    for _ in 0..dice.below(100) {
        tokio::task::yield_now().await;
    }
    let many = 3 + dice.below(8);
    for number in 3..many {
        let late = i64::try_from(dice.below(7)).unwrap();
        let at = Day::from_instant(world.now()).start().plus(-late * 24 * HOUR_MS);
        announce_row(&world, "shown", number, at).await;
    }
    world.clock.advance_to(evening.0);
    world.pass_time(24 * HOUR_MS).await;
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for mail in world.mails().await {
        found.push(mail.titles.into_iter().collect());
    }
    let title = |number: usize| format!("T{number}");
    let shown = std::iter::once(1).chain(3..many).map(title).collect();
    found.sort();
    assert_eq!(found, [BTreeSet::from([title(0), title(2)]), shown]);
}

async fn announce_made(world: &LawHouse, number: usize, at: UtcMillis) {
    announce_row(world, "made", number, at).await;
}

/// A row of the person's day and its announcement, as the fan-out leaves them.
async fn announce_row(world: &LawHouse, what: &str, number: usize, at: UtcMillis) {
    world.store_row("ann", what, number, at).await;
    world.announce("ann", what, Day::from_instant(at)).await;
}
