//! Law 3: a window due at T closes only after its task has read each of its topics up to the end they had
//! when T came; after a restart: at the restart.

use std::collections::BTreeSet;

use model::{Day, Millis};

use crate::{
    gates::Gates,
    names::HOUR_MS,
    seeds::{Dice, waiting_schedules},
    texts::{Knobs, catalogue},
    world::{Mail, World},
};

#[test]
fn law_3_closes_only_what_was_read() {
    waiting_schedules(8, |dice| piled_up(dice, true));
    waiting_schedules(8, |dice| piled_up(dice, false));
    waiting_schedules(6, another_falls_due);
}

/// Announcements of earlier days lie unread when a window falls due, because the digest was down or because
/// the log is slow: all of it is told in one mail.
async fn piled_up(mut dice: Dice, down: bool) {
    let mut world = World::new(catalogue(&Knobs { most: 20, ..Knobs::default() })).await;
    world.person("ann", &["author:1"]).await;
    let gates = Gates::late(1 + dice.below(300));
    world.start(gates.around(world.engines())).await;
    world.settle().await;
    let due = world.next_morning();
    world.clock.advance(1 + dice.ms(0, 20 * HOUR_MS));
    announced(&world, 0, world.now()).await;
    world.settle().await;
    if down {
        world.crash().await;
        world.clock.advance_to(due.0 + dice.ms(0, 3 * HOUR_MS));
    }
    let many = 1 + dice.below(12);
    for number in 1..=many {
        let late = i64::try_from(dice.below(7)).unwrap();
        announced(&world, number, Day::of(world.now()).start().plus(-late * 24 * HOUR_MS)).await;
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
    assert_eq!(mails, [Mail { to: "ann@example.com".to_owned(), titles }], "down: {down}");
    world.pass(3 * 24 * HOUR_MS).await;
    assert_eq!(world.mails().await.len(), 1);
}

/// While the digest still reads for one closing, a second window of the same person falls due, of which
/// announcements have come in meanwhile: it waits for its own reading.
async fn another_falls_due(mut dice: Dice) {
    let mut world = World::new(catalogue(&Knobs { most: 20, ..Knobs::default() })).await;
    world.person("ann", &["author:1"]).await;
    world.start(Gates::late(50 + dice.below(300)).around(world.engines())).await;
    world.settle().await;
    let (morning, evening) = (world.next_morning(), world.next_morning().plus(19 * HOUR_MS / 2));
    world.clock.advance_to(evening.plus(-24 * HOUR_MS + 1).0);
    announced_as(&world, "made", 0, world.now()).await;
    announced_as(&world, "shown", 1, world.now()).await;
    world.settle().await;
    announced_as(&world, "made", 2, world.now()).await;
    world.clock.advance_to(morning.0);
    for _ in 0..dice.below(100) {
        tokio::task::yield_now().await;
    }
    let many = 3 + dice.below(8);
    for number in 3..many {
        let late = i64::try_from(dice.below(7)).unwrap();
        let at = Day::of(world.now()).start().plus(-late * 24 * HOUR_MS);
        announced_as(&world, "shown", number, at).await;
    }
    world.clock.advance_to(evening.0);
    world.pass(24 * HOUR_MS).await;
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for mail in world.mails().await {
        found.push(mail.titles.into_iter().collect());
    }
    let title = |number: usize| format!("T{number}");
    let shown = std::iter::once(1).chain(3..many).map(title).collect();
    found.sort();
    assert_eq!(found, [BTreeSet::from([title(0), title(2)]), shown]);
}

async fn announced(world: &World, number: usize, at: Millis) {
    announced_as(world, "made", number, at).await;
}

/// A row of the person's day and its announcement, as the fan-out leaves them.
async fn announced_as(world: &World, what: &str, number: usize, at: Millis) {
    world.row("ann", what, number, at).await;
    world.announce("ann", what, Day::of(at)).await;
}
