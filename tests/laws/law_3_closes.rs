//! Law 3: a window due at T closes only after its task has read each of its topics up to the end they had
//! when T came; after a restart: at the restart.

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

/// A row of the person's day and its announcement, as the fan-out leaves them.
async fn announced(world: &World, number: usize, at: Millis) {
    world.row("ann", number, at).await;
    world.announce("ann", Day::of(at)).await;
}
